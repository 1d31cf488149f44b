//! [`Lengths`]: a length of time for each of all ranks' collectives.
//!
//! They are written collective by collective, of all its ranks, and read rank by rank. So those of a hundred collectives one after the other
//! stand together, rank by rank: in both ways what is near in order is near in memory. Four bytes each are enough for all but a few, which
//! are kept apart.

use rankscope_scratch::Slots;
use rustc_hash::FxHashMap;

/// Lengths by rank and place, in nanoseconds.
#[derive(Debug)]
pub(super) struct Lengths {
    /// By rank, how many ranks have more collectives, or as many and come before it.
    turns: Vec<usize>,
    /// By block, where it begins: in it are the ranks of which the collectives reach so far.
    starts: Vec<usize>,
    short: Slots<u32>,
    /// Those that take more than four bytes.
    long: FxHashMap<usize, i64>,
}

/// Collectives of a rank in a block.
const BLOCK: usize = 128;

/// Stands for one that is kept apart.
const LONG: u32 = u32::MAX;

impl Lengths {
    /// For ranks that have so many collectives each, all of them nothing.
    pub(super) fn zeros(counts: &[usize]) -> Self {
        let mut order: Vec<usize> = (0..counts.len()).collect();
        order.sort_by_key(|rank| std::cmp::Reverse(counts[*rank]));
        let mut turns = vec![0; counts.len()];
        order.iter().zip(0..).for_each(|(rank, turn)| turns[*rank] = turn);
        let mut next = 0;
        let most = counts.iter().max().map_or(0, |most| most.div_ceil(BLOCK));
        let starts = (0..most).map(|block| {
            let ranks = order.partition_point(|rank| counts[*rank] > block * BLOCK);
            let from = next;
            next += ranks * BLOCK;
            from
        });
        let starts = starts.collect();
        Self { turns, starts, short: Slots::zeroed(next), long: FxHashMap::default() }
    }

    /// Where those of a rank's collectives at these `places` are.
    fn slots<'a>(&'a self, rank: usize, places: &'a [u64]) -> impl Iterator<Item = usize> + use<'a> {
        let (starts, before) = (&self.starts, self.turns[rank] * BLOCK);
        places.iter().map(move |at| starts[*at as usize / BLOCK] + before + *at as usize % BLOCK)
    }

    /// Those of a rank's collectives at these `places`, which have to be there, into `to`.
    pub(super) fn gather(&self, rank: usize, places: &[u64], to: &mut Vec<i64>) {
        let short = &*self.short;
        to.clear();
        to.extend(self.slots(rank, places).map(|slot| match short[slot] {
            LONG => self.long[&slot],
            short => i64::from(short),
        }));
    }

    /// Sets them.
    pub(super) fn put(&mut self, rank: usize, places: &[u64], lengths_ns: impl Iterator<Item = i64>) {
        let mut short = std::mem::take(&mut self.short);
        let mut long = Vec::new();
        let slots = &mut *short;
        for (slot, ns) in self.slots(rank, places).zip(lengths_ns) {
            slots[slot] = match u32::try_from(ns) {
                Ok(short) if short != LONG => short,
                _ => {
                    long.push((slot, ns));
                    LONG
                }
            };
        }
        self.short = short;
        self.long.extend(long);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_put_is_there_however_long(
            counts in prop::collection::vec(prop_oneof![0usize..9, 100usize..400], 1..6),
            put in prop::collection::vec(
                (any::<prop::sample::Index>(), any::<prop::sample::Index>(), prop_oneof![4 => 0i64..5_000, 1 => any::<i64>(), 1 => Just(i64::from(u32::MAX))]), 0..40
            )
        ) {
            let mut lengths = Lengths::zeros(&counts);
            let mut plain: Vec<Vec<i64>> = counts.iter().map(|count| vec![0; *count]).collect();
            for (rank, at, ns) in put {
                let rank = rank.index(counts.len());
                if counts[rank] > 0 {
                    let at = at.index(counts[rank]);
                    lengths.put(rank, &[at as u64], [ns].into_iter());
                    plain[rank][at] = ns;
                }
            }
            let told = |rank: usize| {
                let (places, mut told) = ((0..counts[rank] as u64).collect::<Vec<_>>(), Vec::new());
                lengths.gather(rank, &places, &mut told);
                told
            };
            prop_assert_eq!((0..counts.len()).map(told).collect::<Vec<_>>(), plain);
            prop_assert!(lengths.short.len() <= counts.iter().map(|count| count + BLOCK).sum::<usize>());
        }
    }
}
