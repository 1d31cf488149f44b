//! One collective of the job as tables see it, and all of them in order of time.

use rankscope_analyze::{Arrival, Lineup, Map, Waiting, described, group_name, ranks_of};
use rankscope_collectives::{CollectiveStay, Group, Instance, Kind, element_bytes};
use rankscope_document::spelling::ranks_in_short;
use rankscope_document::{Link, WaitsFor};
use rankscope_time::Rank;

use super::clock_error::ClockErrors;
use crate::Job;
use crate::nodes::Nodes;

/// What is the same for all collectives.
pub(super) struct Scene<'a> {
    pub(super) job: &'a Job,
    pub(super) nodes: Nodes,
    pub(super) errors: ClockErrors<'a>,
    /// The process groups, by index.
    pub(super) groups: Vec<GroupFacts<'a>>,
    /// First arrival at any collective, on the job's clock.
    pub(super) origin_ns: i64,
    /// The collectives in order of time.
    order: &'a [(&'a Instance, Arrival)],
}

/// Which of the clocks' error bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bar {
    /// What they may be off in practice.
    InPractice,
    /// What they may be off at all.
    AtMost,
}

/// A process group, described.
pub(crate) struct GroupFacts<'a> {
    pub(crate) group: &'a Group,
    /// As tables name it.
    pub(crate) label: String,
    /// Its ranks; of one that lists none, those that were seen in it. Ascending.
    pub(crate) members: Vec<Rank>,
    pub(crate) link: Link,
}

/// One collective.
pub(super) struct Seen<'a> {
    /// Its number in order of time.
    pub(super) id: u64,
    /// First arrival, from the scene's origin on.
    pub(super) at_ns: i64,
    pub(super) instance: &'a Instance,
    /// The member that says most about it.
    pub(super) first: CollectiveStay<'a>,
    pub(super) arrival: &'a Arrival,
    /// Ranks that it is between.
    pub(super) size: u32,
    /// Whether ranks put in different amounts, or may.
    pub(super) is_uneven: bool,
    /// Elements each rank put in, where that is the same.
    pub(super) in_elements: Option<u64>,
    /// Bytes that bandwidths count.
    pub(super) bytes: Option<u64>,
    /// In order of arrival.
    pub(super) stays: Vec<Stay<'a>>,
}

/// One rank's part in it.
#[derive(Clone, Copy)]
pub(super) struct Stay<'a> {
    /// Index of the rank.
    pub(super) rank: usize,
    pub(super) one: CollectiveStay<'a>,
    /// Its own time in it: wait and transfer together.
    pub(super) stay_ns: i64,
    /// Until the last had come, no longer than it stayed.
    pub(super) wait_ns: i64,
    /// The rest.
    pub(super) transfer_ns: i64,
    /// As much of its own time as no compute hid.
    pub(super) exposed_ns: i64,
    /// By how much it came before the last, however long it stayed.
    pub(super) before_last_ns: i64,
}

/// Collectives with who came when to each, in order of time.
pub(super) fn in_order(job: &Job) -> Vec<(&Instance, Arrival)> {
    let maps: Vec<&Map> = job.clocks.ranks.iter().map(|rank| &rank.map).collect();
    let instances = &job.matched.instances;
    let mut order = Vec::with_capacity(instances.len());
    Lineup::of(&job.collectives, &maps).each(instances, |instance, arrival| order.push((instance, arrival)));
    order.sort_by_key(|(_, arrival)| arrival.start_ns);
    order
}

