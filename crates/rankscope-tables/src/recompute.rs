//! Forward operators that ran again during backward: what activation checkpointing costs.
//!
//! An operator is *recomputed* if the trace shows it in one of three ways ([`Evidence`]). A backward pass runs with gradients turned
//! off, so its own operators have no sequence number; those that have one ran forward. This alone would be true of gradients of
//! gradients, too: without a frame or a node that says so, the operators must be those of a forward pass in the same order.

use rankscope_trace::{ArgValue, CategoryKind, SpanId, StrId, Trace};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::arguments::{DIMS, recorded};
use crate::attribution::dur_ns;
use crate::rows::join_rows;
use crate::{Attribution, Category, Owner};

/// What shows that an operator is recomputed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Evidence {
    /// It lies in the Python frame `recompute_fn` of `torch/utils/checkpoint.py`.
    Frame,
    /// It lies in the backward node `CheckpointFunctionBackward`, and in no other backward node within that.
    Node,
    /// It ran forward inside a backward node, one of at least three in a row that repeat a row of the forward pass.
    Sequence,
}

impl Evidence {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Frame => "checkpoint_frame",
            Self::Node => "checkpoint_node",
            Self::Sequence => "sequence",
        }
    }
}

/// All recomputed operators of one name that launched device work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecomputeRow {
    /// The operator; of work that no operator is around, the call that launched it.
    pub name: String,
    /// What sort it is.
    pub category: Category,
    /// What shows that it is recomputed.
    pub evidence: Evidence,
    /// How many launched work.
    pub count: u64,
    /// Of how many an earlier operator outside backward has the same name and input shapes.
    pub matched: u64,
    /// Sum of the lengths of the work they launched themselves, in nanoseconds.
    pub kernel_ns: i64,
}

/// Names of backward evaluations begin so.
pub(crate) const EVALUATION: &str = "autograd::engine::evaluate_function: ";

/// Forward operators in a row that must repeat a row of the forward pass where nothing else tells.
const ROW_MIN: usize = 3;

/// The recomputed operators of `trace`, those with most time first.
pub fn recompute(trace: &Trace, attribution: &Attribution) -> Vec<RecomputeRow> {
    let recomputed = Recomputed::of(trace, attribution);
    if recomputed.is_none() {
        return Vec::new();
    }
    let mut forward = None;
    let mut rows: FxHashMap<(StrId, Category, Evidence), RecomputeRow> = FxHashMap::default();
    let mut seen = FxHashSet::default();
    for one in &attribution.work {
        let (Some(from), Some(origin)) = (one.owner.span(), one.origin()) else { continue };
        let Some(evidence) = recomputed.evidence(attribution, origin) else { continue };
        let (name, category) = (trace.spans.name[from.0 as usize], attribution.owners.category(one.owner));
        let row = rows.entry((name, category, evidence)).or_insert_with(|| RecomputeRow {
            name: trace.strings.text(name).to_owned(),
            category,
            evidence,
            count: 0,
            matched: 0,
            kernel_ns: 0,
        });
        row.kernel_ns = row.kernel_ns.saturating_add(dur_ns(trace, one.work));
        if seen.insert(one.owner) {
            row.count += 1;
            let forward = forward.get_or_insert_with(|| Forward::of(trace, &recomputed, attribution));
            let is_operator = matches!(one.owner, Owner::Operator(_) | Owner::Replayed(..));
            row.matched += u64::from(is_operator && forward.has_before(trace, from));
        }
    }
    let mut rows: Vec<RecomputeRow> = rows.into_values().collect();
    sort(&mut rows);
    rows
}

/// Where recomputation shows, and where backward evaluation does.
pub(crate) struct Recomputed {
    marks: FxHashMap<SpanId, Mark>,
    /// Operators without a mark around them whose sequence tells.
    sequences: FxHashSet<SpanId>,
}

/// What a span is to those inside it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Again(Evidence),
    /// A backward node.
    Backward,
}

