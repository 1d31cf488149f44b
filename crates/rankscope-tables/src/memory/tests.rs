use proptest::prelude::*;
use rankscope_trace::{ArgValue, CategoryKind, InstantMark, InstantScope, TrackKey, TrackKind};

use super::*;
use crate::made::Made;

/// Bytes, address, total allocated and total reserved; what is none is not said.
type Said = [Option<i64>; 4];

impl Made {
    fn memory(&mut self, at_us: i64, device: (i64, i64), said: Said) {
        self.memory_event("[memory]", at_us, device, said);
    }

    fn memory_event(&mut self, name: &str, at_us: i64, device: (i64, i64), said: Said) {
        let process = self.trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(0));
        let track = self.trace.tracks.find_or_add(TrackKind::Thread, Some(process), TrackKey::Number(1));
        let category = self.trace.category("cpu_instant_event", CategoryKind::Other);
        let name = self.trace.strings.intern(name);
        self.trace.instants.push(InstantMark { time_ns: at_us * 1_000, name, track, category, scope: InstantScope::Thread });
        let [bytes, address, allocated, reserved] = said;
        let args = [
            ("Device Type", Some(device.0)),
            ("Device Id", Some(device.1)),
            ("Bytes", bytes),
            ("Addr", address),
            ("Total Allocated", allocated),
            ("Total Reserved", reserved),
        ];
        for (key, value) in args.into_iter().filter_map(|(key, value)| Some((key, value?))) {
            let key = self.trace.strings.intern(key);
            self.trace.instant_args.push(key, ArgValue::I64(value));
        }
        self.trace.instant_args.end_row();
    }

    fn memory_found(&self) -> Memory {
        memory(&self.trace, &Attribution::of(&self.trace))
    }
}

const CUDA: (i64, i64) = (1, 0);

fn held(memory: &Memory) -> Vec<(Holder, MemoryCategory, u64, i64)> {
    memory.peaks.iter().map(|row| (row.holder.clone(), row.category, row.held.count, row.held.bytes)).collect()
}

fn operator(name: &str) -> Holder {
    Holder::Operator(name.to_owned())
}

#[test]
fn categories_are_what_the_place_of_allocation_and_release_proves() {
    let mut made = Made::default();
    made.operator("aten::linear", 0, 100);
    made.operator("aten::empty", 10, 5);
    let node = "autograd::engine::evaluate_function: MmBackward0";
    made.operator(node, 200, 100);
    made.operator("aten::mm", 210, 20);
    made.operator(node, 300, 100);
    made.annotation("Optimizer.step#Adam.step", 500, 100);
    made.operator("aten::zeros_like", 510, 10);
    let mut total = 1_000;
    let mut event = |at_us, bytes: i64, address| {
        total += bytes;
        made.memory(at_us, CUDA, [Some(bytes), Some(address), Some(total), Some(8_000)]);
    };
    event(12, 100, 1);
    event(50, 10, 2);
    event(60, -10, 2);
    event(150, 7, 3);
    event(220, 200, 4);
    event(250, -100, 1);
    event(350, -200, 4);
    event(512, 400, 5);
    event(515, 20, 6);
    event(520, 3_000, 7);
    event(550, -20, 6);
    let found = made.memory_found();
    let row = &found.devices[0];
    assert_eq!((row.peak_allocated, row.peak_reserved, row.before), (Some(4_427), Some(8_000), Some(1_000)));
    assert_eq!((row.fragmentation_at_peak, row.fragmentation_worst), (Some(3_573), Some(6_993)));
    assert_eq!((row.kept, row.doubts), (Sum { count: 3, bytes: 3_407 }, Doubts::default()));
    let expected = [
        (operator("aten::zeros_like"), MemoryCategory::OptimizerState, 1, 400),
        (operator("aten::zeros_like"), MemoryCategory::Temporary, 1, 20),
        (Holder::NoOperator, MemoryCategory::Unknown, 1, 7),
        (Holder::NoOperator, MemoryCategory::OptimizerState, 1, 3_000),
        (Holder::BeforeRecording, MemoryCategory::Unknown, 0, 1_000),
    ];
    let mut by_bytes = expected.to_vec();
    by_bytes.sort_by_key(|row| std::cmp::Reverse(row.3));
    assert_eq!(held(&found), by_bytes);
    // The activation and the gradient were gone by then.
    let most = |category: MemoryCategory| {
        let points = found.timeline.iter().flatten().filter_map(|row| row.point.by_category);
        points.map(|bytes| bytes[category as usize]).max()
    };
    assert_eq!(MemoryCategory::ALL.map(most), [Some(100), Some(200), Some(3_400), Some(20), Some(1_007)]);
}

