//! The views: what the rows of the table are.

use crate::collectives;
use crate::column::Column;
use crate::links;
use crate::nodes;
use crate::ranks;
use crate::scene::Scene;

/// What the rows of the table are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    /// Ranks.
    #[default]
    Ranks,
    /// Groups of ranks that meet.
    Groups,
    /// Operations in groups.
    Collectives,
    /// Hosts.
    Nodes,
    /// Ways between hosts.
    Links,
}

impl View {
    /// All of them, by their keys from 1.
    pub const ALL: [Self; 5] = [Self::Ranks, Self::Groups, Self::Collectives, Self::Nodes, Self::Links];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ranks => "Ranks",
            Self::Groups => "Groups",
            Self::Collectives => "Collectives",
            Self::Nodes => "Nodes",
            Self::Links => "Links",
        }
    }

    /// The view `by` places further, round and round.
    pub(crate) fn moved(self, by: isize) -> Self {
        let count = Self::ALL.len() as isize;
        Self::ALL[(self as isize + by).rem_euclid(count) as usize]
    }

    pub(crate) fn columns(self) -> &'static [Column] {
        match self {
            Self::Ranks => ranks::COLUMNS,
            Self::Groups => collectives::BY_GROUP,
            Self::Collectives => collectives::BY_OPERATION,
            Self::Nodes => nodes::COLUMNS,
            Self::Links => links::COLUMNS,
        }
    }

    /// The column that rows are sorted by at first, the largest on top: what is worst.
    pub(crate) fn worst(self) -> usize {
        let head = match self {
            Self::Ranks => "late by",
            Self::Groups | Self::Collectives => "wait",
            Self::Nodes => "late by",
            Self::Links => "round trip",
        };
        self.columns().iter().position(|column| column.head == head).unwrap_or(0)
    }

    /// How many rows there are, without a filter.
    pub(crate) fn count(self, scene: &Scene) -> usize {
        let document = &scene.document;
        match self {
            Self::Ranks => document.ranks.len(),
            Self::Groups => document.groups.len(),
            Self::Collectives => document.collectives.len(),
            Self::Nodes => scene.nodes.len(),
            Self::Links => document.links.len(),
        }
    }

    /// What a row is called as long as there is one: the selection stays with it.
    pub(crate) fn key(self, scene: &Scene, at: usize) -> String {
        match self {
            Self::Ranks => ranks::key(scene.document.ranks[at].rank),
            // A rank's label tells what it is in, too, which changes; those of others do not.
            Self::Groups | Self::Collectives | Self::Nodes | Self::Links => self.label(scene, at),
        }
    }

    /// What is said of a row: a filter looks for its words there.
    pub(crate) fn label(self, scene: &Scene, at: usize) -> String {
        match self {
            Self::Ranks => ranks::label(scene, at),
            Self::Groups => collectives::label(&scene.document.groups[at]),
            Self::Collectives => collectives::label(&scene.document.collectives[at]),
            Self::Nodes => nodes::label(&scene.nodes[at]),
            Self::Links => links::label(&scene.document.links[at]),
        }
    }

    /// Why there is no row.
    pub(crate) fn nothing(self) -> &'static str {
        match self {
            Self::Ranks => "No rank tells of itself.",
            Self::Groups | Self::Collectives => "No collective is known yet.",
            Self::Nodes => "The run directory names no host.",
            Self::Links => "No link was measured. Clock agents measure the links between hosts of `rankscope run`.",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_go_round_and_each_has_its_worst_column() {
        assert_eq!(View::Links.moved(1), View::Ranks);
        assert_eq!(View::Ranks.moved(-1), View::Links);
        for view in View::ALL {
            assert!(view.worst() > 0, "{view:?} is sorted by a figure");
            assert_eq!(View::ALL[view as usize], view);
        }
    }
}
