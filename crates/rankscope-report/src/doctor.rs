//! What a host has, for a terminal: a line for each thing, what to do below it.

use rankscope_document::{DoctorDocument, DoctorFinding, DoctorStanding, DoctorTopic};

use crate::Style;
use crate::terminal::{Sheet, joined};
use crate::text::{clean, wrap};
use crate::units::counted;

/// The document as text.
pub fn doctor_terminal(document: &DoctorDocument, style: Style) -> String {
    let sheet = Sheet::of(style);
    let processors = counted(document.processors as usize, "processor");
    let facts = format!("Linux {}, {processors}", clean(&document.kernel));
    let heading = format!("{}  what this host has  {}", sheet.paint().dim("rankscope"), sheet.paint().dim(&facts));
    let findings = document.findings.iter().flat_map(|finding| told(finding, sheet)).collect();
    joined(vec![vec![heading], findings])
}

/// The standing and the topic stand before what is said.
const INDENT: usize = 26;

fn told(finding: &DoctorFinding, sheet: Sheet) -> Vec<String> {
    let standing = format!("{:<9}", clean(finding.standing.as_str()));
    let standing = match finding.standing {
        DoctorStanding::Ready => standing,
        DoctorStanding::Limited => sheet.paint().bold(&standing),
        _ => sheet.paint().dim(&standing),
    };
    let mut lines = Vec::new();
    for (place, line) in wrap(&clean(&finding.says), sheet.width() - INDENT).into_iter().enumerate() {
        let topic = topic_of(&finding.topic);
        lines.push(if place == 0 { format!("{standing}{topic:<17}{line}") } else { format!("{:INDENT$}{line}", "") });
    }
    let more = [("-> ", &finding.remedy), ("cost: ", &finding.cost)];
    for (head, text) in more.into_iter().filter_map(|(head, text)| Some((head, text.as_ref()?))) {
        let indent = INDENT + head.len();
        for (place, line) in wrap(&clean(text), sheet.width() - indent).into_iter().enumerate() {
            let before = if place == 0 { head } else { "" };
            lines.push(format!("{:INDENT$}{before:<width$}{line}", "", width = head.len()));
        }
    }
    lines
}

/// What a topic is called.
fn topic_of(topic: &DoctorTopic) -> &str {
    match topic {
        DoctorTopic::Clocks => "clocks",
        DoctorTopic::Recorder => "recorder",
        DoctorTopic::Cuda => "NVIDIA devices",
        DoctorTopic::Rocm => "AMD devices",
        DoctorTopic::Counters => "counters",
        DoctorTopic::Nccl => "NCCL plugin",
        DoctorTopic::Torch => "torch",
        DoctorTopic::Jax => "JAX",
        DoctorTopic::FlightRecorder => "flight recorder",
        DoctorTopic::OnDemand => "on demand",
        DoctorTopic::Stacks => "stacks",
        DoctorTopic::Launchers => "launchers",
        DoctorTopic::Sql => "SQL",
        other => other.as_str(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_no_longer_than_the_terminal_and_what_to_do_stands_below() {
        let finding = |topic, standing| DoctorFinding {
            topic,
            standing,
            says: "It is there, and it says a good deal about itself, more than fits a line.".to_owned(),
            remedy: Some("do this, and after that do something else that takes more than a line to say".to_owned()),
            cost: Some("a span takes about 30 ns".to_owned()),
        };
        let findings = vec![
            finding(DoctorTopic::FlightRecorder, DoctorStanding::Limited),
            finding(DoctorTopic::from("newer"), DoctorStanding::from("odd\u{1b}[2J")),
        ];
        let document =
            DoctorDocument { schema: 1, kernel: "6.1.0".to_owned(), processors: 2, findings, ..DoctorDocument::default() };
        let text = doctor_terminal(&document, Style { color: false, width: 80 });
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(
            text.contains("limited  flight recorder  It is there") && text.contains("\n                          -> do this"),
            "{text}"
        );
        assert!(!text.contains('\u{1b}'), "{text}");
    }
}
