//! How much work each rank can still take, and which ranks to ask.

use std::collections::BTreeSet;

/// Ranks with room, the smallest room first.
pub(super) struct Rooms {
    by_size: BTreeSet<(u64, u32)>,
    of_rank: Vec<u64>,
}

impl Rooms {
    pub(super) fn new(limits: &[u64], loads: &[u64]) -> Self {
        let of_rank: Vec<u64> = limits.iter().zip(loads).map(|(limit, load)| limit.saturating_sub(*load)).collect();
        let by_size = of_rank.iter().zip(0..).filter(|(room, _)| **room > 0).map(|(&room, rank)| (room, rank)).collect();
        Self { by_size, of_rank }
    }

    pub(super) fn room(&self, rank: u32) -> u64 {
        self.of_rank[rank as usize]
    }

    /// The largest room there is.
    pub(super) fn largest(&self) -> u64 {
        self.by_size.last().map_or(0, |&(room, _)| room)
    }

    /// The room of `rank` is now `room`.
    pub(super) fn set(&mut self, rank: u32, room: u64) {
        let before = std::mem::replace(&mut self.of_rank[rank as usize], room);
        if before == room {
            return;
        }
        self.by_size.remove(&(before, rank));
        if room > 0 {
            self.by_size.insert((room, rank));
        }
    }

    /// The ranks that fit `amount` most closely, and the largest; or all, the largest first.
    pub(super) fn suited(&self, amount: u64, all: bool) -> impl Iterator<Item = u32> {
        let (closest, largest) = if all { (0, usize::MAX) } else { (CLOSEST, 1) };
        let last = self.by_size.last().copied().unwrap_or_default();
        // The largest comes from the other side.
        let close = self.by_size.range((amount, 0)..last.max((amount, 0))).take(closest);
        close.chain(self.by_size.iter().rev().take(largest)).map(|&(_, rank)| rank)
    }
}

/// Ranks that fit closely and are asked. More find little.
const CLOSEST: usize = 2;
