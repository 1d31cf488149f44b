//! What one rank's time has that another's has not.
//!
//! The chain of what held a rank up leads over the device on one rank and over the host on another, although both do the same. So work
//! on one chain alone counts as a difference only as far as the ranks really differ in it, on the chain or not. What is left, one chain
//! having led over this and the other over that, would have held the late rank up anyway: it lessens what the late rank has more.
//!
//! So does what the median rank alone waited for. A late rank that finds everybody there has waited less, and did not gain by it: its own
//! work stands on its chain where the other's waits stand, and is no longer than elsewhere.
//!
//! Nor are kernels more only because they ran since the two ranks met. A rank that waits in a collective computes on beside it where it
//! can, and the one that it waits for does the same work later. Where both do it equally often in all, that is lateness carried over
//! from the collective before.

use std::collections::BTreeSet;

use super::spent::{Item, Spent};

/// How much more of one thing the late rank has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Difference {
    pub(super) item: Item,
    /// In nanoseconds; below zero where the late rank was faster. All of them add up to the difference of the two times.
    pub(super) ns: i64,
    /// The part of it that comes of doing it more often, and the most that it can be by all that was recorded.
    pub(super) more_ns: i64,
    pub(super) more_in_all_ns: i64,
    /// How long the median rank spent on it in that time.
    pub(super) median_ns: i64,
    /// Of a wait, the rank where it began.
    pub(super) because_of: Option<u32>,
}

/// What is not on both chains, before it is settled.
struct Open {
    difference: Difference,
    shift_ns: i64,
    /// What doing it more often takes.
    more_ns: i64,
    more_in_all_ns: i64,
}

/// The differences of `late` and `median`, in order of items. How many times more often the late rank does something in all is
/// `more_often`.
pub(super) fn differences(late: &Spent, median: &Spent, more_often: impl Fn(Item) -> i64) -> Vec<Difference> {
    let items: BTreeSet<Item> = late.held_ns.keys().chain(median.held_ns.keys()).copied().collect();
    let mut open: Vec<Open> = items.into_iter().map(|item| compare(item, late, median, more_often(item))).collect();
    settle(&mut open);
    let mut carried_ns = 0;
    let mut settled: Vec<Difference> = open
        .into_iter()
        .map(|one| {
            let within = |ns: i64, most: i64| ns.clamp(most.min(0), most.max(0));
            let more_ns = within(one.more_ns, one.difference.ns);
            let kept_ns = within(more_ns, one.more_in_all_ns);
            carried_ns += more_ns - kept_ns;
            let ns = one.difference.ns - (more_ns - kept_ns);
            Difference { ns, more_ns: kept_ns, more_in_all_ns: one.more_in_all_ns, ..one.difference }
        })
        .collect();
    settled.push(Difference {
        item: Item::Carried,
        ns: carried_ns,
        more_ns: 0,
        more_in_all_ns: 0,
        median_ns: 0,
        because_of: None,
    });
    settled.retain(|one| one.ns != 0);
    settled
}

fn compare(item: Item, late: &Spent, median: &Spent, more_often: i64) -> Open {
    let held = |spent: &Spent| spent.held_ns.get(&item).copied().unwrap_or(0);
    let all = |spent: &Spent| spent.all.get(&item).copied().unwrap_or((0, 0));
    let ns = held(late) - held(median);
    let (own_ns, median_ns, more_ns, more_in_all_ns) = match item {
        Item::Work(_) => {
            let ((late_ns, late_count), (median_ns, median_count)) = (all(late), all(median));
            let (late_ns, median_ns) = (late_ns.max(held(late)), median_ns.max(held(median)));
            let mean_ns = if median_count > 0 { median_ns / median_count as i64 } else { late_ns / late_count.max(1) as i64 };
            let more = late_count as i64 - median_count as i64;
            (
                (late_ns - median_ns).clamp(ns.min(0), ns.max(0)),
                median_ns,
                more.saturating_mul(mean_ns),
                more_often.saturating_mul(mean_ns),
            )
        }
        // Launches are waited for where the host is what holds a rank up, and are as slow elsewhere.
        Item::Latency(_) => (0, held(median), 0, 0),
        Item::Waiting(_) | Item::Doubtful => (ns.max(0), held(median), 0, 0),
        _ => (ns, held(median), 0, 0),
    };
    let because_of = matches!(item, Item::Waiting(_)).then(|| because_of(item, late)).flatten();
    let difference = Difference { item, ns: own_ns, more_ns: 0, more_in_all_ns: 0, median_ns, because_of };
    Open { difference, shift_ns: ns - own_ns, more_ns, more_in_all_ns }
}

/// The rank because of which `late` waited most.
fn because_of(item: Item, late: &Spent) -> Option<u32> {
    let own = late.because.iter().filter(|((name, _), _)| item == Item::Waiting(*name));
    own.max_by_key(|((_, rank), ns)| (**ns, std::cmp::Reverse(*rank))).map(|((_, rank), _)| *rank)
}

/// Puts what the chains differ in by their ways alone where it belongs. What would have held the late rank up anyway is taken from what it
/// has more, in proportion; else it stays with what it is.
fn settle(open: &mut [Open]) {
    let net_ns: i64 = open.iter().map(|one| one.shift_ns).sum();
    let certain = |one: &Open| one.difference.item != Item::Doubtful;
    let more = |one: &Open| if certain(one) { one.difference.ns.max(0) } else { 0 };
    let rest_ns = if net_ns < 0 {
        let taken_ns = net_ns.max(-open.iter().map(more).sum::<i64>());
        share_out(open, taken_ns, more);
        net_ns - taken_ns
    } else {
        net_ns
    };
    share_out(open, rest_ns, |one| (one.shift_ns * rest_ns.signum()).max(0));
}

