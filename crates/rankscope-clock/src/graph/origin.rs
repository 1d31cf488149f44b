//! The probe graph as the origin draws it: five to ten random targets a node, targets that already probe back left out.
//!
//! Kept for comparison. It promises neither connection nor that every node sends. The origin's generator cannot be reproduced
//! (its distributions differ from one standard library to the next), so graphs of one seed are like its own, not equal.

use super::regular::shuffled;
use super::{ProbeGraph, edge};
use crate::Rng;

/// The lane of the seed's generator; apart from the one of the regular graphs.
const LANE: u64 = 2;

const OUT_DEGREE_MIN: u32 = 5;
const OUT_DEGREE_MAX: u32 = 10;

pub(super) fn origin(nodes: u32, seed: u64) -> ProbeGraph {
    let mut rng = Rng::lane(seed, LANE);
    let others = nodes.saturating_sub(1);
    let (least, most) = (others.min(OUT_DEGREE_MIN), others.min(OUT_DEGREE_MAX));
    let mut targets: Vec<Vec<u32>> = Vec::with_capacity(nodes as usize);
    for src in 0..nodes {
        let out_degree = least + rng.below(u64::from(most - least) + 1) as u32;
        let drawn = shuffled(others, &mut rng).into_iter().take(out_degree as usize);
        // The others are numbered without a gap; from `src` on they are one further.
        let drawn = drawn.map(|other| if other < src { other } else { other + 1 });
        targets.push(drawn.filter(|dst| !targets.get(*dst as usize).is_some_and(|back| back.contains(&src))).collect());
    }
    let edges = targets.iter().zip(0..).flat_map(|(dsts, src)| dsts.iter().map(move |dst| edge(src, *dst)));
    ProbeGraph::new(nodes, edges.collect())
}
