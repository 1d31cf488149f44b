//! How what a device's library hands over lies in a recording until somebody opens it: as instants on the source's own thread.
//!
//! An instant called [`DEVICE_RECORD`] has one argument, whose key is the name of the work and whose value is a list: the source, its
//! clock, start and end on that clock, device, stream, the library's number, and the graph and the node where there is one. An instant
//! called [`DEVICE_TIES`] has a list under the same key: the source, and three numbers for each tie. One called [`DEVICE_MEMORY`] has a list under
//! the same key, too: the source, its clock, when, whether it was allocated, the kind of memory, address, bytes, the number of the call, which
//! of the following there are (a sum of bits), and these: the owner's type and index, pool and its size, stream, thread. One called
//! [`DEVICE_GRAPHS`] has the source, and two numbers for each call that launched a graph. Numbers of calls mean something within one source
//! only.

use super::memory::{DeviceMemory, MemoryChange, MemoryKind, MemoryOwner, MemoryPool};
use super::record::{CorrelationKind, DeviceRecord, ExternalCorrelation, GraphLaunch, GraphNode};
use crate::event::ClockId;

/// What an instant is called that has a record.
pub const DEVICE_RECORD: &str = "device_record";

/// What an instant is called that has ties, and the key of their list.
pub const DEVICE_TIES: &str = "device_ties";

/// What an instant is called that has launches of graphs, and the key of their list.
pub const DEVICE_GRAPHS: &str = "device_graphs";

/// What an instant is called that has a change of memory, and the key of its list.
pub const DEVICE_MEMORY: &str = "device_memory";

/// Ties, or launches of graphs, that one list has at most.
pub const TIES_MAX: usize = 256;

/// Who handed something over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceId(pub u32);

/// `record` of `source`, whose times are of `clock`, as the list that is recorded; its name and kind are those of the list's key.
pub fn record_list(source: SourceId, clock: ClockId, record: &DeviceRecord) -> Vec<i64> {
    let DeviceRecord { start_ns, end_ns, device, stream, correlation, graph, .. } = record;
    let mut list = vec![source.0.into(), clock.0.into(), *start_ns, *end_ns, i64::from(*device)];
    list.extend([stream.cast_signed(), correlation.cast_signed()]);
    list.extend(graph.iter().flat_map(|graph| [graph.graph.cast_signed(), graph.node.cast_signed()]));
    list
}

/// `ties` of `source` as the list that is recorded.
pub fn ties_list(source: SourceId, ties: &[ExternalCorrelation]) -> Vec<i64> {
    let three = |tie: &ExternalCorrelation| {
        let kind = match tie.kind {
            CorrelationKind::Default => 0,
            CorrelationKind::UserAnnotation => 1,
        };
        [kind, tie.external_id.cast_signed(), tie.correlation.cast_signed()]
    };
    std::iter::once(source.0.into()).chain(ties.iter().flat_map(three)).collect()
}

/// `launches` of `source` as the list that is recorded.
pub fn graphs_list(source: SourceId, launches: &[GraphLaunch]) -> Vec<i64> {
    let two = |launch: &GraphLaunch| [launch.correlation.cast_signed(), launch.graph.cast_signed()];
    std::iter::once(source.0.into()).chain(launches.iter().flat_map(two)).collect()
}

/// The launches that such a list has; none where it is another list.
pub(super) fn graphs_of(mut list: impl Iterator<Item = i64>) -> Option<(SourceId, Vec<GraphLaunch>)> {
    let source = SourceId(u32::try_from(list.next()?).ok()?);
    let mut launches = Vec::new();
    while let Some(correlation) = list.next() {
        launches.push(GraphLaunch { correlation: correlation.cast_unsigned(), graph: list.next()?.cast_unsigned() });
    }
    Some((source, launches))
}

/// What of memory is not always told, by its bit.
const OWNER: i64 = 1;
const POOL: i64 = 2;
const STREAM: i64 = 4;
const THREAD: i64 = 8;

