//! The operators and calls that launched device work, each with its own.

use rankscope_analyze::Intervals;
use rankscope_trace::{SpanId, StrId, Trace};
use rustc_hash::FxHashMap;

use crate::attribution::dur_ns;
use crate::{Attributed, Attribution, Category};

/// An operator or a call, and what it launched itself.
#[derive(Clone, Debug)]
pub(crate) struct Owner {
    pub(crate) span: SpanId,
    pub(crate) category: Category,
    /// In order of time.
    pub(crate) work: Vec<SpanId>,
}

/// All of them, in order of the span.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owners {
    pub(crate) all: Vec<Owner>,
}

impl Owners {
    pub(crate) fn of(trace: &Trace, work: &[Attributed]) -> Self {
        let owned = work.iter().filter_map(|one| Some((one.owner.span()?, trace.spans.start_ns(one.work), one.work)));
        let mut owned: Vec<(SpanId, i64, SpanId)> = owned.collect();
        owned.sort_unstable();
        let mut known: FxHashMap<(StrId, StrId), Category> = FxHashMap::default();
        let owner = |own: &[(SpanId, i64, SpanId)]| {
            let (span, _, first) = own[0];
            let names = [span, first].map(|span| trace.spans.name[span.0 as usize]);
            let [operator, kernel] = names.map(|name| trace.strings.text(name));
            let category = *known.entry((names[0], names[1])).or_insert_with(|| Category::of(operator, kernel));
            Owner { span, category, work: own.iter().map(|(.., work)| *work).collect() }
        };
        Self { all: owned.chunk_by(|a, b| a.0 == b.0).map(owner).collect() }
    }

    /// What sort the owner `span` is.
    pub(crate) fn category(&self, span: SpanId) -> Category {
        self.place(span).map_or(Category::Other, |at| self.all[at].category)
    }

    /// For each owner, what the owners within it launched.
    pub(crate) fn below(&self, attribution: &Attribution) -> Vec<Vec<SpanId>> {
        let mut below = vec![Vec::new(); self.all.len()];
        for owner in &self.all {
            for around in attribution.around(owner.span) {
                if let Some(at) = self.place(around) {
                    below[at].extend_from_slice(&owner.work);
                }
            }
        }
        below
    }

    fn place(&self, span: SpanId) -> Option<usize> {
        self.all.binary_search_by_key(&span, |owner| owner.span).ok()
    }
}

/// How long any of `work` ran, in nanoseconds.
pub(crate) fn busy_ns(trace: &Trace, work: &[SpanId]) -> i64 {
    Intervals::union_of(work.iter().map(|one| (trace.spans.start_ns(*one), trace.spans.end_ns(*one)))).length_ns()
}

/// Sum of the lengths of `work`, in nanoseconds.
pub(crate) fn sum_ns(trace: &Trace, work: impl IntoIterator<Item = SpanId>) -> i64 {
    work.into_iter().map(|one| dur_ns(trace, one)).fold(0, i64::saturating_add)
}
