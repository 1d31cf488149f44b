use super::*;
use crate::nodes::NodeEstimate;
use crate::{Edge, EdgeFit, EdgeRecord, HostInstant, Interval, LinkCounts};

const SECOND: i64 = 1_000_000_000;
const EPOCH: i64 = 1_700_000_000 * SECOND;

fn instant(ns: i64) -> HostInstant {
    HostInstant::from_nanos_since_epoch(ns)
}

fn fit(mid: HostInstant, offset_ns: i64) -> EdgeFit {
    EdgeFit {
        start: mid,
        end: mid,
        mid,
        offset: Span::from_nanos(offset_ns),
        skew_ppb: 0.0,
        bound: Interval { lo: Span::from_nanos(offset_ns - 9), hi: Span::from_nanos(offset_ns + 9) },
        skew_bound_ppb: (-1.0, 1.0),
        sigma_ns: 1.0,
        rtt_min: Span::from_nanos(18),
        points_forward: 100,
        points_reverse: 100,
        degraded: false,
    }
}

/// A node's clock against the true time.
#[derive(Clone, Copy)]
struct Clock {
    offset_ns: i64,
    skew_ppb: i64,
}

impl Clock {
    fn reads(self, true_ns: i64) -> i64 {
        true_ns + self.offset_ns + (i128::from(true_ns - EPOCH) * i128::from(self.skew_ppb) / 1_000_000_000) as i64
    }
}

/// Clocks that are seconds and hours apart, so that nothing works without their offsets.
const CLOCKS: [Clock; 4] = [
    Clock { offset_ns: 0, skew_ppb: 0 },
    Clock { offset_ns: 5 * SECOND, skew_ppb: 50_000 },
    Clock { offset_ns: -3_600 * SECOND, skew_ppb: -40_000 },
    Clock { offset_ns: 17, skew_ppb: 90_000 },
];

/// The window of `node` from `from_s` to `until_s` of true time, in which it probed the next node.
fn window(node: usize, from_s: f64, until_s: f64, round: Option<u64>) -> NodeWindow {
    let at = |s: f64| EPOCH + (s * SECOND as f64) as i64;
    let mid = at((from_s + until_s) / 2.0);
    let next = (node + 1) % CLOCKS.len();
    let ahead_ns = CLOCKS[next].reads(mid) - CLOCKS[node].reads(mid);
    let id = |node: usize| NodeId(node as u32);
    NodeWindow {
        node: id(node),
        window_id: from_s as u64,
        round,
        start: instant(CLOCKS[node].reads(at(from_s))),
        end: instant(CLOCKS[node].reads(at(until_s))),
        edges: vec![EdgeRecord {
            counts: LinkCounts { complete: 100, ..LinkCounts::default() },
            ..EdgeRecord::new(Edge { src: id(node), dst: id(next) }, vec![Ok(fit(instant(CLOCKS[node].reads(mid)), ahead_ns))])
        }],
    }
}

/// Nodes of each round, with the window ids they came with.
fn members(rounds: &Rounds) -> Vec<Vec<(u32, u64)>> {
    rounds.rounds.iter().map(|round| round.windows.iter().map(|w| (w.node.0, w.window_id)).collect()).collect()
}

#[test]
fn hours_apart_and_drifting_they_are_found() {
    // 50 ppm make 1.4 s in 8 hours: one offset for the whole run would not do.
    let starts = (0..7_200).map(|k| f64::from(k) * 4.0);
    let all = starts.flat_map(|s| (0..4).map(move |node| window(node, s, s + 4.0, Some(0))));
    let mut all: Vec<_> = all.collect();
    all.reverse();
    let found = rounds(all, NodeId(0));
    assert_eq!(found.rounds.len(), 7_200);
    assert!(found.renumbered, "they all carry 0");
    for (k, round) in found.rounds.iter().enumerate() {
        assert_eq!(round.id, k as u64);
        assert_eq!(round.length.as_nanos(), 4 * SECOND);
        assert_eq!(round.windows.len(), 4);
        assert!(round.windows.iter().all(|window| window.window_id == 4 * k as u64));
    }
}

