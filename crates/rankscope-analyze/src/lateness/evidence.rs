//! Whether a delay recurs beyond chance.
//!
//! Rounds are held against "no rank is special". Is the rank's delay larger than the mean of the others' by more than its
//! variation from round to round explains (Student's t)? With many ranks few rounds suffice, so there a second question is
//! asked, which assumes nothing about sizes: were ranks alike, any of them could have been the one that cost most in a round;
//! how often is it the same one, weighed by the cost (Chernoff's bound for the sum of such draws, exact where all rounds agree)?
//! With few ranks that would mistake a disturbance that lasts for some rounds for a habit, and asked of single collectives it
//! would do so anywhere: who is behind at one is behind at the next, where computing does not wait for them. The level is shared
//! among all ranks, as any of them could have stood out.
//!
//! The first round is no evidence where there are enough others: profilers start at different times on different ranks. How
//! often alike ranks are named was simulated, with exponential, normal and heavy-tailed delays and with disturbances that last:
//! in at most one job of a hundred.

use statrs::distribution::{ContinuousCDF, StudentsT};

use super::Confidence;

/// Rounds below which nothing recurs.
pub(super) const ROUNDS_MIN: usize = 3;

/// Rounds from which on the first is left out.
const DROP_FIRST_FROM: usize = 4;

/// Chance of naming an innocent rank.
const LEVEL: f64 = 0.01;

/// The same, of naming it with high confidence.
const LEVEL_HIGH: f64 = 0.001;

/// Ranks from which on it counts how often the same one costs most.
const MANY_RANKS: usize = 16;

/// What the rounds say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Evidence {
    /// The rank's delay in the rounds that count, in nanoseconds.
    pub(super) own_ns: i64,
    /// The same, of the other with the largest delay in each.
    pub(super) others_ns: i64,
    /// Chance of such a picture, were all ranks alike. At most 1.
    chance: f64,
}

/// The delays of all other ranks, by round, in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Others {
    pub(super) largest_ns: Vec<i64>,
    pub(super) mean_ns: Vec<f64>,
}

/// How many of `rounds` are evidence.
pub(super) fn kept(rounds: usize) -> usize {
    if rounds >= DROP_FIRST_FROM { rounds - 1 } else { rounds }
}

impl Evidence {
    /// Of delays by round: of the rank, and of all others the largest and the mean; `ranks` there are in all.
    pub(super) fn of(own: &[i64], others: &Others, ranks: usize) -> Self {
        let from = own.len() - kept(own.len());
        let (own, largest, mean) = (&own[from..], &others.largest_ns[from..], &others.mean_ns[from..]);
        let lead: Vec<f64> = own.iter().zip(mean).map(|(own, mean)| *own as f64 - mean).collect();
        let by_size = || by_size(&lead);
        let chance = match own.len() {
            few if few < ROUNDS_MIN => 1.0,
            _ if ranks < MANY_RANKS => by_size(),
            // Either of two questions suffices, so each has half of the level.
            _ => 2.0 * by_size().min(by_label(own, largest, ranks)),
        };
        Self { own_ns: own.iter().sum(), others_ns: largest.iter().sum(), chance: (chance * ranks as f64).min(1.0) }
    }

    /// How sure it is; none if it is not.
    pub(super) fn confidence(&self) -> Option<Confidence> {
        confidence(self.chance)
    }
}

/// How sure it is that something is larger that was found to be so by these ratios, the largest of `ranks`; none if it is not.
pub(super) fn of_ratios(ratios: &[f64], ranks: usize) -> Option<Confidence> {
    let logarithms: Vec<f64> = ratios.iter().map(|ratio| ratio.ln()).collect();
    if logarithms.len() < ROUNDS_MIN {
        return None;
    }
    confidence(by_size(&logarithms) * ranks as f64)
}

fn confidence(chance: f64) -> Option<Confidence> {
    match chance {
        chance if chance < LEVEL_HIGH => Some(Confidence::High),
        chance if chance < LEVEL => Some(Confidence::Medium),
        _ => None,
    }
}

/// Chance that the mean of `lead` is as large as it is while it should be 0 or less.
fn by_size(lead: &[f64]) -> f64 {
    let Some((mean, error)) = mean_and_error(lead) else { return 1.0 };
    if mean <= 0.0 {
        return 1.0;
    }
    if error == 0.0 {
        return 0.0;
    }
    StudentsT::new(0.0, 1.0, (lead.len() - 1) as f64).map_or(1.0, |t| t.sf(mean / error))
}

/// Chance that one rank has so much of the rounds' largest delays, were each as likely anybody's.
fn by_label(own: &[i64], others: &[i64], ranks: usize) -> f64 {
    let weights: Vec<f64> = own.iter().zip(others).map(|(own, others)| (*own).max(*others) as f64).collect();
    let largest = weights.iter().copied().fold(0.0, f64::max);
    let won: f64 = own.iter().zip(others).filter(|(own, others)| own > others).map(|(own, _)| *own as f64).sum();
    if largest <= 0.0 {
        return 1.0;
    }
    let each = 1.0 / ranks.max(2) as f64;
    let log_bound = |tilt: f64| {
        let terms = weights.iter().map(|weight| (each * (tilt * weight / largest).exp() + 1.0 - each).ln());
        terms.sum::<f64>() - tilt * won / largest
    };
    // The bound is convex in the tilt; a coarse search gives up little, and any tilt gives a bound that holds.
    let best = TILTS.iter().map(|tilt| log_bound(*tilt)).fold(0.0, f64::min);
    best.exp()
}

