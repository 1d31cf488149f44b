//! Time put into a job: what comes after is later, and the other ranks wait.
//!
//! Work of devices that is under way keeps its length, unless it is what takes longer; spans of the host and annotations grow by
//! what is put inside them, as steps do.

use std::collections::HashMap;

use serde_json::Value;

use super::PlantedJob;
use super::events::{collectives, end_ns, is_work, of, of_mut, start_ns, us};

/// Time put into one rank, from an instant on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Insertion {
    pub(super) at_ns: i64,
    pub(super) length_ns: i64,
    /// The event that takes longer by it, where one does.
    pub(super) of: Option<usize>,
}

impl PlantedJob {
    /// Puts `insertions` into `rank`; every other rank waits as long in the next collective.
    pub(super) fn insert(&mut self, rank: usize, insertions: &[Insertion]) {
        let own = collectives(&self.ranks[rank]);
        let starts: Vec<i64> = own.iter().map(|index| start_ns(&of(&self.ranks[rank])[*index])).collect();
        for other in (0..self.ranks.len()).filter(|other| *other != rank) {
            let theirs = collectives(&self.ranks[other]);
            let waits = insertions.iter().filter_map(|insertion| {
                let next = starts.partition_point(|start| *start < insertion.at_ns);
                let waiting = *theirs.get(next)?;
                let at_ns = end_ns(&of(&self.ranks[other])[waiting]);
                Some(Insertion { at_ns, length_ns: insertion.length_ns, of: Some(waiting) })
            });
            let waits: Vec<Insertion> = waits.collect();
            warp(&mut self.ranks[other], &waits);
        }
        warp(&mut self.ranks[rank], insertions);
    }

    /// Puts `insertions` into `rank`, and nobody waits: the others are as late.
    pub(super) fn insert_alone(&mut self, rank: usize, insertions: &[Insertion]) {
        warp(&mut self.ranks[rank], insertions);
    }

    /// Puts `insertions` of `each` rank into it: all take as much longer, and nobody waits.
    pub(super) fn insert_in_all(&mut self, each: impl Fn(&Value) -> Vec<Insertion>) {
        for rank in &mut self.ranks {
            let insertions = each(rank);
            warp(rank, &insertions);
        }
    }
}

fn warp(trace: &mut Value, insertions: &[Insertion]) {
    let mut sorted = insertions.to_vec();
    sorted.sort_unstable();
    let mut grown: HashMap<usize, i64> = HashMap::new();
    for insertion in &sorted {
        if let Some(event) = insertion.of {
            *grown.entry(event).or_default() += insertion.length_ns;
        }
    }
    let mut sums = vec![0];
    sorted.iter().for_each(|insertion| sums.push(sums[sums.len() - 1] + insertion.length_ns));
    // What is put in at an instant comes before what starts there, and after what ends there.
    let until = |at_ns: i64| sums[sorted.partition_point(|insertion| insertion.at_ns <= at_ns)];
    let before = |at_ns: i64| sums[sorted.partition_point(|insertion| insertion.at_ns < at_ns)];
    for (index, event) in of_mut(trace).iter_mut().enumerate() {
        if event.get("ts").is_none() || event["ph"] == "M" {
            continue;
        }
        let (start, end) = (start_ns(event), end_ns(event));
        let moved = until(start);
        let longer = if is_work(event) { grown.get(&index).copied().unwrap_or(0) } else { (before(end) - moved).max(0) };
        if moved != 0 {
            event["ts"] = us(start + moved);
        }
        if longer != 0 {
            event["dur"] = us(end - start + longer);
        }
    }
}
