//! Recordings of real queueing under injected clocks: accuracy, the origin's estimator, bad stamps, and bounds.
//!
//! Both ends of a recording were stamped by one kernel clock, so the clock that is put on it is the truth. A load that nobody
//! recorded is put together from the way there of one recording and the way back of another.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use flate2::read::GzDecoder;
use rankscope_clock::fit::{Estimator, FitOptions, fit_window};
use rankscope_clock::replay::{Impairment, bend, impair};
use rankscope_clock::simulate::SimClock;
use rankscope_clock::{Exchange, HostInstant, Rng, probe_log};
use rankscope_time::{Rate, Span};

use super::outcome::{Outcome, quantile};
use super::row::{Row, rounded};

pub(super) const WINDOW: Span = Span::from_nanos(4_000_000_000);
pub(super) const NO_CORPUS: &str = "no corpus";
const LOADS: [&str; 3] = ["idle", "load40", "load80"];
const GAPS: [&str; 2] = ["gap20us", "gap800us"];
const LYING: Impairment =
    Impairment { early_stamps: 0.01, early_mean_ns: 400.0, stamp_noise_ns: 0.0, loss: 0.1, reorder: 0.05, duplicates: 0.01 };
const HONEST: Impairment =
    Impairment { early_stamps: 0.0, early_mean_ns: 0.0, stamp_noise_ns: 0.0, loss: 0.0, reorder: 0.0, duplicates: 0.0 };
/// The origin's estimator is a thousand times slower, and its errors a thousand times greater: few clocks show them.
const SVM_CLOCKS: u64 = 2;

const G1_GOAL: &str = "error p99 <= 80 ns, max <= 150 ns; skew <= 50 ppb";
const G2_GOAL: &str = "mean error under load at least 100 times smaller";
const G4_GOAL: &str = "error p99 <= 150 ns";
const G5_GOAL: &str = "coverage 100 %; width <= shortest round trip + drift allowance; bad stamps never silently trusted";

/// The recordings by load, each with both gaps; nothing where there is no corpus.
pub(super) fn recordings() -> Result<Option<[[Vec<Exchange>; 2]; 3]>> {
    let Some(corpus) = std::env::var_os("RANKSCOPE_CORPUS") else { return Ok(None) };
    let mut all: [[Vec<Exchange>; 2]; 3] = Default::default();
    for (load, name) in all.iter_mut().zip(LOADS) {
        for (log, gap) in load.iter_mut().zip(GAPS) {
            *log = read(&Path::new(&corpus).join(format!("probes/{gap}_{name}.tsv.gz")))?;
        }
    }
    Ok(Some(all))
}

fn read(path: &Path) -> Result<Vec<Exchange>> {
    let file = File::open(path).with_context(|| format!("failed to open {}", path.display()))?;
    let mut bytes = Vec::new();
    GzDecoder::new(file).read_to_end(&mut bytes).with_context(|| format!("failed to read {}", path.display()))?;
    let log = probe_log::parse(&bytes);
    if log.exchanges.is_empty() {
        bail!("{} holds no exchange", path.display());
    }
    Ok(log.exchanges)
}

/// G1, G2, G4 and G5.
pub(super) fn rows(clocks: u64) -> Result<Vec<Row>> {
    let Some([idle, half, full]) = recordings()? else {
        let skipped = |id, goal| Row::new(id, "recorded logs", goal).skipped(NO_CORPUS);
        return Ok(vec![skipped("G1", G1_GOAL), skipped("G2", G2_GOAL), skipped("G4", G4_GOAL), skipped("G5", G5_GOAL)]);
    };
    let unseen = [mixture(&full[0], &idle[0]), mixture(&half[1], &full[1])];
    let mut rows = Vec::new();
    let (mut honest, mut lying, mut loaded) = (Outcome::default(), Outcome::default(), Outcome::default());
    for (name, logs) in [("idle", &idle), ("40 % load", &half), ("80 % load", &full), ("unseen, asymmetric load", &unseen)] {
        eprintln!("measuring recordings: {name}");
        let outcome = trial(logs, &HONEST, Estimator::Band, clocks);
        rows.push(accuracy(Row::new("G1", format!("pair, {name}"), G1_GOAL), &outcome, (80, 150), Some(50.0)));
        honest.absorb(&outcome);
        lying.absorb(&trial(logs, &LYING, Estimator::Band, clocks));
    }
    eprintln!("measuring the origin's estimator");
    let mut svm = Outcome::default();
    for logs in [&half, &full] {
        svm.absorb(&trial(logs, &HONEST, Estimator::Svm, clocks.min(SVM_CLOCKS)));
        loaded.absorb(&trial(logs, &HONEST, Estimator::Band, clocks.min(SVM_CLOCKS)));
    }
    rows.push(against_svm(&loaded, &svm));
    let what = "1 % early stamps, 10 % loss, 5 % reordered, 1 % duplicates";
    rows.push(accuracy(Row::new("G4", what, G4_GOAL), &lying, (150, i64::MAX), None));
    rows.push(bounds(&honest, &lying));
    Ok(rows)
}

