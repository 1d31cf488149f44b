//! Jobs whose truth is known: what is judged of their parts has to find it again.

use std::collections::BTreeMap;

use rankscope_analyze::ClassMode;
use rankscope_document::{ClockMethod, Document, Time};
use rankscope_job::{Rules, select_rank};
use rankscope_testkit::{Categories, Dialect, Job, Metadata, NodeClock, Stamps, Straggler, TopLevel};
use rankscope_time::Rank;

use crate::bench::{document, json, parts, report};

/// How often each rank came last, over the collectives that all of their ranks recorded.
fn truth(job: &Job) -> BTreeMap<u32, u64> {
    let truth = job.truth().last_arrivals();
    (0..).zip(truth).filter(|(_, count)| *count > 0).map(|(rank, count)| (rank, u64::from(count))).collect()
}

fn straggling() -> Job {
    Job { ranks: 4, steps: 4, straggler: Some(Straggler { rank: 2, factor: 1.3 }), ..Job::default() }
}

fn late(document: &Document) -> Vec<u32> {
    document.verdict.late.iter().map(|late| late.rank).collect()
}

fn assert_adds_up(time: &Time) {
    let classes = [time.computation, time.exposed_comm, time.exposed_memcpy, time.idle];
    assert_eq!(classes.iter().sum::<i64>(), time.total, "{time:?}");
    assert!(classes.iter().all(|class| *class >= 0), "{time:?}");
}

#[test]
fn time_is_accounted_to_the_nanosecond_in_every_dialect() {
    let job = Job { ranks: 3, ..straggling() };
    let truth = job.truth().times;
    for (name, dialect) in Dialect::all().into_iter().filter(|(_, dialect)| dialect.stamps == Stamps::FractionalMicros) {
        for (classes, fills_compute) in [(ClassMode::Default, false), (ClassMode::Tracelens, true)] {
            let document = document(parts(&job, &dialect, &Rules::new(classes, vec![], false)), None);
            for (rank, truth) in document.ranks.iter().zip(&truth) {
                let truth = if fills_compute { truth.fills_as_compute } else { truth.fills_as_copies };
                let time = &rank.time_ns;
                assert_adds_up(time);
                assert_eq!(time.computation, truth.computation, "{name}, {classes:?}");
                assert_eq!(time.exposed_comm, truth.exposed_comm, "{name}, {classes:?}");
                assert_eq!(time.exposed_memcpy, truth.exposed_memcpy, "{name}, {classes:?}");
                assert_eq!(time.total_comm, truth.total_comm, "{name}, {classes:?}");
                // All ranks are accounted over the time that any of them worked in.
                assert_eq!(time.total, document.ranks[0].time_ns.total, "{name}, {classes:?}");
                assert!(time.total >= truth.total, "{name}, {classes:?}");
                assert_eq!(rank.steps.len(), 4, "{name}");
                rank.steps.iter().for_each(|step| assert_adds_up(&step.time_ns));
            }
        }
    }
}

#[test]
fn durations_are_true_however_the_clocks_drift() {
    let far = NodeClock { offset_ns: 850_000, drift_ppb: 30_000 };
    let job = Job { gpus_per_node: 2, clocks: vec![NodeClock::default(), far], ..straggling() };
    let document = report(&job);
    assert!(document.clock.corrected);
    for (rank, truth) in document.ranks.iter().zip(&job.truth().times) {
        let (time, truth) = (&rank.time_ns, truth.fills_as_copies);
        let found = (time.computation, time.exposed_comm, time.exposed_memcpy, time.busy, time.total_comm, time.total_memcpy);
        let known =
            (truth.computation, truth.exposed_comm, truth.exposed_memcpy, truth.busy, truth.total_comm, truth.total_memcpy);
        assert_eq!(found, known, "rank {}", rank.rank);
    }
}

#[test]
fn the_straggler_is_named_in_every_dialect() {
    let job = straggling();
    for (name, dialect) in Dialect::all() {
        let document = document(parts(&job, &dialect, &Rules::default()), None);
        assert_eq!(late(&document), [2], "{name}");
        if dialect.stamps == Stamps::FractionalMicros {
            assert_eq!(document.collectives.last_arrivals, truth(&job), "{name}");
        }
        let found = dialect.top == TopLevel::Object;
        assert_eq!(document.world_size, found.then_some(job.ranks), "{name}");
    }
}