/// Adds `ns` to all in proportion to `weight`, exactly.
fn share_out(open: &mut [Open], ns: i64, weight: impl Fn(&Open) -> i64) {
    let weights: Vec<i64> = open.iter().map(weight).collect();
    let whole: i128 = weights.iter().map(|weight| i128::from(*weight)).sum();
    if whole == 0 {
        return;
    }
    let (mut before, mut given_ns) = (0_i128, 0_i64);
    for (one, weight) in open.iter_mut().zip(weights) {
        before += i128::from(weight);
        let by_now_ns = (i128::from(ns) * before / whole) as i64;
        one.difference.ns += by_now_ns - given_ns;
        given_ns = by_now_ns;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn spent(held: &[(Item, i64)], all: &[(Item, i64, u64)]) -> Spent {
        let mut spent = Spent::default();
        held.iter().for_each(|(item, ns)| *spent.held_ns.entry(*item).or_default() += ns);
        for (item, ns, count) in all {
            let sum = spent.all.entry(*item).or_default();
            *sum = (sum.0 + ns, sum.1 + count);
        }
        spent
    }

    const GEMM: Item = Item::Work(0);
    const LOADER: Item = Item::Work(1);

    #[test]
    fn a_slow_device_is_to_blame_for_what_the_host_would_not_have_taken() {
        // The late rank waits for kernels of 100, which take the median rank 50; that one waits for its host, which takes 60.
        let late = spent(&[(GEMM, 100)], &[(GEMM, 100, 10), (LOADER, 60, 1)]);
        let median = spent(&[(LOADER, 60)], &[(GEMM, 50, 10), (LOADER, 60, 1)]);
        let expected = Difference { item: GEMM, ns: 40, more_ns: 0, more_in_all_ns: 0, median_ns: 50, because_of: None };
        assert_eq!(differences(&late, &median, |_| 0), [expected]);
    }

    #[test]
    fn a_slow_host_is_to_blame_for_what_the_device_would_not_have_taken() {
        let late = spent(&[(LOADER, 250)], &[(LOADER, 250, 1), (GEMM, 50, 10)]);
        let median = spent(&[(GEMM, 50)], &[(LOADER, 3, 1), (GEMM, 50, 10)]);
        let expected = Difference { item: LOADER, ns: 200, more_ns: 0, more_in_all_ns: 0, median_ns: 3, because_of: None };
        assert_eq!(differences(&late, &median, |_| 0), [expected]);
    }

    #[test]
    fn who_waits_less_has_not_worked_longer() {
        // Both compute for 50. The median rank waits for 40 beside it; the late one for 70, and only then may it compute.
        let (near, far) = (Item::Waiting(0), Item::Waiting(1));
        let late = spent(&[(GEMM, 50), (near, 70)], &[(GEMM, 50, 10)]);
        let median = spent(&[(GEMM, 10), (far, 40)], &[(GEMM, 50, 10)]);
        let found: Vec<_> = differences(&late, &median, |_| 0).iter().map(|one| (one.item, one.ns)).collect();
        assert_eq!(found, [(near, 70)]);
    }

    #[test]
    fn more_of_the_same_is_told_from_longer() {
        let late = spent(&[(GEMM, 130)], &[(GEMM, 130, 12)]);
        let median = spent(&[(GEMM, 100)], &[(GEMM, 100, 10)]);
        let found = differences(&late, &median, |_| 40);
        assert_eq!((found[0].ns, found[0].more_ns, found.len()), (30, 20, 1));
        // Both do it equally often in all: the median rank did it before.
        let found = differences(&late, &median, |_| 0);
        let found: Vec<_> = found.iter().map(|one| (one.item, one.ns, one.more_ns)).collect();
        assert_eq!(found, [(GEMM, 10, 0), (Item::Carried, 20, 0)]);
    }

    #[test]
    fn a_wait_is_because_of_the_rank_that_was_waited_for_most() {
        let mut late = spent(&[(Item::Waiting(0), 30)], &[]);
        late.because.extend([((0, 4), 10), ((0, 7), 20), ((1, 2), 90)]);
        assert_eq!(differences(&late, &Spent::default(), |_| 0)[0].because_of, Some(7));
    }

    fn any_item() -> impl Strategy<Value = Item> {
        prop_oneof![
            (0..4_u32).prop_map(Item::Work),
            (0..2_u32).prop_map(Item::Latency),
            (0..2_u32).prop_map(Item::Gap),
            (0..2_u32).prop_map(Item::Waiting),
            Just(Item::Nothing),
            Just(Item::Doubtful)
        ]
    }

    fn any_spent() -> impl Strategy<Value = Spent> {
        let held = prop::collection::vec((any_item(), 1..1_000_i64), 0..8);
        let all = prop::collection::vec((any_item(), 1..1_000_i64, 1..4_u64), 0..8);
        (held, all).prop_map(|(held, all)| spent(&held, &all))
    }

    proptest! {
        #[test]
        fn differences_add_up_to_the_difference(late in any_spent(), median in any_spent(), more_often in -3..3_i64) {
            let whole = |spent: &Spent| spent.held_ns.values().sum::<i64>();
            let found = differences(&late, &median, |_| more_often);
            prop_assert_eq!(found.iter().map(|one| one.ns).sum::<i64>(), whole(&late) - whole(&median));
            for one in &found {
                prop_assert!(one.more_ns.abs() <= one.ns.abs() && one.more_ns.signum() * one.ns.signum() >= 0);
            }
        }
    }
}
