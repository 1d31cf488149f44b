//! What a played step says: how long, who idled, what was exposed, how much memory the buffers took.

use rankscope_time::Span;

use super::build::What;
use super::play::Played;
use super::work::Step;

/// A step, played.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// From the first start to the last end.
    pub makespan: Span,
    /// Every rank of every stage, stage by stage.
    pub ranks: Vec<RankUse>,
    /// Every operation, in the order of issue.
    pub played: Vec<Played>,
}

/// Where one rank's time went. Computation, copies, exposed communication and idle time make the makespan, to the nanosecond.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankUse {
    /// Dense work and attention.
    pub computation: Span,
    /// Packing and unpacking.
    pub copies: Span,
    /// In exchanges while nothing was computed or copied.
    pub exposed: Span,
    /// Neither.
    pub idle: Span,
    /// In exchanges at all.
    pub exchanges: Span,
    /// Of that, before all it talks to had come.
    pub waiting: Span,
    /// The most its exchange buffers held at any moment.
    pub buffer_bytes: u64,
}

impl Outcome {
    pub(super) fn of(step: &Step, played: Vec<Played>) -> Self {
        let makespan = played.iter().flat_map(|one| &one.end).copied().max().unwrap_or_default();
        let ranks = (0..step.stages).flat_map(|stage| (0..step.ranks()).map(move |rank| (stage, rank)));
        let ranks = ranks.map(|(stage, rank)| rank_use(step, &played, stage, rank, makespan)).collect();
        Self { makespan, ranks, played }
    }

    /// Idle time and exposed communication of all ranks, over all their time: the share in which nothing was computed.
    #[must_use]
    pub fn idle_share(&self) -> f64 {
        let all = self.makespan.as_nanos() as f64 * self.ranks.len() as f64;
        let lost: f64 = self.ranks.iter().map(|rank| (rank.idle + rank.exposed).as_nanos() as f64).sum();
        if all > 0.0 { lost / all } else { 0.0 }
    }

    /// The most that the buffers of any rank held.
    #[must_use]
    pub fn buffer_bytes(&self) -> u64 {
        self.ranks.iter().map(|rank| rank.buffer_bytes).max().unwrap_or(0)
    }
}

fn rank_use(step: &Step, played: &[Played], stage: u32, rank: usize, makespan: Span) -> RankUse {
    let mut sum = RankUse::default();
    let mut busy: Vec<(Span, Span)> = Vec::new();
    let mut exchanging: Vec<(Span, Span)> = Vec::new();
    for one in played.iter().filter(|one| one.label.stage == stage) {
        let (start, end) = (one.start[rank], one.end[rank]);
        if one.label.what.is_exchange() {
            exchanging.push((start, end));
            sum.waiting = sum.waiting + (one.met[rank] - start);
            continue;
        }
        busy.push((start, end));
        let part = if one.label.what.is_copy() { &mut sum.copies } else { &mut sum.computation };
        *part = *part + (end - start);
    }
    // Operations are listed as they were issued, which in time differs only where passes of a pipeline alternate.
    busy.sort_unstable();
    exchanging.sort_unstable();
    sum.exchanges = exchanging.iter().fold(Span::ZERO, |sum, (start, end)| sum + (*end - *start));
    sum.exposed = sum.exchanges - common(&busy, &exchanging);
    sum.idle = makespan - sum.computation - sum.copies - sum.exposed;
    sum.buffer_bytes = high_water(step, played, stage, rank);
    sum
}

/// How long both lists are in one of their intervals. Each list is in order and does not overlap itself, being one queue's.
fn common(a: &[(Span, Span)], b: &[(Span, Span)]) -> Span {
    let (mut at, mut sum) = (0, Span::ZERO);
    for &(start, end) in b {
        while a.get(at).is_some_and(|interval| interval.1 <= start) {
            at += 1;
        }
        for interval in a[at..].iter().take_while(|interval| interval.0 < end) {
            sum = sum + (interval.1.min(end) - interval.0.max(start)).max(Span::ZERO);
        }
    }
    sum
}

/// A send buffer is held from the start of packing to the end of its exchange, a receive buffer from when the exchange is posted
/// until it is unpacked.
fn high_water(step: &Step, played: &[Played], stage: u32, rank: usize) -> u64 {
    // What is freed at a moment may be used at that moment, but not by what frees it in that very moment.
    const FREED: u8 = 0;
    const TAKEN: u8 = 1;
    const FREED_AT_ONCE: u8 = 2;
    let mut changes: Vec<(Span, u8, i128)> = Vec::new();
    for one in played.iter().filter(|one| one.label.stage == stage) {
        let Some(transfer) = step.work(&one.label).and_then(|work| one.label.what.transfer(work)) else { continue };
        let (start, end) = (one.start[rank], one.end[rank]);
        let send = i128::from(transfer.send_buffer_bytes[rank]);
        let receive = i128::from(transfer.receive_buffer_bytes[rank]);
        let freed = if start < end { FREED } else { FREED_AT_ONCE };
        match one.label.what {
            What::PackThere | What::PackBack => changes.push((start, TAKEN, send)),
            What::ExchangeThere | What::ExchangeBack => changes.extend([(start, TAKEN, receive), (end, freed, -send)]),
            _ => changes.push((end, freed, -receive)),
        }
    }
    changes.sort_unstable();
    let (mut held, mut most) = (0_i128, 0_i128);
    for (_, _, change) in changes {
        held += change;
        most = most.max(held);
    }
    u64::try_from(most).unwrap_or(u64::MAX)
}
