//! Flows as Perfetto wants them: ids on the spans they touch.
//!
//! The model ties a flow's point to a track and a time; Perfetto ties it to a span. A point lands on the innermost span that
//! encloses it, the later one where one span ends and the next begins. Perfetto draws an arrow from each span with a flow's id
//! to the next one in time, until a span ends the flow; an id may then start over.
//!
//! A flow id in the file, from the highest bit: 1 bit "between ranks", 20 bits trace in the file, 7 bits sort of flow
//! ([`Facts::flows`](super::note::Facts)), 1 bit "renumbered", 35 bits the flow's own id. A wider one is renumbered.

use rankscope_trace::{FlowPhase, FlowPoint, Spans, StrId, Trace};
use rustc_hash::FxHashMap;

/// Bits of a flow's own id.
pub(super) const OWN_BITS: u32 = 35;
/// Set in ids that stand for one too wide.
const RENUMBERED: u64 = 1 << OWN_BITS;
/// Where the sort of flow starts.
pub(super) const SORT_SHIFT: u32 = OWN_BITS + 1;
/// Sorts of flow told apart; further ones share the last.
pub(super) const SORTS_MAX: usize = 1 << 7;
/// Where the number of the trace starts.
pub(super) const GROUP_SHIFT: u32 = SORT_SHIFT + 7;
/// Set in arrows between ranks.
pub(super) const BETWEEN_RANKS: u64 = 1 << 63;

/// A flow that touches a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touch {
    span: u32,
    /// The flow's id in the file.
    pub(super) id: u64,
    /// Whether the flow ends here.
    pub(super) ends: bool,
}

/// All flows of one trace, by the span they touch.
#[derive(Debug, Default)]
pub(super) struct Arrows {
    touches: Vec<Touch>,
    /// One bit a span, so that the many spans without a flow cost one test.
    touched: Vec<u64>,
    /// How many touched spans lie before each word of bits.
    before: Vec<u32>,
    /// Where each touched span's flows start, and where the last one's end.
    starts: Vec<u32>,
    /// Points that no span encloses.
    pub(super) loose: u64,
}

impl Arrows {
    fn new(touches: Vec<Touch>, spans: usize, loose: u64) -> Self {
        let mut arrows = Self { loose, ..Self::default() };
        if touches.is_empty() {
            return arrows;
        }
        arrows.touched = vec![0u64; spans.div_ceil(64)];
        for (at, touch) in touches.iter().enumerate() {
            let (word, bit) = (touch.span as usize / 64, 1 << (touch.span % 64));
            if arrows.touched[word] & bit == 0 {
                arrows.touched[word] |= bit;
                arrows.starts.push(at as u32);
            }
        }
        arrows.starts.push(touches.len() as u32);
        let counts = arrows.touched.iter().scan(0, |sum, word| Some(std::mem::replace(sum, *sum + word.count_ones())));
        arrows.before = counts.collect();
        arrows.touches = touches;
        arrows
    }

