//! HLO instructions, of which XLA's compiler makes kernels: what JAX and others that stand on XLA run.
//!
//! XLA's profiler says of work on a device which instruction of which module it is (`hlo_op`, `hlo_module`), and, where it knows, its
//! category and what it computes and moves (`hlo_category`, `flops`, `bytes_accessed`); of GPUs it often says the first two only. These
//! stand on the event or on what is said once about all events of its sort. They are there only where the reader was asked to keep all
//! arguments.
//!
//! Where devices did nothing, as on a host alone, the operators of the host that name an instruction take their place. One may then lie in
//! another, as what a loop runs does in the loop, and both have their whole time.

use rankscope_trace::{ArgValue, CategoryKind, Description, SpanId, StrId, Trace};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::attribution::dur_ns;
use crate::rows::join_rows;
use crate::{Attribution, Spread};

/// All runs of one instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstructionRow {
    /// The module that it is in; none where that is not recorded.
    pub module: Option<String>,
    /// Its name; none of the work that no instruction is known of.
    pub name: Option<String>,
    /// What sort it is, as recorded or else by its name; none where there is no name.
    pub category: Option<String>,
    /// How long the work took that it is made of: one instruction may be several kernels.
    pub time: Spread,
    /// Floating-point operations, as recorded.
    pub flops: Counted,
    /// Bytes read and written, as recorded.
    pub bytes: Counted,
}

/// What some work did in all, as far as it is recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// The sum; none where it is recorded of no work, or does not fit 64 bits.
    pub sum: Option<u64>,
    /// How long the work took that it is recorded of, in nanoseconds.
    pub ns: i64,
    /// Whether the sum does not fit.
    overflowed: bool,
}

impl Counted {
    /// The sum for each picosecond, which is 10^12 a second; none where there is none, or no time.
    pub fn tera_per_s(&self) -> Option<f64> {
        self.sum.filter(|_| self.ns > 0).map(|sum| sum as f64 / (self.ns as f64 * 1e3))
    }

    fn add(&mut self, count: Option<u64>, ns: i64) {
        if count.is_some() {
            self.join(Self { sum: count, ns, overflowed: false });
        }
    }

    fn join(&mut self, others: Self) {
        let sum = match (self.sum, others.sum) {
            (Some(own), Some(more)) => own.checked_add(more),
            (own, more) => own.or(more),
        };
        self.overflowed |= others.overflowed || sum.is_none() && self.sum.is_some();
        self.sum = sum.filter(|_| !self.overflowed);
        self.ns = self.ns.saturating_add(others.ns);
    }
}

/// The instructions of `trace`, those with most time first; ties by module and name. Empty where no work is said to be one's; else
/// all work is in a row.
pub fn instructions(trace: &Trace, attribution: &Attribution) -> Vec<InstructionRow> {
    let recorded = Recorded::of(trace);
    if !recorded.is_any() {
        return Vec::new();
    }
    type Key = (Option<StrId>, Option<StrId>, Option<StrId>);
    let mut rows: FxHashMap<Key, (Spread, Counted, Counted)> = FxHashMap::default();
    let mut add = |work: SpanId, launch: Option<SpanId>| {
        let told = std::iter::once(work).chain(launch).find(|span| recorded.name(*span).is_some());
        let key = told.map_or((None, None, None), |span| (recorded.module(span), recorded.name(span), recorded.category(span)));
        let ns = dur_ns(trace, work);
        let (time, flops, bytes) = rows.entry(key).or_default();
        time.add(ns);
        flops.add(recorded.number(work, recorded.flops), ns);
        bytes.add(recorded.number(work, recorded.bytes), ns);
    };
    if attribution.work.is_empty() {
        let on_host = |span: &SpanId| trace.kind(*span) == CategoryKind::CpuOp && recorded.name(*span).is_some();
        trace.spans.ids().filter(on_host).for_each(|span| add(span, None));
    } else {
        attribution.work.iter().for_each(|one| add(one.work, one.launch));
    }
    if rows.keys().all(|(_, name, _)| name.is_none()) {
        return Vec::new();
    }
    let text = |id: StrId| trace.strings.text(id).to_owned();
    let row = |((module, name, category), (time, flops, bytes)): (Key, (Spread, Counted, Counted))| {
        let name = name.map(|name| short(trace.strings.text(name)).to_owned());
        let by_name = || name.as_deref().map(|name| sort_of_name(name).to_owned());
        let category = category.map(text).or_else(by_name);
        InstructionRow { module: module.map(text), category, name, time, flops, bytes }
    };
    let mut rows: Vec<InstructionRow> = rows.into_iter().map(row).collect();
    sort(&mut rows);
    rows
}

/// Adds the rows of a later export of the same rank.
pub(crate) fn join(rows: &mut Vec<InstructionRow>, later: Vec<InstructionRow>) {
    let key = |row: &InstructionRow| (row.module.clone(), row.name.clone(), row.category.clone());
    join_rows(rows, later, key, |row, more| {
        row.time.join(more.time);
        row.flops.join(more.flops);
        row.bytes.join(more.bytes);
    });
    sort(rows);
}

