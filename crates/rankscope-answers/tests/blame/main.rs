//! Blame of jobs whose causes are known because they were put there.

mod job;

use job::{Do, run};
use proptest::prelude::*;
use rankscope_answers::blame::{Blamed, Culprit, Family, ReasonKind};
use rankscope_answers::pattern::Pattern;

/// Steps of all ranks, each of which `work` says, all meeting at its end.
fn job(ranks: usize, steps: usize, work: impl Fn(usize, usize) -> Vec<Do>) -> job::Job {
    let program = |rank| (0..steps).flat_map(|step| [work(rank, step), vec![Do::Meet(0)]].concat()).collect();
    run(&(0..ranks).map(program).collect::<Vec<_>>(), &[(0..ranks).collect()], 1)
}

fn assert_adds_up(blamed: &Blamed) {
    for blame in &blamed.ranks {
        assert_eq!(blame.caused_ns + blame.inherited_ns + blame.uncertain_ns, blame.lateness_ns, "{blame:?}");
        let waits = |reason: &&rankscope_answers::blame::Reason| reason.kind == ReasonKind::Waiting;
        assert_eq!(blame.reasons.iter().filter(waits).map(|reason| reason.ns).sum::<i64>(), blame.inherited_ns, "{blame:?}");
        assert_eq!(
            blame.reasons.iter().map(|reason| reason.ns).sum::<i64>(),
            blame.caused_ns + blame.inherited_ns,
            "{blame:?}"
        );
    }
}

/// The suspects, and of the rank at `rank` its first reason.
fn found(blamed: &Blamed, rank: usize) -> (Vec<(Culprit, Pattern)>, ReasonKind, String, i64) {
    assert_adds_up(blamed);
    let suspects = blamed.culprits.suspects(&[]).into_iter().map(|one| (one.culprit, one.pattern)).collect();
    let first = &blamed.ranks[rank].reasons[0];
    (suspects, first.kind, first.name.clone(), first.ns)
}

#[test]
fn a_slow_kernel_is_named_by_its_operator() {
    // Kernels hide what the host does; those of rank 2 take twice as long.
    let mm = |rank| Do::Kernel("aten::mm", if rank == 2 { 200 } else { 100 });
    let blamed =
        job(4, 8, |rank, _| vec![Do::Host("data_loading", 20), mm(rank), Do::Kernel("aten::add", 30)]).blame(&["world"], 0);
    // Before the first collective nobody knows when the ranks began.
    let expected = (vec![(Culprit::Rank(2), Pattern::Persistent)], ReasonKind::LongerKernels, "aten::mm".to_owned(), 700);
    assert_eq!(found(&blamed, 2), expected);
    assert_eq!((blamed.ranks[2].caused_ns, blamed.ranks[2].uncertain_ns), (700, 100));
    assert_eq!(blamed.ranks[2].reasons.len(), 1, "{:?}", blamed.ranks[2].reasons);
    assert_eq!(blamed.ranks[2].reasons[0].median_ns, 700);
}

#[test]
fn a_slow_host_is_named_by_its_annotation() {
    let loading = |rank, step| Do::Host("data_loading", if rank == 1 && step % 4 == 3 { 900 } else { 20 });
    let blamed = job(3, 16, |rank, step| vec![loading(rank, step), Do::Kernel("aten::mm", 100)]).blame(&["world"], 0);
    let (suspects, kind, name, ns) = found(&blamed, 1);
    assert_eq!(
        (suspects, kind, name.as_str()),
        (vec![(Culprit::Rank(1), Pattern::Periodic { every: 4 })], ReasonKind::Host, "data_loading")
    );
    assert!(ns >= blamed.ranks[1].caused_ns * 9 / 10, "{:?}", blamed.ranks[1]);
}

#[test]
fn more_kernels_are_told_from_longer_ones() {
    let work = |rank, _| vec![Do::Kernel("aten::mm", 100); if rank == 0 { 6 } else { 4 }];
    let (_, kind, name, ns) = found(&job(3, 6, work).blame(&["world"], 0), 0);
    assert_eq!((kind, name.as_str(), ns), (ReasonKind::MoreKernels, "aten::mm", 5 * 200));
}

/// Two ranks share a tensor group, and two a data group; the first meets twice a step.
fn two_dimensions(slow: usize, steps: usize) -> job::Job {
    let program = |rank: usize| -> Vec<Do> {
        let mm = Do::Kernel("aten::mm", if rank == slow { 300 } else { 100 });
        let step = [mm, Do::Meet(rank / 2), Do::Kernel("aten::add", 50), Do::Meet(2 + rank % 2)];
        (0..steps).flat_map(|_| step.clone()).collect()
    };
    let groups = [vec![0, 1], vec![2, 3], vec![0, 2], vec![1, 3]];
    run(&(0..4).map(program).collect::<Vec<_>>(), &groups, 2)
}

