//! How two clocks differ by the ends of what their ranks did together.
//!
//! Once everybody has come, a short collective ends everywhere at nearly the same moment. A long one need not: parts of a ring
//! truly end a third of a millisecond apart, the same ranks late every time, which looks precise and is wrong. So the shortest
//! collectives count first, and longer ones only while the ends agree as well with them as without. Through the differences goes
//! a line, by Theil (1950) and Sen (1968); its slope is believed only if the
//! span is long enough to show one above the noise.

use super::nth::{self, key, of_key, upper_middle};
use super::shortest::{Chosen, Ended};
use super::slopes;

/// The difference of two clocks as a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Line {
    /// Where `offset_ns` holds.
    pub(crate) center_ns: i64,
    pub(crate) offset_ns: i64,
    pub(crate) drift_ppb: i64,
}

/// A line through ends, and how well it is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tie {
    pub(crate) line: Line,
    /// How far a single end lies off it, one standard deviation.
    pub(crate) noise_ns: f64,
    /// How far the line is off at its centre by chance; at the ends of what it was drawn through twice as much.
    pub(crate) error_ns: f64,
    pub(crate) count: usize,
    /// How long the shortest of the collectives were: all but a few were longer.
    pub(crate) shortest_ns: i64,
    /// First and last end it was drawn through.
    pub(crate) reach_ns: (i64, i64),
}

/// More ends agree as well as fewer do if they stray no more than this many times as far: few may agree by luck.
const AS_WELL: f64 = 1.5;
/// And if they show the same difference to within so many of its errors.
const AGREEING_ERRORS: f64 = 3.0;
/// Fewer ends than this agree by chance.
pub(crate) const ENDS_MIN: usize = 3;
/// Fewer ends than this have no slope.
pub(super) const SLOPED_ENDS_MIN: usize = 8;
/// Clocks usually drift apart by some parts per million. A span that tells slopes apart as finely as this has a slope, whatever it
/// is: to call it level would be the greater error.
const SLOPE_ERROR_FINE: f64 = 2e-6;
/// One that tells them no finer than this has none.
const SLOPE_ERROR_MAX: f64 = 5e-6;
/// Between the two a slope counts if it is this many times its error, and more where few ends tell the noise: less happens by
/// chance once in some hundred pairs of clocks.
const SLOPE_ERRORS: f64 = 2.5;
const SLOPE_ERRORS_FEW: f64 = 8.0;
/// Median absolute deviations in a standard deviation.
const MAD: f64 = 1.4826;
/// Whole nanoseconds: ends that agree perfectly are this far off.
const GRAIN_NS: f64 = 1.0;

impl Line {
    /// The difference at another instant.
    pub(crate) fn at(&self, at_ns: i64) -> i64 {
        self.offset_ns.saturating_add(gained_ns(self.drift_ppb, at_ns.saturating_sub(self.center_ns)))
    }

    /// The same at its centre, with another slope.
    pub(crate) fn with_drift(self, drift_ppb: i64) -> Self {
        Self { drift_ppb, ..self }
    }

    /// What clocks differ by that differ by `self` and then by `next`.
    pub(crate) fn then(&self, next: &Self) -> Self {
        let offset_ns = self.at(next.center_ns).saturating_add(next.offset_ns);
        Self { center_ns: next.center_ns, offset_ns, drift_ppb: self.drift_ppb.saturating_add(next.drift_ppb) }
    }
}

impl Tie {
    /// Whether chance explains how far this is from `shorter`. Where half of the ends are late by the same, the late half agrees
    /// with itself as well as the other does.
    fn agrees(&self, shorter: &Self) -> bool {
        let apart_ns = self.line.at(shorter.line.center_ns).saturating_sub(shorter.line.offset_ns).unsigned_abs();
        apart_ns as f64 <= AGREEING_ERRORS * self.error_ns.hypot(shorter.error_ns)
    }
}

/// What a clock gains while it shows `elapsed_ns` to go by: of drifts that last, the square of them counts.
pub(crate) fn gained_in_own_ns(drift_ppb: i64, elapsed_ns: i64) -> i64 {
    parts(drift_ppb, elapsed_ns, SECOND_NS.saturating_add(drift_ppb.max(-SECOND_NS / 2)))
}

/// What a clock gains within `elapsed_ns` of the first one's time.
pub(crate) fn gained_ns(drift_ppb: i64, elapsed_ns: i64) -> i64 {
    if drift_ppb == 0 {
        return 0;
    }
    parts(drift_ppb, elapsed_ns, SECOND_NS)
}

const SECOND_NS: i64 = 1_000_000_000;

/// `a` times `b` divided by `by`, which is above 0, rounded down.
fn parts(a: i64, b: i64, by: i64) -> i64 {
    // Drifts of crystals over half a day fit, and division is ten times as fast then.
    if let Some(product) = a.checked_mul(b) {
        return product.div_euclid(by);
    }
    let parts = (i128::from(a) * i128::from(b)).div_euclid(i128::from(by));
    parts.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
}

/// Room to work in.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// Of the ends that were chosen, counted from their middle.
    differences_ns: Vec<i64>,
    nth: nth::Room,
    left: Left,
    slopes: slopes::Room,
}

