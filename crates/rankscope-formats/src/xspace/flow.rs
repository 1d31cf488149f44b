//! Flows as XSpace tells them: a number on the span at either end.

use rankscope_trace::{CategoryKind, FlowPhase, SpanId, StrId, Trace, TrackId};
use rustc_hash::FxHashMap;

use super::layout::{Item, Layout};

/// The flow points of a trace by the span they land on, encoded.
#[derive(Debug, Default)]
pub(super) struct FlowEnds {
    ends: Vec<(SpanId, u64)>,
    count: u64,
}

impl FlowEnds {
    /// Numbers start behind `base`, so that traces written into one file keep theirs apart.
    pub(super) fn of(trace: &Trace, layout: &Layout, base: u64) -> Self {
        if layout.native || trace.flows.is_empty() {
            return Self::default();
        }
        let lines = layout.planes.iter().flat_map(|plane| &plane.lines);
        let spans: FxHashMap<TrackId, Vec<SpanId>> = lines.map(|line| (line.track, spans_of(&line.items))).collect();
        let mut numbers: FxHashMap<(u64, u16, StrId), u64> = FxHashMap::default();
        let mut ends = Vec::new();
        for point in &trace.flows {
            let next = base + numbers.len() as u64 + 1;
            let number = *numbers.entry((point.id, point.category, point.name)).or_insert(next);
            let landed = spans.get(&point.track).and_then(|spans| enclosing(trace, spans, point.time_ns));
            if let Some(span) = landed {
                ends.push((span, number << 2 | direction(point.phase)));
            }
        }
        ends.sort_unstable();
        Self { ends, count: numbers.len() as u64 }
    }

    /// How many flows there are.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The ends on `span`.
    pub(super) fn on(&self, span: SpanId) -> impl Iterator<Item = u64> + '_ {
        let first = self.ends.partition_point(|(at, _)| *at < span);
        self.ends[first..].iter().take_while(move |(at, _)| *at == span).map(|(_, end)| *end)
    }
}

fn spans_of(items: &[Item]) -> Vec<SpanId> {
    items.iter().filter_map(|item| if let Item::Span(span) = item { Some(*span) } else { None }).collect()
}

/// The innermost of `spans`, which are in order of start, that holds `time_ns`.
fn enclosing(trace: &Trace, spans: &[SpanId], time_ns: i64) -> Option<SpanId> {
    let after = spans.partition_point(|span| trace.spans.start_ns(*span) <= time_ns);
    let mut before = spans[..after].iter().rev().take(DEEPEST);
    before.find(|span| trace.spans.end_ns(**span) >= time_ns && trace.kind(**span) != CategoryKind::Overhead).copied()
}

fn direction(phase: FlowPhase) -> u64 {
    match phase {
        FlowPhase::End => 1,
        FlowPhase::Start => 2,
        FlowPhase::Step => 3,
    }
}

/// How many spans before a flow point are asked whether they hold it; past that it hangs in the air.
const DEEPEST: usize = 256;
