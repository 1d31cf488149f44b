//! How much more, from pairs: an estimate and an interval that assumes no distribution.
//!
//! Who of a pair came first alternates, so if both cost the same, a pair's logarithm of the ratio is as likely above zero as
//! below, and as far. That is all that Wilcoxon's signed ranks need: the middle of all averages of two pairs is the estimate, and
//! so many of these averages from either end is the interval (Hodges and Lehmann).

use serde::Serialize;

/// How much more than nothing, in per cent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(super) struct Interval {
    pub(super) percent: f64,
    /// Holds the truth with 95 % certainty; without bounds where there are too few pairs to say.
    pub(super) low: Option<f64>,
    pub(super) high: Option<f64>,
}

/// What an interval says about a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Kept,
    Missed,
    TooNoisy,
}

/// Chance that the truth lies outside, at one end.
const TAIL: f64 = 0.025;

impl Interval {
    pub(super) fn of_ratios(ratios: impl Iterator<Item = f64>) -> Self {
        let logs: Vec<f64> = ratios.map(f64::ln).collect();
        let averages = walsh(&logs);
        let percent = |log: f64| (log.exp() - 1.0) * 100.0;
        let middle = averages.len() / 2;
        let upper = averages.get(middle).copied().unwrap_or(f64::NAN);
        let lower = averages.get(averages.len().saturating_sub(1) / 2).copied().unwrap_or(f64::NAN);
        let ends = from_either_end(logs.len()).map(|from| (averages[from], averages[averages.len() - 1 - from]));
        Self {
            percent: percent((lower + upper) / 2.0),
            low: ends.map(|ends| percent(ends.0)),
            high: ends.map(|ends| percent(ends.1)),
        }
    }

    /// Whether it is at most `goal` per cent. What is faster by more than that for certain is not a gift of ours: the machine
    /// treated the two unlike, and no more can be said.
    pub(super) fn verdict(&self, goal: f64) -> Verdict {
        match (self.low, self.high) {
            (_, Some(high)) if high < -goal => Verdict::TooNoisy,
            (_, Some(high)) if high <= goal => Verdict::Kept,
            (Some(low), _) if low > goal => Verdict::Missed,
            _ => Verdict::TooNoisy,
        }
    }
}

/// The averages of every two values, each with itself too, in order.
fn walsh(values: &[f64]) -> Vec<f64> {
    let pairs = values.iter().enumerate().flat_map(|(at, a)| values[at..].iter().map(move |b| (a + b) / 2.0));
    let mut averages: Vec<f64> = pairs.collect();
    averages.sort_by(f64::total_cmp);
    averages
}

/// How many averages lie outside of the interval at either end; none where so few pairs cannot be certain.
///
/// The sum of the ranks with a positive sign is the number of averages above zero, so its distribution, every sign being a toss
/// of a coin, says how many may be cut off.
fn from_either_end(pairs: usize) -> Option<usize> {
    let mut chances = vec![1.0];
    for rank in 1..=pairs {
        let mut with_rank = vec![0.0; chances.len() + rank];
        for (sum, chance) in chances.iter().enumerate() {
            with_rank[sum] += chance / 2.0;
            with_rank[sum + rank] += chance / 2.0;
        }
        chances = with_rank;
    }
    let mut below = 0.0;
    let allowed = chances.iter().take_while(|&chance| {
        below += chance;
        below <= TAIL
    });
    allowed.count().checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_averages_are_cut_off_as_the_published_tables_say() {
        // Critical values of Wilcoxon's signed-rank statistic, two-sided, 5 %.
        for (pairs, critical) in [(6, 0), (8, 3), (10, 8), (12, 13), (15, 25), (20, 52), (25, 89), (30, 137)] {
            assert_eq!(from_either_end(pairs), Some(critical), "{pairs} pairs");
        }
        assert_eq!(from_either_end(5), None, "five pairs agree by chance once in sixteen");
        assert_eq!(from_either_end(0), None);
    }

    #[test]
    fn one_wild_pair_does_not_move_the_estimate_far() {
        let mut ratios = vec![1.02; 19];
        ratios.push(9.0);
        let interval = Interval::of_ratios(ratios.into_iter());
        assert!((interval.percent - 2.0).abs() < 0.01, "{interval:?}");
        assert_eq!(interval.verdict(1.0), Verdict::Missed);
    }

    #[test]
    fn a_verdict_needs_an_interval_on_one_side_of_the_goal() {
        let of = |ratios: &[f64]| Interval::of_ratios(ratios.iter().copied().cycle().take(20));
        assert_eq!(of(&[0.999, 1.001, 1.003]).verdict(1.0), Verdict::Kept);
        assert_eq!(of(&[0.8, 1.3]).verdict(1.0), Verdict::TooNoisy);
        assert_eq!(of(&[0.7, 0.8]).verdict(1.0), Verdict::TooNoisy, "nothing gets faster by being watched");
        assert_eq!(Interval::of_ratios([1.0; 4].into_iter()).verdict(1.0), Verdict::TooNoisy);
        assert_eq!(Interval::of_ratios(std::iter::empty()).verdict(1.0), Verdict::TooNoisy);
    }

    #[test]
    fn more_and_less_are_told_alike() {
        let up = Interval::of_ratios([1.25; 20].into_iter());
        let down = Interval::of_ratios([0.8; 20].into_iter());
        assert!((up.percent - 25.0).abs() < 1e-9 && (down.percent + 20.0).abs() < 1e-9);
    }
}
