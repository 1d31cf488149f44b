//! Who is late: how often each rank came last at a matched collective, and what that cost the others.

use rankscope_document::{Document, RankArrivals, Unnamed};

use super::Sheet;
use super::bar::level;
use super::selection::{ALL, select};
use super::table::Table;
use crate::text::width_of;
use crate::units::{counted, duration, of};

pub(super) fn draw(document: &Document, sheet: Sheet) -> Vec<String> {
    let collectives = &document.collectives;
    if document.ranks.is_empty() {
        return Vec::new();
    }
    let heading = |aside: &str| sheet.heading("WHO IS LATE", aside);
    if let Some(reason) = why_nobody_is_compared(document) {
        return [vec![heading("")], sheet.sentence(reason)].concat();
    }
    let mut ranks: Vec<&RankArrivals> = collectives.ranks.iter().collect();
    ranks.sort_by_key(|rank| (std::cmp::Reverse((rank.delay_ns, rank.last)), rank.rank));
    let selection = select(&ranks);
    let shown: Vec<&RankArrivals> = selection.worst.iter().chain(selection.best).copied().collect();
    let (header, rows) = table(&shown).lines();

    let found = collectives.matched + collectives.unmatched;
    let aside = format!("most delay first; matched {} collectives", of(collectives.matched, found));
    let mut lines = vec![heading(&aside), format!("  {}", sheet.paint.dim(&header))];
    let width = sheet.width.saturating_sub(2 + width_of(&header) + 2).min(BAR);
    let largest = shown.first().map_or(0, |rank| rank.delay_ns);
    for (i, (rank, row)) in shown.iter().zip(rows).enumerate() {
        if selection.hidden > 0 && i == selection.worst.len() {
            lines.push(sheet.paint.dim(&format!("  … {} between these not shown", counted(selection.hidden, "rank"))));
        }
        lines.push(format!("  {row}  {}", sheet.paint.with("33", &level(rank.delay_ns, largest, width))));
    }
    debug_assert!(shown.len() <= ALL);
    lines
}

fn table(ranks: &[&RankArrivals]) -> Table {
    let mut table = Table::new(&["rank", "came last", "first", "waited", "delay caused"], 0);
    for rank in ranks {
        table.push(vec![
            rank.rank.to_string(),
            of(rank.last, rank.matched),
            rank.first.to_string(),
            duration(rank.wait_ns as f64),
            duration(rank.delay_ns as f64),
        ]);
    }
    table
}

/// Why lateness cannot be told, most basic reason first.
pub(crate) fn why_nobody_is_compared(document: &Document) -> Option<&'static str> {
    let collectives = &document.collectives;
    if document.ranks.len() < 2 {
        return Some("One rank alone cannot show who is late: give the traces of the others, too.");
    }
    match document.verdict.reason {
        Some(Unnamed::NotComparable) => {
            return Some("The traces contradict each other (see above), so ranks are not compared.");
        }
        _ if collectives.matched > 0 && collectives.ranks.iter().all(|rank| rank.matched == 0) => {
            return Some(
                "Only messages between two ranks were matched. A rank that is late with one may itself have waited for another, so arrivals do not show who is late; the computing time of each rank does.",
            );
        }
        _ => {}
    }
    match (collectives.matched, collectives.unmatched) {
        (0, 0) => Some("There are no collectives in these traces, so they do not show which rank the others wait for."),
        (0, _) => Some("No collective was found on all of its ranks (matched 0), so arrivals cannot be compared."),
        _ => None,
    }
}

const BAR: usize = 24;