impl Recomputed {
    pub(crate) fn of(trace: &Trace, attribution: &Attribution) -> Self {
        let names: FxHashMap<StrId, Mark> = trace.strings.iter().filter_map(|(id, text)| Some((id, mark(text)?))).collect();
        let mut recomputed = Self { marks: FxHashMap::default(), sequences: FxHashSet::default() };
        if names.is_empty() {
            return recomputed;
        }
        let marked = |span: SpanId| {
            let mark = *names.get(&trace.spans.name[span.0 as usize])?;
            let kind = trace.kind(span);
            let fits = if mark == Mark::Again(Evidence::Frame) { CategoryKind::PythonFunction } else { CategoryKind::CpuOp };
            (kind == fits).then_some((span, mark))
        };
        recomputed.marks = trace.spans.ids().filter_map(marked).collect();
        if !recomputed.marks.is_empty() {
            recomputed.sequences = sequences(trace, attribution, &recomputed);
        }
        recomputed
    }

    /// Whether there is none.
    fn is_none(&self) -> bool {
        self.sequences.is_empty() && self.marks.values().all(|mark| *mark == Mark::Backward)
    }

    /// What shows that `span` is recomputed, if it is.
    pub(crate) fn evidence(&self, attribution: &Attribution, span: SpanId) -> Option<Evidence> {
        for around in std::iter::once(span).chain(attribution.around(span)) {
            if self.sequences.contains(&around) {
                return Some(Evidence::Sequence);
            }
            match self.marks.get(&around) {
                Some(Mark::Again(evidence)) => return Some(*evidence),
                Some(Mark::Backward) => return None,
                None => {}
            }
        }
        None
    }

    /// The innermost backward evaluation around `span`.
    fn evaluation(&self, attribution: &Attribution, span: SpanId) -> Option<SpanId> {
        attribution.around(span).find(|around| self.marks.get(around) == Some(&Mark::Backward))
    }

    fn is_in_backward(&self, attribution: &Attribution, span: SpanId) -> bool {
        std::iter::once(span).chain(attribution.around(span)).any(|around| self.marks.contains_key(&around))
    }
}

fn mark(name: &str) -> Option<Mark> {
    if name.starts_with(EVALUATION) {
        return Some(Mark::Backward);
    }
    if name.starts_with("CheckpointFunctionBackward") {
        return Some(Mark::Again(Evidence::Node));
    }
    let frame = name.contains("torch/utils/checkpoint.py(") && name.ends_with(": recompute_fn");
    frame.then_some(Mark::Again(Evidence::Frame))
}

/// The arguments that tell operators that ran forward.
struct Numbers {
    sequence: Option<StrId>,
    forward_thread: Option<StrId>,
    dims: Option<StrId>,
}

impl Numbers {
    fn of(trace: &Trace) -> Self {
        let [sequence, forward_thread, dims] = ["Sequence number", "Fwd thread id", DIMS].map(|key| trace.strings.find(key));
        Self { sequence, forward_thread, dims }
    }

    /// The sequence number of `span` if it is an operator that ran forward.
    fn forward(&self, trace: &Trace, span: SpanId) -> Option<i64> {
        let number = |key: Option<StrId>| match trace.spans.args.value(span.0 as usize, key?)? {
            ArgValue::I64(number) => Some(number),
            ArgValue::U64(number) => i64::try_from(number).ok(),
            _ => None,
        };
        let of_backward = number(self.forward_thread).is_some_and(|thread| thread != 0);
        number(self.sequence).filter(|number| *number >= 0 && !of_backward && trace.kind(span) == CategoryKind::CpuOp)
    }

    fn call(&self, trace: &Trace, span: SpanId) -> Call {
        (trace.spans.name[span.0 as usize], self.dims.and_then(|dims| recorded(trace, span, dims)))
    }
}

/// An operator's name and the shapes of its inputs.
type Call = (StrId, Option<StrId>);

