//! Reading the traces of one file.

use std::io;
use std::path::Path;

use rankscope_formats::{ArgsPolicy, Error as ReadError, Foreign, Member, ReadOptions, Scope, read, read_each};
use rankscope_run::{InputFile, open};
use rankscope_trace::Trace;

use crate::Error;

/// How much of each trace is read.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Which arguments of events.
    pub args: ArgsPolicy,
    /// Which events.
    pub scope: Scope,
}

/// Hands over the traces of `file` one after the other, each by itself: what cannot be read is a member, too.
pub fn read_members(file: &InputFile, reading: Reading, mut each: impl FnMut(Member)) {
    let label = file.path.display().to_string();
    let options = ReadOptions::default().with_label(label.clone()).with_args(reading.args).with_scope(reading.scope);
    let opened = open(&file.path).map_err(|error| match error {
        rankscope_run::Error::Io { reason, .. } => ReadError::Io(reason),
        rankscope_run::Error::NotAFile { what, .. } => ReadError::NotATrace { found: Foreign::NotAFile { what } },
        other => ReadError::Io(io::Error::other(other)),
    });
    if let Err(error) = opened.and_then(|bytes| read_each(bytes, &options, &mut each)) {
        each(Member { label, trace: Err(error) });
    }
}

/// Reads the one trace, or the several ranks, of a single file.
///
/// # Errors
/// [`Error::Run`] where it cannot be opened, [`Error::Trace`] for the first trace that cannot be read.
pub fn load_file(path: &Path, reading: Reading) -> Result<Vec<Trace>, Error> {
    let label = path.display().to_string();
    let options = ReadOptions::default().with_label(label.clone()).with_args(reading.args).with_scope(reading.scope);
    let failed = |file: String| move |source| Error::Trace { file, source };
    let members = read(open(path)?, &options).map_err(failed(label))?;
    members.into_iter().map(|member| member.trace.map_err(failed(member.label))).collect()
}
