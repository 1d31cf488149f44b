//! What became of steps that were to be profiled from outside, in a line each.

use rankscope_launch::{Summary, Windows};
use rankscope_report::steers;
use rankscope_run::{ProfiledWindow, WindowOutcome};

use super::summary::ranks;

/// Windows of a job that is profiled again and again; run.json has the rest.
const LINES_MAX: usize = 5;

pub(super) fn told(summary: &Summary<'_>) -> Vec<String> {
    if let (Some(plan), []) = (summary.asked, summary.profiled)
        && !matches!(plan.windows, Windows::OnSignal { .. })
    {
        return vec![format!(
            "--profile {plan}: no rank took a step that is counted; calls of a torch optimizer's step() are, and JAX's StepTraceAnnotation"
        )];
    }
    let mut lines: Vec<String> = summary.profiled.iter().rev().take(LINES_MAX).map(line).collect();
    lines.reverse();
    lines
}

fn line(window: &ProfiledWindow) -> String {
    let last = window.first_step.saturating_add(window.steps).saturating_sub(1);
    let steps = if window.steps == 1 { format!("step {last}") } else { format!("steps {} to {last}", window.first_step) };
    let reached = window.reached.unwrap_or_default();
    let who = ranks(&window.ranks);
    let text = match window.outcome {
        WindowOutcome::Kept => format!("{steps}: profiled on {who}"),
        WindowOutcome::CutShort => format!("{steps}: profiled on {who} until the program ended in step {reached}"),
        WindowOutcome::LeftAlone => format!("{steps}: not profiled on {who}, where the script's own profiler was at work"),
        WindowOutcome::GaveWay => format!("{steps}: not kept of {who}, where the script's own profiler began meanwhile"),
        WindowOutcome::Late => format!("{steps}: not profiled on {who}, which had passed them already"),
        WindowOutcome::NotReached => format!("{steps}: never reached; {who} ended in step {reached}"),
        WindowOutcome::Failed => {
            let why = window.message.as_deref().unwrap_or("the profiler failed");
            format!("{steps}: not profiled on {who}: {why}")
        }
        _ => format!("{steps}: rankscope is too old to say what became of them on {who}"),
    };
    text.replace(steers, " ")
}
