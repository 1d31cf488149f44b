//! Operators by name and by what they were called with: shapes, types, strides and concrete values.
//!
//! Arguments are compared as the file writes them, and only where the reader was asked to keep them all; else every operator of a
//! name is one row. Lists that the profiler cut stay cut.

use rankscope_trace::{ArgValue, SpanId, StrId, Trace};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::owners::busy_ns;
use crate::rows::join_rows;
use crate::{Attribution, Category, Spread};

/// All operators of one name that were called with the same.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// How long devices worked on what each of them launched itself: work that overlaps counts once.
    pub time: Spread,
}

/// The key of the shapes of an operator's inputs.
pub(crate) const DIMS: &str = "Input Dims";

/// The keys of the arguments, in the order of [`ArgumentRow`].
const KEYS: [&str; 4] = [DIMS, "Input type", "Input Strides", "Concrete Inputs"];

/// The operators of `trace` that launched device work, by their arguments; those with most time first.
pub fn arguments(trace: &Trace, attribution: &Attribution) -> Vec<ArgumentRow> {
    let all = attribution.owners.all.iter();
    rows(trace, all.map(|owner| (owner.span, owner.name, owner.category, busy_ns(trace, &owner.work))))
}

/// `operators`, each with its name and how long devices worked for it, by their arguments; those with most time first.
pub(crate) fn rows(trace: &Trace, operators: impl IntoIterator<Item = (SpanId, StrId, Category, i64)>) -> Vec<ArgumentRow> {
    let keys = KEYS.map(|key| trace.strings.find(key));
    let recorded = |span: SpanId| keys.map(|key| recorded(trace, span, key?));
    let mut sums: FxHashMap<(StrId, Category, [Option<StrId>; 4]), Spread> = FxHashMap::default();
    for (span, name, category, busy_ns) in operators {
        let key = (name, category, recorded(span));
        sums.entry(key).or_default().add(busy_ns);
    }
    let text = |id: StrId| trace.strings.text(id).to_owned();
    let row = |((name, category, recorded), time): ((StrId, Category, [Option<StrId>; 4]), Spread)| {
        let [dims, types, strides, concrete] = recorded.map(|id| id.map(text));
        ArgumentRow { name: text(name), category, dims, types, strides, concrete, time }
    };
    let mut rows: Vec<ArgumentRow> = sums.into_iter().map(row).collect();
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

/// Adds the rows of another stretch of time.
pub(crate) fn join(rows: &mut Vec<ArgumentRow>, later: Vec<ArgumentRow>) {
    let key = |row: &ArgumentRow| {
        let recorded = [&row.dims, &row.types, &row.strides, &row.concrete];
        (row.name.clone(), row.category, recorded.map(Clone::clone))
    };
    join_rows(rows, later, key, |row, more| row.time.join(more.time));
    sort(rows);
}

fn sort(rows: &mut [ArgumentRow]) {
    rows.sort_by(|a, b| {
        let key = |row: &ArgumentRow| std::cmp::Reverse(row.time.sum_ns);
        let texts = |row: &'_ ArgumentRow| [row.dims.clone(), row.types.clone(), row.strides.clone(), row.concrete.clone()];
        (key(a), &a.name, a.category).cmp(&(key(b), &b.name, b.category)).then_with(|| texts(a).cmp(&texts(b)))
    });
}
