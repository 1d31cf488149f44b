//! Device work as it is handed over, and as it is shown.

use proptest::collection::vec;
use proptest::prelude::*;
use rankscope_recording::device::{
    CorrelationKind, DEVICE_GRAPHS, DEVICE_MEMORY, DEVICE_RECORD, DEVICE_TIES, DeviceMemory, DeviceRecord, ExternalCorrelation,
    MemoryChange, MemoryKind, MemoryOwner, MemoryPlace, SourceId, memory_list, record_list, ties_list,
};
use rankscope_recording::{
    ArgView, Category, ClockId, Cut, DEVICE_STREAM, DeviceWork, I64s, LiveAuthor, MEMORY_PLACE, NameId, What, WorkPlace,
};

use super::opened as open;

const SOURCE: SourceId = SourceId(1);
const HOST: u32 = 1;
const PLUGIN: u32 = 2;

/// A recording whose ticks are nanoseconds, with one span, and a thread that hands over lists.
struct Author {
    author: LiveAuthor,
    record: NameId,
    ties: NameId,
    memory: NameId,
    graphs: NameId,
    kernel: NameId,
    span: u64,
}

impl Author {
    fn new() -> Self {
        let mut author = LiveAuthor::new();
        author.session_start(1, 100, u32::MAX);
        for tick in [100, 1_000_000] {
            for clock in [ClockId::MONOTONIC_RAW, ClockId::REALTIME] {
                author.anchor(clock, tick, tick.cast_signed(), 0);
            }
        }
        let forward = author.name("forward", Category::USER_ANNOTATION.number(), 0);
        let kernel = author.name("gemm", Category::KERNEL.number(), 0);
        let [record, ties, memory, graphs] =
            [DEVICE_RECORD, DEVICE_TIES, DEVICE_MEMORY, DEVICE_GRAPHS].map(|key| author.name(key, 0, 0));
        let span = author.begin(HOST, 1_000, forward);
        author.end(HOST, 2_000);
        Self { author, record, ties, memory, graphs, kernel, span }
    }

    fn hand_over(&mut self, tick: u64, name: NameId, key: NameId, list: &[i64]) {
        self.author.instant(PLUGIN, tick, name);
        let packed = I64s::pack(list);
        self.author.args(PLUGIN, &[(key, ArgView::I64s(I64s::of(&packed)))]);
    }

    fn kernel(&mut self, tick: u64, start_ns: i64, correlation: u64) {
        let record = DeviceRecord {
            kind: Category::KERNEL,
            name: "gemm".into(),
            start_ns,
            end_ns: start_ns + 10,
            device: 0,
            stream: 7,
            correlation,
            graph: None,
        };
        self.hand_over(tick, self.record, self.kernel, &record_list(SOURCE, ClockId::REALTIME, &record));
    }

    fn tie(&mut self, tick: u64, correlation: u64) {
        let tie = |kind| ExternalCorrelation { kind, external_id: self.span, correlation };
        let list = ties_list(SOURCE, &[tie(CorrelationKind::Default), tie(CorrelationKind::UserAnnotation)]);
        self.hand_over(tick, self.ties, self.ties, &list);
    }
}

/// A change of memory: whether it was allocated, where, how much.
type Change = (bool, u64, u64);

/// All changes of memory that are shown: when, where, bytes and what is in use afterwards.
fn shown_memory(file: Vec<u8>) -> Vec<(i64, u64, i64, Option<i64>)> {
    let recording = open(file);
    let mut memory = Vec::new();
    for thread in recording.threads().iter().filter(|thread| thread.stream == DEVICE_STREAM) {
        let mut replay = recording.replay(thread, &Cut::everything());
        while let Some((event, args)) = replay.next() {
            let What::Memory { address, bytes, device_type: 1, device_index: 3, out_of_memory: false } = event.what else {
                continue;
            };
            let text = |name: NameId| recording.names()[name.0 as usize].text.to_string();
            let place = MemoryPlace::of(args, |key| text(key) == MEMORY_PLACE).unwrap();
            assert_eq!(place.thread, Some(4_242));
            let total = args.iter().find_map(|(key, value)| match value {
                ArgView::I64(total) if text(key) == "Total Allocated" => Some(total),
                _ => None,
            });
            memory.push((place.at_ns, address, bytes, total));
        }
    }
    memory
}

