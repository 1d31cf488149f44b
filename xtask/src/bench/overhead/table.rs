//! What it costs, for people.

use super::calls::Calls;
use super::interval::{Interval, Verdict};
use super::job::Way;
use super::{Measured, Outcome};
use crate::bench::table::push;

/// What a job may be slowed by, in per cent.
const GOAL: f64 = 1.0;

/// Calls a step that are named; rarer ones are counted.
const OFTEN: f64 = 0.1;

/// A row for each way of each job, and below what no column has room for.
pub(super) fn markdown(outcome: &Outcome) -> String {
    let mut text = String::from(
        "| four ranks | how | a step | all steps | their CPU time | other CPU time | at most 1 % more |\n|---|---|--:|--:|--:|--:|---|\n",
    );
    outcome.jobs.iter().for_each(|job| rows(&mut text, job));
    push(
        &mut text,
        format_args!(
            "\nAgainst bare, over {} rounds: the middle, and the interval that holds the truth with 95 % certainty.",
            outcome.rounds
        ),
    );
    for job in &outcome.jobs {
        match &job.calls {
            Ok(calls) => {
                push(&mut text, format_args!("System calls of a rank's thread in a step, {}: {}.", job.job, called(calls)))
            }
            Err(why) => push(&mut text, format_args!("System calls of a rank's thread, {}: not counted, {why}.", job.job)),
        }
    }
    outcome.skipped.iter().for_each(|why| push(&mut text, format_args!("Skipped: {why}.")));
    text
}

fn rows(text: &mut String, job: &Measured) {
    let bare = &job.bare;
    push(
        text,
        format_args!(
            "| {} | bare | {:.2} ms | {:.2} s | {:.2} s | {:.2} s |  |",
            job.job, bare.step_ms, bare.loop_s, bare.cpu_s, bare.beside_cpu_s
        ),
    );
    for cost in &job.ways {
        let [time, cpu] = [&cost.whole_loop, &cost.cpu].map(said);
        push(
            text,
            format_args!(
                "| | {} | {} | {} | {} | {:.2} s | time: {time}; CPU time: {cpu} |",
                name(cost.way),
                shown(&cost.step),
                shown(&cost.whole_loop),
                shown(&cost.cpu),
                cost.beside_cpu_s
            ),
        );
    }
}

fn name(way: Way) -> &'static str {
    match way {
        Way::Bare => "bare",
        Way::Run => "under `rankscope run`",
        Way::Recorded => "and recorded",
    }
}

fn said(interval: &Interval) -> &'static str {
    match interval.verdict(GOAL) {
        Verdict::Kept => "yes",
        Verdict::Missed => "no",
        Verdict::TooNoisy => "the machine is too noisy to tell",
    }
}

fn shown(interval: &Interval) -> String {
    match (interval.low, interval.high) {
        (Some(low), Some(high)) => format!("{:+.1} % ({low:+.1} to {high:+.1})", interval.percent),
        _ => format!("{:+.1} %", interval.percent),
    }
}

fn called(calls: &[Calls]) -> String {
    let of_way = |calls: &Calls| {
        let often = calls.by_name.iter().filter(|(_, count)| **count >= OFTEN);
        let names: Vec<String> = often.map(|(name, count)| format!("{name} {count:.2}")).collect();
        format!("{} {:.2} (most of them {})", name(calls.way), calls.total(), names.join(", "))
    };
    calls.iter().map(of_way).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::super::job::Figures;
    use super::super::{Cost, Measured, Outcome};
    use super::*;

    #[test]
    fn every_row_has_as_many_cells_as_the_head() {
        let interval = |high| Interval { percent: 0.1, low: Some(-0.2), high: Some(high) };
        let cost =
            |way, high| Cost { way, step: interval(high), whole_loop: interval(high), cpu: interval(high), beside_cpu_s: 0.1 };
        let job = Measured {
            job: "loop",
            bare: Figures { step_ms: 5.0, loop_s: 1.0, cpu_s: 2.0, beside_cpu_s: 0.0 },
            ways: vec![cost(Way::Run, 0.4), cost(Way::Recorded, 3.0)],
            calls: Ok(vec![Calls { way: Way::Bare, by_name: [("brk".to_owned(), 0.01), ("read".to_owned(), 8.0)].into() }]),
        };
        let text = markdown(&Outcome { rounds: 20, jobs: vec![job], skipped: vec!["torch: none".to_owned()] });
        assert!(text.lines().take(5).all(|line| line.matches('|').count() == 8), "{text}");
        assert!(
            text.contains("| 0.10 s | time: yes; CPU time: yes |") && text.contains("time: the machine is too noisy"),
            "{text}"
        );
        assert!(text.contains("bare 8.01 (most of them read 8.00).") && text.contains("Skipped: torch: none."), "{text}");
    }
}
