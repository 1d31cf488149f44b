//! Perfetto to traces, packet by packet.
//!
//! What a packet means depends on what its sequence said before, so packets are taken in file order and nothing of them is
//! kept but the events. A file of ours holds several ranks and becomes several traces, or one with all of them; any other file
//! is one trace. What is missing or damaged is counted and stepped over.

use std::io::{BufRead, BufReader};

use rankscope_trace::{
    ArgValue, CategoryKind, CounterSample, InstantMark, InstantScope, ProblemKind, Problems, StrId, Trace, TrackId,
};
use rustc_hash::FxHashMap;

use crate::wire::{Fields, Malformed, Stream};
use crate::{ArgsPolicy, Error, ReadOptions, Scope};

mod args;
mod builder;
mod clocks;
mod columns;
mod event;
mod rows;
mod sequence;
mod stage;
mod tracks;

use args::Lost;
use builder::{Builder, Incoming, has_columns};
use clocks::{Clocks, Reading};
use event::{Event, Sample};
use rows::{RowId, Rows};
use sequence::Sequence;
use stage::{OldNames, Stage};
use tracks::{Descriptors, What};

use super::schema::{self, event as kinds, legacy, packet};

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

/// Packets inside packets are read this deep.
const DEPTH_MAX: u32 = 2;

struct Reader<'o> {
    options: &'o ReadOptions,
    /// Whether all ranks go into one trace.
    merged: bool,
    clocks: Clocks,
    sequences: FxHashMap<u32, Sequence>,
    tracks: Descriptors,
    rows: Rows,
    builders: Vec<Builder>,
    /// Builders by the number of their trace in a file of ours; everything else has none.
    groups: FxHashMap<Option<u32>, usize>,
    old_names: OldNames,
    problems: Problems,
    packets: u64,
    /// Where the recorder's own count of lost packets stands, and the count. It only ever grows.
    lost: (u64, u64),
}

/// A packet's fields.
#[derive(Default)]
struct Packet<'a> {
    timestamp: Option<u64>,
    clock: Option<u64>,
    sequence: u32,
    flags: u64,
    dropped: bool,
    defaults: Option<&'a [u8]>,
    interned: Option<&'a [u8]>,
    snapshot: Option<&'a [u8]>,
    descriptor: Option<&'a [u8]>,
    thread: Option<&'a [u8]>,
    event: Option<&'a [u8]>,
    stage: Option<&'a [u8]>,
    gpu_counters: Option<&'a [u8]>,
    stats: Option<&'a [u8]>,
    deflated: Option<&'a [u8]>,
    zstd: Option<&'a [u8]>,
}

impl<'a> Packet<'a> {
    fn parse(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut of = Self::default();
        for field in Fields::of(message) {
            let (number, value) = field?;
            match number {
                packet::TIMESTAMP => of.timestamp = Some(value.u64()),
                packet::TIMESTAMP_CLOCK_ID => of.clock = Some(value.u64()),
                packet::SEQUENCE_ID => of.sequence = value.u64() as u32,
                packet::SEQUENCE_FLAGS => of.flags |= value.u64(),
                packet::OLD_STATE_CLEARED if value.u64() != 0 => of.flags |= packet::STATE_CLEARED,
                packet::PREVIOUS_DROPPED => of.dropped = value.u64() != 0,
                packet::DEFAULTS => of.defaults = Some(value.bytes()),
                packet::INTERNED_DATA => of.interned = Some(value.bytes()),
                packet::CLOCK_SNAPSHOT => of.snapshot = Some(value.bytes()),
                packet::TRACK_DESCRIPTOR => of.descriptor = Some(value.bytes()),
                packet::THREAD_DESCRIPTOR => of.thread = Some(value.bytes()),
                packet::TRACK_EVENT => of.event = Some(value.bytes()),
                packet::GPU_RENDER_STAGE_EVENT => of.stage = Some(value.bytes()),
                packet::GPU_COUNTER_EVENT => of.gpu_counters = Some(value.bytes()),
                packet::TRACE_STATS => of.stats = Some(value.bytes()),
                packet::COMPRESSED => of.deflated = Some(value.bytes()),
                packet::ZSTD_COMPRESSED => of.zstd = Some(value.bytes()),
                _ => {}
            }
        }
        Ok(of)
    }
}

/// What an event is placed by: its time, the byte its packet starts at, its sequence, and the trace it goes to.
#[derive(Clone, Copy)]
struct Place {
    time_ns: i64,
    offset: u64,
    sequence: u32,
    builder: usize,
}

impl<'o> Reader<'o> {
    fn new(options: &'o ReadOptions, merged: bool) -> Self {
        Self {
            options,
            merged,
            clocks: Clocks::default(),
            sequences: FxHashMap::default(),
            tracks: Descriptors::default(),
            rows: Rows::default(),
            builders: Vec::new(),
            groups: FxHashMap::default(),
            old_names: OldNames::default(),
            problems: Problems::default(),
            packets: 0,
            lost: (0, 0),
        }
    }

