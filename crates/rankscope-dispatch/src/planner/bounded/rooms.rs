//! How much work each rank can still take, and which ranks to ask.

/// Ranks with room, the smallest room first.
pub(super) struct Rooms {
    by_size: Vec<(u64, u32)>,
    of_rank: Vec<u64>,
}

impl Rooms {
    pub(super) fn new(limits: &[u64], loads: &[u64]) -> Self {
        let of_rank: Vec<u64> = limits.iter().zip(loads).map(|(limit, load)| limit.saturating_sub(*load)).collect();
        let mut by_size: Vec<_> =
            of_rank.iter().zip(0..).filter(|(room, _)| **room > 0).map(|(&room, rank)| (room, rank)).collect();
        by_size.sort_unstable();
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
        if let Ok(place) = self.by_size.binary_search(&(before, rank)) {
            self.by_size.remove(place);
        }
        if room > 0 {
            let place = self.by_size.partition_point(|&other| other < (room, rank));
            self.by_size.insert(place, (room, rank));
        }
    }

    /// The ranks that fit `amount` most closely, and the largest; or all, the largest first.
    pub(super) fn suited(&self, amount: u64, all: bool) -> impl Iterator<Item = u32> {
        let fits = self.by_size.partition_point(|&(room, _)| room < amount);
        let last = self.by_size.len().saturating_sub(1);
        let close = fits..(fits + CLOSEST).min(last);
        let largest = last..self.by_size.len();
        let (close, largest) = if all { (0..0, 0..self.by_size.len()) } else { (close, largest) };
        close.chain(largest.rev()).map(|place| self.by_size[place].1)
    }
}

/// Ranks that fit closely and are asked. More find little.
const CLOSEST: usize = 2;
