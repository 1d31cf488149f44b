//! Which forward operator each backward one is of: PyTorch gives both one number, which it counts for each thread.
//!
//! Of the operators with a number, the last to begin made what runs backward. The number of a thread that a backward operator names is
//! PyTorch's own: which thread of the trace it is follows from numbers that only one thread has. Where that does not tell, nothing is tied.

use rankscope_trace::{ArgValue, CategoryKind, SpanId, StrId, Trace, TrackId};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::Attribution;
use crate::attribution::dur_ns;
use crate::rows::join_rows;

/// What backward operators are wrapped in.
const WRAPPER: &str = "autograd::engine::evaluate_function: ";

/// All backward operators of one name whose forward operators have one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackwardRow {
    /// The forward operator; none where it is not recorded.
    pub forward_op: Option<String>,
    /// The backward operator, without what it is wrapped in.
    pub name: String,
    /// How many backward operators.
    pub count: u64,
    /// Sum of the lengths of the device work that the forward operators launched, in nanoseconds: in operators within them, too, but
    /// in none that has a backward operator itself.
    pub forward_kernel_ns: i64,
    /// The same of the backward operators.
    pub backward_kernel_ns: i64,
}

/// The backward operators of a trace and their forward ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tied {
    /// The forward operator of each backward one; none where it is not recorded.
    pub(crate) forward: FxHashMap<SpanId, Option<SpanId>>,
}

impl Tied {
    pub(crate) fn of(trace: &Trace, attribution: &Attribution) -> Self {
        let Some(numbers) = Numbers::of(trace) else { return Self::default() };
        // Backward operators lie in wrappers with the same number: the outermost counts.
        let is_within =
            |span: SpanId, key: (i64, i64)| attribution.around(span).any(|around| numbers.backward(around) == Some(key));
        let mut forwards: FxHashMap<i64, Vec<(TrackId, SpanId)>> = FxHashMap::default();
        let mut backwards: Vec<(SpanId, (i64, i64))> = Vec::new();
        for span in trace.spans.ids().filter(|span| trace.kind(*span) == CategoryKind::CpuOp) {
            if let Some(key) = numbers.backward(span) {
                if !is_within(span, key) {
                    backwards.push((span, key));
                }
            } else if let Some(number) = numbers.forward(span) {
                let last = forwards.entry(number).or_default();
                let track = trace.spans.track[span.0 as usize];
                match last.iter_mut().find(|(known, _)| *known == track) {
                    Some((_, known)) if trace.spans.start_ns(*known) > trace.spans.start_ns(span) => {}
                    Some((_, known)) => *known = span,
                    None => last.push((track, span)),
                }
            }
        }
        let threads = threads(&backwards, &forwards);
        let forward_of = |(number, thread): (i64, i64)| match &forwards.get(&number)?[..] {
            [(_, only)] => Some(*only),
            several => several.iter().find(|(track, _)| threads.get(&thread) == Some(track)).map(|(_, span)| *span),
        };
        Self { forward: backwards.into_iter().map(|(span, key)| (span, forward_of(key))).collect() }
    }
}

/// The thread of the trace that each number of a thread is, as numbers that one thread has say most often.
fn threads(backwards: &[(SpanId, (i64, i64))], forwards: &FxHashMap<i64, Vec<(TrackId, SpanId)>>) -> FxHashMap<i64, TrackId> {
    let mut votes: FxHashMap<i64, FxHashMap<TrackId, u64>> = FxHashMap::default();
    for (_, (number, thread)) in backwards {
        if let Some([(track, _)]) = forwards.get(number).map(Vec::as_slice) {
            *votes.entry(*thread).or_default().entry(*track).or_default() += 1;
        }
    }
    let most =
        |votes: FxHashMap<TrackId, u64>| votes.into_iter().max_by_key(|(track, count)| (*count, std::cmp::Reverse(*track)));
    votes.into_iter().filter_map(|(thread, votes)| Some((thread, most(votes)?.0))).collect()
}

/// The arguments that tie operators.
struct Numbers<'a> {
    trace: &'a Trace,
    sequence: StrId,
    thread: StrId,
}

impl<'a> Numbers<'a> {
    fn of(trace: &'a Trace) -> Option<Self> {
        let key = |name: &str| trace.strings.find(name);
        Some(Self { trace, sequence: key("Sequence number")?, thread: key("Fwd thread id")? })
    }

    fn number(&self, span: SpanId, key: StrId) -> Option<i64> {
        match self.trace.spans.args.value(span.0 as usize, key)? {
            ArgValue::I64(number) => Some(number),
            ArgValue::U64(number) => i64::try_from(number).ok(),
            ArgValue::Text(text) => self.trace.strings.text(text).trim().parse().ok(),
            _ => None,
        }
    }

    /// The number of a backward operator, and that of its forward thread.
    fn backward(&self, span: SpanId) -> Option<(i64, i64)> {
        let thread = self.number(span, self.thread).filter(|thread| *thread > 0)?;
        Some((self.number(span, self.sequence)?, thread))
    }

    fn forward(&self, span: SpanId) -> Option<i64> {
        self.number(span, self.sequence).filter(|number| *number >= 0)
    }
}

