//! Critical paths of a page: one a step, each with what is longest on it and what is nearly on it.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use rankscope_document::{CriticalPath, Document, PathShare, Slack};
use serde::Serialize;

use super::super::budget::{Cuts, keep};
use super::super::packed::{Digits, Names, Packed};

/// Lists have an entry for each path.
#[derive(Debug, Serialize)]
pub(super) struct Paths {
    step: Packed,
    rank: Packed,
    length_ns: Packed,
    hops: Packed,
    /// The classes that `by_class` has, path after path.
    classes: Vec<String>,
    by_class: Packed,
    top: Top,
    slack: Slacks,
}

/// What is longest on each, one path after the other.
#[derive(Debug, Serialize)]
struct Top {
    lengths: Packed,
    name: Packed,
    kernel: Packed,
    class: Packed,
    rank: Packed,
    ns: Packed,
    count: Packed,
}

/// What is nearly on each, one path after the other.
#[derive(Debug, Serialize)]
struct Slacks {
    lengths: Packed,
    name: Packed,
    rank: Packed,
    least_ns: Packed,
    ns: Packed,
}

/// Paths, each with two dozen names.
const PATHS: usize = 100;

impl Paths {
    pub(super) fn of<'a>(document: &'a Document, names: &mut Names<'a>, cuts: &mut Cuts) -> Self {
        let kept = keep(&document.critical_path, PATHS, |_| 1, |path| Reverse(path.length_ns));
        cuts.paths = kept.full;
        let paths = kept.items;
        let classes: BTreeSet<&String> = paths.iter().flat_map(|path| path.by_class.keys()).collect();
        let of_path = |path: &&CriticalPath| classes.iter().map(|class| path.by_class.get(*class).copied()).collect::<Vec<_>>();
        Self {
            step: Packed::of(paths.iter().map(|path| path.step), Digits::All),
            rank: Packed::ranks(paths.iter().map(|path| path.rank)),
            length_ns: Packed::exact(paths.iter().map(|path| path.length_ns)),
            hops: Packed::exact(paths.iter().map(|path| count(path.hops))),
            by_class: Packed::of(paths.iter().flat_map(of_path), Digits::All),
            top: top(&paths, names),
            slack: slack(&paths, names),
            classes: classes.into_iter().cloned().collect(),
        }
    }
}

fn top<'a>(paths: &[&'a CriticalPath], names: &mut Names<'a>) -> Top {
    let all: Vec<&PathShare> = paths.iter().flat_map(|path| &path.top).collect();
    Top {
        lengths: Packed::counts(paths.iter().map(|path| path.top.len())),
        name: Packed::counts(all.iter().map(|share| names.place(&share.name))),
        kernel: Packed::counts(all.iter().map(|share| names.place(&share.kernel))),
        class: Packed::counts(all.iter().map(|share| names.place(&share.class))),
        rank: Packed::ranks(all.iter().map(|share| share.rank)),
        ns: Packed::exact(all.iter().map(|share| share.ns)),
        count: Packed::exact(all.iter().map(|share| count(share.count))),
    }
}

fn slack<'a>(paths: &[&'a CriticalPath], names: &mut Names<'a>) -> Slacks {
    let all: Vec<&Slack> = paths.iter().flat_map(|path| &path.slack).collect();
    Slacks {
        lengths: Packed::counts(paths.iter().map(|path| path.slack.len())),
        name: Packed::counts(all.iter().map(|slack| names.place(&slack.name))),
        rank: Packed::ranks(all.iter().map(|slack| slack.rank)),
        least_ns: Packed::exact(all.iter().map(|slack| slack.least_ns)),
        ns: Packed::exact(all.iter().map(|slack| slack.ns)),
    }
}

fn count(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