/// The line through as many of the shortest collectives as tie as well as fewer do, where `differences_ns` are what another clock showed more at
/// the ends that one saw; `None` without any.
pub(crate) fn tie(ended: &Ended, differences_ns: &[i64], room: &mut Room) -> Option<Tie> {
    let among = |chosen: &Chosen| through(chosen, differences_ns, ended.shortest_ns, room);
    let ties: Vec<Tie> = ended.choices.iter().filter_map(among).collect();
    let shortest = *ties.first()?;
    let least_ns = ties.iter().map(|tie| tie.noise_ns).fold(f64::INFINITY, f64::min);
    let as_well = ties.into_iter().rev().find(|tie| tie.noise_ns <= AS_WELL * least_ns && tie.agrees(&shortest));
    Some(as_well.unwrap_or(shortest))
}

/// A line through the ends that were `chosen`, of collectives of which all but a few were longer than `shortest_ns`: level, unless a slope is
/// there for certain.
fn through(chosen: &Chosen, differences_ns: &[i64], shortest_ns: i64, room: &mut Room) -> Option<Tie> {
    let Room { differences_ns: y, nth, left, slopes } = room;
    let Chosen { places, x, center_ns, reach_ns, .. } = chosen;
    y.clear();
    y.extend(places.iter().map(|place| differences_ns[*place as usize]));
    let base_ns = nth::middle(y, nth)?;
    // Floats from here on hold differences to the middle of all.
    y.iter_mut().for_each(|difference_ns| *difference_ns = difference_ns.saturating_sub(base_ns));
    let slope = (x.len() >= SLOPED_ENDS_MIN).then(|| slopes::theil_sen(x, y, slopes)).flatten();
    let sloped = slope.map(|slope| (slope, left.along(x, y, slope)));
    let (slope, residuals) =
        sloped.filter(|(slope, residuals)| residuals.show(*slope, chosen)).unwrap_or_else(|| (0.0, left.along(x, y, 0.0)));
    Some(Tie {
        line: Line {
            center_ns: *center_ns,
            offset_ns: base_ns.saturating_add(residuals.middle_ns.round() as i64),
            drift_ppb: (slope * 1e9).round() as i64,
        },
        noise_ns: residuals.noise_ns,
        error_ns: residuals.noise_ns / (x.len() as f64).sqrt(),
        count: x.len(),
        shortest_ns,
        reach_ns: *reach_ns,
    })
}

/// What is left of the differences along a slope.
struct Residuals {
    middle_ns: f64,
    noise_ns: f64,
}

/// Room for what is left of each difference.
#[derive(Debug, Default)]
struct Left {
    list: Vec<f64>,
    keys: Vec<i64>,
    nth: nth::Room,
}

impl Left {
    /// What is left of `y` along a slope.
    fn along(&mut self, x: &[f64], y: &[i64], slope: f64) -> Residuals {
        let Self { list, keys, nth } = self;
        list.clear();
        list.extend(x.iter().zip(y).map(|(x, y)| *y as f64 - slope * x));
        keys.clear();
        keys.extend(list.iter().copied().map(key));
        let median = upper_middle(keys, nth).map_or(0.0, of_key);
        keys.clear();
        keys.extend(list.iter().map(|residual| key((residual - median).abs())));
        let deviation = upper_middle(keys, nth).map_or(0.0, of_key);
        // The median of few is fitted to them.
        let few = (x.len() as f64 / (x.len() as f64 - 2.0).max(1.0)).sqrt();
        let noise_ns = (MAD * deviation * few).max(GRAIN_NS);
        // The mean of what lies near the median: nearly as sharp as the mean where noise is normal, and as robust. Its own
        // deviation takes the luck out of the median's where there are few. Adding nothing is sooner done than asking.
        let if_near = |residual: f64, value: f64| if (residual - median).abs() <= 3.0 * noise_ns { value } else { 0.0 };
        let count = list.iter().map(|residual| if_near(*residual, 1.0)).sum::<f64>().max(1.0);
        let middle_ns = list.iter().map(|residual| if_near(*residual, *residual)).sum::<f64>() / count;
        let square = |residual: &f64| if_near(*residual, (residual - middle_ns).powi(2));
        let variance = list.iter().map(square).sum::<f64>() / (count - 2.0).max(1.0);
        Residuals { middle_ns, noise_ns: noise_ns.max(variance.sqrt()) }
    }
}

impl Residuals {
    /// Whether the span is long enough for a slope to rise above the noise.
    fn show(&self, slope: f64, chosen: &Chosen) -> bool {
        let error = self.noise_ns / chosen.squares.sqrt();
        let errors = SLOPE_ERRORS + SLOPE_ERRORS_FEW / chosen.x.len() as f64;
        error <= SLOPE_ERROR_FINE || (error <= SLOPE_ERROR_MAX && slope.abs() > errors * error)
    }
}

/// The median of values that may be put in another order; the middle of the two middle ones where they are two.
pub(crate) fn median_in(values: &mut [i64]) -> Option<i64> {
    let (middle, is_even) = (values.len() / 2, values.len().is_multiple_of(2));
    values.get(middle)?;
    let (below, upper, _) = values.select_nth_unstable(middle);
    let below = if is_even { below.iter().copied().max() } else { None };
    Some(below.map_or(*upper, |below| below.midpoint(*upper)))
}

#[cfg(test)]
mod tests;
