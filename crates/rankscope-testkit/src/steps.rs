//! Series of step times whose truth is known: for those who judge how often statistics are wrong.
//!
//! Steps resemble the step before (an autoregression of first order), have one of a few shapes, and come from a seed. What is
//! counted over many seeds is here, too, so that tests and the benchmark count alike; what is asked about a series is the caller's.

use rankscope_clock::Rng;

/// How steps scatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// As the normal distribution.
    Normal,
    /// As Student's t with three degrees of freedom: now and then far out, on both sides.
    HeavyTails,
    /// Normal, and one step in twenty is longer by an exponential amount, which steps after it share as they share all else.
    Spikes,
    /// As the exponential of a normal number: long on one side.
    LogNormal,
    /// As spikes, but no other step has anything of them.
    SingleSpikes,
}

impl Shape {
    /// The four that intervals have to hold for. Single spikes hide how much steps resemble each other.
    pub const REQUIRED: [Self; 4] = [Self::Normal, Self::HeavyTails, Self::Spikes, Self::LogNormal];

    /// For tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Normal => "normal",
            Self::HeavyTails => "t3",
            Self::Spikes => "spikes",
            Self::LogNormal => "log-normal",
            Self::SingleSpikes => "single spikes",
        }
    }
}

/// What a run's steps are drawn from.
#[derive(Clone, Copy, Debug)]
pub struct Steps {
    /// How they scatter.
    pub shape: Shape,
    /// Correlation of a step with the one before, 0 to below 1.
    pub rho: f64,
    /// The middle of all steps.
    pub level: f64,
    /// Standard deviation relative to the level, without spikes.
    pub deviation: f64,
}

/// Steps that are drawn and thrown away, until it no longer matters that the first had none before it.
const FORGOTTEN: usize = 40;

/// Mean length of a spike, in standard deviations.
const SPIKE: f64 = 5.0;

impl Steps {
    /// Around 100, by one percent, without spread between runs.
    pub fn new(shape: Shape, rho: f64) -> Self {
        Self { shape, rho, level: 100.0, deviation: 0.01 }
    }

    /// `count` steps in order of time.
    pub fn run(&self, count: usize, rng: &mut Rng) -> Vec<f64> {
        let mut state = 0.0;
        let mut next = || {
            state = self.rho * state + (1.0 - self.rho * self.rho).sqrt() * self.innovation(rng);
            match self.shape {
                Shape::LogNormal => self.level * (self.deviation * state).exp(),
                Shape::SingleSpikes => self.level * (1.0 + self.deviation * (state + spike(rng))),
                _ => self.level * (1.0 + self.deviation * state),
            }
        };
        (0..FORGOTTEN + count).map(|_| next()).skip(FORGOTTEN).collect()
    }

    /// `runs` runs of `count` steps, each with a level of its own, which differ by `spread` relative to the level.
    pub fn runs(&self, runs: usize, count: usize, spread: f64, rng: &mut Rng) -> Vec<Vec<f64>> {
        let mut run = |_| {
            let own = 1.0 + spread * rng.normal();
            self.run(count, rng).into_iter().map(|step| own * step).collect()
        };
        (0..runs).map(&mut run).collect()
    }

    /// The runs of a base and of a test whose steps are longer by `shift` relative to the level.
    pub fn sides(&self, runs: [usize; 2], count: usize, spread: f64, shift: f64, seed: u64) -> [Vec<Vec<f64>>; 2] {
        let shifted = Self { level: self.level * (1.0 + shift), ..*self };
        let side = |steps: &Self, side| steps.runs(runs[side], count, spread, &mut Rng::lane(seed, side as u64));
        [side(self, 0), side(&shifted, 1)]
    }

    /// As [`Self::sides`] without a shift, of many metrics: by side and metric, runs. Any two metrics are correlated by a half, step by
    /// step and run by run.
    pub fn families(&self, metrics: usize, runs: usize, count: usize, spread: f64, seed: u64) -> [Vec<Vec<Vec<f64>>>; 2] {
        let half = 0.5_f64.sqrt();
        [0, 1].map(|side| {
            let mut rng = Rng::lane(seed, side);
            let shared = self.runs(runs, count, spread, &mut rng);
            let mixed = |(shared, own): (&f64, &f64)| self.level + half * (shared + own - 2.0 * self.level);
            let run = |(shared, own): (&Vec<f64>, &Vec<f64>)| shared.iter().zip(own).map(mixed).collect();
            let mut metric = || shared.iter().zip(&self.runs(runs, count, spread, &mut rng)).map(run).collect();
            (0..metrics).map(|_| metric()).collect()
        })
    }

