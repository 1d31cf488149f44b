//! Budgets: what the exposed time of collectives would be worth, if ranks were balanced and if the network were as fast as its best.
//!
//! A rank's exposed time in a collective is split at the instant at which the one that it waits for came: what lies before is
//! waiting, the rest is transfer, and both add up to the exposed time exactly. A sort of collective has its sum over ranks, and what
//! each half is worth in wall time a step: ranks wait and transfer side by side, so that a sum over them is nothing that a job could
//! save. Nothing here knows an execution graph; who waits for whom is given.

use rankscope_analyze::{Intervals, Waiting, WindowCursor};

/// One rank's part in a matched collective.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stay {
    /// How long the rank stayed, by its own clock.
    pub stay_ns: i64,
    /// How much of that was before the one that it waits for came.
    pub wait_ns: i64,
    /// Its exposed time there.
    pub exposed_ns: i64,
    /// How much of that was before the one that it waits for came.
    pub exposed_wait_ns: i64,
}

/// One matched collective, but for its ranks' parts.
#[derive(Clone, Copy, Debug)]
pub struct Collective {
    /// The budget that it counts to.
    pub sort: usize,
    /// Which collectives it is as fast as, at best: those that do the same among as many ranks over the same sort of link.
    pub alike: usize,
    /// Who waits for whom in it.
    pub waiting: Waiting,
    /// Whether what it is worth counts: it lies in a step, or there are none.
    pub in_step: bool,
    /// When its median rank came and when the last one did, on the job's clock, in nanoseconds since the epoch.
    pub came_ns: (i64, i64),
}

/// What one sort of collective costs. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// Collectives.
    pub count: u64,
    /// Exposed time of all ranks: waiting and transfer.
    pub exposed_ns: i64,
    /// The waiting.
    pub wait_ns: i64,
    /// The transfer.
    pub transfer_ns: i64,
    /// The transfer, had every collective been as fast as the fastest that is like it.
    pub transfer_at_best_ns: i64,
    /// How much of `wait_ns` may be transfer, or the other way round, for all that the clocks tell.
    pub clock_ns: i64,
    /// Wall time that a step would save if all ranks came as early as the median rank.
    pub balance_saves_ns_per_step: i64,
    /// Wall time that a step would save if every transfer took as long as at best.
    pub network_saves_ns_per_step: i64,
}

/// How much of a stay's `exposed_ns` lies in its first `wait_ns`. `exposed` is the rank's exposed communication and `span_ns` the
/// stay, both on the rank's clock. Where several collectives share exposed time, each has the same part of all of its own.
pub fn exposed_wait_ns(exposed: &mut WindowCursor<'_>, span_ns: (i64, i64), wait_ns: i64, exposed_ns: i64) -> i64 {
    let (start, end) = span_ns;
    if exposed_ns <= 0 || wait_ns <= 0 {
        return 0;
    }
    let until = start.saturating_add(wait_ns).min(end);
    let (all_ns, before_ns) = match exposed.lengths_within_ns(span_ns, until) {
        // Exposed by other accounts than these: in the same proportion as its length.
        (0, _) => (end.saturating_sub(start), until.saturating_sub(start)),
        lengths_ns => lengths_ns,
    };
    part(exposed_ns, before_ns, all_ns)
}

/// `of * part / whole`, rounded down; nothing of nothing.
fn part(of: i64, part: i64, whole: i64) -> i64 {
    match of.checked_mul(part) {
        _ if whole <= 0 => 0,
        _ if of == whole => part,
        Some(product) => product / whole,
        None => (i128::from(of) * i128::from(part) / i128::from(whole)) as i64,
    }
}

/// The fastest transfer of collectives that are alike.
#[derive(Clone, Debug, Default)]
pub struct Best {
    by_alike: Vec<Option<i64>>,
}

impl Best {
    /// Looks at one more, of which the transfer took so long.
    pub fn add(&mut self, alike: usize, transfer_ns: i64) {
        if self.by_alike.len() <= alike {
            self.by_alike.resize(alike + 1, None);
        }
        let best = &mut self.by_alike[alike];
        *best = Some(best.map_or(transfer_ns, |best| best.min(transfer_ns)));
    }

    fn of(&self, alike: usize) -> Option<i64> {
        self.by_alike.get(alike).copied().flatten()
    }
}

/// How long the transfer of a collective took, of which these are the ranks' parts. Once all have come each stays for that long, so that
/// the shortest stay is as close as it can be told without comparing clocks; where a root decides, others may leave before.
pub fn transfer_ns(waiting: Waiting, stays: &[Stay]) -> Option<i64> {
    match waiting {
        Waiting::ForSome => stays.iter().map(|stay| stay.stay_ns - stay.wait_ns).max(),
        _ => stays.iter().map(|stay| stay.stay_ns).min(),
    }
}

/// Adds collectives up.
#[derive(Clone, Debug)]
pub struct Budgets {
    best: Best,
    open_ns: i64,
    sums: Vec<Sums>,
}

