//! Whether the tasks of a document compute every query with every key up to itself, once.
//!
//! From query to query the tasks that are at hand must be a chain: the first begins with key 0, each begins where the one before
//! it ends, and the last is the one that ends with its queries. Where a task begins or ends, only the links beside it change; so
//! the links that do not fit are counted, and a document takes no more than sorting its tasks does.

use std::collections::BTreeMap;

use super::task::{SplitFault, SplitTask};
use crate::Error;

/// Checks the tasks of one document, which are in order; the first of them is number `first` of the batch.
pub(super) fn check(document: usize, tokens: u32, world_size: u32, first: usize, tasks: &[SplitTask]) -> Result<(), Error> {
    let refused = |task: usize, fault| Err(Error::SplitTask { task: first + task, document, fault });
    for (index, task) in tasks.iter().enumerate() {
        if let Some(fault) = task.fault(tokens, world_size) {
            return refused(index, fault);
        }
    }
    let mut by_end: Vec<usize> = (0..tasks.len()).collect();
    by_end.sort_unstable_by_key(|&task| tasks[task].queries.end);
    let (mut begun, mut ended) = (0, 0);
    let mut chain = Chain::default();
    let mut query = 0;
    while query < tokens {
        while let Some(&task) = by_end.get(ended).filter(|&&task| tasks[task].queries.end == query) {
            chain.remove(&tasks[task]);
            ended += 1;
        }
        while let Some(task) = tasks.get(begun).filter(|task| task.queries.start == query) {
            if !chain.insert(task, begun) {
                return refused(begun, SplitFault::Twice { query, key: task.keys.start });
            }
            begun += 1;
        }
        match chain.break_at() {
            None => {}
            Some(Break::Gap { key }) => return Err(Error::SplitGap { document, query, key }),
            Some(Break::Overlap { key, task }) => return refused(task, SplitFault::Twice { query, key }),
        }
        let next_end = by_end.get(ended).map_or(tokens, |&task| tasks[task].queries.end);
        query = tasks.get(begun).map_or(tokens, |task| task.queries.start).min(next_end);
    }
    Ok(())
}

/// The keys of the tasks at hand.
struct Chain {
    /// By first key: the end, and the task.
    links: BTreeMap<u32, (u32, usize)>,
    /// Neighbours that do not fit; the ends of the chain are neighbours, too.
    breaks: usize,
}

enum Break {
    Gap { key: u32 },
    Overlap { key: u32, task: usize },
}

/// Where the keys of a task end that end with its queries: at each query itself.
const DIAGONAL: u32 = u32::MAX;

impl Default for Chain {
    fn default() -> Self {
        Self { links: BTreeMap::new(), breaks: 1 }
    }
}

impl Chain {
    /// Whether no task at hand begins with the same key.
    fn insert(&mut self, task: &SplitTask, index: usize) -> bool {
        let (start, end) = ends(task);
        if self.links.contains_key(&start) {
            return false;
        }
        let (before, after) = self.around(start);
        self.breaks = self.breaks + usize::from(before != start) + usize::from(end != after) - usize::from(before != after);
        self.links.insert(start, (end, index));
        true
    }

    fn remove(&mut self, task: &SplitTask) {
        let (start, end) = ends(task);
        self.links.remove(&start);
        let (before, after) = self.around(start);
        self.breaks = self.breaks + usize::from(before != after) - usize::from(before != start) - usize::from(end != after);
    }

    /// Where the task before a key ends, and where the one after it begins.
    fn around(&self, key: u32) -> (u32, u32) {
        let before = self.links.range(..key).next_back().map_or(0, |(_, link)| link.0);
        let after = self.links.range(key.saturating_add(1)..).next().map_or(DIAGONAL, |(start, _)| *start);
        (before, after)
    }

    fn break_at(&self) -> Option<Break> {
        if self.breaks == 0 {
            return None;
        }
        let mut reached = 0;
        for (&start, &(end, task)) in &self.links {
            if start > reached {
                return Some(Break::Gap { key: reached });
            }
            if start < reached {
                return Some(Break::Overlap { key: start, task });
            }
            reached = end;
        }
        Some(Break::Gap { key: reached })
    }
}

fn ends(task: &SplitTask) -> (u32, u32) {
    (task.keys.start, if task.is_causal() { DIAGONAL } else { task.keys.end })
}
