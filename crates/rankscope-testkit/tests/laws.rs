//! What holds for every job, whatever its parameters.

use rankscope_testkit::{Dialect, Job, Metadata, NodeClock, Stamps, Straggler, TopLevel};
use serde_json::Value;

fn jobs() -> Vec<(&'static str, Job)> {
    let clocks = vec![NodeClock::default(), NodeClock { offset_ns: -490_000, drift_ppb: -5_100 }];
    vec![
        ("default", Job::default()),
        ("one rank", Job { ranks: 1, ..Job::default() }),
        ("straggler", Job { ranks: 8, straggler: Some(Straggler { rank: 5, factor: 1.3 }), seed: 7, ..Job::default() }),
        ("two nodes", Job { ranks: 4, gpus_per_node: 2, clocks, end_noise_ns: 300_000, ..Job::default() }),
        ("groups", Job { ranks: 4, group_size: Some(2), metadata: Metadata::ArgsAndSeq, ..Job::default() }),
        ("gaps", Job { missing: vec![(1, 3), (2, 0), (2, 7)], odd_names: true, ..Job::default() }),
        ("bare", Job { metadata: Metadata::None, python_frames: 0, ops_per_step: 0, ..Job::default() }),
    ]
}

fn parse(job: &Job, rank: u32, dialect: &Dialect) -> Value {
    serde_json::from_slice(&job.rank_bytes(rank, dialect)).expect("valid JSON")
}

fn events(trace: &Value) -> &[Value] {
    trace.get("traceEvents").unwrap_or(trace).as_array().expect("a list of events")
}

fn of_category<'a>(trace: &'a Value, category: &str) -> Vec<&'a Value> {
    events(trace).iter().filter(|event| event["cat"] == category && event["ph"] == "X").collect()
}

/// Nanoseconds in a number of microseconds with three decimals, without passing through a float.
fn nanos(value: &Value) -> i64 {
    let text = value.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let fraction: i64 = format!("{fraction:0<3}")[..3].parse().expect("digits");
    whole.parse::<i64>().expect("digits") * 1_000 + fraction
}

#[test]
fn nobody_leaves_before_everybody_has_entered() {
    for (name, job) in jobs() {
        let truth = job.truth();
        assert!(!truth.collectives.is_empty(), "{name}");
        for collective in &truth.collectives {
            let first_end = collective.end_ns.iter().min().unwrap();
            assert!(collective.last_arrival_ns() < *first_end, "{name}, slot {}", collective.slot);
        }
    }
}

#[test]
fn the_same_job_gives_the_same_bytes() {
    for (name, job) in jobs() {
        assert_eq!(job.rank_bytes(0, &Dialect::default()), job.clone().rank_bytes(0, &Dialect::default()), "{name}");
        assert_eq!(job.truth(), job.truth(), "{name}");
    }
    let other = Job { seed: 2, ..Job::default() };
    assert_ne!(other.truth(), Job::default().truth());
}

#[test]
fn every_dialect_is_json_with_the_same_events() {
    let job = Job { steps: 2, odd_names: true, ..Job::default() };
    let reference = events(&parse(&job, 1, &Dialect::default())).len();
    for (name, dialect) in Dialect::all() {
        let trace = parse(&job, 1, &dialect);
        assert_eq!(events(&trace).len(), reference, "{name}");
        if dialect.top == TopLevel::Object {
            assert_eq!(trace["distributedInfo"]["rank"], 1, "{name}");
            let has_base = trace.get("baseTimeNanoseconds").is_some();
            assert_eq!(has_base, dialect.stamps == Stamps::FractionalMicros, "{name}");
        }
    }
}

#[test]
fn the_file_shows_the_truth_through_the_ranks_clock() {
    for (name, job) in jobs() {
        let truth = job.truth();
        for rank in 0..job.ranks {
            let trace = parse(&job, rank, &Dialect::default());
            let base = trace["baseTimeNanoseconds"].as_i64().unwrap();
            let kernels = of_category(&trace, "kernel");
            let mut shown: Vec<(i64, i64)> = kernels
                .into_iter()
                .filter(|kernel| kernel["name"].as_str().unwrap().starts_with("nccl"))
                .map(|kernel| (base + nanos(&kernel["ts"]), nanos(&kernel["dur"])))
                .map(|(start, duration)| (start, start + duration))
                .collect();
            let mut expected: Vec<(i64, i64)> = Vec::new();
            for collective in &truth.collectives {
                let Some(member) = collective.ranks.iter().position(|&member| member == rank) else { continue };
                if collective.recorded[member] {
                    let (start, end) = (collective.arrival_ns[member], collective.end_ns[member]);
                    expected.push((job.shown_ns(rank, start), job.shown_ns(rank, end)));
                }
            }
            shown.sort_unstable();
            expected.sort_unstable();
            assert_eq!(shown, expected, "{name}, rank {rank}");
        }
    }
}

