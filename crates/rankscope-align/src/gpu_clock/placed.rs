//! When the GPU worked on operations, on the host's clock.
//!
//! A stamp of the GPU is when it shows so much, and what it shows is the host's time and the difference of the clocks then. The line of a
//! stretch bounds that difference at every instant of it, so the stamp lies between two instants of the host: where the clock can at the
//! earliest have shown it, and where at the latest. Beyond that a kernel starts after it was launched and has stopped when the host sees
//! so. The interval is the result; the instant in it is where the line has the stamp.
//!
//! A wrong place is worse than none. What is refused: operations without a launch, as nothing says that the times are theirs; stretches in
//! which anything looks odd or is contradicted, and the one before a contradiction; and what lies beyond its stretch.

use rankscope_clock::fit::{Estimator, FitOptions};
use rankscope_clock::{EdgeFit, HostInstant};
use rankscope_trace::SpanId;

use super::told::Told;
use super::windows::{BEFORE_NS, Line};

/// What the GPU did for one operation, on the trace's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuSpan {
    /// The operation.
    pub span: SpanId,
    /// When its first channel started.
    pub start: GpuInstant,
    /// When its last channel stopped.
    pub stop: GpuInstant,
}

impl GpuSpan {
    /// How far either end can be from where it is placed.
    pub fn error_ns(&self) -> i64 {
        self.start.error_ns().max(self.stop.error_ns())
    }
}

/// A stamp of the GPU's clock on the trace's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GpuInstant {
    /// Where it is placed.
    pub at_ns: i64,
    /// The earliest that it can have been.
    pub lo_ns: i64,
    /// The latest.
    pub hi_ns: i64,
}

impl GpuInstant {
    /// How far it can be from where it is placed.
    pub fn error_ns(&self) -> i64 {
        self.at_ns.saturating_sub(self.lo_ns).max(self.hi_ns.saturating_sub(self.at_ns))
    }
}

/// How many operations have a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GpuPlaced {
    /// Those that do.
    pub placed: u64,
    /// Those that do not, by the place of the reason in [`NotPlaced::ALL`].
    pub not_placed: [u64; NotPlaced::ALL.len()],
    /// The greatest error of one that does.
    pub error_max_ns: i64,
}

/// Why an operation has no place on the host's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotPlaced {
    /// Its times are not used.
    Unusable,
    /// There is no line where it lies.
    NoLine,
    /// Something is odd about the times of its stretch, or of the next: the line holds on a condition, or not at all.
    Odd,
    /// No launch of it was told, so that its times may be another operation's.
    Unlaunched,
    /// Its rank recorded several files, whose clocks begin anew.
    SeveralFiles,
}

impl NotPlaced {
    /// Every reason.
    pub const ALL: [Self; 5] = [Self::Unusable, Self::NoLine, Self::Odd, Self::Unlaunched, Self::SeveralFiles];
}

impl GpuPlaced {
    /// How many operations have no place for this reason.
    pub fn not_placed(&self, reason: NotPlaced) -> u64 {
        self.not_placed[reason as usize]
    }

    /// All operations.
    pub fn operations(&self) -> u64 {
        self.not_placed.iter().fold(self.placed, |sum, count| sum.saturating_add(*count))
    }

    /// Those of two files of one rank, which are put together without their GPU's times.
    pub(super) fn of_several_files(self, later: Self) -> Self {
        let mut none = Self::default();
        none.not_placed[NotPlaced::SeveralFiles as usize] = self.operations().saturating_add(later.operations());
        none
    }

    fn refuse(&mut self, reason: NotPlaced, operations: u64) {
        self.not_placed[reason as usize] += operations;
    }
}

/// Places what `lines` were drawn through, of so many `usable` of all `operations`.
pub(super) fn place(lines: &[Line], usable: u64, operations: u64) -> (Vec<GpuSpan>, GpuPlaced) {
    let (mut spans, mut placed) = (Vec::new(), GpuPlaced::default());
    for line in lines {
        for one in &line.told {
            match of(line, one) {
                Ok(span) => {
                    placed.placed += 1;
                    placed.error_max_ns = placed.error_max_ns.max(span.error_ns());
                    spans.push(span);
                }
                Err(reason) => placed.refuse(reason, 1),
            }
        }
    }
    // Operations come to no line where their stretch has none, or where a contradiction took them out.
    let drawn_through: u64 = lines.iter().map(|line| line.told.len() as u64).sum();
    placed.refuse(NotPlaced::Unusable, operations.saturating_sub(usable));
    placed.refuse(NotPlaced::NoLine, usable.saturating_sub(drawn_through));
    spans.sort_unstable_by_key(|span| span.span);
    (spans, placed)
}

fn of(line: &Line, one: &Told) -> Result<GpuSpan, NotPlaced> {
    if !line.is_sure {
        return Err(NotPlaced::Odd);
    }
    let launched_ns = one.launched_ns.ok_or(NotPlaced::Unlaunched)?;
    let within = (launched_ns.saturating_sub(line.loosened_ns), one.seen_ns.saturating_add(line.loosened_ns));
    let begins_ns = line.fit.start.nanos_since_epoch().saturating_sub(BEFORE_NS);
    let [start, stop] = [one.start_ns, one.stop_ns].map(|ns| instant(line, ns, within));
    match (start, stop) {
        (Some(start), Some(_)) if start.lo_ns < begins_ns => Err(NotPlaced::NoLine),
        (Some(start), Some(stop)) => Ok(GpuSpan { span: one.span, start, stop }),
        _ => Err(NotPlaced::Odd),
    }
}

/// Where the GPU's clock showed `gpu_ns`, which was `within` these; nowhere where the line and those contradict each other.
fn instant(line: &Line, gpu_ns: i64, within: (i64, i64)) -> Option<GpuInstant> {
    let change = FitOptions::usual(Estimator::Band).skew_change_ppb_per_s;
    let fit = &line.fit;
    let early = |at: HostInstant| fit.bound_at(at, change).hi.as_nanos();
    let late = |at: HostInstant| fit.bound_at(at, change).lo.as_nanos();
    let from_ns = solved(fit, gpu_ns.saturating_sub(line.loosened_ns), early).saturating_sub(SOLVED_NS);
    let until_ns = solved(fit, gpu_ns.saturating_add(line.loosened_ns), late).saturating_add(SOLVED_NS);
    // Both readings of the host, by which its clock was told and by which it is shown, may be off.
    let (lo_ns, hi_ns) =
        (from_ns.saturating_sub(line.loosened_ns).max(within.0), until_ns.saturating_add(line.loosened_ns).min(within.1));
    let at_ns = solved(fit, gpu_ns, |at| fit.offset_at(at).as_nanos());
    (lo_ns <= hi_ns).then(|| GpuInstant { at_ns: at_ns.clamp(lo_ns, hi_ns), lo_ns, hi_ns })
}

/// The instant of the host at which a clock shows `gpu_ns` that is `ahead_ns` of it then. Clocks that differ by a thousandth in rate come
/// a thousand times closer in each round.
fn solved(fit: &EdgeFit, gpu_ns: i64, ahead_ns: impl Fn(HostInstant) -> i64) -> i64 {
    let mut at = fit.mid;
    for _ in 0..ROUNDS {
        at = HostInstant::from_nanos_since_epoch(gpu_ns.saturating_sub(ahead_ns(at)));
    }
    at.nanos_since_epoch()
}

/// From a year away to a nanosecond.
const ROUNDS: usize = 6;
/// What rounding and the last round leave open.
const SOLVED_NS: i64 = 2;
