//! How two clocks differ by the ends of what their ranks did together.
//!
//! Once everybody has come, a short collective ends everywhere at nearly the same moment. A long one need not: parts of a ring
//! truly end a third of a millisecond apart, the same ranks late every time, which looks precise and is wrong. So the shortest
//! collectives count first, and longer ones only while the ends agree as well with them as without. Through the differences goes
//! a line, by Theil (1950) and Sen (1968); its slope is believed only if the
//! span is long enough to show one above the noise.

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

/// The ends of one collective on two clocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndPair {
    /// How short the collective was: the shorter, the more its ends are worth.
    pub(crate) shortest_ns: i64,
    /// When it ended.
    pub(crate) at_ns: i64,
    pub(crate) difference_ns: i64,
}

/// More ends agree as well as fewer do if they stray no more than this many times as far: few may agree by luck.
const AS_WELL: f64 = 1.5;
/// And if they show the same difference to within so many of its errors.
const AGREEING_ERRORS: f64 = 3.0;
/// Fewer ends than this agree by chance.
pub(crate) const ENDS_MIN: usize = 3;
/// Fewer ends than this have no slope.
const SLOPED_ENDS_MIN: usize = 8;
/// Clocks usually drift apart by some parts per million. A span that tells slopes apart as finely as this has a slope, whatever it
/// is: to call it level would be the greater error.
const SLOPE_ERROR_FINE: f64 = 2e-6;
/// One that tells them no finer than this has none.
const SLOPE_ERROR_MAX: f64 = 5e-6;
/// Between the two a slope counts if it is this many times its error, and more where few ends tell the noise: less happens by
/// chance once in some hundred pairs of clocks.
const SLOPE_ERRORS: f64 = 2.5;
const SLOPE_ERRORS_FEW: f64 = 8.0;
/// Slopes between all pairs of this many points at most; more points are first taken together in runs.
const SLOPED_POINTS_MAX: usize = 128;
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

/// The line through as many of the shortest collectives as tie as well as fewer do; `None` without any.
pub(crate) fn tie(mut ends: Vec<EndPair>) -> Option<Tie> {
    ends.sort_by_key(|end| end.at_ns);
    let all = ends.len();
    // As few as have no slope agree by luck; they are taken only where half of all would be as few.
    let fewest = if all < 2 * SLOPED_ENDS_MIN { all.min(ENDS_MIN) } else { SLOPED_ENDS_MIN };
    let counts = [1, 2, 3, 4].map(|quarters| (all * quarters / 4).max(fewest));
    let mut shortest: Vec<Length> = ends.iter().zip(0..).map(|(end, at)| (end.shortest_ns, at)).collect();
    let among = |count: usize| {
        let longest = longest_of(&mut shortest, count)?;
        let own: Vec<EndPair> =
            ends.iter().zip(0..).filter(|(end, at)| (end.shortest_ns, *at) <= longest).map(|(end, _)| *end).collect();
        through(&own)
    };
    // What many are chosen from holds what fewer are.
    let mut ties: Vec<Tie> = counts.into_iter().rev().filter_map(among).collect();
    ties.reverse();
    let shortest = *ties.first()?;
    let least_ns = ties.iter().map(|tie| tie.noise_ns).fold(f64::INFINITY, f64::min);
    let as_well = ties.into_iter().rev().find(|tie| tie.noise_ns <= AS_WELL * least_ns && tie.agrees(&shortest));
    Some(as_well.unwrap_or(shortest))
}

/// How short a collective was, and where it stands in time, which tells those of one length apart.
type Length = (i64, u32);

/// The longest of the `count` shortest of `lengths`, and those are all that is left of them.
fn longest_of(lengths: &mut Vec<Length>, count: usize) -> Option<Length> {
    lengths.get(count.checked_sub(1)?)?;
    let longest = *lengths.select_nth_unstable(count - 1).1;
    lengths.truncate(count);
    Some(longest)
}

/// A line through all of `ends`, which are in order of time: level, unless a slope is there for certain.
fn through(ends: &[EndPair]) -> Option<Tie> {
    let base_ns = median(ends.iter().map(|end| end.difference_ns).collect())?;
    let center_ns = mean_ns(ends.iter().map(|end| end.at_ns));
    // Floats from here on hold differences to the middle of all.
    let points: Vec<(f64, f64)> = ends
        .iter()
        .map(|end| (end.at_ns.saturating_sub(center_ns) as f64, end.difference_ns.saturating_sub(base_ns) as f64))
        .collect();
    let slope = (points.len() >= SLOPED_ENDS_MIN).then(|| theil_sen(&points)).flatten();
    let sloped = slope.map(|slope| (slope, Residuals::along(&points, slope)));
    let (slope, residuals) = sloped
        .filter(|(slope, residuals)| residuals.show(*slope, &points))
        .unwrap_or_else(|| (0.0, Residuals::along(&points, 0.0)));
    let mut shortest: Vec<Length> = ends.iter().map(|end| (end.shortest_ns, 0)).collect();
    Some(Tie {
        line: Line {
            center_ns,
            offset_ns: base_ns.saturating_add(residuals.middle_ns.round() as i64),
            drift_ppb: (slope * 1e9).round() as i64,
        },
        noise_ns: residuals.noise_ns,
        error_ns: residuals.noise_ns / (ends.len() as f64).sqrt(),
        count: ends.len(),
        shortest_ns: longest_of(&mut shortest, ENDS_MIN.min(ends.len()))?.0,
        reach_ns: (ends.first()?.at_ns, ends.last()?.at_ns),
    })
}

