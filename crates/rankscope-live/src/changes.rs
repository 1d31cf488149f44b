//! [`Changes`]: where the level of step times changes, by Bayes' rule, one value after the other.
//!
//! Adams and MacKay's change points: for each number of values since the last change there is a probability and what those values say
//! about their mean and scatter (a normal-gamma distribution each). A change is reported where it is nearly certain that the level
//! is only some values old, and the new one is longer by a part that matters. Values are logarithms of medians of five steps, which
//! takes most of the tails away. `change_points` of rankscope-stats looks at a whole series at once and costs by its length; here
//! each value costs the same for ever.

use rankscope_stats::Middle;

/// Steps of a median.
const STEPS: usize = 5;
/// The chance of a change in a step.
const HAZARD: f64 = 1.0 / 3600.0;
/// A change is believed from this probability on.
const SURE: f64 = 0.9;
/// The new level is longer by at least this part. Estimated levels may be a little short of it.
const PART: f64 = 0.04;
const NEARLY: f64 = 0.98;
/// Ages of a level, in values, at which it is new; below, there is too little to know it by.
const NEW: std::ops::Range<usize> = 3..30;
/// Ages whose probabilities together are that of a new level.
const YOUNG: std::ops::Range<usize> = 2..30;
/// A level of this age is the one that others are compared with.
const SETTLED: usize = 60;
/// Older levels are all alike.
const AGES: usize = 300;
/// What is less likely is forgotten, if nothing older is likely either.
const UNLIKELY: f64 = 1e-9;
/// How much the reference counts for, in values, as to the mean and as to the scatter.
const PRIOR_MEAN: f64 = 0.05;
const PRIOR_SHAPE: f64 = 2.0;

/// What a level's values say about it.
#[derive(Clone, Copy, Debug)]
struct Level {
    probability: f64,
    mean: f64,
    weight: f64,
    rate: f64,
}

/// The probabilities of all ages of the present level.
#[derive(Clone, Debug)]
pub struct Changes {
    levels: Vec<Level>,
    prior: Level,
    /// Logarithm of the level that changes are told from.
    base: f64,
    median_of: Vec<f64>,
    gammas: Vec<f64>,
}

impl Changes {
    /// Steps usually are `usual` long.
    pub fn new(usual: Middle) -> Self {
        let mean = usual.median.ln();
        let scatter = usual.deviation / usual.median;
        let prior = Level { probability: 1.0, mean, weight: PRIOR_MEAN, rate: PRIOR_SHAPE * scatter * scatter / 2.0 };
        Self { levels: vec![prior], prior, base: mean, median_of: Vec::with_capacity(STEPS), gammas: gammas() }
    }

    /// Takes a step's length. At a change to longer steps: the new length, as a part of the one before.
    pub fn take(&mut self, length: f64) -> Option<f64> {
        self.median_of.push(length);
        if self.median_of.len() < STEPS {
            return None;
        }
        let median = Middle::of(&mut self.median_of)?.median;
        self.median_of.clear();
        let value = median.ln();
        if !value.is_finite() {
            return None;
        }
        self.update(value);
        self.changed()
    }

    /// Every level becomes a value older, or gives way to a new one.
    fn update(&mut self, value: f64) {
        let hazard = HAZARD * STEPS as f64;
        let mut ended = 0.0;
        for (age, level) in self.levels.iter_mut().enumerate() {
            let likely = level.probability * level.density(age, value, self.gammas[age]);
            ended += likely;
            *level = level.with(value);
            level.probability = likely * (1.0 - hazard);
        }
        self.levels.insert(0, Level { probability: ended * hazard, ..self.prior });
        self.levels.truncate(AGES);
        let total: f64 = self.levels.iter().map(|level| level.probability).sum();
        if total > 0.0 && total.is_finite() {
            self.levels.iter_mut().for_each(|level| level.probability /= total);
        } else {
            // No level makes this value possible: as good as a change.
            self.levels = vec![self.prior];
        }
        while self.levels.len() > SETTLED + 1 && self.levels.last().is_some_and(|level| level.probability < UNLIKELY) {
            self.levels.pop();
        }
    }

