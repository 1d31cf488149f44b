//! Reading the traces of a job.

use std::path::PathBuf;

use anyhow::{Context, Result, anyhow, bail};
use rankscope_formats::{ArgsPolicy, Error, Member, ReadOptions, Scope, read};
use rankscope_run::{InputFile, discover, open, rank_of_name};
use rankscope_trace::Trace;
use rayon::prelude::*;

use crate::output;

/// What was read, and what was passed over.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) traces: Vec<Trace>,
    /// Files of a directory that are no traces, and why.
    pub(crate) skipped: Vec<String>,
}

/// Reads every trace that `paths` mean, in parallel, and keeps of each what `reduce` leaves. With `partial`, files that cannot be
/// read are passed over as well.
pub(crate) fn load(
    paths: &[PathBuf],
    args: ArgsPolicy,
    scope: Scope,
    partial: bool,
    reduce: impl Fn(Trace) -> Trace + Sync,
) -> Result<Loaded> {
    let files = discover(paths)?;
    let bar = output::progress(files.len(), "reading");
    let read: Vec<_> = files
        .par_iter()
        .map(|file| {
            let mut members = read_file(file, args, scope);
            for member in members.iter_mut().flatten() {
                if let Ok(trace) = &mut member.trace {
                    *trace = reduce(std::mem::take(trace));
                }
            }
            bar.inc(1);
            members
        })
        .collect();
    bar.finish_and_clear();
    let mut loaded = Loaded::default();
    let mut failed = Vec::new();
    for (file, members) in files.iter().zip(read) {
        for member in members.unwrap_or_else(|error| vec![Member { label: label(file), trace: Err(error) }]) {
            match member.trace {
                Ok(trace) => loaded.traces.push(trace),
                Err(error) if partial || may_be_something_else(file, &member.label, &error) => {
                    loaded.skipped.push(passed_over(&member.label, &error));
                }
                Err(error) => failed.push(anyhow!(error).context(member.label)),
            }
        }
    }
    if let Some(first) = failed.into_iter().next() {
        let alone = loaded.traces.is_empty();
        return Err(if alone { first } else { anyhow!("{first:#}. Pass --partial to go on without it") });
    }
    if loaded.traces.is_empty() {
        let why = loaded.skipped.first().map_or_else(String::new, |first| format!(" The first of them: {first}"));
        bail!("none of the {} files found is a trace.{why}", files.len());
    }
    Ok(loaded)
}

/// A directory may hold other JSON beside the traces; a file that names a rank is meant to be a trace.
fn may_be_something_else(file: &InputFile, label: &str, error: &Error) -> bool {
    !file.named && matches!(error, Error::NotATrace { .. }) && rank_of_name(label).is_none()
}

fn passed_over(label: &str, error: &Error) -> String {
    match error {
        Error::NotATrace { .. } => format!("{label}, which is not a trace"),
        other => format!("{label}: {other}"),
    }
}

fn read_file(file: &InputFile, args: ArgsPolicy, scope: Scope) -> Result<Vec<Member>, Error> {
    let options = ReadOptions { label: label(file), args, scope };
    let opened = open(&file.path).map_err(|error| match error {
        rankscope_run::Error::Io { reason, .. } => Error::Io(reason),
        rankscope_run::Error::NotAFile { what, .. } => {
            Error::NotATrace { found: format!("it is {what}, and only regular files are read") }
        }
        other => Error::NotATrace { found: other.to_string() },
    })?;
    read(opened, &options)
}

fn label(file: &InputFile) -> String {
    file.path.display().to_string()
}

/// Reads the one trace, or the several ranks, of a single file.
pub(crate) fn load_file(path: &PathBuf, args: ArgsPolicy, scope: Scope) -> Result<Vec<Trace>> {
    let options = ReadOptions { label: path.display().to_string(), args, scope };
    let members = read(open(path)?, &options).with_context(|| options.label.clone())?;
    members.into_iter().map(|member| member.trace.with_context(|| member.label)).collect()
}
