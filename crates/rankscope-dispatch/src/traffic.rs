//! Who sends how much to whom: the sparse pair matrix of one all-to-all. What a rank keeps for itself is in it too, because
//! it takes room in the buffers; whoever predicts the network leaves it out.

use rankscope_time::Rank;

/// Bytes per ordered pair of ranks. Pairs without bytes are not stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traffic {
    world_size: u32,
    /// By sender, then receiver; no pair twice.
    pairs: Vec<(Rank, Rank, u64)>,
    /// Where each sender's pairs start, and the end of the last.
    starts: Vec<usize>,
}

impl Traffic {
    /// Sums what each pair sends. Ranks must be below `world_size`.
    #[must_use]
    pub fn new(world_size: u32, sends: impl IntoIterator<Item = (Rank, Rank, u64)>) -> Self {
        let mut pairs: Vec<_> = sends.into_iter().filter(|send| send.2 > 0).collect();
        pairs.sort_unstable_by_key(|pair| (pair.0, pair.1));
        pairs.dedup_by(|next, kept| {
            let same = (next.0, next.1) == (kept.0, kept.1);
            if same {
                kept.2 += next.2;
            }
            same
        });
        let starts = (0..=world_size).map(|rank| pairs.partition_point(|pair| pair.0.0 < rank)).collect();
        Self { world_size, pairs, starts }
    }

    /// Ranks of the job.
    #[must_use]
    pub fn world_size(&self) -> u32 {
        self.world_size
    }

    /// All pairs that send anything, by sender, then receiver.
    #[must_use]
    pub fn pairs(&self) -> &[(Rank, Rank, u64)] {
        &self.pairs
    }

    /// What `rank` sends, by receiver, itself included.
    #[must_use]
    pub fn sends(&self, rank: Rank) -> &[(Rank, Rank, u64)] {
        &self.pairs[self.starts[rank.0 as usize]..self.starts[rank.0 as usize + 1]]
    }

    /// Bytes from one rank to another.
    #[must_use]
    pub fn bytes(&self, from: Rank, to: Rank) -> u64 {
        let sends = self.sends(from);
        sends.binary_search_by_key(&to, |pair| pair.1).map_or(0, |at| sends[at].2)
    }

    /// Bytes that leave their rank.
    #[must_use]
    pub fn remote_bytes(&self) -> u64 {
        self.pairs.iter().filter(|pair| pair.0 != pair.1).map(|pair| pair.2).sum()
    }

    /// The way back: every pair turned round.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self::new(self.world_size, self.pairs.iter().map(|&(from, to, bytes)| (to, from, bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sends_of_a_pair_are_summed_and_empty_pairs_are_left_out() {
        let sends = [(2, 0, 5), (0, 1, 3), (2, 0, 7), (1, 1, 4), (1, 2, 0)];
        let traffic = Traffic::new(3, sends.map(|(from, to, bytes)| (Rank(from), Rank(to), bytes)));
        assert_eq!(traffic.pairs().len(), 3);
        assert_eq!(traffic.bytes(Rank(2), Rank(0)), 12);
        assert_eq!(traffic.bytes(Rank(1), Rank(2)), 0);
        assert_eq!(traffic.remote_bytes(), 15);
        assert_eq!(traffic.reversed().bytes(Rank(0), Rank(2)), 12);
        assert_eq!(traffic.reversed().reversed(), traffic);
    }
}
