//! Spans of one thread or stream nest or follow each other: a viewer draws a track as a stack, and leaves out a span that
//! begins within another and ends after it. Kernels of one stream overlap so in real traces, by nanoseconds of rounding or
//! because the hardware ran two at once.

use std::cmp::Reverse;

use rankscope_trace::{SpanId, Trace};

use super::{Check, Finding, Rule};

/// Start, end (in picoseconds, longest first where starts agree) and the span.
type Extent = (i128, Reverse<i128>, SpanId);

pub(super) fn check(trace: &Trace) -> Check {
    let mut check = Check::of(Rule::Nesting);
    let mut open: Vec<(i128, SpanId)> = Vec::new();
    for mut track in by_track(trace) {
        track.sort_unstable();
        open.clear();
        for (start, Reverse(end), span) in track {
            check.judged += 1;
            while open.pop_if(|(end, _)| *end <= start).is_some() {}
            match open.last() {
                Some((around, other)) if *around < end => {
                    let late_ns = i64::try_from((end - around).div_euclid(1_000)).unwrap_or(i64::MAX);
                    let detail = format!("begins within {} and ends after it", trace.name(*other));
                    check.find(1, || Finding::about(trace, span, Some(late_ns), detail));
                }
                _ => open.push((end, span)),
            }
        }
    }
    check
}

fn by_track(trace: &Trace) -> Vec<Vec<Extent>> {
    let mut tracks: Vec<Vec<Extent>> = vec![Vec::new(); trace.tracks.len()];
    // Asynchronous spans need not nest, and no viewer draws them as if they did.
    let asynchronous: Vec<bool> = trace.tracks.iter().map(|(_, track)| track.is_async(&trace.strings)).collect();
    for span in trace.spans.ids() {
        let at = span.0 as usize;
        if asynchronous[trace.spans.track[at].0 as usize] {
            continue;
        }
        let (start_ps, dur_ps) = trace.spans.picos(span);
        let start = i128::from(trace.spans.start_ns[at]) * 1_000 + i128::from(start_ps);
        let end = start + i128::from(trace.spans.dur_ns[at]) * 1_000 + i128::from(dur_ps);
        tracks[trace.spans.track[at].0 as usize].push((start, Reverse(end), span));
    }
    tracks
}
