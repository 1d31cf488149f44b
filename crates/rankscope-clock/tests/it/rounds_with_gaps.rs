//! Rounds in which something is missing: the reference, half of the job, most of a link, a jump of a clock.

use crate::synthetic::{Job, SECOND_NS, fit_of, jump, record_of};
use rankscope_clock::graph::Topology;
use rankscope_clock::nodes::{NodeEstimate, SolveOptions, solve};
use rankscope_clock::{Edge, EdgeFit, Interval, LinkCounts, NoFit, NodeId};
use rankscope_time::{Rate, Span};

fn options() -> SolveOptions {
    SolveOptions::for_reference(NodeId(0))
}

fn job() -> Job {
    Job::new(Topology::Random, 8, SECOND_NS, 20_000, 30.0, 11)
}

fn edge(src: u32, dst: u32) -> Edge {
    Edge { src: NodeId(src), dst: NodeId(dst) }
}

/// What `estimate` should have said.
fn truth_within_bound(job: &Job, estimate: &NodeEstimate) -> Span {
    let truth = Span::from_nanos(job.truth(estimate.node, estimate.at - estimate.offset));
    assert!(estimate.bound.lo <= truth && truth <= estimate.bound.hi, "{truth:?} in {estimate:?}");
    truth
}

#[test]
fn without_the_reference_another_node_stands_in() {
    let job = job();
    let before = solve(&job.round(0), None, &options());
    let mut windows = job.round(1);
    windows.retain(|window| window.node != NodeId(0));
    windows.iter_mut().for_each(|window| window.edges.retain(|record| record.edge.dst != NodeId(0)));
    let solution = solve(&windows, Some(&before), &options());
    assert_eq!(solution.unreachable, [NodeId(0)]);
    assert_eq!(solution.nodes.len(), 7);
    for estimate in &solution.nodes {
        let truth = truth_within_bound(&job, estimate);
        assert!(estimate.degraded);
        assert!((estimate.offset - truth).abs() < Span::from_nanos(150));
        // Four seconds at the 500 ppb that the lines leave open.
        assert!(estimate.bound.hi - estimate.bound.lo > Span::from_nanos(2_000));
    }
    // Whoever was never placed cannot stand in.
    assert_eq!(solve(&windows, None, &options()).nodes, []);
}

#[test]
fn a_round_in_which_nobody_is_heard_is_bridged() {
    let job = job();
    let without_edges = |round: u64, is_lost: fn(Edge) -> bool| {
        let mut windows = job.round(round);
        windows.iter_mut().for_each(|window| window.edges.retain(|record| !is_lost(record.edge)));
        windows
    };
    let mut known = solve(&job.round(0), None, &options());
    for round in 1..=2 {
        known = solve(&without_edges(round, |_| true), Some(&known), &options());
        assert_eq!(known.nodes, []);
        assert_eq!(known.unreachable.len(), 8);
    }
    let solution = solve(&without_edges(3, |edge| [edge.src, edge.dst].contains(&NodeId(0))), Some(&known), &options());
    assert_eq!(solution.nodes.len(), 7);
    let lost: Vec<NodeId> = solution.earlier.iter().map(|estimate| estimate.node).collect();
    assert_eq!(lost, [NodeId(0)]);
    for estimate in &solution.nodes {
        truth_within_bound(&job, estimate);
    }
}

/// A reference that dies in the middle of a round is heard for a moment: who stands in for it goes by what the rounds before knew.
#[test]
fn a_round_that_knows_little_of_skews_takes_nothing_away() {
    let job = job();
    let is_of_reference = |edge: Edge| [edge.src, edge.dst].contains(&NodeId(0));
    let mut known = solve(&job.round(0), None, &options());
    let mut dying = job.round(1);
    for fit in dying.iter_mut().flat_map(|window| &mut window.edges).filter(|record| is_of_reference(record.edge)) {
        let fit = fit.fits[0].as_mut().unwrap();
        fit.skew_ppb += 4_000.0;
        fit.skew_bound_ppb = (fit.skew_ppb - 200_000.0, fit.skew_ppb + 200_000.0);
    }
    known = solve(&dying, Some(&known), &options());
    let width_ppb = |estimate: &NodeEstimate| estimate.skew_bound_ppb.1 - estimate.skew_bound_ppb.0;
    assert!(known.nodes.iter().any(|estimate| width_ppb(estimate) > 100_000.0), "what is measured stays as it is");
    for round in 2..6 {
        let mut windows = job.round(round);
        windows.iter_mut().for_each(|window| window.edges.retain(|record| !is_of_reference(record.edge)));
        known = solve(&windows, Some(&known), &options());
        assert_eq!(known.nodes.len(), 7);
        for estimate in &known.nodes {
            let truth = truth_within_bound(&job, estimate);
            // 500 ppb, and 100 more each second, for as long as the reference is gone.
            let open_ns = 4_000 * round as i64 + 2 * 100 * (4 * round as i64).pow(2);
            assert!(estimate.bound.hi - estimate.bound.lo < Span::from_nanos(open_ns + 5_000), "round {round}: {estimate:?}");
            assert!((estimate.offset - truth).abs() < Span::from_nanos(400 * round as i64), "round {round}: {estimate:?}");
        }
    }
}

