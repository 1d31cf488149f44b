//! Truth comes from clocks that were there first, and from the table, which follows all paths.

use proptest::prelude::*;

use super::*;
use crate::pairs::DENSE_RANKS_MAX;

/// All of `stays`, given as rank, start and end, overlapped.
fn overlap(bounds: &mut Bounds, stays: &[(usize, i64, i64)]) {
    for (entered, start, _) in stays {
        for (left, _, end) in stays.iter().filter(|(left, ..)| left != entered) {
            bounds.at_most(*entered, *left, Some(end - start));
        }
    }
}

/// Of `ranks` ranks, closed.
fn closed(mut bounds: Bounds, edges: &[(usize, usize, i64)]) -> Bounds {
    edges.iter().for_each(|(a, b, most)| bounds.at_most(*a, *b, Some(*most)));
    bounds.close();
    bounds
}

/// Bounds between a few dozen ranks; clocks satisfy them where no slack is negative, and may where some are.
fn edges() -> impl Strategy<Value = (usize, Vec<(usize, usize, i64)>)> {
    let clocks = prop::collection::vec(-1_000i64..1_000, 2..40);
    (clocks, prop_oneof![Just(0i64), Just(-20i64)]).prop_flat_map(|(clocks, least)| {
        let ranks = clocks.len();
        let edge = (0..ranks, 0..ranks, least..100).prop_map(move |(a, b, slack)| (a, b, clocks[b] - clocks[a] + slack));
        (Just(ranks), prop::collection::vec(edge, 0..3 * ranks))
    })
}

proptest! {
    /// Whatever the clocks, the truth lies inside the bounds.
    #[test]
    fn the_truth_is_inside(
        clocks in prop::collection::vec(-1_000_000i64..1_000_000, 2..6),
        collectives in prop::collection::vec((0i64..100_000, prop::collection::vec((0i64..50_000, 0i64..20_000), 6)), 1..20)
    ) {
        for mut bounds in [Bounds::free(clocks.len()), Bounds::free_and_sparse(clocks.len())] {
            let mut now = 0;
            for (gap, ranks) in &collectives {
                now += gap;
                let last = now + ranks.iter().take(clocks.len()).map(|(late, _)| *late).max().unwrap_or(0);
                let stays: Vec<_> = clocks.iter().zip(ranks).enumerate()
                    .map(|(rank, (clock, (late, linger)))| (rank, now + late + clock, last + linger + clock)).collect();
                overlap(&mut bounds, &stays);
                now = last + 20_000;
            }
            bounds.close();
            prop_assert_eq!(bounds.contradiction(), None);
            for a in 0..clocks.len() {
                for b in 0..clocks.len() {
                    let bound = bounds.between(a, b);
                    prop_assert_eq!(bound.clamp(clocks[b] - clocks[a]), clocks[b] - clocks[a]);
                }
            }
        }
    }

    /// As pair by pair, whether clocks satisfy the bounds or none do.
    #[test]
    fn a_table_is_closed_as_one_place_after_the_other((ranks, edges) in edges(), odd in prop::option::of((0usize..40, 0usize..40, -900i64..900))) {
        let mut slowly = vec![vec![Most::default(); ranks]; ranks];
        let edges: Vec<_> = edges.into_iter().chain(odd.map(|(a, b, most)| (a % ranks, b % ranks, most))).collect();
        edges.iter().for_each(|(a, b, most)| slowly[*a][*b] = slowly[*a][*b].or(Most::of(*most)));
        for via in 0..ranks {
            for from in 0..ranks {
                let (first, second) = (slowly[from][via], slowly[via].clone());
                slowly[from].iter_mut().zip(second).for_each(|(direct, second)| *direct = direct.or(first.then(second)));
            }
        }
        let table = closed(Bounds::free(ranks), &edges);
        for (from, row) in slowly.iter().enumerate() {
            prop_assert_eq!(&(0..ranks).map(|to| table.direct(from, to)).collect::<Vec<_>>(), row);
        }
    }

    /// As the table has it with the first rank; and as wide or wider, but not wider than what is at hand, between others.
    #[test]
    fn between_many_ranks_paths_are_those_of_the_table((ranks, edges) in edges()) {
        let table = closed(Bounds::free(ranks), &edges);
        let sparse = closed(Bounds::free_and_sparse(ranks), &edges);
        prop_assert_eq!(sparse.contradiction().is_some(), table.contradiction().is_some());
        if let Some(rank) = sparse.contradiction() {
            prop_assert!(table.direct(rank, rank).ns() < 0, "{} is on no cycle", rank);
            return Ok(());
        }
        let direct = |a: usize, b: usize| sparse.direct(a, b);
        for (a, b) in (0..ranks).flat_map(|a| (0..ranks).map(move |b| (a, b))).filter(|(a, b)| a != b) {
            let (found, least) = (sparse.most(a, b), table.direct(a, b));
            if a == 0 || b == 0 {
                prop_assert_eq!(found, least, "{} to {}", a, b);
            }
            prop_assert!(found.ns() >= least.ns(), "{} to {}: {:?} for {:?}", a, b, found, least);
            let by_first = table.direct(a, 0).then(table.direct(0, b));
            let at_hand = (0..ranks).fold(direct(a, b).or(by_first), |most, via| most.or(direct(a, via).then(direct(via, b))));
            prop_assert!(found.ns() <= at_hand.ns(), "{} to {}: {:?} for {:?}", a, b, found, at_hand);
        }
    }

    /// A clock that is placed by paths has the room that it has by the table, whatever the others did.
    #[test]
    fn the_room_for_a_clock_is_what_all_those_placed_leave(
        (ranks, edges) in edges(), places in prop::collection::vec((any::<prop::sample::Index>(), -3_000i64..3_000), 1..60)
    ) {
        let table = closed(Bounds::free(ranks), &edges);
        let sparse = closed(Bounds::free_and_sparse(ranks), &edges);
        prop_assume!(table.contradiction().is_none());
        let [mut by_table, mut by_paths] = [Placing::new(&table), Placing::new(&sparse)];
        let mut there: Vec<(usize, i64)> = Vec::new();
        for (rank, wanted_ns) in places {
            let rank = rank.index(ranks);
            if there.iter().any(|(other, _)| *other == rank) {
                continue;
            }
            let room = there.iter().map(|(other, at)| {
                let Bound { lo_ns, hi_ns } = table.between(*other, rank);
                Bound { lo_ns: lo_ns.map(|lo| lo + at), hi_ns: hi_ns.map(|hi| hi + at) }
            });
            let room = room.fold(Bound::default(), Bound::and);
            prop_assert_eq!((by_table.room(rank), by_paths.room(rank)), (room, room));
            let at = by_table.put_near(rank, wanted_ns);
            prop_assert_eq!(by_paths.put_near(rank, wanted_ns), at);
            there.push((rank, at));
        }
    }

    /// Stamps from the ends of time end nothing.
    #[test]
    fn whatever_is_claimed_there_is_an_answer(
        edges in prop::collection::vec((0usize..6, 0usize..6, prop_oneof![
            Just(i64::MIN), Just(i64::MAX), Just(-(1i64 << 60)), Just(1i64 << 60), any::<i64>(), -9i64..9
        ]), 0..20),
        wanted_ns in any::<i64>()
    ) {
        for bounds in [Bounds::free(6), Bounds::free_and_sparse(6)] {
            let mut bounds = closed(bounds, &edges);
            bounds.loosen(3);
            bounds.close();
            let mut placing = Placing::new(&bounds);
            placing.put_together(&[0, 1, 2], wanted_ns);
            for rank in 3..6 {
                placing.put_near(rank, wanted_ns);
                bounds.between(rank, rank - 3);
            }
        }
    }
}

