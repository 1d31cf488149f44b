//! Sets of time that are kept: a quarter as large as [`Intervals`], exact, and only asked how long they are within a window.
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

    /// How much time `sets` hold together inside the window from `start` to `end`.
    pub(crate) fn length_of_all_within(sets: &[&Self], start: i64, end: i64) -> i64 {
        match sets {
            [only] => {
                only.inside(start, end).iter().fold(0, |sum: i64, (from, to)| sum.saturating_add(to.saturating_sub(*from)))
            }
            several => {
                let mut rest: Vec<_> = several.iter().map(|set| set.inside(start, end).into_iter().peekable()).collect();
                let (mut sum_ns, mut until_ns) = (0i64, start);
                let begins = |set: &mut std::iter::Peekable<_>| set.peek().map(|(from, _): &(i64, i64)| *from);
                while let Some((_, next)) =
                    rest.iter_mut().filter_map(|set| Some((begins(set)?, set))).min_by_key(|(from, _)| *from)
                {
                    let Some((from, to)) = next.next() else { break };
                    sum_ns = sum_ns.saturating_add(to.saturating_sub(from.max(until_ns)).max(0));
                    until_ns = until_ns.max(to);
                }
                sum_ns
            }
        }
    }

    /// How much time `one`, `other` and both together hold inside the window from `start` to `end`.
    pub(crate) fn lengths_within(one: &Self, other: &Self, start: i64, end: i64) -> [i64; 3] {
        let [a, b] = [one, other].map(|set| set.inside(start, end));
        // Intervals of a set are apart, so their sum and that of two sets less what is in both fit 64 bits.
        let length = |(from, to): &(i64, i64)| to.abs_diff(*from);
        let [of_one, of_other] = [&a, &b].map(|list| list.iter().map(length).sum::<u64>());
        let together = of_one - length_of_both(&a, &b) + of_other;
        [of_one, of_other, together].map(|ns| i64::try_from(ns).unwrap_or(i64::MAX))
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
        let mut steps = Steps::default();
        for (block, before) in self.blocks[blocks.clone()].iter().zip((blocks.start * STEPS..).step_by(STEPS)) {
            let mut at_ns = block.end_ns;
            list.push((block.start_ns, block.end_ns));
            let (gaps_ns, lengths_ns) = steps.read(self, before);
            list.extend(gaps_ns.iter().zip(lengths_ns).map(|(gap_ns, length_ns)| {
                let start_ns = at_ns.wrapping_add_unsigned(*gap_ns);
                at_ns = start_ns.wrapping_add_unsigned(*length_ns);
                (start_ns, at_ns)
            }));
        }
        list
    }
}

/// How much time is in both of two lists of intervals, each in order and apart.
fn length_of_both(a: &[(i64, i64)], b: &[(i64, i64)]) -> u64 {
    let (mut own, mut others, mut sum_ns) = (0, 0, 0u64);
    while let (Some((from, to)), Some((other_from, other_to))) = (a.get(own), b.get(others)) {
        let (from, until) = (*from.max(other_from), *to.min(other_to));
        sum_ns += if from < until { until.abs_diff(from) } else { 0 };
        own += usize::from(to <= other_to);
        others += usize::from(other_to <= to);
    }
    sum_ns
}

/// The gaps and lengths of a block's intervals but for its first.
#[derive(Clone, Debug)]
struct Steps {
    gaps_ns: [u64; STEPS],
    lengths_ns: [u64; STEPS],
}

impl Steps {
    /// Those of the block of `set` that has so many before it.
    fn read(&mut self, set: &Packed, before: usize) -> (&[u64], &[u64]) {
        let count = (set.gaps_ns.len() - before).min(STEPS);
        let (gaps_ns, lengths_ns) = (&mut self.gaps_ns[..count], &mut self.lengths_ns[..count]);
        set.gaps_ns.read(before, gaps_ns);
        set.lengths_ns.read(before, lengths_ns);
        (gaps_ns, lengths_ns)
    }
}

impl Default for Steps {
    fn default() -> Self {
        Self { gaps_ns: [0; STEPS], lengths_ns: [0; STEPS] }
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
            let length = |start, end| Packed::length_of_all_within(&[&packed], start, end);
            prop_assert_eq!(length(start, end), set.within(start, end).length_ns());
            prop_assert_eq!(length(i64::MIN, i64::MAX), set.length_ns());
        }

        #[test]
        fn sets_together_are_as_long_as_their_union(
            sets in prop::collection::vec(prop::collection::vec((-50i64..900, 1i64..90), 0..40), 0..4), start in -60i64..900, long in 0i64..500
        ) {
            let union = |spans: &[(i64, i64)]| Intervals::union_of(spans.iter().map(|(from, long)| (*from, from + long)));
            let packed: Vec<Packed> = sets.iter().map(|spans| Packed::of(&union(spans))).collect();
            let all = union(&sets.concat()).within(start, start + long).length_ns();
            let length = |sets: &[&Packed]| Packed::length_of_all_within(sets, start, start + long);
            prop_assert_eq!(length(&packed.iter().collect::<Vec<_>>()), all);
            if let [one, other, ..] = packed.as_slice() {
                let expected = [length(&[one]), length(&[other]), length(&[one, other])];
                prop_assert_eq!(Packed::lengths_within(one, other, start, start + long), expected);
            }
        }
    }

    #[test]
    fn close_intervals_take_little() {
        let packed = Packed::of(&Intervals::union_of((0..65_000).map(|at| (at * 10, at * 10 + 5))));
        assert_eq!((packed.blocks.len(), packed.gaps_ns.len()), (1_000, 64_000));
    }
}
