//! [`Worth`]: what a change saves, by running the graph again with it.

use rankscope_execution::replay::Change;

use super::Scene;

/// What a step would save, in nanoseconds: the mean over steps, and how far the steps leave that open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Worth {
    /// The mean.
    pub ns: i64,
    /// The least that the mean of steps like these may be.
    pub lo_ns: i64,
    /// The most.
    pub hi_ns: i64,
    /// How many steps save half as much as the one that saves most, or more.
    pub steps: usize,
}

/// Standard errors on either side.
const STANDARD_ERRORS: f64 = 2.0;

impl Worth {
    /// That of `savings`, one a step. Between fewer than three steps nothing is known of how much they differ by chance, and the least
    /// and the most of them stand for it.
    pub(super) fn of(savings: &[i64]) -> Self {
        let count = savings.len() as i64;
        if count == 0 {
            return Self::default();
        }
        let sum: i128 = savings.iter().map(|ns| i128::from(*ns)).sum();
        let ns = (sum / i128::from(count)) as i64;
        let most_ns = savings.iter().copied().max().unwrap_or(0);
        let steps = savings.iter().filter(|one| **one > 0 && **one >= most_ns / 2).count();
        let ends = (savings.iter().copied().min().unwrap_or(ns), savings.iter().copied().max().unwrap_or(ns));
        if count < 3 {
            return Self { ns, lo_ns: ends.0, hi_ns: ends.1, steps };
        }
        let squares: f64 = savings.iter().map(|one| ((one - ns) as f64).powi(2)).sum();
        let half_ns = STANDARD_ERRORS * (squares / (count - 1) as f64 / count as f64).sqrt();
        Self { ns, lo_ns: ns - half_ns as i64, hi_ns: ns.saturating_add(half_ns as i64), steps }
    }
}

impl Scene<'_> {
    /// What `changes` together are worth; nothing where one of them finds nothing to change.
    pub(super) fn worth(&self, changes: &[Change]) -> Option<Worth> {
        let replay = self.input.replay;
        let changed = replay.run(changes).ok()?;
        let savings: Vec<i64> = replay.observed_steps_ns().iter().zip(&changed.steps_ns).map(|(old, new)| old - new).collect();
        Some(Worth::of(&savings))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_that_agree_leave_little_open() {
        assert_eq!(Worth::of(&[10, 10, 10, 10]), Worth { ns: 10, lo_ns: 10, hi_ns: 10, steps: 4 });
        assert_eq!(Worth::of(&[8, 12]), Worth { ns: 10, lo_ns: 8, hi_ns: 12, steps: 2 });
        let periodic = Worth::of(&[0, 0, 0, 40, 0, 0, 0, 40]);
        assert!(periodic.ns == 10 && periodic.steps == 2 && periodic.lo_ns < 0 && periodic.hi_ns > 20, "{periodic:?}");
        assert_eq!(Worth::of(&[]), Worth::default());
    }
}
