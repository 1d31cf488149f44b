//! [`ClockMap`]: from the time of one clock to the time of another, in integers, with an uncertainty.
//!
//! A *stage* is a list of knots, pairs of simultaneous readings of two clocks. Between two knots time runs linearly; outside
//! them it goes on with the slope of the nearest two (slope one when there is a single knot). A map is a list of stages applied
//! in turn, so composing two maps is exact: it appends. Rounding is to nearest, ties up, which keeps the map monotone.
//!
//! Slopes are bounded to 1/2 … 2. Real clocks differ by parts per million; the bound is what makes `inverse(map(t))` come back
//! to `t` within 1 ns a stage, and a knot pair outside it is a step of a clock, which wants a new map and not a bend.
//!
//! The map does not know how its knots were measured. To write one to a file, take its [`stages`](ClockMap::stages); they are
//! plain values, and [`from_stages`](ClockMap::from_stages) makes an equal map of them.

mod cursor;
mod stages;

use std::cmp::Ordering;
use std::fmt;
use std::marker::PhantomData;

pub use cursor::ClockCursor;
pub use stages::{MapStage, StageError};

use crate::{Instant, Rate, Span};

/// One pair of simultaneous readings, `uncertainty` being half the width of what the second may really be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knot {
    /// Reading of the source clock, in nanoseconds since its epoch.
    pub from_ns: i64,
    /// Reading of the target clock at the same moment.
    pub to_ns: i64,
    /// How far `to_ns` may be off, in either direction.
    pub uncertainty_ns: u64,
}

/// Why a list of knots is no map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MapError {
    /// There was no knot.
    Empty,
    /// Knot `index` does not lie after the one before it, on one clock or on both.
    NotIncreasing {
        /// Place of the offending knot in the list.
        index: usize,
    },
    /// Knot `index` lies more than a century after the one before it.
    TooFarApart {
        /// Place of the offending knot in the list.
        index: usize,
    },
    /// From the knot before it to knot `index`, one clock ran more than twice as fast as the other: a step, not a rate.
    SlopeOutOfRange {
        /// Place of the offending knot in the list.
        index: usize,
    },
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => write!(f, "a clock map needs at least one knot"),
            Self::NotIncreasing { index } => write!(f, "knot {index} does not lie after knot {} on both clocks", index - 1),
            Self::TooFarApart { index } => write!(f, "knots {} and {index} lie more than a century apart", index - 1),
            Self::SlopeOutOfRange { index } => {
                write!(f, "between knots {} and {index} one clock runs more than twice as fast as the other", index - 1)
            }
        }
    }
}

impl std::error::Error for MapError {}

/// A monotone map from clock `A` to clock `B`.
pub struct ClockMap<A, B> {
    stages: Vec<Stage>,
    clocks: PhantomData<fn(A) -> B>,
}

impl<A, B> ClockMap<A, B> {
    /// A map through `knots`, which must increase on both clocks.
    ///
    /// Outside the knots the uncertainty grows by `drift_bound`, the most the two clocks may drift apart unobserved.
    ///
    /// # Errors
    /// [`MapError`] names the first knot that breaks the rule.
    pub fn from_knots(knots: Vec<Knot>, drift_bound: Rate) -> Result<Self, MapError> {
        Ok(Self::of(vec![Stage::new(knots, drift_bound)?]))
    }

    /// The map that adds a constant offset, right to within `uncertainty_ns` at any time.
    pub fn from_offset(offset: Span, uncertainty_ns: u64) -> Self {
        let knot = Knot { from_ns: 0, to_ns: offset.as_nanos(), uncertainty_ns };
        Self::of(vec![Stage { knots: vec![knot], drift_bound: Rate::ZERO, inverse: false, steepest: EVEN, flattest: EVEN }])
    }

    /// The map that changes nothing.
    pub fn identity() -> Self {
        Self::of(Vec::new())
    }

    /// `instant` read on clock `B`.
    pub fn map(&self, instant: Instant<A>) -> Instant<B> {
        Instant::from_nanos_since_epoch(self.stages.iter().fold(instant.nanos_since_epoch(), |t, stage| stage.map(t)))
    }

    /// How far [`map`](Self::map) may be off at `instant`, in either direction, rounding included.
    pub fn uncertainty_ns(&self, instant: Instant<A>) -> u64 {
        let start = (instant.nanos_since_epoch(), 0u64);
        let (_, total) = self.stages.iter().fold(start, |(t, total), stage| {
            // The slope bound of 2 says how much a later stage may stretch what an earlier one left open.
            let carried = if stage.is_offset() { total } else { stage.stretch(total) };
            (stage.map(t), carried.saturating_add(stage.uncertainty_ns(t)))
        });
        total
    }

    /// Whether `instant` lies outside the knots of any stage, where the map only extrapolates.
    pub fn extrapolates(&self, instant: Instant<A>) -> bool {
        let mut t = instant.nanos_since_epoch();
        self.stages.iter().any(|stage| {
            let outside = stage.extrapolates(t);
            t = stage.map(t);
            outside
        })
    }

