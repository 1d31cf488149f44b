//! How far a verdict about ranks can be trusted, given how their clocks are known.
//!
//! Every face of the answer (the report, `align --from-traces`) asks here, so that all are as sure as each other.

use rankscope_align::{Method, RankMap};
use rankscope_analyze::{Because, Confidence, Ranking, Side, Verdict};

use crate::Job;

/// Arrivals looked at to find out whether other clocks would change a verdict; beyond, it is not said to be sure.
const ARRIVALS_MAX: usize = 20_000_000;

impl Job {
    /// What the clocks of two ranks leave open between them, in nanoseconds; `i64::MAX` where nothing bounds them.
    pub(crate) fn open_between_ranks_ns(&self) -> i64 {
        let widest = || self.clocks.ranks.iter().filter_map(|rank| rank.bound.width_ns()).max();
        match self.clocks.method {
            Method::Measured => widest().unwrap_or(i64::MAX),
            Method::OneHost => widest().unwrap_or(0),
            Method::FromTraces | Method::Mixed | Method::AsRecorded => self.clocks.estimate.agreement_ns.unwrap_or(i64::MAX),
        }
    }

    /// How far apart two events of different ranks must be for their order to be certain, for whatever rests on who was first alone:
    /// clocks that were estimated from the collectives themselves tell nothing about that.
    pub(crate) fn guaranteed_between_ranks_ns(&self) -> i64 {
        let is_known = matches!(self.clocks.method, Method::Measured | Method::OneHost) || self.on_one_known_host();
        if is_known { self.open_between_ranks_ns() } else { i64::MAX }
    }

    /// Whether no offsets of the clocks that are relied upon would let causes come before what they caused.
    pub(crate) fn clocks_contradict(&self) -> bool {
        let is_measured = matches!(self.clocks.method, Method::Measured | Method::OneHost);
        self.clocks.estimate.bounds.contradiction().is_some() && !is_measured
    }

    /// Lowers the confidence of `verdict` where clocks at an end of their bounds would name another rank or none. `recorded_ns` is
    /// the time it was judged over.
    pub(crate) fn weigh(&self, verdict: &mut Verdict, recorded_ns: i64) {
        let by_arrival = |because: Because| matches!(because, Because::CameLast { .. });
        let Some(late) = verdict.late.iter().find(|late| by_arrival(late.because)).map(|late| late.rank) else { return };
        let most = match self.hangs_on_clocks(late, recorded_ns) {
            Some(false) => return,
            Some(true) => Confidence::Low,
            None => Confidence::Medium,
        };
        for late in verdict.late.iter_mut().filter(|late| by_arrival(late.because)) {
            late.confidence = late.confidence.min(most);
        }
    }

    /// Whether other clocks that are possible would not name the rank at index `late`; none where that was too much to find out.
    fn hangs_on_clocks(&self, late: usize, recorded_ns: i64) -> Option<bool> {
        if matches!(self.clocks.method, Method::Measured | Method::OneHost) || self.on_one_known_host() {
            return Some(false);
        }
        let estimate = &self.clocks.estimate;
        let ends = estimate.interval_ends();
        let members: usize = self.matched.instances.iter().map(|instance| instance.members.len()).sum();
        if members.saturating_mul(ends.len()) > ARRIVALS_MAX {
            return None;
        }
        let changes = ends.iter().any(|end| {
            let maps: Vec<RankMap> = end.clocks.iter().map(|clock| clock.map(estimate.at_ns)).collect();
            let maps: Vec<&RankMap> = maps.iter().collect();
            Ranking::of(&self.collectives, &self.matched, &maps, recorded_ns, self.side()).late != Some(late)
        });
        Some(changes)
    }

    /// Where the collectives were seen.
    pub(crate) fn side(&self) -> Side {
        if self.ranks.iter().any(|rank| rank.about.has_device_work) { Side::Device } else { Side::Host }
    }

    fn on_one_known_host(&self) -> bool {
        let mut hosts = self.ranks.iter().map(|rank| rank.about.host.as_deref());
        let first = hosts.next().flatten();
        first.is_some() && hosts.all(|host| host == first)
    }
}
