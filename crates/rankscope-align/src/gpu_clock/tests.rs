//! Devices whose clocks are known, and what the times of their operations say of them.

mod placing;

use proptest::prelude::*;
use rankscope_clock::Rng;
use rankscope_clock::simulate::SimClock;
use rankscope_time::{Rate, Span};
use rankscope_trace::{CategoryKind, ClockReading, CollectiveArgs, GpuTimes, HostClock, SpanRow, Trace, TrackKey, TrackKind};

use super::*;

/// 2026, in nanoseconds: GPUs' clocks look like Unix time.
const NOW_NS: i64 = 1_790_000_000_000_000_000;

/// What a number that the GPU's clock shows has to do with its time.
#[derive(Clone, Copy, Debug)]
enum Rounding {
    Down,
    Near,
    Up,
}

/// A job on one GPU: its kernels, one after the other, and how the host sees them.
#[derive(Clone, Debug)]
struct Device {
    clock: SimClock,
    step_ns: i64,
    rounding: Rounding,
    /// Least and greatest time from the launch to the start, from the stop to the host that sees it, and between two kernels.
    launch_ns: (i64, i64),
    callback_ns: (i64, i64),
    pause_ns: (i64, i64),
    kernel_ns: (i64, i64),
    rng: Rng,
}

impl Device {
    fn new(seed: u64, offset_ns: i64, drift_ppb: i64) -> Self {
        Self {
            clock: SimClock::new(NOW_NS, Span::from_nanos(offset_ns), Rate::from_ppb(drift_ppb), 10.0, seed),
            step_ns: 32,
            rounding: Rounding::Down,
            launch_ns: (2_000, 8_000),
            callback_ns: (1_000, 10_000),
            pause_ns: (1_000_000, 20_000_000),
            kernel_ns: (3_000, 400_000),
            rng: Rng::new(seed),
        }
    }

    fn between(&mut self, (least, most): (i64, i64)) -> i64 {
        least + self.rng.below((most - least + 1) as u64) as i64
    }

    fn shown(&mut self, true_ns: i64) -> u64 {
        let ns = self.clock.local_ns(true_ns);
        let step_ns = self.step_ns;
        let off = match self.rounding {
            Rounding::Down => 0,
            Rounding::Near => step_ns / 2,
            Rounding::Up => step_ns - 1,
        };
        ((ns + off).div_euclid(step_ns) * step_ns) as u64
    }

    fn play(&mut self, count: usize) -> Vec<GpuTimes> {
        self.play_truly(count).into_iter().map(|(times, _)| times).collect()
    }

    /// The same, and when each kernel truly started and stopped.
    fn play_truly(&mut self, count: usize) -> Vec<(GpuTimes, [i64; 2])> {
        let mut now_ns = NOW_NS;
        let mut one = || {
            now_ns += self.between(self.pause_ns);
            let launched_ns = now_ns;
            now_ns += self.between(self.launch_ns);
            let (started_ns, start_ns) = (now_ns, self.shown(now_ns));
            now_ns += self.between(self.kernel_ns);
            let (stopped_ns, stop_ns) = (now_ns, self.shown(now_ns));
            now_ns += self.between(self.callback_ns);
            let times = GpuTimes { launched_ns: Some(launched_ns), start_ns, stop_ns, seen_ns: now_ns };
            (times, [started_ns, stopped_ns])
        };
        (0..count).map(|_| one()).collect()
    }

    /// What the GPU's clock truly is ahead of the host's.
    fn ahead_ns(&mut self, at_ns: i64) -> i64 {
        self.clock.local_ns(at_ns) - at_ns
    }
}

/// A recording with these, whose communicators are `of` their places.
fn trace(times: &[GpuTimes], of: impl Fn(usize) -> usize) -> Trace {
    let mut trace = Trace::default();
    let track = trace.tracks.find_or_add(TrackKind::Thread, None, TrackKey::Number(1));
    let category = trace.category("collective_comm", CategoryKind::of_kineto("collective_comm"));
    let name = trace.strings.intern("nccl:all_reduce");
    for (at, times) in times.iter().enumerate() {
        let span = trace.spans.push(SpanRow { start_ns: 0, dur_ns: 0, name, track, category, offset: 0 });
        let group_name = trace.strings.intern(&format!("comm {}", of(at)));
        trace.collectives.push(CollectiveArgs { name, group_name, ..CollectiveArgs::of(span) });
        trace.gpu_times.push(span, *times);
    }
    trace
}

fn clock(times: &[GpuTimes]) -> GpuClock {
    GpuClock::of(&trace(times, |_| 0)).expect("times were told")
}