    fn run(mut self, input: impl BufRead) -> Result<Vec<Trace>, Error> {
        let bytes = self.packets(input, None, DEPTH_MAX)?;
        if bytes == 0 {
            return Err(Error::Empty);
        }
        if self.packets == 0 {
            let found = "its first bytes are no packet of a Perfetto trace".to_owned();
            return Err(Error::NotATrace { found });
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
        let sequence = self.sequences.entry(packet.sequence).or_default();
        if packet.dropped && sequence.seen {
            sequence.valid = false;
            self.problems.add(ProblemKind::LostPackets, offset);
        }
        sequence.seen = true;
        if packet.flags & packet::STATE_CLEARED != 0 {
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
            let builder = self.builder(packet.sequence, None);
            let sequence = self.sequences.entry(packet.sequence).or_default();
            if !sequence.intern(interned, &mut self.builders[builder].trace.strings) {
                return Err(Malformed { at: 0 });
            }
        }
        Ok(())
    }

    /// The trace that a sequence's strings and events belong to: that of its default track, or of the first one it names.
    fn builder(&mut self, id: u32, track: Option<u64>) -> usize {
        let sequence = self.sequences.entry(id).or_default();
        if let Some(builder) = sequence.builder {
            return builder;
        }
        let track = sequence.track.or(track);
        let group = track.filter(|_| !self.merged).and_then(|track| self.tracks.group(track));
        let builder = self.builder_of(group);
        self.sequences.entry(id).or_default().builder = Some(builder);
        builder
    }

    fn builder_of(&mut self, group: Option<u32>) -> usize {
        *self.groups.entry(group).or_insert_with(|| {
            self.builders.push(Builder::default());
            self.builders.len() - 1
        })
    }

    fn events(&mut self, packet: &Packet<'_>, offset: u64) {
        let sequence = self.sequences.entry(packet.sequence).or_default();
        if packet.flags & packet::NEEDS_STATE != 0 && !sequence.valid {
            self.problems.add(ProblemKind::MissingInterned, offset);
            return;
        }
        let parsed = packet.event.map(Event::parse).transpose();
        let Ok(event) = parsed else {
            self.problems.add(ProblemKind::MalformedEvent, offset);
            return;
        };
        let Some(time_ns) = self.time(packet, event.as_ref(), offset) else { return };
        let builder = self.builder(packet.sequence, event.and_then(|event| event.track));
        let place = Place { time_ns, offset, sequence: packet.sequence, builder };
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

    fn time(&mut self, packet: &Packet<'_>, event: Option<&Event<'_>>, offset: u64) -> Option<i64> {
        let sequence = self.sequences.entry(packet.sequence).or_default();
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
                let what = format!("clock {clock} is not tied to the trace's; taken for it");
                self.problems.add_detailed(ProblemKind::Unsupported, offset, 1, what);
                return Some(ns);
            }
            Some(Reading::Unknown) | None => self.problems.add(ProblemKind::MissingTimestamp, offset),
        }
        None
    }

    fn track_event(&mut self, event: &Event<'_>, place: Place) {
        let sequence = &self.sequences[&place.sequence];
        let row = match (event.track.or(sequence.track), sequence.thread, event.legacy.pid, event.legacy.tid) {
            (_, _, Some(pid), Some(tid)) => RowId::Thread { pid, tid },
            (Some(uuid), ..) => RowId::Track(uuid),
            (None, Some((pid, tid)), ..) => RowId::Thread { pid, tid },
            (None, None, ..) => RowId::Track(0),
        };
        match (event.kind, event.legacy.phase) {
            (kinds::SLICE_BEGIN, _) | (0, b'B') => self.begin(event, place, row, None),
            (kinds::SLICE_END, _) | (0, b'E') => self.end(place, row),
            (kinds::INSTANT, _) | (0, b'i' | b'I' | b'R') => self.instant(event, place, row),
            (0, b'X') => self.begin(event, place, row, Some(event.legacy.duration_us)),
            (kinds::COUNTER, _) => match event.value {
                Some(sample) => self.sample(row, sample, place),
                None => self.problems.add(ProblemKind::MalformedEvent, place.offset),
            },
            _ => self.problems.add(ProblemKind::Unsupported, place.offset),
        }
        if event.has_extra {
            self.extra_samples(event, place);
        }
    }

