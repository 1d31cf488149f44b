//! Sequence numbers tie backward operators to their forward ones; a number that two sorts of backward operators share ties both
//! to the wrong place.

use rankscope_trace::{SpanId, StrId, Trace};
use rustc_hash::FxHashMap;

use super::args::{Arg, Names};
use super::{Check, Finding, Rule};

pub(super) fn check(trace: &Trace) -> Check {
    let mut check = Check::of(Rule::BackwardName);
    let evaluated = Names::that(trace, |name| name.contains("autograd::engine::evaluate_function:"));
    if evaluated.is_empty() {
        return check;
    }
    let (number, short) = (Arg::of(trace, "Sequence number"), Arg::of(trace, "seq_num"));
    // The first operator of a number, and those of other names, which are hardly ever any.
    let mut operators: FxHashMap<i64, (SpanId, Vec<StrId>)> = FxHashMap::default();
    for span in trace.spans.ids() {
        let name = trace.spans.name[span.0 as usize];
        if !evaluated.contain(name) {
            continue;
        }
        // Zero is what a number that was never given reads as.
        let Some(number) = number.integer(span).filter(|number| *number != 0).or_else(|| short.integer(span)) else { continue };
        let (first, others) = operators.entry(number).or_insert((span, Vec::new()));
        if trace.spans.name[first.0 as usize] != name && !others.contains(&name) {
            others.push(name);
        }
    }
    check.judged = operators.len() as u64;
    let mut shared: Vec<_> = operators.into_iter().filter(|(_, (_, others))| !others.is_empty()).collect();
    shared.sort_unstable();
    for (number, (first, others)) in shared {
        let others = others.iter().map(|name| trace.strings.text(*name)).collect::<Vec<_>>().join(", ");
        check.find(1, || Finding::about(trace, first, None, format!("shares sequence number {number} with {others}")));
    }
    check
}
