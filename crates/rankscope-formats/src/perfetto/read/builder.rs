//! One trace under construction. Spans and marks hold row numbers for tracks until the end, when all descriptors are known.

use std::collections::hash_map::Entry;

use rankscope_time::Rank;
use rankscope_trace::{
    ArgValue, CategoryKind, FlowPhase, FlowPoint, ProblemKind, RankSource, SpanId, SpanRow, StrId, Trace, TrackId,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::rows::{Row, Rows};
use super::tracks::{Descriptors, TrackMaker};
use crate::columns::Columns;
use crate::kineto::{Wanted, wanted};
use crate::perfetto::arrows::{BETWEEN_RANKS, GROUP_SHIFT, OWN_BITS, SORT_SHIFT, SORTS_MAX};
use crate::perfetto::note::Facts;
use crate::{ArgsPolicy, ReadOptions, Scope};

/// The trace and what waits for its end.
#[derive(Debug, Default)]
pub(super) struct Builder {
    pub(super) trace: Trace,
    categories: FxHashMap<StrId, u16>,
    columns: Columns,
    touches: Vec<Touch>,
    /// Render stages by event id.
    stages: FxHashMap<u64, SpanId>,
    /// Render stages that host spans submitted, and that render stages waited for: event id, and the span it is tied to.
    submissions: Vec<(u64, SpanId)>,
    waits: Vec<(u64, SpanId)>,
    last_ns: i64,
    /// Arguments of the event at hand.
    pub(super) args: Vec<(StrId, ArgValue)>,
}

/// A flow touching an event.
#[derive(Clone, Copy, Debug)]
struct Touch {
    id: u64,
    time_ns: i64,
    row: u32,
    ends: bool,
    /// Whether we wrote the id, which then says more.
    ours: bool,
}

/// A span or instant on its way in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming {
    pub(super) row: u32,
    pub(super) time_ns: i64,
    pub(super) dur_ns: i64,
    pub(super) name: StrId,
    pub(super) offset: u64,
}