    /// The greatest [`uncertainty_ns`](Self::uncertainty_ns) from `from` to `until`.
    ///
    /// Between the knots of all stages it runs straight but for rounding, so it is greatest at one of them or at an end, to
    /// within two nanoseconds a stage.
    pub fn uncertainty_max_ns(&self, from: Instant<A>, until: Instant<A>) -> u64 {
        let places = self.knots_within(from, until).into_iter().chain([from, until]);
        let greatest = places.map(|place| self.uncertainty_ns(place)).max().unwrap_or(0);
        let rounding = if from == until { 0 } else { 2 * self.stages.len() as u64 };
        greatest.saturating_add(rounding)
    }

    /// The knots of all stages from `from` to `until`, mapped back to within a nanosecond a stage. Between two neighbours of them
    /// the map runs straight but for rounding.
    pub fn knots_within(&self, from: Instant<A>, until: Instant<A>) -> Vec<Instant<A>> {
        let mut before: Vec<Stage> = Vec::new();
        let mut found = Vec::new();
        for stage in &self.stages {
            let back = |x: i64| Instant::from_nanos_since_epoch(before.iter().fold(x, |t, stage| stage.map(t)));
            let knots = stage.knots.iter().map(|knot| back(stage.x(knot)));
            found.extend(knots.filter(|knot| (from..=until).contains(knot)));
            before.insert(0, stage.inverted());
        }
        found
    }

    /// For each stage, from and until which instant it has knots, mapped back to within a nanosecond a stage; none for a
    /// constant offset, which holds at any time. Outside, [`extrapolates`](Self::extrapolates) is true.
    pub fn known(&self) -> Vec<Option<(Instant<A>, Instant<A>)>> {
        let mut before: Vec<Stage> = Vec::new();
        let range = |stage: &Stage| {
            let back = |x: i64| Instant::from_nanos_since_epoch(before.iter().fold(x, |t, stage| stage.map(t)));
            let range = match stage.knots.as_slice() {
                [first, .., last] => Some((back(stage.x(first)), back(stage.x(last)))),
                _ => None,
            };
            before.insert(0, stage.inverted());
            range
        };
        self.stages.iter().map(range).collect()
    }

    /// First this map, then `next`.
    pub fn then<C>(&self, next: &ClockMap<B, C>) -> ClockMap<A, C> {
        ClockMap::of(self.stages.iter().chain(&next.stages).cloned().collect())
    }

    /// The way back.
    pub fn inverse(&self) -> ClockMap<B, A> {
        ClockMap::of(self.stages.iter().rev().map(Stage::inverted).collect())
    }

    /// Whether the map leaves every instant as it is.
    pub fn is_identity(&self) -> bool {
        self.stages.iter().all(|stage| stage.is_offset() && stage.knots[0].from_ns == stage.knots[0].to_ns)
    }

    fn of(stages: Vec<Stage>) -> Self {
        Self { stages, clocks: PhantomData }
    }
}

impl<A, B> Clone for ClockMap<A, B> {
    fn clone(&self) -> Self {
        Self::of(self.stages.clone())
    }
}

/// Equal maps have equal stages; two maps of other stages may still take every instant to the same one.
impl<A, B> PartialEq for ClockMap<A, B> {
    fn eq(&self, other: &Self) -> bool {
        self.stages == other.stages
    }
}

impl<A, B> Eq for ClockMap<A, B> {}

impl<A, B> fmt::Debug for ClockMap<A, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClockMap").field("stages", &self.stages).finish()
    }
}

/// Neighbouring knots stay closer than this, about 146 years, so that the products in [`Stage::map`] fit an `i128`.
const APART_NS_MAX: i128 = 1 << 62;

/// One piecewise-linear stretch of a map. `inverse` says that the knots are to be read from target to source.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Stage {
    /// Never empty; increasing on both clocks; neighbouring slopes within 1/2 … 2.
    knots: Vec<Knot>,
    drift_bound: Rate,
    inverse: bool,
    /// The lines that gain most and least, as the knots are written.
    steepest: Line,
    flattest: Line,
}

/// How far the target clock gets while the source clock runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    run: i128,
    rise: i128,
}

/// The line of clocks that run alike.
const EVEN: Line = Line { run: 1, rise: 1 };

impl Line {
    fn between(a: &Knot, b: &Knot) -> Self {
        let run = i128::from(b.from_ns) - i128::from(a.from_ns);
        Self { run, rise: i128::from(b.to_ns) - i128::from(a.to_ns) }
    }

    /// By slope; both factors are below [`APART_NS_MAX`].
    fn compare(&self, other: &Self) -> Ordering {
        (self.rise * other.run).cmp(&(other.rise * self.run))
    }
}