impl<'a> Scene<'a> {
    /// Of `job`, whose collectives are in `order`.
    pub(super) fn of(job: &'a Job, order: &'a [(&'a Instance, Arrival)]) -> Self {
        let nodes = Nodes::of(job);
        Self {
            job,
            groups: groups(job, &nodes),
            nodes,
            errors: ClockErrors::of(job),
            origin_ns: order.first().map_or(0, |(_, arrival)| arrival.start_ns),
            order,
        }
    }

    /// Shows every collective to `show`, in order of time.
    pub(super) fn each(&self, mut show: impl FnMut(&Seen<'a>)) {
        for (id, (instance, arrival)) in (0..).zip(self.order) {
            show(&self.seen(id, instance, arrival));
        }
    }

    /// The number of the rank at `index`.
    pub(super) fn rank(&self, index: usize) -> u32 {
        self.job.ranks[index].rank.0
    }

    /// What the clocks of two ranks may be off, in practice or at most.
    pub(super) fn error_ns(&self, a: usize, b: usize, bar: Bar) -> Option<i64> {
        match bar {
            Bar::InPractice => self.errors.in_practice_ns(a, b, &self.nodes),
            Bar::AtMost => self.errors.at_most_ns(a, b, &self.nodes),
        }
    }

    fn seen(&self, id: u64, instance: &'a Instance, arrival: &'a Arrival) -> Seen<'a> {
        let collectives = &self.job.collectives;
        let first = described(instance, collectives);
        let size = ranks_of(instance, first, self.groups[instance.group].group);
        let stay = |(rank, before_last_ns): (usize, i64)| {
            let number = instance.members.of_rank(rank)?.collective();
            let one = collectives[rank].collectives.stay(number);
            let exposed_ns = self.job.ranks[rank].report.exposed_ns.get(number).unwrap_or(0);
            let stay_ns = one.end_ns.saturating_sub(one.start_ns).max(0);
            let wait_ns = before_last_ns.clamp(0, stay_ns);
            let transfer_ns = stay_ns - wait_ns;
            Some(Stay { rank, one, stay_ns, wait_ns, transfer_ns, exposed_ns, before_last_ns })
        };
        let stays: Vec<Stay<'a>> = arrival.order.iter().filter_map(stay).collect();
        let put_in = || stays.iter().map(|stay| stay.one.in_elements);
        // A rank whose kernel says nothing of itself is no other than the rest.
        let differ = put_in().flatten().any(|elements| Some(elements) != first.in_elements);
        let is_uneven = first.kind == Kind::AllToAll
            && (differ
                || first.name.ends_with("alltoallv")
                || first.name.ends_with("to_allv")
                || stays.iter().any(|stay| stay.one.splits.is_some()));
        let in_elements = first.in_elements.filter(|_| !is_uneven);
        let bytes = if is_uneven { mean_bytes(first, put_in()) } else { first.bytes(size) };
        let at_ns = arrival.start_ns.saturating_sub(self.origin_ns);
        Seen { id, at_ns, instance, first, arrival, size, is_uneven, in_elements, bytes, stays }
    }
}

/// What a rank puts in on average; none where that is not known of each.
fn mean_bytes(first: CollectiveStay<'_>, put_in: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let (mut sum, mut ranks) = (0_u64, 0);
    for elements in put_in {
        (sum, ranks) = (sum.checked_add(elements?)?, ranks + 1);
    }
    sum.checked_mul(element_bytes(&first.dtype)?)?.checked_div(ranks)
}

/// The process groups of `job`, described.
pub(crate) fn groups<'a>(job: &'a Job, nodes: &Nodes) -> Vec<GroupFacts<'a>> {
    let mut members: Vec<Vec<Rank>> = job.matched.groups.iter().map(|group| group.ranks.to_vec()).collect();
    let unlisted = |group: usize| job.matched.groups[group].ranks.is_empty();
    for instance in job.matched.instances.iter().filter(|instance| unlisted(instance.group)) {
        let list = &mut members[instance.group];
        for member in instance.members.iter() {
            let rank = job.ranks[member.rank()].rank;
            if let Err(at) = list.binary_search(&rank) {
                list.insert(at, rank);
            }
        }
    }
    let facts = |(group, members): (&'a Group, Vec<Rank>)| GroupFacts {
        group,
        label: group_name(group),
        link: nodes.link(members.iter().copied()),
        members,
    };
    job.matched.groups.iter().zip(members).map(facts).collect()
}

impl<'a> Seen<'a> {
    /// Whether every rank that was given has it.
    pub(super) fn is_matched(&self) -> bool {
        self.instance.complete
    }

    /// Index of its process group.
    pub(super) fn group(&self) -> usize {
        self.instance.group
    }

