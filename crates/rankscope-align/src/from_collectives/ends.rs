//! The clocks at the ends of what causality allows, to see which conclusions depend on where inside they are.

use std::collections::BTreeSet;

use super::placing::placed;
use super::{ClockEstimate, RankClocks};

/// Which end of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The least offset.
    Lo,
    /// The greatest.
    Hi,
}

/// The clocks with some of them at one end of their intervals.
#[derive(Clone, Debug)]
pub struct IntervalEnd {
    /// The ranks whose clock was moved, by index; all but the first's, if several clocks were moved at once.
    pub moved: Vec<usize>,
    /// Where to.
    pub side: Side,
    /// All clocks, the others where they are or as near as that leaves possible.
    pub clocks: Vec<RankClocks>,
}

/// Clocks that are moved by themselves at most; with more of them only all at once.
const ALONE_MAX: usize = 8;

impl ClockEstimate {
    /// The clocks at both ends: all that are bounded at once, then each by itself. All of them satisfy the bounds, because the
    /// least offsets against one clock are possible together, and so are the greatest.
    pub fn interval_ends(&self) -> Vec<IntervalEnd> {
        let others: Vec<&[usize]> = self.shared.iter().skip(1).map(Vec::as_slice).collect();
        let alone = if (2..=ALONE_MAX).contains(&others.len()) { others.clone() } else { Vec::new() };
        let moves = std::iter::once(others).chain(alone.into_iter().map(|clock| vec![clock]));
        let sides =
            moves.filter(|clocks| !clocks.is_empty()).flat_map(|clocks| [(clocks.clone(), Side::Lo), (clocks, Side::Hi)]);
        sides.filter_map(|(clocks, side)| self.with_at(&clocks, side)).collect()
    }

    /// `None` where nothing bounds the clocks on that side.
    fn with_at(&self, clocks: &[&[usize]], side: Side) -> Option<IntervalEnd> {
        let end_of = |ranks: &[usize]| {
            let ends = ranks.iter().filter_map(|rank| match side {
                Side::Lo => self.clocks[*rank].bound.lo_ns,
                Side::Hi => self.clocks[*rank].bound.hi_ns,
            });
            match side {
                Side::Lo => ends.max(),
                Side::Hi => ends.min(),
            }
        };
        let moved: Vec<(&[usize], i64)> = clocks.iter().filter_map(|ranks| Some((*ranks, end_of(ranks)?))).collect();
        if moved.is_empty() {
            return None;
        }
        // No two clocks share a rank.
        let gone: BTreeSet<usize> = moved.iter().filter_map(|(ranks, _)| ranks.first().copied()).collect();
        let stays = |ranks: &&Vec<usize>| ranks.first().is_none_or(|first| !gone.contains(first));
        let first = self.shared.iter().take(1).map(|ranks| (ranks.as_slice(), 0));
        let rest = self.shared.iter().skip(1).filter(stays).map(|ranks| (ranks.as_slice(), self.clocks[ranks[0]].offset_ns));
        let wanted: Vec<_> = first.chain(moved.iter().copied()).chain(rest).collect();
        let offsets = placed(&self.bounds, &wanted);
        let clocks = self.clocks.iter().zip(offsets).map(|(clock, offset_ns)| RankClocks {
            offset_ns,
            applied: offset_ns != 0 || clock.drift_ppb != 0,
            ..*clock
        });
        Some(IntervalEnd {
            moved: moved.iter().flat_map(|(ranks, _)| ranks.iter().copied()).collect(),
            side,
            clocks: clocks.collect(),
        })
    }
}
