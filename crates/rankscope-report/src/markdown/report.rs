//! A report for a pull request or a chat: what to do first, who is late, where the time goes and what it rests on, in as much as fits a screen.
//!
//! However large the job and however long its names, it is shorter than what such places take in one message; what is left out is counted, and
//! is in report.html.

use std::fmt::Write as _;

use rankscope_document::{Advice, Blame, Confidence, Document, LateRank, NoteLevel, Rank, spelling};

use super::{code, command, escaped, table};
use crate::terminal::{facts, late, lateness, reason_sentence, step_words, why_nobody_is_compared};
use crate::text::{clean, shorten};
use crate::units::{counted, duration, of, or_absent, percent};

/// The report as Markdown of GitHub's kind.
pub fn report_markdown(document: &Document) -> String {
    let mut text = format!("### rankscope: {}\n\n{}", code(&document.title), headline(document));
    let facts: Vec<String> = facts(document).iter().map(|fact| told(fact)).collect();
    let _infallible = writeln!(text, "{}.\n", facts.join(" · "));
    text += &notes(document);
    if document.is_training() && !document.ranks.is_empty() {
        text += &who_is_late(document);
        text += &where_the_time_goes(document);
        text += &what_would_help(document);
        text += &collectives(document);
    }
    let _infallible = writeln!(
        text,
        "Times are wall time unless a column says otherwise. report.html has the rest. Written by rankscope {}.",
        told(&document.rankscope_version)
    );
    text
}

/// Columns of a sentence. Some hold names, and some names are long.
const SENTENCE: usize = 320;

fn told(text: &str) -> String {
    escaped(&shorten(&clean(text), SENTENCE))
}

/// The first advice with what it is worth; else nothing, as the findings follow.
fn headline(document: &Document) -> String {
    let Some(advice) = document.advice.first() else { return String::new() };
    format!("**{}.** Worth {} {}.\n\n", told(&advice.title), worth(advice), step_words(document))
}

/// What a step would save, and what that is at least and at most.
fn worth(advice: &Advice) -> String {
    let time = |ns: i64| duration(ns as f64);
    match advice {
        Advice { lo_ns, hi_ns, worth_ns_per_step, .. } if lo_ns == hi_ns => time(*worth_ns_per_step),
        advice => format!("{} ({} to {})", time(advice.worth_ns_per_step), time(advice.lo_ns), time(advice.hi_ns)),
    }
}

/// Notes of each level, and how many of them.
const NOTES: [(NoteLevel, &str, usize); 3] =
    [(NoteLevel::Finding, "", 5), (NoteLevel::Caution, "Caution: ", 3), (NoteLevel::Problem, "Problem: ", 3)];

fn notes(document: &Document) -> String {
    let mut text = String::new();
    for (level, label, most) in NOTES {
        let notes: Vec<_> = document.notes.iter().filter(|note| note.level == level).collect();
        for note in notes.iter().take(most) {
            let _infallible = writeln!(text, "- {label}{}", told(&note.text));
        }
        if let Some(more) = notes.len().checked_sub(most).filter(|more| *more > 0) {
            let _infallible = writeln!(text, "- {label}{more} more in report.html");
        }
    }
    if text.is_empty() { text } else { text + "\n" }
}

/// Ranks of a table.
const RANKS: usize = 5;

fn who_is_late(document: &Document) -> String {
    let title = "#### Who is late\n\n";
    if let Some(reason) = why_nobody_is_compared(document) {
        return format!("{title}{}\n\n", told(reason));
    }
    let verdict = &document.verdict;
    let row = |late: &LateRank| {
        let time = |ns: i64| duration(ns as f64);
        vec![
            late.rank.to_string(),
            time(late.delay_wall_ns),
            format!("{} to {}", time(late.lo_ns), time(late.hi_ns)),
            format!("{:.1} %", late.share * 100.0),
            sure(late.confidence).to_owned(),
        ]
    };
    let rows: Vec<Vec<String>> = verdict.late.iter().take(RANKS).map(row).collect();
    let mut text = title.to_owned();
    if rows.is_empty() {
        text += "No rank is named late.\n\n";
    }
    text += &table(&["rank", "holds the others up for", "interval", "of the time recorded", "confidence"], &rows);
    if let Some(more) = verdict.late.len().checked_sub(RANKS).filter(|more| *more > 0) {
        let _infallible = writeln!(text, "{} more {} late.\n", counted(more, "rank"), if more == 1 { "is" } else { "are" });
    }
    text + &why(document)
}