#[test]
fn a_wait_in_another_group_is_followed_to_the_rank_where_it_began() {
    let blamed = two_dimensions(1, 8).blame(&["tp", "tp", "dp", "dp"], 0);
    assert_adds_up(&blamed);
    // Rank 0 is late to its data group because it waited for rank 1 in their tensor group.
    let (rank_0, rank_1) = (&blamed.ranks[0], &blamed.ranks[1]);
    assert_eq!((rank_0.caused_ns, rank_0.inherited_ns), (0, 7 * 200));
    let wait = &rank_0.reasons[0];
    assert_eq!((wait.kind, wait.name.as_str(), wait.because_of), (ReasonKind::Waiting, "tp", Some(1)));
    assert_eq!((rank_1.caused_ns, rank_1.inherited_ns), (2 * 7 * 200, 0));
    let suspects = blamed.culprits.suspects(&[]);
    assert_eq!(suspects.iter().map(|one| one.culprit).collect::<Vec<_>>(), [Culprit::Rank(1)]);
    // Both ranks of the pair are late to their data groups, but one of them alone is why.
    let pairs = Family { sets: vec![(Culprit::Node(0), vec![0, 1]), (Culprit::Node(1), vec![2, 3])] };
    assert_eq!(blamed.culprits.suspects(&[pairs])[0].culprit, Culprit::Rank(1));
}

#[test]
fn a_node_that_is_slow_as_a_whole_is_named() {
    let mm = |rank: usize, step: usize| {
        Do::Kernel("aten::mm", if rank / 4 == 1 { 200 } else { 100 } + ((rank * 5 + step * 3) % 7) as i64)
    };
    let blamed = job(12, 10, |rank, step| vec![mm(rank, step)]).blame(&["world"], 0);
    assert_adds_up(&blamed);
    let nodes = Family {
        sets: (0..3).map(|node| (Culprit::Node(node), (node as usize * 4..node as usize * 4 + 4).collect())).collect(),
    };
    let suspects = blamed.culprits.suspects(&[nodes]);
    assert_eq!(
        suspects.iter().map(|one| (one.culprit, one.pattern)).collect::<Vec<_>>(),
        [(Culprit::Node(1), Pattern::Persistent)]
    );
}

#[test]
fn lateness_within_what_the_clocks_leave_open_is_uncertain() {
    let alike = |_, _| vec![Do::Kernel("aten::mm", 100)];
    let blamed = job(3, 8, alike).with_clock_off(1, 40).blame(&["world"], 50);
    assert_adds_up(&blamed);
    assert_eq!((blamed.ranks[1].last, blamed.ranks[1].uncertain_ns, blamed.ranks[1].caused_ns), (8, 320, 0));
    assert_eq!(blamed.culprits.suspects(&[]), []);
    let unbounded = job(3, 8, |rank, _| vec![Do::Kernel("aten::mm", 100 + 100 * rank as i64)]).blame(&["world"], i64::MAX);
    assert!(unbounded.ranks.iter().all(|blame| blame.uncertain_ns == blame.lateness_ns && blame.reasons.is_empty()));
}

#[test]
fn a_clock_that_is_off_by_more_than_it_says_causes_nothing() {
    // It moves comings and leavings alike, so that what the ranks did between them does not differ.
    let blamed = job(3, 8, |_, _| vec![Do::Kernel("aten::mm", 100)]).with_clock_off(1, 40).blame(&["world"], 5);
    assert_adds_up(&blamed);
    assert_eq!((blamed.ranks[1].uncertain_ns, blamed.ranks[1].caused_ns), (320, 0));
}

#[test]
fn ranks_that_are_alike_are_not_blamed() {
    let work = |rank: usize, step: usize| {
        vec![Do::Host("data_loading", 10), Do::Kernel("aten::mm", 1_000 + ((rank * 7 + step * 5) % 4) as i64)]
    };
    let blamed = job(4, 12, work).blame(&["world"], 0);
    assert_adds_up(&blamed);
    assert_eq!(blamed.culprits.suspects(&[]), []);
    assert!(blamed.ranks.iter().all(|blame| blame.pattern == Pattern::None));
}

fn any_work() -> impl Strategy<Value = Do> {
    let (hosts, operators) =
        (prop::sample::select(vec!["loading", "logging"]), prop::sample::select(vec!["mm", "add", "norm"]));
    prop_oneof![
        (hosts, 0..200_i64).prop_map(|(name, ns)| Do::Host(name, ns)),
        (operators, 1..200_i64).prop_map(|(name, ns)| Do::Kernel(name, ns))
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn reasons_add_up_to_lateness(
        work in prop::collection::vec(prop::collection::vec(prop::collection::vec(any_work(), 0..5), 4), 1..6),
        off_ns in -300..300_i64, open_ns in prop_oneof![Just(0), 0..300_i64],
    ) {
        // Each step all meet in their tensor group, then in their data group, then all of them.
        let program = |rank: usize| -> Vec<Do> {
            work.iter().flat_map(|step| {
                let own = step[rank].clone();
                let (first, rest) = own.split_at(own.len() / 2);
                [first, &[Do::Meet(rank / 2)], rest, &[Do::Meet(2 + rank % 2), Do::Meet(4)]].concat()
            }).collect()
        };
        let groups = [vec![0, 1], vec![2, 3], vec![0, 2], vec![1, 3], vec![0, 1, 2, 3]];
        let job = run(&(0..4).map(program).collect::<Vec<_>>(), &groups, 3).with_clock_off(3, off_ns);
        let blamed = job.blame(&["tp", "tp", "dp", "dp", "world"], open_ns);
        assert_adds_up(&blamed);
        let of: u64 = blamed.ranks.iter().map(|blame| blame.of).sum();
        prop_assert_eq!(of, 12 * work.len() as u64);
    }
}
