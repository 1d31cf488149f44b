//! Who made the job wait, decided by evidence.
//!
//! A rank is late to a collective by its lead over the last of the others: that is what its own lateness cost. What overlaps is
//! counted once, so a delay is wall time and never more than what was recorded. A rank is named only if its delay is a real part
//! of that time, is at least twice anybody else's, recurs from round to round beyond chance, and is more than the clocks leave
//! open. Everybody else is innocent until then; the reason why nobody is named is part of the answer.
//!
//! Only operations in which everybody waits for the last are judged. Of pipelines, whose ranks wait for messages, the busiest
//! stage is looked for instead.

mod delays;
mod evidence;
mod pipeline;
mod rounds;
mod verdict;

use crate::Side;
use crate::arrivals::{Arrival, Waiting};
use delays::{Delays, Judged};
use evidence::{Evidence, Others};
use rounds::Rounds;

pub(crate) use pipeline::Stages;
pub use verdict::{Because, Confidence, Late, Unnamed, Verdict};

/// What the ranks did, as far as a verdict needs it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scene<'a> {
    /// All matched collectives, in order of time.
    pub(crate) arrivals: &'a [&'a Arrival],
    /// Collectives that are not matched.
    pub(crate) unmatched: u64,
    /// Ranks there are.
    pub(crate) ranks: usize,
    /// Length of what was recorded, in nanoseconds.
    pub(crate) recorded_ns: i64,
    /// What the clocks leave open between two ranks; `i64::MAX` where nothing bounds them.
    pub(crate) open_ns: i64,
    /// Where the collectives were seen.
    pub(crate) side: Side,
}

/// What ranks that are alike are late by anyway, in nanoseconds a step. A thread of the host waits for a processor, and of two
/// processes one is woken first, every time; a device starts its next kernel when the last has ended.
fn grain_ns(side: Side) -> i64 {
    match side {
        Side::Host => 1_000_000,
        Side::Device => 10_000,
    }
}

/// A delay below this share of what was recorded is nobody's headline. Ranks that are alike differ by less on devices.
fn share_min(side: Side) -> f64 {
    match side {
        Side::Host => 0.03,
        Side::Device => 0.01,
    }
}

/// Times the delay of the one who is named has that of the next.
const LEAD_MIN: f64 = 2.0;

/// Late ranks that may hide each other, at most.
const TOGETHER_MAX: usize = 8;

/// Judges the collectives of `scene`.
pub(crate) fn judge(scene: &Scene<'_>) -> Verdict {
    let all_wait = |arrival: &&&Arrival| arrival.waiting == Waiting::ForTheLast;
    let judged: Vec<Judged<'_>> = scene.arrivals.iter().filter(all_wait).filter_map(|arrival| Judged::of(arrival)).collect();
    let rounds = Rounds::of(&judged);
    let verdict = Verdict {
        judged: judged.len() as u64,
        not_judged: scene.unmatched + (scene.arrivals.len() - judged.len()) as u64,
        rounds: rounds.count,
        ..Verdict::default()
    };
    if judged.is_empty() {
        return Verdict { unnamed: Some(Unnamed::NothingToJudge), ..verdict };
    }
    let court = Court { judged: &judged, rounds: &rounds, scene };
    let late = court.late(scene.open_ns);
    if !late.is_empty() {
        return Verdict { late, ..verdict };
    }
    Verdict { unnamed: Some(court.why_nobody()), ..verdict }
}

struct Court<'a> {
    judged: &'a [Judged<'a>],
    rounds: &'a Rounds,
    scene: &'a Scene<'a>,
}

