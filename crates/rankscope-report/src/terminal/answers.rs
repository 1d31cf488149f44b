//! Why ranks were late, and what balance and a faster network would be worth.

use rankscope_document::{
    Blame, BlameGroup, BlameGroupKind, BlameGroupReason, Budget, Document, LatePattern, Reason, ReasonKind, spelling,
};

use super::Sheet;
use super::table::{Table, beside};
use crate::text::{clean, shorten, wrap};
use crate::units::{counted, duration, percent};

/// Ranks whose reasons are given, reasons of each, and rows of budgets, before the rest is for report.html.
const RANKS: usize = 3;
const REASONS: usize = 3;
const BUDGETS: usize = 5;

/// A reason below this share of what the rank caused and inherited is none that a reader acts on.
const SHARE_MIN: i64 = 20;

const LONGEST_NAME: usize = 48;
const LONGEST_GROUP: usize = 24;

pub(super) fn draw(document: &Document, sheet: Sheet) -> Vec<String> {
    let late: Vec<&Blame> = late(document).collect();
    if late.is_empty() && document.blame_groups.is_empty() {
        return Vec::new();
    }
    let shown = &late[..late.len().min(RANKS)];
    let aside = match late.len() - shown.len() {
        0 => String::new(),
        rest => format!("most caused first; {} more", counted(rest, "rank")),
    };
    let mut lines = vec![sheet.heading("WHY RANKS WERE LATE", &aside)];
    let says_more = |group: &&BlameGroup| !repeats(group, shown);
    for group in document.blame_groups.iter().filter(says_more).take(RANKS) {
        lines.extend(sheet.sentence(&clean(&group.sentence)));
    }
    for blame in shown {
        let whole_ns = blame.caused_ns.saturating_add(blame.inherited_ns);
        let matters = |reason: &&Reason| reason.ns.saturating_mul(SHARE_MIN) >= whole_ns;
        let reasons = blame.reasons.iter().filter(matters).take(REASONS).map(|reason| reason_sentence(blame, reason));
        for text in std::iter::once(lateness(blame)).chain(reasons) {
            let wrapped = wrap(&text, sheet.width - 4).into_iter().enumerate();
            lines.extend(wrapped.map(|(at, line)| format!("  {}{line}", if at == 0 { "" } else { "  " })));
        }
    }
    lines
}

/// The ranks that were late by more than chance, those that caused most first.
pub(crate) fn late(document: &Document) -> impl Iterator<Item = &Blame> {
    document.blame.iter().filter(|blame| {
        // Whoever is late now and then is late by chance, as far as anybody knows.
        let in_a_pattern = matches!(blame.pattern, LatePattern::Persistent | LatePattern::Periodic);
        let named = document.blame_groups.iter().any(|group| group.ranks.contains(&blame.rank));
        (in_a_pattern || named) && blame.caused_ns + blame.inherited_ns > 0
    })
}

/// Whether a sentence says no more of a rank than that it is late, how late being said of the ranks `shown`.
fn repeats(group: &BlameGroup, shown: &[&Blame]) -> bool {
    let no_pattern = matches!(group.pattern, LatePattern::Unknown | LatePattern::None);
    let by_lateness = group.because == BlameGroupReason::Late && group.kind == BlameGroupKind::Rank;
    no_pattern && by_lateness && shown.iter().any(|blame| blame.rank == group.number)
}

/// How late a rank came in all.
pub(crate) fn lateness(blame: &Blame) -> String {
    let Blame { rank, last, of, lateness_ns, .. } = blame;
    format!(
        "Rank {rank} came last to {last} of {}, later than the median rank by {} in all.",
        counted(*of as usize, "collective"),
        duration(*lateness_ns as f64)
    )
}

/// One reason in plain words, as a share of the rank's lateness: a stretch of time that made it late for two collectives counts for both,
/// so that the time itself is no time that anybody could look up.
pub(crate) fn reason_sentence(blame: &Blame, reason: &Reason) -> String {
    let name = match (clean(&reason.name), clean(&reason.place)) {
        (name, place) if place.is_empty() => shorten(&name, LONGEST_NAME),
        (name, place) => format!("{} ({})", shorten(&name, LONGEST_NAME), shorten(&place, LONGEST_NAME)),
    };
    let what = match reason.kind {
        ReasonKind::LongerKernels => format!("kernels of {name}, which take longer than on the median rank"),
        ReasonKind::MoreKernels => format!("kernels of {name}, of which it runs more than the median rank"),
        ReasonKind::Host => format!("{name} on the host, more than on the median rank"),
        ReasonKind::Copies => format!("copies ({name}), more than on the median rank"),
        ReasonKind::Transfer => format!("communication in {name}, more than on the median rank"),
        ReasonKind::Waiting => match reason.because_of_rank {
            Some(other) => format!("waiting for rank {other} in {name}"),
            None => format!("waiting in {name}"),
        },
        ReasonKind::DeviceGap => format!("{name}, which its device starts late"),
        ReasonKind::Unrecorded => "not in its trace".to_owned(),
        ref other => format!("{name} ({})", clean(other.as_str())),
    };
    format!("{} of that is {what}.", percent(reason.ns, blame.lateness_ns))
}

/// What balance and a faster network would be worth.
pub(super) fn budgets(document: &Document, sheet: Sheet) -> Vec<String> {
    let worth = |budget: &&Budget| budget.exposed_ns > 0;
    let shown: Vec<&Budget> = document.budgets.iter().filter(worth).take(BUDGETS).collect();
    if shown.is_empty() {
        return Vec::new();
    }
    let mut names = Table::new(&["collective", "group"], 2);
    let mut figures = Table::new(&["exposed", "waiting", "transfer", "balance saves", "network saves"], 0);
    for budget in shown {
        let time = |ns: i64| duration(ns as f64);
        names.push(vec![
            shorten(&clean(spelling::collective(budget.kind.as_str(), budget.kind.as_str())), LONGEST_NAME),
            shorten(&clean(&budget.group), LONGEST_GROUP),
        ]);
        figures.push(vec![
            time(budget.exposed_ns),
            time(budget.wait_ns),
            time(budget.transfer_ns),
            time(budget.balance_saves_ns_per_step),
            time(budget.network_saves_ns_per_step),
        ]);
    }
    let aside = "exposed time summed over ranks; what is saved is wall time a step";
    [vec![sheet.heading("BUDGETS", aside)], beside(&names, &figures, "", sheet)].concat()
}
