//! A stage of a pipeline that has more to compute than the others.
//!
//! Every rank of a pipeline waits for messages, and the time in which a pipeline fills and drains is nobody's fault. What limits it is
//! the stage that computes longest, in nearly every step.

use crate::pattern::in_most_steps;

/// Such a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heavy {
    /// Its place in the pipeline.
    pub stage: usize,
    /// By how much it computes longer in a step than the next stage, in nanoseconds.
    pub more_ns_per_step: i64,
}

/// A stage that computes longer by less than this part of what it computes is as heavy as the others.
const SHARE_MIN: i64 = 50;

/// The stage that computes longest, if it does so in most steps beyond chance. `computed_ns` has each stage's time by step; of stages of
/// several ranks that of one on average.
pub fn heavy(computed_ns: &[Vec<i64>]) -> Option<Heavy> {
    let steps = computed_ns.iter().map(Vec::len).min().filter(|_| computed_ns.len() > 1)?;
    let sum = |stage: &[i64]| stage[..steps].iter().fold(0_i64, |sum, ns| sum.saturating_add(*ns));
    let (stage, own) = computed_ns.iter().enumerate().max_by_key(|(at, own)| (sum(own), std::cmp::Reverse(*at)))?;
    let others = |step: usize| {
        computed_ns.iter().enumerate().filter(|(at, _)| *at != stage).map(|(_, other)| other[step]).max().unwrap_or(0)
    };
    let more: Vec<i64> = (0..steps).map(|step| own[step].saturating_sub(others(step))).collect();
    let more_ns_per_step = sum(&more).max(0) / steps.max(1) as i64;
    let longest = more.iter().filter(|ns| **ns > 0).count();
    let matters = more_ns_per_step > 0 && more_ns_per_step.saturating_mul(SHARE_MIN) >= sum(own) / steps.max(1) as i64;
    (matters && in_most_steps(steps, longest)).then_some(Heavy { stage, more_ns_per_step })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stage_that_computes_longest_in_every_step_is_heavy() {
        let stage = |ns: i64| (0..8).map(|step| ns + step % 3).collect::<Vec<_>>();
        let stages = [stage(100), stage(130), stage(101), stage(99)];
        assert_eq!(heavy(&stages), Some(Heavy { stage: 1, more_ns_per_step: 29 }));
    }

    #[test]
    fn stages_that_take_turns_are_alike() {
        let turns = |own: usize| (0..8).map(|step| if step % 2 == own { 130 } else { 100 }).collect::<Vec<_>>();
        assert_eq!(heavy(&[turns(0), turns(1)]), None);
        assert_eq!(heavy(&[vec![100; 8], vec![101; 8]]), None, "one in a hundred is nothing");
        assert_eq!(heavy(&[vec![100; 3], vec![150; 3]]), None, "too few steps");
        assert_eq!(heavy(&[vec![100; 8]]), None);
        assert_eq!(heavy(&[Vec::new(), Vec::new()]), None);
    }
}
