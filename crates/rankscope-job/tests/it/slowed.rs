//! That a late rank's GPU was slowed down is said where it is certain which GPU was whose, and of nobody else's.

use rankscope_document::Document;
use rankscope_job::{Facts, HostGpus};
use rankscope_testkit::{Job as Synthetic, Straggler};
use rankscope_trace::{ClockReading, CounterSample, HostClock, Trace, TrackKey, TrackKind};
use serde_json::json;

use crate::answered::{analysed, synthetic, with_facts};

/// Four ranks, of which rank 2 is slow in each of eight steps. Each knows its device, and read its host's counter.
fn ranks() -> Vec<Trace> {
    let straggler = Some(Straggler { rank: 2, factor: 1.5 });
    let mut traces = synthetic(&Synthetic { ranks: 4, steps: 8, straggler, ..Synthetic::default() });
    for (rank, trace) in traces.iter_mut().enumerate() {
        let numbers: Vec<i64> =
            trace.tracks.iter().filter(|(_, track)| track.kind == TrackKind::Device).filter_map(number).collect();
        for number in numbers {
            trace.provenance.header.push((format!("device.{number}.uuid"), format!("\"{}\"", uuid(rank))));
        }
        let (from, to) = trace.bounds_ns().expect("it has spans");
        trace.provenance.clock_readings.extend([from, to].map(|ns| reading(ns, AHEAD_NS)));
    }
    traces
}

fn number((_, track): (rankscope_trace::TrackId, &rankscope_trace::Track)) -> Option<i64> {
    match track.key {
        TrackKey::Number(number) => Some(number),
        TrackKey::Text(_) => None,
    }
}

fn uuid(rank: usize) -> String {
    format!("{rank}-of-this-host")
}

/// Stamps of ranks are other than the counter's, and other than those of counters.
const AHEAD_NS: i64 = 40_000_000_000;

fn reading(trace_ns: i64, ahead_ns: i64) -> ClockReading {
    ClockReading { clock: HostClock::MonotonicRaw, trace_ns, ns: trace_ns - ahead_ns, width_ns: 40 }
}

/// Counters of the host of `ranks`, of which GPU `3 - rank` is the rank's. `slowed` says for how much of the time each rank's was. They were
/// watched from a while before the ranks to `watched` of their time.
fn counters(ranks: &[Trace], slowed: [f64; 4], watched: f64) -> Trace {
    let on_counter = |(from, to): (i64, i64)| (from - AHEAD_NS, to - AHEAD_NS);
    let bounds: Vec<(i64, i64)> = ranks.iter().filter_map(|trace| trace.bounds_ns().map(on_counter)).collect();
    let mut trace = Trace::default();
    let track = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(1));
    let ahead_ns = -700_000_000;
    trace.provenance.clock_readings.push(reading(0, ahead_ns));
    let mut sample = |name: &str, ns: i64, value: f64| {
        let (name, series) = (trace.strings.intern(name), trace.strings.intern(""));
        trace.counters.push(CounterSample { time_ns: ns + ahead_ns, name, series, track, value });
    };
    for (rank, (from, to)) in bounds.iter().enumerate() {
        sample(&format!("GPU {} slowed by heat", 3 - rank), from - 10_000_000, slowed[rank]);
        sample(&format!("GPU {} slowed by its power limit", 3 - rank), from - 10_000_000, 0.0);
        sample("CPU busy (cores)", from + ((to - from) as f64 * watched) as i64, 1.0);
    }
    for rank in 0..4 {
        trace.provenance.header.push((format!("counters.gpu.{}.uuid", 3 - rank), format!("\"{}\"", uuid(rank))));
    }
    trace
}

fn document(ranks: Vec<Trace>, counters: &[Trace]) -> Document {
    let mut facts = Facts::default();
    facts.gpus = counters.iter().filter_map(HostGpus::of).collect();
    analysed(with_facts(ranks, &facts), None).document("a job")
}

/// The same as torch.profiler and rankscope's handler leave it: the trace has no readings, and its header says which devices the process saw.
fn of_torch(mut trace: Trace, rank: usize) -> Trace {
    let (from, to) = trace.bounds_ns().expect("it has spans");
    let clock = [from - 90_000_000_000, to + 400_000]
        .map(|ns| json!({"sys_clock_ns": ns, "raw_clock_ns": ns - AHEAD_NS, "half_width_ns": 60}));
    // The others of the host are seen as well, and not worked on.
    let own = trace.tracks.iter().filter(|(_, track)| track.kind == TrackKind::Device).find_map(number).expect("a device");
    let devices =
        [json!({"index": own, "uuid": uuid(rank), "pci": "0000:c3:00.0"}), json!({"index": own + 1, "uuid": uuid(3 - rank)})];
    trace.provenance.clock_readings.clear();
    trace.provenance.header.retain(|(key, _)| !key.starts_with("device."));
    trace
        .provenance
        .header
        .push(("rankscope".to_owned(), json!({"rank": rank, "clock": clock, "devices": devices}).to_string()));
    trace
}

