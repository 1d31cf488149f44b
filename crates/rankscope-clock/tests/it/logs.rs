//! Recorded logs with injected clocks: how far the lines are off, and whether the guarantee holds.
//!
//! Both ends of the recordings were stamped by one kernel clock, so what is injected is the truth. Loads that were not recorded
//! are put together from the forward way of one recording and the way back of another.

#![expect(clippy::print_stdout, reason = "the table of figures")]

use std::fs::File;
use std::io::Read;
use std::path::Path;

use rankscope_clock::fit::{Estimator, FitOptions, fit_window};
use rankscope_clock::fit_log::fit_log;
use rankscope_clock::replay::{Impairment, bend, errors, impair};
use rankscope_clock::simulate::SimClock;
use rankscope_clock::{ClockEvent, EdgeFit, Exchange, HostInstant, Rng, probe_log};
use rankscope_time::{Rate, Span};

const SECOND_NS: i64 = 1_000_000_000;
const WINDOW: Span = Span::from_nanos(4 * SECOND_NS);
const LOGS: [&str; 6] =
    ["gap20us_idle", "gap20us_load40", "gap20us_load80", "gap800us_idle", "gap800us_load40", "gap800us_load80"];
/// Forward way and way back, by index: asymmetric loads.
const MIXTURES: [(usize, usize); 8] = [(2, 0), (0, 2), (2, 1), (1, 2), (5, 3), (3, 5), (5, 4), (4, 5)];
const LYING: Impairment =
    Impairment { early_stamps: 0.01, early_mean_ns: 400.0, stamp_noise_ns: 0.0, loss: 0.1, reorder: 0.05, duplicates: 0.01 };
const HONEST: Impairment =
    Impairment { early_stamps: 0.0, early_mean_ns: 0.0, loss: 0.0, reorder: 0.0, duplicates: 0.0, ..LYING };
const NOISY: Impairment = Impairment { stamp_noise_ns: 20.0, ..HONEST };

/// The six recordings, or nothing where there is no corpus.
#[track_caller]
fn recordings() -> Vec<(String, Vec<Exchange>)> {
    let Some(corpus) = rankscope_testkit::given(rankscope_testkit::Need::Corpus) else { return Vec::new() };
    LOGS.map(|name| (name.to_owned(), read(&corpus.join(format!("probes/{name}.tsv.gz"))))).into()
}

fn read(path: &Path) -> Vec<Exchange> {
    let mut bytes = Vec::new();
    let file = File::open(path).expect("a recording");
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).expect("gzip");
    let log = probe_log::parse(&bytes);
    assert!(log.problems.is_empty() && log.exchanges.len() > 3000, "{}", path.display());
    log.exchanges
}

fn with_mixtures(mut recordings: Vec<(String, Vec<Exchange>)>) -> Vec<(String, Vec<Exchange>)> {
    for (there, back) in if recordings.is_empty() { &[][..] } else { &MIXTURES[..] } {
        let mixed = mixture(&recordings[*there].1, &recordings[*back].1);
        recordings.push((format!("{}/{}", LOGS[*there], LOGS[*back]), mixed));
    }
    recordings
}

fn first_ns(exchanges: &[Exchange]) -> i64 {
    exchanges[0].forward[0].sent.expect("a stamp of a").nanos_since_epoch()
}

fn mixture(there: &[Exchange], back: &[Exchange]) -> Vec<Exchange> {
    let apart = Span::from_nanos(first_ns(there) - first_ns(back));
    let exchanges = there.iter().zip(back).map(|(there, back)| {
        let mut mixed = Exchange { reverse: back.reverse, ..*there };
        for passage in &mut mixed.reverse {
            passage.sent = passage.sent.map(|at| at + apart);
            passage.received = passage.received.map(|at| at + apart);
        }
        mixed
    });
    exchanges.collect()
}

/// A clock that is up to 5 s and 50 ppm off and wanders by 10 ppb per root second.
fn some_clock(exchanges: &[Exchange], seed: u64) -> SimClock {
    let mut rng = Rng::lane(seed, 1);
    let offset = Span::from_nanos(((2.0 * rng.unit() - 1.0) * 5e9) as i64);
    let skew = Rate::from_ppb(((2.0 * rng.unit() - 1.0) * 5e4) as i64);
    // The walk begins well before the first stamp, where it is defined on both sides of any instant asked for.
    SimClock::new(first_ns(exchanges) - SECOND_NS, offset, skew, 10.0, seed)
}

