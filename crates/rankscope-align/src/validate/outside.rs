//! Events far outside the others: a stamp of zero, of another epoch, or of a counter that wrapped. One of them stretches a
//! timeline until nothing else can be seen.

use rankscope_trace::Trace;

use super::{Check, Finding, Rule};

/// Further from the middle half of all starts than this many times its width, and than a day, is outside: a job that records
/// its steps sparsely stays inside, another epoch does not.
const WIDTHS: i64 = 1_000;
const DAY_NS: i64 = 24 * 3_600 * 1_000_000_000;

pub(super) fn check(trace: &Trace) -> Check {
    let mut check = Check::of(Rule::Outside);
    let Some((low, high)) = inside(trace) else { return check };
    check.judged = trace.spans.len() as u64;
    for span in trace.spans.ids() {
        let (start, end) = (trace.spans.start_ns(span), trace.spans.end_ns(span));
        let away_ns = low.saturating_sub(start).max(end.saturating_sub(high));
        if away_ns > 0 {
            check.find(1, || Finding::about(trace, span, Some(away_ns), "is far away from all other events".to_owned()));
        }
    }
    check
}

/// Where events may lie.
fn inside(trace: &Trace) -> Option<(i64, i64)> {
    let mut starts = trace.spans.start_ns.clone();
    let quarter = starts.len().checked_sub(1)? / 4;
    let (_, low, above) = starts.select_nth_unstable(quarter);
    let low = *low;
    let high = above.len().checked_sub(1).map_or(low, |last| *above.select_nth_unstable(last * 2 / 3).1);
    let margin = high.saturating_sub(low).saturating_mul(WIDTHS).max(DAY_NS);
    Some((low.saturating_sub(margin), high.saturating_add(margin)))
}