    fn changed(&mut self) -> Option<f64> {
        let likeliest =
            (0..self.levels.len()).max_by(|a, b| self.levels[*a].probability.total_cmp(&self.levels[*b].probability))?;
        let mean = self.levels[likeliest].mean;
        let young: f64 = self.levels.iter().take(YOUNG.end).skip(YOUNG.start).map(|level| level.probability).sum();
        if NEW.contains(&likeliest) && young > SURE && mean - self.base > (1.0 + PART).ln() * NEARLY {
            let part = (mean - self.base).exp();
            self.base = mean;
            return Some(part);
        }
        if likeliest >= SETTLED {
            self.base = mean;
        }
        None
    }
}

impl Level {
    /// How likely it makes a value: Student's t, whose degrees of freedom grow with its age. `gamma` is the quotient of the gamma
    /// functions in it.
    fn density(&self, age: usize, value: f64, gamma: f64) -> f64 {
        let freedom = 2.0 * PRIOR_SHAPE + age as f64;
        let scale = (2.0 * self.rate * (self.weight + 1.0) / (freedom * self.weight)).sqrt().max(f64::MIN_POSITIVE);
        let t = (value - self.mean) / scale;
        let tail = (-0.5 * (freedom + 1.0) * (t * t / freedom).ln_1p()).exp();
        gamma / ((std::f64::consts::PI * freedom).sqrt() * scale) * tail
    }

    /// With one value more.
    fn with(&self, value: f64) -> Self {
        let off = value - self.mean;
        Self {
            probability: self.probability,
            mean: self.mean + off / (self.weight + 1.0),
            weight: self.weight + 1.0,
            rate: self.rate + self.weight * off * off / (2.0 * (self.weight + 1.0)),
        }
    }
}

/// Γ((n + 1) / 2) / Γ(n / 2) for n from four on, one a value of age, by the quotient of two that are two apart.
fn gammas() -> Vec<f64> {
    let half = std::f64::consts::PI.sqrt() / 2.0;
    // Γ(2.5) / Γ(2), and Γ(3) / Γ(2.5).
    let mut found = vec![1.5 * half, 2.0 / (1.5 * half)];
    for n in 4..4 + AGES {
        found.push(found[n - 4] * (n as f64 + 1.0) / n as f64);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankscope_testkit::Rng;

    const USUAL: Middle = Middle { median: 1.0, deviation: 0.02 };

    /// Steps at which a change was reported, of steps that are `factor` times as long from `at` on.
    fn found(seed: u64, steps: usize, at: usize, factor: f64) -> Vec<usize> {
        let (mut rng, mut changes) = (Rng::new(seed), Changes::new(USUAL));
        let mut length = |step| (1.0 + 0.02 * rng.normal()) * if step >= at { factor } else { 1.0 };
        (0..steps).filter(|step| changes.take(length(*step)).is_some()).collect()
    }

    #[test]
    fn a_longer_level_is_found_within_a_few_medians_and_once() {
        for seed in 0..20 {
            let found = found(seed, 3_000, 2_000, 1.10);
            assert!(matches!(found[..], [at] if (2_000..2_040).contains(&at)), "seed {seed}: {found:?}");
        }
    }

    #[test]
    fn a_level_that_is_hardly_longer_or_shorter_is_no_change() {
        assert!((0..10).all(|seed| found(seed, 4_000, 2_000, 1.02).is_empty() && found(seed, 4_000, 2_000, 0.7).is_empty()));
    }

    #[test]
    fn quotients_of_the_gamma_function_are_those_of_tables() {
        let found = gammas();
        assert!(
            (found[0] - 1.329_340_388).abs() < 1e-9
                && (found[1] - 1.504_505_556).abs() < 1e-8
                && (found[2] - 1.661_675_485).abs() < 1e-8
        );
        assert!(found.len() >= AGES);
    }

    #[test]
    fn no_value_whatever_breaks_it() {
        let mut changes = Changes::new(Middle { median: 1.0, deviation: 0.0 });
        for value in [0.0, -1.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE, f64::MAX].into_iter().cycle().take(6_000) {
            changes.take(value);
        }
        assert!(changes.levels.iter().all(|level| level.probability.is_finite()));
    }
}
