//! How a GPU's clock stands to its host's, from the times at which the GPU worked on operations.
//!
//! A kernel starts after it was launched and stops before the host learns of it. Of `GPU - host`, the start is an upper bound where the
//! host launched, the stop a lower one where the host learned: two clouds, as packets between two hosts make them, and the same band goes
//! between them (rankscope-clock). What the band guarantees rests on three things that stamps themselves do not say, so each bound is
//! loosened before: the GPU's clock shows the same number for a while (`grain`), the host's readings have a width, and clocks change
//! their rate as slowly as [`FitOptions`](rankscope_clock::fit::FitOptions) says.
//!
//! The stamps may be another operation's. One that contradicts itself (`told`) or the others (`conflicts`) ends the use of its whole
//! communicator from there on, as what follows it may be wrong by an amount that contradicts nothing. What is refused: a line out of bounds from one
//! side, and one through stamps that leave no line; where a communicator's stamps are another operation's from the first on, and evenly,
//! nothing here can tell.
//!
//! By such a line the times of operations are placed on the host's clock ([`placed`]), and so come to lie on a timeline ([`events`]).

mod conflicts;
mod events;
mod grain;
mod placed;
mod proof;
#[cfg(test)]
mod tests;
mod told;
mod windows;

pub use events::{GpuEvent, GpuEvents};
pub use placed::{GpuInstant, GpuPlaced, GpuSpan, NotPlaced};
use rankscope_trace::Trace;

/// What the times of a rank's GPU say of its clock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GpuClock {
    /// Operations whose times were told.
    pub operations: u64,
    /// Those without a launch, which bound from one side only.
    pub unlaunched: u64,
    /// Those that were not used, by the place of the reason in [`Unusable::ALL`].
    pub unusable: [u64; Unusable::ALL.len()],
    /// How long the GPU's clock shows the same number, at most.
    pub step_ns: i64,
    /// Stretches of time with a line, in order.
    pub windows: Vec<GpuClockWindow>,
    /// Stretches without one, by the place of the reason in [`NoLine::ALL`].
    pub lineless: [u64; NoLine::ALL.len()],
    /// What of the operations has a place on the trace's clock; none where that was not asked.
    pub placed: Option<GpuPlaced>,
}

/// The GPU's clock against the trace's over one stretch of time. Instants are the trace's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuClockWindow {
    /// The first stamp.
    pub start_ns: i64,
    /// The last.
    pub end_ns: i64,
    /// The middle, where the offset holds.
    pub at_ns: i64,
    /// `GPU - host` there, as estimated.
    pub offset_ns: i64,
    /// Least that it can be.
    pub lo_ns: i64,
    /// Greatest that it can be.
    pub hi_ns: i64,
    /// What the GPU's clock gains on the host's.
    pub drift_ppb: i64,
    /// Least that it can gain.
    pub drift_lo_ppb: i64,
    /// Greatest that it can gain.
    pub drift_hi_ppb: i64,
    /// Bounds from above: kernels with a launch.
    pub above: u32,
    /// Bounds from below: kernels whose end was seen.
    pub below: u32,
    /// The interval is a proof; it is none where some stamps contradict others by a little, and which of them are wrong is a guess.
    pub proven: bool,
}

impl GpuClockWindow {
    /// How much the interval leaves open.
    pub fn width_ns(&self) -> i64 {
        self.hi_ns.saturating_sub(self.lo_ns)
    }
}

/// Why times of an operation say nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable {
    /// One of them is zero: it was not told.
    Untold,
    /// They are too far from any clock's.
    OutOfRange,
    /// The GPU, or the host, stopped before it started.
    Backwards,
    /// The GPU worked for longer than the host can have waited.
    TooLong,
    /// They lie outside of what other operations leave possible.
    Contradicts,
    /// An earlier operation of the communicator contradicted itself or others.
    AfterContradiction,
}

impl Unusable {
    /// Every reason.
    pub const ALL: [Self; 6] =
        [Self::Untold, Self::OutOfRange, Self::Backwards, Self::TooLong, Self::Contradicts, Self::AfterContradiction];
}

/// Why a stretch of time has no line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoLine {
    /// Too few operations.
    TooFew,
    /// All bounds are from one side.
    OneSided,
    /// No line fits, or none that goes on where the one before ended.
    Contradiction,
}

impl NoLine {
    /// Every reason.
    pub const ALL: [Self; 3] = [Self::TooFew, Self::OneSided, Self::Contradiction];
}

impl GpuClock {
    /// That of the GPU in `trace`; none where its times were not told. Stamps of the host are as the trace has them.
    pub fn of(trace: &Trace) -> Option<Self> {
        Self::with_spans(trace).map(|(clock, _)| clock)
    }

    /// The same with what the GPU did, as far as it has a place on the trace's clock, in order of the operations.
    pub fn with_spans(trace: &Trace) -> Option<(Self, Vec<GpuSpan>)> {
        if trace.gpu_times.is_empty() {
            return None;
        }
        let mut clock = Self { step_ns: grain::step_ns(trace), ..Self::default() };
        let usable = told::usable(trace, &mut clock);
        let lines = windows::place(&usable, &grain::Readings::of(trace), &mut clock);
        let (spans, placed) = placed::place(&lines, usable.told.len() as u64, clock.operations);
        clock.placed = Some(placed);
        Some((clock, spans))
    }

    /// How many operations were not used for this reason.
    pub fn unusable(&self, reason: Unusable) -> u64 {
        self.unusable[reason as usize]
    }

    /// How many stretches have no line for this reason.
    pub fn lineless(&self, reason: NoLine) -> u64 {
        self.lineless[reason as usize]
    }

    /// Adds what a later trace of the same rank says.
    pub fn join(&mut self, later: Self) {
        let add = |own: &mut u64, later: u64| *own = own.saturating_add(later);
        add(&mut self.operations, later.operations);
        add(&mut self.unlaunched, later.unlaunched);
        self.unusable.iter_mut().zip(later.unusable).for_each(|(own, later)| add(own, later));
        self.lineless.iter_mut().zip(later.lineless).for_each(|(own, later)| add(own, later));
        self.step_ns = self.step_ns.max(later.step_ns);
        self.windows.extend(later.windows);
        self.placed = self.placed.zip(later.placed).map(|(own, later)| own.of_several_files(later));
    }

    /// The stretch that says most: the narrowest of those that are a proof, else of all.
    pub fn best(&self) -> Option<&GpuClockWindow> {
        self.windows.iter().min_by_key(|window| (!window.proven, window.width_ns()))
    }

    fn refuse(&mut self, reason: Unusable) {
        self.unusable[reason as usize] += 1;
    }
}
