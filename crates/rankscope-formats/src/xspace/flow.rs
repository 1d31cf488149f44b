//! Flows as XSpace tells them: numbers on the span at either end. Three ways are in use.
//!
//! `flow` holds, from the lowest bit, 2 bits direction (1 in, 2 out, 3 both), 56 bits number and 6 bits kind. `_pt` and `_p` are kind
//! and number of a context at its producer, `_ct` and `_c` the same at its consumers. Launches and the work they launched share a
//! `correlation_id`. The first is what is written for traces that came from other formats; it has no room for a flow's name.

use rankscope_trace::{CategoryKind, FlowPhase, FlowPoint, InstantScope, SpanId, StrId, Trace, TrackId};
use rustc_hash::FxHashMap;

use super::layout::{Item, Layout};

/// What a statistic says about an end of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Number and direction in one.
    Encoded,
    ProducerType,
    ProducerId,
    ConsumerType,
    ConsumerId,
}

/// The flow ends that were read.
#[derive(Debug, Default)]
pub(super) struct Ends {
    /// Span, kind of the flow (none where one number is all there is), its number, and which end.
    ends: Vec<(SpanId, Option<u64>, u64, FlowPhase)>,
    /// Launches and device work, by the id they share; none where several launches do.
    launches: FxHashMap<u64, Option<SpanId>>,
    launched: Vec<(u64, SpanId)>,
}

impl Ends {
    /// Takes in the ends that the statistics of `span` tell.
    pub(super) fn tell(&mut self, span: SpanId, stats: impl Iterator<Item = (End, u64)>) {
        let (mut producer, mut consumer) = ((None, None), (None, None));
        for (end, number) in stats {
            match end {
                End::Encoded => {
                    let kind = Some(number >> KIND_SHIFT).filter(|kind| *kind != 0);
                    let phase = match number & 3 {
                        1 => FlowPhase::End,
                        2 => FlowPhase::Start,
                        3 => FlowPhase::Step,
                        _ => continue,
                    };
                    self.ends.push((span, kind, number << (64 - KIND_SHIFT) >> (64 - KIND_SHIFT + 2), phase));
                }
                End::ProducerType => producer.0 = Some(number),
                End::ProducerId => producer.1 = Some(number),
                End::ConsumerType => consumer.0 = Some(number),
                End::ConsumerId => consumer.1 = Some(number),
            }
        }
        // A consumer may produce in turn; what arrives comes first.
        for ((kind, number), phase) in [(consumer, FlowPhase::End), (producer, FlowPhase::Start)] {
            if let (Some(kind), Some(number)) = (kind, number) {
                self.ends.push((span, Some(kind), number, phase));
            }
        }
    }

    /// `span`, of this kind, shares `id` with what it launched or what launched it.
    pub(super) fn correlate(&mut self, span: SpanId, kind: CategoryKind, id: u64) {
        if kind.is_launch() {
            self.launches.entry(id).and_modify(|launch| *launch = None).or_insert(Some(span));
        } else if kind.is_device_work() {
            self.launched.push((id, span));
        }
    }

    /// The flows, as points of `trace`, whose spans are complete.
    pub(super) fn settle(self, trace: &mut Trace) {
        let mut sorts: FxHashMap<Option<u64>, (u16, StrId)> = FxHashMap::default();
        for (span, kind, id, phase) in self.ends {
            let (category, name) = *sorts.entry(kind).or_insert_with(|| match kind {
                None => (trace.category("flow", CategoryKind::Other), StrId::EMPTY),
                Some(kind) => (trace.category("context", CategoryKind::Other), trace.strings.intern(&context(kind))),
            });
            point(trace, span, id, (category, name), phase);
        }
        let mut launched: Vec<_> = self.launched;
        launched.retain(|(id, _)| self.launches.get(id).is_some_and(Option::is_some));
        if launched.is_empty() {
            return;
        }
        let sort = (trace.category(LAUNCH, CategoryKind::Other), trace.strings.intern(LAUNCH));
        let mut begun = rustc_hash::FxHashSet::default();
        for (id, work) in launched {
            if let Some(launch) = self.launches[&id].filter(|_| begun.insert(id)) {
                point(trace, launch, id, sort, FlowPhase::Start);
            }
            point(trace, work, id, sort, FlowPhase::End);
        }
    }
}

