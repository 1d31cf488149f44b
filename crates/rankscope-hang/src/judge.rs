//! A scene with its graph, and what is asked of both on the way to a verdict. Nothing is decided here.

use rankscope_document::{HangRoot, HangWait};

use crate::dump::Dump;
use crate::graph::{Graph, Node};
use crate::progress::Point;
use crate::told::{RankState, Scene};
use crate::words;

/// A scene with its graph.
pub(crate) struct Judge<'a> {
    pub(crate) scene: &'a Scene<'a>,
    pub(crate) graph: Graph,
    /// The parts of the graph that no edge leaves.
    pub(crate) ends: Vec<Vec<Node>>,
}

impl<'a> Judge<'a> {
    pub(crate) fn of(scene: &'a Scene<'a>) -> Self {
        let graph = Graph::of(scene);
        let ends = graph.ends();
        Self { scene, graph, ends }
    }
}

impl Judge<'_> {
    pub(crate) fn dumps(&self) -> impl Iterator<Item = &Dump> {
        self.scene.ranks.iter().filter_map(|state| state.dumped).flat_map(|dumped| &dumped.dumps)
    }

    /// Ends of the graph that are one rank each, of which `is` holds.
    pub(crate) fn alone(&self, is: impl Fn(usize) -> bool) -> Vec<usize> {
        let rank = |end: &Vec<Node>| match end[..] {
            [Node::Rank(place)] if is(place) => Some(place),
            _ => None,
        };
        self.ends.iter().filter_map(rank).collect()
    }

    /// The rank at `place` as one that did not come.
    pub(crate) fn absent(&self, place: usize) -> HangRoot {
        let state = &self.scene.ranks[place];
        let awaited = self.graph.awaited_in(place).next();
        let (group, seq) = awaited.map_or((None, None), |point| self.named(point));
        let why = awaited.map(|point| format!("has not come to {}", words::point(self.scene, point))).unwrap_or_default();
        HangRoot { rank: state.rank, why, group, seq }
    }

    pub(crate) fn named(&self, point: Point) -> (Option<String>, Option<u64>) {
        let group = self.scene.groups[point.group().0].name.clone();
        let seq = if let Point::Collective { sequence, .. } = point { Some(sequence) } else { None };
        (Some(group), seq)
    }

    pub(crate) fn is_known(&self, place: usize) -> bool {
        self.scene.ranks[place].is_known()
    }

    pub(crate) fn known(&self) -> usize {
        self.scene.ranks.iter().filter(|state| state.is_known()).count()
    }

    pub(crate) fn unknown(&self) -> usize {
        self.scene.ranks.len() - self.known()
    }

    /// How many ranks wait directly for any of `places`.
    pub(crate) fn waiters(&self, places: &[usize]) -> usize {
        let waits = |point: &Point| self.graph.awaited[point].iter().any(|place| places.contains(place));
        self.scene.ranks.iter().filter(|state| state.stuck_in().is_some_and(|point| waits(&point))).count()
    }

    pub(crate) fn waiting(&self) -> Vec<HangWait> {
        let of = |(place, state): (usize, &RankState<'_>)| {
            let point = state.stuck_in()?;
            let others = self.graph.awaited[&point].iter().filter(|other| **other != place);
            let awaited: Vec<u32> = others.map(|other| self.scene.ranks[*other].rank).collect();
            (!awaited.is_empty()).then_some(HangWait { rank: state.rank, awaited })
        };
        self.scene.ranks.iter().enumerate().filter_map(of).collect()
    }

    /// What the answer lacks.
    pub(crate) fn lacks(&self) -> Vec<String> {
        let those = |is: fn(&RankState<'_>) -> bool| -> Vec<u32> {
            self.scene.ranks.iter().filter(|state| is(state)).map(|state| state.rank).collect()
        };
        let silent = those(|state| state.dumped.is_none());
        let stale = those(|state| state.is_stale);
        let mut lacks = Vec::new();
        if !silent.is_empty() {
            lacks.push(format!("{} left no {}.", words::ranks(&silent), self.scene.form.telling()));
        }
        if !stale.is_empty() {
            lacks.push(format!(
                "The last call of {} lies before the first that any other rank remembers: an older dump, which is not gone by.",
                words::ranks(&stale)
            ));
        }
        lacks
    }
}
