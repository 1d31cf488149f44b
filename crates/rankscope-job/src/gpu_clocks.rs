//! The clocks of GPUs for the document: what each rank's part says, and of a large job not all of it.

use rankscope_align::{GpuClock, GpuClockWindow, GpuPlaced, NoLine, NotPlaced, Unusable};
use rankscope_document::{GpuClockCount, GpuClockUnknown, GpuNotPlaced, GpuNotPlacedCount, GpuTimesCount, GpuTimesUnusable};

use crate::JobRank;

/// Windows listed, of all ranks together.
const LISTED_MAX: usize = 10_000;

/// Those of `ranks` whose GPUs' times were told.
pub(crate) fn gpu_clocks(ranks: &[JobRank]) -> Vec<rankscope_document::GpuClock> {
    let mut left = LISTED_MAX;
    let of_rank = |rank: &JobRank| {
        let clock = rank.about.gpu_clock.as_ref()?;
        let listed = clock.windows.len().min(left);
        left -= listed;
        Some(told(rank.rank.0, clock, listed))
    };
    ranks.iter().filter_map(of_rank).collect()
}

/// Ranks whose times contradict each other, and how many operations of theirs are left out for that.
pub(crate) fn contradicted(ranks: &[JobRank]) -> Vec<(rankscope_time::Rank, u64)> {
    let because = [Unusable::Backwards, Unusable::TooLong, Unusable::Contradicts, Unusable::AfterContradiction];
    let of_rank = |rank: &JobRank| {
        let clock = rank.about.gpu_clock.as_ref()?;
        let left_out = because.iter().fold(0_u64, |sum, reason| sum.saturating_add(clock.unusable(*reason)));
        (left_out > 0).then_some((rank.rank, left_out))
    };
    ranks.iter().filter_map(of_rank).collect()
}

fn told(rank: u32, clock: &GpuClock, listed: usize) -> rankscope_document::GpuClock {
    let unusable = Unusable::ALL.map(|reason| GpuTimesCount { reason: unusable(reason), count: clock.unusable(reason) });
    let lineless = NoLine::ALL.map(|reason| GpuClockCount { reason: unknown(reason), count: clock.lineless(reason) });
    rankscope_document::GpuClock {
        rank,
        operations: clock.operations,
        unlaunched: clock.unlaunched,
        unusable: unusable.into_iter().filter(|one| one.count > 0).collect(),
        step_ns: clock.step_ns,
        windows: clock.windows.len() as u64,
        unproven: clock.windows.iter().filter(|window| !window.proven).count() as u64,
        lineless: lineless.into_iter().filter(|one| one.count > 0).collect(),
        narrowest: clock.best().map(window),
        placed: clock.placed.map(|placed| placed.placed),
        placed_error_ns_max: clock.placed.filter(|placed| placed.placed > 0).map(|placed| placed.error_max_ns),
        not_placed: clock.placed.as_ref().map(not_placed).unwrap_or_default(),
        width_ns_max: clock.windows.iter().map(GpuClockWindow::width_ns).max(),
        lines: clock.windows[..listed].iter().map(window).collect(),
    }
}

fn not_placed(placed: &GpuPlaced) -> Vec<GpuNotPlacedCount> {
    let of = |reason| GpuNotPlacedCount { reason: why_not_placed(reason), count: placed.not_placed(reason) };
    NotPlaced::ALL.map(of).into_iter().filter(|one| one.count > 0).collect()
}

fn window(window: &GpuClockWindow) -> rankscope_document::GpuClockWindow {
    rankscope_document::GpuClockWindow {
        window_ns: [window.start_ns, window.end_ns],
        at_ns: window.at_ns,
        offset_ns: window.offset_ns,
        lo_ns: window.lo_ns,
        hi_ns: window.hi_ns,
        drift_ppb: window.drift_ppb,
        drift_lo_ppb: window.drift_lo_ppb,
        drift_hi_ppb: window.drift_hi_ppb,
        above: window.above,
        below: window.below,
        proven: window.proven,
    }
}

fn unusable(reason: Unusable) -> GpuTimesUnusable {
    match reason {
        Unusable::Untold => GpuTimesUnusable::Untold,
        Unusable::OutOfRange => GpuTimesUnusable::OutOfRange,
        Unusable::Backwards => GpuTimesUnusable::Backwards,
        Unusable::TooLong => GpuTimesUnusable::TooLong,
        Unusable::Contradicts => GpuTimesUnusable::Contradicts,
        Unusable::AfterContradiction => GpuTimesUnusable::AfterContradiction,
    }
}

fn why_not_placed(reason: NotPlaced) -> GpuNotPlaced {
    match reason {
        NotPlaced::Unusable => GpuNotPlaced::Unusable,
        NotPlaced::NoLine => GpuNotPlaced::NoLine,
        NotPlaced::Odd => GpuNotPlaced::Odd,
        NotPlaced::Unlaunched => GpuNotPlaced::Unlaunched,
        NotPlaced::SeveralFiles => GpuNotPlaced::SeveralFiles,
    }
}

fn unknown(reason: NoLine) -> GpuClockUnknown {
    match reason {
        NoLine::TooFew => GpuClockUnknown::TooFew,
        NoLine::OneSided => GpuClockUnknown::OneSided,
        NoLine::Contradiction => GpuClockUnknown::Contradiction,
    }
}
