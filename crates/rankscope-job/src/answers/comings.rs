//! [`Comings`]: how long the members of matched collectives stayed, and how much of that they waited.
//!
//! Who came when is what the analysis found when it lined the members up; stays are of the ranks' own clocks, and are told in the order
//! of members. What is not matched has no such thing, as nobody knows who was waited for.

use rankscope_analyze::{Arrival, Waiting};
use rankscope_answers::budgets::Stay;
use rankscope_collectives::{Instance, Kind, RankCollectives};

use crate::Job;

/// The matched collectives of a job.
pub(super) struct Comings<'a> {
    collectives: &'a [RankCollectives],
    instances: &'a [Instance],
    arrivals: &'a [Arrival],
    /// By instance, its arrival, plus 1; 0 of those that are not matched.
    arrival_of: Vec<u32>,
}

/// Members' stays in one collective at a time: room that is used again.
#[derive(Default)]
pub(super) struct Stays {
    /// In the order of members.
    pub(super) list: Vec<Stay>,
    /// By rank, how long it was there before the last one came.
    before_last_ns: Vec<i64>,
}

impl<'a> Comings<'a> {
    /// Those of `job`, whose `arrivals` are what the analysis found.
    pub(super) fn of(job: &'a Job, arrivals: &'a [Arrival]) -> Self {
        let instances = job.matched.instances.as_slice();
        let mut arrival_of = vec![0; instances.len()];
        (1..).zip(arrivals).for_each(|(next, arrival)| arrival_of[arrival.instance as usize] = next);
        Self { collectives: &job.collectives, instances, arrivals, arrival_of }
    }

    /// Each matched collective and who came when to it, in the order of the job's.
    pub(super) fn each(&self) -> impl Iterator<Item = (&'a Instance, &'a Arrival)> + use<'_, 'a> {
        let matched = self.instances.iter().zip(&self.arrival_of);
        matched.filter_map(|(instance, next)| Some((instance, &self.arrivals[(*next as usize).checked_sub(1)?])))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.arrivals.len()
    }

    /// How long each member of `instance` stayed and waited for whom it waits for, into `stays`.
    pub(super) fn stays(&self, (instance, arrival): (&Instance, &Arrival), stays: &mut Stays) {
        let Stays { list, before_last_ns } = stays;
        before_last_ns.resize(self.collectives.len(), 0);
        for (rank, ns) in arrival.order.iter().zip(&arrival.wait_ns) {
            before_last_ns[*rank as usize] = *ns;
        }
        list.clear();
        list.extend(instance.members.iter().map(|member| {
            let (rank, at) = (member.rank(), member.collective());
            let of_rank = &self.collectives[rank].collectives;
            let (stay_ns, before_last_ns) = (of_rank.stay_ns(at).max(0), before_last_ns[rank]);
            let wait_ns = match arrival.waiting {
                Waiting::ForTheLast => before_last_ns,
                Waiting::Pairwise if of_rank.operation(at).kind == Kind::Send => 0,
                Waiting::Pairwise => before_last_ns,
                Waiting::ForSome => wait_for_some_ns(&arrival.wait_ns, before_last_ns, stay_ns),
            };
            Stay { stay_ns, wait_ns: wait_ns.clamp(0, stay_ns), ..Stay::default() }
        }));
    }
}

/// How long one waited that stayed for `stay_ns`, where nobody waits for those who come later than that: until the last that came before it
/// left. All are counted back from the last one's coming; `before_last_ns`, of which the own is one, descend.
fn wait_for_some_ns(before_last_ns: &[i64], own_ns: i64, stay_ns: i64) -> i64 {
    let left_ns = own_ns.saturating_sub(stay_ns);
    let came = before_last_ns.partition_point(|other_ns| *other_ns > left_ns);
    before_last_ns[..came].last().map_or(0, |last_ns| own_ns - last_ns)
}

/// When the median rank of a collective came and when the last one did, on the job's clock.
pub(super) fn came_ns(arrival: &Arrival) -> (i64, i64) {
    let before_last_ns = |at: usize| arrival.wait_ns.get(at).copied().unwrap_or(0);
    let last_ns = arrival.start_ns.saturating_add(before_last_ns(0));
    let middle = arrival.wait_ns.len().saturating_sub(1) / 2;
    (last_ns.saturating_sub(before_last_ns(middle)), last_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_rank_of_an_even_number_is_the_earlier_one() {
        let arrival = |wait_ns: Vec<i64>| Arrival {
            row: 0,
            instance: 0,
            order: (0..wait_ns.len() as u32).collect(),
            wait_ns,
            start_ns: 100,
            transfer_ns: 0,
            end_skew_ns: 0,
            waiting: Waiting::ForTheLast,
            step: None,
        };
        assert_eq!(came_ns(&arrival(vec![50, 40, 10, 0])), (110, 150));
        assert_eq!(came_ns(&arrival(vec![50, 10, 0])), (140, 150));
        assert_eq!(came_ns(&arrival(vec![0])), (100, 100));
        assert_eq!(came_ns(&arrival(Vec::new())), (100, 100));
    }

    #[test]
    fn where_some_wait_for_some_nobody_is_waited_for_who_comes_later_than_one_leaves() {
        // They came at 0, 10, 30 and 100.
        let before_last_ns = [100, 90, 70, 0];
        let waits = |own_ns: i64, stay_ns: i64| wait_for_some_ns(&before_last_ns, own_ns, stay_ns);
        assert_eq!([5, 10, 11, 31, 200].map(|stay_ns| waits(100, stay_ns)), [0, 0, 10, 30, 100]);
        assert_eq!((waits(70, 20), waits(0, 50), waits(100, 0)), (0, 0, 0));
    }
}
