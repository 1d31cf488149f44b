//! [`hints`]: what is known of clocks before any collective is looked at, for whoever pairs the collectives.
//!
//! Ranks of one node most likely share its clock, and measured clocks differ by what was measured. Neither is believed there: the
//! wrong node may be recorded, and a trace may be of another clock than its node's.

use std::collections::BTreeMap;

use rankscope_collectives::Hints;

use crate::RankSource;
use crate::clocks::measured;
use crate::from_collectives::host_name;

/// What is known of the clocks of `ranks`, of which `nodes` says where each ran.
pub fn hints(ranks: &[RankSource<'_>], nodes: &[Option<u32>]) -> Hints {
    let home = |(at, rank): (usize, &RankSource<'_>)| {
        let node = nodes.get(at).copied().flatten();
        node.map(Home::Node).or(host_name(rank.host).map(|host| Home::Host(host.to_owned())))
    };
    let homes: Vec<Option<Home>> = ranks.iter().enumerate().map(home).collect();
    let mut numbers = BTreeMap::new();
    let number = |home: Option<Home>| {
        let next = numbers.len() as u32;
        Some(*numbers.entry(home?).or_insert(next))
    };
    let ahead_ns = |rank: &RankSource<'_>| measured(rank).map(|clock| clock.offset_ns);
    Hints { hosts: homes.into_iter().map(number).collect(), ahead_ns: ranks.iter().map(ahead_ns).collect() }
}

/// What has a clock.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Home {
    Node(u32),
    Host(String),
}

#[cfg(test)]
mod tests {
    use rankscope_time::{ClockMap, Span};
    use rankscope_trace::SnapshotPair;

    use super::*;
    use crate::NodeClock;

    #[test]
    fn ranks_of_a_node_share_a_clock_and_those_of_nowhere_share_none() {
        let of_host = |host| RankSource { host, ..RankSource::default() };
        let ranks = [Some("a"), Some("b"), Some("a"), None, Some("localhost"), Some("localhost"), Some("b")].map(of_host);
        let numbers = |nodes: &[Option<u32>]| hints(&ranks, nodes).hosts;
        assert_eq!(numbers(&[]), [Some(0), Some(1), Some(0), None, None, None, Some(1)]);
        let nodes = [Some(4), Some(4), Some(0), None, Some(0), None, None];
        assert_eq!(numbers(&nodes), [Some(0), Some(0), Some(1), None, Some(1), None, Some(2)], "numbers count before names");
    }

    #[test]
    fn measured_clocks_are_ahead_by_what_was_measured() {
        let wall = |tracer_ns: i64| SnapshotPair { tracer_ns, host_ns: tracer_ns - 500, half_width_ns: 10 };
        let clock = NodeClock {
            node: 1,
            to_reference: ClockMap::from_offset(Span::from_nanos(-2_000), 20),
            host_minus_raw_ns: None,
            realtime: (0..100).map(|at| wall(at * 1_000_000)).collect(),
            degraded: false,
        };
        let rank = RankSource { bounds_ns: Some((5_000_000, 9_000_000)), node: Some(&clock), ..RankSource::default() };
        let Hints { ahead_ns, .. } = hints(&[rank, RankSource::default()], &[Some(1)]);
        assert_eq!(ahead_ns, [Some(2_500), None]);
    }
}
