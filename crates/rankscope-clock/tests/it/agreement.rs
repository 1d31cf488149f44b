//! Paths that take longer one way than the other, planted: which pair of nodes it is, by how much, and what it does to offsets.

use crate::synthetic::{Job, SECOND_NS, fit_of};
use proptest::prelude::*;
use rankscope_clock::graph::Topology;
use rankscope_clock::nodes::{Agreement, NodeEstimate, PairSurplus, Solution, SolveOptions, agreement, solve};
use rankscope_clock::{Edge, NodeId, NodeWindow, Rng};
use rankscope_time::Span;

const ROUNDS: u64 = 12;

fn options() -> SolveOptions {
    SolveOptions::for_reference(NodeId(0))
}

/// Rounds of `job` in which `lopsided_ns` moves the offset of each edge.
fn rounds(job: &Job, lopsided_ns: impl Fn(Edge) -> i64) -> Vec<(Vec<NodeWindow>, Solution)> {
    let round = |round| {
        let mut windows = job.round(round);
        for edge in &job.edges {
            let fit = fit_of(&mut windows, *edge);
            fit.offset = fit.offset + Span::from_nanos(lopsided_ns(*edge));
        }
        let solution = solve(&windows, None, &options());
        (windows, solution)
    };
    (0..ROUNDS).map(round).collect()
}

fn agreed(rounds: &[(Vec<NodeWindow>, Solution)]) -> Agreement {
    agreement(rounds.iter().map(|(windows, solution)| (windows.as_slice(), solution)), &options())
}

fn suspects(agreement: &Agreement) -> Vec<PairSurplus> {
    agreement.pairs.iter().filter(|pair| pair.is_suspect).copied().collect()
}

fn error_ns(job: &Job, estimate: &NodeEstimate) -> i64 {
    estimate.offset.as_nanos() - job.truth(estimate.node, estimate.at - estimate.offset)
}

/// By what the second of the two nodes seems to be ahead, if `edge` says so of its destination.
fn toward_second(edge: Edge, by_ns: i64) -> i64 {
    if edge.src < edge.dst { by_ns } else { -by_ns }
}

/// Whether the pair that is lopsided in a job is the one that is named, and what it disagrees by is what was planted.
fn is_named(job: &Job, edge: Edge, by_ns: i64) -> bool {
    let pair = (edge.src.min(edge.dst), edge.src.max(edge.dst));
    let of_pair = |other: Edge| (other.src.min(other.dst), other.src.max(other.dst)) == pair;
    let planted = |other: Edge| if of_pair(other) { toward_second(other, by_ns) } else { 0 };
    let [found] = suspects(&agreed(&rounds(job, planted)))[..] else { return false };
    let surplus_ns = found.surplus_ns.unwrap_or_default();
    found.nodes == pair && (surplus_ns - by_ns as f64).abs() < 6.0 * found.chance_ns.max(5.0)
}

