use proptest::prelude::*;

use super::*;
use crate::{Edge, EdgeRecord, Interval};

const SECOND_NS: i64 = 1_000_000_000;

/// Two nodes that probe each other for `seconds`, node 1 is 3 ms ahead.
fn probed(seconds: i64) -> Vec<NodeWindow> {
    let of_node = |node: u32| (0..seconds).map(move |second| window(node, second));
    (0..2).flat_map(of_node).collect()
}

fn window(node: u32, second: i64) -> NodeWindow {
    let ahead_ns = if node == 0 { 3_000_000 } else { -3_000_000 };
    let at = |ns: i64| HostInstant::from_nanos_since_epoch(second * SECOND_NS + ns - if node == 0 { 0 } else { ahead_ns });
    let span = Span::from_nanos;
    let fit = EdgeFit {
        start: at(100),
        end: at(SECOND_NS - 100),
        mid: at(SECOND_NS / 2),
        offset: span(ahead_ns),
        skew_ppb: 0.0,
        bound: Interval { lo: span(ahead_ns - 50), hi: span(ahead_ns + 50) },
        skew_bound_ppb: (-10.0, 10.0),
        sigma_ns: 1.0,
        rtt_min: span(100),
        points_forward: 100,
        points_reverse: 100,
        degraded: false,
    };
    NodeWindow {
        node: NodeId(node),
        window_id: second as u64,
        round: Some(second as u64),
        start: at(0),
        end: at(SECOND_NS),
        edges: vec![EdgeRecord {
            events: vec![ClockEvent::Step { at: at(7), size: span(9) }],
            ..EdgeRecord::new(Edge { src: NodeId(node), dst: NodeId(1 - node) }, vec![Ok(fit)])
        }],
    }
}

/// The windows as they were written if node 1 was started again before each of `restarts`, with another constant every time,
/// and the starts that its file tells.
fn restarted(seconds: i64, restarts: &[(i64, i64)]) -> (Vec<NodeWindow>, Vec<Start>) {
    let start = |second: i64, host_minus_raw_ns: i64| Start {
        node: NodeId(1),
        first_window: (seconds + second) as usize,
        host_minus_raw_ns,
    };
    let starts: Vec<Start> = std::iter::once(start(0, 0)).chain(restarts.iter().map(|(at, ns)| start(*at, *ns))).collect();
    let last_ns = starts[starts.len() - 1].host_minus_raw_ns;
    let mut windows = probed(seconds);
    for second in 0..seconds {
        let constant = starts.iter().rev().find(|start| start.first_window <= (seconds + second) as usize);
        let by = Span::from_nanos(constant.expect("a start").host_minus_raw_ns - last_ns);
        move_source(&mut windows[(seconds + second) as usize], by);
        windows[second as usize].edges[0].fits.iter_mut().flatten().for_each(|fit| move_offset(fit, by));
    }
    (windows, starts)
}

proptest! {
    /// Whatever constants the starts chose, what is left is what would have been measured with the last one throughout.
    #[test]
    fn starts_leave_no_trace(
        constants in prop::collection::vec((2i64..5, -200_000_000i64..200_000_000), 0..4), seconds in 20i64..30
    ) {
        let mut at = 0;
        let restarts: Vec<_> = constants.iter().map(|(after, ns)| { at += after; (at, *ns) }).collect();
        let (mut windows, starts) = restarted(seconds, &restarts);
        join(&mut windows, &starts);
        prop_assert_eq!(windows, probed(seconds));
    }
}

#[test]
fn a_line_that_could_be_of_two_starts_is_left_out() {
    // The clock went back by four seconds: what it showed before and after it showed twice.
    let (mut windows, starts) = restarted(20, &[(10, -4 * SECOND_NS)]);
    join(&mut windows, &starts);
    let usable = |window: &NodeWindow| window.edges[0].fits[0].is_ok();
    let truth = probed(20);
    assert!(windows.iter().zip(&truth).all(|(found, true_one)| !usable(found) || found == true_one));
    assert_eq!(windows[20..], truth[20..]);
    assert!(windows[..4].iter().all(usable) && !windows[..20].iter().all(usable));
}

#[test]
fn nothing_moves_without_a_header_or_with_one() {
    for starts in [vec![], vec![Start { node: NodeId(1), first_window: 5, host_minus_raw_ns: i64::MAX }]] {
        let mut windows = probed(5);
        join(&mut windows, &starts);
        assert_eq!(windows, probed(5));
    }
}
