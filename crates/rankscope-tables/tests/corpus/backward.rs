//! Backward operators are tied to the forward ones that Kineto's own arrows lead from.

use std::collections::BTreeMap;

use rankscope_tables::RankTables;
use rankscope_testkit::{Need, given};
use rankscope_trace::{CategoryKind, FlowPhase, FlowPoint, Trace};

/// How many arrows lead from each name to each other.
type Arrows = BTreeMap<(String, String), u64>;

const WRAPPER: &str = "autograd::engine::evaluate_function: ";

/// The name of the longest operator that begins where `point` is.
fn operator(trace: &Trace, point: &FlowPoint) -> Option<String> {
    let begins = |span: &rankscope_trace::SpanId| {
        let row = trace.spans.row(*span);
        row.track == point.track && row.start_ns == point.time_ns && trace.kind(*span) == CategoryKind::CpuOp
    };
    let longest = trace.spans.ids().filter(begins).max_by_key(|span| trace.spans.dur_ns[span.0 as usize])?;
    Some(trace.name(longest).trim_start_matches(WRAPPER).to_owned())
}

fn arrows(trace: &Trace) -> Arrows {
    let is_here = |point: &&FlowPoint| trace.strings.text(trace.categories[usize::from(point.category)].name) == "fwdbwd";
    let mut ends: BTreeMap<u64, [Option<String>; 2]> = BTreeMap::new();
    for point in trace.flows.iter().filter(is_here) {
        ends.entry(point.id).or_default()[usize::from(point.phase != FlowPhase::Start)] = operator(trace, point);
    }
    let mut arrows = Arrows::new();
    for ends in ends.into_values() {
        if let [Some(from), Some(to)] = ends {
            *arrows.entry((from, to)).or_default() += 1;
        }
    }
    arrows
}

#[test]
fn backward_operators_are_tied_as_kineto_draws_it() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for name in ["mi300x_resnet_act_checkpoint", "mi250_minitoy"] {
        let trace = super::trace(&corpus.join(format!("traces/kineto/{name}.json.gz")));
        let rows = RankTables::of(&trace).backward;
        let tied: Arrows = rows.into_iter().filter_map(|row| Some(((row.forward_op?, row.name), row.count))).collect();
        let arrows = arrows(&trace);
        assert!(!arrows.is_empty(), "{name}");
        assert_eq!(tied, arrows, "{name}");
    }
}
