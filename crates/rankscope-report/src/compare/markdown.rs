//! A comparison for a pull request: the outcome, the metrics, the first of what the change is made of, and how to repeat it.

use std::fmt::Write as _;

use rankscope_document::{CompareDocument, Comparison, MetricComparison, Over};

use super::{gate, interval, sentence, signed, signed_ns, value, word};
use crate::markdown::{code, escaped, fence, line, table};
use crate::units::or_absent;

/// The comparison as Markdown of GitHub's kind; `command` is what repeats it.
pub fn markdown(document: &CompareDocument, command: &str) -> String {
    let mut text = title(document);
    for note in &document.notes {
        let _infallible = writeln!(text, "> {}\n", escaped(&note.text));
    }
    text += &checks(document);
    for pair in std::iter::once(&document.first).chain(&document.others) {
        text += &of_pair(pair, super::runs_of(document, pair));
    }
    let _infallible = writeln!(text, "To repeat this:\n\n{0}console\n$ {1}\n{0}\n", fence(command, 3), line(command));
    let _infallible = writeln!(
        text,
        "Differences are test minus base: a positive time takes longer. Written by rankscope {}.",
        escaped(&document.rankscope_version)
    );
    text
}

fn title(document: &CompareDocument) -> String {
    match &document.gate {
        Some(gate) => {
            let outcome = if gate.passed { "passed" } else { "failed" };
            format!("### rankscope: the gate {outcome}\n\n{} ({}).\n\n", capital(&gate::sentence(gate)), gate::certainty(gate))
        }
        None => "### rankscope: comparison\n\n".to_owned(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// What the gate says of each metric.
fn checks(document: &CompareDocument) -> String {
    let Some(gate) = &document.gate else { return String::new() };
    let mut rows = Vec::new();
    for (outcome, check) in gate::checks(gate) {
        let figures = |of: &dyn Fn(&MetricComparison) -> String| or_absent(check.figures.as_ref(), of);
        rows.push(vec![
            format!("**{outcome}**"),
            code(&check.metric),
            code(&check.test),
            figures(&|figures| or_absent(figures.base, |base| value(figures, base))),
            figures(&|figures| or_absent(figures.test, |test| value(figures, test))),
            escaped(&check.reason),
        ]);
    }
    table(&["", "metric", "side", "base", "test", "why"], &rows)
}

/// Contributions that are shown.
const SHOWN: usize = 5;

fn of_pair(pair: &Comparison, runs: [usize; 2]) -> String {
    let mut text = format!("{}.\n\n", escaped(&sentence::of_pair(pair, runs)));
    let job = pair.metrics.iter().filter(|metric| matches!(metric.over, Over::MaxOfRanks | Over::MedianOfRanks));
    let row = |metric: &MetricComparison| {
        vec![
            code(&metric.name),
            or_absent(metric.base, |base| value(metric, base)),
            or_absent(metric.test, |test| value(metric, test)),
            or_absent(metric.shift, |shift| signed(metric, shift)),
            sentence::signed_percent(metric.ratio),
            interval(metric),
            escaped(&word(&metric.verdict)),
        ]
    };
    let rows: Vec<Vec<String>> = job.map(row).collect();
    let whole = table(&["metric", "base", "test", "change", "", "interval", "verdict"], &rows);
    if !whole.is_empty() {
        let _infallible = write!(text, "<details><summary>Time of a step, by class</summary>\n\n{whole}</details>\n\n");
    }
    if !pair.contributions.is_empty() {
        let row = |part: &rankscope_document::Contribution| {
            vec![code(&part.name), part.kind.to_string().replace('_', " "), signed_ns(part.delta_ns)]
        };
        let rows: Vec<Vec<String>> = pair.contributions.iter().take(SHOWN).map(row).collect();
        text += "What the change is made of, the largest first:\n\n";
        text += &table(&["what changed", "kind", "a step"], &rows);
        let more = pair.contributions.len().saturating_sub(SHOWN);
        if more > 0 {
            let _infallible = writeln!(text, "{more} more are in compare.json.\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_cannot_leave_its_block() {
        let text = markdown(&CompareDocument::default(), "rankscope compare '```' '\n```'");
        assert!(text.contains("\n````console\n$ rankscope compare '```' '\u{fffd}```'\n````\n"), "{text}");
    }
}