fn sort(rows: &mut [InstructionRow]) {
    rows.sort_by(|a, b| {
        let key = |row: &InstructionRow| std::cmp::Reverse(row.time.sum_ns);
        (key(a), &a.module, &a.name, &a.category).cmp(&(key(b), &b.module, &b.name, &b.category))
    });
}

/// The name in the text of an instruction: `fusion.3` of `%fusion.3 = f32[8]{0} fusion(...)`.
pub(crate) fn short(text: &str) -> &str {
    let name = text.split_once(" = ").map_or(text, |(name, _)| name);
    name.strip_prefix('%').unwrap_or(name)
}

/// What sort of instruction is called `name`: XLA calls fusions after what drives them, others after what they do, with a number.
fn sort_of_name(name: &str) -> &str {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    match base {
        "" => name,
        // Calls of libraries.
        _ if base.starts_with("cudnn-") || base.starts_with("cublas-") => "custom-call",
        _ if !base.contains("fusion") => base,
        _ if base.starts_with("loop_") => "loop fusion",
        _ if base.starts_with("input_") => "input fusion",
        _ => "fusion",
    }
}

/// What is recorded of instructions, by the keys that the trace has for it.
pub(crate) struct Recorded<'a> {
    trace: &'a Trace,
    name: Option<StrId>,
    module: Option<StrId>,
    category: Option<StrId>,
    flops: [Option<StrId>; 2],
    bytes: [Option<StrId>; 2],
}

impl<'a> Recorded<'a> {
    pub(crate) fn of(trace: &'a Trace) -> Self {
        let key = |text: &str| trace.strings.find(text);
        Self {
            trace,
            name: key("hlo_op"),
            module: key("hlo_module"),
            category: key("hlo_category"),
            // What the model asks for, where it is told apart from what the compiler made of it.
            flops: [key("model_flops"), key("flops")],
            bytes: [key("bytes_accessed"), key("raw_bytes_accessed")],
        }
    }

    /// Whether the trace may say anything of instructions.
    pub(crate) fn is_any(&self) -> bool {
        self.name.is_some() || self.category.is_some()
    }

    /// The instruction that `span` is: by its name, or where work has a category and no name by what the span is called.
    pub(crate) fn name(&self, span: SpanId) -> Option<StrId> {
        let named = self.text(span, self.name);
        named.or_else(|| self.category(span).map(|_| self.label(span)))
    }

    fn module(&self, span: SpanId) -> Option<StrId> {
        self.text(span, self.module)
    }

    fn category(&self, span: SpanId) -> Option<StrId> {
        self.text(span, self.category)
    }

    fn label(&self, span: SpanId) -> StrId {
        let label = self.description(span).map(|at| self.trace.descriptions[at].label);
        label.filter(|label| !label.is_empty()).unwrap_or(self.trace.spans.name[span.0 as usize])
    }

