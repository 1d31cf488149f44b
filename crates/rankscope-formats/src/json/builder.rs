//! A stretch of the event array becomes a small trace of its own. Pieces are read side by side and appended in order.
//!
//! Names, categories and tracks repeat endlessly, so each piece looks them up by their raw bytes first and decodes a string
//! only once. What needs the whole file (names of tracks, begins and ends, arrows) is put aside for `finish`.

use rankscope_trace::{
    CategoryKind, CounterSample, FlowPhase, InstantMark, InstantScope, ProblemKind, SpanId, SpanRow, StrId, Trace, Track,
    TrackId, TrackKey, TrackKind,
};
use rustc_hash::FxHashMap;

use super::args;
use super::arguments::Seen;
use super::event::RawEvent;
use super::number::{nanos_of_micros, signed, unquoted, unsigned};
use super::piece::{Arrow, AsyncId, Binding, Edge, Naming, Piece, Says};
use super::scan::{Members, Mode, count_controls};
use super::text::decode;
use crate::columns::file_device;
use crate::kineto::{DECADES_NS, DeviceFacts, Wanted, kept_in_device_scope, wanted};
use crate::{ArgsPolicy, ReadOptions, Scope};

/// Whether a track is a device's, and the raw pid and tid.
type RawTrack<'a> = (bool, &'a [u8], &'a [u8]);

