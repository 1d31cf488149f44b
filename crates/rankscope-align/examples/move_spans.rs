//! Moving spans in memory.

use std::time::Instant as Watch;

use rankscope_align::apply;
use rankscope_time::{ClockMap, HostClock, Knot, RankClock, Rate, ReferenceClock};
use rankscope_trace::{CategoryKind, SpanRow, StrId, Trace, TrackKey, TrackKind};
use rayon::prelude::*;

/// Ten million, over sixteen ranks.
pub(super) const SPANS: usize = 10_000_000;
const RANKS: usize = 16;

/// An hour, which is what the knots are for.
const LENGTH_NS: i64 = 3_600_000_000_000;
const START_NS: i64 = 1_790_857_026_000_000_000;

/// Events a second.
pub(super) struct Moved {
    pub(super) all_cores: f64,
    pub(super) one_core: f64,
    pub(super) cores: usize,
}

/// Moves the spans `runs` times on all cores and on one; medians.
pub(super) fn measure(runs: usize) -> Moved {
    let map = map();
    let traces: Vec<Trace> = (0..RANKS).into_par_iter().map(|rank| trace(rank as u64)).collect();
    let run = |pool: &rayon::ThreadPool| {
        let mut rates: Vec<f64> = (0..runs)
            .map(|_| {
                let mut moving = traces.clone();
                let watch = Watch::now();
                let events: u64 = pool.install(|| moving.par_iter_mut().map(|trace| apply(trace, &map).events).sum());
                events as f64 / watch.elapsed().as_secs_f64()
            })
            .collect();
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    };
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be had");
    let all = pool(0);
    Moved { all_cores: run(&all), one_core: run(&pool(1)), cores: all.current_num_threads() }
}

/// Snapshots every 400 ms against a clock that runs 10 ppm fast, and offsets every four seconds that wander.
fn map() -> ClockMap<RankClock, ReferenceClock> {
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
    let to_host = ClockMap::<RankClock, HostClock>::from_knots(knots(LENGTH_NS / 400_000_000, &snapshot), rate);
    let to_reference = ClockMap::from_knots(knots(LENGTH_NS / 4_000_000_000, &offset), rate);
    to_host.expect("increasing").then(&to_reference.expect("increasing"))
}

/// Spans as a trace has them: by thread, in order of time, of a few lengths.
fn trace(seed: u64) -> Trace {
    let mut trace = Trace::default();
    let category = trace.category("cpu_op", CategoryKind::CpuOp);
    let tracks: Vec<_> =
        (0..8).map(|thread| trace.tracks.find_or_add(TrackKind::Thread, None, TrackKey::Number(thread))).collect();
    let each = SPANS / RANKS / tracks.len();
    let step_ns = LENGTH_NS / each as i64;
    let mut state = seed;
    for track in tracks {
        for at in 0..each as i64 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let start_ns = START_NS + at * step_ns + (state >> 40) as i64 % step_ns.max(1);
            let dur_ns = 1_000 << ((state >> 20) % 8);
            trace.spans.push(SpanRow { start_ns, dur_ns, name: StrId::EMPTY, track, category, offset: 0 });
        }
    }
    trace
}