fn accuracy(row: Row, outcome: &Outcome, (p99_ns, max_ns): (i64, i64), skew_ppb: Option<f64>) -> Row {
    let at = |part| quantile(&outcome.offset_errors_ns, part);
    let (p99, max) = (at(0.99), at(1.0));
    let within = |value: Option<i64>, most| value.is_some_and(|value| value <= most);
    let skew_holds = skew_ppb.is_none_or(|most| outcome.skew_error_max_ppb <= most);
    row.figure("windows", outcome.windows)
        .figure("p50_ns", at(0.5))
        .figure("p99_ns", p99)
        .figure("max_ns", max)
        .figure("skew_error_max_ppb", rounded(outcome.skew_error_max_ppb))
        .figure("without_line", outcome.without_line)
        .holds(within(p99, p99_ns) && within(max, max_ns) && skew_holds && outcome.without_line == 0)
}

fn against_svm(ours: &Outcome, svm: &Outcome) -> Row {
    let ratio = svm.mean_ns() / ours.mean_ns();
    Row::new("G2", "the origin's estimator (SVM, C = 1, 20 % filter) on the loaded logs", G2_GOAL)
        .figure("windows", svm.windows)
        .figure("svm_mean_ns", rounded(svm.mean_ns()))
        .figure("mean_ns", rounded(ours.mean_ns()))
        .figure("ratio", rounded(ratio))
        .holds(ratio >= 100.0)
}

fn bounds(honest: &Outcome, lying: &Outcome) -> Row {
    Row::new("G5", "bounds of G1, and of G4 where stamps lie", G5_GOAL)
        .figure("coverage", rounded(honest.coverage()))
        .figure("missed", honest.uncovered)
        .figure("degraded", honest.degraded)
        .figure("width_p50_ns", quantile(&honest.widths_ns, 0.5))
        .figure("width_max_ns", quantile(&honest.widths_ns, 1.0))
        .figure("too_wide", honest.too_wide)
        .figure("lying_windows", lying.windows)
        .figure("lying_degraded", lying.degraded)
        .figure("lying_missed", lying.uncovered)
        .holds(honest.uncovered == 0 && honest.too_wide == 0 && honest.degraded == 0 && lying.uncovered == 0)
}

/// Fits all windows of `logs` under `clocks` injected clocks, each time cut at another place.
fn trial(logs: &[Vec<Exchange>], impairment: &Impairment, estimator: Estimator, clocks: u64) -> Outcome {
    let options = FitOptions::usual(estimator);
    let mut outcome = Outcome::default();
    for (exchanges, seed) in logs.iter().flat_map(|log| (0..clocks).map(move |seed| (log, seed))) {
        let mut clock = some_clock(exchanges, seed);
        let skipped = Rng::lane(seed, 2).below(800) as usize;
        let bent = impair(&bend(exchanges.get(skipped..).unwrap_or_default(), &mut clock), impairment, seed);
        let mut before = None;
        for window in probe_log::cut(bent, WINDOW).iter().filter(|window| is_whole(window)) {
            let found = fit_window(window, before.as_ref(), &options);
            outcome.add(&found, &mut clock, options.skew_change_ppb_per_s);
            before = found.fits.into_iter().flatten().last();
        }
    }
    outcome
}

/// Whether a window is more than what an odd start left of a recording.
fn is_whole(window: &[Exchange]) -> bool {
    let at = |exchange: &Exchange| exchange.forward[0].sent.map(HostInstant::nanos_since_epoch);
    let last = window.last().and_then(at);
    window.first().and_then(at).zip(last).is_some_and(|(first, last)| last - first > WINDOW.as_nanos() * 3 / 4)
}

/// A clock that is up to 5 s and 50 ppm off and wanders by 10 ppb per root second.
pub(super) fn some_clock(exchanges: &[Exchange], seed: u64) -> SimClock {
    let mut rng = Rng::lane(seed, 1);
    let offset = Span::from_nanos(((2.0 * rng.unit() - 1.0) * 5e9) as i64);
    let skew = Rate::from_ppb(((2.0 * rng.unit() - 1.0) * 5e4) as i64);
    // The walk begins well before the first stamp, where it is defined on both sides of any instant asked for.
    SimClock::new(first_ns(exchanges) - 1_000_000_000, offset, skew, 10.0, seed)
}

/// The first stamp of `a`.
pub(super) fn first_ns(exchanges: &[Exchange]) -> i64 {
    exchanges.iter().find_map(|exchange| exchange.forward[0].sent).map_or(0, HostInstant::nanos_since_epoch)
}

/// The way there of one recording, and the way back of another as if it had been recorded at the same time.
fn mixture(there: &[Exchange], back: &[Exchange]) -> Vec<Exchange> {
    let apart = Span::from_nanos(first_ns(there) - first_ns(back));
    let mixed = there.iter().zip(back).map(|(there, back)| {
        let mut mixed = Exchange { reverse: back.reverse, ..*there };
        for passage in &mut mixed.reverse {
            passage.sent = passage.sent.map(|at| at + apart);
            passage.received = passage.received.map(|at| at + apart);
        }
        mixed
    });
    mixed.collect()
}
