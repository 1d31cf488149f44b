//! Reading the traces of a job.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use rankscope_formats::{ArgsPolicy, Error, Member, ReadOptions, Scope, read};
use rankscope_run::{InputFile, open, rank_of_name};
use rankscope_time::Rank;
use rankscope_trace::Trace;
use rayon::prelude::*;

use crate::output;

/// What was read, and what was passed over.
#[derive(Debug, Default)]
pub(crate) struct Loaded {
    pub(crate) traces: Vec<Trace>,
    /// Files that are no traces or were read already, and why they are passed over.
    pub(crate) skipped: Vec<String>,
    /// Folders of the attempts that were read because the ones after them left nothing.
    pub(crate) attempts: Vec<PathBuf>,
    /// Labels of the traces that a run keeps aside, as a rank's newest one followed them.
    earlier: BTreeSet<String>,
}

impl Loaded {
    /// Whether a run keeps `trace` aside.
    pub(crate) fn is_earlier(&self, trace: &Trace) -> bool {
        self.earlier.contains(&trace.provenance.file)
    }
}

/// Reads every trace of `files`, in parallel, and keeps of each what `reduce` leaves. With `partial`, files that cannot be
/// read are passed over as well.
pub(crate) fn load(
    files: &[InputFile],
    args: ArgsPolicy,
    scope: Scope,
    partial: bool,
    reduce: impl Fn(Trace) -> Trace + Sync,
) -> Result<Loaded> {
    let bar = output::progress(files.len(), "reading");
    let read: Vec<_> = files
        .par_iter()
        .map(|file| {
            let mut members = load_members(file, args, scope);
            for member in &mut members {
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
        for Member { label, trace } in members {
            match trace {
                Ok(trace) => {
                    if file.earlier {
                        loaded.earlier.insert(trace.provenance.file.clone());
                    }
                    loaded.traces.push(trace);
                }
                Err(error) if file.earlier => loaded.skipped.push(passed_over(&label, &error)),
                Err(error) => failed.push((may_be_something_else(file, &error), label, error)),
            }
        }
    }
    // A file that names a rank is meant to be that rank's trace, unless another is.
    let ranks: Vec<Rank> = loaded.traces.iter().filter_map(own_rank).collect();
    let stands_alone = |label: &str| rank_of_name(own_name(label)).is_some_and(|rank| !ranks.contains(&rank));
    for (may_be_something_else, label, error) in failed {
        if !partial && (!may_be_something_else || stands_alone(&label)) {
            return Err(refused(&label, &error, !loaded.traces.is_empty()));
        }
        loaded.skipped.push(passed_over(&label, &error));
    }
    if loaded.traces.is_empty() {
        let why = loaded.skipped.first().map_or_else(String::new, |first| format!(" The first of them: {first}"));
        bail!("none of the {} files found is a trace.{why}", files.len());
    }
    Ok(loaded)
}

/// A directory may hold other JSON beside the traces.
pub(crate) fn may_be_something_else(file: &InputFile, error: &Error) -> bool {
    !file.named && matches!(error, Error::NotATrace { .. })
}

/// The rank that `trace` itself or its name tells.
pub(crate) fn own_rank(trace: &Trace) -> Option<Rank> {
    trace.provenance.rank.map(|(rank, _)| rank).or_else(|| rank_of_name(&trace.provenance.file))
}

/// The last part of a path, or the member of an archive.
fn own_name(label: &str) -> &str {
    label.rsplit(['/', ':']).next().unwrap_or(label)
}

fn refused(label: &str, error: &Error, others: bool) -> anyhow::Error {
    let remedy = if others { "; pass --partial to go on without it" } else { "" };
    anyhow!("{label}: {}{remedy}", error.to_string().trim_end_matches('.'))
}

pub(crate) fn passed_over(label: &str, error: &Error) -> String {
    match error {
        Error::NotATrace { found } => format!("{label}, which is not a trace: {}", found.trim_end_matches('.')),
        other => format!("{label}: {other}"),
    }
}

/// The traces of one file, each by itself.
pub(crate) fn load_members(file: &InputFile, args: ArgsPolicy, scope: Scope) -> Vec<Member> {
    let label = file.path.display().to_string();
    let options = ReadOptions { label: label.clone(), args, scope };
    let opened = open(&file.path).map_err(|error| match error {
        rankscope_run::Error::Io { reason, .. } => Error::Io(reason),
        rankscope_run::Error::NotAFile { what, .. } => {
            Error::NotATrace { found: format!("it is {what}; only regular files are read") }
        }
        other => Error::NotATrace { found: other.to_string() },
    });
    opened.and_then(|bytes| read(bytes, &options)).unwrap_or_else(|error| vec![Member { label, trace: Err(error) }])
}

/// Reads the one trace, or the several ranks, of a single file.
pub(crate) fn load_file(path: &Path, args: ArgsPolicy, scope: Scope) -> Result<Vec<Trace>> {
    let options = ReadOptions { label: path.display().to_string(), args, scope };
    let members = read(open(path)?, &options).with_context(|| options.label.clone())?;
    members.into_iter().map(|member| member.trace.with_context(|| member.label)).collect()
}
