use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

const CARD: Option<MemoryOwner> = Some(MemoryOwner::HOST);

fn memory(change: MemoryChange, address: u64, bytes: u64) -> DeviceMemory {
    DeviceMemory { owner: CARD, ..crate::device::tests::memory(5, change, address, bytes) }
}

fn entered(changes: &[DeviceMemory]) -> (Vec<Option<MemoryEvent>>, MemoryOddities) {
    let mut ledger = Ledger::default();
    let events = changes.iter().map(|change| ledger.enter(change)).collect();
    (events, ledger.oddities)
}

/// Few addresses, so that they are freed and taken again, and sizes as they are and as nobody can have them.
fn changes() -> impl Strategy<Value = Vec<DeviceMemory>> {
    let owners = vec![None, Some(MemoryOwner::HOST), MemoryOwner::cuda(0), MemoryOwner::cuda(3), MemoryOwner::hip(0)];
    let bytes = || {
        prop_oneof![
            8 => 0_u64..1_000_000,
            1 => select(vec![ALLOCATION_MAX_BYTES, ALLOCATION_MAX_BYTES + 1, i64::MAX.cast_unsigned(), u64::MAX]),
        ]
    };
    let pool = (1_u64..3, bytes()).prop_map(|(address, bytes)| MemoryPool { address, bytes });
    let one = (any::<bool>(), select(MemoryKind::ALL), select(owners), 0_u64..6, bytes(), of(pool)).prop_map(
        |(is_allocated, kind, owner, address, bytes, pool)| {
            let change = if is_allocated { MemoryChange::Allocated } else { MemoryChange::Freed };
            DeviceMemory { kind, owner, pool, ..memory(change, address, bytes) }
        },
    );
    vec(one, 0..60)
}

/// Written down a second time: a list of what is allocated, looked through for every question.
#[derive(Default)]
struct Oracle(Vec<(String, MemoryOwner, u64)>);

impl Oracle {
    /// The owner whose memory changed, if it did.
    fn enter(&mut self, memory: &DeviceMemory) -> Option<MemoryOwner> {
        let sort = if memory.kind == MemoryKind::Physical { "handle" } else { "address" };
        let key = format!("{sort} {}", memory.address);
        let can_be = memory.bytes <= ALLOCATION_MAX_BYTES && memory.address != 0;
        if memory.change == MemoryChange::Allocated && (!can_be || memory.owner.is_none()) {
            return None;
        }
        let former = self.0.iter().position(|live| live.0 == key).map(|at| self.0.remove(at));
        match memory.change {
            MemoryChange::Freed => former.map(|live| live.1),
            MemoryChange::Allocated => {
                self.0.push((key, memory.owner?, memory.bytes));
                memory.owner
            }
        }
    }

    fn in_use(&self, owner: MemoryOwner) -> i64 {
        let bytes: u128 = self.0.iter().filter(|live| live.1 == owner).map(|live| u128::from(live.2)).sum();
        i64::try_from(bytes).unwrap_or(i64::MAX)
    }
}

