//! Hardware counters of kernels, as Kineto's range profiler leaves them: spans of category `cuda_profiler_range`, one for each kernel,
//! whose numeric arguments are the counters.
//!
//! The spans have no correlation id. The profiler runs one kernel after the other, so where there are as many spans as launches of
//! kernels, the first is of the first, and so on; where there are not, no operator is told.

use rankscope_trace::{ArgValue, CategoryKind, SpanId, StrId, Trace};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::Attribution;

/// The values of one counter for one kernel of one operator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CounterRow {
    /// The innermost operator around the launch; none where it is not told.
    pub operator: Option<String>,
    /// The kernel, or the range that the user named.
    pub name: String,
    /// The counter.
    pub counter: String,
    /// How many values.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
    /// The least.
    pub min: f64,
    /// The greatest.
    pub max: f64,
}

impl CounterRow {
    /// The mean.
    pub fn mean(&self) -> f64 {
        self.sum / self.count as f64
    }

    fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }
}

/// The counters of `trace`, by counter, those with the greatest sum first.
pub fn counters(trace: &Trace, attribution: &Attribution) -> Vec<CounterRow> {
    let Some(category) = trace.strings.find("cuda_profiler_range") else { return Vec::new() };
    let is_range = |span: &SpanId| trace.categories[usize::from(trace.spans.category[span.0 as usize])].name == category;
    let mut ranges: Vec<SpanId> = trace.spans.ids().filter(is_range).collect();
    ranges.sort_by_key(|span| (trace.spans.start_ns(*span), *span));
    if ranges.is_empty() {
        return Vec::new();
    }
    let mut launches: Vec<SpanId> = trace.spans.ids().filter(|span| launches_kernel(trace, *span)).collect();
    launches.sort_by_key(|span| (trace.spans.start_ns(*span), *span));
    let in_order = launches.len() == ranges.len();
    let operator = |at: usize| {
        let launch = launches.get(at).filter(|_| in_order)?;
        let operator = attribution.around(*launch).find(|span| trace.kind(*span) == CategoryKind::CpuOp)?;
        Some(trace.spans.name[operator.0 as usize])
    };
    let mut rows: FxHashMap<(Option<StrId>, StrId, StrId), CounterRow> = FxHashMap::default();
    let text = |id: StrId| trace.strings.text(id).to_owned();
    for (at, range) in ranges.iter().enumerate() {
        let (operator, name) = (operator(at), trace.spans.name[range.0 as usize]);
        for (counter, value) in trace.spans.args.row(range.0 as usize) {
            let Some(value) = number(value) else { continue };
            let row = rows.entry((operator, name, counter)).or_insert_with(|| CounterRow {
                operator: operator.map(text),
                name: text(name),
                counter: text(counter),
                count: 0,
                sum: 0.0,
                min: value,
                max: value,
            });
            row.add(value);
        }
    }
    let mut rows: Vec<CounterRow> = rows.into_values().collect();
    sort(&mut rows);
    rows
}

fn launches_kernel(trace: &Trace, span: SpanId) -> bool {
    trace.kind(span).is_launch() && trace.name(span).contains("LaunchKernel")
}

fn number(value: ArgValue) -> Option<f64> {
    match value {
        ArgValue::I64(value) => Some(value as f64),
        ArgValue::U64(value) => Some(value as f64),
        ArgValue::F64(value) => Some(value).filter(|value| value.is_finite()),
        _ => None,
    }
}

/// Adds the rows of a later export of the same rank.
pub(crate) fn join(rows: &mut Vec<CounterRow>, later: Vec<CounterRow>) {
    crate::rows::join_rows(
        rows,
        later,
        |row| (row.operator.clone(), row.name.clone(), row.counter.clone()),
        |row, more| {
            row.count += more.count;
            row.sum += more.sum;
            row.min = row.min.min(more.min);
            row.max = row.max.max(more.max);
        },
    );
    sort(rows);
}

fn sort(rows: &mut [CounterRow]) {
    rows.sort_by(|a, b| {
        let names = |row: &CounterRow| (row.operator.clone(), row.name.clone());
        a.counter.cmp(&b.counter).then(b.sum.total_cmp(&a.sum)).then_with(|| names(a).cmp(&names(b)))
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::Made;

    fn made(ranges: &[(&str, f64)]) -> Made {
        let mut made = Made::default();
        made.operator("aten::mm", 0, 20);
        made.trace.spans.args.end_row();
        made.operator("aten::add", 30, 20);
        made.trace.spans.args.end_row();
        for (at, start_us) in [(1, 5), (2, 35)] {
            made.launch("cudaLaunchKernel", start_us, 2, at);
            made.trace.spans.args.end_row();
        }
        for (at, (name, value)) in ranges.iter().enumerate() {
            made.on_device("cuda_profiler_range", name, 7, 100 + 10 * at as i64, 5, 0);
            let [counter, text] = ["dram__bytes_read.sum", "device"].map(|key| made.trace.strings.intern(key));
            made.trace.spans.args.push(counter, ArgValue::F64(*value));
            made.trace.spans.args.push(text, ArgValue::Text(text));
            made.trace.spans.args.end_row();
        }
        made
    }

    fn found(made: &Made) -> Vec<(Option<String>, String, u64, f64)> {
        let rows = counters(&made.trace, &Attribution::of(&made.trace));
        rows.into_iter().map(|row| (row.operator, row.name, row.count, row.sum)).collect()
    }

    #[test]
    fn counters_are_of_the_operators_in_order_where_numbers_agree() {
        let rows = found(&made(&[("gemm", 100.0), ("add", 400.0)]));
        let row = |operator: &str, name: &str, sum| (Some(operator.to_owned()), name.to_owned(), 1, sum);
        assert_eq!(rows, [row("aten::add", "add", 400.0), row("aten::mm", "gemm", 100.0)]);
    }

    #[test]
    fn where_numbers_differ_no_operator_is_told() {
        let rows = found(&made(&[("gemm", 100.0), ("gemm", 50.0), ("add", 400.0)]));
        assert_eq!(rows, [(None, "add".to_owned(), 1, 400.0), (None, "gemm".to_owned(), 2, 150.0)]);
    }
}
