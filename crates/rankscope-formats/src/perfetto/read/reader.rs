//! [`Reader`]: packets in file order, and what each changes for those after it.

use std::io::{BufRead, BufReader};

use rankscope_trace::{ProblemKind, Problems, SourceFormat, Trace};
use rustc_hash::FxHashMap;

use super::builder::Builder;
use super::clocks::{Clocks, Reading};
use super::event::Event;
use super::packet::Packet;
use super::rows::Rows;
use super::sequence::Sequences;
use super::stage::OldNames;
use super::tracks::{self, Descriptors};
use crate::perfetto::schema::{self, packet as fields};
use crate::wire::{Fields, Malformed, Stream, TAKEN_BYTES_MAX};
use crate::{Error, Foreign, NoEvents, ReadOptions};

/// Packets inside packets are read this deep.
const DEPTH_MAX: u32 = 2;

pub(super) struct Reader<'o> {
    pub(super) options: &'o ReadOptions,
    /// Whether all ranks go into one trace.
    merged: bool,
    clocks: Clocks,
    pub(super) sequences: Sequences,
    pub(super) tracks: Descriptors,
    pub(super) rows: Rows,
    pub(super) builders: Vec<Builder>,
    /// Builders by the number of their trace in a file of ours; everything else has none.
    groups: FxHashMap<Option<u32>, usize>,
    pub(super) old_names: OldNames,
    pub(super) problems: Problems,
    packets: u64,
    /// Events that were not asked for.
    pub(super) passed_over: u64,
    /// Where the recorder's own count of lost packets stands, and the count. It only ever grows.
    lost: (u64, u64),
}

/// What an event is placed by: its time, the byte its packet starts at, and the places of its sequence and its trace.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) time_ns: i64,
    pub(super) offset: u64,
    pub(super) sequence: usize,
    pub(super) builder: usize,
}

impl<'o> Reader<'o> {
    /// A reader that has seen nothing.
    pub(super) fn new(options: &'o ReadOptions, merged: bool) -> Self {
        Self {
            options,
            merged,
            clocks: Clocks::default(),
            sequences: Sequences::default(),
            tracks: Descriptors::default(),
            rows: Rows::default(),
            builders: Vec::new(),
            groups: FxHashMap::default(),
            old_names: OldNames::default(),
            problems: Problems::default(),
            packets: 0,
            passed_over: 0,
            lost: (0, 0),
        }
    }

    /// Reads `input` to its end.
    pub(super) fn run(mut self, input: impl BufRead) -> Result<Vec<Trace>, Error> {
        let bytes = self.packets(input, None, DEPTH_MAX)?;
        if bytes == 0 {
            return Err(Error::Empty);
        }
        if self.packets == 0 {
            return Err(Error::NotATrace { found: Foreign::NoPackets });
        }
        self.finish(bytes)
    }

    /// Takes the packets of `input` in and returns its length. `outer` is where a packet starts that these are packed in.
    fn packets(&mut self, input: impl BufRead, outer: Option<u64>, depth: u32) -> Result<u64, Error> {
        let mut stream = Stream::new(input);
        let mut message = Vec::new();
        loop {
            let at = stream.offset();
            let offset = outer.unwrap_or(at);
            let Some(tag) = stream.tag()? else {
                if stream.offset() > at {
                    self.problems.add(ProblemKind::Truncated, offset);
                }
                return Ok(stream.offset());
            };
            let whole = if tag.field != schema::PACKET || tag.wire != 2 {
                self.problems.add(ProblemKind::Unsupported, offset);
                stream.skip(tag)?
            } else {
                match stream.varint()? {
                    Some(len) if len > TAKEN_BYTES_MAX => {
                        self.problems.add(ProblemKind::TooLong, offset);
                        stream.pass(len)?
                    }
                    Some(len) if stream.take(len, &mut message)? => {
                        self.packet(&message, offset, depth)?;
                        true
                    }
                    _ => false,
                }
            };
            if !whole {
                self.problems.add(ProblemKind::Truncated, offset);
                return Ok(stream.offset());
            }
        }
    }

    fn packet(&mut self, message: &[u8], offset: u64, depth: u32) -> Result<(), Error> {
        let Ok(packet) = Packet::parse(message) else {
            self.problems.add(ProblemKind::MalformedEvent, offset);
            return Ok(());
        };
        self.packets += 1;
        if let Some(inner) = packet.deflated {
            return self.inflate(BufReader::new(flate2::bufread::ZlibDecoder::new(inner)), offset, depth);
        }
        if let Some(inner) = packet.zstd {
            return match zstd::stream::read::Decoder::with_buffer(inner) {
                Ok(decoder) => self.inflate(BufReader::new(decoder), offset, depth),
                Err(_) => {
                    self.problems.add(ProblemKind::CorruptCompression, offset);
                    Ok(())
                }
            };
        }
        if self.state(&packet, offset).is_err() {
            self.problems.add(ProblemKind::MalformedEvent, offset);
        } else if packet.event.is_some() || packet.stage.is_some() || packet.gpu_counters.is_some() {
            self.events(&packet, offset);
        }
        Ok(())
    }

