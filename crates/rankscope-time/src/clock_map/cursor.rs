//! Mapping many instants through one map.
//!
//! A cursor remembers the line it last mapped along, so that a column of stamps costs a few multiplications each
//! instead of a search: clocks differ by parts per million, and what a clock gains over a stretch fits 64 bits although the
//! product of two times does not. Where a line ends, the next one is tried before all are searched. What does not fit takes the
//! way of [`ClockMap::map`], and the results are the same.

use crate::{ClockMap, Instant};

use super::Stage;

/// Maps instants one after the other; fastest where neighbours in time follow each other.
#[derive(Debug)]
pub struct ClockCursor<'a, A, B> {
    map: &'a ClockMap<A, B>,
    stages: Vec<StageCursor<'a>>,
}

impl<A, B> ClockMap<A, B> {
    /// A cursor over this map.
    pub fn cursor(&self) -> ClockCursor<'_, A, B> {
        ClockCursor { map: self, stages: self.stages.iter().map(StageCursor::new).collect() }
    }
}

impl<A, B> ClockCursor<'_, A, B> {
    /// What [`ClockMap::map`] gives.
    pub fn map(&mut self, instant: Instant<A>) -> Instant<B> {
        let mapped = self.stages.iter_mut().fold(instant.nanos_since_epoch(), |t, stage| stage.map(t));
        Instant::from_nanos_since_epoch(mapped)
    }

    /// The same of all `stamps_ns` since the epoch, in place: those of one line take no thought in between.
    pub fn map_all(&mut self, stamps_ns: &mut [i64]) {
        self.stages.iter_mut().for_each(|stage| stage.map_all(stamps_ns));
    }

    /// The map.
    pub fn of(&self) -> &ClockMap<A, B> {
        self.map
    }
}

/// What is gained in nanoseconds up to which a float tells it to within a fifth, whatever it is rounded by.
const GAINED_MAX: f64 = (1u64 << 49) as f64;

/// The line along which one stage maps the instants in `from..until`.
#[derive(Debug)]
struct StageCursor<'a> {
    stage: &'a Stage,
    /// The knot the line ends at.
    right: usize,
    from: i64,
    until: i64,
    /// A point of the line.
    x: i64,
    y: i64,
    run: i64,
    /// What the target clock gains over `run`.
    gain: i64,
    /// The one over the other, nearly.
    slope: f64,
}

impl<'a> StageCursor<'a> {
    fn new(stage: &'a Stage) -> Self {
        // An empty range: the first instant looks its line up.
        Self { stage, right: 0, from: 0, until: 0, x: 0, y: 0, run: 1, gain: 0, slope: 0.0 }
    }

    fn map(&mut self, t: i64) -> i64 {
        if !(self.from..self.until).contains(&t) && !self.look_up(t) {
            return self.stage.map(t);
        }
        self.along(t)
    }

    fn map_all(&mut self, mut rest: &mut [i64]) {
        while let Some(first) = rest.first_mut() {
            if !(self.from..self.until).contains(first) && !self.look_up(*first) {
                *first = self.stage.map(*first);
                rest = &mut rest[1..];
                continue;
            }
            let line = self.from..self.until;
            let own = match rest.iter().fold(true, |all, t| all & (line.start <= *t) & (*t < line.end)) {
                true => rest.len(),
                false => rest.iter().take_while(|t| line.contains(t)).count(),
            };
            let (own, others) = rest.split_at_mut(own);
            own.iter_mut().for_each(|t| *t = self.along(*t));
            rest = others;
        }
    }

    /// Where the line is at `t`, which it holds at.
    #[inline]
    fn along(&self, t: i64) -> i64 {
        let elapsed = t - self.x;
        self.y + elapsed + self.gained(elapsed)
    }

    /// What the target clock gains over `elapsed`: nearest, ties up, as the stage rounds. Elapsed is whole, so only this is rounded.
    ///
    /// A division takes longer than all else here. A float tells it to within one, and what is left then tells which one it is.
    #[inline]
    fn gained(&self, elapsed: i64) -> i64 {
        let (twice, whole) = (2 * elapsed * self.gain + self.run, 2 * self.run);
        let near = (elapsed as f64 * self.slope) as i64;
        // Two wholes at most, which fit although the product may not.
        let left = twice.wrapping_sub(near.wrapping_mul(whole));
        let gained = near - i64::from(left < 0) + i64::from(left >= whole);
        debug_assert_eq!(gained, twice.div_euclid(whole));
        gained
    }

    /// Moves to the line that holds at `t`, as far as it can be followed in 64 bits; false where it cannot at `t`.
    fn look_up(&mut self, t: i64) -> bool {
        self.right = self.next_line(t).unwrap_or_else(|| self.stage.right_of(t));
        let (a, b) = self.stage.line(self.right);
        let (x, y) = (self.stage.x(a), self.stage.y(a));
        let (Some(mut run), Some(rise)) = (self.stage.x(b).checked_sub(x), self.stage.y(b).checked_sub(y)) else {
            return false;
        };
        let gain = rise - run;
        if run == 0 {
            run = 1;
        }
        // 2 elapsed gain + run and 2 run must fit, and so must y + elapsed + gained, of which gained is no longer than elapsed.
        let slope = gain as f64 / run as f64;
        let reach = ((i64::MAX / 4) / gain.saturating_abs().max(1)).min((GAINED_MAX / slope.abs()) as i64).min(i64::MAX / 4);
        if [run, x, y].into_iter().any(|value| value.unsigned_abs() > i64::MAX as u64 / 4) {
            return false;
        }
        let (first, last) = self.stage.span_of(self.right);
        self.from = first.max(x - reach);
        self.until = last.min(x + reach);
        (self.x, self.y, self.run, self.gain, self.slope) = (x, y, run, gain, slope);
        (self.from..self.until).contains(&t)
    }

    /// The line behind the one last mapped along, if it holds at `t`.
    fn next_line(&self, t: i64) -> Option<usize> {
        let right = self.right + 1;
        let (a, b) = (self.stage.knots.get(self.right)?, self.stage.knots.get(right)?);
        (self.stage.x(a) <= t && t < self.stage.x(b)).then_some(right)
    }
}
