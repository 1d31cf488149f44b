//! Where the level of a series changes: energy statistics find the place, Student's t says whether it is one.
//!
//! The place is where values before and after are furthest apart, as E-divisive means measures it (Matteson and James 2014):
//! by distances between values rather than by means, so that one spike is no level. Student's t instead of permutations, so that
//! nothing is drawn at random, is what Hunter and Apache Otava do. Unlike there, the chance is that of the best of all
//! places ([`best_of_all`]), and values that resemble the one before count for less; how much they do is told without spikes, which
//! resemble nothing and would hide it. A series of `n` values costs `n log n` for each level found.

use crate::energy::Split;
use crate::estimate::{deviations, mean};
use crate::ranks::{Resemblance, sums_of};
use crate::spikes::{typical_square, without_spikes};
use crate::{series, student};

/// A place where the level changes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// The first value of the new level.
    pub index: usize,
    /// The mean since the change point before, or since the start.
    pub before: f64,
    /// The mean up to the next change point, or to the end.
    pub after: f64,
    /// The chance of such a step anywhere in a series without one.
    pub p: f64,
}

/// Values that make a level.
const LEAST: usize = 3;

/// The change points of a series in order of time, each with a chance of at most `alpha`. Values that are no finite numbers are
/// passed over.
pub fn change_points(values: &[f64], alpha: f64) -> Vec<ChangePoint> {
    let kept: Vec<usize> = (0..values.len()).filter(|index| series::usable(values[*index])).collect();
    let series: Vec<f64> = kept.iter().map(|index| values[*index]).collect();
    let calm = without_spikes(&series);
    let search = Search { series: &series, calm: &calm, resemblance: resemblance(&calm), alpha };
    let cuts = search.weeded(search.divided());
    let point = |around: &[usize]| ChangePoint {
        index: kept[around[1]],
        before: mean(&series[around[0]..around[1]]),
        after: mean(&series[around[1]..around[2]]),
        p: search.p(around[0], around[1], around[2]),
    };
    cuts.windows(3).map(point).collect()
}

struct Search<'a> {
    series: &'a [f64],
    /// The same without spikes, by which it is told how much values resemble each other.
    calm: &'a [f64],
    /// How much values resemble the one before, as far as levels let that be seen.
    resemblance: Resemblance,
    alpha: f64,
}

impl Search<'_> {
    /// The places where the series, and then each of its parts, changes, between its ends.
    fn divided(&self) -> Vec<usize> {
        let mut cuts = vec![0, self.series.len()];
        // A list instead of recursion: a staircase of ten thousand levels is as deep.
        let mut left = vec![(0, self.series.len())];
        while let Some((from, to)) = left.pop() {
            let Some(at) = Split::best(&self.series[from..to], LEAST).map(|at| from + at) else { continue };
            if self.p(from, at, to) <= self.alpha {
                cuts.push(at);
                left.extend([(from, at), (at, to)]);
            }
        }
        cuts.sort_unstable();
        cuts
    }

    /// Without those, weakest first, that their neighbours no longer bear out once they are known.
    fn weeded(&self, mut cuts: Vec<usize>) -> Vec<usize> {
        let chance = |cuts: &[usize], at: usize| self.p(cuts[at - 1], cuts[at], cuts[at + 1]);
        // One for each cut but the ends, which are none.
        let mut chances: Vec<f64> = (1..cuts.len() - 1).map(|at| chance(&cuts, at)).collect();
        while let Some(weakest) = (0..chances.len()).max_by(|a, b| chances[*a].total_cmp(&chances[*b])) {
            if chances[weakest] <= self.alpha {
                break;
            }
            cuts.remove(weakest + 1);
            chances.remove(weakest);
            for beside in [weakest, weakest + 1] {
                if (1..cuts.len() - 1).contains(&beside) {
                    chances[beside - 1] = chance(&cuts, beside);
                }
            }
        }
        cuts
    }

    /// The chance of two such levels from `from` to `at` and on to `to`, were there one: Student's t with a common variance, of the
    /// best of all places. A part of the series is one of as many, each of which had its chance.
    fn p(&self, from: usize, at: usize, to: usize) -> f64 {
        let (before, after) = (&self.series[from..at], &self.series[at..to]);
        let (n, m) = (before.len() as f64, after.len() as f64);
        let shift = mean(after) - mean(before);
        if shift == 0.0 {
            return 1.0;
        }
        let about = about_levels(&self.calm[from..at], &self.calm[at..to]);
        let inflation = self.resemblance.inflation().min(about.inflation());
        let df = ((n + m) / inflation - 2.0).max(1.0);
        let deviation = deviations(before).hypot(deviations(after)) / (n + m - 2.0).sqrt();
        let error = deviation * ((1.0 / n + 1.0 / m) * inflation).sqrt();
        // Levels without any variation that differ have an infinite t.
        let parts = self.series.len() as f64 / (n + m);
        (parts * best_of_all(student::p(shift / error, df), n + m)).min(1.0)
    }
}

/// How much a value resembles the one before, by the squares of differences over one and two places without the largest. Few
/// differences cross a level's edge, which would make any correlation about a mean large. Medians in place of the means would
/// bear more edges, but of the forty runs of a history they tell so little that every fourth clear step is taken for resemblance.
fn resemblance(series: &[f64]) -> Resemblance {
    let (one, two) = (typical_square(series, 1), typical_square(series, 2));
    Resemblance::unbiased(if one > 0.0 { two / one - 1.0 } else { 0.0 }, 0.0, 0.0, 1.0)
}

