//! Laws of meetings, by examples and by chance.

use std::sync::Arc;

use proptest::prelude::*;
use rankscope_collectives::{LocalCollective, Operation, Sequence, match_ranks};
use rankscope_time::Rank;
use rankscope_trace::SpanId;

use super::*;

/// Stays of up to five ranks, some of them in few meetings and at the edges of time.
fn any_meetings() -> impl Strategy<Value = Vec<Vec<Stay>>> {
    let stamp = || prop_oneof![20 => -500i64..500, 1 => Just(i64::MIN), 1 => Just(i64::MAX)];
    let stay = (prop::bool::weighted(0.8), stamp(), stamp(), prop::bool::weighted(0.8), prop::bool::weighted(0.8));
    prop::collection::vec(prop::collection::vec(stay, 5), 0..300).prop_map(|all| {
        let of_rank = |(rank, (is_there, start_ns, end_ns, is_needed, needs)): (usize, (bool, i64, i64, bool, bool))| {
            is_there.then(|| Stay { is_needed, needs, ..Stay::of(rank, start_ns, end_ns) })
        };
        all.into_iter().map(|stays| stays.into_iter().enumerate().filter_map(of_rank).collect()).collect()
    })
}

/// Of each stretch the tightest that `a` entered and `b` left, and its number.
fn tightest_by_stretch(meetings: &Meetings<'_>, length: usize, (a, b): (usize, usize)) -> Vec<(i64, usize)> {
    let mut found: std::collections::BTreeMap<usize, (i64, usize)> = std::collections::BTreeMap::new();
    for (block, own) in &meetings.blocks_by_rank(5)[a] {
        for (stretch, block) in meetings.block(*block as usize).stretches(length) {
            let other = block.members.iter().position(|member| member.rank() == b);
            let [mut room, mut other_room] = <[Room; 2]>::default();
            let own = block.column(*own as usize, &mut room);
            let other = other.map(|other| block.column(other, &mut other_room));
            let tightest = other.and_then(|other| own.tightest(&other));
            assert_eq!(other.and_then(|other| own.tightest_ns(&other)), tightest.map(|(_, ns)| ns));
            let tightest = tightest.map(|(row, ns)| (ns, block.at[row] as usize));
            found
                .entry(stretch)
                .and_modify(|known| *known = tightest.map_or(*known, |new| new.min(*known)))
                .or_insert(tightest.unwrap_or((i64::MAX, usize::MAX)));
        }
    }
    found.into_values().filter(|(ns, _)| *ns < i64::MAX).collect()
}

/// Five ranks in a group of all of them and in one of the even ones, which has lost a collective or has not: by group how many collectives
/// there are, and what makes stamps.
fn any_ranks() -> impl Strategy<Value = Vec<RankCollectives>> {
    (0..200u64, 0..200u64, any::<u64>(), prop::option::of(0..200u64)).prop_map(|(all, even, seed, lost)| {
        let groups = [vec![0, 1, 2, 3, 4], vec![0, 2, 4]].map(|ranks| ranks.into_iter().map(Rank).collect::<Arc<[Rank]>>());
        let groups = groups.map(|ranks| Group { name: ranks.len().to_string(), ranks, ..Group::default() });
        let kinds = [Kind::AllReduce, Kind::Broadcast].map(|kind| Arc::new(Operation::of(kind)));
        let mut state = seed | 1;
        let mut next = move |below: i64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33).cast_signed() % below
        };
        let mut of_rank = |rank: u32| {
            let mut own = Vec::new();
            for (group, count) in (0..).zip([all, even]).filter(|(group, _)| *group == 0 || rank.is_multiple_of(2)) {
                for number in (0..count).filter(|number| rank != 2 || Some(*number) != lost) {
                    // Now and then a root tells, and one collective overtakes another.
                    let start_ns = 1_000 * number.cast_signed() + next(1_200);
                    let operation = Arc::clone(&kinds[usize::from(number % 90 > 80)]);
                    let mut stay = LocalCollective::new(SpanId(0), start_ns, start_ns + next(900), operation);
                    (stay.group, stay.sequence, stay.peer) = (group, Sequence::of(Some(number)), Some(0));
                    own.push(stay);
                }
            }
            own.sort_by_key(|one| one.start_ns);
            RankCollectives { rank: Rank(rank), groups: groups.to_vec(), collectives: own.into(), steps: Vec::new() }
        };
        (0..5).map(&mut of_rank).collect()
    })
}

