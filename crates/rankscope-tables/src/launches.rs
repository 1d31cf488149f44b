//! Which call on the host started which work on a device.
//!
//! Both carry the same correlation id. One call may start many kernels (a CUDA graph), and an id may be used twice, by a runtime call
//! and the driver call inside it, or by two calls of a long recording: then it is the last that began before the work did. Where one
//! call lies in another, the outer one, which its caller made.

use rankscope_trace::{SpanId, Trace};
use rustc_hash::FxHashMap;

/// The launching calls of a trace, by correlation id.
pub(crate) struct Launches<'a> {
    trace: &'a Trace,
    /// One that most ids have, and the ids that have more.
    only: FxHashMap<u64, SpanId>,
    several: FxHashMap<u64, Vec<SpanId>>,
}

impl<'a> Launches<'a> {
    pub(crate) fn of(trace: &'a Trace) -> Self {
        let mut launches = Self { trace, only: FxHashMap::default(), several: FxHashMap::default() };
        // An id of 0 is what old releases write for none.
        for (call, id) in trace.correlations.iter().filter(|(call, id)| *id != 0 && trace.kind(*call).is_launch()) {
            if let Some(first) = launches.only.insert(id, call) {
                launches.several.entry(id).or_insert_with(|| vec![first]).push(call);
            }
        }
        let starts = |call: &SpanId| (trace.spans.start_ns(*call), std::cmp::Reverse(trace.spans.end_ns(*call)));
        launches.several.values_mut().for_each(|calls| calls.sort_by_key(starts));
        launches
    }

    /// How many ids are of several calls that do not lie in each other.
    pub(crate) fn shared_ids(&self) -> u64 {
        let spans = &self.trace.spans;
        let is_apart = |pair: &[SpanId]| {
            spans.row(pair[0]).track != spans.row(pair[1]).track || spans.end_ns(pair[0]) < spans.end_ns(pair[1])
        };
        self.several.values().filter(|calls| calls.windows(2).any(is_apart)).count() as u64
    }

    /// The call that started `work`, if its id tells.
    pub(crate) fn of_work(&self, work: SpanId) -> Option<SpanId> {
        let id = self.trace.correlations.get(work)?;
        let only = *self.only.get(&id)?;
        let Some(calls) = self.several.get(&id) else { return Some(only) };
        let start_ns = self.trace.spans.start_ns(work);
        let before = calls.partition_point(|call| self.trace.spans.start_ns(*call) <= start_ns);
        let last = calls[before.saturating_sub(1)];
        // The outermost of those that the last one lies in, on its thread.
        let around = |call: &&SpanId| {
            let spans = &self.trace.spans;
            spans.row(**call).track == spans.row(last).track && spans.end_ns(**call) >= spans.end_ns(last)
        };
        calls[..before].iter().find(around).copied().or(Some(last))
    }
}