    /// What is new in a step, beside what it has of the one before.
    fn innovation(&self, rng: &mut Rng) -> f64 {
        match self.shape {
            Shape::Normal | Shape::LogNormal | Shape::SingleSpikes => rng.normal(),
            Shape::Spikes => rng.normal() + spike(rng),
            Shape::HeavyTails => heavy(rng),
        }
    }
}

/// An exponential amount now and then, else nothing.
fn spike(rng: &mut Rng) -> f64 {
    if rng.unit() < 0.05 { SPIKE * rng.exponential() } else { 0.0 }
}

/// Student's t with three degrees of freedom, scaled to a variance of 1.
fn heavy(rng: &mut Rng) -> f64 {
    let square: f64 = (0..3).map(|_| rng.normal().powi(2)).sum();
    rng.normal() / square.sqrt()
}

/// Steps of base and test for which intervals have to hold.
pub const SIZES: [(usize, usize); 5] = [(10, 10), (20, 20), (30, 30), (100, 100), (10, 50)];

/// Correlations with the step before for which they have to hold.
pub const RHOS: [f64; 4] = [0.0, 0.3, 0.6, 0.8];

/// How often nominal intervals of 95 % have to hold the truth.
pub const COVER: (f64, f64) = (0.925, 0.995);

/// How often a difference may be seen where there is none.
pub const ALARMS: f64 = 0.075;

/// What was said about two series whose true difference is zero.
#[derive(Clone, Copy, Debug)]
pub struct Said {
    /// None: unbounded, which holds everything.
    pub interval: Option<(f64, f64)>,
    /// The chance that was named.
    pub p: f64,
}

/// How often statements were right, as parts of all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rates {
    /// The interval held the truth.
    pub cover: f64,
    /// p was at most 5 %, with no difference there.
    pub alarms: f64,
    /// The interval was unbounded.
    pub unbounded: f64,
}

impl Rates {
    /// Over `seeds` seeds.
    pub fn of(seeds: u64, said: impl Fn(u64) -> Said) -> Self {
        let said: Vec<Said> = (0..seeds).map(said).collect();
        let share =
            |wanted: &dyn Fn(&Said) -> bool| said.iter().filter(|said| wanted(said)).count() as f64 / said.len().max(1) as f64;
        Self {
            cover: share(&|said| said.interval.is_none_or(|(low, high)| low <= 0.0 && 0.0 <= high)),
            alarms: share(&|said| said.p <= 0.05),
            unbounded: share(&|said| said.interval.is_none()),
        }
    }
}

/// The standard error of a share found with so many seeds.
pub fn error(share: f64, seeds: u64) -> f64 {
    (share * (1.0 - share) / seeds.max(1) as f64).sqrt()
}

/// The share of `seeds` seeds for which something is true.
pub fn share(seeds: u64, is_true: impl Fn(u64) -> bool) -> f64 {
    (0..seeds).filter(|seed| is_true(*seed)).count() as f64 / seeds.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_resemble_the_one_before_as_much_as_they_should() {
        for rho in [0.0, 0.6] {
            let run = Steps::new(Shape::Normal, rho).run(50_000, &mut Rng::new(1));
            let mean = run.iter().sum::<f64>() / run.len() as f64;
            let products: f64 = run.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum();
            let squares: f64 = run.iter().map(|step| (step - mean).powi(2)).sum();
            assert!((products / squares - rho).abs() < 0.02, "{rho}");
            assert!((mean - 100.0).abs() < 0.05 && ((squares / run.len() as f64).sqrt() - 1.0).abs() < 0.02, "{rho}");
        }
    }

    #[test]
    fn one_seed_gives_one_run() {
        for shape in Shape::REQUIRED {
            let run = |seed| Steps::new(shape, 0.3).run(20, &mut Rng::new(seed));
            assert_eq!(run(1), run(1));
            assert_ne!(run(1), run(2));
        }
    }

    #[test]
    fn an_unbounded_interval_covers_and_is_counted() {
        let said = |seed| Said { interval: (seed % 2 == 0).then_some((1.0, 2.0)), p: seed as f64 / 4.0 };
        assert_eq!(Rates::of(4, said), Rates { cover: 0.5, alarms: 0.25, unbounded: 0.5 });
        assert_eq!(share(4, |seed| seed < 3), 0.75);
    }
}