impl Builder {
    /// The index of category `name` and what it means, which a file of ours may have said.
    pub(super) fn category(&mut self, name: StrId, kinds: &FxHashMap<String, CategoryKind>) -> (u16, CategoryKind) {
        let index = match self.categories.entry(name) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(new) => {
                let text = self.trace.strings.text(name).to_owned();
                let kind = kinds.get(&text).copied().unwrap_or_else(|| CategoryKind::of_kineto(&text));
                *new.insert(self.trace.category(&text, kind))
            }
        };
        (index, self.trace.categories[usize::from(index)].kind)
    }

    /// Adds a span with the arguments in `args`, unless the options leave it out.
    pub(super) fn span(&mut self, span: Incoming, category: (u16, CategoryKind), options: &ReadOptions) -> Option<SpanId> {
        let (category, kind) = category;
        let wanted = has_columns(kind, self.trace.strings.text(span.name));
        self.last_ns = self.last_ns.max(span.time_ns.saturating_add(span.dur_ns));
        if options.scope == Scope::Device && !wanted && kind != CategoryKind::UserAnnotation {
            return None;
        }
        let Incoming { row, time_ns, dur_ns, name, offset, .. } = span;
        let row = SpanRow { start_ns: time_ns, dur_ns, name, track: TrackId(row), category, offset };
        let id = self.trace.spans.push(row);
        if wanted {
            self.columns.file(&mut self.trace, id, kind, &self.args);
        }
        if options.args == ArgsPolicy::All {
            self.args.drain(..).for_each(|(key, value)| self.trace.spans.args.push(key, value));
            self.trace.spans.args.end_row();
        }
        Some(id)
    }

    /// A time that spans without an end last to at least.
    pub(super) fn reach(&mut self, time_ns: i64) {
        self.last_ns = self.last_ns.max(time_ns);
    }

    /// Flow `id` touches what lies on `row` at `time_ns`.
    pub(super) fn touch(&mut self, id: u64, row: u32, time_ns: i64, ends: bool, ours: bool) {
        self.touches.push(Touch { id, time_ns, row, ends, ours });
    }

    /// Span `span` is render stage `event`.
    pub(super) fn stage(&mut self, event: u64, span: SpanId) {
        self.stages.insert(event, span);
    }

    /// Host span `span` submitted render stage `event`.
    pub(super) fn submits(&mut self, event: u64, span: SpanId) {
        self.submissions.push((event, span));
    }

    /// Render stage `span` waited for render stage `event`.
    pub(super) fn waits(&mut self, event: u64, span: SpanId) {
        self.waits.push((event, span));
    }

    /// The finished trace. `number` is its place among the builders, whose rows are in `rows`.
    pub(super) fn finish(mut self, number: usize, rows: &mut Rows, of: &Descriptors, group: Option<u32>) -> Trace {
        let mut tracks: Vec<TrackId> = Vec::new();
        let mut names: Vec<(StrId, StrId)> = Vec::new();
        let used = self.used_rows();
        let trace = &mut self.trace;
        let mut maker = TrackMaker::new(of, &mut trace.tracks, &mut trace.strings);
        for (at, row) in rows.iter_mut().enumerate() {
            let known = row.builder == number && used.contains(&(at as u32));
            tracks.push(if known { maker.track(row.id) } else { TrackId(0) });
            names.push(if known { maker.counter_name(row.id) } else { (StrId::EMPTY, StrId::EMPTY) });
        }
        rows.iter_mut().filter(|row| row.builder == number).for_each(|row| close(row, self.last_ns, trace));
        self.flows(of);
        let trace = &mut self.trace;
        let track = |row: TrackId| tracks[row.0 as usize];
        trace.spans.track.iter_mut().for_each(|row| *row = track(*row));
        trace.instants.iter_mut().for_each(|mark| mark.track = track(mark.track));
        trace.flows.iter_mut().for_each(|point| point.track = track(point.track));
        for sample in &mut trace.counters {
            (sample.name, sample.series) = names[sample.track.0 as usize];
            sample.track = track(sample.track);
        }
        if let Some(facts) = group.and_then(|group| of.facts.get(&group)) {
            state(&mut self.trace, facts);
        }
        self.trace.mark_profiler_steps();
        self.trace
    }

    fn used_rows(&self) -> FxHashSet<u32> {
        let trace = &self.trace;
        let spans = trace.spans.track.iter().chain(trace.instants.iter().map(|mark| &mark.track));
        let rows = spans.chain(trace.counters.iter().map(|sample| &sample.track)).map(|track| track.0);
        rows.chain(self.touches.iter().map(|touch| touch.row)).collect()
    }

    /// Flow ids on events to flows: the first in time starts, one that says so ends, and so does the last of a file that never
    /// says so.
    fn flows(&mut self, of: &Descriptors) {
        let mut touches = std::mem::take(&mut self.touches);
        touches.sort_by_key(|touch| (touch.id, touch.time_ns));
        for flow in touches.chunk_by(|a, b| a.id == b.id) {
            let between = flow[0].ours && flow[0].id & BETWEEN_RANKS != 0;
            let says_so = flow[0].ours && !between || flow.iter().any(|touch| touch.ends);
            let (id, category, name) = self.identify(flow[0], of);
            let mut running = false;
            for (at, touch) in flow.iter().enumerate() {
                let last = at + 1 == flow.len();
                let phase = match running {
                    false => FlowPhase::Start,
                    true if touch.ends || last && !says_so => FlowPhase::End,
                    true => FlowPhase::Step,
                };
                running = phase != FlowPhase::End;
                let (track, time_ns) = (TrackId(touch.row), touch.time_ns);
                self.trace.flows.push(FlowPoint { id, category, name, phase, track, time_ns });
            }
        }
        self.connect_stages();
    }

    /// The id, category and name of a flow; an id of ours holds all three.
    fn identify(&mut self, touch: Touch, of: &Descriptors) -> (u64, u16, StrId) {
        let sort = (touch.id >> SORT_SHIFT) as usize & (SORTS_MAX - 1);
        let group = (touch.id & !BETWEEN_RANKS) >> GROUP_SHIFT;
        let facts = u32::try_from(group).ok().and_then(|group| of.facts.get(&group));
        let (id, category, name) = match facts.and_then(|facts| facts.flows.get(sort)) {
            _ if touch.ours && touch.id & BETWEEN_RANKS != 0 => (touch.id & !BETWEEN_RANKS, "between_ranks", ""),
            Some((category, name)) if touch.ours => (touch.id & ((1 << (OWN_BITS + 1)) - 1), &category[..], &name[..]),
            _ => (touch.id, "flow", ""),
        };
        let name = self.trace.strings.intern(name);
        (id, self.trace.category(category, CategoryKind::Other), name)
    }

    /// Arrows from host calls to the render stages they submitted, as Kineto draws them, and between render stages.
    fn connect_stages(&mut self) {
        let sorts = [("ac2g", std::mem::take(&mut self.submissions)), ("gpu_wait", std::mem::take(&mut self.waits))];
        for (sort, links) in sorts {
            if links.is_empty() {
                continue;
            }
            let category = self.trace.category(sort, CategoryKind::Other);
            let name = self.trace.strings.intern(sort);
            for (id, (event, span)) in (1..).zip(links) {
                let Some(stage) = self.stages.get(&event).copied() else { continue };
                let ends = if sort == "ac2g" { [span, stage] } else { [stage, span] };
                for (phase, span) in [FlowPhase::Start, FlowPhase::End].into_iter().zip(ends) {
                    let row = self.trace.spans.row(span);
                    let (track, time_ns) = (row.track, row.start_ns);
                    self.trace.flows.push(FlowPoint { id, category, name, phase, track, time_ns });
                }
            }
        }
    }
}

/// Whether analysis has columns for the arguments of such a span; they are then worth decoding. These spans are also what
/// [`Scope::Device`] keeps beside annotations.
pub(super) fn has_columns(kind: CategoryKind, name: &str) -> bool {
    wanted(kind, name.as_bytes()) != Wanted::Nothing
}

fn close(row: &mut Row, last_ns: i64, trace: &mut Trace) {
    let offset = trace.spans.offset.first().copied().unwrap_or(0);
    let unmatched = row.close(last_ns, &mut trace.spans);
    trace.unfinished.extend(unmatched.unfinished);
    for (count, what) in [(unmatched.begins, "begins without an end"), (unmatched.ends, "ends without a begin")] {
        if count > 0 {
            trace.provenance.problems.add_detailed(ProblemKind::UnbalancedSpan, offset, count, what.to_owned());
        }
    }
}

/// What a file of ours says about a whole trace.
fn state(trace: &mut Trace, facts: &Facts) {
    trace.provenance.rank = facts.rank.map(|rank| (Rank(rank), RankSource::Header));
    trace.provenance.world_size = facts.world_size;
    trace.provenance.host.clone_from(&facts.host);
    trace.provenance.backend.clone_from(&facts.backend);
    trace.provenance.trace_id.clone_from(&facts.trace_id);
}