/// What is said of the one that stands out.
fn said(document: &Document) -> &str {
    assert_eq!(document.blame_groups.len(), 1, "{:?}", document.unanswered);
    &document.blame_groups[0].sentence
}

const LATE: &str = "Rank 2 makes others wait in most steps.";

#[test]
fn a_late_rank_whose_gpu_alone_was_slowed_down_is_told_so() {
    let ranks = ranks();
    for (slowed, others) in [(0.0, "never"), (0.05, "for 5.0\u{a0}% at most")] {
        let counters = counters(&ranks, [0.0, slowed, 0.8, 0.0], 1.1);
        let expected = format!(
            "{LATE} Its GPU was slowed by heat for 80.0\u{a0}% of the steps in which it was late, and those of the 3 other ranks whose GPU is known {others}."
        );
        assert_eq!(said(&document(ranks.clone(), &[counters])), expected);
    }
}

#[test]
fn traces_of_torch_tell_whose_gpu_it_was_as_recordings_do() {
    let ranks = ranks();
    let counters = counters(&ranks, [0.0, 0.0, 0.8, 0.0], 1.1);
    let by_recordings = document(ranks.clone(), std::slice::from_ref(&counters));
    let torch: Vec<Trace> = ranks.into_iter().enumerate().map(|(rank, trace)| of_torch(trace, rank)).collect();
    assert_eq!(said(&document(torch.clone(), std::slice::from_ref(&counters))), said(&by_recordings));
    assert!(said(&by_recordings).contains("slowed by heat"));
    let told_twice = torch.into_iter().map(|mut trace| {
        trace.provenance.header.extend((0..8).map(|number| (format!("device.{number}.uuid"), "\"another\"".to_owned())));
        trace
    });
    assert_eq!(said(&document(told_twice.collect(), &[counters])), LATE, "what is contradicted is not known");
}

#[test]
fn nothing_is_said_where_gpus_explain_no_difference() {
    let ranks = ranks();
    for (what, slowed) in [
        ("all are slowed", [1.0; 4]),
        ("another one is", [0.0, 1.0, 0.0, 0.0]),
        ("the one of its number is", [0.0, 0.0, 0.0, 1.0]),
        ("one more is", [0.0, 0.0, 1.0, 0.2]),
        ("it is hardly", [0.0, 0.0, 0.3, 0.0]),
    ] {
        assert_eq!(said(&document(ranks.clone(), &[counters(&ranks, slowed, 1.1)])), LATE, "{what}");
    }
}

#[test]
fn nothing_is_said_where_it_is_not_certain_whose_gpu_it_was_or_when() {
    let slowed = [0.0, 0.0, 1.0, 0.0];
    let ranks = ranks();
    let plain = || counters(&ranks, slowed, 1.1);
    let of_counters = |counters: Vec<Trace>| said(&document(ranks.clone(), &counters)).to_owned();
    let of_ranks = |change: fn(&mut Trace, usize)| {
        let mut changed = ranks.clone();
        changed.iter_mut().enumerate().for_each(|(rank, trace)| change(trace, rank));
        said(&document(changed, &[plain()])).to_owned()
    };
    assert_ne!(of_counters(vec![plain()]), LATE, "but for what follows it is");
    assert_eq!(of_counters(vec![plain(), plain()]), LATE, "two hosts have a GPU of that UUID");
    assert_eq!(of_counters(vec![counters(&ranks, slowed, 0.3)]), LATE, "it was not watched for most of the steps");
    let unread = {
        let mut counters = plain();
        counters.provenance.clock_readings.clear();
        counters
    };
    assert_eq!(of_counters(vec![unread]), LATE, "nobody knows when that was");
    assert_eq!(of_ranks(|trace, _| trace.provenance.header.clear()), LATE, "no rank knows its device");
    assert_eq!(
        of_ranks(|trace, rank| if rank != 2 {
            trace.provenance.header.clear()
        }),
        LATE,
        "no other rank does"
    );
    assert_eq!(
        of_ranks(|trace, rank| if rank == 2 {
            trace.provenance.clock_readings.clear()
        }),
        LATE,
        "its clock is not the host's"
    );
    let of_two_processes = |trace: &mut Trace, rank: usize| {
        let two: Vec<_> =
            trace.provenance.header.iter().map(|(key, _)| (key.clone(), format!("\"{}\"", uuid(3 - rank)))).collect();
        trace.provenance.header.extend(two);
    };
    assert_eq!(of_ranks(of_two_processes), LATE, "a number stands for two devices");
}
