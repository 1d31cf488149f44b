//! Fills a [`Trace`] event by event.

mod arguments;
mod asynchronous;
mod device;

use rankscope_trace::{
    ArgValue, CategoryKind, CounterSample, FlowPhase, FlowPoint, InstantMark, InstantScope, ProblemKind, Provenance, SpanId,
    SpanRow, StrId, Trace, Track, TrackId, TrackKey, TrackKind,
};
use rustc_hash::FxHashMap;

use super::super::keys::{API, KINETO_API};
use super::super::{Args, Category, CounterValue, DEVICE_STREAM, Event, FlowStage, NameId, TickMap, What, take_out};
use crate::columns::Columns;
use crate::kineto::{Wanted, kept_in_device_scope, wanted};
use crate::{ArgsPolicy, ReadOptions, Scope};
use arguments::file_args;
use asynchronous::Half;

/// Fills a trace from the events of one thread after the other, or of several by turns.
pub(in crate::recording) struct Builder<'a> {
    options: &'a ReadOptions,
    ticks: TickMap,
    trace: Trace,
    columns: Columns,
    names: Vec<Known>,
    process: TrackId,
    lanes: FxHashMap<u32, Lane>,
    stream: u32,
    lane: Lane,
    /// Asynchronous spans by their name and id. They end on any thread, which may come before the one they began on.
    begun: FxHashMap<(NameId, u64), Half>,
    ended: FxHashMap<(NameId, u64), Half>,
    /// Where they lie, by their name.
    asynchronous: FxHashMap<StrId, TrackId>,
    args: Vec<(StrId, ArgValue)>,
    /// Points of flows on threads that may not be known yet, by stream.
    starts: Vec<(u32, FlowPoint)>,
    /// Whether spans say their own numbers.
    is_numbered: bool,
    /// Spans that ended because part of the recording is missing.
    torn: u64,
    offset: u64,
}

/// A name, looked up once.
#[derive(Clone, Copy)]
struct Known {
    text: StrId,
    category: u16,
    kind: CategoryKind,
    wanted: Wanted,
    kept: bool,
}

/// A thread.
#[derive(Default)]
struct Lane {
    track: Option<TrackId>,
    /// Its spans that are open, and their arguments so far.
    open: Vec<Open>,
    args: Vec<(StrId, ArgValue)>,
    /// Where the ticks were found last.
    near: usize,
    last_tick: u64,
    /// Where its spans lie that overlap others.
    overlapping: Option<TrackId>,
    /// Spans that did not end, with nothing of the thread behind them yet.
    left_open: u64,
}

struct Open {
    name: Known,
    text: StrId,
    start_ns: i64,
    id: u64,
    first_arg: usize,
}

impl Lane {
    /// Takes out the open span with so many above it, and puts its arguments into `args`; none where its begin is lost.
    fn take_out(&mut self, above: u32, args: &mut Vec<(StrId, ArgValue)>) -> Option<Open> {
        let open = take_out(&mut self.open, above)?;
        let at = self.open.len() - above as usize;
        let end = self.open.get(at).map_or(self.args.len(), |next| next.first_arg);
        args.extend(self.args.drain(open.first_arg..end));
        for above in &mut self.open[at..] {
            above.first_arg -= end - open.first_arg;
        }
        Some(open)
    }
}

impl<'a> Builder<'a> {
    pub(in crate::recording) fn new(options: &'a ReadOptions, ticks: TickMap) -> Self {
        Self {
            options,
            ticks,
            trace: Trace::default(),
            columns: Columns::default(),
            names: Vec::new(),
            process: TrackId(0),
            lanes: FxHashMap::default(),
            stream: 0,
            lane: Lane::default(),
            begun: FxHashMap::default(),
            ended: FxHashMap::default(),
            asynchronous: FxHashMap::default(),
            args: Vec::new(),
            starts: Vec::new(),
            is_numbered: false,
            torn: 0,
            offset: 0,
        }
    }

    pub(in crate::recording) fn provenance(&mut self) -> &mut Provenance {
        &mut self.trace.provenance
    }

    /// Where in the file the events to come lie.
    pub(in crate::recording) fn at(&mut self, offset: u64) {
        self.offset = offset;
    }