fn point(trace: &mut Trace, span: SpanId, id: u64, (category, name): (u16, StrId), phase: FlowPhase) {
    let row = trace.spans.row(span);
    trace.flows.push(FlowPoint { id, category, name, phase, track: row.track, time_ns: row.start_ns });
}

/// What XLA calls its kinds of context.
fn context(kind: u64) -> String {
    const KNOWN: [&str; 18] = [
        "generic",
        "legacy",
        "tf_executor",
        "tfrt_executor",
        "shared_batch_scheduler",
        "pjrt",
        "adaptive_shared_batch_scheduler",
        "tfrt_tpu_runtime",
        "tpu_embedding_engine",
        "gpu_launch",
        "batcher",
        "tpu_stream",
        "tpu_launch",
        "pathways_executor",
        "pjrt_library_call",
        "threadpool_event",
        "jax_serving_executor",
        "sc_offload",
    ];
    let known = usize::try_from(kind).ok().and_then(|kind| KNOWN.get(kind));
    known.map_or_else(|| format!("context {kind}"), |known| (*known).to_owned())
}

/// Category and name of the flows from launches to their work, as Kineto has them.
const LAUNCH: &str = "ac2g";

/// Where the kind of an encoded flow starts.
const KIND_SHIFT: u32 = 58;

/// An instant's reach as a number.
pub(super) fn scope_number(scope: InstantScope) -> u64 {
    match scope {
        InstantScope::Thread => 0,
        InstantScope::Process => 1,
        InstantScope::Global => 2,
    }
}

/// The reach that `number` stands for.
pub(super) fn scope_of_number(number: u64) -> InstantScope {
    match number {
        1 => InstantScope::Process,
        2 => InstantScope::Global,
        _ => InstantScope::Thread,
    }
}

/// How many points of the flows of `trace` find no span, and how many lose the name of their flow.
pub(crate) fn losses(trace: &Trace) -> (u64, u64) {
    let ends = FlowEnds::of(trace, &Layout::of(trace), 0);
    (ends.loose, ends.named)
}

/// The flow points of a trace by the span they land on, encoded.
#[derive(Debug, Default)]
pub(super) struct FlowEnds {
    ends: Vec<(SpanId, u64)>,
    count: u64,
    /// Points that no span encloses, and points whose flow had a name.
    loose: u64,
    named: u64,
}

impl FlowEnds {
    /// Numbers start behind `base`, so that traces written into one file keep theirs apart.
    pub(super) fn of(trace: &Trace, layout: &Layout, base: u64) -> Self {
        // Arguments that were kept hold them already.
        if layout.complete || trace.flows.is_empty() {
            return Self::default();
        }
        let lines = layout.planes.iter().flat_map(|plane| &plane.lines);
        let spans: FxHashMap<TrackId, Vec<SpanId>> = lines.map(|line| (line.track, spans_of(&line.items))).collect();
        let mut numbers: FxHashMap<(u64, u16, StrId), u64> = FxHashMap::default();
        let (mut ends, mut loose, mut named) = (Vec::new(), 0, 0);
        for point in &trace.flows {
            let next = base + numbers.len() as u64 + 1;
            let number = *numbers.entry((point.id, point.category, point.name)).or_insert(next);
            let landed = spans.get(&point.track).and_then(|spans| enclosing(trace, spans, point.time_ns));
            match landed {
                Some(span) => {
                    ends.push((span, number << 2 | direction(point.phase)));
                    named += u64::from(!point.name.is_empty());
                }
                None => loose += 1,
            }
        }
        ends.sort_unstable();
        Self { ends, count: numbers.len() as u64, loose, named }
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
