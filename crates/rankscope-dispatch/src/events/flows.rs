//! An exchange message by message: every message is a flow, and flows share the links they cross fairly, which is what
//! congestion control strives for (max-min fairness, found by progressive filling).
//!
//! A sender starts one message after the other, beginning with the rank behind it. Flows of other exchanges are not seen.

use std::collections::BTreeMap;

use rankscope_time::{Rank, Span};

use crate::Traffic;
use crate::network::{Level, Link, Network};

/// One message on its way.
#[derive(Debug)]
struct Flow {
    from: usize,
    to: usize,
    links: Vec<usize>,
    /// Its level carries no more for one message, whatever is free.
    cap: f64,
    /// When it starts, in nanoseconds after the start of the exchange.
    release_ns: f64,
    left_bytes: f64,
    rate: f64,
}

/// When each rank has sent and received everything, where it posts the exchange at `posted`.
pub(super) fn ends(network: &Network, traffic: &Traffic, posted: &[Span]) -> Vec<Span> {
    let origin = posted.iter().copied().min().unwrap_or_default();
    let (flows, capacities) = flows(network, traffic, posted, origin);
    let mut ends = posted.to_vec();
    let mut done = |flow: &Flow, at_ns: f64| {
        let at = origin + Span::from_nanos(at_ns.ceil() as i64);
        ends[flow.from] = ends[flow.from].max(at);
        ends[flow.to] = ends[flow.to].max(at);
    };
    run(flows, &capacities, &mut done);
    ends
}

/// Flows by their release, and what each link carries in bytes a nanosecond.
fn flows(network: &Network, traffic: &Traffic, posted: &[Span], origin: Span) -> (Vec<Flow>, Vec<f64>) {
    let world = traffic.world_size();
    let mut links: BTreeMap<Link, usize> = BTreeMap::new();
    let mut capacities: Vec<f64> = Vec::new();
    let per_ns = |bytes_per_second: u64| bytes_per_second as f64 / 1e9;
    let mut flows = Vec::new();
    for from in (0..world).map(Rank) {
        let mut issued = posted[from.0 as usize] + network.base;
        let mut sends: Vec<_> = traffic.sends(from).iter().filter(|pair| pair.1 != from).collect();
        sends.sort_by_key(|pair| (pair.1.0 + world - from.0) % world);
        for &&(_, to, bytes) in &sends {
            let (level, path) = Link::path(&network.topology, from, to);
            issued = issued + network.cost(level).alpha;
            let mut index = |link: Link| {
                *links.entry(link).or_insert_with(|| {
                    let rate = match (link, level) {
                        (Link::LeafUp(_) | Link::LeafDown(_), _) => network.uplink_bytes_per_second(),
                        (_, Level::Node) => network.node.bytes_per_second,
                        _ => network.rail.bytes_per_second.max(network.spine.bytes_per_second),
                    };
                    capacities.push(per_ns(rate));
                    capacities.len() - 1
                })
            };
            flows.push(Flow {
                from: from.0 as usize,
                to: to.0 as usize,
                links: path.into_iter().flatten().map(&mut index).collect(),
                cap: per_ns(network.cost(level).bytes_per_second),
                release_ns: (issued.max(posted[to.0 as usize]) - origin).as_nanos() as f64,
                left_bytes: bytes as f64,
                rate: 0.0,
            });
        }
    }
    flows.sort_by(|a, b| a.release_ns.total_cmp(&b.release_ns));
    (flows, capacities)
}

