//! Which step to agree on: one that no rank reaches before it has heard of it.
//!
//! A rank looks four times a second, or once a step where steps are longer; files may take a moment to be seen on another host. So the
//! step lies as far ahead of the foremost rank as the fastest one comes in two seconds, and twice as far in each round after the first.

use super::answer::Answer;

const AHEAD_NS: u64 = 2_000_000_000;
/// Where steps are longer than that, ranks may still be a step or two apart.
const AHEAD_STEPS: u64 = 3;
/// Steps of a microsecond are no steps of training.
const AHEAD_STEPS_MAX: u64 = 100_000;

/// The first step, by what all ranks answered, in `round` from 0.
pub(super) fn first_step(answers: &[Answer], round: u32) -> u64 {
    let foremost = answers.iter().map(|answer| answer.free).max().unwrap_or(0);
    let fastest_ns = answers.iter().map(|answer| answer.step_ns).filter(|ns| *ns > 0).min().unwrap_or(AHEAD_NS);
    let ahead = (AHEAD_NS / fastest_ns.max(1)).clamp(AHEAD_STEPS, AHEAD_STEPS_MAX);
    foremost.saturating_add(ahead << round.min(8))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn answer(rank: u32, free: u64, step_ns: u64) -> Answer {
        serde_json::from_value(serde_json::json!({ "rank": rank, "state": "here", "free": free, "step_ns": step_ns })).unwrap()
    }

    #[test]
    fn two_seconds_ahead_and_then_twice_as_far() {
        let answers = [answer(0, 100, 100_000_000), answer(1, 103, 110_000_000)];
        assert_eq!([0, 1, 2].map(|round| first_step(&answers, round)), [123, 143, 183]);
        assert_eq!(first_step(&[answer(0, 7, 60_000_000_000)], 0), 10, "slow steps");
        assert_eq!(first_step(&[answer(0, 7, 0)], 0), 10, "before a step was timed");
    }

    proptest! {
        #[test]
        fn no_rank_has_reached_it(ranks in prop::collection::vec((0..u64::MAX / 2, 0..u64::MAX), 1..9), round in 0u32..4) {
            let answers: Vec<Answer> = (0..).zip(ranks).map(|(rank, (free, step_ns))| answer(rank, free, step_ns)).collect();
            let first = first_step(&answers, round);
            prop_assert!(answers.iter().all(|answer| answer.free < first));
        }
    }
}