/// A recording in which memory changes, a nanosecond each, handed over in this order.
fn with_memory(changes: &[Change], order: &[usize]) -> Vec<u8> {
    let mut author = Author::new();
    for (tick, at) in (10_000..).zip(order) {
        let (is_allocated, address, bytes) = changes[*at];
        let memory = DeviceMemory {
            at_ns: 5_000 + *at as i64,
            change: if is_allocated { MemoryChange::Allocated } else { MemoryChange::Freed },
            kind: MemoryKind::Device,
            owner: MemoryOwner::cuda(3),
            address,
            bytes,
            pool: None,
            stream: None,
            thread: Some(4_242),
            correlation: 0,
        };
        author.hand_over(tick, author.memory, author.memory, &memory_list(SOURCE, ClockId::REALTIME, &memory));
    }
    author.author.finish()
}

fn changes() -> impl Strategy<Value = (Vec<Change>, Vec<usize>)> {
    let change = (any::<bool>(), 1_u64..8, 0_u64..1_000);
    vec(change, 1..60).prop_flat_map(|changes| {
        let order: Vec<usize> = (0..changes.len()).collect();
        (Just(changes), Just(order).prop_shuffle())
    })
}

/// Name, start and span of all that is shown of devices in `cut`, in order; and how many events the plugin's thread shows.
fn shown(file: Vec<u8>, cut: &Cut) -> (Vec<(String, i64, Option<u64>)>, usize) {
    let recording = open(file);
    let mut work = Vec::new();
    let mut of_plugin = 0;
    for thread in recording.threads() {
        let mut replay = recording.replay(thread, cut);
        let mut last_tick = 0;
        while let Some((event, args)) = replay.next() {
            assert!(event.tick >= last_tick, "ticks of a thread never fall");
            last_tick = event.tick;
            of_plugin += usize::from(thread.stream == PLUGIN);
            if thread.stream != DEVICE_STREAM {
                continue;
            }
            assert_eq!(event.what, What::Instant);
            let text = |name: NameId| recording.names()[name.0 as usize].text.to_string();
            let told = DeviceWork::of(args, |key| text(key) == "device_work").unwrap();
            assert_eq!(told.place, WorkPlace::Stream { device: 0, stream: 7 });
            let span = args.iter().find_map(|(key, value)| match value {
                ArgView::I64(id) if text(key) == "External id" => Some(id.cast_unsigned()),
                ArgView::U64(id) if text(key) == "External id" => Some(id),
                _ => None,
            });
            work.push((text(event.name), told.start_ns, span));
        }
    }
    (work, of_plugin)
}

/// What is handed over: a kernel that starts then, or the tie of one.
#[derive(Clone, Copy, Debug)]
enum Handed {
    Kernel(i64, u64),
    Tie(u64),
}

fn handed() -> impl Strategy<Value = Vec<Handed>> {
    let one = prop_oneof![
        (1_000_i64..9_000, 1_u64..20).prop_map(|(start_ns, correlation)| Handed::Kernel(start_ns, correlation)),
        (1_u64..20).prop_map(Handed::Tie),
    ];
    vec(one, 1..40)
}

fn recorded(handed: &[Handed]) -> Vec<u8> {
    let mut author = Author::new();
    for (tick, one) in (10_000..).zip(handed) {
        match *one {
            Handed::Kernel(start_ns, correlation) => author.kernel(tick, start_ns, correlation),
            Handed::Tie(correlation) => author.tie(tick, correlation),
        }
    }
    author.author.finish()
}

