//! Laws of meetings, by examples and by chance.

use proptest::prelude::*;

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
fn tightest_by_stretch(meetings: &Meetings, length: usize, (a, b): (usize, usize)) -> Vec<(i64, usize)> {
    let mut found: std::collections::BTreeMap<usize, (i64, usize)> = std::collections::BTreeMap::new();
    for (block, own) in &meetings.blocks_by_rank(5)[a] {
        for (stretch, block) in meetings.block(*block as usize).stretches(length) {
            let other = block.members.iter().position(|member| member.rank() == b);
            let tightest = other.and_then(|other| block.tightest(*own as usize, other));
            assert_eq!(other.and_then(|other| block.tightest_ns(*own as usize, other)), tightest.map(|(_, ns)| ns));
            let tightest = tightest.map(|(row, ns)| (ns, block.at[row] as usize));
            found
                .entry(stretch)
                .and_modify(|known| *known = tightest.map_or(*known, |new| new.min(*known)))
                .or_insert(tightest.unwrap_or((i64::MAX, usize::MAX)));
        }
    }
    found.into_values().filter(|(ns, _)| *ns < i64::MAX).collect()
}

proptest! {
    #[test]
    fn meetings_are_kept_and_sorted(all in any_meetings(), seed in any::<i64>()) {
        let mut meetings: Meetings = all.iter().cloned().collect();
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
        let mut meetings: Meetings = all.into_iter().collect();
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