/// The same of what is left once the means of two levels are taken away. It is the better one where there are no other levels, and too
/// large where there are: so the smaller of both is taken.
fn about_levels(before: &[f64], after: &[f64]) -> Resemblance {
    let about = |level: &[f64]| {
        let mean = mean(level);
        level.iter().map(|value| value - mean).collect::<Vec<f64>>()
    };
    let [product, square] = sums_of(&[about(before), about(after)].concat());
    let r = if square > 0.0 { product / square } else { 0.0 };
    Resemblance::unbiased(r, 2.0, 3.0, (before.len() + after.len()) as f64)
}

/// The chance that the largest of all places of `n` values has a chance of `p` by itself: the tail of the standardised bridge
/// (Vostrikova 1981).
fn best_of_all(p: f64, n: f64) -> f64 {
    let z = student::normal_quantile(p);
    // The tail of a small z is no tail; that of an infinite one is nothing.
    if z < 1.5 {
        return 1.0;
    }
    if z == f64::INFINITY {
        return 0.0;
    }
    let edge = LEAST as f64 / n;
    let length = 2.0 * ((1.0 - edge) / edge).ln();
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let chance = z * density * (length - length / (z * z) + 4.0 / (z * z));
    chance.clamp(p, 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rankscope_testkit::Rng;
    use rankscope_testkit::steps::{Shape, Steps, share};

    fn noise(count: usize, seed: u64) -> Vec<f64> {
        Steps::new(Shape::Spikes, 0.0).run(count, &mut Rng::new(seed))
    }

    fn places(values: &[f64]) -> Vec<usize> {
        change_points(values, 0.05).iter().map(|point| point.index).collect()
    }

    #[test]
    fn levels_are_found_where_they_begin() {
        let mut values = noise(90, 1);
        values[30..].iter_mut().for_each(|value| *value += 20.0);
        values[60..].iter_mut().for_each(|value| *value -= 50.0);
        let found = change_points(&values, 0.05);
        assert_eq!(found.iter().map(|point| point.index).collect::<Vec<_>>(), [30, 60]);
        assert!((found[0].after - found[0].before - 20.0).abs() < 2.0 && found[0].p < 1e-3, "{found:?}");
        assert_eq!(found[0].after, found[1].before);
    }

    #[test]
    fn noise_has_no_levels_but_in_a_few_cases_of_a_hundred() {
        assert!(share(300, |seed| !places(&noise(100, seed)).is_empty()) < 0.08);
    }

    /// The share of histories of 40 runs on four ranks, of which two get slower by `jump` from the run `at` on, in which that is found.
    /// Runs scatter by 1 % on each rank, the job is as slow as its slowest rank, and it is one of nine metrics.
    fn found(jump: f64, at: usize) -> f64 {
        share(400, |seed| {
            let run = |rank| Steps::new(Shape::Normal, 0.0).run(40, &mut Rng::new(4 * seed + rank));
            let ranks: Vec<Vec<f64>> = (0..4).map(run).collect();
            let of_rank = |rank: usize, run: usize| {
                let level = if rank < 2 && run >= at { 1.0 + jump } else { 1.0 };
                level * ranks[rank][run]
            };
            let slowest = |run| (0..4).map(|rank| of_rank(rank, run)).fold(0.0, f64::max);
            let values: Vec<f64> = (0..40).map(slowest).collect();
            change_points(&values, 0.05 / 9.0).iter().any(|point| point.index.abs_diff(at) <= 3)
        })
    }

    #[test]
    fn a_clear_step_in_forty_runs_is_found_wherever_it_is() {
        for at in [20, 30, 35] {
            let share = found(0.04, at);
            assert!(share >= 0.97, "from run {at} on: {share}");
        }
    }

    #[test]
    fn one_spike_is_no_level() {
        let mut values = noise(60, 3);
        values[20] += 500.0;
        assert!(places(&values).is_empty());
    }

    #[test]
    fn spikes_do_not_make_levels_of_values_that_resemble_each_other() {
        for (rho, count) in [(0.6, 100), (0.8, 100), (0.8, 300)] {
            let alarms = share(300, |seed| {
                let steps = Steps::new(Shape::SingleSpikes, rho).run(count, &mut Rng::new(seed));
                !places(&steps).is_empty()
            });
            assert!(alarms < 0.06, "{count} steps, rho {rho}: {alarms}");
        }
    }

    #[test]
    fn a_level_among_spikes_is_found() {
        let found = share(200, |seed| {
            let mut steps = Steps::new(Shape::SingleSpikes, 0.6).run(200, &mut Rng::new(seed));
            steps[100..].iter_mut().for_each(|step| *step += 3.0);
            places(&steps).iter().any(|at| at.abs_diff(100) <= 5)
        });
        assert!(found > 0.9, "{found}");
    }

    #[test]
    fn exact_levels_are_found_and_a_constant_has_none() {
        assert_eq!(places(&[[1.0; 10], [2.0; 10]].concat()), [10]);
        assert!(places(&[1e-200; 20]).is_empty());
        assert!(places(&[1.0, 2.0]).is_empty() && places(&[]).is_empty());
    }

    #[test]
    fn what_is_no_number_is_passed_over_and_places_are_those_of_the_series() {
        let values = [[1.0; 10], [f64::NAN; 10], [2.0; 10]].concat();
        assert_eq!(places(&values), [20]);
        assert!(change_points(&values, f64::NAN).is_empty());
    }

    #[test]
    fn ten_thousand_steps_of_a_hundred_levels_are_divided() {
        let mut values = noise(10_000, 4);
        values.iter_mut().enumerate().for_each(|(step, value)| *value += 30.0 * ((step / 100) % 7) as f64);
        assert_eq!(places(&values), (1..100).map(|level| 100 * level).collect::<Vec<_>>());
    }
}
