//! How fast spans move to another clock, for `cargo xtask bench align`, and what they take, for `cargo xtask instructions`.
//!
//! `move_spans time COUNT RUNS` moves so many spans, a sixteenth of them a rank, through a map of two stages with as many knots as
//! an hour of snapshots and windows has, and prints the median rates. `move_spans make|move COUNT` makes one such rank, or makes
//! and moves it, on one thread.
#![expect(clippy::print_stdout, reason = "a program talks to its reader")]

use std::hint::black_box;
use std::time::Instant as Watch;

use rankscope_align::apply;
use rankscope_time::{ClockMap, HostClock, Knot, RankClock, Rate, ReferenceClock};
use rankscope_trace::{CategoryKind, SpanRow, StrId, Trace, TrackKey, TrackKind};
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

type Map = ClockMap<RankClock, ReferenceClock>;

const RANKS: usize = 16;
const THREADS_A_RANK: usize = 8;

/// An hour, which is what the knots are for.
const LENGTH_NS: i64 = 3_600_000_000_000;
const START_NS: i64 = 1_790_857_026_000_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let map = map()?;
    match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["time", count, runs] => {
            let traces: Vec<Trace> = (0..RANKS).map(|rank| trace(rank as u64, count.parse().unwrap_or(0) / RANKS)).collect();
            let (all, one) = (ThreadPoolBuilder::new().build()?, ThreadPoolBuilder::new().num_threads(1).build()?);
            let [all_cores, one_core] = [&all, &one].map(|pool| rate(&traces, &map, pool, runs.parse().unwrap_or(1)));
            let cores = all.current_num_threads();
            println!("{{\"all_cores\":{all_cores},\"one_core\":{one_core},\"cores\":{cores}}}");
        }
        [what @ ("make" | "move"), count] => {
            let mut made = trace(0, count.parse()?);
            // The caller's own thread, which is the one that is counted.
            let pool = ThreadPoolBuilder::new().num_threads(1).use_current_thread().build()?;
            if what == "move" {
                pool.install(|| apply(&mut made, &map));
            }
            black_box(made);
        }
        _ => println!("usage: move_spans time COUNT RUNS | make COUNT | move COUNT"),
    }
    Ok(())
}

/// Events a second, the median of so many runs.
fn rate(traces: &[Trace], map: &Map, pool: &ThreadPool, runs: usize) -> f64 {
    let run = || {
        let mut moving = traces.to_vec();
        let watch = Watch::now();
        let events: u64 = pool.install(|| moving.par_iter_mut().map(|trace| apply(trace, map).events).sum());
        events as f64 / watch.elapsed().as_secs_f64()
    };
    let mut rates: Vec<f64> = (0..runs.max(1)).map(|_| run()).collect();
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// Snapshots every 400 ms against a clock that runs 10 ppm fast, and offsets every four seconds that wander.
fn map() -> Result<Map, rankscope_time::MapError> {
    let snapshot = |i: i64| {
        let at = i * 400_000_000;
        Knot { from_ns: START_NS + at, to_ns: START_NS + at - at / 100_000 + i % 7 * 11, uncertainty_ns: 30 }
    };
    let offset = |i: i64| {
        let at = i * 4_000_000_000;
        Knot { from_ns: START_NS - LENGTH_NS / 100_000 + at, to_ns: START_NS + at + i % 5 * 40, uncertainty_ns: 400 }
    };
    let knots = |count: i64, knot: &dyn Fn(i64) -> Knot| (0..count).map(knot).collect::<Vec<_>>();
    let rate = Rate::from_ppb(1_000);
    let to_host = ClockMap::<RankClock, HostClock>::from_knots(knots(LENGTH_NS / 400_000_000, &snapshot), rate)?;
    Ok(to_host.then(&ClockMap::from_knots(knots(LENGTH_NS / 4_000_000_000, &offset), rate)?))
}

/// Spans as a trace has them: by thread, in order of time, of a few lengths.
fn trace(seed: u64, spans: usize) -> Trace {
    let mut trace = Trace::default();
    let category = trace.category("cpu_op", CategoryKind::CpuOp);
    let each = (spans / THREADS_A_RANK).max(1);
    let step_ns = LENGTH_NS / each as i64;
    let mut state = seed;
    for thread in 0..THREADS_A_RANK {
        let track = trace.tracks.find_or_add(TrackKind::Thread, None, TrackKey::Number(thread as i64));
        for at in 0..each as i64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let start_ns = START_NS + at * step_ns + (state >> 40) as i64 % step_ns.max(1);
            let dur_ns = 1_000 << ((state >> 20) % 8);
            trace.spans.push(SpanRow { start_ns, dur_ns, name: StrId::EMPTY, track, category, offset: 0 });
        }
    }
    trace
}
