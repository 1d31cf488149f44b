//! `rankscope clock doctor`: what this host has for clock synchronisation, and what to do about what it lacks.

use std::fmt::Write;

use anyhow::Result;
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_probe::doctor::{Advice, Examination, Expectation, Grade, InterfaceFacts, advise, document, examine, expect};

/// Check this host's timestamps, sockets, clocks, permissions and time daemons, and estimate the accuracy to expect.
///
/// Sends packets from this host to itself; changes nothing. Exits with 3 if something makes synchronisation impossible or wrong.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let seen = examine();
    let (advice, expected) = (advise(&seen), expect(&seen));
    let text = match args.format {
        Format::Table => table(&seen, &advice, &expected, output::columns()),
        Format::Json => format!("{:#}", document(&seen, &advice, &expected)),
    };
    output::answer(&text)?;
    let bad = advice.iter().any(|advice| advice.grade == Grade::Bad);
    Ok(ExitCode::from(if bad { 3 } else { 0 }))
}

fn table(seen: &Examination, advice: &[Advice], expected: &Expectation, columns: usize) -> String {
    let mut text = format!("Clocks of this host (Linux {})\n\n", seen.kernel);
    let topics = advice.iter().map(|advice| advice.topic.len()).max().unwrap_or(0);
    let indent = GRADE_WIDTH + topics + 2;
    for Advice { grade, topic, finding, remedy } in advice {
        let head = format!("{:<GRADE_WIDTH$}{topic:<topics$}  ", grade.name());
        wrap(&mut text, &head, finding, indent, columns);
        if let Some(remedy) = remedy {
            wrap(&mut text, &format!("{:indent$}-> ", ""), remedy, indent + 3, columns);
        }
    }
    text.push('\n');
    interfaces(&mut text, &seen.interfaces);
    let Expectation { stamping, idle_ns, loaded_ns, reasons } = expected;
    let likely = format!(
        "Between two hosts like this one, with timestamps from the {}, expect an error of about {} on an idle network and {} under load:",
        stamping.name(),
        time(*idle_ns),
        time(*loaded_ns)
    );
    text.push('\n');
    wrap(&mut text, "", &likely, 0, columns);
    for reason in reasons {
        wrap(&mut text, "- ", reason, 2, columns);
    }
    text
}

const GRADE_WIDTH: usize = 6;

fn interfaces(text: &mut String, facts: &[InterfaceFacts]) {
    let rows = facts.iter().map(|facts| {
        let capability = facts.capability.as_ref().copied().unwrap_or_default();
        let addresses: Vec<String> = facts.interface.addresses.iter().map(ToString::to_string).collect();
        [
            facts.interface.name.clone(),
            stamps_of(capability.transmit_software, capability.transmit_hardware),
            stamps_of(capability.receive_software, capability.receive_hardware),
            capability.phc.map_or_else(|| "none".to_owned(), |index| format!("/dev/ptp{index}")),
            addresses.join(" "),
        ]
    });
    let header = ["interface", "transmit stamps", "receive stamps", "card clock", "addresses"].map(str::to_owned);
    let rows: Vec<[String; 5]> = std::iter::once(header).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..4).map(width).collect();
    for row in &rows {
        for (cell, width) in row.iter().zip(&widths) {
            text.push_str(&format!("{cell:<width$}  "));
        }
        text.push_str(&row[4]);
        text.push('\n');
    }
}

fn stamps_of(software: bool, hardware: bool) -> String {
    match (software, hardware) {
        (true, true) => "card, kernel",
        (true, false) => "kernel",
        (false, true) => "card",
        (false, false) => "none",
    }
    .to_owned()
}

/// Adds `words` behind `head`, broken at `columns` and continued under `indent`.
fn wrap(text: &mut String, head: &str, words: &str, indent: usize, columns: usize) {
    text.push_str(head);
    let (mut at, mut first) = (head.chars().count(), true);
    for word in words.split(' ') {
        let width = word.chars().count();
        if !first && at + 1 + width > columns {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            at = indent;
        } else if !first {
            text.push(' ');
            at += 1;
        }
        text.push_str(word);
        at += width;
        first = false;
    }
    text.push('\n');
}

fn time(ns: i64) -> String {
    let mut text = String::new();
    // Writing to a text cannot fail.
    let _written = if ns < 1_000 { write!(text, "{ns} ns") } else { write!(text, "{:.1} us", ns as f64 / 1e3) };
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_broken_under_their_start() {
        let mut text = String::new();
        wrap(&mut text, "ab ", "one two three", 3, 10);
        assert_eq!(text, "ab one two\n   three\n");
    }
}
