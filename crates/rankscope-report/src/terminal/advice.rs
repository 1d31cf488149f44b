//! What to do first: the first advice in the first line, and the list of what would help.

use rankscope_document::{Advice, Document};

use super::Sheet;
use crate::text::{clean, wrap};
use crate::units::duration;

/// Advice that is listed before the rest is for report.json.
const LISTED: usize = 5;

/// The first advice, which stands above everything else.
pub(super) fn first(document: &Document, sheet: Sheet) -> Vec<String> {
    let Some(advice) = document.advice.first() else { return Vec::new() };
    let (title, worth) = (clean(&advice.title), duration(advice.worth_ns_per_step as f64));
    let text = format!("{title}. Worth {worth} {}.", step_words(document));
    wrap(&text, sheet.width()).iter().map(|line| sheet.paint().bold(line)).collect()
}

/// What advice saves its worth of. The path of a recording without steps is of no step.
pub(crate) fn step_words(document: &Document) -> &'static str {
    if document.critical_path.iter().any(|path| path.step.is_none()) { "in all" } else { "a step" }
}

/// All advice, in the order of the document: what slows single ranks may stand before what is worth more.
pub(super) fn draw(document: &Document, sheet: Sheet) -> Vec<String> {
    if document.advice.is_empty() {
        return Vec::new();
    }
    let by_worth = document.advice.is_sorted_by_key(|advice| std::cmp::Reverse(advice.worth_ns_per_step));
    let order = if by_worth { "worth most first" } else { "single ranks first, then by worth" };
    let aside = match document.advice.len().saturating_sub(LISTED) {
        0 => order.to_owned(),
        more => format!("{order}; {more} more in report.json"),
    };
    let listed = document.advice.iter().take(LISTED).enumerate();
    let lines = listed.flat_map(|(at, advice)| one(at + 1, advice, sheet));
    std::iter::once(sheet.heading("WHAT WOULD HELP", &aside)).chain(lines).collect()
}

fn one(number: usize, advice: &Advice, sheet: Sheet) -> Vec<String> {
    let ends = [format!("Check: {}", advice.check), format!("Try: {}", advice.remedy)];
    let texts = std::iter::once(format!("{}.", advice.title)).chain(advice.evidence.iter().cloned()).chain(ends);
    let lines = texts.flat_map(|text| wrap(&clean(&text), sheet.width() - 5));
    let lead = |at: usize| if at == 0 { format!("  {number}. ") } else { " ".repeat(5) };
    lines.enumerate().map(|(at, line)| lead(at) + &line).collect()
}