/// Operators that ran forward in a backward evaluation and repeat a row of the forward pass.
fn sequences(trace: &Trace, attribution: &Attribution, recomputed: &Recomputed) -> FxHashSet<SpanId> {
    let numbers = Numbers::of(trace);
    let mut found = FxHashSet::default();
    if numbers.sequence.is_none() {
        return found;
    }
    // Operators that ran forward and are inside no other such, by the evaluation they are in, and those of forward passes by thread.
    let mut again: FxHashMap<SpanId, Vec<SpanId>> = FxHashMap::default();
    let mut first: Vec<Option<Call>> = Vec::new();
    for (track, spans) in attribution.nesting.tracks().filter(|(track, _)| !attribution.nesting.is_async(*track)) {
        debug_assert!(spans.iter().all(|span| trace.spans.row(*span).track == track));
        for span in spans.iter().copied().filter(|span| numbers.forward(trace, *span).is_some()) {
            if attribution.around(span).any(|around| numbers.forward(trace, around).is_some()) {
                continue;
            }
            match recomputed.evaluation(attribution, span) {
                Some(evaluation) if recomputed.evidence(attribution, span).is_none() => {
                    again.entry(evaluation).or_default().push(span);
                }
                Some(_) => {}
                None if recomputed.is_in_backward(attribution, span) => {}
                None => first.push(Some(numbers.call(trace, span))),
            }
        }
        // No row goes on on another thread.
        first.push(None);
    }
    if again.is_empty() {
        return found;
    }
    let mut starts: FxHashMap<Call, Vec<usize>> = FxHashMap::default();
    for (at, call) in first.iter().enumerate() {
        call.iter().for_each(|call| starts.entry(*call).or_default().push(at));
    }
    for group in again.values() {
        let calls: Vec<Call> = group.iter().map(|span| numbers.call(trace, *span)).collect();
        let mut at = 0;
        while at < calls.len() {
            let row = longest(&calls[at..], &first, &starts);
            if row >= ROW_MIN {
                found.extend(&group[at..at + row]);
                at += row;
            } else {
                at += 1;
            }
        }
    }
    found
}

/// Places of the forward pass that one row is compared with: what repeats more often than this says nothing new.
const PLACES_MAX: usize = 64;

/// How many of `calls`, from the first on, follow each other somewhere in `first`.
fn longest(calls: &[Call], first: &[Option<Call>], starts: &FxHashMap<Call, Vec<usize>>) -> usize {
    let Some(places) = starts.get(&calls[0]) else { return 0 };
    let same = |place: &usize| calls.iter().zip(&first[*place..]).take_while(|(own, other)| Some(**own) == **other).count();
    places.iter().take(PLACES_MAX).map(same).max().unwrap_or(0)
}

/// The operators outside backward, by name and shapes, with the start of the first of each.
struct Forward {
    numbers: Numbers,
    first_ns: FxHashMap<Call, i64>,
}

impl Forward {
    fn of(trace: &Trace, recomputed: &Recomputed, attribution: &Attribution) -> Self {
        let numbers = Numbers::of(trace);
        let mut first_ns: FxHashMap<Call, i64> = FxHashMap::default();
        let is_forward =
            |span: &SpanId| trace.kind(*span) == CategoryKind::CpuOp && !recomputed.is_in_backward(attribution, *span);
        for span in trace.spans.ids().filter(is_forward) {
            let start_ns = trace.spans.start_ns(span);
            let known = first_ns.entry(numbers.call(trace, span)).or_insert(start_ns);
            *known = start_ns.min(*known);
        }
        Self { numbers, first_ns }
    }

    fn has_before(&self, trace: &Trace, span: SpanId) -> bool {
        self.first_ns.get(&self.numbers.call(trace, span)).is_some_and(|first_ns| *first_ns < trace.spans.start_ns(span))
    }
}

/// Adds the rows of a later export of the same rank.
pub(crate) fn join(rows: &mut Vec<RecomputeRow>, later: Vec<RecomputeRow>) {
    join_rows(
        rows,
        later,
        |row| (row.name.clone(), row.category, row.evidence),
        |row, more| {
            row.count += more.count;
            row.matched += more.matched;
            row.kernel_ns = row.kernel_ns.saturating_add(more.kernel_ns);
        },
    );
    sort(rows);
}

