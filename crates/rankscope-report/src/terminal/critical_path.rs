//! What the typical step had to wait for: its critical path by class and rank, and what is longest on it.

use std::fmt::Display;

use rankscope_document::{CriticalPath, Document};

use super::table::Table;
use super::{Sheet, drawn};
use crate::text::{clean, shorten};
use crate::units::{counted, duration, percent};

pub(super) fn draw(document: &Document, sheet: Sheet) -> Vec<String> {
    let Some(path) = typical(&document.critical_path) else { return Vec::new() };
    let length = duration(path.length_ns as f64);
    let aside = match path.step {
        Some(step) => {
            format!("step {step}, of median length among {}: {length}", counted(document.critical_path.len(), "step"))
        }
        None => format!("the whole recording: {length}"),
    };
    let by_class = shares(path.by_class.iter().map(|(class, ns)| (spelled(class), *ns)), path.length_ns);
    let by_rank = shares(path.by_rank.iter().map(|(rank, ns)| (format!("rank {rank}"), *ns)), path.length_ns);
    let mut lines = vec![sheet.heading("CRITICAL PATH", &aside)];
    lines.extend(sheet.sentence(&by_class));
    lines.extend(sheet.sentence(&by_rank));
    lines.extend(drawn(&top(path, sheet.width), sheet));
    lines
}

/// The path of the step of median length; of two in the middle the shorter one.
fn typical(paths: &[CriticalPath]) -> Option<&CriticalPath> {
    let mut paths: Vec<&CriticalPath> = paths.iter().filter(|path| path.length_ns > 0).collect();
    paths.sort_by_key(|path| (path.length_ns, path.step));
    let middle = paths.len().checked_sub(1)? / 2;
    paths.get(middle).copied()
}

/// `compute 61.0 %, host 30.2 %`, the largest first, of at most [`MOST`]; what is left is `others`.
fn shares(parts: impl Iterator<Item = (impl Display, i64)>, whole_ns: i64) -> String {
    let mut parts: Vec<(String, i64)> = parts.filter(|(_, ns)| *ns > 0).map(|(what, ns)| (what.to_string(), ns)).collect();
    parts.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    let rest: i64 = parts.iter().skip(MOST).map(|(_, ns)| ns).sum();
    parts.truncate(MOST);
    let rest = (rest > 0).then(|| ("others".to_owned(), rest));
    let shares = parts.into_iter().chain(rest).map(|(what, ns)| format!("{what} {}", percent(ns, whole_ns)));
    shares.collect::<Vec<_>>().join(", ")
}

fn top(path: &CriticalPath, width: usize) -> Table {
    let mut table = Table::new(&["longest on it", "class", "rank", "time", "share", "pieces"], 2);
    let room = width.saturating_sub(FIGURES).clamp(SHORTEST_NAME, LONGEST_NAME);
    for share in path.top.iter().take(SHOWN) {
        table.push(vec![
            shorten(&clean(&share.name), room),
            spelled(&share.class),
            share.rank.to_string(),
            duration(share.ns as f64),
            percent(share.ns, path.length_ns),
            share.count.to_string(),
        ]);
    }
    table
}

/// A class as people say it.
fn spelled(class: &str) -> String {
    clean(match class {
        "device_gap" => "device gap",
        "unknown" => "not recorded",
        "clock" => "clocks disagree",
        other => other,
    })
}

/// Classes and ranks named in a line.
const MOST: usize = 6;
/// Parts listed.
const SHOWN: usize = 5;
/// Columns that everything but the names takes.
const FIGURES: usize = 52;
const SHORTEST_NAME: usize = 18;
const LONGEST_NAME: usize = 60;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_typical_step_is_that_of_median_length() {
        let path = |(step, length_ns)| CriticalPath { step: Some(step), length_ns, ..CriticalPath::default() };
        let of = |lengths: &[i64]| {
            let paths: Vec<CriticalPath> = (0..).zip(lengths.iter().copied()).map(path).collect();
            typical(&paths).and_then(|path| path.step)
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[0]), None);
        assert_eq!(of(&[90, 10, 11]), Some(2));
        assert_eq!(of(&[90, 10, 11, 12]), Some(2));
    }

    #[test]
    fn shares_are_in_order_and_the_small_ones_together() {
        let parts = (1..=8).map(|rank| (format!("rank {rank}"), rank * 10));
        let line = "rank 8 22.2 %, rank 7 19.4 %, rank 6 16.7 %, rank 5 13.9 %, rank 4 11.1 %, rank 3 8.3 %, others 8.3 %";
        assert_eq!(shares(parts, 360), line);
    }
}