impl Stage {
    fn new(knots: Vec<Knot>, drift_bound: Rate) -> Result<Self, MapError> {
        if knots.is_empty() {
            return Err(MapError::Empty);
        }
        for (index, pair) in knots.windows(2).enumerate().map(|(i, pair)| (i + 1, pair)) {
            let Line { run, rise } = Line::between(&pair[0], &pair[1]);
            if run <= 0 || rise <= 0 {
                return Err(MapError::NotIncreasing { index });
            }
            if run.max(rise) >= APART_NS_MAX {
                return Err(MapError::TooFarApart { index });
            }
            if rise > 2 * run || run > 2 * rise {
                return Err(MapError::SlopeOutOfRange { index });
            }
        }
        let lines = || knots.windows(2).map(|pair| Line::between(&pair[0], &pair[1]));
        let steepest = lines().max_by(Line::compare).unwrap_or(EVEN);
        let flattest = lines().min_by(Line::compare).unwrap_or(EVEN);
        Ok(Self { knots, drift_bound, inverse: false, steepest, flattest })
    }

    fn inverted(&self) -> Self {
        Self { inverse: !self.inverse, ..self.clone() }
    }

    fn is_offset(&self) -> bool {
        self.knots.len() == 1
    }

    fn x(&self, knot: &Knot) -> i64 {
        if self.inverse { knot.to_ns } else { knot.from_ns }
    }

    fn y(&self, knot: &Knot) -> i64 {
        if self.inverse { knot.from_ns } else { knot.to_ns }
    }

    /// The two knots whose line holds at `t`: the enclosing ones, or the nearest two. One knot twice when there is but one.
    fn around(&self, t: i64) -> (&Knot, &Knot) {
        self.line(self.right_of(t))
    }

    /// The place of the second of these two.
    fn right_of(&self, t: i64) -> usize {
        let after = self.knots.partition_point(|knot| self.x(knot) <= t);
        after.clamp(1.min(self.knots.len() - 1), self.knots.len() - 1)
    }

    /// The two knots of which the second is number `right`.
    fn line(&self, right: usize) -> (&Knot, &Knot) {
        (&self.knots[right.saturating_sub(1)], &self.knots[right])
    }

    /// From when until when the line that ends at knot `right` holds.
    fn span_of(&self, right: usize) -> (i64, i64) {
        let (a, b) = self.line(right);
        let from = if right <= 1 { i64::MIN } else { self.x(a) };
        let until = if right + 1 == self.knots.len() { i64::MAX } else { self.x(b) };
        (from, until)
    }

    fn map(&self, t: i64) -> i64 {
        let (a, b) = self.around(t);
        let run = i128::from(self.x(b)) - i128::from(self.x(a));
        let elapsed = i128::from(t) - i128::from(self.x(a));
        let gained = if run == 0 {
            elapsed
        } else {
            let rise = i128::from(self.y(b)) - i128::from(self.y(a));
            // Nearest, ties up: floor of (elapsed * rise / run + 1/2). Whole runs are taken out first to keep the product small.
            let (whole, rest) = (elapsed.div_euclid(run), elapsed.rem_euclid(run));
            whole * rise + (2 * rest * rise + run).div_euclid(2 * run)
        };
        (i128::from(self.y(a)) + gained).clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    /// Interpolated between the knots and rounded up; beyond them it grows by the drift bound. Half a nanosecond of rounding
    /// is accounted as one.
    fn uncertainty_ns(&self, t: i64) -> u64 {
        let (a, b) = self.around(t);
        let (xa, xb) = (i128::from(self.x(a)), i128::from(self.x(b)));
        let t = i128::from(t);
        let rounding = u64::from(!self.is_offset());
        let edge = |knot: &Knot, away: i128| {
            let grown = away.saturating_mul(i128::from(self.drift_bound.as_ppb().unsigned_abs())) / 1_000_000_000;
            knot.uncertainty_ns.saturating_add(u64::try_from(grown).unwrap_or(u64::MAX))
        };
        let width = if t <= xa {
            edge(a, xa - t)
        } else if t >= xb {
            edge(b, t - xb)
        } else {
            let (ua, ub) = (i128::from(a.uncertainty_ns), i128::from(b.uncertainty_ns));
            let between = ua.saturating_mul(xb - t).saturating_add(ub.saturating_mul(t - xa));
            u64::try_from(between.saturating_add(xb - xa - 1) / (xb - xa)).unwrap_or(u64::MAX)
        };
        width.saturating_add(rounding)
    }

    /// `width` after passing through this stage: the steepest slope bounds it.
    fn stretch(&self, width: u64) -> u64 {
        let flipped = Line { run: self.flattest.rise, rise: self.flattest.run };
        let Line { run, rise } = if self.inverse { flipped } else { self.steepest };
        let stretched = i128::from(width).saturating_mul(rise).saturating_add(run - 1) / run;
        u64::try_from(stretched).unwrap_or(u64::MAX)
    }

    fn extrapolates(&self, t: i64) -> bool {
        !self.is_offset() && (t < self.x(&self.knots[0]) || t > self.x(&self.knots[self.knots.len() - 1]))
    }
}

#[cfg(test)]
mod tests;
