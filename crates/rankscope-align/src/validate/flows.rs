//! Arrows between spans. A viewer drops an arrow without a beginning, a second beginning of the same arrow, and a point that
//! lies within no span; one that points backward in time it draws, and nobody believes the trace any more.

use rankscope_trace::{FlowPhase, FlowPoint, Trace};
use rustc_hash::FxHashMap;

use super::{Check, Finding, Rule};

pub(super) fn check(trace: &Trace) -> [Check; 4] {
    let (id, begin, forward) = arrows(trace);
    [id, begin, enclosed(trace), forward]
}

/// The points of one flow, as they are met.
#[derive(Clone, Copy, Default)]
struct Arrow {
    begins: u64,
    begin_ns: Option<i64>,
}

fn arrows(trace: &Trace) -> (Check, Check, Check) {
    let mut id = Check::of(Rule::FlowId);
    let (mut begin, mut forward) = (Check::of(Rule::FlowBegin), Check::of(Rule::FlowForward));
    let key = |point: &FlowPoint| (point.category, point.name, point.id);
    let mut known: FxHashMap<_, Arrow> = FxHashMap::default();
    for point in trace.flows.iter().filter(|point| point.phase == FlowPhase::Start) {
        let arrow = known.entry(key(point)).or_default();
        arrow.begins += 1;
        arrow.begin_ns = Some(arrow.begin_ns.map_or(point.time_ns, |first| first.min(point.time_ns)));
        id.judged += 1;
        if arrow.begins > 1 {
            id.find(1, || about(trace, point, None, "begins again"));
        }
    }
    for point in trace.flows.iter().filter(|point| point.phase != FlowPhase::Start) {
        begin.judged += 1;
        let Some(begin_ns) = known.get(&key(point)).and_then(|arrow| arrow.begin_ns) else {
            begin.find(1, || about(trace, point, None, "ends but never begins"));
            continue;
        };
        forward.judged += 1;
        let back_ns = begin_ns.saturating_sub(point.time_ns);
        if back_ns > 0 {
            forward.find(1, || about(trace, point, Some(back_ns), "points backward in time"));
        }
    }
    (id, begin, forward)
}

/// A span encloses a point if it starts no later and ends no earlier: of the spans that start no later, the one that ends last
/// decides.
fn enclosed(trace: &Trace) -> Check {
    let mut check = Check::of(Rule::FlowEnclosed);
    if trace.flows.is_empty() {
        return check;
    }
    let mut reached: Vec<Vec<(i64, i64)>> = vec![Vec::new(); trace.tracks.len()];
    for span in trace.spans.ids() {
        let at = span.0 as usize;
        reached[trace.spans.track[at].0 as usize].push((trace.spans.start_ns[at], trace.spans.end_ns(span)));
    }
    for track in &mut reached {
        track.sort_unstable();
        let mut latest = i64::MIN;
        for (_, end) in track {
            latest = latest.max(*end);
            *end = latest;
        }
    }
    for point in &trace.flows {
        check.judged += 1;
        let track = &reached[point.track.0 as usize];
        let started = track.partition_point(|(start, _)| *start <= point.time_ns);
        let is_enclosed = started.checked_sub(1).is_some_and(|last| track[last].1 >= point.time_ns);
        if !is_enclosed {
            check.find(1, || about(trace, point, None, "has a point outside any span"));
        }
    }
    check
}

fn about(trace: &Trace, point: &FlowPoint, gap_ns: Option<i64>, what: &str) -> Finding {
    Finding {
        op: trace.strings.text(point.name).to_owned(),
        at_ns: Some(point.time_ns),
        gap_ns,
        correlation: None,
        detail: format!("arrow {} {what}", point.id),
    }
}