const TILTS: [f64; 10] = [0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 9.0, 14.0, 40.0];

/// Half the width of the 95 % interval of the sum over the rounds of a job like this one, in nanoseconds.
pub(super) fn half_width(by_round: &[i64]) -> i64 {
    let values: Vec<f64> = by_round.iter().map(|value| *value as f64).collect();
    let Some((_, error)) = mean_and_error(&values) else { return 0 };
    let count = values.len() as f64;
    StudentsT::new(0.0, 1.0, count - 1.0).map_or(0, |t| (t.inverse_cdf(0.975) * error * count) as i64)
}

/// The mean of `values` and its standard error; none of fewer than two.
fn mean_and_error(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    if values.len() < 2 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    Some((mean, (squares / (count - 1.0) / count).sqrt()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The other ranks together have no more delay than the one of them that has most.
    fn others(largest: &[i64], ranks: usize) -> Others {
        let mean = |largest: &i64| *largest as f64 / (ranks - 1) as f64;
        Others { largest_ns: largest.to_vec(), mean_ns: largest.iter().map(mean).collect() }
    }

    fn judged(own: &[i64], largest: &[i64], ranks: usize) -> Option<Confidence> {
        Evidence::of(own, &others(largest, ranks), ranks).confidence()
    }

    #[test]
    fn what_recurs_is_evidence_and_what_happens_once_is_not() {
        assert_eq!(judged(&[50, 250, 251, 249, 250], &[3, 2, 6, 1, 4], 4), Some(Confidence::High));
        assert_eq!(judged(&[0, 0, 0, 1_000, 0], &[3, 2, 6, 1, 4], 4), None);
        assert_eq!(judged(&[40, 45], &[1, 2], 2), None, "two rounds say nothing");
        assert_eq!(judged(&[10, 12, 8, 11, 9, 10, 9], &[11, 9, 10, 8, 12, 9, 11], 2), None);
    }

    #[test]
    fn a_bad_first_round_of_another_rank_hides_nobody() {
        assert!(judged(&[17, 68, 53, 52, 50], &[99, 10, 26, 6, 6], 4).is_some());
    }

    #[test]
    fn among_many_ranks_the_same_one_again_is_enough() {
        let (own, others) = ([900, 30, 500, 200], [20, 10, 300, 90]);
        assert_eq!(judged(&own, &others, 8), None);
        assert!(judged(&own, &others, 1_024).is_some());
    }

    /// Delays of ranks that are all alike, from heavy tails and with neighbours that resemble each other.
    fn alike(seed: u64, ranks: usize, rounds: usize) -> Vec<Vec<i64>> {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut uniform = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1u64 << 53) as f64
        };
        let mut delays = vec![vec![0i64; rounds]; ranks];
        for hold_up in 0..3 * rounds {
            let rank = (uniform() * ranks as f64) as usize;
            delays[rank.min(ranks - 1)][hold_up / 3] += (1e6 / (uniform() + 1e-3).sqrt()) as i64;
        }
        delays
    }

    #[test]
    fn ranks_that_are_alike_are_hardly_ever_named() {
        let mut named = 0;
        let jobs = 4_000;
        for seed in 0..jobs {
            let (ranks, rounds) = ([2, 3, 4, 8, 16][seed as usize % 5], [3, 4, 6, 10, 16][seed as usize / 5 % 5]);
            let delays = alike(seed + 1, ranks, rounds);
            let total = |rank: &Vec<i64>| rank.iter().sum::<i64>();
            let worst = (0..ranks).max_by_key(|rank| total(&delays[*rank])).unwrap();
            let of_others =
                |round: usize| (0..ranks).filter(|rank| *rank != worst).map(|rank| delays[rank][round]).collect::<Vec<_>>();
            let mean = |round| of_others(round).iter().sum::<i64>() as f64 / (ranks - 1) as f64;
            let others = Others {
                largest_ns: (0..rounds).map(|round| of_others(round).into_iter().max().unwrap()).collect(),
                mean_ns: (0..rounds).map(mean).collect(),
            };
            named += usize::from(Evidence::of(&delays[worst], &others, ranks).confidence().is_some());
        }
        assert!(named as f64 <= 0.01 * jobs as f64, "{named} of {jobs}");
    }

    proptest! {
        #[test]
        fn chances_are_chances(own in prop::collection::vec(0i64..1_000_000_000, 0..20), ranks in 2usize..2_000) {
            let largest: Vec<i64> = own.iter().rev().copied().collect();
            let evidence = Evidence::of(&own, &others(&largest, ranks), ranks);
            prop_assert!((0.0..=1.0).contains(&evidence.chance), "{}", evidence.chance);
            prop_assert!(half_width(&own) >= 0);
        }
    }
}