proptest! {
    #[test]
    fn what_is_read_in_columns_is_what_would_be_copied(ranks in any_ranks(), length in 1usize..100, seed in any::<i64>()) {
        let matched = match_ranks(&ranks);
        let [mut read, mut copied] = [true, false].map(|reads_columns| {
            meetings_by(&OfInstances { ranks: &ranks, matched: &matched, reads_columns, all_wait: all_wait(&ranks) })
        });
        let key = |meeting: &Meeting<'_>| meeting.stays().next().map(|stay| stay.end_ns.wrapping_mul(seed | 1) >> (seed & 15));
        let reads = |meetings: &Meetings<'_>| meetings.blocks.iter().any(|block| matches!(block.stamps, Where::InColumns(_)));
        let first = matched.instances.iter().take_while(|one| one.complete && one.group == 0).count();
        prop_assert!((first < 64 || reads(&read)) && !reads(&copied));
        for _ in 0..2 {
            let stays = |meetings: &Meetings<'_>| meetings.iter().map(|meeting| meeting.stays().collect()).collect::<Vec<Vec<_>>>();
            prop_assert_eq!(stays(&read), stays(&copied));
            prop_assert_eq!(read.shortest_ns(), copied.shortest_ns());
            for (a, b) in (0..5).flat_map(|a| (0..5).filter(move |b| *b != a).map(move |b| (a, b))) {
                let found = [&read, &copied].map(|meetings| tightest_by_stretch(meetings, length, (a, b)));
                prop_assert_eq!(&found[0], &found[1], "{} {}", a, b);
            }
            read.sort_by_key(key);
            copied.sort_by_key(key);
        }
    }

    #[test]
    fn meetings_are_kept_and_sorted(all in any_meetings(), seed in any::<i64>()) {
        let mut meetings: Meetings<'_> = all.iter().cloned().collect();
        let key = |stays: &[Stay]| stays.first().map(|stay| stay.start_ns.wrapping_mul(seed) >> 60);
        meetings.sort_by_key(|meeting| key(&meeting.stays().collect::<Vec<_>>()));
        let mut sorted = all;
        sorted.sort_by_key(|stays| key(stays));
        prop_assert_eq!(meetings.iter().map(|meeting| meeting.stays().collect()).collect::<Vec<Vec<_>>>(), sorted);
        let length_ns = |stay: Stay| stay.end_ns.saturating_sub(stay.start_ns);
        let shortest_ns = |meeting: Meeting<'_>| meeting.stays().map(length_ns).min().unwrap_or(i64::MAX);
        prop_assert_eq!(meetings.iter().map(shortest_ns).collect::<Vec<_>>(), meetings.shortest_ns());
    }

    /// By looking through all meetings for every pair of ranks and every stretch.
    #[test]
    fn the_tightest_of_a_stretch_is_found_as_from_meeting_to_meeting(all in any_meetings(), length in 1usize..200, seed in any::<i64>()) {
        let mut meetings: Meetings<'_> = all.into_iter().collect();
        meetings.sort_by_key(|meeting| meeting.shortest_ns().wrapping_mul(seed) >> 60);
        let all: Vec<Vec<Stay>> = meetings.iter().map(|meeting| meeting.stays().collect()).collect();
        for (a, b) in (0..5).flat_map(|a| (0..5).filter(move |b| *b != a).map(move |b| (a, b))) {
            let stay = |stays: &[Stay], rank| stays.iter().find(|stay| stay.rank() == rank).copied();
            let mut slowly = Vec::new();
            for (stretch, meetings) in all.chunks(length).enumerate() {
                let slack = |(at, stays): (usize, &Vec<Stay>)| {
                    let (entered, left) = (stay(stays, a)?, stay(stays, b)?);
                    let slack_ns = left.end_ns.saturating_sub(entered.start_ns);
                    (entered.is_needed && left.needs).then_some((slack_ns, stretch * length + at))
                };
                slowly.extend(meetings.iter().enumerate().filter_map(slack).min().filter(|(ns, _)| *ns < i64::MAX));
            }
            prop_assert_eq!(tightest_by_stretch(&meetings, length, (a, b)), slowly, "{} {}", a, b);
        }
    }
}
