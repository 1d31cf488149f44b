//! The origin's estimator, for comparison: a soft-margin linear support vector machine between the two clouds.
//!
//! Both axes are scaled to 0 … 1, `C` is 1 and the tolerance 1e-2, as in the origin (sections 3.1 to 3.3 of the specification).
//! Scaling by the worst queue makes the band narrow in these units, so the slack term rules and the line is drawn towards the
//! middle of the clouds: hundreds of microseconds off under load. Two of the origin's defects are not copied: the line is
//! taken relative to the first instant, and a single cloud gives no line.
//!
//! Solved by sequential minimal optimisation with the most violating pair (Keerthi et al. 2001). In two dimensions a gradient
//! costs a product with the weights, so nothing is cached.

use rankscope_time::Span;

use super::{Clouds, Point};
use crate::{Exchange, Passage};

const C: f64 = 1.0;
const TOLERANCE: f64 = 1e-2;
/// A pair is impure where its gap changed by a fifth.
const GAP_SHARE: i64 = 5;
/// Far more than any window takes; a bound, so that no input can hold up its caller.
const STEPS_MAX: usize = 40_000;

/// One point in scaled coordinates, with its label and multiplier.
#[derive(Clone, Copy)]
struct Sample {
    x: f64,
    y: f64,
    label: f64,
    weight: f64,
}

/// Value in the middle of the clouds, from their base, and slope in ppb. None where a cloud has no pure pair.
pub(super) fn fit(exchanges: &[Exchange], clouds: &Clouds) -> Option<(i64, f64)> {
    let pure: Vec<Exchange> = exchanges.iter().map(|exchange| only_pure(*exchange)).collect();
    let upper: Vec<Point> = pure.iter().flat_map(|exchange| clouds.upper_of(exchange)).collect();
    let lower: Vec<Point> = pure.iter().flat_map(|exchange| clouds.lower_of(exchange)).collect();
    if upper.is_empty() || lower.is_empty() {
        return None;
    }
    let all = || upper.iter().chain(&lower);
    let (left, right) = reach(all().map(|point| point.x))?;
    let (down, up) = reach(all().map(|point| point.y))?;
    let scaled = |label: f64| {
        move |point: &Point| Sample {
            x: (point.x as f64 - left) / (right - left),
            y: (point.y as f64 - down) / (up - down),
            label,
            weight: 0.0,
        }
    };
    let mut samples: Vec<Sample> = upper.iter().map(scaled(1.0)).chain(lower.iter().map(scaled(-1.0))).collect();
    let (normal_x, normal_y, shift) = separate(&mut samples);
    if normal_y == 0.0 {
        return None;
    }
    // normal_x u + normal_y v = shift, with u and v the scaled axes; the middle of the clouds is at x = 0.
    let at = |x: f64| down + (up - down) * (shift - normal_x * (x - left) / (right - left)) / normal_y;
    let slope_ppb = -normal_x / normal_y * (up - down) / (right - left) * 1e9;
    Some((at(0.0).round() as i64, slope_ppb))
}

/// Least and greatest, where they differ.
fn reach(values: impl Iterator<Item = i64>) -> Option<(f64, f64)> {
    let (least, most) = values.fold((i64::MAX, i64::MIN), |(least, most), value| (least.min(value), most.max(value)));
    (least < most).then_some((least as f64, most as f64))
}

fn only_pure(exchange: Exchange) -> Exchange {
    let keep = |pair: [Passage; 2]| if is_pure(&pair) { pair } else { Default::default() };
    Exchange { forward: keep(exchange.forward), reverse: keep(exchange.reverse), ..exchange }
}

fn is_pure([first, second]: &[Passage; 2]) -> bool {
    let gaps = || Some((second.sent? - first.sent?, second.received? - first.received?));
    gaps().is_some_and(|(sent, received)| (received - sent).abs() < Span::from_nanos(sent.abs().as_nanos() / GAP_SHARE))
}

/// The separating line `(a, b, c)` of `a x + b y = c`.
fn separate(samples: &mut [Sample]) -> (f64, f64, f64) {
    let (mut a, mut b) = (0.0, 0.0);
    let mut shift = 0.0;
    for _ in 0..STEPS_MAX {
        let Some((up, down, gap)) = most_violating(samples, a, b) else { break };
        let error = |sample: &Sample| sample.label - a * sample.x - b * sample.y;
        shift = -(error(&samples[up]) + error(&samples[down])) / 2.0;
        if gap < TOLERANCE {
            break;
        }
        let (one, other) = (samples[up], samples[down]);
        let curvature = ((one.x - other.x).powi(2) + (one.y - other.y).powi(2)).max(1e-12);
        let room = |sample: &Sample, sign: f64| if sample.label * sign > 0.0 { C - sample.weight } else { sample.weight };
        let step = (gap / curvature).min(room(&one, 1.0)).min(room(&other, -1.0));
        samples[up].weight = snapped(one.weight + one.label * step);
        samples[down].weight = snapped(other.weight - other.label * step);
        a += step * (one.x - other.x);
        b += step * (one.y - other.y);
    }
    (a, b, shift)
}

/// A multiplier that rounding has left a hair from a limit is at it: it would be chosen for ever and never move.
fn snapped(weight: f64) -> f64 {
    match weight {
        weight if weight < 1e-12 => 0.0,
        weight if weight > C - 1e-12 => C,
        weight => weight,
    }
}

/// The sample that most wants to be pushed up, the one that most wants to be pushed down, and by how much they disagree.
fn most_violating(samples: &[Sample], a: f64, b: f64) -> Option<(usize, usize, f64)> {
    let (mut up, mut down) = ((usize::MAX, f64::NEG_INFINITY), (usize::MAX, f64::INFINITY));
    for (index, sample) in samples.iter().enumerate() {
        let error = sample.label - a * sample.x - b * sample.y;
        let (can_rise, can_fall) = if sample.label > 0.0 {
            (sample.weight < C, sample.weight > 0.0)
        } else {
            (sample.weight > 0.0, sample.weight < C)
        };
        if can_rise && error > up.1 {
            up = (index, error);
        }
        if can_fall && error < down.1 {
            down = (index, error);
        }
    }
    (up.0 != usize::MAX && down.0 != usize::MAX).then_some((up.0, down.0, up.1 - down.1))
}
