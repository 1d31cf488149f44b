//! Jobs with a slow rank or a hang in them: whether it is found, whom it is put down to, and how long that takes.

use rankscope_clock::Rng;
use rankscope_live::AlarmKind;
use rankscope_testkit::job_days::{DayShape, JobDay, Planted, RANKS};
use serde::Serialize;

use super::days::{DAY_NS, watched};
use super::rates::{self, Delays};

/// What was found of slow ranks in jobs of one shape.
#[derive(Debug, Serialize)]
pub(super) struct Stragglers {
    pub(super) shape: &'static str,
    /// So many times as long.
    pub(super) factor: f64,
    pub(super) trials: u64,
    /// Part of the jobs in which the first alarm about a rank was about the right one.
    pub(super) named_right: f64,
    /// Jobs in which it was about another.
    pub(super) wrong: u64,
    /// Jobs without one.
    pub(super) missed: u64,
    pub(super) delay_steps: Delays,
}

/// What was found of hangs.
#[derive(Debug, Serialize)]
pub(super) struct Hangs {
    pub(super) shape: &'static str,
    pub(super) trials: u64,
    pub(super) confirmed: u64,
    pub(super) median_seconds: f64,
    pub(super) slowest_seconds: f64,
}

/// Slownesses that are looked for.
const FACTORS: [f64; 4] = [1.03, 1.05, 1.10, 1.30];

/// Steps within which one has to be found.
const WITHIN: u64 = 3_600;

pub(super) fn stragglers(trials: u64) -> Vec<Stragglers> {
    let pairs = DayShape::ALL.into_iter().flat_map(|shape| FACTORS.map(|factor| (shape, factor)));
    pairs.map(|(shape, factor)| straggler(shape, factor, trials)).collect()
}

enum Found {
    Right(u64),
    Wrong,
    Missed,
}

fn straggler(shape: DayShape, factor: f64, trials: u64) -> Stragglers {
    let found = rates::shared(trials, |seed| search(shape, factor, seed));
    let right: Vec<u64> =
        found.iter().filter_map(|found| if let Found::Right(steps) = found { Some(*steps) } else { None }).collect();
    let count = |wanted: fn(&Found) -> bool| found.iter().filter(|found| wanted(found)).count() as u64;
    Stragglers {
        shape: shape.name(),
        factor,
        trials,
        named_right: right.len() as f64 / trials as f64,
        wrong: count(|found| matches!(found, Found::Wrong)),
        missed: count(|found| matches!(found, Found::Missed)),
        delay_steps: Delays::of(right),
    }
}

/// A job in which some rank becomes slow at some time; where jobs are started again, that may have been shortly before.
fn search(shape: DayShape, factor: f64, seed: u64) -> Found {
    let mut rng = Rng::lane(seed, 77);
    let (slow, step) = (rng.below(RANKS as u64) as usize, 700 + rng.below(600));
    let before_ns = rng.below(DAY_NS as u64 / 3) as i64;
    let restart_ns = (shape == DayShape::Restarts).then(|| step as i64 * 1_100_000_000 - before_ns).filter(|ns| *ns > 0);
    let planted = Some(Planted::Straggler { rank: slow, step, factor });
    let day = JobDay { shape, seed: 50_000 * (1 + shape as u64) + seed, length_ns: DAY_NS, planted, restart_ns };
    let mut found = Found::Missed;
    watched(&day, |steps, alarm| {
        if alarm.kind == AlarmKind::Straggler && alarm.cleared_ns.is_none() && steps <= step + WITHIN {
            let is_right = alarm.rank == Some(slow as u32) && steps > step;
            found = if is_right { Found::Right(steps - step) } else { Found::Wrong };
            return true;
        }
        steps > step + WITHIN
    });
    found
}

pub(super) fn hangs(trials: u64) -> Vec<Hangs> {
    DayShape::ALL.map(|shape| hang(shape, trials)).into()
}

fn hang(shape: DayShape, trials: u64) -> Hangs {
    let taken = rates::shared(trials, |seed| {
        let step = 200 + Rng::lane(seed, 78).below(9_000);
        let day = JobDay {
            shape,
            seed: 90_000 * (1 + shape as u64) + seed,
            length_ns: DAY_NS,
            planted: Some(Planted::Hang { step }),
            restart_ns: None,
        };
        let mut age_ns = None;
        watched(&day, |steps, alarm| {
            let is_it = alarm.kind == AlarmKind::Hang && alarm.cleared_ns.is_none() && steps > step;
            if is_it {
                age_ns = Some(alarm.value_ns);
            }
            is_it
        });
        age_ns
    });
    let mut seconds: Vec<f64> = taken.iter().flatten().map(|age_ns| *age_ns as f64 / 1e9).collect();
    seconds.sort_by(f64::total_cmp);
    Hangs {
        shape: shape.name(),
        trials,
        confirmed: seconds.len() as u64,
        median_seconds: seconds.get(seconds.len() / 2).copied().unwrap_or(f64::NAN),
        slowest_seconds: seconds.last().copied().unwrap_or(f64::NAN),
    }
}
