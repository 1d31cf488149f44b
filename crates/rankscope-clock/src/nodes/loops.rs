//! What measured differences add up to around loops, where they should add up to nothing.
//!
//! Along the tree nothing is left over by construction, so what an edge outside it disagrees with the tree is the surplus of the
//! loop that it closes. It is the one check on asymmetric paths there is, and half a check: asymmetries that cancel around
//! every loop, as those of one slow link card do, stay unseen.

use super::line::Line;
use super::tree::Tree;
use crate::NodeId;

/// The surpluses of the loops that edges close over the tree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoopSurplus {
    /// How many loops there are.
    pub loops: u32,
    /// Root mean square.
    pub rms_ns: f64,
    /// 99 % are smaller, sign aside.
    pub p99_ns: f64,
    /// The greatest, sign aside.
    pub max_ns: f64,
    /// The nodes around the worst loop, from the edge that closes it; empty where there is no loop.
    pub worst: Vec<NodeId>,
}

pub(super) fn surplus(tree: &Tree, lines: &[Line<'_>], is_branch: &[bool]) -> LoopSurplus {
    let closing = || lines.iter().zip(is_branch).filter(|(_, is_branch)| !**is_branch).map(|(line, _)| line);
    let mut sizes: Vec<f64> = closing().map(|line| line.surplus_ns(&tree.readings).abs()).collect();
    let worst = closing().zip(&sizes).max_by(|(_, a), (_, b)| a.total_cmp(b)).map(|(line, _)| around(tree, line));
    sizes.sort_unstable_by(f64::total_cmp);
    let Some(max_ns) = sizes.last().copied() else { return LoopSurplus::default() };
    let squares: f64 = sizes.iter().map(|size| size * size).sum();
    LoopSurplus {
        loops: sizes.len() as u32,
        rms_ns: (squares / sizes.len() as f64).sqrt(),
        p99_ns: sizes[(sizes.len() * 99).div_ceil(100) - 1],
        max_ns,
        worst: worst.unwrap_or_default(),
    }
}

/// From the source up to where the ways to the root part, and down to the destination.
fn around(tree: &Tree, line: &Line<'_>) -> Vec<NodeId> {
    let (mut up, mut down) = (tree.ancestors(line.src), tree.ancestors(line.dst));
    while let ([.., a, _], [.., b, _]) = (up.as_slice(), down.as_slice()) {
        if a != b {
            break;
        }
        up.pop();
        down.pop();
    }
    down.pop();
    up.into_iter().chain(down.into_iter().rev()).map(|place| tree.nodes[place as usize]).collect()
}