/// `memory` of `source`, whose times are of `clock`, as the list that is recorded.
pub fn memory_list(source: SourceId, clock: ClockId, memory: &DeviceMemory) -> Vec<i64> {
    let DeviceMemory { at_ns, change, kind, owner, address, bytes, pool, stream, thread, correlation } = *memory;
    let is_allocated = i64::from(change == MemoryChange::Allocated);
    let mut list = vec![source.0.into(), clock.0.into(), at_ns, is_allocated, i64::from(kind as u8)];
    list.extend([address.cast_signed(), bytes.cast_signed(), correlation.cast_signed()]);
    let bits = [(owner.is_some(), OWNER), (pool.is_some(), POOL), (stream.is_some(), STREAM), (thread.is_some(), THREAD)];
    list.push(bits.into_iter().filter(|(is_told, _)| *is_told).map(|(_, bit)| bit).sum());
    list.extend(owner.iter().flat_map(|owner| [i64::from(owner.device_type()), i64::from(owner.device_index())]));
    list.extend(pool.iter().flat_map(|pool| [pool.address.cast_signed(), pool.bytes.cast_signed()]));
    list.extend([stream, thread].into_iter().flatten().map(u64::cast_signed));
    list
}

/// The change of memory that such a list is; none where it is another. What a later version adds behind it is passed over.
pub(super) fn memory_of(mut list: impl Iterator<Item = i64>) -> Option<(SourceId, ClockId, DeviceMemory)> {
    let source = SourceId(u32::try_from(list.next()?).ok()?);
    let clock = ClockId(u32::try_from(list.next()?).ok()?);
    let at_ns = list.next()?;
    let change = match list.next()? {
        0 => MemoryChange::Freed,
        1 => MemoryChange::Allocated,
        _ => return None,
    };
    let kind = MemoryKind::of(list.next()?);
    let mut number = || list.next().map(i64::cast_unsigned);
    let (address, bytes, correlation, told) = (number()?, number()?, number()?, number()?.cast_signed());
    let owner = match told & OWNER {
        0 => None,
        _ => Some(MemoryOwner::of_numbers(number()?.cast_signed(), number()?.cast_signed())?),
    };
    let pool = if told & POOL == 0 { None } else { Some(MemoryPool { address: number()?, bytes: number()? }) };
    let stream = if told & STREAM == 0 { None } else { Some(number()?) };
    let thread = if told & THREAD == 0 { None } else { Some(number()?) };
    let memory = DeviceMemory { at_ns, change, kind, owner, address, bytes, pool, stream, thread, correlation };
    Some((source, clock, memory))
}

/// The record that such a list is, but for its name and its kind; none where it is another list.
pub(super) fn record_of(
    mut list: impl Iterator<Item = i64>,
    named: impl FnOnce() -> DeviceRecord,
) -> Option<(SourceId, ClockId, DeviceRecord)> {
    let source = SourceId(u32::try_from(list.next()?).ok()?);
    let clock = ClockId(u32::try_from(list.next()?).ok()?);
    let (start_ns, end_ns) = (list.next()?, list.next()?);
    let device = u32::try_from(list.next()?).ok()?;
    let (stream, correlation) = (list.next()?.cast_unsigned(), list.next()?.cast_unsigned());
    let graph = match (list.next(), list.next()) {
        (None, _) => None,
        (Some(graph), node) => Some(GraphNode { graph: graph.cast_unsigned(), node: node?.cast_unsigned() }),
    };
    Some((source, clock, DeviceRecord { start_ns, end_ns, device, stream, correlation, graph, ..named() }))
}