proptest! {
    #[test]
    fn what_is_in_use_is_the_sum_of_what_lives_and_never_below_zero(changes in changes()) {
        let (events, oddities) = entered(&changes);
        let mut oracle = Oracle::default();
        for (change, event) in changes.iter().zip(&events) {
            let owner = oracle.enter(change);
            let totals = event.and_then(|event| Some((event.owner, event.totals?)));
            prop_assert_eq!(totals.map(|(owner, _)| owner), owner, "{:?}", change);
            if let Some((owner, totals)) = totals {
                prop_assert_eq!(totals.allocated_bytes, oracle.in_use(owner));
                prop_assert!(0 <= totals.allocated_bytes && totals.allocated_bytes <= totals.reserved_bytes);
            }
        }
        let is_free = |change: &&DeviceMemory| change.change == MemoryChange::Freed;
        let unknown = changes.iter().zip(&events).filter(|(change, event)| is_free(change) && event.is_none_or(|it| it.totals.is_none()));
        prop_assert_eq!(oddities.unknown_frees, unknown.count() as u64);
        let allocations = changes.iter().zip(&events).filter(|(change, _)| !is_free(change));
        prop_assert_eq!(oddities.impossible, allocations.filter(|(_, event)| event.is_none()).count() as u64);
    }

    #[test]
    fn what_is_freed_is_what_was_allocated_whatever_the_free_says(changes in changes()) {
        let (events, _) = entered(&changes);
        for (at, event) in events.iter().enumerate().filter_map(|(at, event)| Some((at, (*event)?))) {
            let sum: i128 = events[..=at]
                .iter()
                .flatten()
                .filter(|other| other.owner == event.owner && other.totals.is_some())
                .map(|other| i128::from(other.bytes))
                .sum();
            // Above it only where a free is missing, whose allocation ended without an event.
            if let Some(totals) = event.totals {
                prop_assert!(totals.allocated_bytes == i64::MAX || i128::from(totals.allocated_bytes) <= sum);
            }
        }
    }
}

#[test]
fn a_free_of_an_unknown_address_takes_nothing_away() {
    let allocated = memory(MemoryChange::Allocated, 0x10, 100);
    let (events, oddities) = entered(&[allocated, memory(MemoryChange::Freed, 0x20, 60), memory(MemoryChange::Freed, 0x10, 0)]);
    let told: Vec<_> = events.iter().flatten().map(|event| (event.bytes, event.totals.map(|it| it.allocated_bytes))).collect();
    assert_eq!(told, [(100, Some(100)), (-60, None), (-100, Some(0))]);
    assert_eq!(oddities, MemoryOddities { unknown_frees: 1, ..MemoryOddities::default() });
}

#[test]
fn an_address_that_is_allocated_twice_counts_once() {
    let twice = [100, 70].map(|bytes| memory(MemoryChange::Allocated, 0x10, bytes));
    let (events, oddities) = entered(&[twice[0], twice[1], memory(MemoryChange::Freed, 0x10, 100)]);
    let totals: Vec<_> = events.iter().flatten().filter_map(|event| Some(event.totals?.allocated_bytes)).collect();
    assert_eq!(totals, [100, 70, 0]);
    assert_eq!(oddities, MemoryOddities { replaced: 1, other_sizes: 1, ..MemoryOddities::default() });
}

#[test]
fn a_free_that_names_nobody_is_of_who_allocated() {
    let nobody = DeviceMemory { owner: None, bytes: 0, ..memory(MemoryChange::Freed, 0x10, 0) };
    let (events, oddities) = entered(&[memory(MemoryChange::Allocated, 0x10, 100), nobody, nobody]);
    assert_eq!(events[1].map(|event| (Some(event.owner), event.bytes)), Some((CARD, -100)));
    assert_eq!((events[2], oddities.unknown_frees), (None, 1), "of which nothing is known");
}

#[test]
fn a_pool_holds_what_it_says_and_what_was_taken_from_it() {
    let of_pool = |change, address, bytes, pool| DeviceMemory {
        pool: Some(MemoryPool { address: 1, bytes: pool }),
        ..memory(change, address, bytes)
    };
    let (events, _) = entered(&[
        memory(MemoryChange::Allocated, 0x10, 50),
        of_pool(MemoryChange::Allocated, 0x20, 100, 1_000),
        of_pool(MemoryChange::Freed, 0x20, 100, 1_000),
        // One that forgets to grow.
        of_pool(MemoryChange::Allocated, 0x30, 300, 200),
    ]);
    let totals: Vec<_> = events.iter().flatten().filter_map(|event| event.totals).collect();
    let told: Vec<_> = totals.iter().map(|totals| (totals.allocated_bytes, totals.reserved_bytes)).collect();
    assert_eq!(told, [(50, 50), (150, 1_050), (50, 1_050), (350, 350)]);
}
