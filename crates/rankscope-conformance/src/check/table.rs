//! What `dispatch check` found, for people.

use std::fmt::Write as _;

use serde_json::Value;

use super::{CONSISTENCY, Checked, Findings, Found};

/// `findings` as text.
#[must_use]
pub fn table(findings: &Findings) -> String {
    let mut text = String::new();
    let mut rest = findings.violations.as_slice();
    for Checked { name, values, violations } in &findings.checked {
        let (here, after) = rest.split_at((*violations).min(rest.len()));
        rest = after;
        let _ = match (violations, values) {
            (0, None) => writeln!(text, "{name}: every property holds"),
            (0, Some(values)) => writeln!(text, "{name}: {values} values, every one is right"),
            (count, None) => writeln!(text, "{name}: {count} {}", plural(*count)),
            (count, Some(values)) => writeln!(text, "{name}: {values} values, {count} {}", plural(*count)),
        };
        for found in here.iter().take(MOST_LINES) {
            let _ = writeln!(text, "  {}", line(found));
        }
        if here.len() > MOST_LINES {
            let _ = writeln!(text, "  and {} more; --format json lists all", here.len() - MOST_LINES);
        }
    }
    if !findings.not_in_the_file.is_empty() {
        let _ = writeln!(text, "not in the file, so not checked: {}", findings.not_in_the_file.join(", "));
    }
    if let Some(against) = &findings.against {
        let _ = writeln!(text, "compared with {against}");
    }
    text
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "violation" } else { "violations" }
}

/// One wrong length moves everything after it; the first lines say it.
const MOST_LINES: usize = 20;

fn line(found: &Found) -> String {
    if found.property == CONSISTENCY {
        return format!("{CONSISTENCY}: {}: {}", found.array, found.meaning);
    }
    let Found { property, array, index, place, expected, found, meaning } = found;
    let index: String = index.iter().map(|at| format!("[{at}]")).collect();
    let place = if place.is_empty() { String::new() } else { format!(" ({place})") };
    let must = match (expected, found) {
        (Value::Null, _) => "must not be there".to_owned(),
        (expected, Value::Null) => format!("is missing and must be {}", short(expected)),
        (expected, found) => format!("is {} and must be {}", short(found), short(expected)),
    };
    format!("{property}: {array}{index}{place} {must}: {meaning}")
}

/// Values that fill no line.
fn short(value: &Value) -> String {
    let text = value.to_string();
    if text.chars().count() <= MOST_LETTERS { text } else { text.chars().take(MOST_LETTERS).chain("...".chars()).collect() }
}

const MOST_LETTERS: usize = 40;
