//! The benchmark for people: a Markdown table, as the README shows it.

use std::fmt::Write;

use super::Outcome;
use super::child::Cost;
use super::floor::Floor;

/// One row per input and program.
pub(crate) fn markdown(outcome: &Outcome) -> String {
    let mut text = String::new();
    text.push_str("| input | size | events | program | wall s | CPU s | peak MB |\n|---|--:|--:|---|--:|--:|--:|\n");
    for input in &outcome.inputs {
        let Floor { bytes, inflate_seconds, skip_seconds } = input.floor;
        let size = format!("{:.1} MB", bytes as f64 / 1e6);
        let events = input.events.map_or_else(|| "-".to_owned(), |events| events.to_string());
        let what = format!("| {} | {size} | {events} |", input.file);
        let numbers = input.seconds.zip(input.cpu_seconds).zip(input.peak_mb);
        match (numbers, &input.error) {
            (Some(((seconds, cpu_seconds), peak_mb)), None) => {
                row(&mut text, &what, "rankscope report", &Cost { seconds, cpu_seconds, peak_mb });
            }
            (_, error) => {
                push(&mut text, format_args!("{what} rankscope report: {} | - | - | - |", error.as_deref().unwrap_or("-")))
            }
        }
        if inflate_seconds > 0.0 {
            push(&mut text, format_args!("{what} inflate alone (zlib-rs, one thread) | {inflate_seconds:.2} | - | - |"));
        }
        push(&mut text, format_args!("{what} pass over the JSON alone (serde_json, one thread) | {skip_seconds:.2} | - | - |"));
        for (name, cost) in &input.peers {
            row(&mut text, &what, name, cost);
        }
    }
    text
}

fn row(text: &mut String, what: &str, program: &str, cost: &Cost) {
    let Cost { seconds, cpu_seconds, peak_mb } = cost;
    push(text, format_args!("{what} {program} | {seconds:.2} | {cpu_seconds:.2} | {peak_mb:.0} |"));
}

pub(super) fn push(text: &mut String, line: std::fmt::Arguments) {
    writeln!(text, "{line}").expect("a string takes everything");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Measured;

    #[test]
    fn every_row_has_as_many_cells_as_the_head() {
        let cost = Cost { seconds: 1.0, cpu_seconds: 2.0, peak_mb: 3.0 };
        let good = Measured {
            file: "a.json".into(),
            floor: Floor { bytes: 1_000_000, inflate_seconds: 0.3, skip_seconds: 0.2 },
            events: Some(5),
            seconds: Some(0.5),
            seconds_min: Some(0.4),
            cpu_seconds: Some(0.9),
            peak_mb: Some(100.0),
            runs: 3,
            error: None,
            peers: [("hta", cost)].into(),
        };
        let bad = Measured { events: None, error: Some("exit code 1".into()), peers: [].into(), file: "b".into(), ..good };
        let text = markdown(&Outcome { inputs: vec![bad] });
        assert!(text.lines().all(|line| line.matches('|').count() == 8), "{text}");
    }
}