/// From event to event: a flow starts or ends, and the others share anew.
fn run(flows: Vec<Flow>, capacities: &[f64], done: &mut impl FnMut(&Flow, f64)) {
    /// Flows that end within this share of a step end together; rounding keeps no flow alive.
    const TOGETHER: f64 = 1e-9;

    let mut waiting = flows.into_iter().peekable();
    let mut active: Vec<Flow> = Vec::new();
    let mut now_ns = 0.0_f64;
    loop {
        while let Some(flow) = waiting.next_if(|flow| flow.release_ns <= now_ns) {
            active.push(flow);
        }
        share(&mut active, capacities);
        let first_end = active.iter().map(|flow| flow.left_bytes / flow.rate).fold(f64::INFINITY, f64::min);
        let next_start = waiting.peek().map_or(f64::INFINITY, |flow| flow.release_ns - now_ns);
        let step_ns = first_end.min(next_start);
        if !step_ns.is_finite() {
            return;
        }
        now_ns += step_ns;
        let ends_now = first_end <= next_start;
        active.retain_mut(|flow| {
            let ended = ends_now && flow.left_bytes / flow.rate <= step_ns * (1.0 + TOGETHER);
            flow.left_bytes = (flow.left_bytes - flow.rate * step_ns).max(0.0);
            if ended {
                done(flow, now_ns);
            }
            !ended
        });
    }
}

/// Gives every flow its rate: the fullest link divides what it has among its flows, then the next fullest what is left.
fn share(flows: &mut [Flow], capacities: &[f64]) {
    let mut left = capacities.to_vec();
    let mut users = vec![0_u32; capacities.len()];
    for flow in flows.iter() {
        flow.links.iter().for_each(|link| users[*link] += 1);
    }
    let mut open: Vec<usize> = (0..flows.len()).collect();
    while !open.is_empty() {
        let fair = |link: usize| left[link] / f64::from(users[link]);
        let limit = |flow: &Flow| flow.links.iter().map(|link| fair(*link)).fold(flow.cap, f64::min);
        let tightest = open.iter().map(|at| limit(&flows[*at])).fold(f64::INFINITY, f64::min);
        // All flows that cannot get more are settled in one round.
        let (settled, rest): (Vec<usize>, Vec<usize>) =
            open.iter().partition(|at| limit(&flows[**at]) <= tightest * (1.0 + 1e-12));
        for at in settled {
            flows[at].rate = tightest.max(f64::MIN_POSITIVE);
            for &link in &flows[at].links {
                left[link] = (left[link] - tightest).max(0.0);
                users[link] -= 1;
            }
        }
        open = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{LevelCost, SizeTable, Topology};

    fn network(gigabytes: u64, alpha_ns: i64) -> Network {
        let cost = LevelCost {
            alpha: Span::from_nanos(alpha_ns),
            bytes_per_second: gigabytes * 1_000_000_000,
            small: SizeTable::default(),
        };
        Network { topology: Topology::ONE_NODE, base: Span::ZERO, node: cost.clone(), rail: cost.clone(), spine: cost }
    }

    fn ends_ns(network: &Network, sends: &[(u32, u32, u64)], posted_ns: &[i64]) -> Vec<i64> {
        let traffic =
            Traffic::new(posted_ns.len() as u32, sends.iter().map(|&(from, to, bytes)| (Rank(from), Rank(to), bytes)));
        let posted: Vec<Span> = posted_ns.iter().map(|nanos| Span::from_nanos(*nanos)).collect();
        ends(network, &traffic, &posted).into_iter().map(Span::as_nanos).collect()
    }

    #[test]
    fn two_flows_into_one_port_share_it() {
        // Both take half until the shorter is through, then the other has the port for itself.
        assert_eq!(ends_ns(&network(1, 0), &[(0, 2, 100), (1, 2, 300)], &[0; 3]), [200, 400, 400]);
    }

    #[test]
    fn what_one_flow_cannot_use_others_get() {
        // Into rank 2 come two flows; one of them shares its sender with a third.
        let sends = [(0, 2, 300), (1, 2, 100), (1, 3, 300)];
        assert_eq!(ends_ns(&network(1, 0), &sends, &[0; 4]), [400, 400, 400, 400]);
    }

    #[test]
    fn a_flow_waits_for_both_its_ends() {
        assert_eq!(ends_ns(&network(1, 5), &[(0, 1, 100)], &[1_000, 3_000]), [3_100, 3_100]);
        assert_eq!(ends_ns(&network(1, 5), &[(0, 1, 100)], &[3_000, 1_000]), [3_105, 3_105]);
        assert_eq!(ends_ns(&network(1, 5), &[(0, 0, 100)], &[3_000]), [3_000]);
    }
}
