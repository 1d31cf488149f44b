//! What a gate says, for a terminal: the outcome, then each metric with the reason.

use rankscope_document::{GateCheck, GateResult, OnInconclusive};

use crate::terminal::{Sheet, Table, drawn};
use crate::text::{clean, shorten, wrap};
use crate::units::counted;

/// An outcome of a check.
pub(super) type Outcome = &'static str;

/// Every check with its outcome, what failed first.
pub(super) fn checks(gate: &GateResult) -> impl Iterator<Item = (Outcome, &GateCheck)> {
    let all: [(Outcome, &[GateCheck]); 3] = [("failed", &gate.failed), ("undecided", &gate.undecided), ("held", &gate.held)];
    all.into_iter().flat_map(|(outcome, checks)| checks.iter().map(move |check| (outcome, check)))
}

/// The outcome in a sentence.
pub(super) fn sentence(gate: &GateResult) -> String {
    let count = |checks: &[GateCheck], word: &str| (!checks.is_empty()).then(|| format!("{} {word}", checks.len()));
    let counts = [count(&gate.failed, "failed"), count(&gate.undecided, "undecided"), count(&gate.held, "held")];
    let counts = counts.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let outcome = if gate.passed { "passed" } else { "failed" };
    let undecided = match gate.on_inconclusive {
        OnInconclusive::Fail => "; what is undecided fails by this policy",
        _ if gate.undecided.is_empty() => "",
        _ => "; what is undecided passes by this policy",
    };
    format!("the gate {outcome}: {counts}{undecided}")
}

/// How sure it is.
pub(super) fn certainty(gate: &GateResult) -> String {
    format!("{} together, at most {} % false alarms", counted(gate.family, "metric"), gate.alpha * 100.0)
}

pub(super) fn shown(gate: &GateResult, sheet: Sheet) -> Vec<String> {
    let mut lines = vec![sheet.heading(&format!("Gate {}", clean(&gate.policy)), &certainty(gate))];
    lines.extend(wrap(&sentence(gate), sheet.width()).into_iter().map(|line| sheet.paint().bold(&line)));
    let several = checks(gate).any(|(_, check)| checks(gate).any(|(_, other)| other.test != check.test));
    let mut table = Table::new(&["", "metric", if several { "test" } else { "" }, "why"], 4);
    for (outcome, check) in checks(gate) {
        table.push(vec![
            outcome.to_owned(),
            shorten(&check.metric, 44),
            if several { shorten(&check.test, 24) } else { String::new() },
            check.reason.clone(),
        ]);
    }
    lines.extend(drawn(&table, sheet));
    lines
}
