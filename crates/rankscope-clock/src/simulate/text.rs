//! A [`SimClock`] as text, for command lines: `offset-ns=5000,skew-ppb=20000,wander-ppb=10,seed=3,origin-ns=0,step=2.5:1000000`.
//!
//! `step=AT:SIZE` jumps by SIZE nanoseconds AT seconds after the origin; `slew=FROM:UNTIL:PPB` runs faster by PPB between two
//! such times. Both may be given several times. What is not given is zero.

use std::fmt;
use std::str::FromStr;

use rankscope_time::{Rate, Span};

use super::SimClock;

/// Which part of a clock's description is wrong, and what belongs there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClockTextError {
    part: String,
    expected: &'static str,
}

impl fmt::Display for ClockTextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} does not describe a clock: expected {}", self.part, self.expected)
    }
}

impl std::error::Error for ClockTextError {}

impl FromStr for SimClock {
    type Err = ClockTextError;

    fn from_str(text: &str) -> Result<Self, ClockTextError> {
        let parts = || text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let (mut origin_ns, mut offset_ns, mut skew_ppb, mut wander_ppb, mut seed) = (0, 0, 0, 0.0, 0);
        for part in parts() {
            match part.split_once('=') {
                Some(("origin-ns", value)) => origin_ns = number(part, value)?,
                Some(("offset-ns", value)) => offset_ns = number(part, value)?,
                Some(("skew-ppb", value)) => skew_ppb = number(part, value)?,
                Some(("wander-ppb", value)) => wander_ppb = number(part, value)?,
                Some(("seed", value)) => seed = number(part, value)?,
                Some(("step" | "slew", _)) => {}
                _ => return Err(wrong(part, "origin-ns, offset-ns, skew-ppb, wander-ppb, seed, step or slew, and a value")),
            }
        }
        let clock = SimClock::new(origin_ns, Span::from_nanos(offset_ns), Rate::from_ppb(skew_ppb), wander_ppb, seed);
        parts().try_fold(clock, |clock, part| match part.split_once('=') {
            Some(("step", value)) => {
                let (at, size) = value.split_once(':').ok_or_else(|| wrong(part, "step=SECONDS:NANOSECONDS"))?;
                Ok(clock.with_step(after(origin_ns, part, at)?, Span::from_nanos(number(part, size)?)))
            }
            Some(("slew", value)) => {
                let shape = "slew=FROM_SECONDS:UNTIL_SECONDS:PPB";
                let (from, rest) = value.split_once(':').ok_or_else(|| wrong(part, shape))?;
                let (until, rate) = rest.split_once(':').ok_or_else(|| wrong(part, shape))?;
                let (from_ns, until_ns) = (after(origin_ns, part, from)?, after(origin_ns, part, until)?);
                Ok(clock.with_slew(from_ns, until_ns, Rate::from_ppb(number(part, rate)?)))
            }
            _ => Ok(clock),
        })
    }
}

fn wrong(part: &str, expected: &'static str) -> ClockTextError {
    ClockTextError { part: part.to_owned(), expected }
}

fn number<T: FromStr>(part: &str, value: &str) -> Result<T, ClockTextError> {
    value.parse().map_err(|_| wrong(part, "a number after ="))
}

/// `seconds` after the origin. The seconds are a short time, so a float holds them to the nanosecond.
fn after(origin_ns: i64, part: &str, seconds: &str) -> Result<i64, ClockTextError> {
    let seconds: f64 = number(part, seconds)?;
    Ok(origin_ns.saturating_add((seconds * 1e9).round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_builder_make_the_same_clock() {
        let origin_ns = 1_700_000_000_000_000_000;
        let mut built = SimClock::new(origin_ns, Span::from_nanos(-7), Rate::from_ppb(500), 10.0, 4)
            .with_step(origin_ns + 2_500_000_000, Span::from_nanos(1_000))
            .with_slew(origin_ns + 3_000_000_000, origin_ns + 4_000_000_000, Rate::from_ppb(9));
        let text = "origin-ns=1700000000000000000, offset-ns=-7,skew-ppb=500,wander-ppb=10,seed=4,step=2.5:1000,slew=3:4:9";
        let mut read: SimClock = text.parse().unwrap();
        for true_ns in (0..10).map(|i| origin_ns + i * 700_000_000) {
            assert_eq!(read.local_ns(true_ns), built.local_ns(true_ns));
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, part) in
            [("skew=3", "skew=3"), ("seed=x", "seed=x"), ("step=1", "step=1"), ("offset-ns=1,slew=1:2", "slew=1:2")]
        {
            assert_eq!(text.parse::<SimClock>().unwrap_err().part, part);
        }
    }
}