/// The ties that such a list has; none where it is another list.
pub(super) fn ties_of(mut list: impl Iterator<Item = i64>) -> Option<(SourceId, Vec<ExternalCorrelation>)> {
    let source = SourceId(u32::try_from(list.next()?).ok()?);
    let mut ties = Vec::new();
    while let Some(kind) = list.next() {
        let kind = match kind {
            0 => CorrelationKind::Default,
            1 => CorrelationKind::UserAnnotation,
            _ => return None,
        };
        let (external_id, correlation) = (list.next()?.cast_unsigned(), list.next()?.cast_unsigned());
        ties.push(ExternalCorrelation { kind, external_id, correlation });
    }
    Some((source, ties))
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::option::of;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;
    use crate::Category;

    const SOURCE: SourceId = SourceId(u32::MAX);

    fn record(graph: Option<GraphNode>) -> DeviceRecord {
        DeviceRecord {
            kind: Category::KERNEL,
            name: "gemm".into(),
            start_ns: i64::MIN,
            end_ns: i64::MAX,
            device: u32::MAX,
            stream: u64::MAX,
            correlation: u64::MAX,
            graph,
        }
    }

    #[test]
    fn records_survive_being_lists() {
        for graph in [None, Some(GraphNode { graph: 0, node: u64::MAX })] {
            let list = record_list(SOURCE, ClockId::REALTIME, &record(graph));
            let read = record_of(list.iter().copied(), || record(None));
            assert_eq!(read, Some((SOURCE, ClockId::REALTIME, record(graph))));
            let shorter = record_of(list[..list.len() - 1].iter().copied(), || record(None));
            assert_eq!(shorter, None, "a list that was cut");
        }
    }

    #[test]
    fn launches_of_graphs_survive_being_lists() {
        let launches = [(7, u64::MAX), (u64::MAX, 0)].map(|(correlation, graph)| GraphLaunch { correlation, graph });
        let list = graphs_list(SOURCE, &launches);
        assert_eq!(graphs_of(list.iter().copied()), Some((SOURCE, launches.to_vec())));
        assert_eq!(graphs_of(list[..list.len() - 1].iter().copied()), None);
    }

    #[test]
    fn ties_survive_being_lists() {
        let tie = |kind| ExternalCorrelation { kind, external_id: u64::MAX, correlation: 7 };
        let ties = [tie(CorrelationKind::UserAnnotation), tie(CorrelationKind::Default)];
        let list = ties_list(SOURCE, &ties);
        assert_eq!(ties_of(list.iter().copied()), Some((SOURCE, ties.to_vec())));
        assert_eq!(ties_of(list[..list.len() - 1].iter().copied()), None);
        assert_eq!(ties_of([1, 2, 3, 4].into_iter()), None, "no such stack of ops");
    }
    fn memory() -> impl Strategy<Value = DeviceMemory> {
        let owners = vec![None, Some(MemoryOwner::HOST), MemoryOwner::cuda(0), MemoryOwner::cuda(4_094), MemoryOwner::hip(7)];
        let pool = of(any::<(u64, u64)>().prop_map(|(address, bytes)| MemoryPool { address, bytes }));
        let told = (select(owners), pool, of(any::<u64>()), of(any::<u64>()));
        (any::<(i64, bool, u64, u64, u64)>(), select(MemoryKind::ALL), told).prop_map(|(numbers, kind, told)| {
            let (at_ns, is_allocated, address, bytes, correlation) = numbers;
            let (owner, pool, stream, thread) = told;
            let change = if is_allocated { MemoryChange::Allocated } else { MemoryChange::Freed };
            DeviceMemory { at_ns, change, kind, owner, address, bytes, pool, stream, thread, correlation }
        })
    }

    proptest! {
        #[test]
        fn memory_survives_being_a_list(memory in memory(), later in vec(any::<i64>(), 0..3)) {
            let mut list = memory_list(SOURCE, ClockId::BOOTTIME, &memory);
            prop_assert_eq!(memory_of(list[..list.len() - 1].iter().copied()), None, "a list that was cut");
            list.extend(later);
            prop_assert_eq!(memory_of(list.into_iter()), Some((SOURCE, ClockId::BOOTTIME, memory)));
        }

        #[test]
        fn no_list_is_memory_that_cannot_be_shown(list in vec(-2_i64..10, 0..16)) {
            if let Some((_, _, memory)) = memory_of(list.into_iter()) {
                prop_assert!(memory.owner.is_none_or(|owner| owner.device_type() < 64 && (-1..=4_094).contains(&owner.device_index())));
            }
        }
    }

    #[test]
    fn a_kind_of_memory_of_a_later_version_is_memory_all_the_same() {
        let known = DeviceMemory {
            at_ns: 1,
            change: MemoryChange::Allocated,
            kind: MemoryKind::Device,
            owner: Some(MemoryOwner::HOST),
            address: 2,
            bytes: 3,
            pool: None,
            stream: None,
            thread: None,
            correlation: 4,
        };
        let mut list = memory_list(SOURCE, ClockId::REALTIME, &known);
        list[4] = 200;
        let read = memory_of(list.iter().copied()).map(|(_, _, memory)| memory);
        assert_eq!(read, Some(DeviceMemory { kind: MemoryKind::Unknown, ..known }));
        list[3] = 2;
        assert_eq!(memory_of(list.into_iter()), None, "neither allocated nor freed");
    }

    #[test]
    fn a_device_whose_number_has_no_room_is_none() {
        assert_eq!([4_095, 40_000, u32::MAX].map(MemoryOwner::cuda), [None; 3]);
    }
}
