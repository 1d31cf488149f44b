//! How a rank's lateness recurs from step to step, judged against chance.
//!
//! A series says of each step whether the rank was late in it. Steps that are late independently of each other, however often, are
//! sporadic at most; to be called persistent or periodic a series has to look as chance makes it look in less than one series of
//! twenty. Nothing here knows how late is late.

/// How lateness recurs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pattern {
    /// In most steps.
    Persistent,
    /// Every so many steps.
    Periodic {
        /// From one late step to the next.
        every: usize,
    },
    /// Now and then.
    Sporadic,
    /// Never.
    None,
    /// There are too few steps to tell.
    #[default]
    Unknown,
}

/// Fewer steps tell nothing: even if all of them were late, a coin would do that once in sixteen times.
pub const STEPS_MIN: usize = 5;

/// How often chance may make a pattern.
const CHANCE: f64 = 0.05;

/// Share of a period's steps that are late, and of late steps that are the period's, at least.
const SHARE_MIN: f64 = 0.8;

/// Times a period is seen at least.
const PERIODS_MIN: usize = 3;

/// Steps between two late ones at most, so that looking for a period takes time in proportion to the steps.
const PERIOD_MAX: usize = 64;

impl Pattern {
    /// Of a series: whether each step, in order, is late.
    pub fn of(late: &[bool]) -> Self {
        Self::by_chance(late, CHANCE)
    }

    /// Of several series that are looked at together, such that chance makes a pattern in any of them in less than one of twenty times.
    /// Series in which hardly anything is late cannot have one, and do not count.
    pub fn of_all(all: &[Vec<bool>]) -> Vec<Self> {
        let late = |series: &&Vec<bool>| series.iter().filter(|late| **late).count() >= PERIODS_MIN;
        let chance = CHANCE / all.iter().filter(late).count().max(1) as f64;
        all.iter().map(|series| Self::by_chance(series, chance)).collect()
    }

    /// What chance makes in less than `chance` of all series.
    fn by_chance(late: &[bool], chance: f64) -> Self {
        let count = late.iter().filter(|late| **late).count();
        if late.len() < STEPS_MIN {
            return Self::Unknown;
        }
        if count == 0 {
            return Self::None;
        }
        if in_most(late.len(), count, chance) && !is_an_episode(late, count) {
            return Self::Persistent;
        }
        period(late, count, chance).map_or(Self::Sporadic, |every| Self::Periodic { every })
    }
}

/// Whether what is so in `times` of `steps` steps is so in most of them, beyond chance.
pub(crate) fn in_most_steps(steps: usize, times: usize) -> bool {
    in_most(steps, times, CHANCE)
}

/// Whether so many late steps are more than half of all, beyond what happens with `chance`.
fn in_most(steps: usize, late: usize, chance: f64) -> bool {
    late * 2 > steps
        && (late..=steps).map(|count| (ln_choose(steps, count) - steps as f64 * 2.0_f64.ln()).exp()).sum::<f64>() <= chance
}

/// Whether late steps follow each other so closely, and so do the others, that they are a stretch of the job and not most of it: the
/// runs test of Wald and Wolfowitz, one-sided.
fn is_an_episode(late: &[bool], count: usize) -> bool {
    let (steps, a) = (late.len() as f64, count as f64);
    let b = steps - a;
    let runs = 1 + late.windows(2).filter(|pair| pair[0] != pair[1]).count();
    let mean = 1.0 + 2.0 * a * b / steps;
    let variance = (mean - 1.0) * (mean - 2.0) / (steps - 1.0);
    // Less than once in a hundred times. A few steps that are not late make few runs whatever they do.
    b >= PERIODS_MIN as f64 && variance > 0.0 && (runs as f64 + 0.5 - mean) / variance.sqrt() < -2.33
}

