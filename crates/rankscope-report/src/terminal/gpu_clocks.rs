//! How the GPUs' clocks stand to their hosts', where times of kernels tell, and what of these times was not used.

use std::cmp::Reverse;

use rankscope_document::{Document, GpuClock, GpuClockUnknown, GpuClockWindow, GpuNotPlaced, GpuTimesUnusable};

use super::selection::select;
use super::{Sheet, Table, drawn};
use crate::units::{counted, duration, offset, or_absent};

pub(super) fn draw(document: &Document, sheet: Sheet) -> Vec<String> {
    let gpus = &document.clock.gpus;
    if gpus.is_empty() {
        return Vec::new();
    }
    let mut widest: Vec<&GpuClock> = gpus.iter().collect();
    widest.sort_by_key(|gpu| (gpu.narrowest.is_some(), Reverse(gpu.narrowest.map(|window| window.width_ns())), gpu.rank));
    let selection = select(&widest);
    let mut lines = vec![sheet.heading("GPU CLOCKS", "ahead of the rank's own clock by this much; least known first")];
    let mut table = Table::new(&["rank", "ahead", "guaranteed", "drift ppm", "windows", "without", "operations"], 0);
    selection.worst.iter().chain(selection.best).for_each(|gpu| table.push(cells(gpu)));
    lines.extend(drawn(&table, sheet));
    if selection.hidden > 0 {
        lines.push(sheet.paint().dim(&format!("  … {} between these not shown", counted(selection.hidden, "rank"))));
    }
    lines.extend(sentences(gpus).iter().flat_map(|text| sheet.sentence(text)));
    lines
}

fn cells(gpu: &GpuClock) -> Vec<String> {
    let lineless: u64 = gpu.lineless.iter().map(|one| one.count).fold(0, u64::saturating_add);
    vec![
        gpu.rank.to_string(),
        or_absent(gpu.narrowest, |window| offset(window.offset_ns)),
        or_absent(gpu.narrowest, within),
        or_absent(gpu.narrowest, |window| format!("{:+.3}", window.drift_ppb as f64 / 1e3)),
        gpu.windows.to_string(),
        lineless.to_string(),
        gpu.operations.to_string(),
    ]
}

/// How far the truth can be from the estimate, on the side where that is further.
fn within(window: GpuClockWindow) -> String {
    let (below, above) = (window.offset_ns.saturating_sub(window.lo_ns), window.hi_ns.saturating_sub(window.offset_ns));
    let half = format!("±{}", duration(below.max(above) as f64));
    if window.proven { half } else { format!("({half})") }
}

/// What of the times was not used, and which windows say less than the others.
fn sentences(gpus: &[GpuClock]) -> Vec<String> {
    let mut sentences = Vec::new();
    let unproven: u64 = gpus.iter().map(|gpu| gpu.unproven).fold(0, u64::saturating_add);
    if unproven > 0 {
        sentences
            .push(format!("In {} some times lie oddly beside the others: in brackets, it is no proof.", of_windows(unproven)));
    }
    for (reason, count) in summed(gpus.iter().flat_map(|gpu| &gpu.lineless).map(|one| (&one.reason, one.count))) {
        sentences.push(format!("{} without a line: {}.", of_windows(count), why_no_line(reason)));
    }
    for (reason, count) in summed(gpus.iter().flat_map(|gpu| &gpu.unusable).map(|one| (&one.reason, one.count))) {
        sentences.push(format!("{} not used: {}.", counted(clamped(count), "operation"), why_unusable(reason)));
    }
    sentences.extend(placed(gpus));
    sentences
}

/// What of the operations the timeline shows, where the bounds of the clocks have them.
fn placed(gpus: &[GpuClock]) -> Option<String> {
    let placed = gpus.iter().filter_map(|gpu| gpu.placed).reduce(u64::saturating_add)?;
    let error_ns = gpus.iter().filter_map(|gpu| gpu.placed_error_ns_max).max();
    let error = error_ns.map_or_else(String::new, |ns| format!(", known to within {} or better", duration(ns as f64)));
    let reasons = summed(gpus.iter().flat_map(|gpu| &gpu.not_placed).map(|one| (&one.reason, one.count)));
    let left: Vec<String> = reasons.iter().map(|(reason, count)| format!("{count} {}", why_not_placed(reason))).collect();
    let left = if left.is_empty() { String::new() } else { format!("; not there: {}", left.join(", ")) };
    Some(format!("{} on the timeline, by these clocks{error}{left}.", counted(clamped(placed), "GPU operation")))
}

