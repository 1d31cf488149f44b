//! Who came when to the collectives of the job.

use rankscope_collectives::Kind;
use rankscope_time::{ClockMap, RankClock, ReferenceClock};

use crate::Order;
use crate::intervals::Length;

/// Who waits for whom in a collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Waiting {
    /// Everybody for the last to come.
    #[default]
    ForTheLast,
    /// The receiver of a message for its sender, and perhaps the sender for the receiver.
    Pairwise,
    /// Some for some: a root or its own part of the data decides, or it is not known which operation it is.
    ForSome,
}

impl Waiting {
    /// Who waits in an operation of this kind.
    pub fn of(kind: Kind) -> Self {
        if kind.needs_all() {
            Self::ForTheLast
        } else if kind.is_point_to_point() {
            Self::Pairwise
        } else {
            Self::ForSome
        }
    }
}

/// One matched collective: who came when, what was waited and what transferred.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Index of its row in the table.
    pub row: usize,
    /// Index of the collective among all instances.
    pub instance: u32,
    /// Who came when.
    pub order: Order,
    /// First arrival, on the job's clock.
    pub start_ns: i64,
    /// The shortest stay of any rank: what remained once everybody had come. No clock but the rank's own is in it. Of a message,
    /// the receiver's stay without its wait for the sender.
    pub transfer_ns: i64,
    /// Last end minus first.
    pub end_skew_ns: i64,
    /// Who waits for whom in it.
    pub waiting: Waiting,
    /// The step it lies in, on the rank that came first.
    pub step: Option<i64>,
}

impl Arrival {
    /// The ranks with the moments they came, on the job's clock, first to come first.
    pub(crate) fn comings(&self) -> impl DoubleEndedIterator<Item = (usize, i64)> {
        let last_ns = self.start_ns.saturating_add(self.order.wait_ns(0));
        self.order.iter().map(move |(rank, wait_ns)| (rank, last_ns.saturating_sub(wait_ns)))
    }
}

/// One rank's part in all matched collectives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankArrivals {
    /// Matched collectives it took part in, of more than one rank; messages are not counted here.
    pub matched: u64,
    /// Times it came last.
    pub last: u64,
    /// Times it came first.
    pub first: u64,
    /// Time in which it waited for others.
    pub wait_ns: i64,
    /// Time in which others waited for it alone: where it came last, its lead over the one before it.
    pub delay_ns: i64,
}

/// From a rank's clock to the job's.
pub type Map = ClockMap<RankClock, ReferenceClock>;

/// Sums up every rank's part in what is between more than two ends: who is last to a message may be its receiver, whom nobody
/// waits for. Times that overlap count once, as two collectives in flight at once are one wait. `arrivals` are in order of time.
pub(crate) fn by_rank(arrivals: &[Arrival], ranks: usize) -> Vec<RankArrivals> {
    let mut sums = vec![RankArrivals::default(); ranks];
    let mut waits = vec![Length::default(); ranks];
    let mut delays = vec![Length::default(); ranks];
    let of_groups = |arrival: &&Arrival| arrival.waiting != Waiting::Pairwise && arrival.order.len() > 1;
    for arrival in arrivals.iter().filter(of_groups) {
        let mut latest = arrival.comings().rev();
        let (Some((last, end_ns)), Some((_, before_ns))) = (latest.next(), latest.next()) else { continue };
        for (rank, came_ns) in arrival.comings() {
            sums[rank].matched += 1;
            waits[rank].add(arrival.start_ns, (came_ns, end_ns));
        }
        sums[arrival.order.at(0).0].first += 1;
        sums[last].last += 1;
        // The one before the last waited just for the last.
        delays[last].add(arrival.start_ns, (before_ns, end_ns));
    }
    for ((sums, waits), delays) in sums.iter_mut().zip(waits).zip(delays) {
        sums.wait_ns = waits.ns();
        sums.delay_ns = delays.ns();
    }
    sums
}