    /// A begin, or a whole span of `duration_us`.
    fn begin(&mut self, event: &Event<'_>, place: Place, row: RowId, duration_us: Option<i64>) {
        let (name, category) = self.texts(event, place);
        let (number, ours) = self.row(row, place.builder);
        let builder = &mut self.builders[place.builder];
        let of = builder.category(category, &self.tracks.kinds);
        let wanted = self.options.args == ArgsPolicy::All || has_columns(of.1, builder.trace.strings.text(name));
        if wanted {
            self.arguments(event, place, ours);
        }
        let dur_ns = duration_us.unwrap_or(0).saturating_mul(1_000);
        if dur_ns < 0 {
            self.problems.add(ProblemKind::NegativeDuration, place.offset);
        }
        let Place { time_ns, offset, .. } = place;
        let span = Incoming { row: number, time_ns, dur_ns: dur_ns.max(0), name, offset };
        let builder = &mut self.builders[place.builder];
        let id = builder.span(span, of, self.options);
        builder.args.clear();
        if let Some(id) = id {
            event.flows().for_each(|(flow, ends)| builder.touch(flow, number, time_ns, ends, ours));
            event.submissions().for_each(|stage| builder.submits(stage, id));
        }
        if duration_us.is_none() {
            self.rows.row(place.builder, row, || ours).1.begin(time_ns, id);
        }
    }

    fn end(&mut self, place: Place, row: RowId) {
        let (_, ours) = self.row(row, place.builder);
        let spans = &mut self.builders[place.builder].trace.spans;
        if !self.rows.row(place.builder, row, || ours).1.end(place.time_ns, spans) {
            self.problems.add_detailed(ProblemKind::UnbalancedSpan, place.offset, 1, "an end without a begin".to_owned());
        }
    }

    fn instant(&mut self, event: &Event<'_>, place: Place, row: RowId) {
        if self.options.scope == Scope::Device {
            return;
        }
        let (name, category) = self.texts(event, place);
        let (number, ours) = self.row(row, place.builder);
        if self.options.args == ArgsPolicy::All {
            self.arguments(event, place, ours);
        }
        let builder = &mut self.builders[place.builder];
        let (category, _) = builder.category(category, &self.tracks.kinds);
        let scope = match event.legacy.scope {
            legacy::SCOPE_GLOBAL => InstantScope::Global,
            legacy::SCOPE_PROCESS => InstantScope::Process,
            _ => InstantScope::Thread,
        };
        event.flows().for_each(|(flow, ends)| builder.touch(flow, number, place.time_ns, ends, ours));
        let mark = InstantMark { time_ns: place.time_ns, name, track: TrackId(number), category, scope };
        builder.trace.instants.push(mark);
        if self.options.args == ArgsPolicy::All {
            let column = &mut builder.trace.instant_args;
            builder.args.drain(..).for_each(|(key, value)| column.push(key, value));
            column.end_row();
        }
    }

    fn sample(&mut self, row: RowId, sample: Sample, place: Place) {
        if self.options.scope == Scope::Device {
            return;
        }
        let described = if let RowId::Track(uuid) = row { self.tracks.get(uuid) } else { None };
        let (incremental, multiplier) = match described.map(|described| described.what) {
            Some(What::Counter { incremental, multiplier }) => (incremental, multiplier),
            _ => (false, 1.0),
        };
        let mut value = match sample {
            Sample::Int(value) => value as f64 * multiplier,
            Sample::Double(value) => value * multiplier,
        };
        let ours = described.is_some_and(|described| described.note.is_some());
        let (number, row) = self.rows.row(place.builder, row, || ours);
        if incremental {
            row.total += value;
            value = row.total;
        }
        let (name, series, track) = (StrId::EMPTY, StrId::EMPTY, TrackId(number));
        let sample = CounterSample { time_ns: place.time_ns, name, series, track, value };
        self.builders[place.builder].trace.counters.push(sample);
    }

    fn extra_samples(&mut self, event: &Event<'_>, place: Place) {
        for doubles in [false, true] {
            let mut tracks: Vec<u64> = event.extra_tracks(doubles).collect();
            if tracks.is_empty() {
                let sequence = &self.sequences[&place.sequence];
                tracks.clone_from(if doubles { &sequence.extra_double_tracks } else { &sequence.extra_tracks });
            }
            for (uuid, sample) in tracks.into_iter().zip(event.extra(doubles)) {
                self.sample(RowId::Track(uuid), sample, place);
            }
        }
    }

