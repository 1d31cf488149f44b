//! [`Tally`]: what a thread counts: events by sort, what it dropped and why, what it remarked on.

use std::collections::HashMap;

use rankscope_recording::Remark;

/// Sorts of events that are counted.
pub(crate) const SORTS: usize = 6;

/// A sort of event, as reports count them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    Span,
    Instant,
    Counter,
    Flow,
    Async,
    Memory,
}

/// Reasons a thread itself drops events for.
pub(crate) const REASONS: usize = 7;

/// What a thread itself remarks on.
pub(crate) const REMARKS: usize = Remark::ALL.len();

/// What a thread has recorded since it began.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    pub(crate) stream: u32,
    pub(crate) tid: u64,
    pub(crate) name: String,
    pub(crate) counts: [u64; SORTS],
    pub(crate) drops: [u64; REASONS],
    pub(crate) remarks: [u64; REMARKS],
}

/// What each thread counted since `before`.
pub(crate) fn grown(before: &[Tally], mut after: Vec<Tally>) -> Vec<Tally> {
    let before: HashMap<u32, &Tally> = before.iter().map(|tally| (tally.stream, tally)).collect();
    for tally in &mut after {
        let Some(before) = before.get(&tally.stream) else { continue };
        let counts = tally.counts.iter_mut().chain(&mut tally.drops).chain(&mut tally.remarks);
        let old = before.counts.iter().chain(&before.drops).chain(&before.remarks);
        counts.zip(old).for_each(|(count, old)| *count = count.saturating_sub(*old));
    }
    after
}