#[derive(Default)]
struct Outcome {
    windows: usize,
    offset_errors_ns: Vec<i64>,
    skew_errors_ppb: Vec<f64>,
    /// In standard deviations, as each fit states it.
    normalised: Vec<f64>,
    widths_ns: Vec<i64>,
    /// Windows whose bounds miss the truth.
    uncovered: usize,
    degraded: usize,
    events: usize,
    without_line: usize,
}

impl Outcome {
    fn add(&mut self, fit: &EdgeFit, clock: &mut SimClock) {
        let (offset_ns, skew_ppb) = errors(fit, clock);
        let truth = Span::from_nanos(clock.local_ns(fit.mid.nanos_since_epoch()) - fit.mid.nanos_since_epoch());
        self.offset_errors_ns.push(offset_ns.abs());
        self.skew_errors_ppb.push(skew_ppb.abs());
        self.normalised.push(offset_ns as f64 / fit.sigma_ns);
        self.widths_ns.push((fit.bound.hi - fit.bound.lo).as_nanos());
        self.uncovered += usize::from(truth < fit.bound.lo || truth > fit.bound.hi);
        self.degraded += usize::from(fit.degraded);
    }

    fn absorb(&mut self, other: &Self) {
        self.windows += other.windows;
        self.offset_errors_ns.extend(&other.offset_errors_ns);
        self.skew_errors_ppb.extend(&other.skew_errors_ppb);
        self.normalised.extend(&other.normalised);
        self.widths_ns.extend(&other.widths_ns);
        self.uncovered += other.uncovered;
        self.degraded += other.degraded;
        self.events += other.events;
        self.without_line += other.without_line;
    }

    fn offset_ns(&self, quantile: f64) -> i64 {
        let mut sorted = self.offset_errors_ns.clone();
        sorted.sort_unstable();
        sorted[((sorted.len() - 1) as f64 * quantile).ceil() as usize]
    }

    fn skew_ppb(&self) -> f64 {
        self.skew_errors_ppb.iter().copied().fold(0.0, f64::max)
    }

    fn mean_ns(&self) -> f64 {
        self.offset_errors_ns.iter().sum::<i64>() as f64 / self.offset_errors_ns.len() as f64
    }

    fn sigma_ratio(&self) -> f64 {
        (self.normalised.iter().map(|z| z * z).sum::<f64>() / self.normalised.len() as f64).sqrt()
    }

    fn row(&self, name: &str) -> String {
        let (mean, rms) = (self.mean_ns(), self.sigma_ratio());
        let mut widths = self.widths_ns.clone();
        widths.sort_unstable();
        format!(
            "{name:<34} {:>4} {mean:>9.0} {:>8} {:>8} {:>7.0} {rms:>6.2} {:>6} {:>5} {:>4} {:>4} {:>4}",
            self.windows,
            self.offset_ns(0.99),
            self.offset_ns(1.0),
            self.skew_ppb(),
            widths[widths.len() / 2],
            self.uncovered,
            self.degraded,
            self.events,
            self.without_line,
        )
    }
}

const HEAD: &str =
    "                                      n   mean ns   p99 ns   max ns     ppb  sigma  width  miss  deg  evt none";

/// Whether a window is more than what an odd start left of a recording.
fn is_whole(window: &[Exchange]) -> bool {
    let at = |exchange: &Exchange| exchange.forward[0].sent.map(HostInstant::nanos_since_epoch);
    let last = window.last().and_then(at);
    window.first().and_then(at).zip(last).is_some_and(|(first, last)| last - first > 3 * SECOND_NS)
}

/// Fits all windows of `exchanges` under `clocks` injected clocks, each time cut at another place.
fn trial(exchanges: &[Exchange], impairment: &Impairment, estimator: Estimator, clocks: u64) -> Outcome {
    let options = FitOptions::usual(estimator);
    let mut outcome = Outcome::default();
    for seed in 0..clocks {
        let mut clock = some_clock(exchanges, seed);
        let skipped = Rng::lane(seed, 2).below(800) as usize;
        let bent = impair(&bend(&exchanges[skipped..], &mut clock), impairment, seed);
        let mut before = None;
        for window in probe_log::cut(bent, WINDOW) {
            if !is_whole(&window) {
                continue;
            }
            let found = fit_window(&window, before.as_ref(), &options);
            outcome.windows += 1;
            outcome.events += found.events.len();
            outcome.without_line += found.fits.iter().filter(|fit| fit.is_err()).count();
            found.fits.iter().flatten().for_each(|fit| outcome.add(fit, &mut clock));
            before = found.fits.into_iter().flatten().last();
        }
    }
    outcome
}

