//! Operators by name and by what they were called with: shapes, types, strides and concrete values.
//!
//! Arguments are compared as the file writes them, and only where the reader was asked to keep them all; else every operator of a
//! name is one row. Lists that the profiler cut stay cut.

mod measured;

use rankscope_trace::{ArgValue, SpanId, StrId, Trace};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::owners::busy_ns;
use crate::rows::join_rows;
use crate::{Attribution, Category, Distribution, Spread};

use self::measured::Measured;

/// All operators of one name that were called with the same.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ArgumentRow {
    /// The name.
    pub name: String,
    /// What sort it is.
    pub category: Category,
    /// Shapes of the inputs, as JSON; none where they are not recorded. So are the others.
    pub dims: Option<String>,
    /// Types of their elements.
    pub types: Option<String>,
    /// Their strides.
    pub strides: Option<String>,
    /// Values of what is no tensor.
    pub concrete: Option<String>,
    /// How long devices worked on what is each one's: work that overlaps counts once.
    pub time: Distribution,
    /// The same with what the operators that each of them called launched; of none where that is not told.
    pub subtree: Distribution,
    /// How long they took on the host; of none where they are no spans of the host.
    pub host: Distribution,
    /// Whose thread they ran on; none where they ran on several.
    pub thread: Option<Thread>,
    /// The first of them in the file, by its number in the list of events, where that is known.
    pub example: Option<u32>,
    /// What they launched, by name and stream, that with most time first.
    pub kernels: Vec<LaunchedKernel>,
}

/// A thread and its process, as the file calls them; what has no name there has none here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// The thread's name.
    pub name: Option<String>,
    /// The process's name.
    pub process: Option<String>,
    /// What else the file calls the process.
    pub label: Option<String>,
}

/// All runs of one kernel, copy or fill on one stream that the operators of a row launched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaunchedKernel {
    /// The name.
    pub name: String,
    /// The stream, as the file writes it; where there are streams of several devices, `DEVICE:STREAM`.
    pub stream: String,
    /// How long it ran.
    pub time: Spread,
}

/// The key of the shapes of an operator's inputs.
pub(crate) const DIMS: &str = "Input Dims";

/// The keys of the arguments, in the order of [`ArgumentRow`].
const KEYS: [&str; 4] = [DIMS, "Input type", STRIDES, CONCRETE];

/// The key of the strides of an operator's inputs.
pub(crate) const STRIDES: &str = "Input Strides";

/// The key of the values of what is no tensor.
pub(crate) const CONCRETE: &str = "Concrete Inputs";

/// An operator, and the device work that is its.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called<'a> {
    pub(crate) span: SpanId,
    pub(crate) name: StrId,
    pub(crate) category: Category,
    pub(crate) work: &'a [SpanId],
    /// What the operators within it launched, where that is asked for.
    pub(crate) below: Option<&'a [SpanId]>,
}

/// The operators of `trace` that launched device work, by their arguments; those with most time first.
pub fn arguments(trace: &Trace, attribution: &Attribution) -> Vec<ArgumentRow> {
    let below = attribution.owners.below(attribution);
    let all = attribution.owners.all.iter().zip(&below);
    rows(
        trace,
        all.map(|(owner, below)| Called {
            span: owner.span,
            name: owner.name,
            category: owner.category,
            work: &owner.work,
            below: Some(below),
        }),
    )
}

