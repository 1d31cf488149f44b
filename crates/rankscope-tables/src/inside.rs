//! Which span of a thread was running at an instant.

use rankscope_analyze::spans::Nesting;
use rankscope_trace::{SpanId, Trace, TrackId};
use rustc_hash::FxHashMap;

/// The spans of each thread, to be asked about instants.
pub(crate) struct Inside<'a> {
    trace: &'a Trace,
    nesting: &'a Nesting,
    tracks: FxHashMap<TrackId, &'a [SpanId]>,
}

impl<'a> Inside<'a> {
    pub(crate) fn of(trace: &'a Trace, nesting: &'a Nesting) -> Self {
        let tracks = nesting.tracks().filter(|(track, _)| !nesting.is_async(*track)).collect();
        Self { trace, nesting, tracks }
    }

    /// The innermost span of `track` that had begun by `at_ns` and had not ended.
    pub(crate) fn innermost(&self, track: TrackId, at_ns: i64) -> Option<SpanId> {
        let spans = self.tracks.get(&track)?;
        let begun = spans.partition_point(|span| self.trace.spans.start_ns(*span) <= at_ns);
        let last = *spans[..begun].last()?;
        self.outwards(last).find(|span| self.trace.spans.end_ns(*span) > at_ns)
    }

    /// The spans of `track` that begin after `from_ns` and before `to_ns`, in order.
    pub(crate) fn beginning_in(&self, track: TrackId, from_ns: i64, to_ns: i64) -> &'a [SpanId] {
        let Some(spans) = self.tracks.get(&track) else { return &[] };
        let place = |at_ns: i64, and: bool| {
            spans.partition_point(|span| {
                let start_ns = self.trace.spans.start_ns(*span);
                start_ns < at_ns || (and && start_ns == at_ns)
            })
        };
        let (first, end) = (place(from_ns, true), place(to_ns, false));
        &spans[first..end.max(first)]
    }

    /// `span` and what is around it, innermost first.
    pub(crate) fn outwards(&self, span: SpanId) -> impl Iterator<Item = SpanId> + use<'a> {
        let nesting = self.nesting;
        std::iter::successors(Some(span), move |span| nesting.parent(*span))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::made::Made;

    #[test]
    fn an_instant_is_in_the_innermost_span_that_has_not_ended() {
        let mut made = Made::default();
        let outer = made.operator("outer", 10, 50);
        let inner = made.operator("inner", 20, 10);
        let nesting = Nesting::of(&made.trace);
        let inside = Inside::of(&made.trace, &nesting);
        let track = made.trace.spans.track[0];
        let at = |us: i64| inside.innermost(track, us * 1_000);
        assert_eq!(
            [5, 10, 20, 29, 30, 59, 60].map(at),
            [None, Some(outer), Some(inner), Some(inner), Some(outer), Some(outer), None]
        );
        assert_eq!(inside.beginning_in(track, 10_000, 20_001), [inner]);
        assert_eq!(inside.beginning_in(track, 10_000, 20_000), []);
        assert_eq!(inside.beginning_in(track, 30_000, 20_000), []);
    }
}