    /// Packets packed in a packet. What is damaged ends them, not the file.
    fn inflate(&mut self, inner: impl BufRead, offset: u64, depth: u32) -> Result<(), Error> {
        match depth.checked_sub(1) {
            Some(depth) if self.packets(inner, Some(offset), depth).is_err() => {
                self.problems.add(ProblemKind::CorruptCompression, offset);
            }
            Some(_) => {}
            None => self.problems.add(ProblemKind::Unsupported, offset),
        }
        Ok(())
    }

    /// What a packet changes for those after it.
    fn state(&mut self, packet: &Packet<'_>, offset: u64) -> Result<(), Malformed> {
        let at = self.sequences.place(packet.sequence);
        let sequence = &mut self.sequences[at];
        if packet.dropped && sequence.seen {
            sequence.valid = false;
            self.problems.add(ProblemKind::LostPackets, offset);
        }
        sequence.seen = true;
        if packet.flags & fields::STATE_CLEARED != 0 {
            sequence.clear();
        }
        if let Some(thread) = packet.thread {
            let (pid, tid, _) = tracks::thread_of(thread)?;
            sequence.thread = Some((pid, tid));
            for (number, value) in Fields::of(thread).flatten() {
                if number == schema::thread::REFERENCE_US {
                    sequence.reference_us = value.i64();
                }
            }
        }
        if let Some(defaults) = packet.defaults {
            sequence.defaults(defaults)?;
        }
        if let Some(descriptor) = packet.descriptor {
            self.tracks.describe(descriptor)?;
        }
        if let Some(snapshot) = packet.snapshot
            && !self.clocks.snapshot(packet.sequence, snapshot)
        {
            return Err(Malformed { at: 0 });
        }
        if let Some(stats) = packet.stats {
            self.lost = self.lost.max((lost_packets(stats), offset));
        }
        if let Some(interned) = packet.interned {
            let Some(builder) = self.builder(at, None) else { return Ok(()) };
            if !self.sequences[at].intern(interned, &mut self.builders[builder].trace.strings) {
                return Err(Malformed { at: 0 });
            }
        }
        Ok(())
    }

    /// The trace that a sequence's strings and events belong to: that of its default track, or of the first one it names. None where
    /// its track only shows what follows from the events of others.
    fn builder(&mut self, sequence: usize, track: Option<u64>) -> Option<usize> {
        let at = sequence;
        let sequence = &self.sequences[at];
        if let Some(builder) = sequence.builder {
            return builder;
        }
        let track = sequence.track.or(track);
        let group = track.filter(|_| !self.merged).and_then(|track| self.tracks.group(track));
        let derived = sequence.track.is_some_and(|track| self.tracks.is_derived(track));
        let builder = (!derived).then(|| self.builder_of(group));
        self.sequences[at].builder = Some(builder);
        builder
    }

    fn builder_of(&mut self, group: Option<u32>) -> usize {
        *self.groups.entry(group).or_insert_with(|| {
            self.builders.push(Builder::default());
            self.builders.len() - 1
        })
    }

    fn events(&mut self, packet: &Packet<'_>, offset: u64) {
        let sequence = self.sequences.place(packet.sequence);
        if packet.flags & fields::NEEDS_STATE != 0 && !self.sequences[sequence].valid {
            self.problems.add(ProblemKind::MissingInterned, offset);
            return;
        }
        let parsed = packet.event.map(Event::parse).transpose();
        let Ok(event) = parsed else {
            self.problems.add(ProblemKind::MalformedEvent, offset);
            return;
        };
        let Some(time_ns) = self.time(packet, sequence, event.as_ref(), offset) else { return };
        let Some(builder) = self.builder(sequence, event.and_then(|event| event.track)) else { return };
        let place = Place { time_ns, offset, sequence, builder };
        self.builders[builder].reach(time_ns);
        if let Some(event) = event {
            self.track_event(&event, place);
        }
        if let Some(message) = packet.stage {
            self.stage(message, place);
        }
        if let Some(message) = packet.gpu_counters {
            self.gpu_counters(message, place);
        }
    }

