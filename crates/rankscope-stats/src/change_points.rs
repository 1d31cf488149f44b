//! Where the level of a series changes: energy statistics find the place, Student's t says whether it is one.
//!
//! The place is where values before and after are furthest apart, as E-divisive means measures it (Matteson and James 2014):
//! by distances between values rather than by means, so that one spike is no level. Student's t instead of permutations, so that
//! nothing is drawn at random, is what Hunter and Apache Otava do. Unlike there, the chance is that of the best of all
//! places ([`best_of_all`]), and values that resemble the one before count for less. A series of `n` values costs
//! `n log n` for each level found.

use crate::energy::Split;
use crate::ranks::Resemblance;
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
    let inflation = resemblance(&series).inflation();
    let mut cuts = vec![0, series.len()];
    divide(&series, 0, inflation, alpha, &mut cuts);
    cuts.sort_unstable();
    weed(&series, inflation, alpha, &mut cuts);
    let point = |around: &[usize]| {
        let (before, after) = (&series[around[0]..around[1]], &series[around[1]..around[2]]);
        ChangePoint { index: kept[around[1]], before: mean(before), after: mean(after), p: p(before, after, inflation) }
    };
    cuts.windows(3).map(point).collect()
}

/// Adds the places where `series`, which begins at `offset`, and then each of its parts, changes.
fn divide(series: &[f64], offset: usize, inflation: f64, alpha: f64, cuts: &mut Vec<usize>) {
    // A list instead of recursion: a staircase of ten thousand levels is as deep.
    let mut left = vec![(offset, offset + series.len())];
    while let Some((from, to)) = left.pop() {
        let Some(at) = Split::best(&series[from..to], LEAST).map(|at| from + at) else { continue };
        if p(&series[from..at], &series[at..to], inflation) <= alpha {
            cuts.push(at);
            left.extend([(from, at), (at, to)]);
        }
    }
}

/// Takes out, weakest first, what its neighbours no longer bear out once they are known.
fn weed(series: &[f64], inflation: f64, alpha: f64, cuts: &mut Vec<usize>) {
    let chance = |around: &[usize]| p(&series[around[0]..around[1]], &series[around[1]..around[2]], inflation);
    loop {
        let weakest = cuts.windows(3).map(chance).enumerate().max_by(|a, b| a.1.total_cmp(&b.1));
        match weakest {
            Some((index, p)) if p > alpha => cuts.remove(index + 1),
            _ => return,
        };
    }
}

/// How much a value resembles the one before, by the medians of differences over one and two places. Few of them cross a level's
/// edge, which would make any correlation about a mean large.
fn resemblance(series: &[f64]) -> Resemblance {
    let typical = |lag: usize| {
        let mut sizes: Vec<f64> = series.windows(lag + 1).map(|window| (window[lag] - window[0]).abs()).collect();
        sizes.sort_by(f64::total_cmp);
        sizes.get(sizes.len() / 2).copied().unwrap_or(0.0)
    };
    let (one, two) = (typical(1), typical(2));
    Resemblance::unbiased(if one > 0.0 { (two / one).powi(2) - 1.0 } else { 0.0 }, 0.0, 0.0, 1.0)
}

/// The chance of two such levels, were there one: Student's t with a common variance, of the best of all places.
fn p(before: &[f64], after: &[f64], inflation: f64) -> f64 {
    let (n, m) = (before.len() as f64, after.len() as f64);
    let shift = mean(after) - mean(before);
    let squares = squares(before) + squares(after);
    if shift == 0.0 {
        return 1.0;
    }
    let df = ((n + m) / inflation - 2.0).max(1.0);
    let error = (squares / (n + m - 2.0) * (1.0 / n + 1.0 / m) * inflation).sqrt();
    // Levels without any variation that differ have an infinite t.
    best_of_all(student::p(shift / error, df), n + m)
}

/// The chance that the largest of all places of `n` values has a chance of `p` by itself: the tail of the standardised bridge
/// (Vostrikova 1981).
fn best_of_all(p: f64, n: f64) -> f64 {
    let z = student::normal_quantile(p);
    let edge = LEAST as f64 / n;
    let length = 2.0 * ((1.0 - edge) / edge).ln();
    let density = (-z * z / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let chance = z * density * (length - length / (z * z) + 4.0 / (z * z));
    if z == f64::INFINITY {
        return 0.0;
    }
    // The tail of a small z is no tail; no place is better than all places.
    if z < 1.5 { 1.0 } else { chance.clamp(p, 1.0) }
}

fn mean(values: &[f64]) -> f64 {
    let first = values[0];
    first + values.iter().map(|value| (value - first) / values.len() as f64).sum::<f64>()
}

fn squares(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum()
}
