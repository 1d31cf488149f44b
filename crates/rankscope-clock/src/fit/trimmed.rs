//! The band that is widest once a few of the worst points of each cloud are left out: the k-gap.
//!
//! Some network cards stamp a packet in a hundred too early, and one such stamp moves a band that touches its outermost
//! points. Found by concentration, as in least trimmed squares: leave out the `k` outermost points along the present slope,
//! fit the rest exactly, repeat while the band grows. Each step can only widen it. The same order statistics tell whether there was a
//! reason: where stamps are honest, the outermost `k` points lie about as close to each other as the next ones do.

use super::band::{Band, Hulls};
use super::slope::Slope;
use super::{Clouds, Point};

/// A band with the outermost points of each cloud left out.
#[derive(Clone, Debug)]
pub(super) struct Trimmed {
    pub(super) band: Band,
    pub(super) above: Floor,
    pub(super) below: Floor,
    /// The points that are left.
    pub(super) clouds: Clouds,
}

/// How far the innermost points of a cloud, which bound it, lie apart along the slope of the band.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Floor {
    /// Of the points left out.
    pub(super) trimmed_ns: f64,
    /// Of three times as many points behind them.
    next_ns: f64,
    /// The lowest point that is left, from the clouds' base.
    level_ns: f64,
}

/// One point of this many is left out: 0.8 %, below which early stamps at 1 % still show (13.2.6 of the specification), above
/// which a loaded path's floor is thinned.
const TRIMMED_SHARE: usize = 125;
/// But at least so many, or there is nothing to compare.
const TRIMMED_MIN: usize = 3;
/// Concentration settles within three or four steps.
const STEPS_MAX: usize = 8;
/// The trimmed points of a clean cloud are at most three times as far apart as the next ones, on every recording at hand and
/// with 20 ns of Gaussian noise on top; with 1 % of early stamps it is twenty times in the median.
const SUSPICIOUS: f64 = 4.0;
/// Spreads below this are made by whole nanoseconds.
const GRAIN_NS: f64 = 2.0;
/// So many offenders side by side are a clock that changed or bends, not stamps that lie.
const CLUSTER_MIN: usize = 3;
/// Floors rougher than this are loaded, or seen along a wrong slope.
const ROUGH_NS: f64 = 40.0;
/// Pieces that the robust first slope is taken over.
const PIECES: usize = 8;

impl Trimmed {
    /// Concentrates from the slope `start`. None where a cloud is too small to lose points.
    pub(super) fn from_slope(clouds: &Clouds, slopes: (Slope, Slope), start: Slope) -> Option<Self> {
        Some(Self::step(clouds, slopes, start)?.concentrated(clouds, slopes))
    }

    fn concentrated(mut self, clouds: &Clouds, slopes: (Slope, Slope)) -> Self {
        for _ in 1..STEPS_MAX {
            match Self::step(clouds, slopes, self.band.slope) {
                Some(next) if next.band.width() > self.band.width() => self = next,
                _ => break,
            }
        }
        self
    }

    /// Concentrates from a slope that early stamps cannot tilt as well, where two steps from there show a wider band.
    pub(super) fn or_from_quantiles(self, clouds: &Clouds, slopes: (Slope, Slope)) -> Self {
        let apart_ns = |slope: Slope| (slope.ppb() - self.band.slope.ppb()).abs() * 1e-9 * clouds.reach.1 as f64;
        let start = quantile_slope(clouds, self.band.slope)
            .filter(|slope| apart_ns(*slope) > 2.0 * ROUGH_NS)
            .map(|slope| slope.clamp(slopes.0, slopes.1));
        let other = start
            .and_then(|start| Self::step(clouds, slopes, start))
            .and_then(|first| Self::step(clouds, slopes, first.band.slope));
        match other {
            Some(other) if other.band.width() > self.band.width() => other.concentrated(clouds, slopes),
            _ => self,
        }
    }

    fn step(clouds: &Clouds, slopes: (Slope, Slope), along: Slope) -> Option<Self> {
        let (upper, above) = trim(&clouds.upper, along, 1.0)?;
        let (lower, below) = trim(&clouds.lower, along, -1.0)?;
        let clouds = clouds.with_points(upper, lower);
        let band = Hulls::of(&clouds).widest(slopes, Some(along))?;
        Some(Self { band, above, below, clouds })
    }

    /// Whether points were left out that no queue explains.
    pub(super) fn is_suspicious(&self) -> bool {
        self.above.is_suspicious() || self.below.is_suspicious()
    }

    /// Whether early stamps may have tilted the slope this was started from: they show, or the floors look too rough to tell.
    pub(super) fn may_be_tilted(&self) -> bool {
        self.is_suspicious() || self.above.next_ns.max(self.below.next_ns) > ROUGH_NS
    }

    /// How deep the offenders among `clouds` lie: the points too far beyond the edges of this band for an honest one.
    pub(super) fn depths_ns(&self, clouds: &Clouds) -> Vec<f64> {
        let above = self.above.offenders(&clouds.upper, self.band.slope, 1.0);
        above.chain(self.below.offenders(&clouds.lower, self.band.slope, -1.0)).map(|(_, depth_ns)| depth_ns).collect()
    }

    /// Whether the offenders of one cloud make up the greater part of its edge at one end of the stretch.
    pub(super) fn is_cluster(&self, clouds: &Clouds) -> bool {
        self.above.is_cluster(&clouds.upper, self.band.slope, 1.0, clouds.reach)
            || self.below.is_cluster(&clouds.lower, self.band.slope, -1.0, clouds.reach)
    }

