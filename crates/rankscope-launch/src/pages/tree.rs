//! Which nodes are in one group, where there are more than the one that leads can hear one by one.
//!
//! Groups follow from the number of nodes alone, so nobody agrees on them. There are [`GROUPS_MAX`] at most, so what the one that leads hears is
//! bounded however many nodes there are; it is in none itself.

use std::ops::Range;

/// What the one that leads hears one by one.
pub(super) const NODES_MAX: u32 = 64;

/// Nodes of a group, at least.
const GROUP_NODES: u32 = 32;

/// Groups, at most.
pub(super) const GROUPS_MAX: u32 = 64;

/// The groups of a job.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree {
    num_nodes: u32,
    size: u32,
}

impl Tree {
    /// Those of a job of so many nodes; none where all can be heard.
    pub(super) fn of(num_nodes: u32) -> Option<Self> {
        let size = num_nodes.saturating_sub(1).div_ceil(GROUPS_MAX).max(GROUP_NODES);
        (num_nodes > NODES_MAX).then_some(Self { num_nodes, size })
    }

    pub(super) fn groups(self) -> Range<u32> {
        0..(self.num_nodes - 1).div_ceil(self.size)
    }

    /// That of a node other than the one that leads.
    pub(super) fn group_of(self, node: u32) -> u32 {
        node.saturating_sub(1) / self.size
    }

    pub(super) fn members(self, group: u32) -> Range<u32> {
        let first = group.saturating_mul(self.size).saturating_add(1).min(self.num_nodes);
        first..first.saturating_add(self.size).min(self.num_nodes)
    }

    /// Looks of one second between two words of a node to the one that leads, where no head passes them on.
    pub(super) fn pace(self) -> u64 {
        u64::from(self.num_nodes.div_ceil(NODES_MAX))
    }

    /// What one head may say at once, before it is packed: all of them together four million bytes.
    pub(super) fn word_bytes(self) -> usize {
        (4 << 20) / self.groups().len().max(1)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_node_but_the_one_that_leads_is_in_one_group(num_nodes in 0u32..100_000) {
            let Some(tree) = Tree::of(num_nodes) else {
                prop_assert!(num_nodes <= NODES_MAX);
                return Ok(());
            };
            let members: Vec<u32> = tree.groups().flat_map(|group| tree.members(group)).collect();
            prop_assert!(members.iter().copied().eq(1..num_nodes));
            for group in tree.groups() {
                prop_assert!(tree.members(group).all(|node| tree.group_of(node) == group));
                prop_assert!(!tree.members(group).is_empty());
            }
            prop_assert!(tree.groups().len() <= GROUPS_MAX as usize);
            prop_assert!(tree.members(u32::MAX).is_empty());
        }
    }

    #[test]
    fn groups_of_a_thousand_nodes() {
        assert!(Tree::of(64).is_none());
        let of = |num_nodes| Tree::of(num_nodes).map(|tree| (tree.groups().len(), tree.members(0).len(), tree.pace()));
        assert_eq!([of(65), of(1_024), of(10_000)], [Some((2, 32, 2)), Some((32, 32, 16)), Some((64, 157, 157))]);
    }
}
