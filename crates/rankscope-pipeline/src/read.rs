//! Reading the traces of one file.

use std::io::{self, Read, Seek};
use std::path::Path;

use rankscope_formats::{ArgsPolicy, Error as ReadError, Foreign, Member, ReadOptions, SQLITE_MAGIC, Scope};
use rankscope_run::{InputFile, ObjectFault, Source, StoreFault, open_source};
use rankscope_trace::Trace;

use crate::wanted::Wanted;
use crate::{Error, workers};

/// How much of each trace is read.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    /// Which arguments of events.
    pub args: ArgsPolicy,
    /// Which events.
    pub scope: Scope,
}

/// Hands over the traces of `file` one after the other, each by itself: what cannot be read is a member, too. With a recording come
/// those of the processes that the recorded one started.
pub fn read_members(file: &InputFile, reading: Reading, each: impl FnMut(Member)) {
    read_wanted(file, reading, &Wanted::always(), each);
}

/// The same, for as long as it is wanted; what is handed over after that is nothing.
pub(crate) fn read_wanted(file: &InputFile, reading: Reading, wanted: &Wanted<'_>, mut each: impl FnMut(Member)) {
    read_by_itself(file, reading, wanted, |mut member| {
        if let Ok(trace) = &mut member.trace {
            workers::join(&file.path, trace, reading);
        }
        each(member);
    });
}

/// The same of the file alone.
pub(crate) fn read_alone(file: &InputFile, reading: Reading, each: impl FnMut(Member)) {
    read_by_itself(file, reading, &Wanted::always(), each);
}

fn read_by_itself(file: &InputFile, reading: Reading, wanted: &Wanted<'_>, mut each: impl FnMut(Member)) {
    let label = file.path.display().to_string();
    let opened = open_source(&file.path).map_err(|error| match error {
        rankscope_run::Error::Io { reason, .. } => ReadError::Io(reason),
        rankscope_run::Error::Store { fault, .. } => ReadError::Io(io::Error::other(fault)),
        rankscope_run::Error::NotAFile { what, .. } => ReadError::NotATrace { found: Foreign::NotAFile { what } },
        other => ReadError::Io(io::Error::other(other)),
    });
    let read = opened.and_then(|opened| read_each(&file.path, opened, wanted, &options(&label, reading), &mut each));
    if let Err(error) = read {
        each(Member { label, trace: Err(error) });
    }
}

/// Reads the one trace, or the several ranks, of a single file.
///
/// # Errors
/// [`Error::Run`] where it cannot be opened, [`Error::Trace`] for the first trace that cannot be read.
pub fn load_file(path: &Path, reading: Reading) -> Result<Vec<Trace>, Error> {
    let label = path.display().to_string();
    let failed = |file: String| move |source| Error::Trace { file, source };
    let mut members = Vec::new();
    let read =
        read_each(path, open_source(path)?, &Wanted::always(), &options(&label, reading), &mut |member| members.push(member));
    read.map_err(failed(label))?;
    let joined = |mut trace| {
        workers::join(path, &mut trace, reading);
        trace
    };
    members.into_iter().map(|member| member.trace.map(joined).map_err(failed(member.label))).collect()
}

fn options(label: &str, reading: Reading) -> ReadOptions {
    ReadOptions::default().with_label(label).with_args(reading.args).with_scope(reading.scope)
}

/// Reads the traces of `opened`, which lies at `path`, by which SQLite wants to know its databases.
fn read_each(
    path: &Path,
    mut opened: Source,
    wanted: &Wanted<'_>,
    options: &ReadOptions,
    each: &mut dyn FnMut(Member),
) -> Result<(), ReadError> {
    let fault = opened.fault();
    // What an object could not give any more is missing from the trace, and no damage of it.
    let mut whole = |mut member: Member| {
        if let Some(left) = fault.as_ref().and_then(ObjectFault::left) {
            member.trace = Err(ReadError::Io(io::Error::other(left.clone())));
        }
        each(member);
    };
    let mut head = Vec::new();
    (&mut opened).take(SQLITE_MAGIC.len() as u64).read_to_end(&mut head)?;
    opened.rewind()?;
    if head == SQLITE_MAGIC {
        let fetched = opened.fetched()?;
        rankscope_sqlite::read_each(fetched.as_ref().map_or(path, |file| file.path()), options, &mut whole)
    } else {
        rankscope_formats::read_each(wanted.read(opened), options, &mut whole)
    }
}

/// Whether reading failed because the file is another one by now.
pub(crate) fn has_changed(error: &ReadError) -> bool {
    let ReadError::Io(reason) = error else { return false };
    let fault = reason.get_ref().and_then(|inner| inner.downcast_ref::<StoreFault>());
    fault == Some(&StoreFault::Changed)
}