    /// The flows that touch `span`.
    pub(super) fn of(&self, span: u32) -> &[Touch] {
        let (word, bit) = (span as usize / 64, span % 64);
        let Some(bits) = self.touched.get(word).filter(|bits| **bits >> bit & 1 == 1) else { return &[] };
        let at = (self.before[word] + (bits & ((1 << bit) - 1)).count_ones()) as usize;
        &self.touches[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

/// A point that found its span.
struct Bound {
    id: u64,
    time_ns: i64,
    phase: FlowPhase,
    span: u32,
}

/// Gathers the flows of one trace, track by track.
pub(super) struct Binder<'a> {
    points: &'a [FlowPoint],
    /// Points by track and time.
    order: Vec<u32>,
    next: usize,
    ids: Vec<u64>,
    sorts: Vec<(u16, StrId)>,
    bound: Vec<Bound>,
    loose: u64,
}

impl<'a> Binder<'a> {
    /// Prepares the flows of trace number `group` of the file.
    pub(super) fn new(trace: &'a Trace, group: u32) -> Self {
        let points = &trace.flows[..];
        let mut order: Vec<u32> = (0..points.len() as u32).collect();
        order.sort_by_key(|at| (points[*at as usize].track, points[*at as usize].time_ns));
        let (ids, sorts) = number(points, group);
        Self { points, order, next: 0, ids, sorts, bound: Vec::with_capacity(points.len()), loose: 0 }
    }

    /// Category and name of each sort of flow.
    pub(super) fn sorts(&self) -> &[(u16, StrId)] {
        &self.sorts
    }

    /// Ties the points of `track` to its spans, given in order of start. Tracks come in ascending order.
    pub(super) fn bind(&mut self, track: u32, order: &[u32], spans: &Spans) {
        let mut open: Vec<u32> = Vec::new();
        let mut upcoming = order.iter().copied().peekable();
        while let Some(at) = self.order.get(self.next).copied() {
            let point = self.points[at as usize];
            if point.track.0 > track {
                break;
            }
            self.next += 1;
            if point.track.0 < track {
                self.loose += 1;
                continue;
            }
            while let Some(span) = upcoming.next_if(|span| spans.start_ns[*span as usize] <= point.time_ns) {
                open.push(span);
            }
            while open.pop_if(|span| end_ns(spans, *span) < point.time_ns).is_some() {}
            match open.last() {
                Some(span) => {
                    let (id, time_ns, phase) = (self.ids[at as usize], point.time_ns, point.phase);
                    self.bound.push(Bound { id, time_ns, phase, span: *span });
                }
                None => self.loose += 1,
            }
        }
    }

    /// The flows of the trace, `between` being the spans of arrows between ranks and the arrows' numbers.
    pub(super) fn finish(mut self, spans: usize, between: &[(u32, u64)]) -> Arrows {
        self.loose += (self.order.len() - self.next) as u64;
        self.bound.sort_by_key(|bound| (bound.id, bound.time_ns, rank_of(bound.phase)));
        let mut touches = Vec::with_capacity(self.bound.len() + between.len());
        for flow in self.bound.chunk_by(|a, b| a.id == b.id) {
            touch_all(flow, &mut touches);
        }
        touches.extend(between.iter().map(|(span, arrow)| Touch { span: *span, id: BETWEEN_RANKS | arrow, ends: false }));
        touches.sort_by_key(|touch| (touch.span, touch.id, touch.ends));
        touches.dedup_by_key(|touch| (touch.span, touch.id));
        Arrows::new(touches, spans, self.loose)
    }
}

/// Marks where one flow ends: at an end after which it starts over or is done. An end before any start, as clocks that
/// disagree give, ends nothing: the arrow would be lost.
fn touch_all(flow: &[Bound], touches: &mut Vec<Touch>) {
    let mut running = false;
    for (at, point) in flow.iter().enumerate() {
        let last = flow.get(at + 1).is_none_or(|next| next.phase == FlowPhase::Start);
        let ends = running && last && point.phase == FlowPhase::End;
        running = !ends;
        touches.push(Touch { span: point.span, id: point.id, ends });
    }
}

fn rank_of(phase: FlowPhase) -> u8 {
    match phase {
        FlowPhase::Start => 0,
        FlowPhase::Step => 1,
        FlowPhase::End => 2,
    }
}

/// The file-wide id of each point, and the sorts of flow in order of first appearance.
fn number(points: &[FlowPoint], group: u32) -> (Vec<u64>, Vec<(u16, StrId)>) {
    let mut sorts: Vec<(u16, StrId)> = Vec::new();
    let mut wide: FxHashMap<(usize, u64), u64> = FxHashMap::default();
    let ids = points.iter().map(|point| {
        let sort = (point.category, point.name);
        let known = sorts.iter().position(|known| *known == sort);
        let sort = known.unwrap_or_else(|| {
            if sorts.len() < SORTS_MAX {
                sorts.push(sort);
            }
            sorts.len() - 1
        });
        let own = if point.id < RENUMBERED {
            point.id
        } else {
            let count = wide.len() as u64;
            *wide.entry((sort, point.id)).or_insert(RENUMBERED | count)
        };
        u64::from(group) << GROUP_SHIFT & !BETWEEN_RANKS | (sort as u64) << SORT_SHIFT | own
    });
    (ids.collect(), sorts)
}

fn end_ns(spans: &Spans, span: u32) -> i64 {
    spans.start_ns[span as usize].saturating_add(spans.dur_ns[span as usize])
}
