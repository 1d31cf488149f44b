//! Predicted beside measured: what the ranks of a job did in one exchange, against what the model says.
//!
//! A rank that comes early waits for the others, so its stay says little. What the network took is what remained once the last
//! rank had come; how long they waited for it is told apart from that.

use std::fmt;

use rankscope_time::{Rank, Span};

use super::{Link, Prediction, Topology};
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
    /// Links that carry anything, each with the slowest of its ranks.
    pub links: Vec<LinkComparison>,
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

/// One link's part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkComparison {
    /// Which.
    pub link: Link,
    /// Bytes over it.
    pub bytes: u64,
    /// From the last rank's entry until the last of the link's own ranks left; none where none of those was seen.
    pub transfer: Option<Span>,
    /// How long the model keeps it busy.
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

impl LinkComparison {
    /// Measured over predicted, where one of its ranks was seen.
    #[must_use]
    pub fn ratio(&self) -> Option<f64> {
        self.transfer.and_then(|transfer| ratio(transfer, self.predicted))
    }
}

fn ratio(measured: Span, predicted: Span) -> Option<f64> {
    (predicted > Span::ZERO).then(|| measured.as_nanos() as f64 / predicted.as_nanos() as f64)
}

/// Lays `stays` beside `prediction`; none without a stay.
#[must_use]
pub fn compare(topology: &Topology, traffic: &Traffic, prediction: &Prediction, stays: &[Stay]) -> Option<Comparison> {
    let last = stays.iter().max_by_key(|stay| (stay.entered, std::cmp::Reverse(stay.rank)))?;
    let first = stays.iter().map(|stay| stay.entered).min()?;
    let slowest = stays.iter().max_by_key(|stay| (stay.left, std::cmp::Reverse(stay.rank)))?;
    let of_rank = |stay: &Stay| RankComparison {
        rank: stay.rank,
        wait: last.entered - stay.entered,
        transfer: (stay.left - last.entered).max(Span::ZERO),
        predicted: prediction.ranks.get(stay.rank.0 as usize).map_or(Span::ZERO, |rank| rank.stay),
    };
    let links = prediction.links.iter().map(|link| {
        let own = stays.iter().filter(|stay| link.link.serves(topology, stay.rank));
        let transfer = own.map(|stay| (stay.left - last.entered).max(Span::ZERO)).max();
        LinkComparison { link: link.link, bytes: link.bytes, transfer, predicted: link.time }
    });
    Some(Comparison {
        links: links.collect(),
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
    /// To ranks 0, 1, ... as far as recorded.
    pub sent_to: Splits,
    /// From ranks 0, 1, ... as far as recorded.
    pub received_from: Splits,
}

/// The parts of a buffer, by rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Splits {
    /// Rows to or from ranks 0, 1, ...
    pub rows: Vec<u64>,
    /// Bytes of a row. A list that was cut does not tell; then the first pair that the plan has too says it.
    pub row_bytes: Option<u64>,
}

impl Splits {
    /// Bytes by rank; `planned` tells what a row may be.
    fn bytes(&self, planned: impl Fn(Rank) -> u64) -> impl Iterator<Item = (Rank, u64)> {
        let ranks = || (0..).map(Rank);
        let first = || {
            let (rank, rows) = ranks().zip(&self.rows).find(|(_, rows)| **rows > 0)?;
            let bytes = planned(rank);
            (bytes > 0 && bytes.is_multiple_of(*rows)).then(|| bytes / rows)
        };
        let row_bytes = self.row_bytes.or_else(first).unwrap_or(1);
        ranks().zip(&self.rows).map(move |(rank, rows)| (rank, rows.saturating_mul(row_bytes)))
    }
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
    let known = |(peer, _): &(Rank, u64)| peer.0 < traffic.world_size();
    let to = recorded.sent_to.bytes(|peer| bytes_of(traffic, rank, peer)).filter(known);
    let to = to.map(|(peer, measured)| (rank, peer, measured));
    let from = recorded.received_from.bytes(|peer| bytes_of(traffic, peer, rank)).filter(known);
    let from = from.map(|(peer, measured)| (peer, rank, measured));
    for (from, to, measured) in to.chain(from) {
        let planned = traffic.bytes(from, to);
        if planned != measured {
            found.push(Contradiction::Pair { from, to, measured, planned });
        }
    }
    found
}

/// Bytes of a pair; none of a rank that the plan does not have.
fn bytes_of(traffic: &Traffic, from: Rank, to: Rank) -> u64 {
    if from.0.max(to.0) < traffic.world_size() { traffic.bytes(from, to) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Preset;

    fn traffic() -> Traffic {
        Traffic::new(
            3,
            [(0, 1, 1_000), (0, 0, 40), (1, 2, 5_000), (2, 0, 30)].map(|(from, to, bytes)| (Rank(from), Rank(to), bytes)),
        )
    }

    #[test]
    fn waiting_for_the_last_rank_is_no_transfer() {
        let Some(preset) = Preset::of_name("h100-nvlink") else { panic!("the preset is gone") };
        let network = preset.network();
        let Ok(prediction) = network.predict(&traffic()) else { panic!("a small exchange is predicted") };
        let stay =
            |rank, entered, left| Stay { rank: Rank(rank), entered: Span::from_nanos(entered), left: Span::from_nanos(left) };
        let stays = [stay(0, 0, 900), stay(1, 700, 1_000), stay(2, 100, 950)];
        let Some(found) = compare(&network.topology, &traffic(), &prediction, &stays) else { panic!("three stays compare") };
        assert_eq!((found.transfer.as_nanos(), found.arrival_skew.as_nanos(), found.last), (300, 700, Rank(1)));
        assert_eq!((found.ranks[0].wait.as_nanos(), found.ranks[0].transfer.as_nanos()), (700, 200));
        assert_eq!(found.slowest_pair, Some((Rank(1), Rank(2))));
        let receiving = found.links.iter().find(|link| link.link == Link::NodeReceive(Rank(0)));
        assert_eq!(receiving.and_then(|link| link.transfer), Some(Span::from_nanos(200)));
        assert_eq!(compare(&network.topology, &traffic(), &prediction, &[]), None);
    }

    #[test]
    fn only_what_was_recorded_can_contradict() {
        let rows = |rows: &[u64], row_bytes| Splits { rows: rows.to_vec(), row_bytes };
        assert_eq!(contradictions(&traffic(), Rank(0), &Recorded::default()), []);
        let recorded = Recorded {
            sent: Some(1_040),
            received: Some(70),
            sent_to: rows(&[4, 100], None),
            received_from: rows(&[4, 0, 3], Some(10)),
        };

        assert_eq!(contradictions(&traffic(), Rank(0), &recorded), []);
        let wrong = Recorded { sent: Some(1_041), sent_to: rows(&[41], Some(1)), ..recorded };
        let found: Vec<String> = contradictions(&traffic(), Rank(0), &wrong).iter().map(ToString::to_string).collect();
        let told = ["rank 0 sent 1041 bytes, and 1040 by the plan", "rank 0 sent 41 bytes to rank 0, and 40 by the plan"];
        assert_eq!(found, told);
    }
}
