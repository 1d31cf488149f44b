//! From an interval to a verdict.

use crate::evidence::Verdict;
use crate::settings::Direction;

/// A shift, what it may be, and from where on it matters, all in one unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Judged {
    pub(crate) shift: f64,
    pub(crate) interval: Option<(f64, f64)>,
    /// A shift of this size matters.
    pub(crate) matters: f64,
    /// An interval within this distance of zero is equivalence. As `matters`, or less where the baseline is uncertain.
    pub(crate) equivalent: f64,
}

impl Judged {
    /// The verdict where what is repeated is known to vary as it does: runs, or steps with a known spread between runs.
    pub(crate) fn verdict(&self, direction: Direction) -> Verdict {
        match (self.is_changed(), direction) {
            (true, Direction::Neutral) => Verdict::Changed,
            (true, _) if (self.shift > 0.0) == (direction == Direction::LowerIsBetter) => Verdict::Regressed,
            (true, _) => Verdict::Improved,
            _ if self.is_equivalent() => Verdict::Equivalent,
            _ => Verdict::Inconclusive,
        }
    }

    /// The verdict about the two runs at hand.
    pub(crate) fn between_two_runs(&self) -> Verdict {
        match self.interval {
            None => Verdict::Inconclusive,
            Some(_) if self.is_changed() => Verdict::Differs,
            Some(_) => Verdict::NoDifferenceSeen,
        }
    }

    /// Not zero, and too small to matter.
    pub(crate) fn is_measurable(&self) -> bool {
        self.is_equivalent() && self.excludes_zero()
    }

    fn is_changed(&self) -> bool {
        self.excludes_zero() && self.shift.abs() >= self.matters
    }

    fn excludes_zero(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }

    fn is_equivalent(&self) -> bool {
        self.interval.is_some_and(|(low, high)| {
            let nothing = low == 0.0 && high == 0.0;
            nothing || (-self.equivalent < low && high < self.equivalent)
        })
    }

    /// How wide half of the interval may be so that the shift, if it is what it seems, is called. Zero where it is the margin itself.
    pub(crate) fn wanted_half_width(&self) -> f64 {
        let size = self.shift.abs();
        if size >= self.matters { size } else { (self.equivalent - size).max(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(shift: f64, interval: (f64, f64)) -> Judged {
        Judged { shift, interval: Some(interval), matters: 1.0, equivalent: 1.0 }
    }

    #[test]
    fn four_verdicts_follow_from_the_interval_and_the_margin() {
        let cases = [
            (2.0, (1.5, 2.5), Verdict::Regressed, Verdict::Differs),
            (-2.0, (-2.5, -1.5), Verdict::Improved, Verdict::Differs),
            (0.0, (-0.5, 0.5), Verdict::Equivalent, Verdict::NoDifferenceSeen),
            (0.3, (0.1, 0.5), Verdict::Equivalent, Verdict::NoDifferenceSeen),
            (0.8, (0.1, 1.5), Verdict::Inconclusive, Verdict::NoDifferenceSeen),
            (2.0, (-0.1, 4.1), Verdict::Inconclusive, Verdict::NoDifferenceSeen),
        ];
        for (shift, interval, known, unknown) in cases {
            let judged = judged(shift, interval);
            assert_eq!((judged.verdict(Direction::LowerIsBetter), judged.between_two_runs()), (known, unknown), "{shift}");
        }
        assert!(judged(0.3, (0.1, 0.5)).is_measurable() && !judged(0.0, (-0.5, 0.5)).is_measurable());
    }

    #[test]
    fn higher_is_better_turns_them_around_and_neutral_is_neither() {
        let up = judged(2.0, (1.5, 2.5));
        assert_eq!(up.verdict(Direction::HigherIsBetter), Verdict::Improved);
        assert_eq!(up.verdict(Direction::Neutral), Verdict::Changed);
    }

    #[test]
    fn what_is_not_bounded_or_no_number_decides_nothing() {
        let unbounded = Judged { interval: None, ..judged(2.0, (1.0, 3.0)) };
        assert_eq!(unbounded.verdict(Direction::LowerIsBetter), Verdict::Inconclusive);
        assert_eq!(unbounded.between_two_runs(), Verdict::Inconclusive);
        let no_margin = Judged { matters: f64::NAN, equivalent: f64::NAN, ..judged(2.0, (1.5, 2.5)) };
        assert_eq!(no_margin.verdict(Direction::LowerIsBetter), Verdict::Inconclusive);
    }

    #[test]
    fn nothing_at_all_is_equivalent_even_where_the_baseline_is_zero() {
        let zero = Judged { shift: 0.0, interval: Some((0.0, 0.0)), matters: 0.0, equivalent: 0.0 };
        assert_eq!(zero.verdict(Direction::LowerIsBetter), Verdict::Equivalent);
        let appeared = Judged { shift: 3.0, interval: Some((3.0, 3.0)), ..zero };
        assert_eq!(appeared.verdict(Direction::LowerIsBetter), Verdict::Regressed);
    }
}
