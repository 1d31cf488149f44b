//! Who waits for whom: ranks and what they are stuck in, as a graph.
//!
//! An edge leads from a rank to what it is stuck in, and from there to every rank that is not there yet. Whoever is in a part of the
//! graph that no edge leaves waits for nobody outside of it: there the cause is. A rank that nobody knows anything about is only
//! followed where no other explains the wait.

use std::collections::BTreeMap;

use petgraph::algo::tarjan_scc;
use petgraph::graph::{DiGraph, NodeIndex};

use crate::progress::Point;
use crate::told::{GroupId, RankState, Scene};

/// Where a rank stands with regard to a collective that others are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stand {
    /// It is in it.
    Here,
    /// For it, it has ended.
    Left,
    /// It has called it, and is stuck in a call that it made before.
    Behind,
    /// It has not called it.
    Absent,
    /// It left nothing to tell by.
    Unknown,
}

/// A rank, by its place in the scene, or what some are stuck in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Node {
    Rank(usize),
    Point(Point),
}

/// The graph.
pub(crate) struct Graph {
    graph: DiGraph<Node, ()>,
    /// By point, the places of the ranks that are awaited there.
    pub(crate) awaited: BTreeMap<Point, Vec<usize>>,
}

impl Graph {
    pub(crate) fn of(scene: &Scene<'_>) -> Self {
        let points = scene.ranks.iter().filter_map(RankState::stuck_in);
        let awaited: BTreeMap<Point, Vec<usize>> = points.map(|point| (point, scene.awaited(point))).collect();
        let mut graph = DiGraph::new();
        let ranks: Vec<NodeIndex> = (0..scene.ranks.len()).map(|place| graph.add_node(Node::Rank(place))).collect();
        let points: BTreeMap<Point, NodeIndex> =
            awaited.keys().map(|point| (*point, graph.add_node(Node::Point(*point)))).collect();
        for (state, node) in scene.ranks.iter().zip(&ranks) {
            if let Some(point) = state.stuck_in() {
                graph.add_edge(*node, points[&point], ());
            }
        }
        for (point, places) in &awaited {
            for place in places {
                graph.add_edge(points[point], ranks[*place], ());
            }
        }
        Self { graph, awaited }
    }

    /// The parts that no edge leaves and that somebody is stuck in or waits for, each in order.
    pub(crate) fn ends(&self) -> Vec<Vec<Node>> {
        let parts = tarjan_scc(&self.graph);
        let mut part_of = vec![0; self.graph.node_count()];
        for (number, part) in parts.iter().enumerate() {
            part.iter().for_each(|node| part_of[node.index()] = number);
        }
        let parts = parts.into_iter().filter(|part| {
            let leaves =
                |node: &NodeIndex| self.graph.neighbors(*node).any(|next| part_of[next.index()] != part_of[node.index()]);
            let is_involved = part.len() > 1 || self.graph.neighbors_directed(part[0], petgraph::Incoming).next().is_some();
            is_involved && !part.iter().any(leaves)
        });
        let mut ends: Vec<Vec<Node>> = parts
            .map(|part| {
                let mut nodes: Vec<Node> = part.into_iter().map(|node| self.graph[node]).collect();
                nodes.sort_unstable();
                nodes
            })
            .collect();
        ends.sort_unstable();
        ends
    }

    /// What the rank at `place` is awaited in, by others.
    pub(crate) fn awaited_in(&self, place: usize) -> impl Iterator<Item = Point> {
        self.awaited.iter().filter(move |(_, places)| places.contains(&place)).map(|(point, _)| *point)
    }
}

impl Scene<'_> {
    /// The place of `rank`.
    pub(crate) fn place(&self, rank: u32) -> Option<usize> {
        self.ranks.binary_search_by_key(&rank, |state| state.rank).ok()
    }

    /// How the rank at `place` stands to a collective.
    pub(crate) fn stand(&self, place: usize, group: GroupId, sequence: u64) -> Stand {
        let state = &self.ranks[place];
        if !state.is_known() {
            return Stand::Unknown;
        }
        let progress = &state.progress;
        let called = progress.reached[group.0].and_then(|reached| reached.called);
        if state.stuck_in() == Some(Point::Collective { group, sequence }) {
            Stand::Here
        } else if called < Some(sequence) {
            if self.knows(place, group) { Stand::Absent } else { Stand::Unknown }
        } else if progress.find(group, sequence).is_some() && !progress.has_left(group, sequence) {
            Stand::Behind
        } else {
            Stand::Left
        }
    }

    /// Whether the dumps of the rank at `place` would tell of `group`: recorders of other libraries do not.
    fn knows(&self, place: usize, group: GroupId) -> bool {
        let state = &self.ranks[place];
        let mut names = state.dumped.into_iter().flat_map(|dumped| &dumped.dumps).flat_map(|dump| &dump.members).peekable();
        let are_named = names.clone().any(|(name, _)| !name.is_empty());
        state.progress.reached[group.0].is_some() || !are_named || names.any(|(name, _)| **name == self.groups[group.0].name)
    }

    /// Places of those that whoever is in `point` waits for.
    fn awaited(&self, point: Point) -> Vec<usize> {
        match point {
            Point::Collective { group, sequence } => {
                let stands: Vec<(usize, Stand)> = self.groups[group.0]
                    .ranks
                    .iter()
                    .filter_map(|rank| self.place(*rank))
                    .map(|place| (place, self.stand(place, group, sequence)))
                    .collect();
                let those = |wanted: &[Stand]| -> Vec<usize> {
                    stands.iter().filter(|(_, stand)| wanted.contains(stand)).map(|(place, _)| *place).collect()
                };
                let late = those(&[Stand::Absent, Stand::Behind]);
                if !late.is_empty() {
                    late
                } else if self.groups[group.0].is_listed {
                    those(&[Stand::Unknown])
                } else {
                    // Whoever left nothing may be of the group, and so may whoever has called nothing yet. Before its first collective has
                    // ended, so may whoever is in no call.
                    let completed =
                        |state: &RankState<'_>| state.progress.reached[group.0].and_then(|reached| reached.completed);
                    let is_first = self.ranks.iter().all(|state| completed(state).is_none_or(|completed| completed == 0));
                    let may_be = |state: &RankState<'_>| {
                        !state.is_known() || !state.progress.is_known() || (is_first && state.stuck_in().is_none())
                    };
                    (0..self.ranks.len()).filter(|place| may_be(&self.ranks[*place])).collect()
                }
            }
            Point::Message { own, other, way, .. } => {
                let Some(place) = self.place(other) else { return Vec::new() };
                let answers = self.ranks[place].stuck_in().is_some_and(
                    |point| matches!(point, Point::Message { other: back, way: against, .. } if back == own && against != way),
                );
                if answers { Vec::new() } else { vec![place] }
            }
        }
    }
}
