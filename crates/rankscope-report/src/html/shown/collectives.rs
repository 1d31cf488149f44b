//! Collectives of a page: sorts of them, how ranks came to them, those without a counterpart, and the matched ones in time.

use std::cmp::Reverse;
use std::collections::HashMap;

use rankscope_document::{CollectiveGroup, CollectiveInstance, Document, RankArrivals, UnmatchedCollective};
use serde::Serialize;

use super::super::budget::{Cuts, keep};
use super::super::packed::{Digits, Packed, Rows};

#[derive(Debug, Serialize)]
pub(super) struct ShownCollectives<'a> {
    matched: u64,
    unmatched: u64,
    groups: Rows<Group<'a>>,
    ranks: Rows<Arrivals>,
    unmatched_list: Rows<&'a UnmatchedCollective>,
    instances: Instances,
}

#[derive(Debug, Serialize)]
struct Group<'a> {
    name: &'a str,
    kind: &'a str,
    dtype: &'a str,
    bytes: Option<u64>,
    ranks: u32,
    process_group: &'a str,
    count: u64,
    matched: u64,
    transfer_ns_mean: Option<f64>,
    wait_ns_mean: Option<f64>,
    start_skew_ns_mean: Option<f64>,
    end_skew_ns_max: Option<i64>,
    algbw_gbps_mean: Option<f64>,
    busbw_gbps_mean: Option<f64>,
    exposed_ns: i64,
}

#[derive(Debug, Serialize)]
struct Arrivals {
    rank: u32,
    matched: u64,
    last: u64,
    first: u64,
    wait_ns: i64,
    delay_ns: i64,
}

/// The matched collectives in order of time; lists have an entry for each of them.
#[derive(Debug, Serialize)]
struct Instances {
    group: Packed,
    start_ns: Packed,
    /// How many ranks took part, where not all of them are listed.
    members: Packed,
    /// Which of `sets` took part.
    set: Packed,
    /// Ranks that took part, ascending.
    sets: Vec<Packed>,
    /// Waits of these ranks, collective after collective.
    wait_ns: Packed,
    /// Which of its ranks came last.
    last: Packed,
    transfer_ns: Packed,
    end_skew_ns: Packed,
}

/// Ranks named in all unmatched collectives together.
const UNMATCHED_RANKS: usize = 25_000;

/// Waits of all collectives together.
const WAITS: usize = 50_000;

/// Collectives of one rank: nobody looks at more, and the longest waits are among them.
const PER_RANK: usize = 2_000;

/// Up to so many waits, every nanosecond is in the page.
const EXACT_WAITS: usize = 8_000;

impl<'a> ShownCollectives<'a> {
    pub(super) fn of(document: &'a Document, origin_ns: i64, cuts: &mut Cuts) -> Self {
        let all = &document.collectives;
        let unmatched = keep(&all.unmatched_list, UNMATCHED_RANKS, |one| one.present.len() + one.absent.len() + 1, |_| 0);
        cuts.unmatched = unmatched.full;
        let budget = WAITS.min(PER_RANK.saturating_mul(document.ranks.len()));
        let instances = keep(&all.instances, budget, |one| one.arrival_order.len(), longest_wait);
        cuts.instances = instances.full;
        Self {
            matched: all.matched,
            unmatched: all.unmatched,
            groups: all.groups.iter().map(group).collect(),
            ranks: all.ranks.iter().map(arrivals).collect(),
            unmatched_list: Rows(unmatched.items),
            instances: Instances::of(&instances.items, origin_ns),
        }
    }
}

/// Longest wait first.
fn longest_wait(instance: &CollectiveInstance) -> Reverse<Option<i64>> {
    Reverse(instance.wait_ns.iter().max().copied())
}

fn group(of: &CollectiveGroup) -> Group<'_> {
    Group {
        name: &of.name,
        kind: of.kind.as_str(),
        dtype: &of.dtype,
        bytes: of.bytes,
        ranks: of.ranks,
        process_group: &of.process_group,
        count: of.count,
        matched: of.matched,
        transfer_ns_mean: of.transfer_ns_mean,
        wait_ns_mean: of.wait_ns_mean,
        start_skew_ns_mean: of.start_skew_ns_mean,
        end_skew_ns_max: of.end_skew_ns_max,
        algbw_gbps_mean: of.algbw_gbps_mean,
        busbw_gbps_mean: of.busbw_gbps_mean,
        exposed_ns: of.exposed_ns,
    }
}

fn arrivals(of: &RankArrivals) -> Arrivals {
    Arrivals { rank: of.rank, matched: of.matched, last: of.last, first: of.first, wait_ns: of.wait_ns, delay_ns: of.delay_ns }
}

impl Instances {
    fn of(instances: &[&CollectiveInstance], origin_ns: i64) -> Self {
        let mut sets: HashMap<Vec<u32>, usize> = HashMap::new();
        let (mut set, mut last, mut waits) = (Vec::new(), Vec::new(), Vec::new());
        for instance in instances {
            let mut by_rank: Vec<(u32, i64)> =
                instance.arrival_order.iter().copied().zip(instance.wait_ns.iter().copied()).collect();
            by_rank.sort_by_key(|(rank, _)| *rank);
            let latest = instance.arrival_order.last();
            last.push(by_rank.iter().position(|(rank, _)| Some(rank) == latest).unwrap_or(0));
            waits.extend(by_rank.iter().map(|(_, wait)| Some(*wait)));
            let next = sets.len();
            set.push(*sets.entry(by_rank.into_iter().map(|(rank, _)| rank).collect()).or_insert(next));
        }
        let mut sets: Vec<(Vec<u32>, usize)> = sets.into_iter().collect();
        sets.sort_by_key(|(_, place)| *place);
        let digits = if waits.len() > EXACT_WAITS { Digits::Three } else { Digits::All };
        let time = |of: fn(&CollectiveInstance) -> i64| Packed::of(instances.iter().map(|one| Some(of(one))), digits);
        Self {
            group: Packed::counts(instances.iter().map(|one| one.group)),
            start_ns: Packed::exact(instances.iter().map(|one| one.start_ns.saturating_sub(origin_ns))),
            members: Packed::of(instances.iter().map(|one| one.members.and_then(|all| i64::try_from(all).ok())), Digits::All),
            set: Packed::counts(set),
            sets: sets.into_iter().map(|(ranks, _)| Packed::ranks(ranks)).collect(),
            wait_ns: Packed::of(waits, digits),
            last: Packed::counts(last),
            transfer_ns: time(|one| one.transfer_ns),
            end_skew_ns: time(|one| one.end_skew_ns),
        }
    }
}