/// Every window holds the truth; how many there are.
fn holds(clock: &GpuClock, device: &mut Device) -> Result<usize, TestCaseError> {
    for window in &clock.windows {
        let truth_ns = device.ahead_ns(window.at_ns);
        prop_assert!(window.lo_ns <= truth_ns && truth_ns <= window.hi_ns, "{truth_ns} is not in {window:?} of {clock:?}");
        let second = 1_000_000_000;
        let drift_ppb = device.ahead_ns(window.at_ns + second / 2) - device.ahead_ns(window.at_ns - second / 2);
        // The rate a second around wanders, and stamps of it are whole nanoseconds.
        let drifts = window.drift_lo_ppb - 200..=window.drift_hi_ppb + 200;
        prop_assert!(drifts.contains(&drift_ppb), "{drift_ppb} is not in {window:?}");
    }
    Ok(clock.windows.len())
}

fn devices() -> impl Strategy<Value = Device> {
    let clock = (any::<u64>(), prop_oneof![-2_000_000_000i64..2_000_000_000, -NOW_NS..NOW_NS / 4], -150_000i64..150_000);
    let step = prop_oneof![Just(1i64), Just(32), Just(1_000), Just(1_024), Just(20_000)];
    let rounding = prop_oneof![Just(Rounding::Down), Just(Rounding::Near), Just(Rounding::Up)];
    let delay = || (200i64..30_000, prop_oneof![0i64..1_000, 0i64..2_000_000]).prop_map(|(least, more)| (least, least + more));
    (clock, step, rounding, delay(), delay(), delay(), 1_000_000i64..60_000_000).prop_map(
        |((seed, offset_ns, drift_ppb), step_ns, rounding, launch_ns, callback_ns, kernel_ns, pause_ns)| Device {
            step_ns,
            rounding,
            launch_ns,
            callback_ns,
            kernel_ns,
            pause_ns: (pause_ns / 10, pause_ns),
            ..Device::new(seed, offset_ns, drift_ppb)
        },
    )
}

/// What somebody did to the times of an operation.
#[derive(Clone, Copy, Debug)]
enum Forged {
    NoStart,
    NoStop,
    Far(u64),
    Swapped,
    OfAnother(usize),
    Later(u64),
}

fn forged() -> impl Strategy<Value = (usize, Forged)> {
    let how = prop_oneof![
        Just(Forged::NoStart),
        Just(Forged::NoStop),
        any::<u64>().prop_map(Forged::Far),
        Just(Forged::Swapped),
        (0usize..2_000).prop_map(Forged::OfAnother),
        (50_000_000u64..u64::MAX / 4).prop_map(Forged::Later),
    ];
    (0usize..2_000, how)
}

fn forge(times: &mut [GpuTimes], (at, how): (usize, Forged)) {
    let (at, count) = (at % times.len(), times.len());
    let other = if let Forged::OfAnother(other) = how { times[other % count] } else { times[at] };
    let own = &mut times[at];
    match how {
        Forged::NoStart => own.start_ns = 0,
        Forged::NoStop => own.stop_ns = 0,
        Forged::Far(ns) => (own.start_ns, own.stop_ns) = (ns, ns),
        Forged::Swapped => (own.start_ns, own.stop_ns) = (own.stop_ns, own.start_ns),
        Forged::OfAnother(_) => (own.start_ns, own.stop_ns) = (other.start_ns, other.stop_ns),
        Forged::Later(ns) => (own.start_ns, own.stop_ns) = (own.start_ns.wrapping_add(ns), own.stop_ns.wrapping_add(ns)),
    }
}

proptest! {
    #[test]
    fn the_truth_is_in_every_window(mut device in devices(), count in 20usize..900) {
        let times = device.play(count);
        let found = clock(&times);
        holds(&found, &mut device)?;
        prop_assert_eq!(found.unusable, [0; 6], "honest times contradict nothing: {:?}", found);
        prop_assert!(found.step_ns >= device.step_ns || device.step_ns == 1, "{:?}", found);
        prop_assert_eq!(found.lineless(NoLine::Contradiction), 0, "{:?}", found);
        prop_assert!(found.windows.iter().all(|window| window.proven), "honest times are a proof: {:?}", found);
    }

    /// Times that were forged, or are another operation's: those that lead to a line lead to one around the truth.
    #[test]
    fn forged_times_move_no_window_off_the_truth(
        mut device in devices(), count in 100usize..900, forged in prop::collection::vec(forged(), 1..12),
    ) {
        let mut times = device.play(count);
        forged.iter().for_each(|one| forge(&mut times, *one));
        let found = clock(&times);
        holds(&found, &mut device)?;
        prop_assert_eq!(found.operations, count as u64);
    }
}

#[test]
fn a_launch_of_5_us_and_a_callback_of_10_us_leave_15_us() {
    for (seed, step_ns) in [(1, 32), (2, 1_000), (3, 1_024)] {
        let mut device = Device { step_ns, callback_ns: (10_000, 10_000), ..Device::new(seed, 5_000_000, 20_000) };
        let found = clock(&device.play(4_000));
        assert_eq!(holds(&found, &mut device).unwrap(), 5, "{found:?}");
        for window in &found.windows {
            assert!(window.width_ns() <= 15_000 && window.proven, "{window:?}");
            assert!((window.drift_ppb - 20_000).abs() < 1_000, "{window:?}");
        }
    }
}