/// The median of the slopes between all pairs of points, which are in order of time, or of runs of points where they are many.
fn theil_sen(points: &[(f64, f64)]) -> Option<f64> {
    let run = points.len().div_ceil(SLOPED_POINTS_MAX);
    let middle = |values: Vec<f64>| median_of(values).unwrap_or(0.0);
    // In order of time the middle one is in the middle.
    let runs: Vec<(f64, f64)> =
        points.chunks(run).map(|run| (run[run.len() / 2].0, middle(run.iter().map(|point| point.1).collect()))).collect();
    median_slope(&runs)
}

/// The median of the slopes between all pairs of `points`, which ascend in time; the upper one of two.
///
/// Slopes between points that are far apart in time are the most precise, and there are few of them. So the median of all is sought
/// among those that lie where most of these do, and only where it is not there, among all.
fn median_slope(points: &[(f64, f64)]) -> Option<f64> {
    let slope = |(x, y): (f64, f64), (later, other): (f64, f64)| (other - y) / (later - x);
    let is_slope = |from: (f64, f64), to: (f64, f64)| to.0 > from.0;
    let half = points.len() / 2;
    let far = points.iter().zip(&points[half..]).filter(|(from, to)| is_slope(**from, **to));
    let mut far: Vec<f64> = far.map(|(from, to)| slope(*from, *to)).collect();
    far.sort_unstable_by(f64::total_cmp);
    let edge = far.len() / FAR_EDGE;
    let (least, most) = match far.as_slice() {
        [_, .., _] => (far[edge], far[far.len() - 1 - edge]),
        _ => (f64::NEG_INFINITY, f64::INFINITY),
    };
    let (mut below, mut all, mut near) = (0, 0, Vec::new());
    for (at, from) in points.iter().enumerate() {
        let first = near.len();
        near.resize(first + points.len() - at - 1, 0.0);
        let mut kept = first;
        for to in &points[at + 1..] {
            let slope = slope(*from, *to);
            let counts = is_slope(*from, *to);
            all += usize::from(counts);
            below += usize::from(counts & (slope < least));
            near[kept] = slope;
            kept += usize::from(counts & (slope >= least) & (slope <= most));
        }
        near.truncate(kept);
    }
    let middle = all / 2;
    if (below..below + near.len()).contains(&middle) {
        return Some(*near.select_nth_unstable_by(middle - below, f64::total_cmp).1);
    }
    let later = |(at, from): (usize, &(f64, f64))| points[at + 1..].iter().map(|to| (*from, *to)).collect::<Vec<_>>();
    let pairs = points.iter().enumerate().flat_map(later).filter(|(from, to)| is_slope(*from, *to));
    median_of(pairs.map(|(from, to)| slope(from, to)).collect())
}

/// Of the slopes between points that are far apart, the part on either side beyond which the median is not sought.
const FAR_EDGE: usize = 4;

/// What is left of the differences along a slope.
struct Residuals {
    middle_ns: f64,
    noise_ns: f64,
}

impl Residuals {
    fn along(points: &[(f64, f64)], slope: f64) -> Self {
        let residuals: Vec<f64> = points.iter().map(|(x, y)| y - slope * x).collect();
        let median = median_of(residuals.clone()).unwrap_or(0.0);
        let deviation = median_of(residuals.iter().map(|residual| (residual - median).abs()).collect()).unwrap_or(0.0);
        // The median of few is fitted to them.
        let few = (points.len() as f64 / (points.len() as f64 - 2.0).max(1.0)).sqrt();
        let noise_ns = (MAD * deviation * few).max(GRAIN_NS);
        // The mean of what lies near the median: nearly as sharp as the mean where noise is normal, and as robust. Its own
        // deviation takes the luck out of the median's where there are few.
        let near = || residuals.iter().filter(|residual| (*residual - median).abs() <= 3.0 * noise_ns);
        let count = near().count().max(1) as f64;
        let middle_ns = near().sum::<f64>() / count;
        let variance = near().map(|residual| (residual - middle_ns).powi(2)).sum::<f64>() / (count - 2.0).max(1.0);
        Self { middle_ns, noise_ns: noise_ns.max(variance.sqrt()) }
    }

