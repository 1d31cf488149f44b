//! The clock of a rank's node, as far as it is known, and instants of its page on the clock of the job.

use rankscope_recording::PageState;

/// How a node's wall clock relates to the reference's, about one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodeClock {
    /// The instant, on the node's clock.
    pub at_ns: i64,
    /// What it is ahead of the reference.
    pub offset_ns: i64,
    /// What it gains on the reference, in parts per billion.
    pub skew_ppb: f64,
    /// How far the offset may be off at most.
    pub error_ns: i64,
    /// How far the gain may be off at most, in parts per billion.
    pub skew_error_ppb: f64,
}

impl NodeClock {
    /// An instant of a page on the job's clock.
    pub(crate) fn job_ns(&self, state: &PageState, raw_ns: i64) -> i64 {
        let wall_ns = raw_ns.saturating_sub(state.anchor[0]).saturating_add(state.anchor[1]);
        let gained_ns = part(wall_ns.saturating_sub(self.at_ns), self.skew_ppb);
        wall_ns.saturating_sub(self.offset_ns).saturating_sub(gained_ns)
    }

    /// How far that may be off at most, where the node's wall clock shows `wall_ns`.
    pub(crate) fn error_at(&self, wall_ns: i64) -> i64 {
        self.error_ns.saturating_add(part(wall_ns.saturating_sub(self.at_ns), self.skew_error_ppb).saturating_abs())
    }
}

/// So many billionths of a duration.
fn part(duration_ns: i64, ppb: f64) -> i64 {
    (duration_ns as f64 * ppb / 1e9) as i64
}
