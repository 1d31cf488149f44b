//! The order of a sweep's runs.
//!
//! A machine drifts: it warms up, others come and go, a file system fills. If configurations always ran in the same order, the drift
//! would be taken for their difference. In the balanced order repetitions are rounds, each round holds each configuration once, and
//! the law is about the sums of their positions over all rounds, n configurations counted from 0:
//!
//! - an even number of rounds: all sums are equal;
//! - an odd number from 3: all sums are equal if n is odd, and differ by at most 1 if n is even;
//! - one round: a random order, in which nothing can be balanced.
//!
//! So a drift that is linear in time adds the same to every configuration's mean. An even number of rounds are pairs of an order and
//! its reverse, taken from a Williams design (Williams 1949): over n rounds for an even n, and 2n for an odd n, each configuration
//! follows each other equally often, too. An odd number begins with three rounds whose positions add up to the same, and goes on in
//! pairs. Which configuration takes which place in the design, and the order of pairs, are drawn from the seed.

use rankscope_clock::Rng;
use serde::{Deserialize, Serialize};

/// In which order the configurations run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Order {
    /// Rounds in random orders whose positions are balanced.
    #[default]
    Balanced,
    /// Rounds in the order in which the configurations were given.
    AsGiven,
    /// All repetitions of a configuration before those of the next.
    Grouped,
}

impl Order {
    /// As it stands in the document and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Balanced => "balanced",
            Self::AsGiven => "as-given",
            Self::Grouped => "grouped",
        }
    }
}

/// `count` rounds of `configurations`, by their indices, balanced. `done` says how many rounds came before, of which these are
/// independent: they are balanced among themselves.
pub fn rounds(configurations: usize, done: u32, count: u32, seed: u64) -> Vec<Vec<usize>> {
    let mut rng = Rng::lane(seed, u64::from(done));
    let mut rounds = Vec::new();
    let count = count as usize;
    if count % 2 == 1 {
        if count == 1 {
            return vec![shuffled(configurations, &mut rng)];
        }
        rounds.extend(triple(configurations, &mut rng));
    }
    while rounds.len() < count {
        rounds.extend(pairs(configurations, &mut rng).into_iter().flatten());
    }
    rounds.truncate(count);
    rounds
}

/// A Williams design as pairs of an order and its reverse: n / 2 pairs for an even n, n for an odd one.
fn pairs(n: usize, rng: &mut Rng) -> Vec<[Vec<usize>; 2]> {
    let place = shuffled(n, rng);
    let count = if n.is_multiple_of(2) { n / 2 } else { n };
    // 0, n-1, 1, n-2, ...: its steps are all different, so each row of the square has each neighbour once.
    let zigzag: Vec<usize> = (0..n).map(|at| if at % 2 == 0 { at / 2 } else { n - 1 - at / 2 }).collect();
    let mut pairs: Vec<[Vec<usize>; 2]> = shuffled(count.max(1), rng)
        .into_iter()
        .map(|shift| {
            let row: Vec<usize> = zigzag.iter().map(|at| place[(at + shift) % n.max(1)]).collect();
            let reverse = row.iter().rev().copied().collect();
            if rng.below(2) == 0 { [row, reverse] } else { [reverse, row] }
        })
        .collect();
    pairs.truncate(count.max(1));
    pairs
}

/// Three rounds in which the positions of each configuration add up to 3 (n - 1) / 2, rounded up or down where that is no integer.
fn triple(n: usize, rng: &mut Rng) -> [Vec<usize>; 3] {
    let place = shuffled(n, rng);
    let half = n / 2;
    // Positions of the i-th in the three rounds. The second falls by one every other step; the third is what is missing.
    let second = |i: usize| match (n % 2, i % 2) {
        (1, 0) => half - i / 2,
        (1, _) => n - i.div_ceil(2),
        (_, 0) => half - 1 - i / 2,
        _ => n - 1 - i / 2,
    };
    let third = |i: usize| match n % 2 {
        1 => 3 * half - i - second(i),
        _ => 3 * half - 2 + i % 2 - i - second(i),
    };
    let positions: [Vec<usize>; 3] = [(0..n).collect(), (0..n).map(second).collect(), (0..n).map(third).collect()];
    let mirrored = rng.below(2) == 1;
    let mut made = positions.map(|positions| {
        let mut round = vec![0; n];
        for (i, at) in positions.into_iter().enumerate() {
            round[if mirrored { n - 1 - at } else { at }] = place[i];
        }
        round
    });
    for last in (1..made.len()).rev() {
        made.swap(last, rng.below(last as u64 + 1) as usize);
    }
    made
}

