//! Checks of traces: has what they show been possible, and will a viewer show all of it?
//!
//! Two sorts of checks. Those of one trace ([`check_trace`]) ask no clock of another: torch's six rules, spans that overlap
//! without nesting, arrows that cannot be drawn, what was lost while recording, times that no clock shows. Those across ranks
//! ([`meet`]) ask of every matched collective whether all ranks were in it together, on the clocks they are given: a pair of
//! stays without a common moment cannot have happened, so the clocks (or the matching) are wrong by at least the gap. Those need
//! no trace: what they ask of each rank is its [`RankEvidence`] beside its collectives.
//!
//! Every rule says how much it judged, so that "none found" and "nothing to judge" stay apart. Nothing is repaired here, and no
//! clock is estimated.

mod args;
mod backward;
mod causality;
mod csv;
mod evidence;
mod fields;
mod finding;
mod flows;
mod launches;
mod losses;
mod meeting;
mod nesting;
mod outside;
mod participants;
mod rule;
mod waits;

pub use csv::write_csv;
pub use evidence::{Device, Key, RankEvidence, Recorded, Stream};
pub use finding::{Check, Finding};
pub use meeting::{Meeting, Stay, Verdict, meet};
pub use participants::{Participant, Participants};
use rankscope_trace::Trace;
pub use rule::{Rule, Weight};

/// Checks `trace` by itself: one entry a rule, in the order of [`Rule::OF_TRACE`]. The rules that look into arguments judge
/// nothing unless the trace was read with all of them.
pub fn check_trace(trace: &Trace) -> Vec<Check> {
    let mut checks = vec![launches::check(trace)];
    checks.extend(waits::check(trace));
    checks.extend([fields::check(trace), backward::check(trace), nesting::check(trace)]);
    checks.extend(flows::check(trace));
    checks.extend(losses::check(trace));
    checks.push(outside::check(trace));
    checks
}
