//! Reading all traces of some files as they are, for whoever looks at each by itself.

use rankscope_job::{Unread, passed_over};
use rankscope_run::InputFile;
use rankscope_trace::Trace;
use rayon::prelude::*;

use crate::map::unread;
use crate::read::{Reading, read_members};
use crate::{Error, Progress, Stage};

/// What was read, and what was passed over.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The traces, in the order of their files.
    pub traces: Vec<Trace>,
    /// Files that are no traces, and why they are passed over.
    pub skipped: Vec<String>,
}

/// Reads every trace of `files`, in parallel. With `partial`, files that cannot be read are passed over as well.
///
/// # Errors
/// [`Error::Job`] where a file that is meant to be a trace is none, or none of them is.
pub fn read_all(files: &[InputFile], reading: Reading, partial: bool, progress: &dyn Progress) -> Result<Loaded, Error> {
    progress.begin(Stage::Reading, files.len());
    let read = |file: &InputFile| {
        let (mut traces, mut failed): (Vec<Trace>, Vec<Unread>) = (Vec::new(), Vec::new());
        read_members(file, reading, |member| match member.trace {
            Ok(trace) => traces.push(trace),
            Err(error) => failed.push(unread(file, member.label, &error)),
        });
        progress.advance();
        (traces, failed)
    };
    let (traces, failed): (Vec<_>, Vec<_>) = files.par_iter().map(read).unzip();
    progress.end();
    let traces: Vec<Trace> = traces.into_iter().flatten().collect();
    let ranks: Vec<_> = traces.iter().filter_map(|trace| trace.provenance.own_rank()).collect();
    let skipped = passed_over(failed.into_iter().flatten().collect(), &ranks, !traces.is_empty(), partial)?;
    if traces.is_empty() {
        return Err(rankscope_job::Error::NoTrace { files: files.len(), first: skipped.into_iter().next() }.into());
    }
    Ok(Loaded { traces, skipped })
}