/// The numbers below `n` in random order (Fisher and Yates).
fn shuffled(n: usize, rng: &mut Rng) -> Vec<usize> {
    let mut numbers: Vec<usize> = (0..n).collect();
    for last in (1..n).rev() {
        numbers.swap(last, rng.below(last as u64 + 1) as usize);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use proptest::prelude::*;

    fn sums(n: usize, rounds: &[Vec<usize>]) -> Vec<usize> {
        let mut sums = vec![0; n];
        for round in rounds {
            for (position, configuration) in round.iter().enumerate() {
                sums[*configuration] += position;
            }
        }
        sums
    }

    /// How often each follows each other within a round.
    fn followers(rounds: &[Vec<usize>]) -> BTreeMap<(usize, usize), usize> {
        let mut count = BTreeMap::new();
        for pair in rounds.iter().flat_map(|round| round.windows(2)) {
            *count.entry((pair[0], pair[1])).or_default() += 1;
        }
        count
    }

    proptest! {
        #[test]
        fn each_round_has_each_configuration_once(n in 1usize..40, count in 0u32..20, done in 0u32..5, seed: u64) {
            let rounds = rounds(n, done, count, seed);
            prop_assert_eq!(rounds.len(), count as usize);
            for mut round in rounds {
                round.sort_unstable();
                prop_assert_eq!(round, (0..n).collect::<Vec<_>>());
            }
        }

        #[test]
        fn no_configuration_is_later_than_another(n in 1usize..40, count in 1u32..20, seed: u64) {
            let sums = sums(n, &rounds(n, 0, count, seed));
            let spread = sums.iter().max().unwrap() - sums.iter().min().unwrap();
            let most = match (count, count % 2, n % 2) {
                (1, ..) => n - 1,
                (_, 1, 0) => 1,
                _ => 0,
            };
            prop_assert!(spread <= most, "{} configurations, {} rounds: sums {:?}", n, count, sums);
        }

        #[test]
        fn one_seed_is_one_order(n in 1usize..20, count in 0u32..12, seed: u64) {
            prop_assert_eq!(rounds(n, 0, count, seed), rounds(n, 0, count, seed));
        }

        #[test]
        fn whole_designs_balance_who_follows_whom(half in 1usize..12, seed: u64) {
            for (n, count, times) in [(2 * half, 2 * half, 1), (2 * half + 1, 4 * half + 2, 2)] {
                let followers = followers(&rounds(n, 0, count as u32, seed));
                prop_assert_eq!(followers.len(), n * (n - 1));
                prop_assert!(followers.values().all(|count| *count == times), "{:?}", followers);
            }
        }
    }

    #[test]
    fn every_configuration_may_come_anywhere() {
        // 400 seeds of 4 configurations in 3 rounds: at each of 12 places each is expected 100 times, give or take 8.7.
        let mut count = BTreeMap::new();
        for seed in 0..400 {
            for (round, order) in rounds(4, 0, 3, seed).into_iter().enumerate() {
                for (position, configuration) in order.into_iter().enumerate() {
                    *count.entry((round, position, configuration)).or_insert(0) += 1;
                }
            }
        }
        assert_eq!(count.len(), 48);
        assert!(count.values().all(|count| (55..=145).contains(count)), "{count:?}");
    }

    #[test]
    fn rounds_that_come_later_are_others() {
        assert_ne!(rounds(8, 0, 2, 7), rounds(8, 2, 2, 7));
        assert_ne!(rounds(8, 0, 2, 7), rounds(8, 0, 2, 8));
    }
}
