//! Orders in which NCCL tells things, and what comes out.

use proptest::prelude::*;

use super::*;

fn record(tick: u64, phase: Phase, sort: Sort, handle: u32, link: u32, value: u64) -> Record {
    let (function, channel) = if sort == Sort::Coll { (Function::AllReduce as u8, 2) } else { (0, 0) };
    Record { tick, sort, phase, comm: 4, function, element: 0, channel, handle, link, value }
}

/// A collective of two channels: called at 100, enqueued from 200 to 210, on the GPU from 5_000 to 6_000, done at 320.
fn normal() -> Vec<Record> {
    vec![
        record(100, Phase::Start, Sort::CollApi, 1, 0, 0),
        record(120, Phase::Stop, Sort::CollApi, 1, 0, 0),
        record(200, Phase::Start, Sort::Coll, 2, 7, 1024),
        record(200, Phase::More, Sort::Coll, 2, 1, 0),
        record(210, Phase::Stop, Sort::Coll, 2, 0, 0),
        record(300, Phase::Start, Sort::KernelCh, 3, 2, 5_000),
        record(301, Phase::Start, Sort::KernelCh, 4, 2, 5_010),
        record(310, Phase::GpuStop, Sort::KernelCh, 3, 0, 5_900),
        record(311, Phase::Stop, Sort::KernelCh, 3, 0, 0),
        record(319, Phase::GpuStop, Sort::KernelCh, 4, 0, 6_000),
        record(320, Phase::Stop, Sort::KernelCh, 4, 0, 0),
    ]
}

fn composed(records: &[Record]) -> Vec<Done> {
    let (mut composer, mut done) = (Composer::new(true), Vec::new());
    records.iter().for_each(|record| composer.take(record, &mut done));
    composer.finish(&mut done);
    done
}

#[test]
fn a_rank_arrives_at_its_call_and_is_done_with_its_last_channel() {
    let done = composed(&normal());
    assert_eq!(done.len(), 1);
    let Done { arrived_tick, enqueued_tick, done_tick, gpu, operation, .. } = done[0];
    assert_eq!((arrived_tick, enqueued_tick, done_tick), (100, 210, Some(320)));
    let expected = GpuTimes { launched_tick: Some(100), start_ns: 5_000, stop_ns: 6_000, seen_tick: 319 };
    assert_eq!(gpu, Some(expected));
    assert_eq!((operation.function, operation.sequence, operation.count), (Function::AllReduce, 7, 1024));
}

/// The normal one in a group of calls, whose launches are at these ticks.
fn launched(ticks: &[u64]) -> Vec<Record> {
    let mut records = normal();
    records[0].link = 50;
    let launches = ticks.iter().zip(60..).map(|(tick, handle)| record(*tick, Phase::Start, Sort::KernelLaunch, handle, 50, 0));
    records.splice(2..2, launches);
    records.sort_by_key(|record| record.tick);
    records
}

#[test]
fn the_first_launch_of_the_calls_group_is_before_its_kernel() {
    let launched_tick = |records: &[Record]| composed(records)[0].gpu.and_then(|gpu| gpu.launched_tick);
    assert_eq!(launched_tick(&launched(&[150, 160])), Some(150));
    // One before the call is another's, one behind the operation's start may be of an operation behind it.
    assert_eq!(launched_tick(&launched(&[90])), Some(100));
    assert_eq!(launched_tick(&launched(&[205])), Some(100));
    let mut elsewhere = launched(&[150]);
    elsewhere[0].link = 51;
    assert_eq!(launched_tick(&elsewhere), Some(100), "of another group");
    assert_eq!(launched_tick(&normal()[2..]), None, "it was enqueued after who knows what");
    let (mut composer, mut done) = (Composer::new(true), Vec::new());
    composer.lose();
    launched(&[150]).iter().for_each(|record| composer.take(record, &mut done));
    assert_eq!(done[0].gpu.and_then(|gpu| gpu.launched_tick), Some(100), "an earlier launch may be lost");
}

