//! From a recording to a [`Trace`].
//!
//! Spans of one thread lie on its track, in the order they end, and nest there. A span that ended while one that began later was
//! open would not: it lies on a track beside, for the thread's overlapping spans, and is marked. An asynchronous span lies on a
//! track for those of its name, since it may overlap its neighbours on either thread it touched; writers see by the track's key
//! that it is one. Memory events are instants, as Kineto has
//! them. Spans that are open where the recording ends are marked where arguments are kept; those that end because part of the
//! recording is missing are counted as well.

mod builder;
mod facts;
#[cfg(test)]
pub(super) mod tests;

use std::io::{Read, Seek};

pub(super) use builder::Builder;
pub(super) use facts::{Facts, losses};

use super::{CHUNK_BYTES, Chunks, Cut, LiveFile, Recording};
use crate::{Error, NoEvents, ReadOptions, Scope};
use rankscope_trace::{ProblemKind, Trace};

/// Reads a live file, whole.
///
/// # Errors
/// What is no live file, a file without an event, and what `input` fails with.
pub fn read_live(input: impl Read + Seek, options: &ReadOptions) -> Result<Trace, Error> {
    let file = LiveFile::open(input)?;
    let bytes = u64::from(file.count()) * CHUNK_BYTES as u64;
    let mut trace = to_trace(&Recording::open(file)?, &Cut::everything(), options);
    // With a narrower scope, what was not asked for may be all there is.
    if trace.events() == 0 && options.scope == Scope::All {
        let reason = NoEvents::of_recording(trace.provenance.problems.iter().next());
        return Err(Error::NoEvents { offset: 0, reason });
    }
    trace.provenance.bytes = bytes;
    Ok(trace)
}

/// The part of `recording` that is in `cut`.
pub fn to_trace<C: Chunks>(recording: &Recording<C>, cut: &Cut, options: &ReadOptions) -> Trace {
    let facts = Facts { meta: recording.meta(), anchors: recording.anchors(), ticks: recording.ticks() };
    let mut builder = Builder::new(options, recording.ticks().clone());
    facts.file(builder.provenance(), options);
    builder.name_process();
    for (at, name) in recording.names().iter().enumerate() {
        builder.name(at, &name.text, name.category);
    }
    for thread in recording.threads().iter().filter(|thread| cut.has_stream(thread.stream)) {
        builder.thread(thread.stream, thread.tid, &thread.name);
        let mut replay = recording.replay(thread, cut);
        while let Some((event, args)) = replay.next() {
            builder.event(&event, args);
        }
    }
    let problems = &mut builder.provenance().problems;
    if let Some((lost, words)) = losses(recording.drops()) {
        problems.add_detailed(ProblemKind::LostPackets, 0, lost, words);
    }
    let (lost, cut_short) = (u64::from(recording.lost_chunks()), u64::from(recording.cut_chunks()));
    if lost > 0 {
        problems.add_detailed(ProblemKind::DamagedBlock, 0, lost, "chunks of the recording".into());
    }
    if cut_short > 0 {
        problems.add_detailed(ProblemKind::Unsupported, 0, cut_short, "chunks with records of a later version".into());
    }
    builder.finish()
}
