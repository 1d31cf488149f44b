//! What one fit costs, and the made exchanges it is measured on.

use std::time::Instant;

use rankscope_clock::fit::{Estimator, FitOptions, fit_window};
use rankscope_clock::simulate::SimClock;
use rankscope_clock::{Exchange, HostInstant, Passage, Rng};
use rankscope_time::{Rate, Span};

use super::row::{Row, rounded};

pub(super) const EPOCH_NS: i64 = 1_790_000_000_000_000_000;
const POINTS: u32 = 8_000;
const RUNS: usize = 51;

/// One edge over `window` of its `count` exchanges: a floor of 20 us each way, and queueing upon it. `a` and `b` show the clocks.
pub(super) fn exchanges(count: u32, window: i64, clocks: [&mut SimClock; 2], rng: &mut Rng) -> Vec<Exchange> {
    const WINDOW_NS: i64 = 4_000_000_000;
    let [a, b] = clocks;
    let mut passage = |sent_ns: i64, from_a: bool| {
        let received_ns = sent_ns + 20_000 + (rng.exponential() * 3_000.0) as i64;
        let (sender, receiver) = if from_a { (&mut *a, &mut *b) } else { (&mut *b, &mut *a) };
        let [sent, received] = [sender.local_ns(sent_ns), receiver.local_ns(received_ns)];
        [sent, received].map(HostInstant::from_nanos_since_epoch)
    };
    let mut exchange = |sequence: u32| {
        let begun_ns = EPOCH_NS + window * WINDOW_NS + i64::from(sequence) * WINDOW_NS / i64::from(count);
        let mut way = |from_ns: i64, from_a: bool| {
            [from_ns, from_ns + 100_000].map(|sent_ns| {
                let [sent, received] = passage(sent_ns, from_a);
                Passage { sent: Some(sent), received: Some(received) }
            })
        };
        Exchange { sequence, forward: way(begun_ns, true), reverse: way(begun_ns + 200_000, false) }
    };
    (0..count).map(&mut exchange).collect()
}

/// The median time of a fit that uses at least as many points as the goal names.
pub(super) fn row() -> Row {
    eprintln!("measuring the time of a fit");
    let options = FitOptions::usual(Estimator::Band);
    let clock = |skew_ppb| SimClock::new(EPOCH_NS, Span::from_nanos(1_000_000), Rate::from_ppb(skew_ppb), 0.0, 1);
    let (mut count, mut points) = (POINTS / 4, 0);
    let mut made = Vec::new();
    // The purity filter takes points out, so it needs more of them than count in the end.
    while points < POINTS && count < 4 * POINTS {
        made = exchanges(count, 0, [&mut SimClock::perfect(), &mut clock(20_000)], &mut Rng::new(1));
        let found = fit_window(&made, None, &options);
        points = found.fits.iter().flatten().map(|fit| fit.points_forward + fit.points_reverse).sum();
        count += 20;
    }
    let mut times_us: Vec<f64> = (0..RUNS)
        .map(|_| {
            let begun = Instant::now();
            std::hint::black_box(fit_window(std::hint::black_box(&made), None, &options));
            begun.elapsed().as_secs_f64() * 1e6
        })
        .collect();
    times_us.sort_by(f64::total_cmp);
    let median_us = times_us[RUNS / 2];
    Row::new("speed", "one fit", "8,000 points in less than 1 ms")
        .figure("points_used", points)
        .figure("exchanges", made.len())
        .figure("median_us", rounded(median_us))
        .figure("optimised_build", !cfg!(debug_assertions))
        .figure("min_us", rounded(times_us[0]))
        .holds(points >= POINTS && median_us < 1_000.0)
}
