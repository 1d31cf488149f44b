//! Perfetto's protobuf, streamed from a recording.
//!
//! Every thread is a packet sequence of its own: names, categories and keys are said once in it, and times are the distance to
//! the packet before. A begin without arguments takes some 20 bytes, an end 13. Counters and asynchronous spans lie on tracks
//! of their own, which any thread's sequence may speak of. Times are nanoseconds since the Unix epoch, and the file says so.
//!
//! A row of Perfetto is a stack: an end closes whatever began last. A span that ends while one that began later is open lies on a
//! track of its own under its thread's, and is marked. Which ones do is found out by walking every thread once before.
//!
//! An arrow belongs to the innermost open span. Its start stands on that span's begin if nothing lies between, its end on that
//! span's end, so that no arrow points back; any other point of it is an instant of its own. The flow of work that was left and
//! taken up again starts at its async span and at its first slice, which are looked up in the same walk.

mod args;
mod devices;
mod sequence;

use std::io::Write;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::Error;
use crate::perfetto::note;
use crate::perfetto::opening::{HEADER_SEQUENCE, tie_to_real_time};
use crate::perfetto::schema::{self, packet, process, thread, track};
use crate::recording::export::about::About;
use crate::recording::export::names::Names;
use crate::recording::export::start_tick;
use crate::recording::export::written::{Output, ThreadWritten, Written};
use crate::recording::{Chunks, Cut, DEVICE_STREAM, RESUMED, Recording, Resumed, Thread, What, take_out};
use crate::wire::Encoder;
use sequence::Sequence;

/// The process's track; the threads' follow.
const PROCESS_UUID: u64 = 1;
/// Tracks of counters have numbers from here on.
const COUNTERS_UUID: u64 = 1 << 40;

/// Writes the part of `recording` that lies in `cut` as a Perfetto trace. Memory is a few buffers, the recording's names, a number
/// for each span that overlaps others, and the first slices that are looked up.
///
/// # Errors
/// What the output fails with.
pub fn perfetto<C: Chunks>(
    recording: &Recording<C>,
    cut: &Cut,
    about: &About,
    output: &mut impl Write,
) -> Result<Written, Error> {
    let start_ns = recording.ticks().ns(start_tick(recording, cut)).max(0);
    let names = Names::new(recording.names());
    let LookAhead { overlapping, firsts } = look_ahead(recording, cut, &names);
    let mut sequence = Sequence::new(about, names, Output::new(output), firsts);
    let mut counters = FxHashSet::default();
    describe_process(sequence.encoder(), about);
    let mut threads = Vec::with_capacity(recording.threads().len());
    let kept = (0..).zip(recording.threads()).filter(|(_, thread)| cut.has_stream(thread.stream));
    for ((at, thread), overlapping) in kept.zip(overlapping) {
        // Work of devices is on no thread's track.
        let is_thread = thread.stream != DEVICE_STREAM;
        let uuid = if is_thread { uuid_of_thread(at) } else { PROCESS_UUID };
        if is_thread {
            describe_thread(sequence.encoder(), about, thread, uuid);
        }
        sequence.start(HEADER_SEQUENCE + 1 + at, uuid, overlapping);
        let mut tally = ThreadWritten::of(thread);
        let mut ticks = recording.ticks().cursor();
        let mut events = recording.replay(thread, cut);
        while let Some((event, args)) = events.next() {
            tally.count(&event.what);
            let since = sequence.resumed(&event, args).map(|resumed| recording.ticks().ns(resumed.created_tick).max(start_ns));
            sequence.event(&event, (ticks.ns(event.tick), since), args, &mut counters)?;
        }
        sequence.end()?;
        threads.push(tally);
    }
    tie_to_real_time(sequence.encoder(), start_ns as u64);
    sequence.finish(threads)
}

/// First slices that are looked up at most, in about 32 MiB. Flows beyond that start at their async span.
const FIRSTS_MAX: usize = 1 << 20;

/// What has to be known before the first packet.
struct LookAhead {
    /// By thread of the cut, the correlation ids of its spans that end while one that began later is open.
    overlapping: Vec<FxHashSet<u64>>,
    /// The first slices of work that was taken up again, by their correlation ids, and the async spans of that work.
    firsts: FxHashMap<u64, u64>,
}

/// Walks every thread of the cut once.
fn look_ahead<C: Chunks>(recording: &Recording<C>, cut: &Cut, names: &Names<'_>) -> LookAhead {
    let mut ahead = LookAhead { overlapping: Vec::new(), firsts: FxHashMap::default() };
    let resumed = names.find(RESUMED);
    for thread in recording.threads().iter().filter(|thread| cut.has_stream(thread.stream)) {
        let (mut overlapping, mut open) = (FxHashSet::default(), Vec::new());
        let mut events = recording.replay(thread, cut);
        while let Some((event, args)) = events.next() {
            match event.what {
                What::Begin { id, .. } => open.push(id),
                What::End { above, .. } => overlapping.extend(take_out(&mut open, above).filter(|_| above > 0)),
                What::AsyncBegin { id } => {
                    let Some(key) = resumed else { continue };
                    let first = Resumed::of(&event, args, |name| names.same(name) == key).and_then(|resumed| resumed.first);
                    if let Some(first) = first.filter(|_| ahead.firsts.len() < FIRSTS_MAX) {
                        ahead.firsts.insert(first.id, id);
                    }
                }
                _ => {}
            }
        }
        ahead.overlapping.push(overlapping);
    }
    ahead
}

fn uuid_of_thread(at: u32) -> u64 {
    PROCESS_UUID + 1 + u64::from(at)
}

fn describe_process(encoder: &mut Encoder, about: &About) {
    let note = note::lone_process(about.pid, &about.process_name, about.rank, about.world_size, about.host.as_deref());
    encoder.message(schema::PACKET, |body| {
        body.varint(packet::SEQUENCE_ID, HEADER_SEQUENCE.into());
        body.message(packet::TRACK_DESCRIPTOR, |descriptor| {
            descriptor.varint(track::UUID, PROCESS_UUID);
            descriptor.message(track::PROCESS, |body| {
                body.varint(process::PID, about.pid.into()).string(process::NAME, &about.process_name);
            });
            descriptor.string(track::DESCRIPTION, &note);
        });
    });
}

fn describe_thread(encoder: &mut Encoder, about: &About, of: &Thread, uuid: u64) {
    encoder.message(schema::PACKET, |body| {
        body.varint(packet::SEQUENCE_ID, HEADER_SEQUENCE.into());
        body.message(packet::TRACK_DESCRIPTOR, |descriptor| {
            descriptor.varint(track::UUID, uuid).varint(track::PARENT_UUID, PROCESS_UUID);
            descriptor.message(track::THREAD, |body| {
                body.varint(thread::PID, about.pid.into()).varint(thread::TID, of.tid).string(thread::NAME, &of.name);
            });
        });
    });
}