#[test]
fn times_that_make_no_sense_are_told_as_they_are() {
    let with = |change: fn(&mut Record)| {
        let mut records = normal();
        records.iter_mut().for_each(change);
        composed(&records)[0].gpu.expect("a stop was told")
    };
    let untold = with(|record| record.value *= u64::from(record.phase != Phase::GpuStop));
    assert_eq!((untold.stop_ns, untold.seen_tick, untold.in_order()), (0, 310, None));
    let backwards = with(|record| record.value = if record.phase == Phase::GpuStop { 4_000 } else { record.value });
    assert_eq!((backwards.start_ns, backwards.stop_ns, backwards.in_order()), (5_000, 4_000, None));
}

#[test]
fn without_calls_it_arrives_when_it_is_enqueued() {
    assert_eq!(composed(&normal()[2..])[0].arrived_tick, 200);
}

#[test]
fn a_channel_that_never_stops_leaves_no_end() {
    let done = composed(&normal()[..9]);
    assert_eq!((done.len(), done[0].done_tick), (1, None), "one channel of two is still open");
}

#[test]
fn fewer_channels_than_were_announced_are_settled_after_a_while() {
    let (mut composer, mut done) = (Composer::new(true), Vec::new());
    for record in normal().iter().filter(|record| record.handle != 4) {
        composer.take(record, &mut done);
    }
    composer.settle(311, &mut done);
    assert!(done.is_empty());
    composer.settle(312, &mut done);
    assert_eq!(done[0].done_tick, Some(311));
}

#[test]
fn an_end_is_not_waited_for_where_none_is_told() {
    let (mut composer, mut done) = (Composer::new(false), Vec::new());
    normal()[..5].iter().for_each(|record| composer.take(record, &mut done));
    assert_eq!(done[0].done_tick, None);
}

#[test]
fn a_replayed_graph_arrives_each_time_it_runs() {
    let mut records = normal();
    records[0].value = 1;
    let again = normal()[2..].iter().map(|record| Record { tick: record.tick + 1_000, ..*record }).collect::<Vec<_>>();
    let done = composed(&[records, again].concat());
    assert_eq!(done.iter().map(|done| done.arrived_tick).collect::<Vec<_>>(), [200, 1_200]);
    assert!(done.iter().all(|done| done.graph_captured && done.gpu.is_some_and(|gpu| gpu.launched_tick.is_none())));
}

#[test]
fn a_communicator_that_ends_takes_its_operations_along() {
    let (mut composer, mut done) = (Composer::new(true), Vec::new());
    normal()[..5].iter().for_each(|record| composer.take(record, &mut done));
    composer.take(&Record { comm: 3, ..record(900, Phase::Finalize, Sort::Group, 0, 0, 0) }, &mut done);
    assert!(done.is_empty(), "another one");
    composer.take(&record(900, Phase::Finalize, Sort::Group, 0, 0, 0), &mut done);
    assert_eq!((done.len(), done[0].done_tick), (1, None));
}

#[test]
fn what_is_held_is_bounded() {
    let (mut composer, mut done) = (Composer::new(true), Vec::new());
    for number in 0..3 * HELD_MAX as u32 {
        composer.take(&record(u64::from(number), Phase::Start, Sort::Coll, number + 1, number, 0), &mut done);
    }
    assert_eq!((composer.operations.len(), composer.by_handle.len(), done.len()), (HELD_MAX, HELD_MAX, 2 * HELD_MAX));
}

proptest! {
    /// Whatever is left out or comes in another order: every operation that starts comes out once, and none ends before it starts.
    #[test]
    fn every_operation_comes_out_once(picks in proptest::collection::vec((0_usize..11, 0_u32..3), 0..200)) {
        let all = normal();
        let records: Vec<Record> = picks
            .iter()
            .enumerate()
            .map(|(tick, (at, of))| {
                let record = all[*at];
                let moved = |number: u32| if number == 0 { 0 } else { number + 10 * of };
                let link = if record.sort == Sort::Coll && record.phase == Phase::Start { record.link } else { moved(record.link) };
                Record { tick: tick as u64, handle: moved(record.handle), link, ..record }
            })
            .collect();
        let started = records.iter().filter(|record| record.phase == Phase::Start && record.sort == Sort::Coll).count();
        let done = composed(&records);
        prop_assert_eq!(done.len(), started);
        for done in done {
            prop_assert!(done.enqueued_tick >= done.arrived_tick);
            prop_assert!(done.done_tick.is_none_or(|tick| tick >= done.arrived_tick));
        }
    }
}