fn of_windows(count: u64) -> String {
    counted(clamped(count), "window")
}

fn clamped(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Counts by reason, in the order of the reasons.
fn summed<'a, R: Ord>(counts: impl Iterator<Item = (&'a R, u64)>) -> std::collections::BTreeMap<&'a R, u64> {
    let mut sums = std::collections::BTreeMap::new();
    for (reason, count) in counts {
        let sum: &mut u64 = sums.entry(reason).or_default();
        *sum = sum.saturating_add(count);
    }
    sums
}

fn why_no_line(reason: &GpuClockUnknown) -> &str {
    match reason {
        GpuClockUnknown::TooFew => "fewer than ten operations bound the clock from both sides",
        GpuClockUnknown::OneSided => "no launch was told, so nothing bounds the clock from above (NCCL before 2.28, or graphs)",
        GpuClockUnknown::Contradiction => "no clock explains all times, or none that goes on where the window before ended",
        other => other.as_str(),
    }
}

fn why_not_placed(reason: &GpuNotPlaced) -> &str {
    match reason {
        GpuNotPlaced::Unusable => "whose times are not used",
        GpuNotPlaced::NoLine => "without a line",
        GpuNotPlaced::Odd => "among times that look odd",
        GpuNotPlaced::Unlaunched => "without a launch",
        GpuNotPlaced::SeveralFiles => "of ranks with several files",
        other => other.as_str(),
    }
}

fn why_unusable(reason: &GpuTimesUnusable) -> &str {
    match reason {
        GpuTimesUnusable::Untold => "a time of the GPU was not told",
        GpuTimesUnusable::OutOfRange => "times are far from any clock's",
        GpuTimesUnusable::Backwards => "they stopped before they started",
        GpuTimesUnusable::TooLong => "the GPU worked for longer than the host waited",
        GpuTimesUnusable::Contradicts => "their times contradict those of other operations",
        GpuTimesUnusable::AfterContradiction => "their communicator told times before that cannot be",
        other => other.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use rankscope_document::{Clock, GpuClockCount, GpuNotPlacedCount, GpuTimesCount};

    use super::*;
    use crate::Style;

    fn gpu(rank: u32, half_ns: i64) -> GpuClock {
        let window = GpuClockWindow {
            offset_ns: 5_000_000,
            lo_ns: 5_000_000 - half_ns,
            hi_ns: 5_000_000 + half_ns / 2,
            drift_ppb: -1_500,
            proven: rank != 2,
            ..GpuClockWindow::default()
        };
        let unproven = u64::from(!window.proven);
        let not_placed = vec![GpuNotPlacedCount { reason: GpuNotPlaced::Odd, count: 40 }];
        let (placed, placed_error_ns_max) = (Some(600), Some(half_ns + 64));
        GpuClock {
            rank,
            operations: 640,
            windows: 3,
            unproven,
            narrowest: Some(window),
            placed,
            placed_error_ns_max,
            not_placed,
            ..GpuClock::default()
        }
    }

    fn drawn_of(gpus: Vec<GpuClock>) -> String {
        let document = Document { clock: Clock { gpus, ..Clock::default() }, ..Document::default() };
        draw(&document, Sheet::of(Style { color: false, width: 100 })).join("\n")
    }

    #[test]
    fn what_is_least_known_comes_first_and_what_was_left_out_is_said() {
        let unknown = GpuClock {
            rank: 7,
            operations: 20,
            lineless: vec![GpuClockCount { reason: GpuClockUnknown::OneSided, count: 1 }],
            unusable: vec![GpuTimesCount { reason: GpuTimesUnusable::Untold, count: 4 }],
            ..GpuClock::default()
        };
        insta::assert_snapshot!(drawn_of(vec![gpu(0, 7_000), gpu(2, 9_500), unknown]));
    }

    #[test]
    fn who_told_no_times_is_told_nothing() {
        assert_eq!(drawn_of(Vec::new()), "");
    }
}
