//! [`Comings`]: who came when to matched collectives, and how long their members waited and moved data.
//!
//! Who came when is what the analysis found when it lined the members up; stays are of the ranks' own clocks, and are told in the order
//! of members. What is not matched has no such thing, as nobody knows who was waited for.

use rankscope_analyze::{Arrival, Order, Waiting};
use rankscope_answers::budgets::{Stay, transfer_ns};
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
    list: Vec<Stay>,
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

    /// How long the transfer of one of them took.
    pub(super) fn transfer_ns(&self, one: (&Instance, &Arrival), stays: &mut Stays) -> Option<i64> {
        match one.1.waiting {
            // The shortest stay, which is known.
            Waiting::ForTheLast => Some(one.1.transfer_ns.max(0)),
            waiting => {
                self.look_up(one, stays);
                transfer_ns(waiting, &stays.list)
            }
        }
    }

    /// How long each member of one of them stayed and waited for whom it waits for.
    fn look_up(&self, (instance, arrival): (&Instance, &Arrival), stays: &mut Stays) {
        let Stays { list, before_last_ns } = stays;
        before_last_ns.resize(self.collectives.len(), 0);
        for (rank, ns) in arrival.order.iter() {
            before_last_ns[rank] = ns;
        }
        list.clear();
        list.extend(instance.members.iter().map(|member| {
            let own = &self.collectives[member.rank()].collectives;
            let stay_ns = own.stay_ns(member.collective()).max(0);
            let kind = || own.operation(member.collective()).kind;
            let wait_ns = wait_ns(arrival, kind, before_last_ns[member.rank()], stay_ns);
            Stay { stay_ns, wait_ns, ..Stay::default() }
        }));
    }
}

/// How long one waited for whom it waits for, that does something of a `kind`, came `before_last_ns` before the last one did and stayed for
/// `stay_ns`.
#[inline]
pub(super) fn wait_ns(arrival: &Arrival, kind: impl FnOnce() -> Kind, before_last_ns: i64, stay_ns: i64) -> i64 {
    let wait_ns = match arrival.waiting {
        Waiting::ForTheLast => before_last_ns,
        Waiting::Pairwise if kind() == Kind::Send => 0,
        Waiting::Pairwise => before_last_ns,
        Waiting::ForSome => wait_for_some_ns(&arrival.order, before_last_ns, stay_ns),
    };
    wait_ns.clamp(0, stay_ns)
}

/// How long one waited that stayed for `stay_ns`, where nobody waits for those who come later than that: until the last that came before it
/// left. All are counted back from the last one's coming, those in `order` and the own, which is one of them.
fn wait_for_some_ns(order: &Order, own_ns: i64, stay_ns: i64) -> i64 {
    let left_ns = own_ns.saturating_sub(stay_ns);
    let last = order.longer_than(left_ns).checked_sub(1);
    last.map_or(0, |last| own_ns - order.wait_ns(last))
}

/// When the median rank of a collective came and when the last one did, on the job's clock.
pub(super) fn came_ns(arrival: &Arrival) -> (i64, i64) {
    let last_ns = arrival.start_ns.saturating_add(arrival.order.wait_ns(0));
    let middle = arrival.order.len().saturating_sub(1) / 2;
    (last_ns.saturating_sub(arrival.order.wait_ns(middle)), last_ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_rank_of_an_even_number_is_the_earlier_one() {
        let arrival = |wait_ns: Vec<i64>| Arrival {
            row: 0,
            instance: 0,
            order: Order::of((0..wait_ns.len()).map(|at| (at as u32, wait_ns[at]))),
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
        let before_last_ns = Order::of([(0, 100), (1, 90), (2, 70), (3, 0)].into_iter());
        let waits = |own_ns: i64, stay_ns: i64| wait_for_some_ns(&before_last_ns, own_ns, stay_ns);
        assert_eq!([5, 10, 11, 31, 200].map(|stay_ns| waits(100, stay_ns)), [0, 0, 10, 30, 100]);
        assert_eq!((waits(70, 20), waits(0, 50), waits(100, 0)), (0, 0, 0));
    }
}