/// The table of all logs, printed, with its last line: everything together.
fn table(title: &str, logs: &[(String, Vec<Exchange>)], impairment: &Impairment, estimator: Estimator, clocks: u64) -> Outcome {
    println!("{title}\n{HEAD}");
    let mut all = Outcome::default();
    for (name, exchanges) in logs {
        let outcome = trial(exchanges, impairment, estimator, clocks);
        println!("{}", outcome.row(name));
        all.absorb(&outcome);
    }
    println!("{}\n", all.row("all"));
    all
}

#[test]
fn honest_stamps_give_tens_of_nanoseconds_at_any_load() {
    let logs = recordings();
    if logs.is_empty() {
        return;
    }
    let recorded = table("band, as recorded", &logs, &HONEST, Estimator::Band, 12);
    assert!(recorded.skew_ppb() <= 50.0);
    let all = table("band, with asymmetric loads", &with_mixtures(logs), &HONEST, Estimator::Band, 12);
    // Put together from two recordings, the clouds overlap in part of a window only.
    assert!(all.skew_ppb() <= 150.0);
    for outcome in [&recorded, &all] {
        assert!(outcome.offset_ns(0.99) <= 80 && outcome.offset_ns(1.0) <= 150);
        assert_eq!((outcome.uncovered, outcome.degraded, outcome.events, outcome.without_line), (0, 0, 0, 0));
        assert!((0.7..1.5).contains(&outcome.sigma_ratio()), "sigma is a standard deviation");
    }
}

#[test]
fn early_stamps_loss_and_disorder_cost_little_and_are_marked() {
    let logs = recordings();
    if logs.is_empty() {
        return;
    }
    let all = table("band, 1 % early stamps, 10 % loss", &with_mixtures(logs), &LYING, Estimator::Band, 12);
    assert!(all.offset_ns(0.99) <= 150 && all.offset_ns(1.0) <= 250);
    assert_eq!((all.uncovered, all.events, all.without_line), (0, 0, 0));
    // Some of a window's early stamps may all have hit packets that had waited; then there is nothing to mark.
    assert!(10 * all.degraded >= 9 * all.windows);
}

#[test]
fn noise_on_stamps_is_not_taken_for_lies() {
    let logs = recordings();
    if logs.is_empty() {
        return;
    }
    let all = table("band, 20 ns of Gaussian noise", &with_mixtures(logs), &NOISY, Estimator::Band, 6);
    assert!(all.offset_ns(0.99) <= 120 && all.offset_ns(1.0) <= 150);
    assert_eq!((all.uncovered, all.events, all.without_line), (0, 0, 0));
    assert!(100 * all.degraded <= all.windows);
}

#[test]
fn the_other_estimators_are_what_they_claim() {
    let logs = recordings();
    if logs.is_empty() {
        return;
    }
    let robust = table("robust", &logs, &HONEST, Estimator::Robust, 6);
    assert!(robust.offset_ns(1.0) <= 150 && robust.degraded == 0 && robust.uncovered == 0);
    let loaded = &logs[5..];
    let svm = table("svm, C = 1", loaded, &HONEST, Estimator::Svm, 2);
    let band = table("band, beside it", loaded, &HONEST, Estimator::Band, 2);
    assert!((100_000.0..3_000_000.0).contains(&svm.mean_ns()));
    assert!(svm.mean_ns() > 100.0 * band.mean_ns());
    assert_eq!(svm.uncovered, 0, "the guarantee is the same for all");
}

/// What a recording with one change in its clock gives: events of all windows, and windows whose bounds miss the truth.
fn changed(exchanges: &[Exchange], clock: &mut SimClock) -> (Vec<ClockEvent>, usize) {
    let (mut events, mut uncovered, mut before) = (Vec::new(), 0, None);
    for window in probe_log::cut(bend(exchanges, clock), WINDOW) {
        let found = fit_window(&window, before.as_ref(), &FitOptions::usual(Estimator::Band));
        events.extend(found.events.iter().copied());
        for fit in found.fits.iter().flatten() {
            let mid_ns = fit.mid.nanos_since_epoch();
            let truth = Span::from_nanos(clock.local_ns(mid_ns) - mid_ns);
            uncovered += usize::from(truth < fit.bound.lo || truth > fit.bound.hi);
        }
        before = found.fits.into_iter().flatten().last();
    }
    (events, uncovered)
}