/// `operators` by their arguments; those with most time first.
pub(crate) fn rows<'a>(trace: &Trace, operators: impl IntoIterator<Item = Called<'a>>) -> Vec<ArgumentRow> {
    let keys = KEYS.map(|key| trace.strings.find(key));
    let recorded = |span: SpanId| keys.map(|key| recorded(trace, span, key?));
    let mut all: FxHashMap<(StrId, Category, [Option<StrId>; 4]), Measured> = FxHashMap::default();
    for one in operators {
        let key = (one.name, one.category, recorded(one.span));
        all.entry(key).or_default().add(trace, &one);
    }
    let text = |id: StrId| trace.strings.text(id).to_owned();
    let row = |((name, category, recorded), measured): ((StrId, Category, [Option<StrId>; 4]), Measured)| {
        let [dims, types, strides, concrete] = recorded.map(|id| id.map(|id| on_one_line(trace.strings.text(id))));
        measured
            .row(trace, ArgumentRow { name: text(name), category, dims, types, strides, concrete, ..ArgumentRow::default() })
    };
    let mut rows: Vec<ArgumentRow> = all.into_iter().map(row).collect();
    sort(&mut rows);
    rows
}

/// What `span` was called with under each of [`KEYS`].
pub(crate) fn all_recorded(trace: &Trace, span: SpanId) -> [Option<StrId>; 4] {
    KEYS.map(|key| recorded(trace, span, trace.strings.find(key)?))
}

/// What `span` was called with under `key`, where it is recorded as text.
pub(crate) fn recorded(trace: &Trace, span: SpanId, key: StrId) -> Option<StrId> {
    match trace.spans.args.value(span.0 as usize, key)? {
        ArgValue::Json(text) | ArgValue::Text(text) => Some(text),
        _ => None,
    }
}

/// A list that the file breaks over several lines, as `jq` and others write it, on one. No string of JSON holds a line break.
pub(crate) fn on_one_line(list: &str) -> String {
    if list.contains('\n') { list.lines().map(str::trim).collect() } else { list.to_owned() }
}

/// Adds the rows of another stretch of time.
pub(crate) fn join(rows: &mut Vec<ArgumentRow>, later: Vec<ArgumentRow>) {
    let key = |row: &ArgumentRow| {
        let recorded = [&row.dims, &row.types, &row.strides, &row.concrete];
        (row.name.clone(), row.category, recorded.map(Clone::clone))
    };
    join_rows(rows, later, key, |row, more| {
        row.time.join(more.time);
        row.subtree.join(more.subtree);
        row.host.join(more.host);
        row.thread.take_if(|thread| more.thread.as_ref() != Some(thread));
        let key = |kernel: &LaunchedKernel| (kernel.name.clone(), kernel.stream.clone());
        join_rows(&mut row.kernels, more.kernels, key, |kernel, more| kernel.time.join(more.time));
        sort_kernels(&mut row.kernels);
    });
    // Of several files a number does not tell which one it is of.
    rows.iter_mut().for_each(|row| row.example = None);
    sort(rows);
}

fn sort(rows: &mut [ArgumentRow]) {
    rows.sort_by(|a, b| {
        let key = |row: &ArgumentRow| std::cmp::Reverse(row.time.spread.sum_ns);
        let texts = |row: &'_ ArgumentRow| [row.dims.clone(), row.types.clone(), row.strides.clone(), row.concrete.clone()];
        (key(a), &a.name, a.category).cmp(&(key(b), &b.name, b.category)).then_with(|| texts(a).cmp(&texts(b)))
    });
}

fn sort_kernels(kernels: &mut [LaunchedKernel]) {
    kernels.sort_by(|a, b| (b.time.sum_ns, &a.name, &a.stream).cmp(&(a.time.sum_ns, &b.name, &b.stream)));
}

/// How long devices worked for `one`, and for it with all that it called.
fn times_ns(trace: &Trace, one: &Called<'_>) -> (i64, Option<i64>) {
    let direct_ns = busy_ns(trace, one.work);
    let subtree_ns =
        one.below.map(|below| if below.is_empty() { direct_ns } else { busy_ns(trace, &[one.work, below].concat()) });
    (direct_ns, subtree_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_on_one_line_and_otherwise_as_recorded() {
        assert_eq!(on_one_line("[\n  [\n    888,\n    \"a b\"\n  ],\n  []\n]"), "[[888,\"a b\"],[]]");
        assert_eq!(on_one_line("[[888, 3], []]"), "[[888, 3], []]");
    }
}
