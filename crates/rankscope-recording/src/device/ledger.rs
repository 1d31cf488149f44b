//! [`Ledger`]: what is in use after each allocation and each free, derived once all of a source's are there.
//!
//! What is in use is the sum of what was allocated and not freed since the source began; nothing else goes in, so it is never below zero. A free
//! takes away what was allocated at its address, whatever it says itself. One of an address at which nothing was allocated is of memory from
//! before, and takes away nothing: such an event has no totals.

use std::collections::{BTreeMap, HashMap};

use super::memory::{ALLOCATION_MAX_BYTES, DeviceMemory, MemoryChange, MemoryKind, MemoryOwner, MemoryPool};

/// A change of a device's memory, with what is in use after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryEvent {
    /// When.
    pub at_ns: i64,
    /// Whose memory.
    pub owner: MemoryOwner,
    /// What kind.
    pub kind: MemoryKind,
    /// Where.
    pub address: u64,
    /// Above zero what was allocated, below zero what was freed.
    pub bytes: i64,
    /// What is in use afterwards; none where the event says nothing about that.
    pub totals: Option<MemoryTotals>,
    /// The stream that it is ordered on.
    pub stream: Option<u64>,
    /// The thread that asked for it.
    pub thread: Option<u64>,
    /// The library's number of the call behind it; zero for none.
    pub correlation: u64,
    /// The correlation id of the op it belongs to.
    pub op: Option<u64>,
}

/// Memory of one owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryTotals {
    /// Allocated and not freed.
    pub allocated_bytes: i64,
    /// The same, with what pools hold beyond that.
    pub reserved_bytes: i64,
}

/// What does not fit together, and what cannot be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryOddities {
    /// Frees of an address at which nothing was allocated since the source began.
    pub unknown_frees: u64,
    /// Frees that say another size than was allocated.
    pub other_sizes: u64,
    /// Allocations at an address that was allocated still: a free is missing, and the former one ends there.
    pub replaced: u64,
    /// Allocations that cannot be: larger than any memory, without an address, or nobody's. They are left out.
    pub impossible: u64,
}

/// What is allocated right now.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    live: HashMap<Place, Live>,
    owners: BTreeMap<MemoryOwner, Owned>,
    pub(super) oddities: MemoryOddities,
}

/// Addresses of different sorts have nothing to do with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Place {
    Address(u64),
    Handle(u64),
}

#[derive(Clone, Copy, Debug)]
struct Live {
    owner: MemoryOwner,
    kind: MemoryKind,
    bytes: u64,
    pool: Option<u64>,
}

#[derive(Debug, Default)]
struct Owned {
    allocated: u128,
    /// Outside of pools.
    alone: u128,
    pools: BTreeMap<u64, Pooled>,
}

#[derive(Debug, Default)]
struct Pooled {
    allocated: u128,
    /// What it last said that it holds.
    bytes: u64,
}

impl Ledger {
    /// Enters a change, which must not be before the last one. None where it is left out.
    pub(super) fn enter(&mut self, memory: &DeviceMemory) -> Option<MemoryEvent> {
        match memory.change {
            MemoryChange::Allocated => self.allocate(memory),
            MemoryChange::Freed => self.free(memory),
        }
    }

    fn allocate(&mut self, memory: &DeviceMemory) -> Option<MemoryEvent> {
        let place = place(memory);
        let can_be = memory.address != 0 && memory.bytes <= ALLOCATION_MAX_BYTES;
        let Some(owner) = memory.owner.filter(|_| can_be) else {
            self.oddities.impossible += 1;
            return None;
        };
        if self.release(place).is_some() {
            self.oddities.replaced += 1;
        }
        let live = Live { owner, kind: memory.kind, bytes: memory.bytes, pool: memory.pool.map(|pool| pool.address) };
        self.live.insert(place, live);
        let owned = self.owners.entry(owner).or_default();
        owned.allocated += u128::from(live.bytes);
        *owned.share(live.pool) += u128::from(live.bytes);
        owned.hear(memory.pool);
        Some(event(memory, live, signed(live.bytes.into()), Some(owned.totals())))
    }

    fn free(&mut self, memory: &DeviceMemory) -> Option<MemoryEvent> {
        let Some(live) = self.release(place(memory)) else {
            self.oddities.unknown_frees += 1;
            let bytes = if memory.bytes <= ALLOCATION_MAX_BYTES { memory.bytes } else { 0 };
            let live = Live { owner: memory.owner?, kind: memory.kind, bytes, pool: None };
            return Some(event(memory, live, -signed(bytes.into()), None));
        };
        self.oddities.other_sizes += u64::from(memory.bytes != 0 && memory.bytes != live.bytes);
        let owned = self.owners.entry(live.owner).or_default();
        owned.hear(memory.pool.filter(|pool| Some(pool.address) == live.pool));
        let totals = owned.totals();
        Some(event(memory, live, -signed(live.bytes.into()), Some(totals)))
    }

    /// Takes away what is allocated there.
    fn release(&mut self, place: Place) -> Option<Live> {
        let live = self.live.remove(&place)?;
        let owned = self.owners.entry(live.owner).or_default();
        // It was added once, and is taken away once.
        owned.allocated -= u128::from(live.bytes);
        *owned.share(live.pool) -= u128::from(live.bytes);
        Some(live)
    }
}

impl Owned {
    /// What is allocated in this pool, or in none.
    fn share(&mut self, pool: Option<u64>) -> &mut u128 {
        match pool {
            Some(pool) => &mut self.pools.entry(pool).or_default().allocated,
            None => &mut self.alone,
        }
    }

    /// A pool says how large it is.
    fn hear(&mut self, pool: Option<MemoryPool>) {
        if let Some(MemoryPool { address, bytes }) = pool.filter(|pool| pool.bytes <= ALLOCATION_MAX_BYTES) {
            self.pools.entry(address).or_default().bytes = bytes;
        }
    }

    fn totals(&self) -> MemoryTotals {
        // A pool holds at least what was taken from it.
        let pools: u128 = self.pools.values().map(|pool| pool.allocated.max(pool.bytes.into())).sum();
        MemoryTotals { allocated_bytes: signed(self.allocated), reserved_bytes: signed(self.alone + pools) }
    }
}

fn place(memory: &DeviceMemory) -> Place {
    match memory.kind {
        MemoryKind::Physical => Place::Handle(memory.address),
        _ => Place::Address(memory.address),
    }
}

fn event(memory: &DeviceMemory, live: Live, bytes: i64, totals: Option<MemoryTotals>) -> MemoryEvent {
    let DeviceMemory { at_ns, address, stream, thread, correlation, .. } = *memory;
    let (owner, kind) = (live.owner, live.kind);
    MemoryEvent { at_ns, owner, kind, address, bytes, totals, stream, thread, correlation, op: None }
}

fn signed(bytes: u128) -> i64 {
    i64::try_from(bytes).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