    /// Ticks to time, once that is known.
    pub(in crate::recording) fn set_ticks(&mut self, ticks: TickMap) {
        self.ticks = ticks;
    }

    /// Makes the track of the process, from what the metadata say. Comes before any thread.
    pub(in crate::recording) fn name_process(&mut self) {
        let said = |key: &str| {
            let json = self.trace.provenance.header.iter().rev().find(|(known, _)| known == key)?;
            serde_json::from_str::<serde_json::Value>(&json.1).ok()
        };
        self.is_numbered = said(API).is_some_and(|api| api == KINETO_API);
        let pid = said("pid").and_then(|pid| pid.as_i64()).unwrap_or(0);
        let name = said("process_name").and_then(|name| name.as_str().map(str::to_owned)).unwrap_or_default();
        self.process = self.trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(pid));
        self.trace.tracks.get_mut(self.process).name = self.trace.strings.intern(&name);
    }

    /// Enters a name by its number. Numbers come in order; what is skipped is empty.
    pub(in crate::recording) fn name(&mut self, number: usize, text: &str, category: u8) {
        self.is_numbered |= text == "External id";
        let known = self.known(text, category);
        if number >= self.names.len() {
            let missing = self.known("", 0);
            self.names.resize(number + 1, missing);
        }
        self.names[number] = known;
    }

    fn known(&mut self, text: &str, category: u8) -> Known {
        let word = Category::of(category).map_or("unknown", Category::name);
        let kind = CategoryKind::of_kineto(word);
        let wanted = wanted(kind, text.as_bytes());
        let kept = self.options.scope == Scope::All || kept_in_device_scope(kind, wanted);
        Known { text: self.trace.strings.intern(text), category: self.trace.category(word, kind), kind, wanted, kept }
    }

    fn look_up(&mut self, name: NameId) -> Known {
        match self.names.get(name.0 as usize) {
            Some(known) => *known,
            None => {
                self.trace.provenance.problems.add(ProblemKind::MissingInterned, self.offset);
                self.known("", 0)
            }
        }
    }

    /// What it was asked for.
    pub(in crate::recording) fn scope(&self) -> Scope {
        self.options.scope
    }

    /// The events to come are of this thread.
    pub(in crate::recording) fn thread(&mut self, stream: u32, tid: u64, name: &str) {
        self.turn_to(stream);
        if stream == DEVICE_STREAM {
            // Work lies on the tracks of its devices.
            return;
        }
        // A later thread may have got the number of an earlier one.
        let key = TrackKey::Number(i64::try_from(tid).unwrap_or(i64::MAX));
        let track = self.trace.tracks.find_or_add(TrackKind::Thread, Some(self.process), key);
        if !name.is_empty() {
            self.trace.tracks.get_mut(track).name = self.trace.strings.intern(name);
        }
        self.lane.track = Some(track);
    }

    /// The events to come are of a thread that was named before, or never.
    pub(in crate::recording) fn turn_to(&mut self, stream: u32) {
        if stream != self.stream {
            let next = self.lanes.remove(&stream).unwrap_or_default();
            let last = std::mem::replace(&mut self.lane, next);
            self.lanes.insert(self.stream, last);
            self.stream = stream;
        }
    }

    fn track(&mut self) -> TrackId {
        let (process, stream) = (self.process, self.stream);
        let tracks = &mut self.trace.tracks;
        *self.lane.track.get_or_insert_with(|| {
            tracks.find_or_add(TrackKind::Thread, Some(process), TrackKey::Number(-1 - i64::from(stream)))
        })
    }

    /// Part of the thread's events is missing here: what is open ends, unfinished, at its last tick.
    pub(in crate::recording) fn hole(&mut self) {
        let tick = self.lane.last_tick;
        while !self.lane.open.is_empty() {
            self.end(tick, Args::NONE, true, 0);
        }
    }

    /// Takes in one event.
    pub(in crate::recording) fn event(&mut self, event: &Event, args: Args<'_>) {
        self.lane.last_tick = event.tick;
        if self.lane.left_open > 0 && !matches!(event.what, What::End { unfinished: true, .. }) {
            self.torn += std::mem::take(&mut self.lane.left_open);
        }
        match event.what {
            What::Begin { id, number } => self.begin(event, id, number, args),
            What::End { unfinished, above } => self.end(event.tick, args, unfinished, above),
            What::AsyncBegin { id } => self.async_half(event, id, args, true),
            What::AsyncEnd { id } => self.async_half(event, id, args, false),
            What::Instant if self.device_work(event, args) || self.noted(event, args) => {}
            _ if self.options.scope == Scope::Device => {}
            What::Instant => {
                let name = self.look_up(event.name);
                self.args.clear();
                self.take_args(args);
                self.instant(event.tick, name.text, name.category);
            }
            What::Counter(value) => self.counter(event, value),
            What::Flow { id, stage } => self.flow(event, id, stage),
            What::Memory { .. } => self.memory(event, args),
        }
    }

    fn time(&mut self, tick: u64) -> i64 {
        self.ticks.ns_near(&mut self.lane.near, tick)
    }

    fn begin(&mut self, event: &Event, id: u64, number: Option<i64>, args: Args<'_>) {
        let name = self.look_up(event.name);
        let text = match number {
            Some(number) => {
                let text = format!("{}#{number}", self.trace.strings.text(name.text));
                self.trace.strings.intern(&text)
            }
            None => name.text,
        };
        let start_ns = self.time(event.tick);
        let first_arg = self.lane.args.len();
        if self.wants_args(name) && !args.is_empty() {
            self.args.clear();
            self.take_args(args);
            self.lane.args.append(&mut self.args);
        }
        self.lane.open.push(Open { name, text, start_ns, id, first_arg });
    }

    fn wants_args(&self, name: Known) -> bool {
        self.options.args == ArgsPolicy::All || name.wanted != Wanted::Nothing
    }

    fn end(&mut self, tick: u64, args: Args<'_>, unfinished: bool, above: u32) {
        self.args.clear();
        let Some(open) = self.lane.take_out(above, &mut self.args) else { return };
        if !open.name.kept {
            return;
        }
        if self.wants_args(open.name) {
            self.take_args(args);
        }
        if unfinished {
            self.lane.left_open += 1;
            self.mark_unfinished();
        }
        let end_ns = self.time(tick);
        let track = if above == 0 {
            self.track()
        } else {
            self.mark("misnested", true);
            self.overlapping_track()
        };
        self.span(open.start_ns, end_ns, open.text, track, open.name, open.id);
    }

    /// The span that is filed next has no end.
    fn mark_unfinished(&mut self) {
        self.trace.unfinished.push(SpanId(self.trace.spans.len() as u32));
        self.mark("finished", false);
    }

    fn mark(&mut self, key: &str, value: bool) {
        if self.options.args == ArgsPolicy::All {
            self.args.push((self.trace.strings.intern(key), ArgValue::Bool(value)));
        }
    }

    /// The track of the thread's overlapping spans. They need not nest there, as asynchronous ones.
    fn overlapping_track(&mut self) -> TrackId {
        let thread = self.track();
        let (process, Trace { tracks, strings, .. }) = (self.process, &mut self.trace);
        *self.lane.overlapping.get_or_insert_with(|| {
            let Track { key, name, .. } = *tracks.get(thread);
            let number = if let TrackKey::Number(number) = key { number } else { 0 };
            let key = TrackKey::Text(strings.intern(&Track::async_beside(number)));
            let track = tracks.find_or_add(TrackKind::Thread, Some(process), key);
            let name = format!("{} (overlapping)", strings.text(name));
            tracks.get_mut(track).name = strings.intern(name.trim_start());
            track
        })
    }

    /// Files a span with the arguments that were collected.
    fn span(&mut self, start_ns: i64, end_ns: i64, text: StrId, track: TrackId, name: Known, id: u64) -> SpanId {
        let dur_ns = end_ns.saturating_sub(start_ns).max(0);
        let row = SpanRow { start_ns, dur_ns, name: text, track, category: name.category, offset: self.offset };
        let span = self.trace.spans.push(row);
        if self.options.args == ArgsPolicy::All {
            if self.is_numbered {
                self.number(id);
            }
            file_args(&self.args, &mut self.trace.spans.args);
            self.trace.spans.args.end_row();
        }
        if self.wants_args(name) {
            self.columns.file(&mut self.trace, span, name.kind, &self.args);
        }
        span
    }

    /// The span says its own number, unless its arguments do.
    fn number(&mut self, id: u64) {
        let key = self.trace.strings.intern("External id");
        if !self.args.iter().any(|(known, _)| *known == key) {
            let id = i64::try_from(id).map_or(ArgValue::U64(id), ArgValue::I64);
            self.args.push((key, id));
        }
    }

    fn instant(&mut self, tick: u64, name: StrId, category: u16) {
        let (time_ns, track) = (self.time(tick), self.track());
        self.instant_at(time_ns, track, name, category);
    }

    fn instant_at(&mut self, time_ns: i64, track: TrackId, name: StrId, category: u16) {
        self.trace.instants.push(InstantMark { time_ns, name, track, category, scope: InstantScope::Thread });
        if self.options.args == ArgsPolicy::All {
            file_args(&self.args, &mut self.trace.instant_args);
            self.trace.instant_args.end_row();
        }
    }

    fn counter(&mut self, event: &Event, value: CounterValue) {
        let name = self.look_up(event.name).text;
        let value = match value {
            CounterValue::I64(value) => value as f64,
            CounterValue::F64(value) => value,
        };
        let (time_ns, series) = (self.time(event.tick), self.trace.strings.intern("value"));
        self.trace.counters.push(CounterSample { time_ns, name, series, track: self.process, value });
    }

    fn flow(&mut self, event: &Event, id: u64, stage: FlowStage) {
        let name = self.look_up(event.name);
        let phase = match stage {
            FlowStage::Start => FlowPhase::Start,
            FlowStage::Step => FlowPhase::Step,
            FlowStage::End => FlowPhase::End,
        };
        let (time_ns, track) = (self.time(event.tick), self.track());
        self.trace.flows.push(FlowPoint { id, category: name.category, name: name.text, phase, track, time_ns });
    }

    fn text(&self, name: NameId) -> &str {
        self.names.get(name.0 as usize).map_or("", |name| self.trace.strings.text(name.text))
    }

    fn memory(&mut self, event: &Event, args: Args<'_>) {
        let What::Memory { address, bytes, device_type, device_index, out_of_memory } = event.what else { return };
        let name = self.known(if out_of_memory { "[OutOfMemory]" } else { "[memory]" }, Category::CPU_INSTANT_EVENT.number());
        let device = [
            ("Addr", i64::try_from(address).map_or(ArgValue::U64(address), ArgValue::I64)),
            ("Bytes", ArgValue::I64(bytes)),
            ("Device Type", ArgValue::I64(device_type.into())),
            ("Device Id", ArgValue::I64(device_index.into())),
        ];
        self.args.clear();
        for (key, value) in device {
            self.args.push((self.trace.strings.intern(key), value));
        }
        let device_place = self.take_memory_args(args);
        match device_place {
            Some((time_ns, track)) => self.instant_at(time_ns, track, name.text, name.category),
            None => self.instant(event.tick, name.text, name.category),
        }
    }

    /// The trace. What is still open ends here.
    pub(in crate::recording) fn finish(mut self) -> Trace {
        let mut streams: Vec<u32> = self.lanes.keys().copied().collect();
        streams.push(self.stream);
        streams.sort_unstable();
        for stream in streams {
            self.turn_to(stream);
            self.hole();
        }
        for (stream, mut start) in std::mem::take(&mut self.starts) {
            self.turn_to(stream);
            // Where the thread is not in the trace, the flow starts at its second slice.
            if let Some(track) = self.lane.track {
                start.track = track;
                self.trace.flows.push(start);
            }
        }
        let mut begun: Vec<_> = std::mem::take(&mut self.begun).into_iter().collect();
        begun.sort_unstable_by_key(|(key, half)| (half.time_ns, *key));
        // Without an end, they last to the end of the recording.
        let last_ns = self.trace.bounds_ns().map(|(_, end)| end);
        for (key, half) in begun {
            let end = Half { time_ns: last_ns.unwrap_or(half.time_ns), args: Vec::new() };
            self.async_span(key, half, end, true);
        }
        let problems = &mut self.trace.provenance.problems;
        if self.torn > 0 {
            let detail = "spans that were open where part of the recording is missing".to_owned();
            problems.add_detailed(ProblemKind::UnbalancedSpan, self.offset, self.torn, detail);
        }
        self.trace.mark_profiler_steps();
        self.trace
    }
}