    /// How far the middle line is likely off, one standard deviation.
    pub(super) fn sigma_ns(&self) -> f64 {
        SIGMA_SHARE * self.above.spread_ns().hypot(self.below.spread_ns()).hypot(SIGMA_MIN_NS / SIGMA_SHARE)
    }
}

/// The error of a middle line is this share of the spread of both floors: measured on the recordings, idle to 80 % load.
const SIGMA_SHARE: f64 = 0.35;
/// Paths are never symmetric to better than this.
const SIGMA_MIN_NS: f64 = 5.0;

impl Floor {
    fn is_suspicious(&self) -> bool {
        self.trimmed_ns > self.tolerance_ns()
    }

    /// How far beyond the edge an honest point may lie.
    fn tolerance_ns(&self) -> f64 {
        SUSPICIOUS * (self.next_ns + GRAIN_NS)
    }

    /// How finely this floor tells where the edge is.
    fn spread_ns(&self) -> f64 {
        if self.is_suspicious() { self.next_ns } else { self.trimmed_ns }
    }

    /// Where the offenders lie, and how deep.
    fn offenders(&self, points: &[Point], slope: Slope, sign: f64) -> impl Iterator<Item = (i64, f64)> {
        let steep = slope.ppb() * 1e-9;
        points.iter().filter_map(move |point| {
            let depth_ns = self.level_ns - residual(point, steep, sign);
            (depth_ns > self.tolerance_ns()).then_some((point.x, depth_ns))
        })
    }

    fn is_cluster(&self, points: &[Point], slope: Slope, sign: f64, reach: (i64, i64)) -> bool {
        let steep = slope.ppb() * 1e-9;
        let (mut count, mut first, mut last) = (0, i64::MAX, i64::MIN);
        for (x, _) in self.offenders(points, slope, sign) {
            (count, first, last) = (count + 1, first.min(x), last.max(x));
        }
        let at_edge = |point: &&Point| residual(point, steep, sign) < self.level_ns + self.tolerance_ns();
        let prevail = |from: i64, until: i64| {
            let there = points.iter().filter(|point| (from..=until).contains(&point.x));
            2 * count > there.filter(at_edge).count()
        };
        count >= CLUSTER_MIN && (prevail(first, reach.1) || prevail(reach.0, last))
    }
}

fn residual(point: &Point, steep: f64, sign: f64) -> f64 {
    sign * (point.y as f64 - steep * point.x as f64)
}

/// `points` without the lowest along the slope (the highest, where `sign` is negative), and how the lowest lay.
fn trim(points: &[Point], along: Slope, sign: f64) -> Option<(Vec<Point>, Floor)> {
    let count = (points.len() / TRIMMED_SHARE).max(TRIMMED_MIN);
    if points.len() <= 4 * count {
        return None;
    }
    let steep = along.ppb() * 1e-9;
    let mut residuals: Vec<f64> = points.iter().map(|point| residual(point, steep, sign)).collect();
    let (near, far, _) = residuals.select_nth_unstable_by(4 * count, f64::total_cmp);
    let (nearest, level, _) = near.select_nth_unstable_by(count, f64::total_cmp);
    let lowest = nearest.iter().copied().fold(*level, f64::min);
    let floor = Floor { trimmed_ns: *level - lowest, next_ns: *far - *level, level_ns: *level };
    // Ties at the level stay, all of them: they are the edge.
    let kept = points.iter().copied().filter(|point| residual(point, steep, sign) >= floor.level_ns);
    Some((kept.collect(), floor))
}

/// The slope of the line through the low quantiles of a few pieces of the window, between both clouds: the median over all
/// pairs of pieces. Residuals are taken along a slope that is about right, or a piece's own tilt would be in its quantiles.
fn quantile_slope(clouds: &Clouds, along: Slope) -> Option<Slope> {
    let steep = along.ppb() * 1e-9;
    let width = (clouds.reach.1 - clouds.reach.0) / PIECES as i64 + 1;
    let mut values: [(Vec<f64>, Vec<f64>); PIECES] = Default::default();
    let piece = |x: i64| (((x - clouds.reach.0) / width).max(0) as usize).min(PIECES - 1);
    clouds.upper.iter().for_each(|point| values[piece(point.x)].0.push(residual(point, steep, 1.0)));
    clouds.lower.iter().for_each(|point| values[piece(point.x)].1.push(residual(point, steep, -1.0)));
    let middles = values.iter_mut().zip(0i64..).filter_map(|((upper, lower), at)| {
        let middle = (quantile(upper)? - quantile(lower)?) / 2.0;
        Some((at as f64 * width as f64, middle))
    });
    let middles: Vec<(f64, f64)> = middles.collect();
    let mut slopes_ppb = Vec::with_capacity(PIECES * PIECES / 2);
    for (index, (x, y)) in middles.iter().enumerate() {
        slopes_ppb.extend(middles[index + 1..].iter().map(|(later, other)| (other - y) / (later - x) * 1e9));
    }
    slopes_ppb.sort_unstable_by(f64::total_cmp);
    slopes_ppb.get(slopes_ppb.len() / 2).map(|ppb| Slope::nearest_ppb(along.ppb() + ppb))
}

/// The 5 % quantile: beyond the early stamps, short of the queue.
fn quantile(values: &mut [f64]) -> Option<f64> {
    let at = values.len() / 20;
    (values.len() > at).then(|| *values.select_nth_unstable_by(at, f64::total_cmp).1)
}
