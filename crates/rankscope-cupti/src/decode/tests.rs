use std::ffi::CStr;

use proptest::prelude::*;

use super::*;
use crate::abi::{field_ids, layouts};
use crate::layout::tests::{Said, field};

/// A record of so many bytes, with these put where they belong.
fn bytes(kind: u32, length: usize, fields: &[(usize, &[u8])]) -> Vec<u8> {
    let mut record = vec![0; length];
    record[..4].copy_from_slice(&kind.to_ne_bytes());
    for (at, value) in fields {
        record[*at..at + value.len()].copy_from_slice(value);
    }
    record
}

fn kernel(length: usize, name: &'static CStr, stamps: (u64, u64), graph: (u32, u64)) -> Vec<u8> {
    let mut record = bytes(
        10,
        248,
        &[
            (16, &stamps.0.to_ne_bytes()),
            (24, &stamps.1.to_ne_bytes()),
            (40, &3_u32.to_ne_bytes()),
            (44, &1_u32.to_ne_bytes()),
            (48, &7_u32.to_ne_bytes()),
            (92, &55_u32.to_ne_bytes()),
            (104, &(name.as_ptr() as u64).to_ne_bytes()),
            (144, &graph.1.to_ne_bytes()),
            (156, &graph.0.to_ne_bytes()),
        ],
    );
    record.truncate(length);
    record
}

fn decoded(records: &[Vec<u8>]) -> (Vec<DeviceItem>, Counts) {
    let mut decoder = Decoder::new(Calls::default(), ApiCalls::All);
    for record in records {
        // SAFETY: names are constants of this test.
        unsafe { decoder.record(record) };
    }
    (decoder.take(), decoder.finish())
}

