//! A scheduled profiler over the real recorder: every step that is recorded is recorded whole, under its own number.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::cell::RefCell;

use rankscope_formats::recording::{ArgView, What};
use rankscope_record::schedule::{
    Cycle, ProfilerAction, ProfilerError, Schedule, ScheduleWarning, ScheduledProfiler, StepError,
};
use rankscope_record::{Recorded, SessionOptions, Storage, ThreadFilter, record_op};

/// Steps as recorded: the number of each, and of the step that each operator in it was called in.
type Steps = Vec<(i64, Vec<i64>)>;

fn steps(recorded: &Recorded) -> Steps {
    let recording = recorded.open().unwrap();
    let (mut steps, mut depth) = (Steps::new(), 0);
    for thread in recording.threads().iter().filter(|thread| recorded.cut().has_stream(thread.stream)) {
        let mut replay = recording.replay(thread, recorded.cut());
        while let Some((event, args)) = replay.next() {
            match event.what {
                What::Begin { number: Some(number), .. } => {
                    assert_eq!((depth, &*recording.names()[event.name.0 as usize].text), (0, "ProfilerStep"));
                    steps.push((number, Vec::new()));
                    depth += 1;
                }
                What::Begin { number: None, .. } => {
                    assert_eq!(depth, 1, "an operator outside of all steps");
                    let called_in = args.iter().find_map(|(_, value)| match value {
                        ArgView::I64(step) => Some(step),
                        _ => None,
                    });
                    steps.last_mut().unwrap().1.push(called_in.unwrap());
                    depth += 1;
                }
                What::End { unfinished, .. } => {
                    assert!(!unfinished, "a step was cut");
                    depth -= 1;
                }
                _ => {}
            }
        }
    }
    steps
}

fn run_ops(step: u64) {
    for _ in 0..3 {
        let _op = record_op!("op", step = step as i64);
    }
}

fn here() -> SessionOptions {
    SessionOptions::default().with_threads(ThreadFilter::Current)
}

/// What each cycle holds, when the program runs so many steps and a device stops in those given.
fn cycles(schedule: Schedule, count: u64, stops: &[u64]) -> Vec<(Vec<u64>, Steps)> {
    let seen = RefCell::new(Vec::new());
    let take = |cycle: &Cycle| {
        let stopped = cycle.stopped.as_ref().expect("memory is to be had");
        seen.borrow_mut().push((cycle.steps.clone().collect(), steps(&stopped.recorded)));
    };
    let mut profiler = ScheduledProfiler::new(here(), schedule).on_trace_ready(take);
    let device = profiler.device_stop();
    profiler.start().unwrap();
    for step in 0..count {
        assert_eq!(profiler.step_number(), step);
        run_ops(step);
        if stops.contains(&step) {
            device.stopped();
        }
        profiler.step().unwrap();
    }
    run_ops(count);
    drop(profiler);
    seen.into_inner()
}

/// What a cycle over these steps must hold: each once, in order, with the operators of that step and no other.
fn whole(steps: &[u64]) -> (Vec<u64>, Steps) {
    (steps.to_vec(), steps.iter().map(|step| (*step as i64, vec![*step as i64; 3])).collect())
}

#[test]
fn each_step_holds_its_own_operators_across_cycles() {
    let schedule = Schedule::cycle(1, 1, 2).unwrap().after(3).repeated(3);
    assert_eq!(cycles(schedule, 20, &[]), [whole(&[5, 6]), whole(&[9, 10]), whole(&[13, 14])]);
}

#[test]
fn cycles_without_a_gap_share_no_step() {
    assert_eq!(cycles(Schedule::cycle(0, 0, 1).unwrap(), 2, &[]), [whole(&[0]), whole(&[1]), whole(&[2])]);
    assert_eq!(cycles(Schedule::cycle(0, 1, 1).unwrap(), 4, &[]), [whole(&[1]), whole(&[3])]);
}

#[test]
fn leaving_early_hands_over_what_there_is() {
    assert_eq!(cycles(Schedule::cycle(1, 1, 4).unwrap(), 3, &[]), [whole(&[2, 3])]);
    assert_eq!(cycles(Schedule::cycle(1, 3, 4).unwrap(), 2, &[]), []);
}

#[test]
fn a_stopped_device_ends_its_cycle_and_not_the_next() {
    let schedule = Schedule::cycle(1, 1, 3).unwrap();
    assert_eq!(cycles(schedule, 9, &[2]), [whole(&[2]), whole(&[7, 8, 9])]);
    assert_eq!(cycles(schedule, 9, &[1]), [whole(&[]), whole(&[7, 8, 9])]);
    assert_eq!(cycles(schedule, 9, &[0, 4, 5]), [whole(&[2, 3, 4]), whole(&[7, 8, 9])]);
}

#[test]
fn earlier_cycles_are_kept_only_when_asked_for() {
    let schedule = Schedule::cycle(1, 0, 1).unwrap();
    for (accumulates, kept) in [(false, 1), (true, 3)] {
        let mut profiler = ScheduledProfiler::new(here(), schedule);
        if accumulates {
            profiler = profiler.accumulate();
        }
        profiler.start().unwrap();
        for step in 0..6 {
            run_ops(step);
            profiler.step().unwrap();
        }
        profiler.stop().unwrap();
        assert_eq!(profiler.cycles().len(), kept);
        assert_eq!(profiler.cycles().last().unwrap().number, 2);
        assert_eq!(profiler.warnings(), [ScheduleWarning::NoWarmup]);
    }
}

#[test]
fn what_a_plan_does_wrong_is_told() {
    let plan =
        |step| [ProfilerAction::Warmup, ProfilerAction::None, ProfilerAction::Record, ProfilerAction::None][step as usize];
    let mut calls = 0;
    let mut profiler = ScheduledProfiler::with_plan(here(), plan).on_trace_ready(|_| calls += 1);
    assert!(matches!(profiler.step(), Err(ProfilerError::Step(StepError::NotStarted))));
    profiler.start().unwrap();
    assert!(matches!(profiler.start(), Err(ProfilerError::Step(StepError::AlreadyStarted))));
    for _ in 0..3 {
        profiler.step().unwrap();
    }
    assert_eq!(profiler.warnings(), [ScheduleWarning::WarmedUpForNothing, ScheduleWarning::Discarded]);
    drop(profiler);
    assert_eq!(calls, 0);
}

#[test]
fn a_recorder_that_cannot_start_lets_the_steps_go_by() {
    let storage = Storage::File("/nowhere/at/all.rkl".into());
    let options = here().with_storage(storage);
    let mut traces = Vec::new();
    let mut profiler = ScheduledProfiler::new(options, Schedule::cycle(1, 0, 1).unwrap())
        .on_trace_ready(|cycle| traces.push(cycle.stopped.is_some()));
    profiler.start().unwrap();
    assert!(matches!(profiler.step(), Err(ProfilerError::Start(_))));
    profiler.step().unwrap();
    assert_eq!((profiler.step_number(), profiler.action()), (2, Some(ProfilerAction::None)));
    drop(profiler);
    assert_eq!(traces, [false]);
}