/// Fills a [`Piece`] from raw events of the text it borrows.
pub(super) struct Builder<'a> {
    pub(super) piece: Piece,
    options: &'a ReadOptions,
    pub(super) mode: Mode,
    /// The id of every raw string, and how many control characters it holds.
    strings: FxHashMap<&'a [u8], (StrId, u32)>,
    pub(super) seen: Seen<'a>,
    /// Control characters in the strings of the event under way.
    pub(super) controls: u64,
    categories: Vec<(&'a [u8], u16, CategoryKind)>,
    tracks: FxHashMap<RawTrack<'a>, TrackId>,
    last_track: Option<(RawTrack<'a>, TrackId)>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(options: &'a ReadOptions) -> Self {
        Self {
            piece: Piece::default(),
            options,
            mode: Mode::Strict,
            strings: FxHashMap::default(),
            seen: Seen::default(),
            controls: 0,
            categories: Vec::new(),
            tracks: FxHashMap::default(),
            last_track: None,
        }
    }

    /// Takes in one event that starts at `offset` of the decompressed file and was read in `mode`.
    pub(super) fn add(&mut self, event: &RawEvent<'a>, offset: u64, mode: Mode) {
        self.mode = mode;
        self.controls = event.controls;
        self.sort(event, offset);
        self.piece.events = self.piece.events.saturating_add(1);
        if self.controls > 0 {
            let detail = "in the event that starts here".to_owned();
            self.piece.trace.provenance.problems.add_detailed(ProblemKind::ControlCharacter, offset, self.controls, detail);
        }
    }

    fn sort(&mut self, event: &RawEvent<'a>, offset: u64) {
        match event.phase {
            b'X' => self.span(event, offset),
            b'M' => self.naming(event, offset),
            b'i' | b'I' | b'R' => {
                let track = |builder: &mut Self| builder.track(false, event);
                self.instant(event, offset, track);
            }
            // A moment of an asynchronous operation; the last two are steps of the older form.
            b'n' | b'T' | b'p' => self.instant(event, offset, |builder| builder.async_track(event)),
            b'C' => self.counter(event, offset),
            b's' => self.arrow(event, offset, FlowPhase::Start),
            b't' => self.arrow(event, offset, FlowPhase::Step),
            b'f' => self.arrow(event, offset, FlowPhase::End),
            b'B' | b'b' | b'S' => self.edge(event, offset, true),
            b'E' | b'e' | b'F' => self.edge(event, offset, false),
            // An empty object ends some files' arrays.
            0 if *event == RawEvent::default() => {}
            phase => self.piece.pending.met.unread.entry(phase).or_insert((0, offset)).0 += 1,
        }
    }

    /// Whether an event that matters to a device only if `kept` is left out.
    fn is_left_out(&mut self, kept: bool) -> bool {
        let left_out = self.options.scope == Scope::Device && !kept;
        self.piece.pending.met.passed_over += u64::from(left_out);
        left_out
    }

    fn span(&mut self, event: &RawEvent<'a>, offset: u64) {
        let (category, kind) = self.category(event.category);
        let wanted = wanted(kind, unquoted(event.name));
        if self.is_left_out(kept_in_device_scope(kind, wanted)) {
            return;
        }
        let Some(start_ns) = self.time(event, offset) else { return };
        let dur_ns = self.duration(event, offset);
        let name = self.string(unquoted(event.name));
        let track = self.track(kind.is_on_device(), event);
        let span = self.piece.trace.spans.push(SpanRow { start_ns, dur_ns, name, track, category, offset });
        let keeps_all = self.options.args == ArgsPolicy::All;
        if wanted != Wanted::Nothing || keeps_all {
            let arguments = self.arguments(event, offset);
            if wanted != Wanted::Nothing && !arguments.is_empty() {
                let rank = args::extract(self, span, kind, event, &arguments);
                self.piece.pending.rank = self.piece.pending.rank.or(rank);
            }
            if keeps_all {
                self.keep(&arguments, |trace| &mut trace.spans.args);
                self.piece.trace.spans.place.push(self.piece.events);
            }
            self.done_with(arguments);
        }
        self.bound_flow(event, start_ns);
    }

    fn instant(&mut self, event: &RawEvent<'a>, offset: u64, track: impl FnOnce(&mut Self) -> TrackId) {
        if self.is_left_out(false) {
            return;
        }
        let Some(time_ns) = self.time(event, offset) else { return };
        let (category, _) = self.category(event.category);
        let name = self.string(unquoted(event.name));
        let track = track(self);
        let scope = match event.scope {
            b'g' => InstantScope::Global,
            b'p' => InstantScope::Process,
            _ => InstantScope::Thread,
        };
        self.piece.trace.instants.push(InstantMark { time_ns, name, track, category, scope });
        if self.options.args == ArgsPolicy::All {
            let arguments = self.arguments(event, offset);
            self.keep(&arguments, |trace| &mut trace.instant_args);
            self.done_with(arguments);
        }
    }

    fn counter(&mut self, event: &RawEvent<'a>, offset: u64) {
        if self.is_left_out(false) {
            return;
        }
        let Some(time_ns) = self.time(event, offset) else { return };
        let name = self.string(unquoted(event.name));
        let track = self.track(false, event);
        if event.args.first() != Some(&b'{') {
            return;
        }
        for (key, value) in Members::of(event.args, 0, self.mode) {
            let value = std::str::from_utf8(unquoted(value)).ok().and_then(|text| text.parse::<f64>().ok());
            let Some(value) = value.filter(|value| value.is_finite()) else {
                self.piece.trace.provenance.problems.add(ProblemKind::BadNumber, offset);
                continue;
            };
            let series = self.string(key);
            self.piece.trace.counters.push(CounterSample { time_ns, name, series, track, value });
        }
    }

    fn arrow(&mut self, event: &RawEvent<'a>, offset: u64, phase: FlowPhase) {
        let (category, _) = self.category(event.category);
        if self.is_left_out(matches!(unquoted(event.category), b"ac2g" | b"async" | b"async_cpu_to_gpu")) {
            return;
        }
        let Some(time_ns) = self.time(event, offset) else { return };
        let (name, id) = (self.string(unquoted(event.name)), identifier(event.id));
        let (pid, tid) = (self.key(event.pid), self.key(event.tid));
        let binding = if phase == FlowPhase::End && event.binding != b'e' { Binding::Next } else { Binding::Enclosing };
        self.piece.pending.arrows.push(Arrow { id, category, name, phase, pid, tid, time_ns, binding });
    }

    /// The second form of flows: a span itself says which flow it is part of. Neither name nor category tells such flows apart.
    fn bound_flow(&mut self, event: &RawEvent<'a>, time_ns: i64) {
        let phase = match (event.flow_in, event.flow_out) {
            _ if event.bind_id.is_empty() => return,
            (false, false) => return,
            (false, true) => FlowPhase::Start,
            (true, true) => FlowPhase::Step,
            (true, false) => FlowPhase::End,
        };
        if self.is_left_out(false) {
            return;
        }
        let (category, _) = self.category(b"\"flow\"");
        let (pid, tid) = (self.key(event.pid), self.key(event.tid));
        let (id, name, binding) = (identifier(event.bind_id), StrId::EMPTY, Binding::Enclosing);
        self.piece.pending.arrows.push(Arrow { id, category, name, phase, pid, tid, time_ns, binding });
    }

    fn edge(&mut self, event: &RawEvent<'a>, offset: u64, begins: bool) {
        let (category, kind) = self.category(event.category);
        if self.is_left_out(kept_in_device_scope(kind, Wanted::Nothing)) {
            return;
        }
        let Some(time_ns) = self.time(event, offset) else { return };
        let name = self.string(unquoted(event.name));
        let is_async = !matches!(event.phase, b'B' | b'E');
        let track = if is_async { self.async_track(event) } else { self.track(kind.is_on_device(), event) };
        let id = is_async.then(|| self.async_id(event));
        self.piece.pending.edges.push(Edge { begins, time_ns, name, track, category, id, offset });
        if event.phase == b'B' {
            self.bound_flow(event, time_ns);
        }
    }

    /// Ids are the file's, unless `id2` says that they are the process's own.
    fn async_id(&mut self, event: &RawEvent<'a>) -> AsyncId {
        let own = if event.id2.first() == Some(&b'{') { Members::of(event.id2, 0, self.mode).next() } else { None };
        let (id, is_local) = own.map_or((event.id, false), |(which, id)| (id, which == b"local"));
        AsyncId {
            id: identifier(id),
            scope: self.string(unquoted(event.id_scope)),
            process: is_local.then(|| self.key(event.pid)),
            name: if matches!(event.phase, b'S' | b'F') { self.string(unquoted(event.name)) } else { StrId::EMPTY },
        }
    }

    /// Asynchronous spans belong to no thread: flows that bind to a thread's spans must not meet them.
    fn async_track(&mut self, event: &RawEvent<'a>) -> TrackId {
        let (pid, key) = (self.key(event.pid), self.string(Track::ASYNC.as_bytes()));
        let process = self.piece.trace.tracks.find_or_add(TrackKind::Process, None, pid);
        self.piece.trace.tracks.find_or_add(TrackKind::Thread, Some(process), TrackKey::Text(key))
    }

    fn naming(&mut self, event: &RawEvent<'a>, offset: u64) {
        self.piece.pending.met.namings += 1;
        if event.args.first() != Some(&b'{') {
            return;
        }
        let arguments = self.arguments(event, offset);
        let first = arguments.first().copied();
        self.done_with(arguments);
        let Some((_, value)) = first else { return };
        let (of_thread, what) = match unquoted(event.name) {
            b"process_name" => (false, Says::Name(self.string(unquoted(value)))),
            b"process_labels" => (false, Says::Label(self.string(unquoted(value)))),
            b"thread_name" => (true, Says::Name(self.string(unquoted(value)))),
            name @ (b"process_sort_index" | b"thread_sort_index") => {
                let Some(index) = signed(value) else { return };
                (name.starts_with(b"thread"), Says::SortIndex(index))
            }
            _ => return,
        };
        let (pid, tid) = (self.key(event.pid), of_thread.then(|| self.key(event.tid)));
        self.piece.pending.namings.push(Naming { pid, tid, what });
    }

    fn time(&mut self, event: &RawEvent<'a>, offset: u64) -> Option<i64> {
        let kind = if event.ts.is_empty() { ProblemKind::MissingTimestamp } else { ProblemKind::BadNumber };
        let time = nanos_of_micros(unquoted(event.ts));
        if time.is_none() {
            self.piece.trace.provenance.problems.add(kind, offset);
        }
        time
    }

    /// The length of a span. What no clock can have measured counts as none: a negative length, or one of decades, which is a
    /// negative one that wrapped.
    fn duration(&mut self, event: &RawEvent<'a>, offset: u64) -> i64 {
        let problem = match nanos_of_micros(unquoted(event.dur)) {
            Some(dur) if (0..DECADES_NS).contains(&dur) => return dur,
            Some(dur) if dur < 0 => ProblemKind::NegativeDuration,
            Some(_) => ProblemKind::OverflowedDuration,
            None if event.dur.len() > 15 && event.dur.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.') => {
                ProblemKind::OverflowedDuration
            }
            None => ProblemKind::BadNumber,
        };
        self.piece.trace.provenance.problems.add(problem, offset);
        0
    }

    /// The id of the string with these raw bytes (no quotes).
    pub(super) fn string(&mut self, raw: &'a [u8]) -> StrId {
        if let Some((id, controls)) = self.strings.get(raw) {
            self.controls += u64::from(*controls);
            return *id;
        }
        let id = self.piece.trace.strings.intern(&decode(raw));
        let controls = count_controls(raw);
        self.strings.insert(raw, (id, u32::try_from(controls).unwrap_or(u32::MAX)));
        self.controls += controls;
        id
    }

    fn category(&mut self, raw: &'a [u8]) -> (u16, CategoryKind) {
        if let Some(at) = self.categories.iter().position(|(known, ..)| *known == raw) {
            // Neighbours are often alike: the one just used goes first.
            self.categories.swap(0, at);
            let (_, category, kind) = self.categories[0];
            return (category, kind);
        }
        let text = decode(unquoted(raw));
        let kind = CategoryKind::of_kineto(&text);
        let category = self.piece.trace.category(&text, kind);
        self.categories.push((raw, category, kind));
        (category, kind)
    }

    /// Files what the arguments of device event `span` tell about its nature, which may be another than its category's.
    pub(super) fn file_device(&mut self, span: SpanId, kind: CategoryKind, event: &RawEvent<'a>, facts: &DeviceFacts) {
        let name = decode(unquoted(event.category));
        let nature = |trace: &mut Trace, kind| trace.category(&name, kind);
        file_device(&mut self.piece.trace, span, kind, unquoted(event.name), facts, nature);
    }

    fn track(&mut self, on_device: bool, event: &RawEvent<'a>) -> TrackId {
        let raw = (on_device, event.pid, event.tid);
        if let Some((last, track)) = self.last_track
            && last == raw
        {
            return track;
        }
        let track = match self.tracks.get(&raw) {
            Some(track) => *track,
            None => {
                let (outer, inner) =
                    if on_device { (TrackKind::Device, TrackKind::Stream) } else { (TrackKind::Process, TrackKind::Thread) };
                let (pid, tid) = (self.key(event.pid), self.key(event.tid));
                let parent = self.piece.trace.tracks.find_or_add(outer, None, pid);
                let track = self.piece.trace.tracks.find_or_add(inner, Some(parent), tid);
                self.tracks.insert(raw, track);
                track
            }
        };
        self.last_track = Some((raw, track));
        track
    }

    /// A pid or tid: a number wherever it reads as one, quoted or not.
    fn key(&mut self, raw: &'a [u8]) -> TrackKey {
        match signed(raw) {
            Some(number) => TrackKey::Number(number),
            None if raw.is_empty() => TrackKey::Number(0),
            None => TrackKey::Text(self.string(unquoted(raw))),
        }
    }
}

/// A flow's or asynchronous span's id: a decimal or hexadecimal number, or any text, hashed.
fn identifier(raw: &[u8]) -> u64 {
    let text = unquoted(raw);
    if let Some(number) = unsigned(text) {
        return number;
    }
    let hexadecimal = text.strip_prefix(b"0x").and_then(|digits| std::str::from_utf8(digits).ok());
    if let Some(number) = hexadecimal.and_then(|digits| u64::from_str_radix(digits, 16).ok()) {
        return number;
    }
    // FNV-1a; equal texts must give equal ids in every piece.
    text.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
