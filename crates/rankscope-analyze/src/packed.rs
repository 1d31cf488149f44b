//! Sets of time that are kept: a quarter as large as [`Intervals`], exact, and only asked what of them lies within a window.
//!
//! A rank's intervals follow each other closely and are short, so a gap and a length of few bits each say where the next one is.
//! Every so many an interval is kept whole.

use std::ops::Range;

use rankscope_collectives::Column;

use crate::Intervals;

/// A set of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Packed {
    blocks: Vec<Block>,
    /// Of each interval that is not the first of its block, the gap before it and its length.
    gaps_ns: Column,
    lengths_ns: Column,
}

/// Intervals that are counted on from one that is kept whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    start_ns: i64,
    end_ns: i64,
}

/// Intervals of a block, but for the last one: the one that is kept whole, and as many as are read of a column at once without a rest.
const BLOCK: usize = 1 + STEPS;
const STEPS: usize = 64;

/// Steps that are read at a time: of a few blocks.
const READ: usize = 8 * STEPS;

impl Packed {
    /// The same set.
    pub(crate) fn of(set: &Intervals) -> Self {
        let mut packed = Self::default();
        for block in set.as_slice().chunks(BLOCK) {
            let (start_ns, end_ns) = block[0];
            packed.blocks.push(Block { start_ns, end_ns });
            let gap = |pair: &[(i64, i64)]| pair[1].0.wrapping_sub(pair[0].1).cast_unsigned();
            packed.gaps_ns.extend(block.windows(2).map(gap));
            packed.lengths_ns.extend(block[1..].iter().map(|(from, to)| to.wrapping_sub(*from).cast_unsigned()));
        }
        packed.blocks.shrink_to_fit();
        packed.gaps_ns.shrink_to_fit();
        packed.lengths_ns.shrink_to_fit();
        packed
    }

    /// The same set.
    pub(crate) fn unpacked(&self) -> Intervals {
        Intervals::in_order(self.of_blocks(0..self.blocks.len()))
    }

    /// As much of it as lies inside the window from `start` to `end`.
    pub(crate) fn within(&self, start: i64, end: i64) -> Intervals {
        Intervals::in_order(self.inside(start, end))
    }

    /// Its intervals inside the window from `start` to `end`, cut off at its edges.
    fn inside(&self, start: i64, end: i64) -> Vec<(i64, i64)> {
        if start >= end {
            return Vec::new();
        }
        let first = self.blocks.partition_point(|block| block.start_ns <= start).saturating_sub(1);
        let behind = self.blocks.partition_point(|block| block.start_ns < end);
        let mut list = self.of_blocks(first..behind.max(first));
        let before = list.partition_point(|(_, to)| *to <= start);
        list.drain(..before);
        list.truncate(list.partition_point(|(from, _)| *from < end));
        if let Some((from, _)) = list.first_mut() {
            *from = (*from).max(start);
        }
        if let Some((_, to)) = list.last_mut() {
            *to = (*to).min(end);
        }
        list
    }

    /// The intervals of these blocks.
    fn of_blocks(&self, blocks: Range<usize>) -> Vec<(i64, i64)> {
        let mut list = Vec::with_capacity(blocks.len() * BLOCK);
        let (mut gaps_ns, mut lengths_ns) = ([0; READ], [0; READ]);
        for (blocks, before) in self.blocks[blocks.clone()].chunks(READ / STEPS).zip((blocks.start * STEPS..).step_by(READ)) {
            let count = (self.gaps_ns.len() - before).min(blocks.len() * STEPS);
            self.gaps_ns.read(before, &mut gaps_ns[..count]);
            self.lengths_ns.read(before, &mut lengths_ns[..count]);
            let steps = gaps_ns[..count].chunks(STEPS).zip(lengths_ns[..count].chunks(STEPS));
            // The last block may be of its first interval alone.
            for (block, (gaps_ns, lengths_ns)) in blocks.iter().zip(steps.chain([Default::default()])) {
                let mut at_ns = block.end_ns;
                list.push((block.start_ns, block.end_ns));
                list.extend(gaps_ns.iter().zip(lengths_ns).map(|(gap_ns, length_ns)| {
                    let start_ns = at_ns.wrapping_add_unsigned(*gap_ns);
                    at_ns = start_ns.wrapping_add_unsigned(*length_ns);
                    (start_ns, at_ns)
                }));
            }
        }
        list
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gaps and lengths of all sizes, from the edge of time on.
    fn spans() -> impl Strategy<Value = Vec<(i64, i64)>> {
        let step = || prop_oneof![8 => 1i64..100, 1 => Just(i64::from(u32::MAX)), 1 => 1i64 << 32..1i64 << 53];
        let steps = prop::collection::vec((step(), step()), 0..300);
        (prop::sample::select(vec![i64::MIN, -50, 1_790_000_000_000_000_000]), steps).prop_map(|(mut at_ns, steps)| {
            let mut next = |ns: i64| {
                at_ns = at_ns.saturating_add(ns);
                at_ns
            };
            steps.into_iter().map(|(gap, length)| (next(gap), next(length))).collect()
        })
    }

    proptest! {
        #[test]
        fn a_packed_set_is_the_set(spans in spans(), from in 0usize..300, until in 0usize..300, off in -60i64..60) {
            let set = Intervals::union_of(spans.iter().copied());
            let packed = Packed::of(&set);
            prop_assert_eq!(packed.unpacked(), set.clone());
            let at = |index: usize| spans.get(index).map_or(i64::MAX, |span| span.0.saturating_add(off));
            let (start, end) = (at(from), at(until));
            prop_assert_eq!(packed.within(start, end), set.within(start, end));
            prop_assert_eq!(packed.within(i64::MIN, i64::MAX), set);
        }
    }

    #[test]
    fn close_intervals_take_little() {
        let packed = Packed::of(&Intervals::union_of((0..65_000).map(|at| (at * 10, at * 10 + 5))));
        assert_eq!((packed.blocks.len(), packed.gaps_ns.len()), (1_000, 64_000));
    }
}