proptest! {
    #[test]
    fn memory_comes_out_in_order_of_time_with_what_is_in_use((changes, order) in changes()) {
        let mut live: Vec<(u64, u64)> = Vec::new();
        let mut expected = Vec::new();
        for (at_ns, (is_allocated, address, bytes)) in (5_000..).zip(&changes) {
            let former = live.iter().position(|it| it.0 == *address).map(|at| live.remove(at));
            if *is_allocated {
                live.push((*address, *bytes));
            }
            let in_use = live.iter().map(|it| it.1).sum::<u64>() as i64;
            let event = match (*is_allocated, former) {
                (true, _) => (*bytes as i64, Some(in_use)),
                (false, Some((_, bytes))) => (-(bytes as i64), Some(in_use)),
                (false, None) => (-(*bytes as i64), None),
            };
            expected.push((at_ns, *address, event.0, event.1));
        }
        prop_assert_eq!(shown_memory(with_memory(&changes, &order)), expected);
    }

    #[test]
    fn the_order_in_which_things_are_handed_over_changes_nothing(
        (handed, shuffled) in handed().prop_flat_map(|handed| (Just(handed.clone()), Just(handed).prop_shuffle())),
    ) {
        let everything = Cut::everything();
        prop_assert_eq!(shown(recorded(&handed), &everything).0, shown(recorded(&shuffled), &everything).0);
    }

    #[test]
    fn each_kernel_is_shown_once_at_its_time_and_with_its_span(handed in handed()) {
        let (work, of_plugin) = shown(recorded(&handed), &Cut::everything());
        let tied = |of: u64| handed.iter().any(|one| matches!(one, Handed::Tie(tie) if *tie == of));
        let mut expected: Vec<(i64, bool)> = handed
            .iter()
            .filter_map(|one| match one {
                Handed::Kernel(start_ns, correlation) => Some((*start_ns, tied(*correlation))),
                Handed::Tie(_) => None,
            })
            .collect();
        expected.sort_unstable();
        let mut kernels: Vec<(i64, bool)> =
            work.iter().filter(|one| one.0 == "gemm").map(|one| (one.1, one.2.is_some())).collect();
        kernels.sort_unstable();
        prop_assert_eq!(kernels, expected);
        // The range of the program on its stream, where any of it is tied.
        let ranges = work.iter().filter(|one| one.0 == "forward").count();
        prop_assert_eq!(ranges, usize::from(work.iter().any(|one| one.0 == "gemm" && one.2.is_some())));
        prop_assert_eq!(of_plugin, 0, "what a source handed over is not shown as it is");
    }

    #[test]
    fn lists_that_are_none_are_counted_and_harm_nothing(lists in vec((0_usize..4, vec(any::<i64>(), 0..12)), 1..20)) {
        let mut author = Author::new();
        author.kernel(10_000, 5_000, 1);
        for (tick, (sort, list)) in (10_001..).zip(&lists) {
            let name = [author.record, author.ties, author.memory, author.graphs][*sort];
            let key = [author.kernel, author.ties, author.memory, author.graphs][*sort];
            author.hand_over(tick, name, key, list);
        }
        let file = author.author.finish();
        prop_assert!(open(file.clone()).unreadable_device_work() <= lists.len() as u64);
        prop_assert!(shown_names(file).iter().any(|name| name == "gemm"));
    }
}

/// Names of what is shown of devices, whatever it is.
fn shown_names(file: Vec<u8>) -> Vec<String> {
    let recording = open(file);
    let mut names = Vec::new();
    for thread in recording.threads().iter().filter(|thread| thread.stream == DEVICE_STREAM) {
        let mut replay = recording.replay(thread, &Cut::everything());
        while let Some((event, _)) = replay.next() {
            names.push(recording.names()[event.name.0 as usize].text.to_string());
        }
    }
    names
}

#[test]
fn work_is_in_the_cut_that_has_its_start() {
    let mut author = Author::new();
    for (tick, start_ns) in [(20_000, 3_000), (20_001, 12_000)] {
        author.kernel(tick, start_ns, 1);
    }
    let file = author.author.finish();
    let later = Cut { from_tick: 10_000, ..Cut::everything() };
    let only = Cut { streams: Some(vec![HOST]), ..Cut::everything() };
    let starts = |cut: &Cut| shown(file.clone(), cut).0.iter().map(|one| one.1).collect::<Vec<_>>();
    assert_eq!((starts(&later), starts(&only)), (vec![12_000], vec![3_000, 12_000]));
}

#[test]
fn more_work_than_a_chunk_holds_is_shown_to_the_last() {
    let mut author = Author::new();
    for at in 0..20_000 {
        author.kernel(900_000 + at, 2_000 + at.cast_signed(), at + 1);
    }
    let (work, _) = shown(author.author.finish(), &Cut::everything());
    assert!(work.iter().map(|one| one.1).eq(2_000..22_000));
}
