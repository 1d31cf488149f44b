//! `align --from-traces` for people. Prints; computes nothing.

use std::fmt::Write;

use rankscope_document::{BoundEnd, ClockFlip, FlippedAnswer, FromTracesDocument};

/// The answer for people.
pub(crate) fn table(document: &FromTracesDocument) -> String {
    let known = |ns: Option<i64>| ns.map_or_else(|| "-".to_owned(), microseconds);
    let mut text = format!(
        "clocks from traces alone ({}), {} of {} collectives matched\n\n{:>6} {:>16} {:>11} {:>16} {:>16}  applied\n",
        document.method,
        document.matched,
        document.matched + document.unmatched,
        "rank",
        "offset us",
        "drift ppm",
        "at least us",
        "at most us"
    );
    for row in &document.ranks {
        let ppm = row.drift_ppb as f64 / 1e3;
        let (offset, lo, hi) = (microseconds(row.offset_ns), known(row.bound_lo_ns), known(row.bound_hi_ns));
        let applied = if row.applied { "yes" } else { "no" };
        let _ = writeln!(text, "{:>6} {offset:>16} {ppm:>11.3} {lo:>16} {hi:>16}  {applied}", row.rank);
    }
    let flips = || document.flips.iter().filter(|flip| flip.conclusion != FlippedAnswer::TimesLast);
    if flips().next().is_some() {
        text.push('\n');
    }
    for flip in flips() {
        let _ = writeln!(text, "{}", sentence(flip));
    }
    for note in &document.notes {
        let _ = write!(text, "\n{note}");
    }
    text
}

fn sentence(flip: &ClockFlip) -> String {
    let rank = |rank: Option<u64>| rank.map_or_else(|| "nobody".to_owned(), |rank| format!("rank {rank}"));
    let what = if flip.conclusion == FlippedAnswer::Late { "late" } else { "last most often" };
    let moved = flip.moved.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let whose = if flip.moved.len() == 1 { "clock of rank" } else { "clocks of ranks" };
    let end = if flip.end == BoundEnd::Lo { "least" } else { "most" };
    let they = if flip.moved.len() == 1 { "it" } else { "they" };
    let (from, to) = (rank(flip.from), rank(flip.to));
    format!("With the {whose} {moved} at the {end} {they} can be ahead, {what} would be {to} instead of {from}.")
}

fn microseconds(ns: i64) -> String {
    format!("{:.3}", ns as f64 / 1e3)
}
