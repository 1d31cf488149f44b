//! Laws of every simulated job, and what each cause does to it.

use std::collections::BTreeMap;

use super::program::{Operation, Work};
use super::*;

/// One job of each kind, and clean ones.
fn jobs() -> Vec<Job> {
    let planted = CauseKind::ALL.into_iter().zip(10..).map(|(kind, seed)| Job::drawn_of(Some(kind), seed, 8));
    planted.chain((1..6).map(|seed| Job::drawn(None, seed))).collect()
}

fn name(job: &Job) -> String {
    format!("{:?} of seed {}", job.cause, job.seed)
}

#[test]
fn nothing_starts_before_what_it_depends_on() {
    for job in jobs() {
        for recording in simulate(&job) {
            let mut free: BTreeMap<u32, i64> = BTreeMap::new();
            for piece in &recording.pieces {
                let (start, end) = piece.times_ns();
                assert!(start > piece.launched_ns && end > start, "{}", name(&job));
                let before = free.insert(piece.launch.stream.number(), end);
                assert!(before.is_none_or(|free| start > free), "a stream does one thing at a time: {}", name(&job));
                let waits = piece.waits.iter().map(|wait| recording.pieces[*wait].times_ns().1);
                assert!(waits.into_iter().all(|end| start > end), "{}", name(&job));
            }
            assert!(recording.spans.iter().all(|span| span.end_ns > span.start_ns), "{}", name(&job));
        }
    }
}

#[test]
fn nobody_leaves_before_the_last_has_come() {
    for job in jobs() {
        // By dimension, first rank or sender, receiver, ordinal: the last to come and the first to leave.
        let mut met: BTreeMap<(u32, u32, u32, u32), (i64, i64)> = BTreeMap::new();
        for (rank, recording) in (0..).zip(simulate(&job)) {
            for piece in &recording.pieces {
                let Work::Exchange(exchange) = piece.launch.work else { continue };
                let (start, end) = piece.times_ns();
                let (key, end) = match (exchange.operation, exchange.peer) {
                    (Operation::Send, Some(peer)) => ((9, rank, peer, exchange.ordinal), i64::MAX),
                    (_, Some(peer)) => ((9, peer, rank, exchange.ordinal), end),
                    (_, None) => {
                        let first = job.layout.group(rank, exchange.dimension)[0];
                        ((exchange.dimension as u32, first, 0, exchange.ordinal), end)
                    }
                };
                let (came, left) = met.entry(key).or_insert((i64::MIN, i64::MAX));
                (*came, *left) = ((*came).max(start), (*left).min(end));
            }
        }
        assert!(!met.is_empty(), "{}", name(&job));
        assert!(met.values().all(|(came, left)| left > came), "{}", name(&job));
    }
}

#[test]
fn a_clean_job_is_balanced_and_hides_its_launches() {
    for seed in 1..6 {
        let job = Job { seed, ..Job::default() };
        let work: Vec<i64> = simulate(&job).iter().map(computed_ns).collect();
        let (least, most) = (work.iter().min().unwrap(), work.iter().max().unwrap());
        assert!((most - least) * 100 < *most, "{work:?}");
        let step_ns = job.truth().step_ns;
        let mean_ns = work.iter().sum::<i64>() / work.len() as i64 / i64::from(job.steps);
        assert!(mean_ns * 100 > step_ns * 90, "{mean_ns} of {step_ns}");
        assert_eq!(job.truth().worth_ns_per_step(), 0);
    }
}

fn computed_ns(recording: &Recording) -> i64 {
    let kernels = recording.pieces.iter().filter(|piece| matches!(piece.launch.work, Work::Kernel(_)));
    kernels.map(|piece| piece.times_ns()).map(|(start, end)| end - start).sum()
}