#[test]
fn devices_are_kept_apart_by_type_and_number() {
    let mut made = Made::default();
    made.operator("a", 0, 100);
    made.memory(1, (1, 1), [Some(5), Some(1), Some(5), Some(9)]);
    made.memory(2, (1, 0), [Some(6), Some(1), Some(6), Some(9)]);
    made.memory(3, (0, -1), [Some(7), Some(1), Some(7), Some(0)]);
    made.memory(4, (0, 0), [Some(-7), Some(1), Some(0), Some(0)]);
    made.memory(5, (99, 2), [Some(1), Some(1), Some(1), Some(0)]);
    let found = made.memory_found();
    let peak = |row: &MemoryRow| (row.device.to_string(), row.peak_allocated, row.peak_reserved, row.doubts);
    let rows: Vec<_> = found.devices.iter().map(peak).collect();
    let expected = [("cpu", 7, None), ("cuda:0", 6, Some(9)), ("cuda:1", 5, Some(9)), ("type 99:2", 1, None)];
    assert_eq!(rows, expected.map(|(name, peak, reserved)| (name.to_owned(), Some(peak), reserved, Doubts::default())));
}

#[test]
fn what_does_not_fit_is_counted_and_makes_no_figure() {
    let mut made = Made::default();
    made.operator("a", 0, 100);
    made.memory(1, CUDA, [Some(10), Some(1), Some(10), Some(20)]);
    // The same address again: its release is not there.
    made.memory(2, CUDA, [Some(30), Some(1), Some(40), Some(40)]);
    // Another size than was allocated, and a total that does not follow.
    made.memory(3, CUDA, [Some(-20), Some(1), Some(25), Some(40)]);
    made.memory(4, CUDA, [Some(-25), Some(9), Some(-5), Some(40)]);
    made.memory(5, CUDA, [None, Some(9), Some(0), Some(40)]);
    made.memory(6, CUDA, [Some(-1), None, None, None]);
    let found = made.memory_found();
    let row = &found.devices[0];
    let doubts = Doubts { address_reused: 1, size_differs: 1, total_differs: 1, total_negative: 1, unreadable: 2 };
    assert_eq!(row.doubts, doubts);
    assert_eq!((row.peak_allocated, row.after), (Some(40), Some(0)));
    assert_eq!(row.freed_unknown, Sum { count: 1, bytes: 25 });
    assert_eq!(held(&found).iter().map(|row| row.3).sum::<i64>(), 40);
}

#[test]
fn an_allocation_that_failed_is_counted_and_nothing_else() {
    let mut made = Made::default();
    made.operator("a", 0, 100);
    made.memory(1, CUDA, [Some(10), Some(1), Some(10), Some(20)]);
    made.memory_event("[OutOfMemory]", 2, CUDA, [Some(1_000_000), None, Some(10), Some(20)]);
    made.memory_event("[OutOfMemory]", 3, (1, 1), [Some(1_000_000), None, Some(0), Some(0)]);
    let found = made.memory_found();
    let rows: Vec<_> = found.devices.iter().map(|row| (row.device.to_string(), row.peak_allocated, row.failed)).collect();
    assert_eq!(rows, [("cuda:0".to_owned(), Some(10), 1), ("cuda:1".to_owned(), None, 1)]);
    assert_eq!(found.devices[0].allocated.count, 1);
}

