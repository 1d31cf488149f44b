//! Where the time goes: every rank's total, and how much of it was what.

use rankscope_document::{Document, Rank};

use super::Sheet;
use super::bar::{CLASSES, legend, stack};
use super::selection::{ALL, select};
use super::table::Table;
use crate::text::width_of;
use crate::units::{counted, percent};

pub(super) fn draw(document: &Document, sheet: Sheet) -> Vec<String> {
    if document.ranks.is_empty() {
        return Vec::new();
    }
    let mut ranks: Vec<&Rank> = document.ranks.iter().collect();
    let many = ranks.len() > ALL;
    if many {
        ranks.sort_by(|a, b| share(a).total_cmp(&share(b)).then(a.rank.cmp(&b.rank)));
    }
    let selection = select(&ranks);
    let shown: Vec<&Rank> = selection.worst.iter().chain(selection.best).copied().collect();
    let (header, rows) = table(&shown).lines();

    let room = sheet.width.saturating_sub(2 + width_of(&header) + 2).min(BAR);
    let width = if room < SHORTEST_BAR { 0 } else { room };
    let aside = if many { "least computation first" } else { "share of each rank's total" };
    let mut lines = vec![sheet.heading("WHERE THE TIME GOES", aside), format!("  {}", sheet.paint.dim(&header))];
    for (i, (rank, row)) in shown.iter().zip(rows).enumerate() {
        if selection.hidden > 0 && i == selection.worst.len() {
            lines.push(sheet.paint.dim(&format!("  … {} between these not shown", counted(selection.hidden, "rank"))));
        }
        lines.push(format!("  {row}  {}", stack(&rank.time_ns, width, sheet.paint)));
    }
    if width > 0 {
        lines.push(format!("  {}", legend(sheet.paint)));
    }
    lines
}

fn table(ranks: &[&Rank]) -> Table {
    let mut table = Table::new(&["rank", "total ms", "compute", "exp. comm", "exp. memcpy", "idle"], 0);
    debug_assert_eq!(CLASSES.len(), 4);
    let longest = ranks.iter().map(|rank| rank.time_ns.total).max().unwrap_or(0);
    for rank in ranks {
        let time = &rank.time_ns;
        let share = |part| percent(part, time.total);
        table.push(vec![
            rank.rank.to_string(),
            milliseconds(time.total, longest),
            share(time.computation),
            share(time.exposed_comm),
            share(time.exposed_memcpy),
            share(time.idle),
        ]);
    }
    table
}

/// One unit for the whole column, so that ranks compare at a glance; decimals follow the largest.
fn milliseconds(ns: i64, longest: i64) -> String {
    let decimals = if longest < 10_000_000 { 3 } else { 1 };
    format!("{:.decimals$}", ns as f64 / 1e6)
}

/// Computation over total; a rank without time sorts last.
fn share(rank: &Rank) -> f64 {
    let time = &rank.time_ns;
    if time.total > 0 { time.computation as f64 / time.total as f64 } else { f64::INFINITY }
}

const BAR: usize = 40;
/// A shorter bar shows less than the figures beside it.
const SHORTEST_BAR: usize = 8;