#[test]
fn stays_that_cannot_overlap_contradict() {
    for mut bounds in [Bounds::free(2), Bounds::free_and_sparse(2)] {
        overlap(&mut bounds, &[(0, 0, 10), (1, 0, 10)]);
        overlap(&mut bounds, &[(0, 100, 110), (1, 200, 210)]);
        bounds.close();
        assert!(bounds.contradiction().is_some());
    }
}

#[test]
fn bounds_add_along_a_path() {
    for mut bounds in [Bounds::free(3), Bounds::free_and_sparse(3)] {
        overlap(&mut bounds, &[(0, 0, 10), (1, 0, 10)]);
        overlap(&mut bounds, &[(1, 50, 60), (2, 50, 60)]);
        bounds.close();
        assert_eq!(bounds.between(0, 2), Bound { lo_ns: Some(-20), hi_ns: Some(20) });
    }
}

#[test]
fn clocks_that_cannot_be_equal_are_not_placed_together_and_leave_no_trace() {
    for bounds in [Bounds::free(DENSE_RANKS_MAX), Bounds::free(DENSE_RANKS_MAX + 1)] {
        // 2 is behind 1 by way of 3.
        let bounds = closed(bounds, &[(0, 1, 50), (1, 3, 10), (3, 2, -11), (2, 1, 90), (2, 4, 5)]);
        let mut placing = Placing::new(&bounds);
        placing.put_near(0, 0);
        assert!(!placing.put_together(&[1, 2], 20));
        assert_eq!([1, 2, 4].map(|rank| placing.room(rank).hi_ns), [Some(50), Some(49), Some(54)]);
        assert!(placing.put_together(&[2, 4], 20));
        assert_eq!(placing.room(1), Bound { lo_ns: Some(21), hi_ns: Some(50) });
    }
}