#[derive(Clone, Debug, Default)]
struct Sums {
    budget: Budget,
    /// From the median rank's coming to the last rank's.
    late: Vec<(i64, i64)>,
    /// Waiting in those, hidden or not, and its exposed part.
    waited_ns: (i64, i64),
    network_ns: i64,
}

impl Budgets {
    /// Where transfers are compared with `best` and the clocks leave `open_ns` open between two ranks.
    pub fn new(best: Best, open_ns: i64) -> Self {
        Self { best, open_ns, sums: Vec::new() }
    }

    /// Adds one, of which the ranks' parts are to be [added](Self::add_stay) yet.
    pub fn add(&mut self, one: &Collective) {
        if self.sums.len() <= one.sort {
            self.sums.resize(one.sort + 1, Sums::default());
        }
        let sums = &mut self.sums[one.sort];
        sums.budget.count += 1;
        if one.in_step && one.waiting == Waiting::ForTheLast {
            sums.late.push(one.came_ns);
        }
    }

    /// Adds a rank's part in one that was added; returns by how much the best transfer would be shorter, as far as it is exposed.
    #[inline]
    pub fn add_stay(&mut self, one: &Collective, stay: &Stay) -> i64 {
        let best_ns = self.best.of(one.alike);
        let sums = &mut self.sums[one.sort];
        if one.in_step && one.waiting == Waiting::ForTheLast {
            sums.waited_ns.0 = sums.waited_ns.0.saturating_add(stay.wait_ns);
            sums.waited_ns.1 = sums.waited_ns.1.saturating_add(stay.exposed_wait_ns);
        }
        sums.budget.add(stay, best_ns, self.open_ns)
    }

    /// Adds what the best transfer would save of one of so many parts, in sum over them.
    pub fn add_saved(&mut self, one: &Collective, saved_ns: i64, stays: usize) {
        if one.in_step {
            let sums = &mut self.sums[one.sort];
            sums.network_ns = sums.network_ns.saturating_add(saved_ns / stays.max(1) as i64);
        }
    }

    /// What they cost, by sort; worth a step where there are `steps`, else in all.
    pub fn finish(self, steps: u64) -> Vec<Budget> {
        let steps = i64::try_from(steps).unwrap_or(i64::MAX).max(1);
        self.sums.into_iter().map(|sums| sums.finish(steps)).collect()
    }
}

impl Budget {
    /// Adds a stay; returns by how much the best transfer would be shorter, as far as it is exposed.
    fn add(&mut self, stay: &Stay, best_ns: Option<i64>, open_ns: i64) -> i64 {
        let wait_ns = stay.exposed_wait_ns.clamp(0, stay.exposed_ns.max(0));
        let transfer_ns = stay.exposed_ns - wait_ns;
        let whole_ns = stay.stay_ns - stay.wait_ns;
        let at_best_ns = match best_ns {
            Some(best_ns) if best_ns < whole_ns => part(transfer_ns, best_ns.max(0), whole_ns),
            _ => transfer_ns,
        };
        self.exposed_ns = self.exposed_ns.saturating_add(stay.exposed_ns);
        self.wait_ns = self.wait_ns.saturating_add(wait_ns);
        self.transfer_ns = self.transfer_ns.saturating_add(transfer_ns);
        self.transfer_at_best_ns = self.transfer_at_best_ns.saturating_add(at_best_ns);
        self.clock_ns = self.clock_ns.saturating_add(open_ns.min(wait_ns.max(transfer_ns)).max(0));
        transfer_ns - at_best_ns
    }

    /// Adds what others of another sort cost.
    pub fn join(&mut self, other: &Self) {
        let add = |own: &mut i64, other: i64| *own = own.saturating_add(other);
        self.count += other.count;
        add(&mut self.exposed_ns, other.exposed_ns);
        add(&mut self.wait_ns, other.wait_ns);
        add(&mut self.transfer_ns, other.transfer_ns);
        add(&mut self.transfer_at_best_ns, other.transfer_at_best_ns);
        add(&mut self.clock_ns, other.clock_ns);
        add(&mut self.balance_saves_ns_per_step, other.balance_saves_ns_per_step);
        add(&mut self.network_saves_ns_per_step, other.network_saves_ns_per_step);
    }
}

