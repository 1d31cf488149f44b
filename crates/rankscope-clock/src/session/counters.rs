//! What a session counts.

use super::wire::Reject;

/// Counts since the session began.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets given out.
    pub packets_sent: u64,
    /// Their bits, with the headers of IPv4 and of what carried them.
    pub bits_sent: u64,
    /// Packets handed in.
    pub packets_received: u64,
    /// Exchanges left out because a window held as many as it may.
    pub exchanges_left_out: u64,
    /// Edges left out of a report because it was as long as it may be.
    pub edges_unreported: u64,
    /// Windows closed.
    pub windows: u64,
    /// Rounds that this node solved.
    pub rounds_solved: u64,
    /// Rounds that were solved without a node that was expected.
    pub rounds_incomplete: u64,
    /// Times that this node became the master.
    pub elections: u64,
    rejected: [u64; Reject::COUNT],
}

impl Counters {
    /// Packets dropped for `reason`.
    pub fn rejected(&self, reason: Reject) -> u64 {
        self.rejected[reason as usize]
    }

    /// Packets dropped.
    pub fn rejected_in_all(&self) -> u64 {
        self.rejected.iter().sum()
    }

    pub(super) fn reject(&mut self, reason: Reject) {
        self.rejected[reason as usize] += 1;
    }
}
