//! Perfetto to traces, packet by packet.
//!
//! What a packet means depends on what its sequence said before, so packets are taken in file order and nothing of them is
//! kept but the events. A file of ours holds several ranks and becomes several traces, or one with all of them; any other file
//! is one trace. What is missing or damaged is counted and stepped over.

use std::io::BufRead;

use rankscope_trace::Trace;

use crate::{Error, ReadOptions};

mod args;
mod builder;
mod clocks;
mod event;
mod events;
mod packet;
mod reader;
mod rows;
mod sequence;
mod stage;
mod tracks;

use reader::Reader;

/// Reads a file as one trace.
///
/// # Errors
/// [`Error::Empty`], [`Error::NotATrace`] or [`Error::NoEvents`] if there is nothing to return; what the input fails with.
pub fn read(input: impl BufRead, options: &ReadOptions) -> Result<Trace, Error> {
    let traces = Reader::new(options, true).run(input)?;
    Ok(traces.into_iter().next().unwrap_or_default())
}

/// Reads a file as one trace for each rank in it, in the order they were written. A file that is not of ours gives one trace.
/// What was wrong with the file stands in the first.
///
/// # Errors
/// As [`read`].
pub fn read_all(input: impl BufRead, options: &ReadOptions) -> Result<Vec<Trace>, Error> {
    Reader::new(options, false).run(input)
}
