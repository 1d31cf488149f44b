//! What the process of a rank is told, as one word of its command line: one encoder, one decoder. Its number and that of all ranks
//! come by `RANK` and `WORLD_SIZE`, as to any rank, for the recorder too.

use std::net::IpAddr;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::slow::Slowness;

/// What a rank is to do, and on which clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RankTask {
    /// The address of its host.
    pub(crate) address: IpAddr,
    /// Products of a layer's forward pass.
    pub(crate) products: u32,
    /// What it does more than the others, if it is slow for a cause.
    pub(crate) slowness: Option<Slowness>,
    /// Whether it waits for a batch from [`STILL_FROM`](crate::plan::STILL_FROM) on until the time is over.
    pub(crate) stands_still: bool,
    /// How long to train, in seconds; what rank 0 is told counts.
    pub(crate) seconds: f64,
    /// Of the random numbers.
    pub(crate) seed: u64,
    /// How its host's clock is skewed.
    pub(crate) clock: String,
    /// True host time minus `CLOCK_MONOTONIC_RAW`.
    pub(crate) clock_shift_ns: i64,
}

impl RankTask {
    /// The word.
    ///
    /// # Errors
    /// Never with the fields that there are; a later one may not be a word.
    pub(crate) fn encode(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string(self)
    }
}

impl FromStr for RankTask {
    type Err = serde_json::Error;

    fn from_str(word: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_is_told_what_was_meant() {
        let task = RankTask {
            address: IpAddr::from([10, 9, 0, 4]),
            products: 17,
            slowness: Some(Slowness::Forward(2.5)),
            stands_still: true,
            seconds: 7.3,
            seed: u64::MAX,
            clock: "origin-ns=1700000000000000001,offset-ns=-3,skew-ppb=12".to_owned(),
            clock_shift_ns: -1_700_000_000_000_000_001,
        };
        assert_eq!(task.encode().unwrap().parse::<RankTask>().unwrap(), task);
        assert!("{}".parse::<RankTask>().is_err() && "--products 3".parse::<RankTask>().is_err());
    }
}