/// The backward operators of `trace` by name and forward operator, those with most time in both first.
pub(crate) fn backward(trace: &Trace, attribution: &Attribution, tied: &Tied) -> Vec<BackwardRow> {
    let spans = tied.forward.iter().flat_map(|(span, forward)| [Some(*span), *forward]).flatten();
    let mut work_ns: FxHashMap<SpanId, i64> = spans.map(|span| (span, 0)).collect();
    for one in &attribution.work {
        let Some(owner) = one.owner.span() else { continue };
        let innermost = std::iter::once(owner).chain(attribution.around(owner)).find(|span| work_ns.contains_key(span));
        if let Some(sum) = innermost.and_then(|span| work_ns.get_mut(&span)) {
            *sum = sum.saturating_add(dur_ns(trace, one.work));
        }
    }
    let name = |span: SpanId| trace.spans.name[span.0 as usize];
    let mut sums: FxHashMap<(Option<StrId>, StrId), BackwardRow> = FxHashMap::default();
    // What ran backward twice ran forward once.
    let mut counted: FxHashSet<SpanId> = FxHashSet::default();
    for (span, forward) in &tied.forward {
        let text = |name: StrId| trace.strings.text(name);
        let row = sums.entry((forward.map(name), name(*span))).or_insert_with(|| BackwardRow {
            forward_op: forward.map(|forward| text(name(forward)).to_owned()),
            name: text(name(*span)).strip_prefix(WRAPPER).unwrap_or(text(name(*span))).to_owned(),
            count: 0,
            forward_kernel_ns: 0,
            backward_kernel_ns: 0,
        });
        let forward_ns = forward.filter(|forward| counted.insert(*forward)).map_or(0, |forward| work_ns[&forward]);
        row.add(1, forward_ns, work_ns[span]);
    }
    let mut rows: Vec<BackwardRow> = sums.into_values().collect();
    sort(&mut rows);
    rows
}

impl BackwardRow {
    fn add(&mut self, count: u64, forward_kernel_ns: i64, backward_kernel_ns: i64) {
        self.count += count;
        self.forward_kernel_ns = self.forward_kernel_ns.saturating_add(forward_kernel_ns);
        self.backward_kernel_ns = self.backward_kernel_ns.saturating_add(backward_kernel_ns);
    }

    fn both_ns(&self) -> i64 {
        self.forward_kernel_ns.saturating_add(self.backward_kernel_ns)
    }
}

/// Adds the rows of another stretch of time.
pub(crate) fn join(rows: &mut Vec<BackwardRow>, later: Vec<BackwardRow>) {
    let add = |row: &mut BackwardRow, more: BackwardRow| row.add(more.count, more.forward_kernel_ns, more.backward_kernel_ns);
    join_rows(rows, later, |row| (row.forward_op.clone(), row.name.clone()), add);
    sort(rows);
}

fn sort(rows: &mut [BackwardRow]) {
    rows.sort_by(|a, b| (b.both_ns(), &a.name, &a.forward_op).cmp(&(a.both_ns(), &b.name, &b.forward_op)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::Made;

    #[test]
    fn backward_operators_name_what_ran_forward() {
        let mut made = Made::default();
        // `linear` has the number of `t`, which it calls first; `addmm` has the next.
        for (name, start_us, dur_us, number) in [("aten::linear", 0, 50, 5), ("aten::t", 1, 8, 5), ("aten::addmm", 10, 30, 6)] {
            let span = made.operator(name, start_us, dur_us);
            made.numbers(span, number, 0);
        }
        made.launch("cudaLaunchKernel", 20, 2, 1);
        for (name, start_us, dur_us, number) in [
            ("autograd::engine::evaluate_function: AddmmBackward0", 100, 50, 6),
            ("AddmmBackward0", 101, 40, 6),
            ("autograd::engine::evaluate_function: TBackward0", 160, 10, 5),
            ("autograd::engine::evaluate_function: LostBackward0", 180, 10, 77),
        ] {
            let span = made.operator_on(2, name, start_us, dur_us);
            made.numbers(span, number, 1);
        }
        made.operator_on(2, "aten::mm", 102, 30);
        made.launch_on(2, "cudaLaunchKernel", 110, 2, 2);
        made.kernel("forward", 7, 300, 5, 1);
        made.kernel("backward", 7, 400, 11, 2);
        let attribution = Attribution::of(&made.trace);
        let rows = backward(&made.trace, &attribution, &Tied::of(&made.trace, &attribution));
        let told: Vec<_> = rows
            .iter()
            .map(|row| (row.forward_op.as_deref(), row.name.as_str(), row.forward_kernel_ns, row.backward_kernel_ns))
            .collect();
        let expected = [
            (Some("aten::addmm"), "AddmmBackward0", 5_000, 11_000),
            (None, "LostBackward0", 0, 0),
            (Some("aten::t"), "TBackward0", 0, 0),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn of_two_threads_with_one_number_the_one_that_is_named_counts() {
        let mut made = Made::default();
        for (thread, name, start_us, number) in
            [(1, "aten::mm", 0, 1), (1, "aten::mul", 10, 2), (3, "aten::add", 20, 2), (3, "aten::sub", 30, 9)]
        {
            let span = made.operator_on(thread, name, start_us, 5);
            made.numbers(span, number, 0);
        }
        // Number 1 tells that thread 4 of PyTorch is thread 1 of the trace, and number 9 that 6 is 3.
        for (name, start_us, number, thread) in
            [("MmBackward0", 100, 1, 4), ("MulBackward0", 110, 2, 4), ("AddBackward0", 120, 2, 6), ("SubBackward0", 130, 9, 6)]
        {
            let span = made.operator_on(2, name, start_us, 5);
            made.numbers(span, number, thread);
        }
        let attribution = Attribution::of(&made.trace);
        let rows = backward(&made.trace, &attribution, &Tied::of(&made.trace, &attribution));
        for row in rows {
            let forward = row.forward_op.unwrap().replace("aten::", "").to_lowercase();
            assert!(row.name.to_lowercase().starts_with(&forward), "{forward} {}", row.name);
        }
    }
}