/// The lowest node was heard for a moment when the reference died, and whoever leads now was told of no skew but its own.
#[test]
fn who_is_known_best_stands_in() {
    let job = job();
    let is_of_reference = |edge: Edge| [edge.src, edge.dst].contains(&NodeId(0));
    let mut known = solve(&job.round(0), None, &options());
    known.skews.clear();
    for estimate in known.nodes.iter_mut().filter(|estimate| estimate.node != NodeId(5)) {
        estimate.skew_bound_ppb = (estimate.skew_ppb - 500_000.0, estimate.skew_ppb + 500_000.0);
    }
    // It need not have been placed in the last round.
    let best = known.nodes.remove(5);
    known.earlier = vec![best];
    for round in 1..6 {
        let mut windows = job.round(round);
        windows.iter_mut().for_each(|window| window.edges.retain(|record| !is_of_reference(record.edge)));
        known = solve(&windows, Some(&known), &options());
        assert_eq!(known.nodes.len(), 7);
        for estimate in &known.nodes {
            truth_within_bound(&job, estimate);
            // By the others' skews it would be four milliseconds after the first round.
            let width = estimate.bound.hi - estimate.bound.lo;
            assert!(width < Span::from_nanos(40_000 * round as i64), "round {round}: {estimate:?}");
        }
    }
}

#[test]
fn a_reference_that_only_answers_is_still_the_reference() {
    let job = job();
    let mut windows = job.round(0);
    windows.retain(|window| window.node != NodeId(0));
    let solution = solve(&windows, None, &options());
    assert_eq!(solution.nodes[0].node, NodeId(0));
    assert_eq!(solution.nodes[0].offset, Span::ZERO);
    assert!(solution.nodes.iter().all(|estimate| !estimate.degraded));
}

#[test]
fn a_part_that_is_cut_off_is_listed() {
    let job = Job::new("0-1,1-2,2-0,2-3,3-4,4-5,5-3".parse().unwrap(), 6, SECOND_NS, 20_000, 30.0, 3);
    let mut windows = job.round(0);
    windows[2].edges.retain(|record| record.edge.dst != NodeId(3));
    let solution = solve(&windows, None, &options());
    assert_eq!(solution.unreachable, [NodeId(3), NodeId(4), NodeId(5)]);
    assert_eq!(solution.nodes.len(), 3);
}

#[test]
fn edges_not_worth_hearing_are_left_out() {
    let job = Job::new("0-1,1-2".parse().unwrap(), 3, SECOND_NS, 20_000, 30.0, 3);
    let unreachable = |spoil: fn(&mut LinkCounts)| {
        let mut windows = job.round(0);
        spoil(&mut record_of(&mut windows, edge(1, 2)).counts);
        solve(&windows, None, &options()).unreachable
    };
    assert_eq!(unreachable(|_| {}), []);
    assert_eq!(unreachable(|counts| counts.complete = 11), [NodeId(2)]);
    assert_eq!(unreachable(|counts| counts.lost_reverse = 3_100), [NodeId(2)]);
    assert_eq!(unreachable(|counts| counts.lost_forward = 2_900), []);

    let mut windows = job.round(0);
    let steep = options().with_skew_max(Rate::from_ppb(10));
    assert_eq!(solve(&windows, None, &steep).nodes, []);
    record_of(&mut windows, edge(1, 2)).fits = vec![Err(NoFit::OneDirection)];
    assert_eq!(solve(&windows, None, &options()).unreachable, [NodeId(2)]);
    assert_eq!(solve(&[], None, &options()), Default::default());
}