impl Sums {
    fn finish(self, steps: i64) -> Budget {
        // Where ranks had other work to do while they waited, coming earlier would not have helped as much.
        let late_ns = Intervals::union_of(self.late).length_ns();
        Budget {
            balance_saves_ns_per_step: part(late_ns, self.waited_ns.1, self.waited_ns.0) / steps,
            network_saves_ns_per_step: self.network_ns / steps,
            ..self.budget
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stay(stay_ns: i64, wait_ns: i64) -> Stay {
        Stay { stay_ns, wait_ns, exposed_ns: stay_ns, exposed_wait_ns: wait_ns }
    }

    /// A collective of a sort, in which everybody waits for the last, and its ranks' parts.
    type One<'a> = (usize, (i64, i64), &'a [Stay]);

    fn sums(all: &[One<'_>], open_ns: i64, steps: u64) -> Vec<Budget> {
        let collective = |(sort, came_ns, stays): &One<'_>| {
            let one = Collective { sort: *sort, alike: 0, waiting: Waiting::ForTheLast, in_step: true, came_ns: *came_ns };
            (one, stays.to_vec())
        };
        let all: Vec<(Collective, Vec<Stay>)> = all.iter().map(collective).collect();
        let mut best = Best::default();
        all.iter().filter_map(|(one, stays)| transfer_ns(one.waiting, stays)).for_each(|ns| best.add(0, ns));
        let mut budgets = Budgets::new(best, open_ns);
        for (one, stays) in &all {
            budgets.add(one);
            let saved_ns = stays.iter().map(|stay| budgets.add_stay(one, stay)).sum();
            budgets.add_saved(one, saved_ns, stays.len());
        }
        budgets.finish(steps)
    }

    #[test]
    fn balance_and_network_are_worth_wall_time() {
        // Three ranks, of which the last comes 30 after the median one; the transfer takes 10, and in the other group 25.
        let near = [stay(50, 40), stay(40, 30), stay(10, 0)];
        let far = [stay(25, 0), stay(25, 0), stay(25, 0)];
        let near: One<'_> = (0, (10, 40), &near);
        let budgets = sums(&[near, near, (1, (100, 100), &far)], 5, 1);
        let expected = Budget {
            count: 2,
            exposed_ns: 200,
            wait_ns: 140,
            transfer_ns: 60,
            transfer_at_best_ns: 60,
            clock_ns: 30,
            // Both are late at the same time, and that counts once.
            balance_saves_ns_per_step: 30,
            network_saves_ns_per_step: 0,
        };
        assert_eq!(budgets[0], expected);
        assert_eq!((budgets[1].transfer_ns, budgets[1].transfer_at_best_ns), (75, 30));
        assert_eq!((budgets[1].balance_saves_ns_per_step, budgets[1].network_saves_ns_per_step), (0, 15));
    }

    #[test]
    fn waiting_that_other_work_hides_is_worth_nothing() {
        let hidden = |stay: Stay| Stay { exposed_ns: 0, exposed_wait_ns: 0, ..stay };
        let stays = [stay(50, 40), stay(10, 0)].map(hidden);
        assert_eq!(sums(&[(0, (0, 40), &stays)], 0, 1)[0], Budget { count: 1, ..Budget::default() });
    }

    #[test]
    fn exposed_time_is_waiting_where_it_lies_before_the_last_came() {
        let exposed = Intervals::union_of([(0, 10), (30, 50)]);
        // Computing from 10 to 30 hid the rest.
        assert_eq!(exposed_wait_ns(&mut exposed.windows(), (0, 50), 20, 30), 10);
        assert_eq!(exposed_wait_ns(&mut exposed.windows(), (0, 50), 40, 30), 20);
        // Two share the exposed time.
        assert_eq!(exposed_wait_ns(&mut exposed.windows(), (0, 50), 40, 15), 10);
        assert_eq!(exposed_wait_ns(&mut Intervals::default().windows(), (0, 50), 10, 5), 1);
    }

    proptest! {
        #[test]
        fn waiting_and_transfer_are_the_exposed_time(
            list in prop::collection::vec((0..3_usize, prop::collection::vec((0..100_i64, 0..100_i64, 0..=4_i64, 0..=4_i64), 1..5)), 0..20),
            open_ns in prop_oneof![0..50_i64, Just(i64::MAX)],
        ) {
            let stays = |list: &[(i64, i64, i64, i64)]| -> Vec<Stay> {
                list.iter().map(|&(_, stay_ns, wait, exposed)| {
                    let (wait_ns, exposed_ns) = (stay_ns * wait / 4, stay_ns * exposed / 4);
                    Stay { stay_ns, wait_ns, exposed_ns, exposed_wait_ns: wait_ns.min(exposed_ns) }
                }).collect()
            };
            let all: Vec<(usize, Vec<Stay>)> = list.iter().map(|(sort, list)| (*sort, stays(list))).collect();
            let collectives: Vec<One<'_>> = all.iter().map(|(sort, stays)| (*sort, (0, 9), stays.as_slice())).collect();
            let budgets = sums(&collectives, open_ns, 1);
            for budget in &budgets {
                prop_assert_eq!(budget.wait_ns + budget.transfer_ns, budget.exposed_ns);
                prop_assert!((0..=budget.transfer_ns).contains(&budget.transfer_at_best_ns));
                prop_assert!((0..=budget.exposed_ns).contains(&budget.clock_ns));
                prop_assert!(budget.network_saves_ns_per_step >= 0 && budget.balance_saves_ns_per_step >= 0);
            }
            let exposed_ns: i64 = all.iter().flat_map(|(_, stays)| stays).map(|stay| stay.exposed_ns).sum();
            prop_assert_eq!(budgets.iter().map(|budget| budget.exposed_ns).sum::<i64>(), exposed_ns);
        }
    }
}
