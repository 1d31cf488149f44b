//! The lists of a file, record by record, to the builder of its process.

use std::io::Read;

use rankscope_trace::{Problem, ProblemKind, Problems, Trace};
use serde::de::DeserializeOwned;

use super::KEY;
use super::builder::{Builder, Described, List};
use super::cursor::{Cursor, Stop};
use super::record::{Message, Metadata, Record};
use crate::{Error, Foreign, NoEvents, ReadOptions};

/// Reads all processes of `input`.
pub(super) fn read(input: impl Read, options: &ReadOptions) -> Result<Vec<Trace>, Error> {
    let mut cursor = Cursor::new(input);
    let mut processes = Vec::new();
    let walked = cursor.skip_mark().and_then(|()| {
        cursor.object(|cursor, key| match key {
            KEY => of_processes(cursor, options, &mut processes),
            _ => cursor.skip().map(drop),
        })
    });
    let end = cursor.position();
    let mut problems = Problems::default();
    match walked {
        Ok(()) => {}
        Err(Stop::Io(error)) => return Err(Error::Io(error)),
        Err(Stop::Cut) => problems.add(ProblemKind::Truncated, end),
        Err(Stop::Malformed) => {
            problems.add_detailed(ProblemKind::MalformedEvent, end, 1, "what follows cannot be read".to_owned());
        }
        Err(Stop::TooLong) => problems.add_detailed(ProblemKind::TooLong, end, 1, "what follows is not read".to_owned()),
    }
    traces(processes, problems, end, options)
}

/// A list of processes; the first releases had one alone.
fn of_processes<R: Read>(cursor: &mut Cursor<R>, options: &ReadOptions, to: &mut Vec<Builder>) -> Result<(), Stop> {
    if cursor.peek()? == b'{' {
        to.push(Builder::new(options));
        return of_process(cursor, to.last_mut().expect("just pushed"));
    }
    cursor.array(|cursor| {
        if cursor.peek()? != b'{' {
            return cursor.skip().map(drop);
        }
        to.push(Builder::new(options));
        of_process(cursor, to.last_mut().expect("just pushed"))
    })
}

fn of_process<R: Read>(cursor: &mut Cursor<R>, builder: &mut Builder) -> Result<(), Stop> {
    cursor.object(|cursor, key| {
        let described = match key {
            "metadata" => Described::Process,
            "agents" => Described::Agents,
            "strings" => Described::Strings,
            "kernel_symbols" => Described::Symbols,
            "buffer_records" => return of_records(cursor, builder),
            "callback_records" => return left_out(cursor, builder),
            _ => return cursor.skip().map(drop),
        };
        match described {
            Described::Process => of_metadata(cursor, builder)?,
            Described::Agents => each(cursor, builder, Builder::agent)?,
            Described::Strings => of_strings(cursor, builder)?,
            Described::Symbols => each(cursor, builder, Builder::symbol)?,
        }
        builder.has(described);
        Ok(())
    })
}

fn of_strings<R: Read>(cursor: &mut Cursor<R>, builder: &mut Builder) -> Result<(), Stop> {
    cursor.object(|cursor, key| match key {
        "buffer_records" => each(cursor, builder, Builder::operations),
        "marker_api" => each(cursor, builder, |builder, message: Message| builder.message(message)),
        _ => cursor.skip().map(drop),
    })
}

fn of_records<R: Read>(cursor: &mut Cursor<R>, builder: &mut Builder) -> Result<(), Stop> {
    cursor.object(|cursor, key| {
        let Some(list) = List::of(key) else { return count_left_out(cursor, builder, key) };
        if cursor.peek()? != b'[' {
            return cursor.skip().map(drop);
        }
        cursor.array(|cursor| one(cursor, builder, |builder, record: Record, offset| builder.record(list, &record, offset)))
    })
}

/// Lists of a sort that is not read, by their names.
fn left_out<R: Read>(cursor: &mut Cursor<R>, builder: &mut Builder) -> Result<(), Stop> {
    cursor.object(|cursor, key| count_left_out(cursor, builder, key))
}

fn count_left_out<R: Read>(cursor: &mut Cursor<R>, builder: &mut Builder, key: &str) -> Result<(), Stop> {
    let offset = cursor.position();
    let count = cursor.skip()?;
    builder.left_out(key, count, offset);
    Ok(())
}

/// Every element of the list that is next, where it is what it should be.
fn each<R: Read, T: DeserializeOwned>(
    cursor: &mut Cursor<R>,
    builder: &mut Builder,
    mut take: impl FnMut(&mut Builder, T),
) -> Result<(), Stop> {
    if cursor.peek()? != b'[' {
        return cursor.skip().map(drop);
    }
    cursor.array(|cursor| one(cursor, builder, |builder, element, _| take(builder, element)))
}

/// The value that is next, with where it starts. A value that is something else is counted and passed over.
fn one<R: Read, T: DeserializeOwned>(
    cursor: &mut Cursor<R>,
    builder: &mut Builder,
    take: impl FnOnce(&mut Builder, T, u64),
) -> Result<(), Stop> {
    cursor.peek()?;
    let offset = cursor.position();
    match parsed(cursor)? {
        Ok(element) => take(builder, element, offset),
        Err(kind) => builder.problem(kind, offset),
    }
    Ok(())
}

fn parsed<R: Read, T: DeserializeOwned>(cursor: &mut Cursor<R>) -> Result<Result<T, ProblemKind>, Stop> {
    match cursor.value() {
        Ok(text) => Ok(serde_json::from_slice(text).map_err(|_| ProblemKind::MalformedEvent)),
        Err(Stop::TooLong) => cursor.skip().map(|_| Err(ProblemKind::TooLong)),
        Err(stop) => Err(stop),
    }
}

fn of_metadata<R: Read>(cursor: &mut Cursor<R>, builder: &mut Builder) -> Result<(), Stop> {
    let text = match cursor.value() {
        Ok(text) => String::from_utf8_lossy(text).into_owned(),
        Err(Stop::TooLong) => return cursor.skip().map(drop),
        Err(stop) => return Err(stop),
    };
    if let Ok(metadata) = serde_json::from_str::<Metadata>(&text) {
        builder.metadata(metadata, text);
    }
    Ok(())
}

fn traces(processes: Vec<Builder>, problems: Problems, bytes: u64, options: &ReadOptions) -> Result<Vec<Trace>, Error> {
    let several = processes.len() > 1;
    let with_records: Vec<Builder> = processes.into_iter().filter(|process| !process.is_empty()).collect();
    if with_records.is_empty() {
        return Err(match problems.iter().next() {
            Some(Problem { offset, kind, detail, .. }) => {
                Error::NoEvents { offset: *offset, reason: NoEvents::Damaged { kind: *kind, detail: detail.clone() } }
            }
            None => Error::NotATrace { found: Foreign::RocprofOfNothing },
        });
    }
    let finished = |process: Builder| {
        let pid = process.pid();
        let mut trace = process.finish();
        trace.provenance.bytes = bytes;
        if several {
            trace.provenance.file = format!("{}:pid{pid}", options.label);
        }
        trace
    };
    let mut traces: Vec<Trace> = with_records.into_iter().map(finished).collect();
    if let Some(last) = traces.last_mut() {
        last.provenance.problems.merge(problems);
    }
    Ok(traces)
}
