//! What was lost or damaged on the way into the file and out of it, as its recorder and its reader counted it.

use rankscope_trace::{ArgValue, Problem, ProblemKind, Trace};

use super::args::Arg;
use super::{Check, Finding, Rule};

pub(super) fn check(trace: &Trace) -> [Check; 4] {
    let mut checks = [Rule::Damage, Rule::Drops, Rule::Unfinished, Rule::Duration].map(Check::of);
    for check in &mut checks {
        check.judged = trace.events() as u64;
    }
    for problem in trace.provenance.problems.iter() {
        let rule = rule(problem.kind);
        if let Some(check) = checks.iter_mut().find(|check| check.rule == rule) {
            check.find(problem.count, || finding(problem));
        }
    }
    // The reader of recordings has counted them already.
    if trace.provenance.problems.count(ProblemKind::UnbalancedSpan) == 0 {
        unfinished(trace, &mut checks[2]);
    }
    checks
}

fn rule(kind: ProblemKind) -> Rule {
    match kind {
        ProblemKind::LostPackets | ProblemKind::ProfilerMessage => Rule::Drops,
        ProblemKind::UnbalancedSpan => Rule::Unfinished,
        ProblemKind::NegativeDuration | ProblemKind::OverflowedDuration => Rule::Duration,
        _ => Rule::Damage,
    }
}

fn finding(problem: &Problem) -> Finding {
    let detail = if problem.detail.is_empty() { String::new() } else { format!(": {}", problem.detail) };
    Finding {
        op: problem.kind.name().to_owned(),
        at_ns: None,
        gap_ns: None,
        correlation: None,
        detail: format!("{} {}, first at byte {}{detail}", problem.count, problem.kind, problem.offset),
    }
}

/// torch marks what was still running when the recording stopped.
fn unfinished(trace: &Trace, check: &mut Check) {
    if trace.strings.find("finished").is_none() || trace.spans.args.rows() == 0 {
        return;
    }
    let finished = Arg::of(trace, "finished");
    for span in trace.spans.ids().filter(|span| finished.value(*span) == Some(ArgValue::Bool(false))) {
        check.find(1, || Finding::about(trace, span, None, "had not ended when the recording stopped".to_owned()));
    }
}
