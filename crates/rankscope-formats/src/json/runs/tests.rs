use std::collections::{BTreeMap, BTreeSet};

use rankscope_testkit::{Dialect, Job};
use serde_json::Value;

use super::*;
use crate::{ArgsPolicy, ReadOptions, json};

fn ranks(job: &Job) -> Vec<Trace> {
    let options = ReadOptions { args: ArgsPolicy::All, ..ReadOptions::default() };
    (0..job.ranks).map(|rank| json::read(&*job.rank_bytes(rank, &Dialect::default()), &options).unwrap()).collect()
}

fn merged(traces: &[Trace]) -> Vec<u8> {
    let base_ns = json::base_ns(traces[0].bounds_ns().unwrap().0);
    let mut numbers = Numbers::default();
    let runs: Vec<Vec<u8>> = (0..)
        .zip(traces)
        .map(|(rank, trace)| {
            let mut run = Vec::new();
            let events = write_run(trace, Rank(rank), base_ns, &mut numbers, &mut run).unwrap();
            assert_eq!(events, trace.events() as u64);
            run
        })
        .collect();
    let mut out = Vec::new();
    let mut runs: Vec<&[u8]> = runs.iter().map(Vec::as_slice).collect();
    merge(&[], base_ns, &mut runs, &mut out).unwrap();
    out
}

fn events(file: &[u8]) -> Vec<Value> {
    let document: Value = serde_json::from_slice(file).unwrap();
    document["traceEvents"].as_array().unwrap().clone()
}

fn job() -> Job {
    Job { ranks: 3, ..Job::default() }
}

#[test]
fn events_of_all_ranks_come_in_order_of_time() {
    let traces = ranks(&job());
    let file = merged(&traces);
    let of_events = events(&file).into_iter().filter(|event| event["ph"] != "M");
    let times: Vec<f64> = of_events.map(|event| event["ts"].as_f64().unwrap()).collect();
    assert_eq!(times.len(), traces.iter().map(Trace::events).sum::<usize>());
    assert!(times.is_sorted());
    let again = json::read(&*file, &ReadOptions { args: ArgsPolicy::All, ..ReadOptions::default() }).unwrap();
    let spans = |trace: &Trace| {
        trace
            .spans
            .ids()
            .map(|span| (trace.spans.row(span).start_ns, trace.spans.row(span).dur_ns, trace.name(span).to_owned()))
            .collect::<Vec<_>>()
    };
    let (mut found, mut expected) = (spans(&again), traces.iter().flat_map(spans).collect::<Vec<_>>());
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn processes_and_flows_of_ranks_stay_apart() {
    let traces = ranks(&job());
    let mut flows: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let mut names = BTreeMap::new();
    for event in events(&merged(&traces)) {
        let rank = event["pid"].as_u64().unwrap() / PIDS;
        if event["ph"] == "s" || event["ph"] == "f" {
            flows.entry(event["id"].as_u64().unwrap()).or_default().insert(rank);
        }
        if event["name"] == "process_name" {
            let name = event["args"]["name"].as_str().unwrap().to_owned();
            assert!(name.starts_with(&format!("rank {rank}: ")), "{name}");
            assert_eq!(names.insert(event["pid"].as_u64().unwrap(), name), None);
        }
    }
    let ids: usize =
        traces.iter().map(|trace| trace.flows.iter().map(|point| (point.id, point.name)).collect::<BTreeSet<_>>().len()).sum();
    assert_eq!(flows.len(), ids);
    assert!(ids > 0 && flows.values().all(|ranks| ranks.len() == 1));
}

#[test]
fn a_thousand_processes_of_one_rank_do_not_reach_into_the_next() {
    let mut numbers = Numbers::default();
    let mut many = Trace::default();
    for key in 0..1_001 {
        many.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(key));
    }
    let first: BTreeSet<u64> = pids(&many, Rank(0), &mut numbers).into_values().collect();
    let second: BTreeSet<u64> = pids(&many, Rank(1), &mut numbers).into_values().collect();
    assert_eq!((first.len(), second.len()), (1_001, 1_001));
    assert!(first.is_disjoint(&second));
}

#[test]
fn a_run_that_is_cut_short_is_an_error() {
    let traces = ranks(&Job { ranks: 1, ..Job::default() });
    let mut run = Vec::new();
    write_run(&traces[0], Rank(0), 0, &mut Numbers::default(), &mut run).unwrap();
    assert!(merge(&[], 0, &mut [&run[..run.len() - 1]], &mut Vec::new()).is_err());
}