#[test]
fn the_straggler_is_named_whatever_the_files_say_about_collectives() {
    for metadata in [Metadata::Args, Metadata::ArgsAndSeq, Metadata::None] {
        let job = Job { metadata, ..straggling() };
        let document = report(&job);
        if metadata == Metadata::None {
            // An all-to-all is a kernel of sends and receives; without arguments nothing says that it is more.
            let lacking = &document.collectives.unmatched_list;
            assert!(!lacking.is_empty() && lacking.iter().all(|lacking| lacking.name == "send_recv"), "{lacking:?}");
        } else {
            assert_eq!(document.collectives.unmatched, 0, "{metadata:?}");
            assert_eq!(document.collectives.last_arrivals, truth(&job), "{metadata:?}");
        }
        let notes = &document.notes;
        assert!(notes.iter().any(|note| note.text.contains("Rank 2 is late")), "{metadata:?}: {notes:?}");
        assert_eq!(late(&document), [2], "{metadata:?}");
        let late = &document.verdict.late[0];
        assert!(late.lo_ns <= late.delay_wall_ns && late.delay_wall_ns <= late.hi_ns);
        assert!(late.hi_ns <= document.ranks[0].time_ns.total);
    }
}

#[test]
fn nobody_is_named_in_a_job_without_a_straggler() {
    for seed in 0..20 {
        let job = Job { ranks: 2 + seed as u32 % 7, steps: 4, python_frames: 0, seed, ..Job::default() };
        let document = report(&job);
        assert!(late(&document).is_empty(), "seed {seed}");
        assert!(document.verdict.reason.is_some(), "seed {seed}");
    }
}

#[test]
fn clocks_of_two_nodes_do_not_hide_the_straggler() {
    let far = NodeClock { offset_ns: 850_000, drift_ppb: 2_000 };
    let job = Job { ranks: 8, gpus_per_node: 4, clocks: vec![NodeClock::default(), far], ..straggling() };
    let document = report(&job);
    assert!(matches!(document.clock.method, ClockMethod::Collectives), "{:?}", document.clock.method);
    for offset in &document.clock.offsets {
        let expected = if offset.rank < 4 { 0 } else { 850_000 };
        assert!((offset.offset_ns - expected).abs() < 2_000, "{offset:?}");
    }
    let worst = document.collectives.ranks.iter().max_by_key(|rank| rank.delay_ns).expect("a rank");
    assert_eq!(worst.rank, 2);
}

#[test]
fn a_lost_collective_is_listed_and_the_rest_matched() {
    for missing in [vec![(3, 5)], vec![(3, 0), (3, 1), (3, 2), (3, 3)], vec![(0, 9), (3, 4)]] {
        let job = Job { missing: missing.clone(), ..straggling() };
        let collectives = report(&job).collectives;
        assert_eq!(collectives.unmatched, missing.len() as u64, "{missing:?}");
        assert_eq!(collectives.last_arrivals, truth(&job), "{missing:?}");
        for lacking in &collectives.unmatched_list {
            assert!(missing.iter().any(|(rank, _)| lacking.absent[0] == *rank), "{missing:?}: {lacking:?}");
        }
    }
}

#[test]
fn exposed_time_of_collectives_adds_up_to_the_ranks() {
    let document = report(&straggling());
    let by_group: i64 = document.collectives.groups.iter().map(|group| group.exposed_ns).sum();
    let by_rank: i64 = document.ranks.iter().map(|rank| rank.time_ns.exposed_comm).sum();
    assert_eq!(by_group, by_rank);
}

#[test]
fn one_step_and_one_rank_can_be_asked_for() {
    let all = parts(&straggling(), &Dialect::default(), &Rules::default());
    let (whole, mut step) = (document(all.clone(), None), document(all, Some(2)));
    select_rank(&mut step, Rank(1)).expect("it is there");
    assert_eq!(step.ranks.len(), 1);
    assert_eq!(step.ranks[0].time_ns, whole.ranks[1].steps[2].time_ns);
    assert!(step.collectives.matched < whole.collectives.matched && step.collectives.matched > 0);
}

#[test]
fn device_work_alone_gives_the_same_figures() {
    let job = straggling();
    for (name, dialect) in Dialect::all().into_iter().filter(|(_, dialect)| dialect.categories == Categories::Current) {
        let of = |devices_only| document(parts(&job, &dialect, &Rules::new(ClassMode::Default, vec![], devices_only)), None);
        let (whole, device) = (of(false), of(true));
        assert_eq!(whole.ranks[0].time_ns, device.ranks[0].time_ns, "{name}");
        assert_eq!(json(&whole.ranks[0].steps), json(&device.ranks[0].steps), "{name}");
        assert_eq!(json(&whole.collectives), json(&device.collectives), "{name}");
        assert!(device.ranks[0].events < whole.ranks[0].events, "{name}");
    }
}
