//! The document for people: the answer, what was judged, and the first of what was found.

use std::collections::BTreeMap;

use rankscope_cli::output;
use rankscope_document::{Rule, RuleFinding, ValidationDocument};
use rankscope_report::{columns, paragraph, validation_sentences};

use rankscope_job::time;

/// Findings shown of each rule; the JSON has more.
const SHOWN_MAX: usize = 5;

/// Columns an event's name or a sentence takes at most: template arguments run to kilobytes.
const NAME_MAX: usize = 48;
const SENTENCE_MAX: usize = 96;

pub(crate) fn text(document: &ValidationDocument) -> String {
    let style = output::style();
    let mut text: String = validation_sentences(document).iter().map(|sentence| paragraph(sentence, style)).collect();
    let (judged, idle): (Vec<_>, Vec<_>) = document.rules.iter().partition(|rule| rule.judged > 0);
    let counts = judged
        .iter()
        .map(|rule| vec![rule.rule.to_string(), rule.weight.to_string(), rule.judged.to_string(), rule.found.to_string()]);
    text.push('\n');
    text.push_str(&columns(&["rule", "weight", "judged", "found"], counts.collect(), style));
    if !idle.is_empty() {
        let names = idle.iter().map(|rule| rule.rule.as_str()).collect::<Vec<_>>().join(", ");
        text.push_str(&paragraph(&format!("nothing to check for {names}"), style));
    }
    for (title, details, all) in [
        ("violations", &document.details, document.violations),
        ("losses and warnings", &document.findings, document.losses + document.warnings),
    ] {
        if !details.is_empty() {
            let shown = shown(details);
            let more = all.saturating_sub(shown.len() as u64);
            text.push_str(&format!("\n{title}\n{}", columns(&HEADER, shown, style)));
            if more > 0 {
                text.push_str(&format!("and {more} more; --format json has them\n"));
            }
        }
    }
    text
}

const HEADER: [&str; 5] = ["rule", "rank", "event", "by", "what"];

fn shown(details: &[RuleFinding]) -> Vec<Vec<String>> {
    let row = |detail: &RuleFinding| {
        let gap = detail.gap_ns.map_or_else(String::new, time);
        vec![
            detail.rule.to_string(),
            detail.rank.to_string(),
            cut(&detail.op, NAME_MAX),
            gap,
            cut(&detail.detail, SENTENCE_MAX),
        ]
    };
    let mut count = BTreeMap::<&Rule, usize>::new();
    let first = details.iter().filter(|detail| {
        let count = count.entry(&detail.rule).or_default();
        *count += 1;
        *count <= SHOWN_MAX
    });
    first.map(row).collect()
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
