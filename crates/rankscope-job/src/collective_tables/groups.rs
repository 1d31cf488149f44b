//! Time in collectives by process group, and by what groups are for.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rankscope_collectives::Parallelism;
use rankscope_document::{GroupRow, Link, ParallelismRow};

use super::Gathers;
use super::seen::{Scene, Seen, ranges};

pub(super) struct Groups {
    sums: Vec<Sums>,
}

#[derive(Clone, Copy, Default)]
struct Sums {
    groups: u64,
    count: u64,
    matched: u64,
    bytes: u64,
    collective_ns: i64,
    wait_ns: i64,
    wait_at_most_ns: i64,
    transfer_ns: i64,
    unmatched_ns: i64,
}

impl Groups {
    pub(super) fn of(scene: &Scene<'_>) -> Self {
        Self { sums: vec![Sums { groups: 1, ..Sums::default() }; scene.groups.len()] }
    }

    /// By group, and by what they are for, those with most time first.
    pub(super) fn rows(self, scene: &Scene<'_>) -> (Vec<GroupRow>, Vec<ParallelismRow>) {
        let mut rows: Vec<GroupRow> = Vec::new();
        let mut kinds: BTreeMap<(Option<Parallelism>, Link), Sums> = BTreeMap::new();
        for (facts, sums) in scene.groups.iter().zip(&self.sums).filter(|(_, sums)| sums.count > 0) {
            let parallelism = Parallelism::of(facts.group);
            rows.push(GroupRow {
                process_group: facts.label.clone(),
                parallelism: parallelism.as_ref().map(ToString::to_string),
                members: ranges(facts.members.iter().map(|rank| rank.0)),
                group_size: facts.members.len() as u32,
                nodes: scene.nodes.all(facts.members.iter().copied()).map(|nodes| nodes.len() as u64),
                link: facts.link.clone(),
                count: sums.count,
                matched: sums.matched,
                bytes: sums.bytes,
                collective_ns: sums.collective_ns,
                wait_ns: sums.wait_ns,
                transfer_ns: sums.transfer_ns,
                unmatched_ns: sums.unmatched_ns,
                wait_share: sums.wait_share(),
                wait_at_most_ns: sums.wait_at_most_ns,
            });
            kinds.entry((parallelism, facts.link.clone())).or_default().join(sums);
        }
        // Groups stand in one order whatever the ranks are read in.
        rows.sort_by_key(|row| Reverse(row.collective_ns));
        let mut kinds: Vec<ParallelismRow> = kinds.into_iter().map(parallelism_row).collect();
        kinds.sort_by_key(|row| Reverse(row.collective_ns));
        (rows, kinds)
    }
}

fn parallelism_row(((parallelism, link), sums): ((Option<Parallelism>, Link), Sums)) -> ParallelismRow {
    ParallelismRow {
        parallelism: parallelism.map(|known| known.to_string()),
        link,
        groups: sums.groups,
        count: sums.count,
        matched: sums.matched,
        bytes: sums.bytes,
        collective_ns: sums.collective_ns,
        wait_ns: sums.wait_ns,
        transfer_ns: sums.transfer_ns,
        unmatched_ns: sums.unmatched_ns,
        wait_share: sums.wait_share(),
        wait_at_most_ns: sums.wait_at_most_ns,
    }
}

impl<'a> Gathers<'a> for Groups {
    fn add(&mut self, _: &Scene<'a>, seen: &Seen<'a>) {
        let sum =
            |of: fn(&super::seen::Stay<'_>) -> i64| seen.stays.iter().fold(0, |sum: i64, stay| sum.saturating_add(of(stay)));
        let stay_ns = sum(|stay| stay.stay_ns);
        let one = Sums { groups: 0, count: 1, bytes: seen.bytes.unwrap_or(0), collective_ns: stay_ns, ..Sums::default() };
        let wait_ns = sum(|stay| stay.wait_ns);
        let wait_at_most_ns = seen.at_most_ns(wait_ns);
        self.sums[seen.group()].join(&match seen.is_matched() {
            true => Sums { matched: 1, wait_ns, wait_at_most_ns, transfer_ns: sum(|stay| stay.transfer_ns), ..one },
            false => Sums { unmatched_ns: stay_ns, ..one },
        });
    }
}

impl Sums {
    fn join(&mut self, other: &Self) {
        self.groups += other.groups;
        self.count += other.count;
        self.matched += other.matched;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.collective_ns = self.collective_ns.saturating_add(other.collective_ns);
        self.wait_ns = self.wait_ns.saturating_add(other.wait_ns);
        self.wait_at_most_ns = self.wait_at_most_ns.saturating_add(other.wait_at_most_ns);
        self.transfer_ns = self.transfer_ns.saturating_add(other.transfer_ns);
        self.unmatched_ns = self.unmatched_ns.saturating_add(other.unmatched_ns);
    }

    fn wait_share(&self) -> Option<f64> {
        (self.collective_ns > 0).then(|| self.wait_ns as f64 / self.collective_ns as f64)
    }
}
