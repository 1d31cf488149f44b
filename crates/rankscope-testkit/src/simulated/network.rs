//! How long data is on its way: a ring over the members of a group, as fast as its slowest link.

use super::cause::Cause;
use super::layout::Layout;
use super::program::Operation;

/// The links of a job.
pub(super) struct Network<'a> {
    layout: &'a Layout,
    slow: Option<((u32, u32), f64)>,
}

impl<'a> Network<'a> {
    pub(super) fn new(layout: &'a Layout, cause: Option<&Cause>) -> Self {
        let slow = match cause {
            Some(&Cause::SlowLink { nodes, factor }) => Some((nodes, factor)),
            _ => None,
        };
        Self { layout, slow }
    }

    /// How long `operation` of so many bytes takes among `members` once everybody is there.
    pub(super) fn transfer_ns(&self, operation: Operation, bytes: u64, members: &[u32]) -> i64 {
        let ranks = members.len() as f64;
        let passes = match operation {
            Operation::AllReduce => 2.0 * (ranks - 1.0) / ranks,
            Operation::AllToAll => (ranks - 1.0) / ranks,
            Operation::Send | Operation::Recv => 1.0,
        };
        let next = members.iter().cycle().skip(1);
        let links = members.iter().zip(next).map(|(&from, &to)| self.ns_per_byte(from, to));
        let slowest = links.fold(0.0, f64::max);
        LATENCY_NS + (bytes as f64 * passes * slowest) as i64
    }

    /// Whether data between `one` and `other` takes the slow link.
    pub(super) fn is_slow(&self, one: u32, other: u32) -> bool {
        let (one, other) = (self.layout.node(one), self.layout.node(other));
        self.slow.is_some_and(|((a, b), _)| (one, other) == (a, b) || (one, other) == (b, a))
    }

    fn ns_per_byte(&self, from: u32, to: u32) -> f64 {
        if self.layout.node(from) == self.layout.node(to) {
            return NS_PER_BYTE_WITHIN;
        }
        NS_PER_BYTE_BETWEEN * self.slow.filter(|_| self.is_slow(from, to)).map_or(1.0, |(_, factor)| factor)
    }
}

/// What the smallest message takes.
const LATENCY_NS: i64 = 8_000;
/// 200 GB/s within a node, 40 GB/s between two.
const NS_PER_BYTE_WITHIN: f64 = 0.005;
const NS_PER_BYTE_BETWEEN: f64 = 0.025;
