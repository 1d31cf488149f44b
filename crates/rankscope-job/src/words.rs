//! Ranks, steps and times as sentences have them.

use rankscope_time::Rank;

/// Ranks listed in a sentence at most.
const RANKS_MAX: usize = 12;

/// The ranks as a list for people, cut where it gets long.
pub fn list(ranks: &[Rank]) -> String {
    let shown = ranks.iter().take(RANKS_MAX).map(Rank::to_string).collect::<Vec<_>>().join(", ");
    match ranks.len().saturating_sub(RANKS_MAX) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// `rank 3` or `ranks 0, 1`.
pub(crate) fn of_ranks(ranks: &[Rank]) -> String {
    format!("rank{} {}", if ranks.len() == 1 { "" } else { "s" }, list(ranks))
}

/// `step 8` or `steps 2 to 5`.
pub(crate) fn range((first, last): (i64, i64)) -> String {
    if first == last { format!("step {first}") } else { format!("steps {first} to {last}") }
}

pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}\u{a0}%", share * 100.0)
}

/// A length of time as sentences have it.
pub fn time(ns: i64) -> String {
    let ns = ns as f64;
    match ns.abs() {
        s if s >= 1e9 => format!("{:.2} s", ns / 1e9),
        ms if ms >= 1e6 => format!("{:.2} ms", ns / 1e6),
        us if us >= 1e3 => format!("{:.1} us", ns / 1e3),
        _ => format!("{ns} ns"),
    }
}
