//! [`LiveTable`]: the sampled blocks that are not given back yet, in memory of fixed size, without locks.
//!
//! Addresses hash to buckets of sixteen places and go nowhere else: a look-up reads two lines of cache, and a place that
//! becomes free leaves no trace that others would have to step over. A full bucket refuses, and its caller counts that.
//! Nothing here allocates, so an allocator may use it. What is not here: which blocks are sampled.

use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

/// A block in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// Its bytes, as asked for.
    pub(super) bytes: u64,
    /// The stream of the thread that took it; zero if it has none yet.
    pub(super) stream: u32,
    /// When.
    pub(super) tick: u64,
}

/// Blocks by their address.
pub(super) struct LiveTable {
    buckets: [Bucket; BUCKETS],
}

#[repr(align(64))]
struct Bucket {
    /// Zero is free; [`TAKEN`] is being filled.
    addresses: [AtomicUsize; PLACES],
    places: [Place; PLACES],
}

struct Place {
    /// Odd while the place is filled; another even number for every block.
    version: AtomicU32,
    stream: AtomicU32,
    bytes: AtomicU64,
    tick: AtomicU64,
}

const BUCKETS: usize = 1 << 12;
const PLACES: usize = 16;
/// No block lies at address 1: the first page is never mapped.
const TAKEN: usize = 1;

impl LiveTable {
    /// How many blocks it can hold at best.
    pub(super) const CAPACITY: usize = BUCKETS * PLACES;

    pub(super) const fn new() -> Self {
        Self { buckets: [const { Bucket::new() }; BUCKETS] }
    }

    /// Keeps a block; false where its bucket is full.
    pub(super) fn insert(&self, address: usize, block: Block) -> bool {
        let bucket = self.bucket(address);
        let free = bucket.addresses.iter().position(|place| {
            place.load(Ordering::Relaxed) == 0 && place.compare_exchange(0, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
        });
        let Some(index) = free else { return false };
        bucket.places[index].fill(block);
        bucket.addresses[index].store(address, Ordering::Release);
        true
    }

    /// Takes a block out, if it is there. Only whoever owns the block may ask, so nobody else does at the same time.
    pub(super) fn remove(&self, address: usize) -> Option<Block> {
        let bucket = self.bucket(address);
        let index = bucket.addresses.iter().position(|place| place.load(Ordering::Acquire) == address)?;
        let block = bucket.places[index].block();
        bucket.addresses[index].store(0, Ordering::Release);
        Some(block)
    }

    /// Every block that is there all the while; one that comes or goes meanwhile may be among them, but never a mixture of two.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Block> {
        self.buckets.iter().flat_map(|bucket| {
            let of_place = |(address, place): (&AtomicUsize, &Place)| place.settled(address);
            bucket.addresses.iter().zip(&bucket.places).filter_map(of_place)
        })
    }

    /// Forgets all blocks.
    pub(super) fn clear(&self) {
        for address in self.buckets.iter().flat_map(|bucket| &bucket.addresses) {
            // One that is being filled belongs to its filler.
            if address.load(Ordering::Relaxed) > TAKEN {
                address.store(0, Ordering::Release);
            }
        }
    }

    fn bucket(&self, address: usize) -> &Bucket {
        // Addresses differ in the middle; a multiplication carries that into the upper bits.
        let mixed = (address as u64 >> 4).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        &self.buckets[(mixed >> (u64::BITS - BUCKETS.ilog2())) as usize]
    }
}

impl Bucket {
    const fn new() -> Self {
        Self { addresses: [const { AtomicUsize::new(0) }; PLACES], places: [const { Place::new() }; PLACES] }
    }
}

impl Place {
    const fn new() -> Self {
        Self { version: AtomicU32::new(0), stream: AtomicU32::new(0), bytes: AtomicU64::new(0), tick: AtomicU64::new(0) }
    }