fn sort(rows: &mut [RecomputeRow]) {
    rows.sort_by(|a, b| (b.kernel_ns, &a.name, a.category, a.evidence).cmp(&(a.kernel_ns, &b.name, b.category, b.evidence)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::Made;

    impl Made {
        /// An operator that ran forward.
        fn forward(&mut self, name: &str, start_us: i64, dur_us: i64, sequence: i64) -> SpanId {
            self.with_numbers(name, start_us, dur_us, Some((sequence, 0)))
        }

        /// A backward node.
        fn backward(&mut self, name: &str, start_us: i64, dur_us: i64, sequence: i64) {
            self.with_numbers(&format!("{EVALUATION}{name}"), start_us, dur_us, Some((sequence, 1)));
            self.with_numbers(name, start_us + 1, dur_us - 2, Some((sequence, 1)));
        }

        /// A span with the arguments of torch's; every span of the trace is made by this.
        fn with_numbers(&mut self, name: &str, start_us: i64, dur_us: i64, numbers: Option<(i64, i64)>) -> SpanId {
            let span = self.operator(name, start_us, dur_us);
            let keys = ["Sequence number", "Fwd thread id"].map(|key| self.trace.strings.intern(key));
            if let Some((sequence, thread)) = numbers {
                for (key, value) in keys.into_iter().zip([sequence, thread]) {
                    self.trace.spans.args.push(key, ArgValue::I64(value));
                }
            }
            self.trace.spans.args.end_row();
            span
        }

        fn launched(&mut self, start_us: i64, correlation: u64) {
            self.launch("cudaLaunchKernel", start_us, 1, correlation);
            self.trace.spans.args.end_row();
            self.kernel("kernel", 7, 1_000 + 10 * correlation as i64, 5, correlation);
            self.trace.spans.args.end_row();
        }

        fn found(&self) -> Vec<(String, Evidence, u64, u64, i64)> {
            let rows = recompute(&self.trace, &Attribution::of(&self.trace));
            rows.into_iter().map(|row| (row.name, row.evidence, row.count, row.matched, row.kernel_ns)).collect()
        }
    }

    /// A forward pass of `names`, and a backward node in which `again` run forward.
    fn pass(names: &[&str], node: &str, again: &[&str]) -> Made {
        let mut made = Made::default();
        for (at, name) in names.iter().enumerate() {
            made.forward(name, 10 * at as i64, 5, at as i64);
            made.launched(10 * at as i64 + 1, 1 + at as u64);
        }
        made.backward(node, 200, 100, names.len() as i64);
        for (at, name) in again.iter().enumerate() {
            made.forward(name, 210 + 5 * at as i64, 4, 50 + at as i64);
            made.launched(211 + 5 * at as i64, 100 + at as u64);
        }
        made.with_numbers("aten::mm", 280, 10, None);
        made.launched(281, 200);
        made
    }

    #[test]
    fn a_row_of_the_forward_pass_in_a_backward_node_is_recomputed() {
        let found = pass(&["a", "b", "c", "d"], "MulBackward0", &["b", "c", "d"]).found();
        let row = |name: &str| (name.to_owned(), Evidence::Sequence, 1, 1, 5_000);
        assert_eq!(found, [row("b"), row("c"), row("d")]);
    }

    #[test]
    fn gradients_of_gradients_are_not_recomputed() {
        // They run forward, too, but in no order of the forward pass.
        assert_eq!(pass(&["a", "b", "c", "d"], "MulBackward0", &["b", "d", "c"]).found(), []);
        assert_eq!(pass(&["a", "b", "c", "d"], "MulBackward0", &["b", "c"]).found(), []);
    }

    #[test]
    fn the_node_of_checkpoints_recomputes_whatever_runs_in_it_but_backward() {
        let mut made = pass(&["a"], "CheckpointFunctionBackward", &["a"]);
        made.backward("MmBackward0", 240, 20, 3);
        made.with_numbers("aten::t", 245, 4, None);
        made.launched(246, 300);
        let rows = [("a", 1), ("aten::mm", 0)];
        // What runs after the nested backward is of the node itself; there is no forward operator of its name.
        assert_eq!(made.found(), rows.map(|(name, matched)| (name.to_owned(), Evidence::Node, 1, matched, 5_000)));
    }
}
