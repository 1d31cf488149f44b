//! The clocks for a terminal: a line a node, and if asked for, rounds of each node.

use rankscope_document::{ClockDocument, ClockPoint, NodeClock, PairAgreement};

use crate::Style;
use crate::terminal::{Sheet, Table, drawn, sentences};
use crate::text::{clean, shorten};
use crate::units::{ABSENT, counted, of, offset, or_absent};

/// What to draw of a [`ClockDocument`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockTables {
    /// A line a node: its last round.
    Nodes,
    /// And below, rounds of each node.
    Rounds,
}

/// The document as text.
pub fn clock_terminal(document: &ClockDocument, tables: ClockTables, style: Style) -> String {
    let sheet = Sheet::of(style);
    let title = shorten(&clean(&document.title), sheet.width() - 11);
    let mut lines = vec![format!("{}  {}", sheet.paint().dim("rankscope"), sheet.paint().bold(&title)), facts(document)];
    let notes = sentences(&document.notes, sheet);
    if !notes.is_empty() {
        lines.push(String::new());
        lines.extend(notes);
    }
    if !document.nodes.is_empty() {
        lines.push(String::new());
        lines.push(sheet.heading("CLOCKS", "last round of each node; positive: ahead of the reference"));
        lines.extend(drawn(&nodes(document), sheet));
    }
    let pairs = looped(document);
    if !pairs.is_empty() {
        lines.push(String::new());
        let aside = "what two nodes measure of each other beyond what all others say of them";
        lines.push(sheet.heading("PAIRS", aside));
        lines.extend(drawn(&surpluses(&pairs), sheet));
    }
    if tables == ClockTables::Rounds {
        // The reference does not move against itself; alone it was asked for.
        let moves = |node: &&NodeClock| document.nodes.len() == 1 || Some(node.node) != document.reference;
        let moving: Vec<_> = document.nodes.iter().filter(|node| !node.points.is_empty()).filter(moves).collect();
        for node in moving.iter().take(NODES) {
            lines.push(String::new());
            lines.extend(rounds(node, sheet));
        }
        if let Some(more) = moving.len().checked_sub(NODES).filter(|more| *more > 0) {
            lines.push(String::new());
            lines.push(format!("{} not shown: ask for one with --node", counted(more, "more node")));
        }
    }
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Nodes whose rounds are drawn.
const NODES: usize = 8;

/// Rounds that are drawn of a node.
const ROUNDS: usize = 16;

fn facts(document: &ClockDocument) -> String {
    let reference =
        document.reference.map_or_else(|| "reference not recorded".to_owned(), |node| format!("reference node {node}"));
    let (nodes, rounds) = (counted(document.nodes.len(), "node"), counted(document.rounds as usize, "round"));
    format!("{nodes} · {rounds} · {reference}")
}

fn nodes(document: &ClockDocument) -> Table {
    let header = ["node", "offset", "bound", "smoothed", "drift ppm", "residual", "reachable", "degraded", "steps"];
    let mut table = Table::new(&header, 0);
    for node in &document.nodes {
        let last = node.points.last();
        let placed = node.points.len() as u64;
        let count = |is: fn(&ClockPoint) -> bool| node.points.iter().filter(|point| is(point)).count();
        table.push(vec![
            node.node.to_string(),
            or_absent(last, |point| offset(point.offset_ns)),
            or_absent(last, bound),
            or_absent(last, |point| smoothed(point, node.path_sigma_ns)),
            or_absent(last, |point| format!("{:.4}", point.skew_ppb / 1e3)),
            or_absent(last, |point| format!("{:.0} ns", point.residual_ns)),
            of(placed, placed + u64::from(node.unreachable)),
            some(count(|point| point.degraded)),
            some(count(|point| point.step)),
        ]);
    }
    table
}

fn rounds(node: &NodeClock, sheet: Sheet) -> Vec<String> {
    let every = node.points.len().div_ceil(ROUNDS).max(1);
    let aside = if every == 1 { String::new() } else { format!("every {every}th of {} rounds", node.points.len()) };
    let mut table = Table::new(&["round", "after", "offset", "bound", "smoothed", "drift ppm", "off its line", ""], 0);
    for (index, point) in node.points.iter().enumerate() {
        // What is out of the ordinary is never left out.
        if index % every != 0 && !point.step {
            continue;
        }
        let remark = match (point.step, point.degraded) {
            (true, true) => "step, degraded",
            (true, false) => "step",
            (false, true) => "degraded",
            (false, false) => "",
        };
        table.push(vec![
            point.round.to_string(),
            format!("{:.1} s", point.elapsed_s),
            offset(point.offset_ns),
            bound(point),
            smoothed(point, node.path_sigma_ns),
            format!("{:.4}", point.skew_ppb / 1e3),
            format!("{:+} ns", point.stray_ns),
            remark.to_owned(),
        ]);
    }
    let mut lines = vec![sheet.heading(&format!("NODE {}", node.node), &aside)];
    lines.extend(drawn(&table, sheet));
    lines
}

/// The bound as seen from the offset.
fn bound(point: &ClockPoint) -> String {
    let from_offset = |bound: i64| format!("{:+}", bound.saturating_sub(point.offset_ns));
    match (point.bound_lo_ns, point.bound_hi_ns) {
        (Some(lo), Some(hi)) => format!("{} {} ns", from_offset(lo), from_offset(hi)),
        (Some(lo), None) => format!("{} … ns", from_offset(lo)),
        (None, Some(hi)) => format!("… {} ns", from_offset(hi)),
        (None, None) => ABSENT.to_owned(),
    }
}

/// The smoothed offset as seen from the offset, and how far off it is likely to be: by chance, and by its paths.
fn smoothed(point: &ClockPoint, path_sigma_ns: Option<f64>) -> String {
    let (Some(smoothed_ns), Some(sigma_ns)) = (point.smoothed_ns, point.smoothed_sigma_ns) else { return ABSENT.to_owned() };
    let moved_ns = smoothed_ns.saturating_sub(point.offset_ns);
    format!("{moved_ns:+} ±{:.0} ns", sigma_ns.hypot(path_sigma_ns.unwrap_or(0.0)))
}

/// Pairs that are drawn, unless more are suspect.
const PAIRS: usize = 5;

/// The pairs that loops lead through, those that disagree most first.
fn looped(document: &ClockDocument) -> Vec<&PairAgreement> {
    let size = |pair: &PairAgreement| pair.surplus_ns.unwrap_or(0.0).abs();
    let mut pairs: Vec<&PairAgreement> = document.pairs.iter().filter(|pair| pair.surplus_ns.is_some()).collect();
    pairs.sort_by(|a, b| b.suspect.cmp(&a.suspect).then(size(b).total_cmp(&size(a))));
    let suspects = pairs.iter().filter(|pair| pair.suspect).count();
    pairs.truncate(suspects.max(PAIRS));
    pairs
}

fn surpluses(pairs: &[&PairAgreement]) -> Table {
    let mut table = Table::new(&["nodes", "beyond the others", "by chance", "measured", ""], 0);
    for pair in pairs {
        let surplus_ns = pair.surplus_ns.unwrap_or(0.0);
        let (from, to) = if surplus_ns > 0.0 { (pair.first, pair.second) } else { (pair.second, pair.first) };
        let remark = format!("slower from {from} to {to} than back by {:.0} ns", 2.0 * surplus_ns.abs());
        table.push(vec![
            format!("{} and {}", pair.first, pair.second),
            format!("{surplus_ns:+.0} ns"),
            format!("±{:.0} ns", pair.chance_ns),
            pair.measured.to_string(),
            if pair.suspect { remark } else { String::new() },
        ]);
    }
    table
}

fn some(count: usize) -> String {
    if count == 0 { ABSENT.to_owned() } else { count.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_keep_their_nanoseconds() {
        for (ns, text) in [
            (0, "+0 ns"),
            (-999_999, "-999999 ns"),
            (5_000_034_692, "+5.000034692 s"),
            (-1_000_000, "-0.001000000 s"),
            (i64::MIN, "-9223372036.854775808 s"),
        ] {
            assert_eq!(offset(ns), text);
        }
    }

    #[test]
    fn a_missing_bound_is_said() {
        let point = |lo, hi| ClockPoint { offset_ns: 100, bound_lo_ns: lo, bound_hi_ns: hi, ..ClockPoint::default() };
        assert_eq!(bound(&point(Some(-20), Some(190))), "-120 +90 ns");
        assert_eq!(bound(&point(None, Some(190))), "… +90 ns");
        assert_eq!(bound(&point(None, None)), ABSENT);
    }
}