    fn text(&self, span: SpanId, key: Option<StrId>) -> Option<StrId> {
        match self.value(span, key?)? {
            ArgValue::Text(text) | ArgValue::Ref(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// A count, which cannot be below 0 or without an end.
    fn number(&self, span: SpanId, keys: [Option<StrId>; 2]) -> Option<u64> {
        let count = |value| match value {
            ArgValue::U64(count) => Some(count),
            ArgValue::I64(count) => u64::try_from(count).ok(),
            // Above this, the next number is no longer one more.
            ArgValue::F64(count) if (0.0..=9_007_199_254_740_992.0).contains(&count) => Some(count as u64),
            _ => None,
        };
        keys.into_iter().flatten().find_map(|key| self.value(span, key).and_then(count).filter(|count| *count > 0))
    }

    fn value(&self, span: SpanId, key: StrId) -> Option<ArgValue> {
        let own = self.trace.spans.args.value(span.0 as usize, key);
        own.or_else(|| self.trace.description_args.value(self.description(span)?, key))
    }

    /// What is said once about all spans of the sort of `span`.
    fn description(&self, span: SpanId) -> Option<usize> {
        let at = self.trace.spans.description.get(span.0 as usize).filter(|at| **at != Description::NONE)?;
        Some(*at as usize).filter(|at| *at < self.trace.descriptions.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::Made;

    /// Gives the spans of `made` arguments, one list each.
    fn with_args(mut made: Made, args: &[&[(&str, ArgValue)]]) -> Trace {
        for row in args {
            for (key, value) in *row {
                let key = made.trace.strings.intern(key);
                made.trace.spans.args.push(key, *value);
            }
            made.trace.spans.args.end_row();
        }
        made.trace
    }

    #[test]
    fn work_is_of_the_instruction_that_it_or_its_launch_names() {
        let mut made = Made::default();
        let text = |made: &mut Made, text: &str| ArgValue::Text(made.trace.strings.intern(text));
        made.launch("hipModuleLaunchKernel", 0, 5, 1);
        made.kernel("k1", 7, 10, 4, 1);
        made.kernel("k2", 7, 20, 6, 2);
        made.kernel("copy", 7, 30, 1, 3);
        let (fusion, dot, module) = (text(&mut made, "loop_add_fusion.2"), text(&mut made, "dot.7"), text(&mut made, "jit_f"));
        let gemm = text(&mut made, "convolution");
        let trace = with_args(
            made,
            &[
                &[("hlo_op", fusion), ("hlo_module", module)],
                &[],
                &[
                    ("hlo_op", dot),
                    ("hlo_category", gemm),
                    ("flops", ArgValue::U64(12_000_000)),
                    ("bytes_accessed", ArgValue::I64(3_000)),
                ],
                &[],
            ],
        );
        let attribution = Attribution::of(&trace);
        let rows = instructions(&trace, &attribution);
        let row = |row: &InstructionRow| {
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            (text(&row.module), text(&row.name), text(&row.category), row.time.sum_ns, row.flops.sum, row.bytes.sum)
        };
        let expected = [
            ("", "dot.7", "convolution", 6_000, Some(12_000_000), Some(3_000)),
            ("jit_f", "loop_add_fusion.2", "loop fusion", 4_000, None, None),
            ("", "", "", 1_000, None, None),
        ];
        let expected = expected.map(|(module, name, category, ns, flops, bytes)| {
            (module.to_owned(), name.to_owned(), category.to_owned(), ns, flops, bytes)
        });
        assert_eq!(rows.iter().map(row).collect::<Vec<_>>(), expected);
        assert_eq!((rows[0].flops.tera_per_s(), rows[0].bytes.tera_per_s()), (Some(2.0), Some(0.0005)));
        let parents: Vec<_> = crate::kernels(&trace, &attribution).into_iter().map(|row| (row.name, row.parent_op)).collect();
        let expected = [("k2", Some("dot.7")), ("k1", Some("loop_add_fusion.2")), ("copy", None)];
        assert_eq!(parents, expected.map(|(name, parent)| (name.to_owned(), parent.map(str::to_owned))));
        assert_eq!(attribution.unattributed_ns(&trace), 1_000);
    }

    #[test]
    fn what_is_said_of_a_sort_of_events_is_said_of_each() {
        let mut made = Made::default();
        let spans = [made.kernel("%fusion.3 = f32[8]{0} fusion(f32[8]{0} %a)", 7, 0, 2, 0), made.kernel("plain", 7, 5, 1, 0)];
        let trace = &mut made.trace;
        let owner = trace.spans.row(spans[0]).track;
        let (name, label) = (trace.spans.name[0], StrId::EMPTY);
        trace.descriptions.push(Description { owner, id: 1, name, label, blob: None, children: [].into() });
        trace.spans.description = vec![0, Description::NONE];
        for (key, value) in [("hlo_category", "custom fusion"), ("flops", "")] {
            let key = trace.strings.intern(key);
            let text = trace.strings.intern(value);
            trace.description_args.push(key, if value.is_empty() { ArgValue::U64(u64::MAX) } else { ArgValue::Text(text) });
        }
        trace.description_args.end_row();
        let attribution = Attribution::of(trace);
        let rows = instructions(trace, &attribution);
        assert_eq!((rows[0].name.as_deref(), rows[0].category.as_deref()), (Some("fusion.3"), Some("custom fusion")));
        assert_eq!((rows[0].flops.sum, rows[1].name.as_deref()), (Some(u64::MAX), None));
        let mut twice = rows.clone();
        join(&mut twice, rows);
        assert_eq!((twice.len(), twice[0].time.count, twice[0].flops.sum), (2, 2, None), "more than 64 bits is no figure");
        join(&mut twice, instructions(trace, &attribution));
        assert_eq!(twice[0].flops.sum, None);
    }

    #[test]
    fn on_a_host_alone_instructions_are_its_operators() {
        let mut made = Made::default();
        made.operator("all-reduce", 0, 3);
        made.operator("python", 10, 3);
        let name = ArgValue::Text(made.trace.strings.intern("all-reduce"));
        let trace = with_args(made, &[&[("hlo_op", name)], &[]]);
        let rows = instructions(&trace, &Attribution::of(&trace));
        assert_eq!((rows.len(), rows[0].name.as_deref(), rows[0].time.sum_ns), (1, Some("all-reduce"), 3_000));
    }

    #[test]
    fn other_traces_have_no_instructions() {
        let mut made = Made::default();
        made.kernel("k", 7, 0, 2, 0);
        assert_eq!(instructions(&made.trace, &Attribution::of(&made.trace)), []);
    }

    #[test]
    fn names_tell_sorts() {
        for (name, sort) in [
            ("loop_transpose_fusion", "loop fusion"),
            ("input_reduce_fusion.12", "input fusion"),
            ("gemm_fusion_dot.3", "fusion"),
            ("all-reduce.1", "all-reduce"),
            ("cublas-gemm.1.0", "custom-call"),
            ("7", "7"),
        ] {
            assert_eq!(sort_of_name(name), sort, "{name}");
        }
    }
}