#[test]
fn missed_rounds_short_windows_and_wrong_numbers() {
    let all = vec![
        window(0, 0.0, 4.0, Some(3)),
        window(1, 0.1, 4.1, Some(3)),
        window(2, -0.1, 3.9, Some(4)), // its number was taken too early
        window(0, 4.0, 8.0, Some(4)),
        window(2, 4.0, 8.0, Some(4)), // node 1 was not there
        window(1, 9.5, 12.0, Some(5)),
        window(2, 8.0, 12.0, Some(5)), // nor was the reference
        window(0, 12.0, 16.0, Some(6)),
        window(1, 12.0, 13.0, Some(6)), // killed,
        window(1, 14.5, 16.0, Some(6)), // restarted
    ];
    let found = rounds(all, NodeId(0));
    let expected: &[&[(u32, u64)]] = &[&[(0, 0), (1, 0), (2, 0)], &[(0, 4), (2, 4)], &[(1, 9), (2, 8)], &[(0, 12), (1, 12)]];
    assert_eq!(members(&found), expected);
    assert_eq!(found.rounds.iter().map(|round| round.id).collect::<Vec<_>>(), [3, 4, 5, 6]);
    assert_eq!((found.renumbered, found.misnumbered), (false, 1));
    let restarted = &found.rounds[3].windows[1];
    assert_eq!((restarted.edges.len(), restarted.edges[0].fits.len(), restarted.edges[0].counts.complete), (1, 2, 200));
    assert_eq!((restarted.end - restarted.start).as_nanos() / 1_000_000, 4_000);
}

#[test]
fn the_same_window_twice_is_one() {
    let all = vec![window(0, 0.0, 4.0, None), window(1, 0.0, 4.0, None), window(0, 0.0, 4.0, None)];
    let found = rounds(all, NodeId(0));
    assert_eq!((members(&found), found.duplicates), (vec![vec![(0, 0), (1, 0)]], 1));
    assert_eq!(found.rounds[0].windows[0].edges[0].counts.complete, 100);
}

#[test]
fn a_node_that_nothing_relates_is_laid_as_if_its_clock_agreed() {
    let mut lonely = window(3, 0.2, 4.2, None);
    lonely.edges.clear();
    let found = rounds(vec![window(0, 0.0, 4.0, None), lonely], NodeId(0));
    assert_eq!(members(&found), [[(0, 0), (3, 0)]]);
    assert_eq!(rounds(Vec::new(), NodeId(0)), Rounds { renumbered: false, ..Rounds::default() });
}

#[test]
fn hostile_times_do_not_panic() {
    let mut windows = vec![window(0, 0.0, 4.0, None), window(1, 0.0, 4.0, None), window(2, 0.0, 4.0, None)];
    windows[0].start = instant(i64::MIN);
    windows[0].end = instant(i64::MAX);
    windows[1].end = windows[1].start;
    windows[2].edges[0].fits = vec![Ok(fit(instant(i64::MIN), i64::MAX - 9)), Ok(fit(instant(i64::MAX), i64::MIN + 9))];
    windows[2].edges[0].edge = Edge { src: NodeId(2), dst: NodeId(2) };
    let members: usize = rounds(windows, NodeId(7)).rounds.iter().map(|round| round.windows.len()).sum();
    assert_eq!(members, 3);
}

#[test]
fn easing_goes_towards_the_forecast_and_no_further_than_the_bound() {
    let estimate = |at_s: i64, offset_ns: i64| NodeEstimate {
        node: NodeId(1),
        at: instant(EPOCH + at_s * SECOND),
        offset: Span::from_nanos(offset_ns),
        skew_ppb: 1_000.0,
        bound: Interval { lo: Span::from_nanos(offset_ns - 60), hi: Span::from_nanos(offset_ns + 60) },
        skew_bound_ppb: (999.0, 1_001.0),
        sigma_ns: 1.0,
        residual_ns: 0.0,
        degraded: false,
    };
    let before = Solution { nodes: vec![estimate(0, 0)], ..Solution::default() };
    // A microsecond a second: 4000 ns are foretold.
    for (measured, factor, eased) in [(4_100, 1.0, 4_100), (4_100, 0.5, 4_050), (5_000, 0.5, 5_000)] {
        let mut now = Solution { nodes: vec![estimate(4, measured)], ..Solution::default() };
        ease(&before, &mut now, factor);
        assert_eq!(now.nodes[0].offset.as_nanos(), eased);
    }
}
