//! [`KinetoStepTracker`]: one step counter, although several parties count steps (recorder specification, section 1.4.9).
//!
//! An optimiser and a profiler both say "a step is over" after the same step. The common step advances only when the highest
//! count of all parties does, so the second to say so changes nothing.

use std::collections::HashMap;

/// Counts the steps of several requesters as one.
#[derive(Clone, Debug, Default)]
pub struct KinetoStepTracker {
    counts: HashMap<Box<str>, u64>,
    current: u64,
}

impl KinetoStepTracker {
    /// A tracker at step zero, with no requester.
    pub fn new() -> Self {
        Self::default()
    }

    /// The common step.
    pub fn current_step(&self) -> u64 {
        self.current
    }

    /// Lets `requester` count from the common step on.
    pub fn init_step_count(&mut self, requester: &str) {
        self.counts.insert(requester.into(), self.current);
    }

    /// Forgets `requester`; whether it was known. The common step never goes back.
    pub fn erase_step_count(&mut self, requester: &str) -> bool {
        self.counts.remove(requester).is_some()
    }

    /// One step more for `requester`; whether the common step advanced.
    pub fn increment_step(&mut self, requester: &str) -> bool {
        if !self.counts.contains_key(requester) {
            self.init_step_count(requester);
        }
        let Some(count) = self.counts.get_mut(requester) else { return false };
        *count += 1;
        // Everybody starts at the common step and goes on by one, so it can only be one ahead.
        let advanced = *count > self.current;
        self.current = self.current.max(*count);
        advanced
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn profiler_and_optimiser_step_once_together() {
        let mut tracker = KinetoStepTracker::new();
        ["profiler", "optimiser"].iter().for_each(|who| tracker.init_step_count(who));
        let advanced: Vec<bool> =
            ["profiler", "optimiser", "profiler", "optimiser"].map(|who| tracker.increment_step(who)).into();
        assert_eq!(advanced, [true, false, true, false]);
        assert_eq!(tracker.current_step(), 2);
    }

    #[test]
    fn who_comes_late_counts_from_the_common_step() {
        let mut tracker = KinetoStepTracker::new();
        (0..5).for_each(|_| assert!(tracker.increment_step("a")));
        assert!(tracker.increment_step("b"));
        assert!(tracker.erase_step_count("b") && !tracker.erase_step_count("b"));
        assert!(!tracker.increment_step("a"), "a reaches the step that b had made");
        assert!(tracker.increment_step("a"));
        assert_eq!(tracker.current_step(), 7);
    }

    proptest! {
        #[test]
        fn the_step_is_the_highest_count(who in vec(0_u8..4, 0..60)) {
            let mut tracker = KinetoStepTracker::new();
            (0..4).for_each(|requester| tracker.init_step_count(&requester.to_string()));
            let mut counts = [0; 4];
            for requester in who {
                let before = counts.into_iter().max();
                counts[usize::from(requester)] += 1;
                let advanced = tracker.increment_step(&requester.to_string());
                prop_assert_eq!(advanced, counts.into_iter().max() > before);
            }
            prop_assert_eq!(Some(tracker.current_step()), counts.into_iter().max());
        }
    }
}
