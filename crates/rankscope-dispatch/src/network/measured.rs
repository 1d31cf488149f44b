//! Predicted beside measured: what the ranks of a job did in one exchange, against what the model says.
//!
//! A rank that comes early waits for the others, so its stay says little. What the network took is what remained once the last
//! rank had come; how long they waited for it is told apart from that.

use std::fmt;

use rankscope_time::{Rank, Span};

use super::Prediction;
use crate::Traffic;

/// One rank's stay in one exchange, on one clock for all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Whose.
    pub rank: Rank,
    /// When it entered, after any moment that is the same for all.
    pub entered: Span,
    /// When it left.
    pub left: Span,
}

/// What the model said and what came.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// From the last to enter until the last left.
    pub transfer: Span,
    /// What the model said.
    pub predicted: Span,
    /// From the first to enter to the last.
    pub arrival_skew: Span,
    /// The last to enter.
    pub last: Rank,
    /// Each rank of the job that was seen.
    pub ranks: Vec<RankComparison>,
    /// The pair that must have been slowest: of the rank that left last, the partner with which it shares most bytes.
    pub slowest_pair: Option<(Rank, Rank)>,
}

/// One rank's part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankComparison {
    /// Which.
    pub rank: Rank,
    /// Its wait for the last rank to enter.
    pub wait: Span,
    /// From then until it left.
    pub transfer: Span,
    /// What the model said.
    pub predicted: Span,
}

impl Comparison {
    /// Measured over predicted; none where the model says that nothing is to be done.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        ratio(self.transfer, self.predicted)
    }
}

impl RankComparison {
    /// Measured over predicted.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        ratio(self.transfer, self.predicted)
    }
}

fn ratio(measured: Span, predicted: Span) -> Option<f64> {
    (predicted > Span::ZERO).then(|| measured.as_nanos() as f64 / predicted.as_nanos() as f64)
}

/// Lays `stays` beside `prediction`; none without a stay.
#[must_use]
pub fn compare(traffic: &Traffic, prediction: &Prediction, stays: &[Stay]) -> Option<Comparison> {
    let last = stays.iter().max_by_key(|stay| (stay.entered, std::cmp::Reverse(stay.rank)))?;
    let first = stays.iter().map(|stay| stay.entered).min()?;
    let slowest = stays.iter().max_by_key(|stay| (stay.left, std::cmp::Reverse(stay.rank)))?;
    let of_rank = |stay: &Stay| RankComparison {
        rank: stay.rank,
        wait: last.entered - stay.entered,
        transfer: (stay.left - last.entered).max(Span::ZERO),
        predicted: prediction.ranks.get(stay.rank.0 as usize).map_or(Span::ZERO, |rank| rank.stay),
    };
    Some(Comparison {
        transfer: (slowest.left - last.entered).max(Span::ZERO),
        predicted: prediction.total,
        arrival_skew: last.entered - first,
        last: last.rank,
        ranks: stays.iter().map(of_rank).collect(),
        slowest_pair: heaviest(traffic, slowest.rank),
    })
}

/// The pair with the most bytes among those from and to `rank`.
fn heaviest(traffic: &Traffic, rank: Rank) -> Option<(Rank, Rank)> {
    let own = traffic.pairs().iter().filter(|pair| pair.0 != pair.1 && (pair.0 == rank || pair.1 == rank));
    own.max_by_key(|pair| (pair.2, std::cmp::Reverse((pair.0, pair.1)))).map(|pair| (pair.0, pair.1))
}

/// How a recorded exchange and the plan's disagree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contradiction {
    /// What a rank put in or got out, in all.
    Total {
        /// Whose.
        rank: Rank,
        /// Whether it was sent.
        sent: bool,
        /// Bytes by the trace.
        measured: u64,
        /// Bytes by the plan.
        planned: u64,
    },
    /// What went between a pair.
    Pair {
        /// The sender.
        from: Rank,
        /// The receiver.
        to: Rank,
        /// Bytes by the trace.
        measured: u64,
        /// Bytes by the plan.
        planned: u64,
    },
}

impl fmt::Display for Contradiction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Total { rank, sent, measured, planned } => {
                let verb = if *sent { "sent" } else { "received" };
                write!(f, "rank {rank} {verb} {measured} bytes, and {planned} by the plan")
            }
            Self::Pair { from, to, measured, planned } => {
                write!(f, "rank {from} sent {measured} bytes to rank {to}, and {planned} by the plan")
            }
        }
    }
}

/// What a trace tells of one rank's part, as far as it tells. Profilers cut long lists of splits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorded {
    /// All bytes put in.
    pub sent: Option<u64>,
    /// All bytes got out.
    pub received: Option<u64>,
    /// Bytes to ranks 0, 1, ... as far as recorded.
    pub sent_to: Vec<u64>,
    /// Bytes from ranks 0, 1, ... as far as recorded.
    pub received_from: Vec<u64>,
}

/// Where `recorded`, of `rank`, contradicts the plan. Nothing recorded contradicts nothing.
#[must_use]
pub fn contradictions(traffic: &Traffic, rank: Rank, recorded: &Recorded) -> Vec<Contradiction> {
    let mut found = Vec::new();
    let sent: u64 = traffic.sends(rank).iter().map(|pair| pair.2).sum();
    let received: u64 = traffic.pairs().iter().filter(|pair| pair.1 == rank).map(|pair| pair.2).sum();
    for (measured, planned, is_sent) in [(recorded.sent, sent, true), (recorded.received, received, false)] {
        if let Some(measured) = measured.filter(|measured| *measured != planned) {
            found.push(Contradiction::Total { rank, sent: is_sent, measured, planned });
        }
    }
    let peers = |list: &[u64]| (0..traffic.world_size()).map(Rank).zip(list.to_vec());
    let to = peers(&recorded.sent_to).map(|(peer, measured)| (rank, peer, measured));
    let from = peers(&recorded.received_from).map(|(peer, measured)| (peer, rank, measured));
    for (from, to, measured) in to.chain(from) {
        let planned = traffic.bytes(from, to);
        if planned != measured {
            found.push(Contradiction::Pair { from, to, measured, planned });
        }
    }
    found
}
