//! Why ranks were late, and what balance and a faster network would be worth.

use rankscope_document::{Blame, Budget, Document, LatePattern, Reason, ReasonKind, spelling};

use super::table::Table;
use super::{Sheet, drawn};
use crate::text::{clean, shorten, wrap};
use crate::units::{counted, duration};

/// Ranks whose reasons are given, reasons of each, and rows of budgets, before the rest is for report.html.
const RANKS: usize = 3;
const REASONS: usize = 3;
const BUDGETS: usize = 5;

/// A reason below this share of what the rank caused and inherited is none that a reader acts on.
const SHARE_MIN: i64 = 20;

const LONGEST_NAME: usize = 48;
const LONGEST_GROUP: usize = 24;

pub(super) fn draw(document: &Document, sheet: Sheet) -> Vec<String> {
    let steps = document.ranks.iter().map(|rank| rank.steps.len()).max().unwrap_or(0) as i64;
    let stands_out = |blame: &&Blame| {
        // Whoever is late now and then is late by chance, as far as anybody knows.
        let in_a_pattern = matches!(blame.pattern, LatePattern::Persistent | LatePattern::Periodic);
        let named = document.blame_groups.iter().any(|group| group.ranks.contains(&blame.rank));
        (in_a_pattern || named) && blame.caused_ns + blame.inherited_ns > 0
    };
    let late: Vec<&Blame> = document.blame.iter().filter(stands_out).collect();
    if late.is_empty() && document.blame_groups.is_empty() {
        return Vec::new();
    }
    let shown = &late[..late.len().min(RANKS)];
    let aside = match late.len() - shown.len() {
        0 => String::new(),
        rest => format!("most caused first; {} more", counted(rest, "rank")),
    };
    let mut lines = vec![sheet.heading("WHY RANKS WERE LATE", &aside)];
    for group in document.blame_groups.iter().take(RANKS) {
        lines.extend(sheet.sentence(&clean(&group.sentence)));
    }
    for blame in shown {
        let whole_ns = blame.caused_ns.saturating_add(blame.inherited_ns);
        let matters = |reason: &&Reason| reason.ns.saturating_mul(SHARE_MIN) >= whole_ns;
        for reason in blame.reasons.iter().filter(matters).take(REASONS) {
            let text = sentence(blame.rank, reason, steps);
            lines.extend(
                wrap(&text, sheet.width - 4)
                    .into_iter()
                    .enumerate()
                    .map(|(at, line)| format!("  {}{line}", if at == 0 { "" } else { "  " })),
            );
        }
    }
    lines
}

/// One reason in plain words: what the rank spends on it beside the median rank.
fn sentence(rank: u32, reason: &Reason, steps: i64) -> String {
    let each = |ns: i64| duration(ns as f64 / steps.max(1) as f64);
    let step = if steps > 0 { " a step" } else { "" };
    let (own, median, more) = (each(reason.ns.saturating_add(reason.median_ns)), each(reason.median_ns), each(reason.ns));
    let name = match (clean(&reason.name), clean(&reason.place)) {
        (name, place) if place.is_empty() => shorten(&name, LONGEST_NAME),
        (name, place) => format!("{} ({})", shorten(&name, LONGEST_NAME), shorten(&place, LONGEST_NAME)),
    };
    match reason.kind {
        ReasonKind::LongerKernels => format!("Rank {rank} spends {own}{step} in kernels of {name}, the median rank {median}."),
        ReasonKind::MoreKernels => format!("Rank {rank} runs more kernels of {name}: {more}{step}."),
        ReasonKind::Host => format!("Rank {rank} spends {own}{step} in {name}, the median rank {median}."),
        ReasonKind::Copies => format!("Rank {rank} spends {own}{step} copying ({name}), the median rank {median}."),
        ReasonKind::Transfer => format!("Rank {rank} spends {own}{step} communicating in {name}, the median rank {median}."),
        ReasonKind::Waiting => match reason.because_of_rank {
            Some(other) => {
                format!("Rank {rank} waits for rank {other} in {name}: {more}{step} longer than the median rank waits.")
            }
            None => format!("Rank {rank} waits in {name}: {more}{step} longer than the median rank."),
        },
        ReasonKind::DeviceGap => format!("The device of rank {rank} starts {name} late: {more}{step}."),
        ReasonKind::Unrecorded => format!("The trace of rank {rank} does not show what {more}{step} went to."),
        ref other => format!("Rank {rank} loses {more}{step} to {name} ({}).", clean(other.as_str())),
    }
}

/// What balance and a faster network would be worth.
pub(super) fn budgets(document: &Document, sheet: Sheet) -> Vec<String> {
    let worth = |budget: &&Budget| budget.exposed_ns > 0;
    let shown: Vec<&Budget> = document.budgets.iter().filter(worth).take(BUDGETS).collect();
    if shown.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(&["collective", "group", "exposed", "waiting", "transfer", "balance saves", "network saves"], 2);
    for budget in shown {
        let time = |ns: i64| duration(ns as f64);
        table.push(vec![
            shorten(&clean(spelling::collective(budget.kind.as_str(), budget.kind.as_str())), LONGEST_NAME),
            shorten(&clean(&budget.group), LONGEST_GROUP),
            time(budget.exposed_ns),
            time(budget.wait_ns),
            time(budget.transfer_ns),
            time(budget.balance_saves_ns_per_step),
            time(budget.network_saves_ns_per_step),
        ]);
    }
    let aside = "exposed time summed over ranks; what is saved is wall time a step";
    [vec![sheet.heading("BUDGETS", aside)], drawn(&table, sheet)].concat()
}