#[test]
fn without_arguments_or_totals_there_are_no_figures() {
    let mut made = Made::default();
    made.operator("a", 0, 100);
    made.memory(1, CUDA, [Some(10), None, None, None]);
    let found = made.memory_found();
    assert_eq!((found.devices[0].peak_allocated, found.devices[0].allocated.count), (None, 1));
    assert_eq!((found.peaks.len(), found.timeline.map(|rows| rows.len())), (0, Some(0)));
    made.trace.instant_args = rankscope_trace::ArgColumn::default();
    assert!(made.memory_found().devices.is_empty());
}

#[test]
fn of_two_exports_the_higher_peak_counts_and_sums_add_up() {
    let export = |bytes: i64| {
        let mut made = Made::default();
        made.operator("a", 0, 100);
        made.memory(1, CUDA, [Some(bytes), Some(1), Some(bytes), Some(2 * bytes)]);
        made.memory(2, CUDA, [Some(-bytes), Some(1), Some(0), Some(2 * bytes)]);
        made.memory_found()
    };
    let mut joined = export(10);
    joined.join(export(30));
    let row = &joined.devices[0];
    assert_eq!((row.peak_allocated, row.allocated.bytes, row.freed.count), (Some(30), 40, 2));
    assert_eq!((held(&joined), joined.timeline), (vec![(operator("a"), MemoryCategory::Temporary, 1, 30)], None));
}

proptest! {
    /// Whatever a program allocates and releases: what held the peak is the peak.
    #[test]
    fn what_held_the_peak_adds_up_to_it(steps in prop::collection::vec((0i64..8, 1i64..100), 1..60), before in 0i64..1_000) {
        let mut made = Made::default();
        made.operator("a", 0, 1_000);
        let (mut live, mut total, mut most) = ([0; 8], before, before);
        for (at, (address, bytes)) in steps.iter().enumerate() {
            let place = *address as usize;
            let bytes = if live[place] > 0 { -live[place] } else { *bytes };
            live[place] = if bytes > 0 { bytes } else { 0 };
            total += bytes;
            most = most.max(total);
            made.memory(at as i64, CUDA, [Some(bytes), Some(*address), Some(total), Some(10_000)]);
        }
        let found = made.memory_found();
        let row = &found.devices[0];
        prop_assert_eq!(row.peak_allocated, Some(most));
        prop_assert_eq!(held(&found).iter().map(|row| row.3).sum::<i64>(), most);
        prop_assert_eq!(row.kept.bytes, live.iter().sum::<i64>());
        prop_assert_eq!((row.before, row.after, row.doubts), (Some(before), Some(total), Doubts::default()));
    }
}

#[test]
fn what_a_driver_told_stands_for_a_device_of_which_no_allocator_told() {
    let mut made = Made::default();
    let drivers = |made: &mut Made, at_us, device, said| {
        let (key, kind) = (made.trace.strings.intern("Memory Kind"), made.trace.strings.intern("device"));
        made.trace.instant_args.push(key, ArgValue::Text(kind));
        made.memory(at_us, device, said);
    };
    made.memory(10, CUDA, [Some(100), Some(1), Some(100), Some(4_096)]);
    drivers(&mut made, 9, CUDA, [Some(4_096), Some(1), Some(4_096), Some(4_096)]);
    drivers(&mut made, 11, (6, 1), [Some(64), Some(2), Some(64), Some(64)]);
    // Of memory from before, of which no total is known.
    drivers(&mut made, 12, (6, 1), [Some(-32), Some(3), None, None]);
    drivers(&mut made, 13, (6, 1), [Some(8), Some(4), Some(72), Some(72)]);
    let memory = made.memory_found();
    let rows: Vec<_> =
        memory.devices.iter().map(|row| (row.device.to_string(), row.peak_allocated, row.freed_unknown.bytes)).collect();
    assert_eq!(rows, [("cuda:0".to_owned(), Some(100), 0), ("hip:1".to_owned(), Some(72), 32)]);
    assert!(memory.devices.iter().all(|row| row.doubts == Doubts::default()), "{:?}", memory.devices);
}
