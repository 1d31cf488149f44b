//! How much faster one clock runs than another.

use std::fmt;

use crate::Span;

/// A relative rate in parts per billion: `+1` gains one nanosecond a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(i64);

impl Rate {
    /// No difference at all.
    pub const ZERO: Self = Self(0);

    /// A rate of `ppb` parts per billion.
    pub const fn from_ppb(ppb: i64) -> Self {
        Self(ppb)
    }

    /// The rate in parts per billion.
    pub const fn as_ppb(self) -> i64 {
        self.0
    }

    /// What this rate gains over `elapsed`, rounded to the nearest nanosecond and saturating.
    pub fn over(self, elapsed: Span) -> Span {
        let product = i128::from(self.0) * i128::from(elapsed.as_nanos());
        let half = if product < 0 { -500_000_000 } else { 500_000_000 };
        let gained = (product + half) / 1_000_000_000;
        Span::from_nanos(gained.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ppb", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_ppm_gains_a_microsecond_a_second() {
        let second = Span::from_nanos(1_000_000_000);
        assert_eq!(Rate::from_ppb(1_000).over(second), Span::from_nanos(1_000));
        assert_eq!(Rate::from_ppb(-1_000).over(second), Span::from_nanos(-1_000));
        assert_eq!(Rate::from_ppb(i64::MAX).over(Span::MAX), Span::MAX);
    }
}
