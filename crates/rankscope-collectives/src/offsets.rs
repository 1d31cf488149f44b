//! What clocks of ranks were found to differ by while their collectives were paired.
//!
//! Differences add up: whoever was compared with the same rank, in whatever group, needs no comparison any more. They serve to
//! pair and nothing else, so one that is wrong costs a search and no result.

/// What is known of the clocks of some ranks.
#[derive(Debug)]
pub(crate) struct Offsets {
    /// By rank, whom it was compared with, itself if nobody, and what its clock shows more.
    from: Vec<(usize, i64)>,
    /// By rank that is compared with nobody, how many were compared with it, directly or not.
    size: Vec<usize>,
}

impl Offsets {
    /// Nothing is known of `ranks` ranks.
    pub(crate) fn unknown(ranks: usize) -> Self {
        Self { from: (0..ranks).map(|rank| (rank, 0)).collect(), size: vec![1; ranks] }
    }

    /// The clock of `b` minus that of `a`.
    pub(crate) fn between(&self, a: usize, b: usize) -> Option<i64> {
        let [(root, ahead_ns), (other, theirs_ns)] = [self.root(a), self.root(b)];
        (root == other).then(|| theirs_ns.saturating_sub(ahead_ns))
    }

    /// The clock of `b` minus that of `a` is `offset_ns`; what is known already stays.
    pub(crate) fn learn(&mut self, a: usize, b: usize, offset_ns: i64) {
        let [(root, ahead_ns), (other, theirs_ns)] = [self.root(a), self.root(b)];
        let other_ns = ahead_ns.saturating_add(offset_ns).saturating_sub(theirs_ns);
        match root == other {
            true => {}
            // The smaller below the larger, so that ways to the root stay short.
            false if self.size[root] >= self.size[other] => self.put(other, root, other_ns),
            false => self.put(root, other, other_ns.saturating_neg()),
        }
    }

    fn put(&mut self, below: usize, above: usize, ahead_ns: i64) {
        self.from[below] = (above, ahead_ns);
        self.size[above] += self.size[below];
    }

    fn root(&self, mut rank: usize) -> (usize, i64) {
        let mut sum_ns = 0_i64;
        while self.from[rank].0 != rank {
            sum_ns = sum_ns.saturating_add(self.from[rank].1);
            rank = self.from[rank].0;
        }
        (rank, sum_ns)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever was compared and in which order, what adds up is the difference of the two clocks.
        #[test]
        fn what_is_known_is_the_difference(
            clocks in prop::collection::vec(-1_000i64..1_000, 12), compared in prop::collection::vec((0usize..12, 0usize..12), 0..20)
        ) {
            let mut offsets = Offsets::unknown(clocks.len());
            for (a, b) in &compared {
                offsets.learn(*a, *b, clocks[*b] - clocks[*a]);
            }
            for (a, b) in (0..12).flat_map(|a| (0..12).map(move |b| (a, b))) {
                prop_assert!(offsets.between(a, b).is_none_or(|ns| ns == clocks[b] - clocks[a]));
                prop_assert!(!compared.contains(&(a, b)) || offsets.between(a, b).is_some());
            }
        }
    }
}
