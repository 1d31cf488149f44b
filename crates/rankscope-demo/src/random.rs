//! Random numbers of the demo. Each purpose has a stream of its own, so that what one draws does not change what another does.

use rankscope_clock::Rng;

/// What random numbers are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    /// How wrong the hosts' clocks are.
    Clocks,
    /// Which rank is slow, and how slow.
    Straggler,
    /// How much a rank computes and how long it waits, step by step.
    Training {
        /// Which rank.
        rank: u32,
    },
}

impl Stream {
    /// The stream of `seed`. The numbers of the lanes are arbitrary, but part of what a seed means: they stay.
    pub(crate) fn of(self, seed: u64) -> Rng {
        let lane = match self {
            Self::Clocks => 1,
            Self::Straggler => 2,
            Self::Training { rank } => 100 + u64::from(rank),
        };
        Rng::lane(seed, lane)
    }
}
