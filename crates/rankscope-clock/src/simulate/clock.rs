//! A clock that is wrong in a known way: offset, skew, a random walk of its rate, steps and slews.
//!
//! `local(true) = true + offset + skew * elapsed + walk(elapsed) + steps + slews`, with `elapsed` counted from an origin. The
//! walk is a piecewise linear phase whose rate changes every [`GRID_NS`]; it is computed as far as it is asked for, and kept
//! until it is forgotten on demand. The same function serves simulations and real agents whose stamps are bent on purpose, so that the truth of a real run is known.

use std::collections::VecDeque;

use rankscope_time::{Rate, Span};

use crate::Rng;

/// How often the rate of the random walk changes.
const GRID_NS: i64 = 100_000_000;

/// Errors of a clock, as functions of true time.
#[derive(Clone, Debug)]
pub struct SimClock {
    origin_ns: i64,
    offset: Span,
    skew: Rate,
    wander_ppb: f64,
    rng: Rng,
    /// Phase in nanoseconds and rate in ppb at grid points; the first `forgotten` are gone.
    walk: VecDeque<(f64, f64)>,
    forgotten: usize,
    /// When, and how much the clock gains at once.
    steps: Vec<(i64, Span)>,
    /// From when until when, and by what rate the clock runs faster.
    slews: Vec<(i64, i64, Rate)>,
}

impl SimClock {
    /// A clock that is `offset` ahead at the true time `origin_ns`, gains `skew`, and whose rate walks `wander_ppb` in a second
    /// (one standard deviation, growing with the square root of time).
    pub fn new(origin_ns: i64, offset: Span, skew: Rate, wander_ppb: f64, seed: u64) -> Self {
        let (rng, walk) = (Rng::new(seed), VecDeque::from([(0.0, 0.0)]));
        Self { origin_ns, offset, skew, wander_ppb, rng, walk, forgotten: 0, steps: Vec::new(), slews: Vec::new() }
    }

    /// A clock that tells the truth.
    pub fn perfect() -> Self {
        Self::new(0, Span::ZERO, Rate::ZERO, 0.0, 0)
    }

    /// The same clock, jumping by `size` at the true time `at_ns`.
    #[must_use]
    pub fn with_step(mut self, at_ns: i64, size: Span) -> Self {
        self.steps.push((at_ns, size));
        self
    }

    /// The same clock, running faster by `rate` between two true times.
    #[must_use]
    pub fn with_slew(mut self, from_ns: i64, until_ns: i64, rate: Rate) -> Self {
        self.slews.push((from_ns, until_ns, rate));
        self
    }

    /// What the clock shows at the true time `true_ns`.
    pub fn local_ns(&mut self, true_ns: i64) -> i64 {
        let elapsed = Span::from_nanos(true_ns.saturating_sub(self.origin_ns));
        let steps: i64 = self.steps.iter().filter(|(at, _)| *at <= true_ns).map(|(_, size)| size.as_nanos()).sum();
        let slews: i64 = self
            .slews
            .iter()
            .filter(|(from, ..)| *from < true_ns)
            .map(|(from, until, rate)| rate.over(Span::from_nanos(true_ns.min(*until) - from)).as_nanos())
            .sum();
        let wrong = self.offset.as_nanos() + self.skew.over(elapsed).as_nanos() + self.walk_ns(elapsed) + steps + slews;
        true_ns.saturating_add(wrong)
    }

    /// The true time at which the clock shows `local_ns`. Where a step makes the clock show it never or twice, a time near by.
    pub fn true_ns(&mut self, local_ns: i64) -> i64 {
        let mut guess = local_ns.saturating_sub(self.offset.as_nanos());
        // The clock's rate is 1 to within a per mille, so every turn gains three digits.
        for _ in 0..8 {
            let off = self.local_ns(guess) - local_ns;
            if off == 0 {
                break;
            }
            guess -= off;
        }
        guess
    }

    /// Lets go of the walk before the true time `true_ns`, which nobody will ask for again: where somebody does, the walk stands
    /// still before it. A clock of many hours need not remember them.
    pub fn forget_before(&mut self, true_ns: i64) {
        let cell = usize::try_from(true_ns.saturating_sub(self.origin_ns) / GRID_NS).unwrap_or(0);
        let gone = cell.saturating_sub(self.forgotten).min(self.walk.len() - 1);
        self.walk.drain(..gone);
        self.forgotten += gone;
    }

    fn walk_ns(&mut self, elapsed: Span) -> i64 {
        if self.wander_ppb == 0.0 || elapsed <= Span::ZERO {
            return 0;
        }
        let (cell, rest) = ((elapsed.as_nanos() / GRID_NS) as usize, elapsed.as_nanos() % GRID_NS);
        let Some(cell) = cell.checked_sub(self.forgotten) else {
            return self.walk[0].0.round() as i64;
        };
        while self.walk.len() <= cell {
            let (phase, rate) = self.walk[self.walk.len() - 1];
            let kick = self.rng.normal() * self.wander_ppb * (GRID_NS as f64 * 1e-9).sqrt();
            self.walk.push_back((phase + rate * 1e-9 * GRID_NS as f64, rate + kick));
        }
        let (phase, rate) = self.walk[cell];
        (phase + rate * 1e-9 * rest as f64).round() as i64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_add_up() {
        let second = 1_000_000_000;
        let mut clock = SimClock::new(0, Span::from_nanos(7), Rate::from_ppb(1_000), 0.0, 1)
            .with_step(2 * second, Span::from_nanos(-50))
            .with_slew(3 * second, 5 * second, Rate::from_ppb(500_000));
        assert_eq!(clock.local_ns(second), second + 7 + 1_000);
        assert_eq!(clock.local_ns(2 * second), 2 * second + 7 + 2_000 - 50);
        assert_eq!(clock.local_ns(9 * second), 9 * second + 7 + 9_000 - 50 + 1_000_000);
    }

    #[test]
    fn there_and_back_is_the_same_instant() {
        let mut clock = SimClock::new(1_000, Span::from_nanos(5_000_000_000), Rate::from_ppb(-50_000), 10.0, 3);
        for true_ns in (0..40).map(|i| 1_700_000_000_000_000_000 + i * 777_777_777) {
            let mut clock = SimClock { origin_ns: 1_700_000_000_000_000_000, ..clock.clone() };
            let local_ns = clock.local_ns(true_ns);
            assert!((clock.true_ns(local_ns) - true_ns).abs() <= 1);
        }
        assert_eq!(clock.local_ns(1_000), 5_000_001_000);
    }

    #[test]
    fn forgetting_changes_nothing_later() {
        let clock = || SimClock::new(0, Span::ZERO, Rate::ZERO, 10.0, 4);
        let (mut keeps, mut forgets) = (clock(), clock());
        for second in 1..1_000 {
            let true_ns = second * 1_000_000_000;
            forgets.forget_before(true_ns - 2_000_000_000);
            assert_eq!(forgets.local_ns(true_ns), keeps.local_ns(true_ns));
            assert_eq!(forgets.local_ns(true_ns - 1_500_000_000), keeps.local_ns(true_ns - 1_500_000_000));
        }
        assert!(forgets.walk.len() < 50);
    }
}
