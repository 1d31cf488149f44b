//! The operators and calls that launched device work, each with its own.

use rankscope_analyze::{ClassMode, Intervals};
use rankscope_trace::{SpanId, StrId, Trace};
use rustc_hash::FxHashMap;

use crate::attribution::dur_ns;
use crate::{Attributed, Attribution, Category, Owner};

/// An operator, a call or an instruction, and what it launched itself.
#[derive(Clone, Debug)]
pub(crate) struct Working {
    pub(crate) owner: Owner,
    pub(crate) span: SpanId,
    pub(crate) name: StrId,
    pub(crate) category: Category,
    /// In order of time.
    pub(crate) work: Vec<SpanId>,
}

impl Working {
    fn key(&self) -> (SpanId, Owner) {
        (self.span, self.owner)
    }
}

/// All of them, in order of the span.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owners {
    pub(crate) all: Vec<Working>,
}

impl Owners {
    pub(crate) fn of(trace: &Trace, work: &[Attributed], mode: ClassMode) -> Self {
        let owned =
            work.iter().filter_map(|one| Some((one.owner.span()?, one.owner, trace.spans.start_ns(one.work), one.work)));
        let mut owned: Vec<(SpanId, Owner, i64, SpanId)> = owned.collect();
        owned.sort_unstable();
        let mut known: FxHashMap<(StrId, StrId), Category> = FxHashMap::default();
        let working = |own: &[(SpanId, Owner, i64, SpanId)]| {
            let (span, owner, _, first) = own[0];
            let name = owner.name(trace).unwrap_or_default();
            let kernel = trace.spans.name[first.0 as usize];
            let category = *known.entry((name, kernel)).or_insert_with(|| {
                let (name, kernel) = (trace.strings.text(name), trace.strings.text(kernel));
                match owner {
                    Owner::Instruction(..) => Category::of_instruction(name, kernel),
                    _ => Category::by(mode, name, kernel),
                }
            });
            Working { owner, span, name, category, work: own.iter().map(|(.., work)| *work).collect() }
        };
        Self { all: owned.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)).map(working).collect() }
    }

    /// What sort `owner` is.
    pub(crate) fn category(&self, owner: Owner) -> Category {
        let place = owner.span().map(|span| self.all.binary_search_by_key(&(span, owner), Working::key));
        place.and_then(Result::ok).map_or(Category::Other, |at| self.all[at].category)
    }

    /// For each owner, what the owners within it launched.
    pub(crate) fn below(&self, attribution: &Attribution) -> Vec<Vec<SpanId>> {
        let mut below = vec![Vec::new(); self.all.len()];
        for owner in &self.all {
            let add = |below: &mut Vec<Vec<SpanId>>, at: Option<usize>| {
                if let Some(at) = at {
                    below[at].extend_from_slice(&owner.work);
                }
            };
            let Owner::Replayed(_, launch) = owner.owner else {
                attribution.around(owner.span).for_each(|around| add(&mut below, self.place(around)));
                continue;
            };
            // Within what was captured with it, and within what replays it.
            let captured =
                |around: SpanId| self.all.binary_search_by_key(&(around, Owner::Replayed(around, launch)), Working::key).ok();
            attribution.around(owner.span).for_each(|around| add(&mut below, captured(around)));
            attribution.around(launch).for_each(|around| add(&mut below, self.place(around)));
        }
        below
    }

    /// The operator `span`, for what it launched itself.
    fn place(&self, span: SpanId) -> Option<usize> {
        let from = self.all.partition_point(|owner| owner.span < span);
        let of_span = self.all[from..].iter().take_while(|owner| owner.span == span);
        of_span.zip(from..).find(|(owner, _)| !matches!(owner.owner, Owner::Replayed(..))).map(|(_, at)| at)
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
