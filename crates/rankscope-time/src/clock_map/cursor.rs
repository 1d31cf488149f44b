//! Mapping many instants through one map.
//!
//! A cursor remembers the line it last mapped along, so that a column of stamps costs a multiplication and a division each
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

    /// The map.
    pub fn of(&self) -> &ClockMap<A, B> {
        self.map
    }
}

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
}

impl<'a> StageCursor<'a> {
    fn new(stage: &'a Stage) -> Self {
        // An empty range: the first instant looks its line up.
        Self { stage, right: 0, from: 0, until: 0, x: 0, y: 0, run: 1, gain: 0 }
    }

    fn map(&mut self, t: i64) -> i64 {
        if !(self.from..self.until).contains(&t) && !self.look_up(t) {
            return self.stage.map(t);
        }
        let elapsed = t - self.x;
        // Nearest, ties up, as the stage rounds: elapsed is whole, so only what is gained is rounded.
        let gained = (2 * elapsed * self.gain + self.run).div_euclid(2 * self.run);
        self.y + elapsed + gained
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
        let reach = ((i64::MAX / 4) / gain.saturating_abs().max(1)).min(i64::MAX / 4);
        if [run, x, y].into_iter().any(|value| value.unsigned_abs() > i64::MAX as u64 / 4) {
            return false;
        }
        let (first, last) = self.stage.span_of(self.right);
        self.from = first.max(x - reach);
        self.until = last.min(x + reach);
        (self.x, self.y, self.run, self.gain) = (x, y, run, gain);
        (self.from..self.until).contains(&t)
    }

    /// The line behind the one last mapped along, if it holds at `t`.
    fn next_line(&self, t: i64) -> Option<usize> {
        let right = self.right + 1;
        let (a, b) = (self.stage.knots.get(self.right)?, self.stage.knots.get(right)?);
        (self.stage.x(a) <= t && t < self.stage.x(b)).then_some(right)
    }
}