fn only(records: &[Vec<u8>]) -> DeviceRecord {
    let (mut items, counts) = decoded(records);
    assert_eq!((items.len(), counts.short_records), (1, 0), "{items:?} {counts:?}");
    match items.remove(0) {
        DeviceItem::Record(record) => record,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_kernel_is_read_as_far_as_its_version_goes() {
    let graph = Some(GraphNode { graph: 9, node: 1 << 40 });
    for (length, expected) in [(112, None), (144, None), (176, graph), (208, graph), (248, graph)] {
        let record = only(&[kernel(length, c"gemm", (1_000, 2_000), (9, 1 << 40))]);
        assert_eq!((record.start_ns, record.end_ns, &*record.name), (1_000, 2_000, "gemm"));
        assert_eq!((record.device, record.stream, record.correlation), (3, 7, 55));
        assert_eq!(record.graph, expected, "{length}");
    }
    let (items, counts) = decoded(&[kernel(111, c"gemm", (1, 2), (0, 0))]);
    assert_eq!((items.len(), counts.short_records), (0, 1));
}

#[test]
fn a_kernel_outside_of_a_graph_has_none() {
    assert_eq!(only(&[kernel(208, c"gemm", (1, 2), (0, 77))]).graph, None);
}

#[test]
fn a_stamp_that_is_no_time_is_zero() {
    let record = only(&[kernel(208, c"gemm", (u64::MAX, 2), (0, 0))]);
    assert_eq!((record.start_ns, record.end_ns), (0, 2));
}

#[test]
fn a_name_is_kept_once() {
    let (items, _) = decoded(&[kernel(208, c"gemm", (1, 2), (0, 0)), kernel(208, c"gemm", (3, 4), (0, 0))]);
    let [DeviceItem::Record(first), DeviceItem::Record(second)] = &items[..] else { panic!("{items:?}") };
    assert!(Arc::ptr_eq(&first.name, &second.name));
}

#[test]
fn waits_are_on_the_device_of_their_context_whichever_comes_first() {
    let wait = |context: u32, stream: u32| {
        let fields: [(usize, &[u8]); 5] = [
            (4, &2_i32.to_ne_bytes()),
            (8, &5_u64.to_ne_bytes()),
            (16, &6_u64.to_ne_bytes()),
            (28, &context.to_ne_bytes()),
            (32, &stream.to_ne_bytes()),
        ];
        bytes(38, 56, &fields)
    };
    let records = [wait(1, 7), wait(2, 7), wait(1, NO_STREAM), kernel(208, c"gemm", (1, 2), (0, 0))];
    let (items, counts) = decoded(&records);
    let wait = items.iter().find_map(|item| match item {
        DeviceItem::Record(record) if record.kind == Category::CUDA_SYNC => Some(record),
        _ => None,
    });
    let wait = wait.unwrap();
    assert_eq!((&*wait.name, wait.device, wait.stream), ("Stream Wait Event", 3, 7));
    assert_eq!((items.len(), counts.waits_without_device, counts.waits_without_stream), (2, 1, 1));
}

#[test]
fn ties_are_ours_or_somebody_elses() {
    let tie = |kind: i32| bytes(39, 24, &[(4, &kind.to_ne_bytes()), (8, &77_u64.to_ne_bytes()), (16, &5_u32.to_ne_bytes())]);
    let (items, counts) = decoded(&[tie(3), tie(4), tie(5), tie(1)]);
    let of = |kind| DeviceItem::Tie(ExternalCorrelation { kind, external_id: 77, correlation: 5 });
    assert_eq!(items, [of(CorrelationKind::UserAnnotation), of(CorrelationKind::Default)]);
    assert_eq!(counts.foreign_ties, 2);
}

#[test]
fn what_is_not_read_is_counted() {
    let overhead =
        |sort: i32| bytes(17, 56, &[(4, &sort.to_ne_bytes()), (24, &10_u64.to_ne_bytes()), (32, &25_u64.to_ne_bytes())]);
    let records = [bytes(46, 64, &[]), bytes(46, 64, &[]), bytes(9_999, 8, &[]), vec![1, 2], overhead(0x1_0000), overhead(5)];
    let (items, counts) = decoded(&records);
    assert!(items.is_empty());
    assert_eq!((counts.records, counts.short_records), (6, 1));
    assert_eq!(counts.unknown_kinds.into_iter().collect::<Vec<_>>(), [(46, 2), (9_999, 1)]);
    assert_eq!((counts.overheads["buffer flush"].total_ns, counts.overheads["unknown"].count), (15, 1));
}

/// A record of memory: operation, kind, device, stream, bytes; from a local pool that holds 4 KiB.
fn memory(length: usize, [operation, kind, device, stream]: [u32; 4], bytes_of_it: u64, pool: u32) -> Vec<u8> {
    let fields: [(usize, &[u8]); 11] = [
        (4, &operation.to_ne_bytes()),
        (8, &kind.to_ne_bytes()),
        (12, &55_u32.to_ne_bytes()),
        (16, &0x7000_u64.to_ne_bytes()),
        (24, &bytes_of_it.to_ne_bytes()),
        (32, &1_000_u64.to_ne_bytes()),
        (52, &device.to_ne_bytes()),
        (60, &stream.to_ne_bytes()),
        (80, &pool.to_ne_bytes()),
        (88, &0x9000_u64.to_ne_bytes()),
        (104, &4_096_u64.to_ne_bytes()),
    ];
    let mut record = bytes(49, 128, &fields);
    record.truncate(length);
    record
}

#[test]
fn memory_is_read_with_what_its_version_has() {
    let pooled = MemoryPool { address: 0x9000, bytes: 4_096 };
    for (length, pool) in [(64, None), (111, None), (112, Some(pooled)), (120, Some(pooled)), (128, Some(pooled))] {
        let (items, counts) = decoded(&[memory(length, [1, 3, 2, 7], 64, 1)]);
        let expected = DeviceMemory {
            at_ns: 1_000,
            change: MemoryChange::Allocated,
            kind: MemoryKind::Device,
            owner: MemoryOwner::cuda(2),
            address: 0x7000,
            bytes: 64,
            pool,
            stream: Some(7),
            thread: None,
            correlation: 55,
        };
        assert_eq!((items, counts.short_records), (vec![DeviceItem::Memory(expected)], 0), "{length}");
    }
    let (items, counts) = decoded(&[memory(63, [1, 3, 2, 7], 64, 0)]);
    assert_eq!((items.len(), counts.short_records), (0, 1));
}

#[test]
fn memory_is_the_hosts_or_a_devices_and_of_kinds_that_nobody_knows_a_devices() {
    let read = |operation, kind, device, pool| {
        let (items, counts) = decoded(&[memory(128, [operation, kind, device, NO_STREAM], u64::MAX, pool)]);
        let memory = items.into_iter().next().map(|item| match item {
            DeviceItem::Memory(memory) => memory,
            other => panic!("{other:?}"),
        });
        (memory, counts.other_memory_operations)
    };
    let (pinned, _) = read(2, 2, 0, 0);
    let pinned = pinned.unwrap();
    assert_eq!((pinned.change, pinned.owner, pinned.stream), (MemoryChange::Freed, Some(MemoryOwner::HOST), None));
    let (unknown, _) = read(1, 77, 1, 2);
    let unknown = unknown.unwrap();
    assert_eq!((unknown.kind, unknown.owner), (MemoryKind::Unknown, MemoryOwner::cuda(1)));
    // What lies where a size would be is the number of another process.
    assert_eq!(unknown.pool, Some(MemoryPool { address: 0x9000, bytes: 0 }));
    assert_eq!(read(1, 3, u32::MAX, 9).0.map(|memory| (memory.owner, memory.pool)), Some((None, None)));
    for operation in [0, 3, u32::MAX] {
        assert_eq!(read(operation, 3, 0, 0), (None, 1));
    }
}

/// The tables of a kind's records, the one that all have and the one of later versions.
fn tables(kind: Kind) -> [&'static str; 2] {
    match kind {
        Kind::ConcurrentKernel => ["Kernel", "KernelInGraph"],
        Kind::Memcpy => ["Memcpy", "MemcpyInGraph"],
        Kind::MemcpyPeer => ["MemcpyPeer", "MemcpyPeerInGraph"],
        Kind::Memset => ["Memset", "MemsetInGraph"],
        Kind::Runtime | Kind::Driver => ["ApiCall", ""],
        Kind::Synchronization => ["Synchronization", ""],
        Kind::Overhead => ["Overhead", ""],
        Kind::ExternalCorrelation => ["External", ""],
        Kind::Memory => ["Memory", "MemoryFromPool"],
    }
}

/// A field of a kind: its number, and where and how long it is in the first version.
fn fields(kind: Kind) -> Vec<(i32, usize, usize, &'static str)> {
    let places = layouts()
        .into_iter()
        .flat_map(|(table, fields)| fields.into_iter().map(move |(name, at, bytes)| (table, name, at, bytes)));
    let all = places.zip(field_ids()).filter(|((table, ..), _)| tables(kind).contains(table));
    all.map(|((_, name, at, bytes), (.., id))| (id, at, bytes, name)).collect()
}

/// A record with these numbers in both versions, and where in the second one fields lie: in the order of `order`, some wider than in the
/// first, with gaps.
fn in_both(kind: Kind, numbers: &[u64], order: &[u8]) -> (Vec<u8>, Vec<u8>, Said) {
    let mut first = bytes(kind as u32, 248, &[]);
    let mut second = bytes(kind as u32, 1_024, &[]);
    let mut said = vec![field(0, 0, 4)];
    let mut all: Vec<_> = fields(kind).into_iter().zip(numbers).zip(order).collect();
    all.sort_by_key(|(_, order)| **order);
    let mut end = 4_usize;
    for (((id, at, bytes, name), number), order) in all {
        let number = if name == "name" { c"gemm".as_ptr() as u64 } else { *number };
        first[at..at + bytes].copy_from_slice(&number.to_le_bytes()[..bytes]);
        let wide = if order % 3 == 0 { 8 } else { bytes };
        let place = end.next_multiple_of(wide) + usize::from(order % 4) * wide;
        second[place..place + bytes].copy_from_slice(&number.to_le_bytes()[..bytes]);
        said.push(field(id, place, wide));
        end = place + wide;
    }
    second.truncate(end);
    (first, second, Said::of(&said, end))
}

proptest! {
    #[test]
    fn a_record_of_chosen_fields_says_what_a_whole_one_says(
        place in 0..Kind::ALL.len(),
        numbers in prop::collection::vec(any::<u64>(), 12),
        order in prop::collection::vec(any::<u8>(), 12),
    ) {
        let kind = Kind::ALL[place];
        let (first, second, said) = in_both(kind, &numbers, &order);
        let layouts: &'static Layouts = Box::leak(Box::default());
        said.told_to(layouts, kind);
        let read = |decoder: Decoder, record: &[u8]| {
            let mut decoder = decoder;
            // SAFETY: the name is a constant of this test.
            unsafe { decoder.record(record) };
            // Waits show once the device of their context is known.
            decoder.devices.extend(decoder.waits.iter().map(|(context, _)| (*context, 3)).collect::<Vec<_>>());
            (decoder.take(), decoder.finish())
        };
        let whole = read(Decoder::new(Calls::default(), ApiCalls::All), &first);
        let chosen = read(Decoder::new(Calls::default(), ApiCalls::All).with_layouts(Some(layouts)), &second);
        prop_assert_eq!(whole, chosen);
        // And one that is cut says nothing.
        let (items, counts) = read(Decoder::new(Calls::default(), ApiCalls::All).with_layouts(Some(layouts)), &second[..second.len() - 1]);
        prop_assert_eq!((items.len(), counts.short_records), (0, 1));
    }
}
