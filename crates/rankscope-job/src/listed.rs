//! What a document lists of what grows with the job: as much as people and programs read, counted in cells.
//!
//! A cell is one rank's part in one collective. What is cut is counted elsewhere in the document; nothing is summed here that
//! other tables have.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rankscope_analyze::{Arrival, Class, HotName, Lacking};
use rankscope_document::{CollectiveInstance, Kernel, UnmatchedCollective};

use crate::JobRank;

/// Cells of all instances listed, and of all unmatched collectives.
const CELLS_MAX: usize = 640_000;

/// What an instance counts for at least: what stands beside its lists is as long as the lists of so many.
const CELLS_MIN: usize = 16;

/// Members up to which all of an instance are listed.
const MEMBERS_MAX: usize = 64;

/// First and last members listed of an instance that has more.
const MEMBERS_AT_ENDS: usize = 8;

/// Unmatched collectives listed at most.
const UNMATCHED_MAX: usize = 1_000;

/// Ranks up to which names are listed for each; of more they are for the job.
const KERNEL_RANKS_MAX: usize = 256;

/// The instances of `arrivals` that are listed. `number` tells the rank at an index.
pub(crate) fn instances(arrivals: &[Arrival], number: impl Fn(usize) -> u32) -> Vec<CollectiveInstance> {
    let count = within(arrivals.iter().map(|arrival| members_listed(arrival).max(CELLS_MIN)));
    arrivals[..count].iter().map(|arrival| instance(arrival, &number)).collect()
}

fn instance(arrival: &Arrival, number: impl Fn(usize) -> u32) -> CollectiveInstance {
    let count = arrival.order.len();
    let is_cut = count > MEMBERS_MAX;
    let ends = || {
        let (first, last) = if is_cut { (MEMBERS_AT_ENDS, count - MEMBERS_AT_ENDS) } else { (count, count) };
        (0..first).chain(last..count)
    };
    CollectiveInstance {
        group: arrival.row,
        start_ns: arrival.start_ns,
        members: is_cut.then_some(count as u64),
        arrival_order: ends().map(|at| number(arrival.order.at(at).0)).collect(),
        wait_ns: ends().map(|at| arrival.order.wait_ns(at)).collect(),
        transfer_ns: arrival.transfer_ns,
        end_skew_ns: arrival.end_skew_ns,
    }
}

fn members_listed(arrival: &Arrival) -> usize {
    Some(arrival.order.len()).filter(|count| *count <= MEMBERS_MAX).unwrap_or(2 * MEMBERS_AT_ENDS)
}

/// The collectives of `lacking` that are listed.
pub(crate) fn unmatched(lacking: &[Lacking], number: impl Fn(usize) -> u32) -> Vec<UnmatchedCollective> {
    let count = within(lacking.iter().take(UNMATCHED_MAX).map(|lacking| lacking.present.len() + lacking.absent.len()));
    let numbers = |indices: &[usize]| indices.iter().map(|index| number(*index)).collect();
    let one = |lacking: &Lacking| UnmatchedCollective {
        name: lacking.name.clone(),
        process_group: lacking.group.clone(),
        present: numbers(&lacking.present),
        absent: numbers(&lacking.absent),
        start_ns: lacking.start_ns,
    };
    lacking[..count].iter().map(one).collect()
}

/// How many from the front have no more cells than are listed.
fn within(cells: impl Iterator<Item = usize>) -> usize {
    let mut left = CELLS_MAX;
    let fits = |cells: &usize| left.checked_sub(*cells).map(|rest| left = rest).is_some();
    cells.take_while(fits).count()
}

/// What ran longest on a rank of a job of so many.
pub(crate) fn kernels_of_rank(names: &[HotName], ranks: usize) -> Vec<Kernel> {
    if ranks > KERNEL_RANKS_MAX { Vec::new() } else { names.iter().take(Kernel::LISTED_MAX).map(kernel).collect() }
}