    /// Whom a rank waits for in it.
    pub(super) fn waits_for(&self) -> WaitsFor {
        waits_for(self.first.kind)
    }

    /// As much of `wait_ns` as is only what ranks can have waited at most.
    pub(super) fn at_most_ns(&self, wait_ns: i64) -> i64 {
        if self.waits_for() == WaitsFor::Some { wait_ns } else { 0 }
    }

    /// Whether ranks race to it: more than one, and it is no message, whose receiver may come last without anybody waiting.
    pub(super) fn is_race(&self) -> bool {
        self.is_matched() && self.stays.len() > 1 && self.arrival.waiting != Waiting::Pairwise
    }

    /// Who came last; none where nobody can be compared.
    pub(super) fn last(&self) -> Option<&Stay<'a>> {
        self.stays.last().filter(|_| self.is_matched())
    }

    /// Mean over ranks of the wait.
    pub(super) fn wait_mean_ns(&self) -> f64 {
        self.wait_sum_ns() as f64 / self.stays.len().max(1) as f64
    }

    /// Sum over ranks of the wait.
    pub(super) fn wait_sum_ns(&self) -> i64 {
        self.stays.iter().fold(0, |sum: i64, stay| sum.saturating_add(stay.wait_ns))
    }

    /// Last arrival minus first.
    pub(super) fn start_skew_ns(&self) -> i64 {
        self.arrival.order.wait_ns(0)
    }

    /// What the clocks of the first and the last rank may be off.
    pub(super) fn error_ns(&self, scene: &Scene<'_>, bar: Bar) -> Option<i64> {
        scene.error_ns(self.stays.first()?.rank, self.stays.last()?.rank, bar)
    }

    /// Bytes over transfer, in bytes a nanosecond; none where either is not known or nothing.
    pub(super) fn algbw_gbps(&self) -> Option<f64> {
        let bytes = self.bytes.filter(|bytes| *bytes > 0 && self.is_matched() && self.arrival.transfer_ns > 0)?;
        Some(bytes as f64 / self.arrival.transfer_ns as f64)
    }

    /// The same, times the traffic that the operation causes per rank.
    pub(super) fn busbw_gbps(&self) -> Option<f64> {
        Some(self.algbw_gbps()? * self.first.kind.bus_factor(self.size))
    }

    /// The indices of the ranks, beside the last, that may have been the last within what the clocks leave open.
    pub(super) fn others_maybe_last<'b>(&'b self, scene: &'b Scene<'_>, bar: Bar) -> impl Iterator<Item = usize> + 'b {
        let last = self.stays.last().map(|last| last.rank);
        let others = self.stays.iter().rev().skip(1);
        let may_be = move |stay: &&Stay<'_>| {
            // Where the clocks agree, an equal arrival is a tie and settled by the rank's number.
            let error_ns = last.map_or(Some(0), |last| scene.error_ns(stay.rank, last, bar));
            error_ns.is_none_or(|error_ns| error_ns > 0 && stay.before_last_ns <= error_ns)
        };
        others.filter(may_be).map(|stay| stay.rank)
    }
}

/// Whom a rank waits for in an operation of this kind.
pub(super) fn waits_for(kind: Kind) -> WaitsFor {
    whom(Waiting::of(kind))
}

/// Whom a rank waits for, as the document has it.
pub(crate) fn whom(waiting: Waiting) -> WaitsFor {
    match waiting {
        Waiting::ForTheLast => WaitsFor::Last,
        Waiting::Pairwise => WaitsFor::Peer,
        Waiting::ForSome => WaitsFor::Some,
    }
}

/// Ascending ranks as text, runs of them as `0-3`.
pub(super) fn ranges(ranks: impl Iterator<Item = u32>) -> String {
    ranks_in_short(ranks, ",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_in_a_row_are_a_range() {
        assert_eq!(ranges([0, 1, 2, 3, 8, 10, 11].into_iter()), "0-3,8,10-11");
        assert_eq!(ranges([u32::MAX].into_iter()), u32::MAX.to_string());
        assert_eq!(ranges([].into_iter()), "");
    }
}
