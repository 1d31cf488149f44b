//! In which plane of its rank's buffer each gradient of a key shard returns. A shard has one plane per destination, numbered
//! in the order in which the tasks of the document first ask for it (dispatch spec 2.9).

use rankscope_time::Rank;

use super::outline::Outline;

#[derive(Default)]
pub(super) struct Planes {
    /// Destinations of the shard at hand, by first use.
    order: Vec<usize>,
    /// Destination, shard, plane.
    copies: Vec<(usize, usize, u64)>,
    of_shard: Vec<u64>,
    /// The most planes of any shard, per rank.
    of_rank: Vec<u64>,
}

impl Planes {
    pub(super) fn new(world_size: u32) -> Self {
        Self { of_rank: vec![0; world_size as usize], ..Self::default() }
    }

    /// Takes up the next document. From its end to its start, the destinations in order of first use after a shard are those
    /// after the next one with the shard's own moved to the front.
    pub(super) fn draw(&mut self, outline: &Outline) {
        self.order.clear();
        self.copies.clear();
        self.of_shard.clear();
        self.of_shard.resize(outline.places.len(), 0);
        for (shard, place) in outline.places.iter().enumerate().rev() {
            match self.order.iter().position(|&destination| destination == place.destination) {
                Some(at) => self.order[..=at].rotate_right(1),
                None => self.order.insert(0, place.destination),
            }
            let copies = self.order.iter().zip(0..).map(|(&destination, plane)| (destination, shard, plane));
            self.copies.extend(copies);
            let planes = self.order.len() as u64;
            self.of_shard[shard] = planes;
            let most = &mut self.of_rank[outline.sources[place.source] as usize];
            *most = planes.max(*most);
        }
        self.copies.sort_unstable();
    }

    /// Destination, shard and plane of every gradient that returns, shards of a destination in document order.
    pub(super) fn copies(&self) -> &[(usize, usize, u64)] {
        &self.copies
    }

    /// How many gradients of a shard return.
    pub(super) fn of_shard(&self) -> &[u64] {
        &self.of_shard
    }

    /// How many planes a rank needs for all documents so far.
    pub(super) fn of_rank(&self, rank: Rank) -> u64 {
        self.of_rank[rank.0 as usize]
    }
}