/// Some instant of the first seven seconds, which all recordings have.
fn some_instant(exchanges: &[Exchange], seed: u64) -> i64 {
    first_ns(exchanges) + SECOND_NS / 2 + Rng::lane(seed, 3).below(6_500_000_000) as i64
}

#[test]
fn every_step_is_one_event_of_its_size() {
    for (name, exchanges) in recordings() {
        for seed in 0..5 {
            let at_ns = some_instant(&exchanges, seed);
            for size_ns in [1_000_000_000, -1_000_000_000, 1_000_000, -1_000_000, 100_000, 5_000] {
                let mut clock = some_clock(&exchanges, seed).with_step(at_ns, Span::from_nanos(size_ns));
                let (events, uncovered) = changed(&exchanges, &mut clock);
                assert_eq!(uncovered, 0, "{name} {seed} {size_ns}");
                let [ClockEvent::Step { at, size }] = events[..] else { panic!("{name} {seed} {size_ns}: {events:?}") };
                assert!((size.as_nanos() - size_ns).abs() <= 500, "{name} {seed} {size_ns}: {size:?}");
                assert!((at.nanos_since_epoch() - at_ns).abs() < 50_000_000, "{name} {seed} {size_ns}: {at:?} for {at_ns}");
            }
        }
    }
}

#[test]
fn every_slew_is_changes_of_rate() {
    for (name, exchanges) in recordings() {
        for seed in 0..5 {
            let at_ns = some_instant(&exchanges, seed);
            let rate = Rate::from_ppb(if seed % 2 == 0 { 500_000 } else { -500_000 });
            let mut clock = some_clock(&exchanges, seed).with_slew(at_ns, at_ns + 2 * SECOND_NS, rate);
            let (events, uncovered) = changed(&exchanges, &mut clock);
            assert_eq!(uncovered, 0, "{name} {seed}");
            // The end of a late slew lies behind the end of the shorter recordings.
            assert!((1..=2).contains(&events.len()), "{name} {seed}: {events:?}");
            for event in events {
                let ClockEvent::RateChange { by_ppb, .. } = event else { panic!("{name} {seed}: {event:?}") };
                assert!((by_ppb.abs() - 500_000.0).abs() < 20_000.0, "{name} {seed}: {by_ppb}");
            }
        }
    }
}

/// Windows of half a second know less than the whole recording does.
#[test]
fn smoothed_offsets_are_closer_than_those_of_windows() {
    println!("recording                                    plain rms ns  smoothed rms ns  stated ns");
    let mut ratios = Vec::new();
    for (name, exchanges) in with_mixtures(recordings()) {
        let (mut plain, mut smoothed, mut stated, mut count) = (0.0, 0.0, 0.0, 0);
        for seed in 0..4 {
            let mut clock = some_clock(&exchanges, seed);
            let half = Span::from_nanos(SECOND_NS / 2);
            for window in fit_log(bend(&exchanges, &mut clock), half, &FitOptions::usual(Estimator::Band)) {
                let (Some(mid_ns), Some(offset_ns)) = (window.mid_ns, window.offset_ns) else { continue };
                let (smoothed_ns, sigma_ns) =
                    (window.smoothed_ns.expect("smoothed"), window.smoothed_sigma_ns.expect("its sigma"));
                assert!(window.bound_lo_ns <= Some(smoothed_ns) && Some(smoothed_ns) <= window.bound_hi_ns, "{window:?}");
                let truth_ns = clock.local_ns(mid_ns) - mid_ns;
                plain += ((offset_ns - truth_ns) as f64).powi(2);
                smoothed += ((smoothed_ns - truth_ns) as f64).powi(2);
                stated += sigma_ns * sigma_ns;
                count += 1;
            }
        }
        let rms = |sum: f64| (sum / f64::from(count)).sqrt();
        println!("{name:<40} {:>16.1} {:>16.1} {:>10.1}", rms(plain), rms(smoothed), rms(stated));
        assert!(rms(smoothed) <= rms(plain) + 1.0, "{name}: smoothing made it worse");
        ratios.push(rms(smoothed) / rms(plain));
    }
    let mean = ratios.iter().sum::<f64>() / ratios.len().max(1) as f64;
    assert!(ratios.is_empty() || mean < 0.85, "{mean:.2} of what windows are off by");
}
