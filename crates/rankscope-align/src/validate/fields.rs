//! What torch records with a collective. Without these fields no tool can tell which collectives of two ranks are the same.

use rankscope_trace::Trace;

use super::args::Arg;
use super::{Check, Finding, Rule};

const FIELDS: [&str; 5] = ["Collective name", "dtype", "In msg nelems", "Out msg nelems", "Group size"];

pub(super) fn check(trace: &Trace) -> Check {
    let mut check = Check::of(Rule::CollectiveFields);
    let Some(operator) = trace.strings.find("record_param_comms") else { return check };
    // A trace read without its arguments has nothing to look into.
    if trace.spans.args.rows() == 0 {
        return check;
    }
    let fields = FIELDS.map(|name| (name, Arg::of(trace, name)));
    for span in trace.spans.ids().filter(|span| trace.spans.name[span.0 as usize] == operator) {
        check.judged += 1;
        let missing: Vec<&str> = fields.iter().filter(|(_, arg)| arg.value(span).is_none()).map(|(name, _)| *name).collect();
        if !missing.is_empty() {
            check.find(1, || Finding::about(trace, span, None, format!("does not record its {}", missing.join(", "))));
        }
    }
    check
}
