//! Asynchronous spans, whose ends may be found in any order or which were noted when they were over, and the flows of work that was left
//! and taken up again.

use rankscope_trace::{ArgValue, FlowPhase, FlowPoint, SpanId, StrId, Trace, Track, TrackId, TrackKey, TrackKind};

use super::super::super::{Args, Event, GPU_TIMES, GpuTimes, NOTED, NameId, Noted, RESUMED, Resumed};
use super::Builder;
use super::arguments::put;
use crate::Scope;

/// One end of an asynchronous span.
pub(super) struct Half {
    pub(super) time_ns: i64,
    pub(super) args: Vec<(StrId, ArgValue)>,
}

impl Builder<'_> {
    pub(super) fn async_half(&mut self, event: &Event, id: u64, args: Args<'_>, begins: bool) {
        let resumed = Resumed::of(event, args, |key| begins && self.text(key) == RESUMED);
        self.args.clear();
        match &resumed {
            Some(resumed) => {
                let key = self.trace.strings.intern(RESUMED);
                self.take_args_except(&[key], args);
                self.start_flow(event, id, resumed);
            }
            None => self.take_args(args),
        }
        let tick = resumed.map_or(event.tick, |resumed| resumed.created_tick);
        let half = Half { time_ns: self.ticks.ns(tick), args: std::mem::take(&mut self.args) };
        let key = (event.name, id);
        let (own, other) = if begins { (&mut self.begun, &mut self.ended) } else { (&mut self.ended, &mut self.begun) };
        match other.remove(&key) {
            Some(other) if begins => self.async_span(key, half, other, false),
            Some(other) => self.async_span(key, other, half, false),
            None => {
                own.insert(key, half);
            }
        }
    }

    pub(super) fn async_span(&mut self, (name, id): (NameId, u64), begin: Half, end: Half, unfinished: bool) {
        let name = self.look_up(name);
        if !name.kept {
            return;
        }
        self.args = begin.args;
        end.args.into_iter().for_each(|(key, value)| put(&mut self.args, key, value));
        if unfinished {
            self.mark_unfinished();
        }
        let track = self.async_track(name.text);
        self.span(begin.time_ns, end.time_ns, name.text, track, name, id);
    }

    /// Files an instant that notes a span as that span. False where it notes none.
    pub(super) fn noted(&mut self, event: &Event, args: Args<'_>) -> bool {
        let Some(noted) = Noted::of(args, |key| self.text(key) == NOTED) else { return false };
        let name = self.look_up(event.name);
        if !name.kept {
            return true;
        }
        self.args.clear();
        if self.wants_args(name) {
            let keys = [NOTED, GPU_TIMES].map(|key| self.trace.strings.intern(key));
            self.take_args_except(&keys, args);
        }
        let (start_ns, end_ns) = (self.ticks.ns(noted.start_tick), self.ticks.ns(noted.end_tick));
        let track = self.async_track(name.text);
        let span = self.span(start_ns, end_ns, name.text, track, name, 0);
        if let Some(times) = GpuTimes::of(args, |key| self.text(key) == GPU_TIMES) {
            self.gpu_times(span, times);
        }
        true
    }

    fn gpu_times(&mut self, span: SpanId, GpuTimes { launched_tick, start_ns, stop_ns, seen_tick }: GpuTimes) {
        let launched_ns = launched_tick.map(|tick| self.ticks.ns(tick));
        let times = rankscope_trace::GpuTimes { launched_ns, start_ns, stop_ns, seen_ns: self.ticks.ns(seen_tick) };
        self.trace.gpu_times.push(span, times);
    }

    /// The track of the asynchronous spans called `name`.
    fn async_track(&mut self, name: StrId) -> TrackId {
        let (process, Trace { tracks, strings, .. }) = (self.process, &mut self.trace);
        *self.asynchronous.entry(name).or_insert_with(|| {
            let key = TrackKey::Text(strings.intern(&Track::async_of(strings.text(name))));
            let track = tracks.find_or_add(TrackKind::Thread, Some(process), key);
            tracks.get_mut(track).name = name;
            track
        })
    }

    /// The flow of work that was taken up again starts at its first slice.
    fn start_flow(&mut self, event: &Event, id: u64, resumed: &Resumed) {
        let Some(first) = resumed.first.filter(|_| self.options.scope == Scope::All) else { return };
        let name = self.look_up(event.name);
        let (phase, track, time_ns) = (FlowPhase::Start, TrackId(0), self.ticks.ns(first.tick));
        self.starts.push((first.stream, FlowPoint { id, category: name.category, name: name.text, phase, track, time_ns }));
    }
}