    /// Whether the span is long enough for a slope to rise above the noise.
    fn show(&self, slope: f64, points: &[(f64, f64)]) -> bool {
        let squares: f64 = points.iter().map(|(x, _)| x * x).sum();
        let error = self.noise_ns / squares.sqrt();
        let errors = SLOPE_ERRORS + SLOPE_ERRORS_FEW / points.len() as f64;
        error <= SLOPE_ERROR_FINE || (error <= SLOPE_ERROR_MAX && slope.abs() > errors * error)
    }
}

fn mean_ns(values: impl Iterator<Item = i64>) -> i64 {
    let (sum, count) = values.fold((0i128, 0i128), |(sum, count), value| (sum + i128::from(value), count + 1));
    sum.checked_div(count).map_or(0, |mean| mean as i64)
}

/// The median; the middle of the two middle ones where they are two.
fn median(mut values: Vec<i64>) -> Option<i64> {
    median_in(&mut values)
}

/// The same of values that may be put in another order.
pub(crate) fn median_in(values: &mut [i64]) -> Option<i64> {
    let (middle, is_even) = (values.len() / 2, values.len().is_multiple_of(2));
    values.get(middle)?;
    let (below, upper, _) = values.select_nth_unstable(middle);
    let below = if is_even { below.iter().copied().max() } else { None };
    Some(below.map_or(*upper, |below| below.midpoint(*upper)))
}

fn median_of(mut values: Vec<f64>) -> Option<f64> {
    let middle = values.len() / 2;
    values.get(middle)?;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Ends every `gap_ns`, with differences of `of(at)`, every other collective long.
    fn ends(count: i64, gap_ns: i64, of: impl Fn(i64, bool) -> i64) -> Vec<EndPair> {
        let end = |at: i64| {
            let long = at % 2 == 1;
            let (at_ns, shortest_ns) = (at * gap_ns, if long { 1_000_000 } else { 5_000 } + at);
            EndPair { shortest_ns, at_ns, difference_ns: of(at_ns, long) }
        };
        (0..count).map(end).collect()
    }

    /// Deviates by up to 700 in either direction, without a slope of its own.
    fn chatter(at_ns: i64) -> i64 {
        (at_ns / 1_000).wrapping_mul(2_654_435_761).rem_euclid(1_401) - 700
    }

    proptest! {
        #[test]
        fn the_median_slope_is_that_of_all_pairs(steps in prop::collection::vec((0i64..3, -50i64..50), 0..60), drift in -9i64..9) {
            let mut x = 0;
            let point = |(step, y): &(i64, i64)| {
                x += step;
                (x as f64, (y + drift * x) as f64)
            };
            let points: Vec<(f64, f64)> = steps.iter().map(point).collect();
            let mut slopes = Vec::new();
            for (at, (x, y)) in points.iter().enumerate() {
                slopes.extend(points[at + 1..].iter().filter(|(later, _)| later > x).map(|(later, other)| (other - y) / (later - x)));
            }
            prop_assert_eq!(median_slope(&points), median_of(slopes));
        }
    }

    #[test]
    fn late_ends_of_long_collectives_do_not_count() {
        let found = tie(ends(40, 1_000_000, |at, long| 3_000_000 + chatter(at) + i64::from(long) * 200_000)).expect("ends");
        assert!((found.line.offset_ns - 3_000_000).abs() < 500, "{found:?}");
        assert!(found.count <= 20, "{found:?}");
    }

    #[test]
    fn a_late_majority_that_agrees_with_itself_does_not_count() {
        let end = |at: i64| {
            let long = at >= 8;
            let shortest_ns = if long { 4_000_000 } else { 9_000 } + at;
            let difference_ns = chatter(at * 1_000_000) + if long { -28_600 } else { 0 };
            EndPair { shortest_ns, at_ns: (at * 7 % 17) * 5_000_000, difference_ns }
        };
        let found = tie((0..17).map(end).collect()).expect("ends");
        assert!(found.line.offset_ns.abs() < 1_000, "{found:?}");
    }

    #[test]
    fn a_drift_shows_where_the_span_is_long_enough() {
        let drifting = |gap_ns| tie(ends(100, gap_ns, |at, _| at / 100_000 + chatter(at))).expect("ends").line;
        let long = drifting(10_000_000);
        assert!((long.drift_ppb - 10_000).abs() < 500 && long.at(0).abs() < 500, "{long:?}");
        assert_eq!(drifting(100_000).drift_ppb, 0);
    }

    #[test]
    fn few_ends_have_no_slope_and_none_have_no_line() {
        assert_eq!(tie(ends(5, 1_000_000_000, |at, _| at / 1_000)).expect("ends").line.drift_ppb, 0);
        assert!(tie(Vec::new()).is_none());
    }

    #[test]
    fn hostile_stamps_do_not_panic() {
        let extreme = [i64::MIN, i64::MAX, 0, -1, 1, i64::MAX - 1, i64::MIN + 1, 7, 9, 11];
        let ends = extreme.map(|value| EndPair { shortest_ns: value, at_ns: value, difference_ns: value });
        assert!(tie(ends.to_vec()).is_some());
    }
}