/// What ran longest on all `ranks` together, where they are too many to list it for each.
pub(crate) fn kernels_of_job(ranks: &[JobRank]) -> Vec<Kernel> {
    if ranks.len() <= KERNEL_RANKS_MAX {
        return Vec::new();
    }
    let mut sums: BTreeMap<(&str, Class), (u64, i64)> = BTreeMap::new();
    for name in ranks.iter().flat_map(|rank| &rank.report.names) {
        let sum = sums.entry((&name.name, name.class)).or_default();
        *sum = (sum.0.saturating_add(name.count), sum.1.saturating_add(name.total_ns));
    }
    let mut names: Vec<_> = sums.into_iter().collect();
    names.sort_by_key(|(_, (_, total_ns))| Reverse(*total_ns));
    let kernel = |((name, class), (count, total_ns)): ((&str, Class), (u64, i64))| Kernel {
        name: name.to_owned(),
        class: class.name().into(),
        count,
        total_ns,
    };
    names.into_iter().take(Kernel::LISTED_MAX).map(kernel).collect()
}

fn kernel(name: &HotName) -> Kernel {
    Kernel { name: name.name.clone(), class: name.class.name().into(), count: name.count, total_ns: name.total_ns }
}

#[cfg(test)]
mod tests {
    use rankscope_analyze::{Order, RankReport, Waiting};
    use rankscope_time::Rank;

    use super::*;

    /// The first comes 1 ns before the second, and so on.
    fn arrival(members: u32) -> Arrival {
        let order = Order::of((0..members).map(|at| (at, i64::from(members - 1 - at))));
        let waiting = Waiting::ForTheLast;
        Arrival { row: 0, instance: 0, order, start_ns: 7, transfer_ns: 1, end_skew_ns: 0, waiting, step: None }
    }

    #[test]
    fn of_many_members_those_at_both_ends_are_listed() {
        let listed = instances(&[arrival(64), arrival(1_000)], |index| index as u32 + 5);
        assert_eq!((listed[0].members, listed[0].arrival_order.len()), (None, 64));
        assert_eq!(listed[1].members, Some(1_000));
        assert_eq!(listed[1].arrival_order[..], [5, 6, 7, 8, 9, 10, 11, 12, 997, 998, 999, 1_000, 1_001, 1_002, 1_003, 1_004]);
        assert_eq!((listed[1].wait_ns.len(), listed[1].wait_ns[0], listed[1].wait_ns[15]), (16, 999, 0));
    }

    #[test]
    fn lists_are_as_long_as_their_cells_allow() {
        for (members, listed) in [(64, 10_000), (32, 20_000), (2, 40_000), (4_096, 40_000)] {
            let arrivals = vec![arrival(members); 40_001];
            assert_eq!(instances(&arrivals, |index| index as u32).len(), listed, "of {members} members");
        }
        for (ranks, listed) in [(8, 1_000), (1_024, 625), (16_384, 39)] {
            let lacking = Lacking {
                name: String::new(),
                group: String::new(),
                present: vec![0],
                absent: vec![1; ranks - 1],
                start_ns: 0,
            };
            assert_eq!(unmatched(&vec![lacking; 1_100], |_| 0).len(), listed, "of {ranks} ranks");
        }
    }

    #[test]
    fn names_are_listed_for_each_rank_or_for_the_job() {
        let name = |name: &str, total_ns| HotName { name: name.to_owned(), class: Class::Compute, count: 2, total_ns };
        let mut report = RankReport::default();
        report.names = vec![name("longest", 50), name("next", 40)];
        let mut part = crate::Part::of(&mut rankscope_trace::Trace::default(), &rankscope_analyze::Classes::default());
        part.report = report.clone();
        let rank = |at: u32| JobRank {
            rank: Rank(at),
            about: part.about.clone(),
            exports: Vec::new(),
            tracers: Vec::new(),
            report: report.clone(),
            evidence: None,
            tables: None,
            execution: None,
        };
        let few: Vec<JobRank> = (0..256).map(rank).collect();
        assert_eq!((kernels_of_rank(&report.names, 256).len(), kernels_of_job(&few).len()), (2, 0));
        let many: Vec<JobRank> = (0..257).map(rank).collect();
        assert_eq!(kernels_of_rank(&report.names, 257).len(), 0);
        let listed = kernels_of_job(&many);
        assert_eq!((listed[0].name.as_str(), listed[0].count, listed[0].total_ns), ("longest", 514, 257 * 50));
        assert_eq!(listed.len(), 2);
    }
}