#[test]
fn a_jump_is_charged_to_the_clock_that_jumped() {
    let size = Span::from_nanos(-1_000_000);
    for node in (1..8).map(NodeId) {
        let job = job();
        let mut windows = job.round(0);
        jump(&mut windows, node, size);
        let solution = solve(&windows, None, &options());
        assert_eq!(solution.steps.len(), 1, "{:?}", solution.steps);
        let (step, estimate) = (solution.steps[0], solution.nodes[node.0 as usize]);
        assert_eq!((step.node, step.size), (node, size));
        assert!((step.at - estimate.at - Span::from_nanos(SECOND_NS)).abs() < Span::from_nanos(SECOND_NS / 50));
        // The common instant lies before the jump, and the estimate is of then.
        assert!((estimate.offset.as_nanos() - job.truth(node, estimate.at - estimate.offset)).abs() < 150);
        assert!(solution.nodes.iter().all(|estimate| !estimate.degraded));
    }
}

#[test]
fn a_jump_of_the_reference_is_one_of_everybody_else() {
    let job = job();
    let mut windows = job.round(0);
    jump(&mut windows, NodeId(0), Span::from_nanos(500_000));
    let steps = solve(&windows, None, &options()).steps;
    assert_eq!(steps.iter().map(|step| step.node.0).collect::<Vec<_>>(), [1, 2, 3, 4, 5, 6, 7]);
    assert!(steps.iter().all(|step| step.size == Span::from_nanos(-500_000)));
    // Of two nodes it is the other one: the reference is right by definition.
    let pair = Job::new(Topology::Random, 2, SECOND_NS, 20_000, 30.0, 3);
    let mut windows = pair.round(0);
    jump(&mut windows, NodeId(1), Span::from_nanos(7_000));
    let steps = solve(&windows, None, &options()).steps;
    assert_eq!(steps.iter().map(|step| (step.node, step.size.as_nanos())).collect::<Vec<_>>(), [(NodeId(1), 7_000)]);
}

#[test]
fn a_neighbour_with_one_edge_is_not_accused_for_another() {
    let job = Job::new("0-1,1-2,2-3".parse().unwrap(), 4, SECOND_NS, 20_000, 30.0, 3);
    let mut windows = job.round(0);
    jump(&mut windows, NodeId(1), Span::from_nanos(9_000));
    let steps = solve(&windows, None, &options()).steps;
    assert_eq!(steps.iter().map(|step| (step.node, step.size.as_nanos())).collect::<Vec<_>>(), [(NodeId(1), 9_000)]);
}

#[test]
fn a_part_of_a_window_vouches_for_itself_alone() {
    let job = Job::new(Topology::Random, 2, SECOND_NS, 20_000, 30.0, 3);
    let mut windows = job.round(0);
    jump(&mut windows, NodeId(1), Span::from_nanos(7_000));
    // The first part, in which the common instant lies, has no line.
    record_of(&mut windows, edge(0, 1)).fits[0] = Err(NoFit::TooFewExchanges(3));
    assert!(solve(&windows, None, &options()).nodes[1].degraded);
}

#[test]
fn proofs_go_before_narrow_intervals_that_prove_nothing() {
    let job = Job::new("0-1,1-2,2-0".parse().unwrap(), 3, SECOND_NS, 20_000, 30.0, 3);
    let mut windows = job.round(0);
    // Degraded, and narrow around a wrong value.
    let wrong = {
        let fit: &mut EdgeFit = fit_of(&mut windows, edge(0, 1));
        let middle = fit.offset + Span::from_nanos(1_500);
        *fit = EdgeFit { degraded: true, bound: Interval { lo: middle, hi: middle }, ..*fit };
        middle
    };
    let solution = solve(&windows, None, &options());
    let bound = solution.nodes[1].bound;
    assert!(!solution.nodes[1].degraded && bound.lo < bound.hi);
    let truth = Span::from_nanos(job.truth(NodeId(1), solution.nodes[0].at));
    assert!(bound.lo <= truth && truth <= bound.hi && (wrong - truth).abs() > Span::from_nanos(1_000));
    // Where nothing better leads to a node it has to do, and is called by its name.
    windows[1].edges.clear();
    windows[2].edges.clear();
    assert!(solve(&windows, None, &options()).nodes[1].degraded);
}