fn sure(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::High => "high",
        Confidence::Medium => "medium",
        Confidence::Low => "low",
    }
}

/// Reasons given of a rank.
const REASONS: usize = 2;

/// Why those who stand out were late, each in a sentence or three.
fn why(document: &Document) -> String {
    let mut text = String::new();
    let late: Vec<&Blame> = late(document).collect();
    for blame in late.iter().take(RANKS) {
        let reasons = blame.reasons.iter().take(REASONS).map(|reason| reason_sentence(blame, reason));
        let sentences: Vec<String> = std::iter::once(lateness(blame)).chain(reasons).map(|text| told(&text)).collect();
        let _infallible = writeln!(text, "- {}", sentences.join(" "));
    }
    if text.is_empty() { text } else { text + "\n" }
}

fn where_the_time_goes(document: &Document) -> String {
    let mut ranks: Vec<&Rank> = document.ranks.iter().collect();
    let share = |rank: &Rank| rank.time_ns.computation as f64 / rank.time_ns.total.max(1) as f64;
    ranks.sort_by(|a, b| share(a).total_cmp(&share(b)).then(a.rank.cmp(&b.rank)));
    let row = |rank: &&Rank| {
        let time = &rank.time_ns;
        let share = |part| percent(part, time.total);
        vec![
            rank.rank.to_string(),
            duration(time.total as f64),
            share(time.computation),
            share(time.exposed_comm),
            share(time.exposed_memcpy),
            share(time.idle),
        ]
    };
    let rows: Vec<Vec<String>> = ranks.iter().take(RANKS).map(row).collect();
    let mut text = "#### Where the time goes\n\n".to_owned();
    text += &table(&["rank", "total", "computation", "exposed communication", "exposed copies", "idle"], &rows);
    if let Some(more) = ranks.len().checked_sub(RANKS).filter(|more| *more > 0) {
        let _infallible = writeln!(text, "Least computation first; {} more.\n", counted(more, "rank"));
    }
    text
}

/// Advice listed, and figures given of each.
const ADVICE: usize = 5;
const EVIDENCE: usize = 3;

fn what_would_help(document: &Document) -> String {
    if document.advice.is_empty() {
        return String::new();
    }
    let mut text = "<details><summary>What would help</summary>\n\n".to_owned();
    for (at, advice) in document.advice.iter().take(ADVICE).enumerate() {
        let _infallible = writeln!(text, "{}. **{}**: {} {}", at + 1, told(&advice.title), worth(advice), step_words(document));
        let evidence = advice.evidence.iter().take(EVIDENCE).map(|evidence| told(evidence));
        let ends = [format!("Check: {}", command(&advice.check)), format!("Try: {}", told(&advice.remedy))];
        for line in evidence.chain(ends) {
            let _infallible = writeln!(text, "   - {line}");
        }
    }
    if let Some(more) = document.advice.len().checked_sub(ADVICE).filter(|more| *more > 0) {
        let _infallible = writeln!(text, "\n{more} more in report.html.");
    }
    text + "\n</details>\n\n"
}

/// Collectives listed.
const COLLECTIVES: usize = 5;

fn collectives(document: &Document) -> String {
    let mut groups: Vec<_> = document.collectives.groups.iter().collect();
    groups.sort_by_key(|group| std::cmp::Reverse((group.exposed_ns, group.count)));
    let row = |group: &&rankscope_document::CollectiveGroup| {
        vec![
            code(spelling::collective(&group.name, group.kind.as_str())),
            or_absent(group.bytes, crate::units::bytes),
            group.ranks.to_string(),
            of(group.matched, group.count),
            or_absent(group.transfer_ns_mean, duration),
            or_absent(group.wait_ns_mean, duration),
            or_absent(group.busbw_gbps_mean, crate::units::rate),
            duration(group.exposed_ns as f64),
        ]
    };
    let rows: Vec<Vec<String>> = groups.iter().take(COLLECTIVES).map(row).collect();
    if rows.is_empty() {
        return String::new();
    }
    let head = ["collective", "size", "ranks", "matched", "transfer", "wait", "bus bandwidth", "exposed, all ranks"];
    let mut text = format!("<details><summary>Collectives</summary>\n\n{}", table(&head, &rows));
    if let Some(more) = groups.len().checked_sub(COLLECTIVES).filter(|more| *more > 0) {
        let _infallible = writeln!(text, "Most exposed first; {more} more in report.html.\n");
    }
    text + "</details>\n\n"
}
