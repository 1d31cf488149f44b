//! What a step would take if something were different, for a terminal: the answer in a sentence, what the replay is off by, and the
//! ranking.

use rankscope_document::{RankedChange, WhatIfDocument};

use crate::Style;
use crate::terminal::{Sheet, Table, drawn, joined};
use crate::text::{clean, shorten, wrap};
use crate::units::{counted, duration, percent};

/// The document as text, with at most `top` rows of the ranking.
pub fn what_if_terminal(document: &WhatIfDocument, top: usize, style: Style) -> String {
    let sheet = Sheet::of(style);
    let title = shorten(&clean(&document.title), sheet.width() - 11);
    let mut heading = vec![format!("{}  {}", sheet.paint().dim("rankscope"), sheet.paint().bold(&title))];
    heading.extend(wrap(&replayed(document), sheet.width()));
    let answer = if document.changes.is_empty() { Vec::new() } else { wrap(&answer(document), sheet.width()) };
    let answer = answer.into_iter().map(|line| sheet.paint().bold(&line)).collect();
    let notes = document.notes.iter().flat_map(|note| wrap(&format!("! {}", clean(note)), sheet.width())).collect();
    joined(vec![heading, notes, answer, ranking(document, top, sheet)])
}

/// `A step`, or `The recording`, where there are none.
fn whole(document: &WhatIfDocument) -> &'static str {
    if document.steps == 0 { "The recording" } else { "A step" }
}

fn replayed(document: &WhatIfDocument) -> String {
    let mean = match document.steps {
        0 => String::new(),
        steps => format!(" (mean of {})", counted(usize::try_from(steps).unwrap_or(usize::MAX), "step")),
    };
    format!(
        "{} took {}{mean}. Replayed without changes it takes {}: the replay is off by {:+.2} %.",
        whole(document),
        duration(document.base_step_ns as f64),
        duration(document.replayed_step_ns as f64),
        document.replay_error * 100.0
    )
}

fn answer(document: &WhatIfDocument) -> String {
    let changes: Vec<String> = document.changes.iter().map(|change| clean(change)).collect();
    let what = if document.steps == 0 { "the recording" } else { "a step" };
    let best = if document.changes.iter().any(|change| is_list(change)) { " at best" } else { "" };
    format!(
        "With {} {what} takes {}{best}: {}.",
        changes.join(" and "),
        duration(document.changed_step_ns as f64),
        saved(document.saved_ns, document.replayed_step_ns)
    )
}

/// Whether a change names several values.
fn is_list(change: &str) -> bool {
    change.rsplit_once('=').is_some_and(|(_, values)| values.contains(','))
}

fn saved(saved_ns: i64, of_ns: i64) -> String {
    let (size, share) = (duration(saved_ns.unsigned_abs() as f64), percent(saved_ns.saturating_abs(), of_ns));
    match saved_ns {
        0 => "it changes nothing".to_owned(),
        ..0 => format!("{size} ({share}) longer"),
        _ => format!("{size} ({share}) less"),
    }
}

fn ranking(document: &WhatIfDocument, top: usize, sheet: Sheet) -> Vec<String> {
    if document.ranking.is_empty() {
        return Vec::new();
    }
    let aside = match (document.changes.is_empty(), document.changes.iter().any(|change| is_list(change))) {
        (true, _) => "each change by itself; try others with --set",
        (false, true) => "each combination of the values",
        (false, false) => "each change by itself",
    };
    let mut table = Table::new(&["change", "takes", "saves", ""], 1);
    let name_width = sheet.width().saturating_sub(40);
    for row in document.ranking.iter().take(top) {
        table.push(cells(row, document.replayed_step_ns, name_width));
    }
    let mut lines = vec![sheet.heading("WHAT SAVES MOST", aside)];
    lines.extend(drawn(&table, sheet));
    let more = document.ranking.len().saturating_sub(top);
    if more > 0 {
        lines.push(format!("  and {more} more; --top shows them"));
    }
    lines
}

fn cells(row: &RankedChange, of_ns: i64, name_width: usize) -> Vec<String> {
    let sign = if row.saved_ns < 0 { "-" } else { "" };
    let saves = format!("{sign}{}", duration(row.saved_ns.unsigned_abs() as f64));
    let share = format!("{sign}{}", percent(row.saved_ns.saturating_abs(), of_ns));
    vec![shorten(&clean(&row.change), name_width), duration(row.changed_step_ns as f64), saves, share]
}

#[cfg(test)]
mod tests {
    use super::*;

    const STYLE: Style = Style { color: false, width: 90 };

    fn document() -> WhatIfDocument {
        let row = |change: &str, saved_ns: i64| RankedChange {
            change: change.to_owned(),
            changed_step_ns: 100_000_000 - saved_ns,
            saved_ns,
        };
        WhatIfDocument {
            schema: 1,
            title: "run".into(),
            steps: 12,
            base_step_ns: 99_000_000,
            replayed_step_ns: 100_000_000,
            replay_error: 0.0101,
            changed_step_ns: 100_000_000,
            ranking: vec![row("rank:2=median", 40_000_000), row("op:aten::mm=0.5x", 5_000_000), row("rank:0=median", -10_000)],
            notes: vec!["ranks are missing".into()],
            ..WhatIfDocument::default()
        }
    }

    #[test]
    fn a_ranking_is_a_table_under_the_error_of_the_replay() {
        assert_eq!(
            what_if_terminal(&document(), 2, STYLE),
            "rankscope  run\n\
             A step took 99.0 ms (mean of 12 steps). Replayed without changes it takes 100 ms: the\n\
             replay is off by +1.01 %.\n\
             \n\
             ! ranks are missing\n\
             \n\
             WHAT SAVES MOST  each change by itself; try others with --set\n  \
               change              takes    saves\n  \
               rank:2=median     60.0 ms  40.0 ms  40.0 %\n  \
               op:aten::mm=0.5x  95.0 ms  5.00 ms   5.0 %\n  \
               and 1 more; --top shows them\n"
        );
    }

    #[test]
    fn an_answer_is_a_sentence() {
        let changed = WhatIfDocument {
            changes: vec!["op:aten::mm=0.5x,0.8x".into(), "overlap=perfect".into()],
            changed_step_ns: 80_000_000,
            saved_ns: 20_000_000,
            ..document()
        };
        let text = what_if_terminal(&changed, 10, Style { width: 120, ..STYLE });
        let expected = "With op:aten::mm=0.5x,0.8x and overlap=perfect a step takes 80.0 ms at best: 20.0 ms (20.0 %) less.\n";
        assert!(text.contains(expected), "{text}");
        assert!(text.contains("each combination of the values") && text.contains("-10.0 us  -0.0 %"), "{text}");
    }
}