/// Steps from one late one to the next, if that is beyond chance for the most telling of all periods.
fn period(late: &[bool], count: usize, chance: f64) -> Option<usize> {
    let steps = late.len();
    let longest = (steps / PERIODS_MIN).min(PERIOD_MAX);
    let mut tried = 0_usize;
    let mut best: Option<(f64, usize)> = None;
    for every in 2..=longest {
        let mut by_phase = vec![0_usize; every];
        late.iter().enumerate().filter(|(_, late)| **late).for_each(|(at, _)| by_phase[at % every] += 1);
        for (phase, inside) in by_phase.into_iter().enumerate() {
            let slots = (steps - phase).div_ceil(every);
            if slots < PERIODS_MIN {
                continue;
            }
            tried += 1;
            let enough = |of: usize| inside as f64 >= SHARE_MIN * of as f64;
            if inside >= PERIODS_MIN && enough(slots) && enough(count) {
                let found = at_least(inside, steps, slots, count);
                if best.is_none_or(|(least, _)| found < least) {
                    best = Some((found, every));
                }
            }
        }
    }
    best.filter(|(found, _)| found * tried as f64 <= chance).map(|(_, every)| every)
}

/// How likely `inside` or more of `late` steps are among `slots` of `steps`, if they fall anywhere.
fn at_least(inside: usize, steps: usize, slots: usize, late: usize) -> f64 {
    let all = ln_choose(steps, late);
    let exactly = |count: usize| (ln_choose(slots, count) + ln_choose(steps - slots, late - count) - all).exp();
    (inside..=slots.min(late)).filter(|count| late - count <= steps - slots).map(exactly).sum()
}

fn ln_choose(of: usize, chosen: usize) -> f64 {
    let chosen = chosen.min(of - chosen);
    (0..chosen).map(|at| ((of - at) as f64 / (at + 1) as f64).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(steps: usize, late: impl Fn(usize) -> bool) -> Vec<bool> {
        (0..steps).map(late).collect()
    }

    /// A generator of its own, so that the same series come every time.
    struct Drawn(u64);

    impl Drawn {
        fn below(&mut self, one_in: f64) -> bool {
            self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = self.0;
            z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64) < one_in
        }
    }

    #[test]
    fn patterns_are_told_apart() {
        assert_eq!(Pattern::of(&series(4, |_| true)), Pattern::Unknown);
        assert_eq!(Pattern::of(&series(20, |_| false)), Pattern::None);
        assert_eq!(Pattern::of(&series(5, |_| true)), Pattern::Persistent);
        assert_eq!(Pattern::of(&series(40, |step| step % 9 != 0)), Pattern::Persistent);
        for (steps, every, phase) in [(12, 4, 3), (20, 4, 0), (30, 7, 2), (10, 2, 1), (200, 50, 49)] {
            let late = series(steps, |step| step % every == phase);
            assert_eq!(Pattern::of(&late), Pattern::Periodic { every }, "every {every} of {steps}");
        }
        assert_eq!(Pattern::of(&series(20, |step| step == 7)), Pattern::Sporadic);
        assert_eq!(Pattern::of(&series(20, |step| [3, 4, 11].contains(&step))), Pattern::Sporadic);
    }

    #[test]
    fn one_long_stretch_is_not_most_steps() {
        assert_eq!(Pattern::of(&series(100, |step| step >= 35)), Pattern::Sporadic);
        assert_eq!(Pattern::of(&series(100, |step| step >= 1)), Pattern::Persistent);
    }

    #[test]
    fn a_period_survives_a_step_that_is_late_besides() {
        assert_eq!(Pattern::of(&series(32, |step| step % 4 == 1 || step == 10)), Pattern::Periodic { every: 4 });
    }

    #[test]
    fn steps_that_are_late_by_chance_make_no_pattern() {
        const SERIES: usize = 2_000;
        let mut drawn = Drawn(17);
        for steps in [5, 6, 8, 12, 20, 40, 100] {
            for share in [0.05, 0.125, 0.25, 0.35, 0.5] {
                let alarms = (0..SERIES).filter(|_| {
                    let late: Vec<bool> = (0..steps).map(|_| drawn.below(share)).collect();
                    matches!(Pattern::of(&late), Pattern::Persistent | Pattern::Periodic { .. })
                });
                let alarms = alarms.count();
                assert!(alarms * 20 <= SERIES, "{alarms} of {SERIES} series of {steps} steps, {share} of them late");
            }
        }
    }
}