#[test]
fn accounts_balance_and_every_class_occurs() {
    for (name, job) in jobs() {
        for time in job.truth().times {
            for account in [time.fills_as_copies, time.fills_as_compute] {
                let parts = account.computation + account.exposed_comm + account.exposed_memcpy;
                assert_eq!(parts, account.busy, "{name}");
                assert_eq!(parts + account.idle, account.total, "{name}");
            }
            let account = time.fills_as_copies;
            for part in [account.computation, account.exposed_memcpy, account.idle, account.total_comm] {
                assert!(part > 0, "{name}: {account:?}");
            }
        }
    }
    let hidden = Job::default().truth().times[0].fills_as_copies;
    assert!(hidden.exposed_comm > 0 && hidden.exposed_comm < hidden.total_comm, "overlap is partial: {hidden:?}");
}

#[test]
fn a_straggler_comes_last_nearly_always() {
    let job = Job { ranks: 8, straggler: Some(Straggler { rank: 5, factor: 1.3 }), ..Job::default() };
    let counts = job.truth().last_arrivals();
    assert_eq!(counts.iter().sum::<u32>(), job.steps * job.layers);
    assert!(counts[5] > job.steps * job.layers * 8 / 10, "{counts:?}");
}

#[test]
fn a_missing_collective_leaves_no_trace_but_counts_stay_known() {
    let whole = Job::default();
    let job = Job { missing: vec![(1, 4)], ..Job::default() };
    for category in ["kernel", "cuda_runtime", "gpu_user_annotation"] {
        let count = |job: &Job| of_category(&parse(job, 1, &Dialect::default()), category).len();
        assert_eq!(count(&job) + 1, count(&whole), "{category}");
    }
    assert_eq!(parse(&job, 0, &Dialect::default()), parse(&whole, 0, &Dialect::default()));
    assert_eq!(job.truth().last_arrivals().iter().sum::<u32>() + 1, whole.truth().last_arrivals().iter().sum::<u32>());
}

#[test]
fn work_on_one_row_nests_or_follows() {
    let job = Job { python_frames: 4, ..Job::default() };
    let trace = parse(&job, 2, &Dialect::default());
    let mut rows = std::collections::BTreeMap::<String, Vec<(i64, i64)>>::new();
    for event in events(&trace).iter().filter(|event| event["ph"] == "X" && event["cat"] != "Trace") {
        let row = format!("{} {}", event["pid"], event["tid"]);
        let start = nanos(&event["ts"]);
        rows.entry(row).or_default().push((start, -(start + nanos(&event["dur"]))));
    }
    for (row, mut spans) in rows {
        spans.sort_unstable();
        let mut open: Vec<i64> = Vec::new();
        for (start, end) in spans.into_iter().map(|(start, end)| (start, -end)) {
            open.retain(|&outer| outer > start);
            assert!(open.last().is_none_or(|&outer| end <= outer), "row {row}: [{start}, {end}] crosses {open:?}");
            open.push(end);
        }
    }
}

#[test]
fn every_kernel_follows_its_launch_and_has_an_arrow() {
    let trace = parse(&Job::default(), 0, &Dialect::default());
    let launches: std::collections::HashMap<u64, i64> = of_category(&trace, "cuda_runtime")
        .into_iter()
        .map(|launch| (launch["args"]["correlation"].as_u64().unwrap(), nanos(&launch["ts"])))
        .collect();
    let arrows = |phase: &str| -> Vec<u64> {
        let flows = events(&trace).iter().filter(|event| event["cat"] == "ac2g" && event["ph"] == phase);
        let mut ids: Vec<u64> = flows.map(|flow| flow["id"].as_u64().unwrap()).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(arrows("s"), arrows("f"));
    for category in ["kernel", "gpu_memcpy", "gpu_memset"] {
        for work in of_category(&trace, category) {
            let correlation = work["args"]["correlation"].as_u64().unwrap();
            assert!(launches[&correlation] < nanos(&work["ts"]), "{work}");
            assert!(arrows("s").contains(&correlation));
        }
    }
}

#[test]
fn a_large_rank_number_is_refused() {
    let refused = std::panic::catch_unwind(|| Job::default().rank_bytes(4, &Dialect::default()));
    assert!(refused.is_err());
}