#[test]
fn times_without_launches_bound_from_one_side_and_give_no_line() {
    let mut times = Device::new(4, 0, 0).play(300);
    times.iter_mut().for_each(|times| times.launched_ns = None);
    let found = clock(&times);
    assert_eq!((found.windows.len(), found.lineless(NoLine::OneSided), found.unlaunched), (0, 1, 300), "{found:?}");
}

#[test]
fn a_few_operations_give_no_line() {
    let found = clock(&Device::new(5, 0, 0).play(9));
    assert_eq!((found.windows.len(), found.lineless(NoLine::TooFew)), (0, 1), "{found:?}");
    assert!(GpuClock::of(&trace(&[], |_| 0)).is_none());
}

#[test]
fn a_communicator_that_tells_others_times_is_left_out_and_the_others_are_not() {
    let mut device = Device::new(6, 77_000_000, 30_000);
    let mut times = device.play(6_000);
    // From its 300th operation on the second communicator tells the times of the one before.
    let wrong: Vec<usize> = (600..6_000).filter(|at| at % 2 == 1).collect();
    let honest = times.clone();
    wrong.iter().for_each(|at| {
        times[*at] = GpuTimes { start_ns: honest[at - 2].start_ns, stop_ns: honest[at - 2].stop_ns, ..times[*at] }
    });
    let found = GpuClock::of(&trace(&times, |at| at % 2)).unwrap();
    assert_eq!(holds(&found, &mut device).unwrap(), 7, "{found:?}");
    assert!(found.windows[6].above >= 200 && found.windows.iter().all(|window| window.proven), "{found:?}");
    let refused: u64 = found.unusable.iter().sum();
    assert!((2_690..=3_000).contains(&refused) && found.unusable(Unusable::AfterContradiction) > 1_400, "{found:?}");
}

#[test]
fn behind_a_step_of_the_clock_nothing_is_used() {
    for size_ns in [300_000, 400_000_000] {
        let mut device = Device::new(7, 0, 0);
        device.clock = device.clock.with_step(NOW_NS + 25_000_000_000, Span::from_nanos(size_ns));
        let found = clock(&device.play(6_000));
        holds(&found, &mut device).unwrap();
        assert!(found.windows.iter().all(|window| window.end_ns < NOW_NS + 26_000_000_000), "{found:?}");
        assert!((2..=3).contains(&found.windows.len()), "{found:?}");
        assert!(found.unusable(Unusable::Contradicts) > 0 && found.unusable(Unusable::AfterContradiction) > 3_000, "{found:?}");
    }
}

#[test]
fn what_cannot_be_is_refused_by_its_reason() {
    let mut times = Device::new(8, 0, 0).play(200);
    times[10].start_ns = 0;
    times[11].stop_ns = 0;
    times[12].stop_ns = u64::MAX;
    times[13].start_ns = times[13].stop_ns + 1;
    times[14].seen_ns = times[14].launched_ns.unwrap() - 1;
    times[15].start_ns -= 90_000_000;
    let found = GpuClock::of(&trace(&times, |at| if (13..=15).contains(&at) { at } else { 0 })).unwrap();
    let of = |reason| found.unusable(reason);
    assert_eq!((of(Unusable::Untold), of(Unusable::OutOfRange), of(Unusable::Backwards)), (2, 1, 2), "{found:?}");
    assert_eq!((of(Unusable::TooLong), of(Unusable::Contradicts), found.windows.len()), (1, 0, 1), "{found:?}");
}

#[test]
fn readings_of_the_host_that_are_off_widen_the_window() {
    let times = Device::new(9, 0, 0).play(300);
    let mut read = trace(&times, |_| 0);
    let width = |trace: &Trace| GpuClock::of(trace).unwrap().windows[0].width_ns();
    let exact = width(&read);
    read.provenance.clock_readings = (0..100)
        .map(|second| {
            let trace_ns = NOW_NS - 2_000_000_000 + second * 1_000_000_000;
            ClockReading { clock: HostClock::MonotonicRaw, trace_ns, ns: trace_ns - 5_000, width_ns: 700 }
        })
        .collect();
    // Wide, and left out of the clock.
    read.provenance.clock_readings[3].ns += 60_000;
    read.provenance.clock_readings[3].width_ns = 90_000;
    let off = width(&read) - exact;
    assert!((2 * 1_400 - 10..=2 * 1_400 + 10).contains(&off), "{off}");
}

#[test]
fn a_later_trace_of_the_rank_adds_its_windows() {
    let mut own = clock(&Device::new(10, 0, 0).play(300));
    let later = clock(&Device::new(11, 0, 0).play(9));
    own.join(later);
    assert_eq!((own.operations, own.windows.len(), own.lineless(NoLine::TooFew)), (309, 1, 1));
}
