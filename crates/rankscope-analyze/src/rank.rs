//! One rank by itself, on its own clock.
//!
//! No map, no other rank: durations are what the rank's own clock says, whatever the job's clocks turn out to be. Where its
//! times lie among those of the other ranks is asked in [`crate::analyze`], which moves positions and never lengths.

use rankscope_collectives::RankCollectives;
use rankscope_trace::Trace;

use crate::{
    Accounting, Class, Classes, Copies, ExposedTimes, HotName, Side, StepSource, StepWindow, Work, exposed, hot, steps,
};

/// Everything known about one rank by itself. Times are on its own clock, in nanoseconds since the epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RankReport {
    /// Where its accounted work ran.
    pub side: Side,
    /// Start and end of the accounted work of each export, in order of time. Where nothing worked the end is the start.
    pub recorded_ns: Vec<(i64, i64)>,
    /// Its sets of time.
    pub accounting: Accounting,
    /// Its copies.
    pub copies: Copies,
    /// What told its steps.
    pub step_source: StepSource,
    /// Its steps, in order of their start.
    pub steps: Vec<StepWindow>,
    /// What ran, by name, longest first.
    pub names: Vec<HotName>,
    /// Exposed time of each of its collectives, in their order.
    pub exposed_ns: ExposedTimes,
}

impl RankReport {
    /// Analyses `trace`, whose collectives are `collectives`.
    pub fn of(trace: &Trace, collectives: &RankCollectives, classes: &Classes) -> Self {
        let (side, work) = classes.work(trace);
        let accounting = Accounting::of(&work);
        let (step_source, steps) = steps::windows(trace, side, &work);
        let exposed = exposed::shares(&work, &accounting.exposed_comm());
        let share = |span| exposed.get(&span).copied().unwrap_or(0);
        Self {
            side,
            recorded_ns: vec![accounting.extent_ns()],
            copies: Copies::of(&memory(&work), |piece| trace.bytes.get(piece.span)),
            step_source,
            steps,
            names: hot::names(trace, &work),
            exposed_ns: collectives.collectives.iter().map(|collective| share(collective.span)).collect(),
            accounting,
        }
    }

    /// Adds what a later export of the same rank says; the two overlap nowhere in time. Work on the host counts for nothing in a
    /// rank that shows work on devices.
    pub fn join(&mut self, mut later: Self) {
        match (self.side, later.side) {
            (Side::Device, Side::Host) => later = later.without_work(),
            (Side::Host, Side::Device) => *self = std::mem::take(self).without_work(),
            _ => {}
        }
        self.side = later.side.min(self.side);
        self.recorded_ns.append(&mut later.recorded_ns);
        self.accounting.join(later.accounting);
        self.copies.add(&later.copies);
        self.step_source = if self.steps.is_empty() { later.step_source } else { self.step_source };
        steps::join(&mut self.steps, later.steps);
        hot::join(&mut self.names, later.names);
        self.exposed_ns.extend(later.exposed_ns.iter());
        self.exposed_ns.shrink_to_fit();
    }

    fn without_work(self) -> Self {
        let nothing = |(from, _): (i64, i64)| (from, from);
        let recorded_ns = self.recorded_ns.into_iter().map(nothing).collect();
        let exposed_ns = self.exposed_ns.iter().map(|_| 0).collect();
        Self { side: self.side, recorded_ns, exposed_ns, ..Self::default() }
    }
}

fn memory(work: &[Work]) -> Vec<Work> {
    work.iter().filter(|piece| matches!(piece.class, Class::Memcpy(_) | Class::Memset)).copied().collect()
}