impl Court<'_> {
    /// The late ranks, if the clocks leave `open_ns` open: one after the other, or several that hide each other.
    fn late(&self, open_ns: i64) -> Vec<Late> {
        let mut late: Vec<usize> = Vec::new();
        let mut sure: Vec<Confidence> = Vec::new();
        while late.len() * 2 + 2 < self.scene.ranks.max(3) {
            let Some((rank, found)) = self.next(&late, open_ns) else { break };
            late.push(rank);
            sure.push(found);
        }
        if late.is_empty() {
            (late, sure) = self.together(open_ns).into_iter().unzip();
        }
        let mut named: Vec<Late> = late.iter().zip(sure).map(|(rank, sure)| self.named(*rank, &late, open_ns, sure)).collect();
        named.sort_by_key(|late| std::cmp::Reverse(late.delay_wall_ns));
        named
    }

    /// One more late rank beside those known to be.
    fn next(&self, known: &[usize], open_ns: i64) -> Option<(usize, Confidence)> {
        let delays = Delays::of(self.judged, self.rounds, known, open_ns, self.scene.ranks);
        let rank = delays.largest(known)?;
        let mut with = known.to_vec();
        with.push(rank);
        let own = Delays::of_set(self.judged, self.rounds, &with, rank, open_ns);
        let others = delays.of_others(&with, self.rounds.count);
        Some((rank, self.convicted(&own, &others)?))
    }

    /// Several ranks that are late together: each alone has no lead, as another one is late as well.
    fn together(&self, open_ns: i64) -> Vec<(usize, Confidence)> {
        let order = delays::by_mean_lateness(self.judged, self.scene.ranks);
        let most = TOGETHER_MAX.min(self.scene.ranks.saturating_sub(1) / 2);
        for count in 2..=most {
            let set = &order[..count];
            let delays = Delays::of(self.judged, self.rounds, set, open_ns, self.scene.ranks);
            let others = delays.of_others(set, self.rounds.count);
            // The first to come of them has the least to answer for; if that suffices, so does what the rest did.
            let each = set.iter().map(|rank| {
                let own = Delays::of_set(self.judged, self.rounds, set, *rank, open_ns);
                Some((*rank, self.convicted(&own, &others)?))
            });
            if let Some(found) = each.collect() {
                return found;
            }
        }
        Vec::new()
    }

    /// Whether delays of a rank by round, `own`, beside those of `others`, are enough to name it.
    fn convicted(&self, own: &[i64], others: &Others) -> Option<Confidence> {
        let evidence = Evidence::of(own, others, self.scene.ranks);
        evidence.confidence().filter(|_| self.stands_out(&evidence))
    }

    /// Whether a delay would be a headline if it recurred: a real part of the time, well above anybody else's, and more than what
    /// ranks that are alike are late by.
    fn stands_out(&self, evidence: &Evidence) -> bool {
        let count = self.rounds.count.max(1);
        let (own_ns, kept) = (evidence.own_ns as f64, evidence::kept(count) as f64 / count as f64);
        let anyway_ns = grain_ns(self.scene.side) as f64 * self.rounds.repetitions as f64;
        own_ns >= share_min(self.scene.side) * self.scene.recorded_ns as f64 * kept
            && own_ns >= LEAD_MIN * evidence.others_ns as f64
            && own_ns >= anyway_ns * kept
    }

    fn named(&self, rank: usize, late: &[usize], open_ns: i64, confidence: Confidence) -> Late {
        let own = |open_ns| delays::intervals_of(self.judged, late, rank, open_ns);
        let delay_wall_ns = own(0).length_ns();
        let by_round = Delays::of_set(self.judged, self.rounds, late, rank, 0);
        let sampling_ns = evidence::half_width(&by_round);
        let clocks_ns = open_ns.saturating_mul(own(0).iter().count() as i64);
        let sooner_ns = own(open_ns).length_ns();
        let last = self.judged.iter().filter(|one| one.arrival.order.last() == Some(rank)).count() as u64;
        let of = self.judged.iter().filter(|one| one.arrival.order.iter().any(|(one, _)| one == rank)).count() as u64;
        Late {
            rank,
            delay_wall_ns,
            lo_ns: sooner_ns.saturating_sub(sampling_ns).max(0),
            hi_ns: delay_wall_ns
                .saturating_add(clocks_ns)
                .saturating_add(sampling_ns)
                .min(self.scene.recorded_ns.max(delay_wall_ns)),
            share: delay_wall_ns as f64 / self.scene.recorded_ns.max(1) as f64,
            confidence,
            because: Because::CameLast { last, of },
        }
    }

    fn why_nobody(&self) -> Unnamed {
        if self.scene.open_ns > 0
            && let Some(late) = self.late(0).first()
        {
            let open_ns = Some(self.scene.open_ns).filter(|open| *open < i64::MAX);
            return Unnamed::WithinClocks { rank: late.rank, delay_wall_ns: late.delay_wall_ns, open_ns };
        }
        let delays = Delays::of(self.judged, self.rounds, &[], 0, self.scene.ranks);
        let Some(rank) = delays.largest(&[]) else { return Unnamed::NobodyStandsOut };
        let others = delays.of_others(&[rank], self.rounds.count);
        let own = Delays::of_set(self.judged, self.rounds, &[rank], rank, 0);
        if !self.stands_out(&Evidence::of(&own, &others, self.scene.ranks)) {
            return Unnamed::NobodyStandsOut;
        }
        if self.rounds.count < evidence::ROUNDS_MIN {
            return Unnamed::TooFewRounds { rounds: self.rounds.count };
        }
        let delay_wall_ns = delays::intervals_of(self.judged, &[rank], rank, 0).length_ns();
        let led = own.iter().zip(&others.largest_ns).filter(|(own, others)| own > others).count();
        Unnamed::Irregular { rank, delay_wall_ns, led }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ranks, the second `late_ns` behind at every collective but for a little noise.
    fn arrivals(late_ns: i64) -> Vec<Arrival> {
        let arrival = |at: i64| Arrival {
            row: 0,
            instance: at as u32,
            order: crate::Order::of([(0, late_ns + at % 3 * (late_ns / 50)), (1, 0)].into_iter()),
            start_ns: at * 20_000_000,
            transfer_ns: 100_000,
            end_skew_ns: 0,
            waiting: Waiting::ForTheLast,
            step: Some(at),
        };
        (0..8).map(arrival).collect()
    }

    fn judged(late_ns: i64, open_ns: i64, side: Side) -> Verdict {
        let arrivals = arrivals(late_ns);
        let arrivals: Vec<&Arrival> = arrivals.iter().collect();
        judge(&Scene { arrivals: &arrivals, unmatched: 0, ranks: 2, recorded_ns: 160_000_000, open_ns, side })
    }

    #[test]
    fn what_threads_are_late_by_anyway_names_nobody() {
        assert_eq!(judged(800_000, 0, Side::Host).latest(), None);
        assert_eq!(judged(800_000, 0, Side::Device).latest(), Some(1));
        assert_eq!(judged(8_000_000, 0, Side::Host).latest(), Some(1));
    }

    #[test]
    fn a_delay_is_never_more_than_what_was_recorded() {
        let late = judged(60_000_000, 0, Side::Host).late[0];
        assert!(late.delay_wall_ns <= late.hi_ns && late.lo_ns <= late.delay_wall_ns);
        // Each lead reaches into the next; together they are one stretch.
        assert!(late.delay_wall_ns <= 160_000_000 + 60_000_000, "{late:?}");
    }

    #[test]
    fn a_lead_within_what_the_clocks_leave_open_is_said_to_be_one() {
        let verdict = judged(8_000_000, 9_000_000, Side::Host);
        assert_eq!(verdict.latest(), None);
        assert!(matches!(verdict.unnamed, Some(Unnamed::WithinClocks { rank: 1, open_ns: Some(9_000_000), .. })));
        assert!(matches!(judged(8_000_000, i64::MAX, Side::Host).unnamed, Some(Unnamed::WithinClocks { open_ns: None, .. })));
        let known = judged(8_000_000, 1_000_000, Side::Host).late[0];
        assert!(known.lo_ns < known.delay_wall_ns && known.hi_ns > known.delay_wall_ns);
    }
}
