//! `rankscope clock doctor`: what this host has for clock synchronisation, and what to do about what it lacks.

use std::fmt::Write;
use std::process::ExitCode;

use anyhow::Result;
use rankscope_probe::doctor::{Advice, Examination, Expectation, Grade, InterfaceFacts, advise, examine, expect};
use rankscope_probe::stamps::{Capability, LoopbackReport, Stamping};
use serde_json::{Value, json};

use crate::output::{self, Format};

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
        let head = format!("{:<GRADE_WIDTH$}{topic:<topics$}  ", grade_name(*grade));
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
        stamping_name(*stamping),
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

fn grade_name(grade: Grade) -> &'static str {
    match grade {
        Grade::Good => "ok",
        Grade::Weak => "weak",
        Grade::Bad => "bad",
    }
}

fn stamping_name(stamping: Stamping) -> &'static str {
    match stamping {
        Stamping::Hardware => "network card",
        Stamping::Kernel => "kernel",
        Stamping::User => "program",
    }
}

fn time(ns: i64) -> String {
    let mut text = String::new();
    // Writing to a text cannot fail.
    let _written = if ns < 1_000 { write!(text, "{ns} ns") } else { write!(text, "{:.1} us", ns as f64 / 1e3) };
    text
}

fn document(seen: &Examination, advice: &[Advice], expected: &Expectation) -> Value {
    let steering = match &seen.steering {
        Ok(state) => json!({
            "synchronised": state.synchronised,
            "frequency_ppm": state.frequency_ppm,
            "pending_ns": state.pending_ns,
            "estimated_error_us": state.estimated_error_us,
            "maximum_error_us": state.maximum_error_us,
        }),
        Err(error) => json!({ "error": error }),
    };
    let widths = seen.sandwich_ns;
    json!({
        "schema": 1,
        "kernel": seen.kernel,
        "advice": advice.iter().map(|advice| json!({
            "grade": grade_name(advice.grade),
            "topic": advice.topic,
            "finding": advice.finding,
            "remedy": advice.remedy,
        })).collect::<Vec<_>>(),
        "expectation": {
            "stamps": stamping_name(expected.stamping),
            "idle_ns": expected.idle_ns,
            "loaded_ns": expected.loaded_ns,
            "reasons": expected.reasons,
        },
        "interfaces": seen.interfaces.iter().map(interface).collect::<Vec<_>>(),
        "self_tests": seen.loopback.iter().map(|(ip, result)| self_test(&ip.to_string(), result)).collect::<Vec<_>>(),
        "clocks": {
            "clocksource": seen.clocksource,
            "available": seen.clocksources,
            "tsc_invariant": seen.tsc_invariant,
            "resolution_ns": seen.resolution_ns,
            "sandwich_ns": { "min": widths.min, "p50": widths.p50, "p99": widths.p99, "max": widths.max },
        },
        "steering": steering,
        "daemons": seen.daemons.iter().map(|daemon| json!({ "name": daemon.name, "pid": daemon.pid })).collect::<Vec<_>>(),
        "permissions": { "net_admin": seen.permissions.net_admin, "realtime": seen.permissions.realtime },
        "virtualisation": seen.virtualisation,
    })
}

fn interface(facts: &InterfaceFacts) -> Value {
    let Capability { transmit_software, receive_software, transmit_hardware, receive_hardware, phc } =
        facts.capability.as_ref().copied().unwrap_or_default();
    json!({
        "name": facts.interface.name,
        "addresses": facts.interface.addresses,
        "transmit_software": transmit_software,
        "receive_software": receive_software,
        "transmit_hardware": transmit_hardware,
        "receive_hardware": receive_hardware,
        "phc": phc,
        "error": facts.capability.as_ref().err().or(facts.bound.as_ref().err()),
    })
}

fn self_test(ip: &str, result: &Result<LoopbackReport, String>) -> Value {
    let report = match result {
        Ok(report) => report,
        Err(error) => return json!({ "address": ip, "error": error }),
    };
    let at = |percent| report.percentile_ns(percent);
    json!({
        "address": ip,
        "sent": report.sent,
        "stamped": report.stamped,
        "received": report.received,
        "passage_ns": { "min": at(0), "p50": at(50), "p99": at(99), "max": at(100) },
    })
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