    fn time(&mut self, packet: &Packet<'_>, sequence: usize, event: Option<&Event<'_>>, offset: u64) -> Option<i64> {
        let sequence = &mut self.sequences[sequence];
        let old_us = event.and_then(|event| match (event.absolute_us, event.delta_us) {
            (Some(absolute), _) => Some(absolute),
            (None, Some(delta)) => {
                sequence.reference_us = sequence.reference_us.saturating_add(delta);
                Some(sequence.reference_us)
            }
            (None, None) => None,
        });
        if let Some(us) = old_us {
            return Some(us.saturating_mul(1_000));
        }
        let clock = packet.clock.or(sequence.clock).unwrap_or(self.clocks.trace_clock());
        let reading = packet.timestamp.map(|ticks| self.clocks.read(packet.sequence, clock, ticks));
        match reading {
            Some(Reading::Known(ns)) => return Some(ns),
            Some(Reading::Untied(ns)) => {
                let what = format!("clock {clock} is not related to the trace clock; assumed to be the same");
                self.problems.add_detailed(ProblemKind::Unsupported, offset, 1, what);
                return Some(ns);
            }
            Some(Reading::Unknown) | None => self.problems.add(ProblemKind::MissingTimestamp, offset),
        }
        None
    }

    fn finish(mut self, bytes: u64) -> Result<Vec<Trace>, Error> {
        if self.lost.0 > 0 {
            self.problems.add_detailed(
                ProblemKind::LostPackets,
                self.lost.1,
                self.lost.0,
                "by the recorder's count".to_owned(),
            );
        }
        if !self.merged {
            let groups: Vec<u32> = self.tracks.facts.keys().copied().collect();
            groups.into_iter().for_each(|group| {
                self.builder_of(Some(group));
            });
        }
        let mut numbered: Vec<(Option<u32>, usize)> = self.groups.into_iter().collect();
        numbered.sort_unstable();
        let only = self.tracks.facts.keys().next().copied().filter(|_| self.merged && self.tracks.facts.len() == 1);
        let mut builders: Vec<Option<Builder>> = self.builders.into_iter().map(Some).collect();
        let shift_ns = self.clocks.unix_offset_ns();
        let (mut traces, mut without_events) = (Vec::new(), None);
        for (group, at) in numbered {
            let Some(builder) = builders[at].take() else { continue };
            let mut trace = builder.finish(at, &mut self.rows, &self.tracks, group.or(only));
            shift(&mut trace, shift_ns.unwrap_or(0));
            trace.provenance.clock_base_ns = shift_ns;
            trace.provenance.format = SourceFormat::Perfetto;
            trace.provenance.file.clone_from(&self.options.label);
            trace.provenance.bytes = bytes;
            if trace.events() == 0 && group.is_none() {
                without_events = Some(trace);
            } else {
                traces.push(trace);
            }
        }
        if traces.is_empty() {
            traces.extend(without_events);
        }
        if let Some(first) = traces.first_mut() {
            first.provenance.problems.merge(std::mem::take(&mut self.problems));
        }
        // A trace without what was asked for is a trace all the same.
        if traces.iter().all(|trace| trace.events() == 0) && self.passed_over == 0 {
            let first = self.problems.iter().chain(traces.iter().flat_map(|trace| trace.provenance.problems.iter())).next();
            let reason = first.map_or(NoEvents::NoEventPackets, NoEvents::damaged);
            return Err(Error::NoEvents { offset: first.map_or(0, |problem| problem.offset), reason });
        }
        Ok(traces)
    }
}

/// Moves all times of a trace.
fn shift(trace: &mut Trace, by_ns: i64) {
    if by_ns == 0 {
        return;
    }
    let move_one = |time_ns: &mut i64| *time_ns = time_ns.saturating_add(by_ns);
    trace.spans.start_ns.iter_mut().for_each(move_one);
    trace.instants.iter_mut().for_each(|mark| move_one(&mut mark.time_ns));
    trace.counters.iter_mut().for_each(|sample| move_one(&mut sample.time_ns));
    trace.flows.iter_mut().for_each(|point| move_one(&mut point.time_ns));
}

/// Packets that `TraceStats` says were lost: overwritten, discarded or broken ones of all buffers.
fn lost_packets(stats: &[u8]) -> u64 {
    const BUFFERS: u32 = 1;
    const LOSSES: [u32; 5] = [3, 6, 8, 9, 18];
    const WRITER_LOSS: u32 = 19;
    let buffers = Fields::of(stats).flatten().filter(|(number, _)| *number == BUFFERS);
    let counts = buffers.flat_map(|(_, buffer)| Fields::of(buffer.bytes()).flatten());
    let lost = counts.filter(|(number, _)| LOSSES.contains(number) || *number == WRITER_LOSS);
    lost.fold(0u64, |sum, (_, value)| sum.saturating_add(value.u64()))
}
