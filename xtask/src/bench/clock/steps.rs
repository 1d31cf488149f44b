//! Clocks that jump or are slewed in the middle of a recording: seen, sized, and bounded all the same?

use anyhow::Result;
use rankscope_clock::fit::{Estimator, FitOptions, fit_window};
use rankscope_clock::replay::bend;
use rankscope_clock::simulate::SimClock;
use rankscope_clock::{ClockEvent, Exchange, Rng, probe_log};
use rankscope_time::{Rate, Span};

use super::logs::{NO_CORPUS, WINDOW, first_ns, recordings, some_clock};
use super::outcome::misses_truth;
use super::row::{Row, rounded};

const GOAL: &str = "all detected, at most 1 window flagged";
const STEPS_NS: [i64; 4] = [1_000_000, -1_000_000, 1_000_000_000, -1_000_000_000];
const SLEWS_PPB: [i64; 2] = [500_000, -500_000];
const SLEW_NS: i64 = 2_000_000_000;
/// A step counts as detected when its size is this near, a slew when its rate is.
const STEP_OFF_MAX_NS: i64 = 500;
const SLEW_OFF_MAX_PPB: f64 = 20_000.0;

/// G6, of `clocks` instants.
pub(super) fn rows(clocks: u64) -> Result<Vec<Row>> {
    let (steps, slews) = (Row::new("G6", "steps of 1 ms and 1 s", GOAL), Row::new("G6", "slews of 500 ppm for 2 s", GOAL));
    let Some(recordings) = recordings()? else { return Ok(vec![steps.skipped(NO_CORPUS), slews.skipped(NO_CORPUS)]) };
    eprintln!("measuring steps and slews");
    let (mut stepped, mut slewed) = (Tally::default(), Tally::default());
    for (log, seed) in recordings.iter().flatten().flat_map(|log| (0..clocks).map(move |seed| (log, seed))) {
        let at_ns = first_ns(log) + 500_000_000 + Rng::lane(seed, 3).below(6_500_000_000) as i64;
        for size_ns in STEPS_NS {
            let clock = some_clock(log, seed).with_step(at_ns, Span::from_nanos(size_ns));
            stepped.add(log, clock, |events| is_step(events, size_ns));
        }
        for rate_ppb in SLEWS_PPB {
            let clock = some_clock(log, seed).with_slew(at_ns, at_ns + SLEW_NS, Rate::from_ppb(rate_ppb));
            slewed.add(log, clock, |events| is_slew(events, rate_ppb));
        }
    }
    Ok(vec![stepped.row(steps), slewed.row(slews)])
}

fn is_step(events: &[ClockEvent], size_ns: i64) -> bool {
    matches!(events, [ClockEvent::Step { size, .. }] if (size.as_nanos() - size_ns).abs() <= STEP_OFF_MAX_NS)
}

/// Begun, and ended again unless the recording ended before.
fn is_slew(events: &[ClockEvent], rate_ppb: i64) -> bool {
    let near = |event: &ClockEvent, rate_ppb: f64| matches!(event, ClockEvent::RateChange { by_ppb, .. } if (by_ppb - rate_ppb).abs() <= SLEW_OFF_MAX_PPB);
    let rate_ppb = rate_ppb as f64;
    match events {
        [begin] => near(begin, rate_ppb),
        [begin, end] => near(begin, rate_ppb) && near(end, -rate_ppb),
        _ => false,
    }
}

#[derive(Default)]
struct Tally {
    changes: usize,
    detected: usize,
    /// Most windows of one recording that were marked degraded or have a part without a line.
    flagged_max: usize,
    uncovered: usize,
}

impl Tally {
    fn add(&mut self, log: &[Exchange], mut clock: SimClock, is_it: impl Fn(&[ClockEvent]) -> bool) {
        let (mut events, mut flagged, mut before) = (Vec::new(), 0, None);
        for window in probe_log::cut(bend(log, &mut clock), WINDOW) {
            let found = fit_window(&window, before.as_ref(), &FitOptions::usual(Estimator::Band));
            events.extend(found.events.iter().copied());
            flagged += usize::from(found.fits.iter().any(|fit| fit.as_ref().map_or(true, |fit| fit.degraded)));
            self.uncovered += found.fits.iter().flatten().filter(|fit| misses_truth(fit, &mut clock)).count();
            before = found.fits.into_iter().flatten().last();
        }
        self.changes += 1;
        self.detected += usize::from(is_it(&events));
        self.flagged_max = self.flagged_max.max(flagged);
    }

    fn row(&self, row: Row) -> Row {
        row.figure("changes", self.changes)
            .figure("detected", rounded(self.detected as f64 / self.changes.max(1) as f64))
            .figure("windows_flagged_max", self.flagged_max)
            .figure("bounds_missed", self.uncovered)
            .holds(self.detected == self.changes && self.flagged_max <= 1 && self.uncovered == 0)
    }
}