/// It is a judgement by chance and wrong once in some thousands of jobs, so jobs are those of fixed seeds, and counted.
#[test]
fn a_lopsided_pair_is_named_and_nobody_else() {
    let jobs = 400;
    let named = (0..jobs).filter(|seed| {
        let mut rng = Rng::new(*seed);
        let nodes = 6 + rng.below(18) as u32;
        let job = Job::new(Topology::Random, nodes, SECOND_NS, 20_000, 20.0, *seed);
        let edge = job.edges[rng.below(job.edges.len() as u64) as usize];
        let size_ns = 150 + rng.below(250) as i64;
        is_named(&job, edge, if rng.below(2) == 0 { size_ns } else { -size_ns })
    });
    let named = named.count();
    assert!(named >= 396, "{named} of {jobs}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn nobody_is_named_where_all_paths_are_alike(nodes in 2u32..24, noise_ns in 1.0f64..200.0, lopsided_ns in 0.0f64..100.0, seed: u64) {
        let job = Job::new(Topology::Random, nodes, SECOND_NS, 20_000, noise_ns, seed);
        let of_edge = |edge: Edge| {
            let (low, high) = (edge.src.min(edge.dst), edge.src.max(edge.dst));
            let mut rng = Rng::lane(seed, u64::from(low.0) << 32 | u64::from(high.0));
            toward_second(edge, (rng.normal() * lopsided_ns) as i64)
        };
        prop_assert_eq!(suspects(&agreed(&rounds(&job, of_edge))), []);
    }

    /// Nodes that are heard in different rounds only are not measured against each other.
    #[test]
    fn networks_without_a_common_node_stand_by_themselves(seed: u64) {
        let one = Job::complete(5, SECOND_NS, 20_000, 20.0, seed);
        let mut all = rounds(&one, |_| 0);
        for (windows, _) in &mut rounds(&one, |_| 0) {
            for window in windows.iter_mut() {
                window.node = NodeId(window.node.0 + 10);
                for record in &mut window.edges {
                    record.edge = Edge { src: NodeId(record.edge.src.0 + 10), dst: NodeId(record.edge.dst.0 + 10) };
                }
            }
            let solution = solve(windows, None, &SolveOptions::for_reference(NodeId(10)));
            all.push((windows.clone(), solution));
        }
        let agreement = agreed(&all);
        prop_assert_eq!(agreement.pairs.len(), 20);
        prop_assert_eq!(agreement.path_sigmas_ns.len(), 10);
    }
}

#[test]
fn of_a_loop_by_itself_nobody_is_named() {
    let job = Job::new(Topology::Ring, 3, SECOND_NS, 10_000, 5.0, 5);
    let lopsided = job.edges[1];
    let agreement = agreed(&rounds(&job, |edge| if edge == lopsided { toward_second(edge, 300) } else { 0 }));
    assert_eq!(suspects(&agreement), []);
    for pair in &agreement.pairs {
        // Any of the three may have all of it.
        assert!((pair.surplus_ns.unwrap_or_default().abs() - 300.0).abs() < 15.0, "{pair:?}");
    }
}

#[test]
fn what_no_loop_leads_through_is_compared_with_nothing() {
    let pair = |src, dst| Edge { src: NodeId(src), dst: NodeId(dst) };
    let edges = vec![pair(0, 1), pair(1, 0), pair(1, 2), pair(3, 2)];
    let job = Job::new(Topology::Explicit(edges), 4, SECOND_NS, 10_000, 20.0, 7);
    let agreement = agreed(&rounds(&job, |edge| toward_second(edge, 200)));
    assert_eq!(agreement.pairs.len(), 3);
    assert!(agreement.pairs.iter().all(|pair| pair.surplus_ns.is_none() && !pair.is_suspect), "{agreement:?}");
    assert_eq!(agreement.path_sigmas_ns, []);
    assert_eq!(agreement.pairs[0].measured, 2 * ROUNDS as u32);
}

/// Lopsided paths do the same to offsets in all rounds: the mean of rounds is as far off as is said.
#[test]
fn what_lopsided_paths_do_to_offsets_is_said() {
    let (mut squares, mut stated, mut count) = (0.0, 0.0, 0.0);
    for seed in 0..60 {
        let job = Job::new(Topology::Random, 12, SECOND_NS, 20_000, 10.0, seed);
        let of_edge = |edge: Edge| {
            let (low, high) = (edge.src.min(edge.dst), edge.src.max(edge.dst));
            let mut rng = Rng::lane(seed, u64::from(low.0) << 32 | u64::from(high.0));
            toward_second(edge, (rng.normal() * 100.0) as i64)
        };
        let rounds = rounds(&job, of_edge);
        for (node, sigma_ns) in &agreed(&rounds).path_sigmas_ns[1..] {
            let of_round = |(_, solution): &(_, Solution)| error_ns(&job, &solution.nodes[node.0 as usize]) as f64;
            let mean_ns = rounds.iter().map(of_round).sum::<f64>() / ROUNDS as f64;
            squares += mean_ns * mean_ns;
            stated += sigma_ns * sigma_ns;
            count += 1.0;
        }
    }
    let ratio: f64 = (stated / squares).sqrt();
    assert!(count > 600.0 && (0.8..1.25).contains(&ratio), "what is stated is {ratio:.2} of what is");
}
