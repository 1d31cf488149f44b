//! Phases that the program marks: counts of those that are open, which no thread waits to change.
//!
//! Which one the process is in follows from the counts: of several that are open, that which allows most. So phases may lie
//! in one another, end in any order and on any thread, and what could not be told for once is told by whatever is told next.

use std::sync::atomic::{AtomicU32, Ordering};

use rankscope_recording::{PageMark, PagePhase};

/// How many of each are open, by their numbers.
static OPEN: [AtomicU32; PagePhase::ALL.len()] = [const { AtomicU32::new(0) }; PagePhase::ALL.len()];

/// This process is in a phase until this is dropped.
#[must_use = "the phase is over when this is dropped: give it a name like `_saving`"]
#[derive(Debug)]
pub struct InPhase(PagePhase);

impl InPhase {
    pub(super) fn begin(phase: PagePhase) -> Self {
        enter_phase(phase);
        Self(phase)
    }
}

impl Drop for InPhase {
    fn drop(&mut self) {
        leave_phase(self.0);
    }
}

/// As [`phase`](super::phase), for who cannot keep what that returns: until [`leave_phase`].
pub fn enter_phase(phase: PagePhase) {
    OPEN[phase as usize].fetch_add(1, Ordering::Relaxed);
    super::phase_changed();
}

/// This process leaves a phase once. Returns whether it was in one of that kind.
pub fn leave_phase(phase: PagePhase) -> bool {
    let was_open = OPEN[phase as usize].fetch_update(Ordering::Relaxed, Ordering::Relaxed, |open| open.checked_sub(1)).is_ok();
    super::phase_changed();
    was_open
}

/// The one that the process is in.
fn current() -> PagePhase {
    let is_open = |phase: &PagePhase| OPEN[*phase as usize].load(Ordering::Relaxed) > 0;
    PagePhase::ALL.into_iter().rev().find(is_open).unwrap_or_default()
}

/// The mark of a page, and what was learned of phases that are over.
#[derive(Debug, Default)]
pub(super) struct Marks {
    mark: PageMark,
    /// By their numbers: how many are over, and the longest.
    over: [(u64, i64); PagePhase::ALL.len()],
}

impl Marks {
    /// The mark at `now_ns`.
    pub(super) fn at(&mut self, now_ns: i64) -> PageMark {
        self.moved(current(), now_ns)
    }

    fn moved(&mut self, phase: PagePhase, now_ns: i64) -> PageMark {
        if phase != self.mark.phase {
            let (count, longest_ns) = &mut self.over[self.mark.phase as usize];
            *count += 1;
            *longest_ns = (*longest_ns).max(now_ns.saturating_sub(self.mark.began_ns));
            let (before, longest_ns) = self.over[phase as usize];
            self.mark = match phase {
                PagePhase::Unmarked => PageMark::default(),
                phase => PageMark { phase, began_ns: now_ns, before, longest_ns },
            };
        }
        self.mark
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_says_when_it_began_and_what_those_of_its_kind_took() {
        use PagePhase::{Checkpoint, Evaluation, Unmarked};
        let mut marks = Marks::default();
        let mark = |phase, began_ns, before, longest_ns| PageMark { phase, began_ns, before, longest_ns };
        assert_eq!(marks.moved(Checkpoint, 100), mark(Checkpoint, 100, 0, 0));
        assert_eq!(marks.moved(Checkpoint, 150), mark(Checkpoint, 100, 0, 0));
        assert_eq!(marks.moved(Unmarked, 160), PageMark::default());
        assert_eq!(marks.moved(Evaluation, 200), mark(Evaluation, 200, 0, 0));
        assert_eq!(marks.moved(Checkpoint, 210), mark(Checkpoint, 210, 1, 60));
        assert_eq!(marks.moved(Unmarked, 220), PageMark::default());
        assert_eq!(marks.moved(Checkpoint, 300), mark(Checkpoint, 300, 2, 60));
    }
}