    fn stage(&mut self, message: &[u8], place: Place) {
        let Ok(stage) = Stage::parse(message) else {
            self.problems.add(ProblemKind::MalformedEvent, place.offset);
            return;
        };
        if let Some(names) = stage.specifications {
            self.old_names.learn(names);
        }
        if !stage.is_work() {
            return;
        }
        let sequence = &self.sequences[&place.sequence];
        let builder = &mut self.builders[place.builder];
        let strings = &mut builder.trace.strings;
        let queue = stage.queue(sequence, &self.old_names, strings);
        let sort = stage.stage(sequence, &self.old_names, strings);
        if queue.is_none() || sort.is_none() {
            self.problems.add(ProblemKind::MissingInterned, place.offset);
        }
        let (queue, sort) = (queue.unwrap_or_default(), sort.unwrap_or_default());
        let name = stage.name(sequence, strings).unwrap_or(sort);
        let text = stage::category_of(strings.text(sort)).to_owned();
        let category = strings.intern(&text);
        stage.args(sequence, strings, &mut builder.args);
        let of = match builder.category(category, &self.tracks.kinds) {
            // Render stages are work of a device, whatever the driver calls them.
            (_, CategoryKind::Other) => (builder.trace.category(&text, CategoryKind::Kernel), CategoryKind::Kernel),
            known => known,
        };
        let (row, _) = self.rows.row(place.builder, RowId::Queue { gpu: stage.gpu, queue }, || false);
        let dur_ns = i64::try_from(stage.duration).unwrap_or(i64::MAX);
        let Place { time_ns, offset, .. } = place;
        let id = builder.span(Incoming { row, time_ns, dur_ns, name, offset }, of, self.options);
        builder.args.clear();
        if let Some(id) = id {
            builder.stage(stage.event_id, id);
            stage.waits().for_each(|event| builder.waits(event, id));
        }
    }

    fn gpu_counters(&mut self, message: &[u8], place: Place) {
        let sequence = self.sequences.entry(place.sequence).or_default();
        let strings = &mut self.builders[place.builder].trace.strings;
        let Some((gpu, values)) = stage::counters(message, sequence, strings) else {
            self.problems.add(ProblemKind::MalformedEvent, place.offset);
            return;
        };
        for (name, value) in values {
            self.sample(RowId::GpuCounter { gpu, name }, Sample::Double(value), place);
        }
    }

    /// Name and category of an event.
    fn texts(&mut self, event: &Event<'_>, place: Place) -> (StrId, StrId) {
        let sequence = &self.sequences[&place.sequence];
        let strings = &mut self.builders[place.builder].trace.strings;
        let mut missing = false;
        let mut text = |plain: Option<&[u8]>, table: &sequence::Table, iid: u64| match plain {
            Some(text) => strings.intern(&String::from_utf8_lossy(text)),
            None if iid == 0 => StrId::EMPTY,
            None => table.get(iid).unwrap_or_else(|| {
                missing = true;
                StrId::EMPTY
            }),
        };
        let iid = if event.name_iid == 0 { event.legacy.name_iid } else { event.name_iid };
        let name = text(event.name, &sequence.names, iid);
        let category = text(event.category, &sequence.categories, event.category_iid);
        if missing {
            self.problems.add(ProblemKind::MissingInterned, place.offset);
        }
        (name, category)
    }

    /// Decodes an event's arguments into its builder.
    fn arguments(&mut self, event: &Event<'_>, place: Place, ours: bool) {
        let sequence = &self.sequences[&place.sequence];
        let builder = &mut self.builders[place.builder];
        for message in event.annotations() {
            let read: Result<(StrId, ArgValue), Lost> = args::argument(message, sequence, &mut builder.trace.strings, ours);
            match read {
                Ok(argument) => builder.args.push(argument),
                Err(Lost::Missing) => self.problems.add(ProblemKind::MissingInterned, place.offset),
                Err(Lost::Malformed) => self.problems.add(ProblemKind::MalformedEvent, place.offset),
            }
        }
    }

    /// The number of a row, and whether we wrote it.
    fn row(&mut self, row: RowId, builder: usize) -> (u32, bool) {
        let tracks = &self.tracks;
        let (number, row) = self.rows.row(builder, row, || match row {
            RowId::Track(uuid) => tracks.get(uuid).is_some_and(|described| described.note.is_some()),
            _ => false,
        });
        (number, row.ours)
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
        let mut traces = Vec::new();
        for (group, at) in numbered {
            let Some(builder) = builders[at].take() else { continue };
            let mut trace = builder.finish(at, &mut self.rows, &self.tracks, group.or(only));
            if trace.events() == 0 && group.is_none() {
                continue;
            }
            shift(&mut trace, shift_ns.unwrap_or(0));
            trace.provenance.clock_base_ns = shift_ns;
            trace.provenance.format = "perfetto";
            trace.provenance.file.clone_from(&self.options.label);
            trace.provenance.bytes = bytes;
            if traces.is_empty() {
                trace.provenance.problems.merge(std::mem::take(&mut self.problems));
            }
            traces.push(trace);
        }
        if traces.iter().all(|trace| trace.events() == 0) {
            let first = self.problems.iter().chain(traces.iter().flat_map(|trace| trace.provenance.problems.iter())).next();
            let reason = first.map_or("none of its packets is an event".to_owned(), |problem| problem.kind.to_string());
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