    fn fill(&self, block: Block) {
        let version = self.version.load(Ordering::Relaxed);
        self.version.store(version.wrapping_add(1), Ordering::Relaxed);
        // Whoever sees a field of the new block also sees the odd version.
        fence(Ordering::Release);
        self.stream.store(block.stream, Ordering::Relaxed);
        self.bytes.store(block.bytes, Ordering::Relaxed);
        self.tick.store(block.tick, Ordering::Relaxed);
        self.version.store(version.wrapping_add(2), Ordering::Release);
    }

    fn block(&self) -> Block {
        Block {
            bytes: self.bytes.load(Ordering::Relaxed),
            stream: self.stream.load(Ordering::Relaxed),
            tick: self.tick.load(Ordering::Relaxed),
        }
    }

    fn settled(&self, address: &AtomicUsize) -> Option<Block> {
        let version = self.version.load(Ordering::Acquire);
        if version % 2 == 1 || address.load(Ordering::Acquire) <= TAKEN {
            return None;
        }
        let block = self.block();
        fence(Ordering::Acquire);
        (self.version.load(Ordering::Relaxed) == version).then_some(block)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// As a map does it, except that a full bucket may refuse.
        #[test]
        fn it_is_a_map(operations in prop::collection::vec((any::<bool>(), 1_usize..400, any::<u64>()), 1..2000)) {
            static TABLE: LiveTable = LiveTable::new();
            TABLE.clear();
            let mut map = HashMap::new();
            for (inserts, number, tick) in operations {
                let (address, block) = (number * 16, Block { bytes: number as u64, stream: 1, tick });
                if inserts && !map.contains_key(&address) {
                    prop_assert!(TABLE.insert(address, block));
                    map.insert(address, block);
                } else {
                    prop_assert_eq!(TABLE.remove(address), map.remove(&address));
                }
            }
            let mut left: Vec<Block> = TABLE.blocks().collect();
            let mut expected: Vec<Block> = map.into_values().collect();
            left.sort_by_key(|block| (block.bytes, block.tick));
            expected.sort_by_key(|block| (block.bytes, block.tick));
            prop_assert_eq!(left, expected);
        }
    }

    #[test]
    fn it_fills_well_before_it_refuses() {
        static TABLE: LiveTable = LiveTable::new();
        const BLOCK: Block = Block { bytes: 1, stream: 0, tick: 0 };
        let address = |number: usize| 0x7f12_3400_0000 + number * 4112;
        let kept = (0..LiveTable::CAPACITY / 3).take_while(|number| TABLE.insert(address(*number), BLOCK));
        assert_eq!(kept.count(), LiveTable::CAPACITY / 3);
        let refused =
            (LiveTable::CAPACITY / 3..2 * LiveTable::CAPACITY).filter(|number| !TABLE.insert(address(*number), BLOCK)).count();
        assert_eq!(TABLE.blocks().count(), 2 * LiveTable::CAPACITY - refused);
        assert!(TABLE.blocks().count() <= LiveTable::CAPACITY);
    }

    /// Every block says its own tick in its bytes; a reader meanwhile never sees the bytes of one with the tick of another.
    #[test]
    fn nobody_sees_half_a_block() {
        static TABLE: LiveTable = LiveTable::new();
        std::thread::scope(|scope| {
            for thread in 0..2_usize {
                scope.spawn(move || {
                    for round in 0..200_000_usize {
                        let address = 4096 * (1 + thread) + 16 * (round % 8);
                        let tick = (round * 2 + thread) as u64;
                        assert!(TABLE.insert(address, Block { bytes: tick << 8, stream: 0, tick }));
                        assert_eq!(TABLE.remove(address).unwrap().tick, tick);
                    }
                });
            }
            scope.spawn(|| {
                for _ in 0..20 {
                    assert!(TABLE.blocks().all(|block| block.bytes == block.tick << 8));
                }
            });
        });
        assert_eq!(TABLE.blocks().count(), 0);
    }
}
