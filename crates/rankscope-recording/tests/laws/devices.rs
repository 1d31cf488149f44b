//! Device work as it is handed over, and as it is shown.

use proptest::collection::vec;
use proptest::prelude::*;
use rankscope_recording::device::{
    CorrelationKind, DEVICE_RECORD, DEVICE_TIES, DeviceRecord, ExternalCorrelation, SourceId, record_list, ties_list,
};
use rankscope_recording::{
    ArgView, Category, ClockId, Cut, DEVICE_STREAM, DeviceWork, I64s, LiveAuthor, NameId, What, WorkPlace,
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
        let [record, ties] = [DEVICE_RECORD, DEVICE_TIES].map(|key| author.name(key, 0, 0));
        let span = author.begin(HOST, 1_000, forward);
        author.end(HOST, 2_000);
        Self { author, record, ties, kernel, span }
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
    fn lists_that_are_none_are_counted_and_harm_nothing(lists in vec((any::<bool>(), vec(any::<i64>(), 0..12)), 1..20)) {
        let mut author = Author::new();
        author.kernel(10_000, 5_000, 1);
        for (tick, (is_record, list)) in (10_001..).zip(&lists) {
            let name = if *is_record { author.record } else { author.ties };
            let key = if *is_record { author.kernel } else { author.ties };
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
