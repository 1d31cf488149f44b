//! The report for a pull request, as it is posted.

mod common;

use rankscope_document::{Advice, Because, Blame, Confidence, Document, LatePattern, LateRank, Reason};
use rankscope_report::report_markdown;

/// What GitHub takes in one comment, in characters.
const COMMENT_MAX: usize = 65_536;

fn with_answers() -> Document {
    let late = LateRank {
        rank: 5,
        delay_wall_ns: 31 * common::MS,
        lo_ns: 29 * common::MS,
        hi_ns: 33 * common::MS,
        share: 0.124,
        confidence: Confidence::High,
        because: Because::CameLast,
    };
    let advice = Advice {
        title: "Rank 5 makes the others wait with aten::mm".to_owned(),
        worth_ns_per_step: 3 * common::MS,
        lo_ns: 2 * common::MS,
        hi_ns: 4 * common::MS,
        ranks: vec![5],
        evidence: vec!["It came last to 31 of 38 collectives.".to_owned()],
        check: "rankscope report ops --rank 5".to_owned(),
        remedy: "look at its clock frequency".to_owned(),
        ..Advice::default()
    };
    let reason = Reason { name: "aten::mm".to_owned(), ns: 20 * common::MS, ..Reason::default() };
    let blame = Blame {
        rank: 5,
        lateness_ns: 31 * common::MS,
        caused_ns: 31 * common::MS,
        last: 31,
        of: 38,
        pattern: LatePattern::Persistent,
        reasons: vec![reason],
        ..Blame::default()
    };
    let mut document = common::eight_gpus();
    document.verdict.late = vec![late];
    (document.advice, document.blame) = (vec![advice], vec![blame]);
    document
}

#[test]
fn a_late_rank_has_its_error_bars_its_reason_and_what_to_do() {
    insta::assert_snapshot!(report_markdown(&with_answers()));
}

#[test]
fn what_cannot_be_said_is_said() {
    let text = report_markdown(&common::one_of_eight());
    assert!(text.contains("One rank alone cannot show who is late"), "{text}");
    let text = report_markdown(&common::eight_gpus());
    assert!(text.contains("No rank is named late."), "{text}");
    assert!(report_markdown(&Document::default()).starts_with("### rankscope: "));
}

#[test]
fn a_job_of_any_size_with_names_of_any_length_fits_a_comment() {
    let long = format!("{}{}", common::HOSTILE, "`|<a href='https://a.b'>\\\n&@x".repeat(4_000));
    let mut document = with_answers();
    document.title = long.clone();
    document.ranks = common::job(3000, 1, 1).ranks;
    let advice = Advice {
        title: long.clone(),
        evidence: vec![long.clone(); 50],
        check: long.clone(),
        remedy: long.clone(),
        ..document.advice[0].clone()
    };
    document.advice = vec![advice; 40];
    document.verdict.late = vec![document.verdict.late[0].clone(); 3000];
    for note in &mut document.notes {
        note.text = long.clone();
    }
    document.notes = vec![document.notes.clone(); 20].concat();
    let mut blame = document.blame[0].clone();
    blame.reasons[0].name = long.clone();
    document.blame = vec![blame; 3000];
    for group in &mut document.collectives.groups {
        group.name = long.clone();
    }
    document.collectives.groups = vec![document.collectives.groups.clone(); 30].concat();
    let text = report_markdown(&document);
    assert!(text.chars().count() < COMMENT_MAX, "{}", text.chars().count());
    for line in text.lines() {
        let (cells, columns) = (cells(line), 6..=9);
        assert!(!line.starts_with('|') || columns.contains(&cells), "{cells} cells: {line}");
    }
    let outside: String = text.lines().flat_map(|line| line.split('`').step_by(2)).collect();
    assert!(!outside.contains("<a") && !outside.contains("<img") && !outside.contains("<script"), "{outside}");
    assert!(!text.contains(['\u{1b}', '\u{202e}']));
}

/// Bars that part cells: those without a backslash before them, where a backslash before a backslash is none.
fn cells(line: &str) -> usize {
    let mut bars = 0;
    let mut letters = line.chars();
    while let Some(c) = letters.next() {
        match c {
            '\\' => drop(letters.next()),
            '|' => bars += 1,
            _ => {}
        }
    }
    bars
}