#[test]
fn every_cause_costs_time_and_says_where() {
    for kind in CauseKind::ALL {
        for seed in [1, 2, 3] {
            let job = Job::drawn_of(Some(kind), seed, 8);
            let truth = job.truth();
            let percent = truth.worth_ns_per_step() as f64 * 100.0 / truth.clean_step_ns as f64;
            assert!(percent > 3.0, "{}: {percent:.1} % of {}", name(&job), truth.clean_step_ns);
            assert_eq!(truth.kind, Some(kind));
            assert!(!truth.ranks.is_empty() && truth.ranks.iter().all(|rank| *rank < job.layout.ranks), "{}", name(&job));
            let mut trace = Vec::new();
            job.rank_json(truth.ranks[0], &mut trace).unwrap();
            let shown = String::from_utf8_lossy(&trace);
            for part in truth.names {
                assert!(shown.contains(part), "{part} is in no trace of {}", name(&job));
            }
        }
    }
}

#[test]
fn a_slow_loader_costs_what_it_takes() {
    for (every, expected) in [(1, 2_000_000), (4, 500_000)] {
        let cause = Some(Cause::DataLoader { rank: 2, ns: 2_000_000, every });
        let worth = Job { cause, ..Job::default() }.truth().worth_ns_per_step();
        assert!((worth - expected).abs() < expected / 20, "{worth} where {expected} was spent");
    }
}

#[test]
fn the_cause_changes_nothing_else() {
    let slow = Job { cause: Some(Cause::SlowKernel { rank: 2, part: Part::Attention, factor: 3.0 }), ..Job::default() };
    let clean = Job { cause: None, ..slow.clone() };
    for (rank, (slow, clean)) in simulate(&slow).iter().zip(simulate(&clean)).enumerate() {
        let lengths =
            |recording: &Recording| -> Vec<i64> { recording.pieces.iter().map(|piece| piece.launch.device_ns).collect() };
        let (slow, clean) = (lengths(slow), lengths(&clean));
        let changed = slow.iter().zip(&clean).filter(|(slow, clean)| slow != clean).count();
        assert_eq!(changed, if rank == 2 { 2 * 8 } else { 0 }, "rank {rank}: one kernel a layer and step");
    }
}

#[test]
fn a_seed_gives_the_same_bytes_and_another_one_others() {
    let job = Job::drawn_of(Some(CauseKind::SlowHost), 5, 4);
    assert_eq!(job.all_ranks(), job.clone().all_ranks());
    assert_ne!(job.all_ranks(), Job { seed: 6, ..job.clone() }.all_ranks());
}

#[test]
fn clocks_change_stamps_and_nothing_else() {
    let ahead = NodeClock { offset_ns: 3_000_000, drift_ppb: 0 };
    let job = Job { steps: 2, ..Job::default() };
    let wrong = Job { clocks: vec![NodeClock::default(), ahead], ..job.clone() };
    let stamps = |trace: &[u8]| -> Vec<i64> {
        let trace: serde_json::Value = serde_json::from_slice(trace).unwrap();
        let events = trace["traceEvents"].as_array().unwrap().iter();
        events.map(|event| (event["ts"].as_f64().unwrap() * 1e3).round() as i64).collect()
    };
    for (rank, (right, wrong)) in job.all_ranks().iter().zip(wrong.all_ranks()).enumerate() {
        let off: Vec<i64> = stamps(right).iter().zip(stamps(&wrong)).map(|(right, wrong)| wrong - right).collect();
        let expected = if rank < 4 { 0 } else { ahead.offset_ns };
        assert!(!off.is_empty() && off.iter().all(|off| (off - expected).abs() <= 1), "rank {rank}");
    }
}

#[test]
fn every_dialect_holds_the_same_events() {
    let job = Job { steps: 1, ..Job::drawn_of(None, 3, 8) };
    let run = job.run();
    let count = |dialect: &Dialect| run.rank_json(3, dialect, &mut Vec::new()).unwrap();
    let expected = count(&Dialect::default());
    for (name, dialect) in Dialect::all() {
        assert_eq!(count(&dialect), expected, "{name}");
    }
}
