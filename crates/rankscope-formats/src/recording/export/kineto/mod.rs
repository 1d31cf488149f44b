//! Chrome JSON as Kineto writes it, streamed from a recording.
//!
//! Threads follow one another; a span stands where it ends, behind those it encloses, as readers of this format sort by time
//! anyway. Arrows from operators to their gradients are drawn where the spans say enough for it. What is kept meanwhile is one
//! buffer and the open spans of one thread. Asynchronous spans are `b` and `e` events of one id, and so are spans that overlap
//! others of their thread, as those who read the format stack what is on one thread. A value of a counter that is not finite is
//! left out: JSON has no word for it. What only PyTorch's tools look for is written for recordings of the Kineto-compatible API
//! ([`About::is_kineto`]).

mod devices;
mod events;
mod head;
mod spans;

use std::collections::BTreeSet;
use std::io::Write;

use super::{start_tick, text};
use crate::Error;
use crate::kineto::base_ns;
use crate::recording::export::about::About;
use crate::recording::export::links::links;
use crate::recording::export::names::Names;
use crate::recording::export::written::{Output, ThreadWritten, Written};
use crate::recording::{
    Args, Chunks, Cut, DEVICE_WORK, Event, FlowStage, MEMORY_PLACE, RESUMED, Recording, Resumed, Thread, What,
};
use spans::{OpenSpans, Seen};

/// Writes the part of `recording` that lies in `cut` as Kineto's JSON. Memory is a few buffers and the recording's names.
///
/// # Errors
/// What the output fails with.
pub fn kineto_json<C: Chunks>(
    recording: &Recording<C>,
    cut: &Cut,
    about: &About,
    output: &mut impl Write,
) -> Result<Written, Error> {
    let start_ns = recording.ticks().ns(start_tick(recording, cut));
    let names = Names::new(recording.names());
    let mut writer = Writer {
        about,
        output: Output::new(output),
        seen: Seen::new(names.len()),
        external_id: names.find("External id"),
        resumed: names.find(RESUMED),
        device_work: names.find(DEVICE_WORK),
        memory_place: names.find(MEMORY_PLACE),
        streams: BTreeSet::new(),
        names,
        open: OpenSpans::default(),
        place: Vec::new(),
        base_ns: base_ns(start_ns),
        start_ns,
        last_ns: start_ns,
        tally: ThreadWritten::default(),
    };
    let mut threads = Vec::with_capacity(recording.threads().len());
    writer.header();
    writer.process();
    for thread in recording.threads().iter().filter(|thread| cut.has_stream(thread.stream)) {
        threads.push(writer.thread(recording, thread, cut)?);
    }
    for (id, ends) in (0..).zip(links(recording, cut, &writer.names)) {
        writer.link(id, [ends.0, ends.1].map(|spot| (spot.tid, recording.ticks().ns(spot.tick))));
        writer.output.flush_if_full()?;
    }
    writer.trailer();
    writer.output.finish(threads)
}

struct Writer<'a, 'r, W> {
    about: &'a About,
    output: Output<'a, Vec<u8>, W>,
    names: Names<'r>,
    /// What the arguments of the event at hand have been called so far.
    seen: Seen,
    /// The key of Kineto's link between events, where the recording has it.
    external_id: Option<u32>,
    /// The key of what async spans say about the time before their begin.
    resumed: Option<u32>,
    /// The key of what makes an instant device work.
    device_work: Option<u32>,
    /// The key of when and where memory of a device was asked for.
    memory_place: Option<u32>,
    /// Streams that have been named, by their devices.
    streams: BTreeSet<(u32, u64)>,
    open: OpenSpans,
    /// Process, thread and the key of the time, as they stand in every event of the running thread.
    place: Vec<u8>,
    base_ns: i64,
    start_ns: i64,
    last_ns: i64,
    tally: ThreadWritten,
}

impl<W: Write> Writer<'_, '_, W> {
    fn thread<C: Chunks>(&mut self, recording: &Recording<C>, thread: &Thread, cut: &Cut) -> Result<ThreadWritten, Error> {
        self.tally = ThreadWritten::of(thread);
        self.enter(thread);
        let mut ticks = recording.ticks().cursor();
        let mut events = recording.replay(thread, cut);
        while let Some((event, args)) = events.next() {
            let ns = ticks.ns(event.tick);
            self.last_ns = self.last_ns.max(ns);
            self.tally.count(&event.what);
            let ns = self.since(recording, cut, &event, args).unwrap_or(ns);
            self.event(&event, ns, args);
            self.output.flush_if_full()?;
        }
        Ok(std::mem::take(&mut self.tally))
    }

    /// When an async span began, if that was before its begin; its flow then starts at its first slice.
    #[inline]
    fn since<C: Chunks>(&mut self, recording: &Recording<C>, cut: &Cut, event: &Event, args: Args<'_>) -> Option<i64> {
        let (What::AsyncBegin { id }, Some(key)) = (event.what, self.resumed) else { return None };
        let resumed = Resumed::of(event, args, |name| self.names.same(name) == key)?;
        let own_place = self.place.clone();
        for first in resumed.first.iter().filter(|first| first.tick >= cut.from_tick && cut.has_stream(first.stream)) {
            let Some(thread) = recording.threads().iter().find(|thread| thread.stream == first.stream) else { continue };
            self.stand_on(thread.tid);
            self.flow(event.name, id, FlowStage::Start, recording.ticks().ns(first.tick));
        }
        self.place = own_place;
        Some(recording.ticks().ns(resumed.created_tick.max(start_tick(recording, cut))))
    }
}
