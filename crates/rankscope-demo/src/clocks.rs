//! The clocks of the hosts that are played: how wrong each is, drawn from a seed, and what all of them are wrong about.
//!
//! True host time is `CLOCK_MONOTONIC_RAW` plus one shift for everybody. A host shows a bend of it: to the agent, which measures
//! it, and to the recorder, which stamps with it. Nobody but the parent is told what is true.

use rankscope_clock::simulate::{ClockTextError, SimClock};
use rankscope_probe::clocks::{Clock, sandwich};
use rankscope_record::TestClock;
use std::sync::{Mutex, PoisonError};

use crate::error::Error;
use crate::random::Stream;

/// Clocks are spread over this much either way.
const OFFSET_MAX_NS: i64 = 10_000_000;
/// Clocks gain or lose up to this much.
const DRIFT_MAX_PPB: u64 = 20_000;
/// Rates walk this much in a second: a crystal in a room.
const WANDER_PPB: u64 = 3;

/// All hosts.
pub(crate) struct Clocks {
    /// What true host time is ahead of `CLOCK_MONOTONIC_RAW`.
    pub(crate) shift_ns: i64,
    /// One a rank.
    pub(crate) hosts: Vec<HostClock>,
}

/// The clock of one host.
pub(crate) struct HostClock {
    /// As the setting `test-clock` wants it.
    pub(crate) text: String,
    /// What it shows.
    pub(crate) bend: SimClock,
}

impl Clocks {
    /// Draws the clocks of `ranks` hosts.
    pub(crate) fn draw(ranks: u32, seed: u64) -> Result<Self, Error> {
        let now = sandwich(Clock::MonotonicRaw, Clock::Realtime, 5);
        // The readings of a sandwich are those of the outer clock, and of the inner one between them.
        let shift_ns = now.inner_ns.saturating_sub(now.outer_ns);
        let texts = texts(ranks, seed, now.inner_ns);
        let host = |text: String| Ok(HostClock { bend: text.parse()?, text });
        Ok(Self { shift_ns, hosts: texts.into_iter().map(host).collect::<Result<_, Error>>()? })
    }
}

/// Descriptions of the clocks. Offsets stand apart from each other, so that it matters to correct them.
fn texts(ranks: u32, seed: u64, origin_ns: i64) -> Vec<String> {
    let mut rng = Stream::Clocks.of(seed);
    let mut places: Vec<i64> = (0..i64::from(ranks)).collect();
    for at in (1..places.len()).rev() {
        places.swap(at, rng.below(at as u64 + 1) as usize);
    }
    let apart_ns = 2 * OFFSET_MAX_NS / i64::from(ranks);
    let clock = |(rank, place): (usize, i64)| {
        let offset_ns = place * apart_ns - OFFSET_MAX_NS + rng.below(apart_ns as u64) as i64;
        let drift_ppb = rng.below(2 * DRIFT_MAX_PPB + 1) as i64 - DRIFT_MAX_PPB as i64;
        let own_seed = seed.wrapping_mul(1_000).wrapping_add(rank as u64);
        format!("origin-ns={origin_ns},offset-ns={offset_ns},skew-ppb={drift_ppb},wander-ppb={WANDER_PPB},seed={own_seed}")
    };
    places.into_iter().enumerate().map(clock).collect()
}

/// The same clock for the recorder of a rank: what `CLOCK_MONOTONIC_RAW` shows there.
pub(crate) fn for_recorder(text: &str, shift_ns: i64) -> Result<TestClock, ClockTextError> {
    let bend: Mutex<SimClock> = Mutex::new(text.parse()?);
    Ok(TestClock::new(move |raw_ns| {
        let mut bend = bend.lock().unwrap_or_else(PoisonError::into_inner);
        bend.local_ns(raw_ns.saturating_add(shift_ns)).saturating_sub(shift_ns)
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_draws_the_same_clocks_again_and_another_one_others() {
        assert_eq!(texts(4, 7, 0), texts(4, 7, 0));
        assert_ne!(texts(4, 7, 0), texts(4, 8, 0));
    }

    #[test]
    fn clocks_are_wrong_by_as_much_as_is_promised() {
        for (ranks, seed) in [(2, 1), (4, 1), (16, 3)] {
            let origin_ns = 1_700_000_000_000_000_000;
            let mut offsets: Vec<i64> = Vec::new();
            for text in texts(ranks, seed, origin_ns) {
                offsets.push(text.parse::<SimClock>().unwrap().local_ns(origin_ns) - origin_ns);
            }
            assert!(offsets.iter().all(|offset_ns| offset_ns.abs() <= OFFSET_MAX_NS));
            let (least, most) = (offsets.iter().min().unwrap(), offsets.iter().max().unwrap());
            assert!(most - least >= OFFSET_MAX_NS * 2 * (i64::from(ranks) - 2) / i64::from(ranks), "{offsets:?}");
            assert_ne!(least, most);
        }
    }
}
