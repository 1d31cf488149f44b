//! How many tokens go between which ranks: rows of the ranks they concern, only pairs that exchange anything.

use super::Returns;

/// A sparse matrix of tokens, by rank and peer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// First entry of each rank, and the end of the last.
    pub starts: Vec<u32>,
    /// Peer and tokens, of which no rank receives more than 32 bits say; peers ascend within a rank.
    pub entries: Vec<(u32, u32)>,
}

impl Counts {
    /// The peers of `rank`, which must exist.
    #[must_use]
    pub fn row(&self, rank: u32) -> &[(u32, u32)] {
        &self.entries[self.starts[rank as usize] as usize..self.starts[rank as usize + 1] as usize]
    }

    /// All tokens of `rank`, which must exist.
    #[must_use]
    pub fn total(&self, rank: u32) -> u64 {
        self.row(rank).iter().map(|entry| u64::from(entry.1)).sum()
    }

    /// The same, seen by the peers.
    #[must_use]
    pub fn transposed(&self) -> Self {
        let ranks = self.starts.len().saturating_sub(1);
        let mut starts = vec![0; ranks + 1];
        for &(peer, _) in &self.entries {
            starts[peer as usize + 1] += 1;
        }
        for rank in 0..ranks {
            starts[rank + 1] += starts[rank];
        }
        let mut next = starts.clone();
        let mut entries = vec![(0, 0); self.entries.len()];
        for rank in 0..ranks as u32 {
            for &(peer, tokens) in self.row(rank) {
                entries[next[peer as usize] as usize] = (rank, tokens);
                next[peer as usize] += 1;
            }
        }
        Self { starts, entries }
    }
}

/// Sums rows of a [`Counts`] without a matrix: remembers where the entry of each peer is.
pub(super) struct Tally {
    entry_of: Vec<u32>,
}

impl Tally {
    pub(super) fn new(world_size: u32) -> Self {
        Self { entry_of: vec![0; world_size as usize] }
    }

    /// Makes `counts` the sums of what every rank gives back; a rank's entries lie between its start and the next.
    pub(super) fn matrix(&mut self, counts: &mut Counts, starts: impl Iterator<Item = usize>, returns: &Returns) {
        counts.starts.clear();
        counts.entries.clear();
        let mut begin = None;
        for end in starts {
            if let Some(begin) = begin {
                self.append(&mut counts.entries, &returns.rank[begin..end], &returns.tokens[begin..end]);
            }
            counts.starts.push(counts.entries.len() as u32);
            begin = Some(end);
        }
    }

    /// Appends a row that sums `tokens` by peer.
    pub(super) fn append(&mut self, entries: &mut Vec<(u32, u32)>, peers: &[u32], tokens: &[u32]) {
        let begin = entries.len();
        // The keys of a run mostly come from one rank, so neighbours are summed before their entry is looked up.
        let (mut sum, mut last) = (0, u32::MAX);
        for (&peer, &tokens) in peers.iter().zip(tokens) {
            if peer != last {
                self.add(entries, begin, last, sum);
                (sum, last) = (0, peer);
            }
            sum += tokens;
        }
        self.add(entries, begin, last, sum);
        let row = &mut entries[begin..];
        if !row.is_sorted_by_key(|entry| entry.0) {
            row.sort_unstable_by_key(|entry| entry.0);
        }
    }

    /// Adds to the entry of `peer` in the row from `begin` on.
    fn add(&mut self, entries: &mut Vec<(u32, u32)>, begin: usize, peer: u32, tokens: u32) {
        if tokens == 0 {
            return;
        }
        let at = &mut self.entry_of[peer as usize];
        match entries.get_mut(*at as usize) {
            Some(entry) if *at as usize >= begin && entry.0 == peer => entry.1 += tokens,
            _ => {
                *at = entries.len() as u32;
                entries.push((peer, tokens));
            }
        }
    }
}
