//! What holds of every comparison: parts add up, the same is no change, and turning the sides round turns the signs.

use proptest::prelude::*;
use rankscope_compare::{Run, Settings, Side, compare};
use rankscope_document::{
    CollectiveKind, CollectiveTables, Comparison, Contribution, ContributionKind, Document, IdleBreakdown, Kernel, KernelClass,
    KernelSummary, OperatorArguments, OperatorSummary, Rank, RankCollectiveSummary, Step, StructureChange, StructureChanges,
    Tables, Time,
};

fn time() -> impl Strategy<Value = Time> {
    let part = 0..2_000_000_i64;
    (part.clone(), part.clone(), part.clone(), part).prop_map(|(computation, exposed_comm, exposed_memcpy, idle)| {
        let busy = computation + exposed_comm + exposed_memcpy;
        Time {
            computation,
            exposed_comm,
            exposed_memcpy,
            busy,
            idle,
            total: busy + idle,
            total_comm: exposed_comm,
            total_memcpy: exposed_memcpy,
        }
    })
}

/// An operator by its number, arguments by theirs, a kernel by its: how often, and how long in all.
type Call = (u8, u8, u8, u64, i64);

fn operators(calls: &[Call]) -> Tables {
    let operator = |of: u8| format!("aten::op{of}");
    let one = |call: &Call| OperatorArguments {
        name: operator(call.0),
        category: "other".to_owned(),
        input_dims: Some(format!("[[{}, 4]]", call.1)),
        count: call.3,
        direct_kernel_ns: call.4,
        ..OperatorArguments::default()
    };
    let kernel = |call: &Call| KernelSummary {
        parent_op: (call.2 < 3).then(|| operator(call.0)),
        category: "other".to_owned(),
        name: format!("kernel{}", call.2),
        stream: "7".to_owned(),
        count: call.3,
        sum_ns: call.4,
        mean_ns: 0.0,
        min_ns: 0,
        max_ns: 0,
    };
    let summary = |call: &Call| OperatorSummary {
        name: operator(call.0),
        category: "other".to_owned(),
        count: call.3,
        direct_kernel_ns: call.4,
        subtree_kernel_ns: call.4,
        kernel_sum_ns: call.4,
    };
    Tables {
        ops_unique_args: Some(calls.iter().map(one).collect()),
        kernel_summary: Some(calls.iter().map(kernel).collect()),
        ops_summary: Some(calls.iter().map(summary).collect()),
        ..Tables::default()
    }
}

fn rank(number: u32) -> impl Strategy<Value = (Rank, Vec<RankCollectiveSummary>)> {
    let calls = prop::collection::vec((0..4_u8, 0..3_u8, 0..4_u8, 1..9_u64, 0..1_000_000_i64), 0..6);
    let collectives = prop::collection::vec((0..3_u64, 1..5_u64, 0..300_000_i64, 0..300_000_i64), 0..3);
    let steps = prop::collection::vec((0..7_i64, time()), 0..6);
    (time(), steps, calls, collectives, 0..500_000_i64).prop_map(move |(whole, steps, calls, collectives, host_wait_ns)| {
        let mut steps: Vec<Step> =
            steps.into_iter().map(|(step, time_ns)| Step { step, window_ns: [step * 10_000_000, 0], time_ns }).collect();
        steps.sort_by_key(|step| step.step);
        steps.dedup_by_key(|step| step.step);
        let idle = IdleBreakdown { host_wait_ns, kernel_wait_ns: 7, other_ns: 0, streams: Vec::new() };
        let tables = Tables { idle: Some(idle), ..operators(&calls) };
        let row = |(elements, count, wait_ns, transfer_ns): (u64, u64, i64, i64)| RankCollectiveSummary {
            rank: number,
            kind: CollectiveKind::AllReduce,
            dtype: "Float".to_owned(),
            in_elements: Some(1 << elements),
            process_group: "0".to_owned(),
            count,
            matched: count,
            wait_ns,
            transfer_ns,
            sum_ns: wait_ns + transfer_ns,
            exposed_ns: (elements > 0).then_some((wait_ns + transfer_ns) / count.cast_signed()),
            ..RankCollectiveSummary::default()
        };
        let rank = Rank { rank: number, time_ns: whole, steps, tables: Some(tables), ..Rank::default() };
        (rank, collectives.into_iter().map(row).collect())
    })
}

fn document() -> impl Strategy<Value = Document> {
    (1..4_u32).prop_flat_map(|ranks| (0..ranks).map(rank).collect::<Vec<_>>()).prop_map(|ranks| {
        let (ranks, rows): (Vec<Rank>, Vec<_>) = ranks.into_iter().unzip();
        let tables = CollectiveTables { nccl_summary_long: Some(rows.concat()), ..CollectiveTables::default() };
        Document { ranks, collective_tables: Some(tables), ..Document::default() }
    })
}

fn side(label: &str, runs: &[Document]) -> Side {
    Side::new(label, runs.iter().map(|run| Run::new("run", run.clone())).collect())
}

fn compared(base: &[Document], test: &[Document]) -> Comparison {
    compare(&[side("a", base), side("b", test)], &Settings::default()).first
}

fn alone(base: &Document, test: &Document) -> Comparison {
    compared(std::slice::from_ref(base), std::slice::from_ref(test))
}

fn runs() -> impl Strategy<Value = Vec<Document>> {
    prop::collection::vec(document(), 1..4)
}

fn places(changes: &[StructureChange]) -> Vec<(String, Option<String>, Vec<u32>)> {
    let mut places: Vec<_> =
        changes.iter().map(|change| (change.name.clone(), change.within.clone(), change.ranks.clone())).collect();
    places.sort();
    places
}

/// How large a part is beside the others. Of a collective whose waiting and moving data change in opposite directions, both are what
/// remains, and so is what is hidden of it.
fn size(part: &Contribution, all: &[Contribution]) -> u64 {
    let of = |kind: ContributionKind| -> i64 {
        all.iter().filter(|other| other.kind == kind && other.name == part.name).map(|other| other.delta_ns).sum()
    };
    let (wait, transfer) = (of(ContributionKind::CollectiveWait), of(ContributionKind::CollectiveTransfer));
    let remaining =
        |a: i64, b: i64| if a.signum() * b.signum() < 0 { (a + b).unsigned_abs() } else { part.delta_ns.unsigned_abs() };
    match part.kind {
        ContributionKind::CollectiveWait | ContributionKind::CollectiveTransfer => remaining(wait, transfer),
        ContributionKind::Overlap if part.name.contains('@') => remaining(wait + transfer, part.delta_ns),
        _ => part.delta_ns.unsigned_abs(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn contributions_classes_and_ranks_add_up_to_the_nanosecond(base in runs(), test in runs()) {
        let pair = compared(&base, &test);
        prop_assert_eq!(pair.step_delta_ns, pair.test_step_ns - pair.base_step_ns);
        prop_assert_eq!(pair.contributions.iter().map(|part| part.delta_ns).sum::<i64>(), pair.step_delta_ns);
        prop_assert_eq!(pair.classes.iter().map(|class| class.delta_ns).sum::<i64>(), pair.step_delta_ns);
        prop_assert!(pair.contributions.is_sorted_by_key(|part| std::cmp::Reverse(size(part, &pair.contributions))));
        for rank in &pair.ranks {
            let parts = rank.computation_delta_ns + rank.exposed_comm_delta_ns + rank.exposed_memcpy_delta_ns + rank.idle_delta_ns;
            prop_assert_eq!(parts, rank.delta_ns);
        }
    }

    #[test]
    fn the_same_runs_are_no_change(base in runs()) {
        let pair = compared(&base, &base);
        prop_assert_eq!(pair.step_delta_ns, 0);
        prop_assert!(pair.contributions.iter().all(|part| part.delta_ns == 0), "{:?}", pair.contributions);
        // What the runs themselves differ in is no change between the sides.
        prop_assert_eq!(StructureChanges { varying: Vec::new(), ..pair.structure }, StructureChanges::default());
    }

    #[test]
    fn turning_the_sides_round_turns_the_signs(base in document(), test in document()) {
        let (there, back) = (alone(&base, &test), alone(&test, &base));
        prop_assert_eq!(there.step_delta_ns, -back.step_delta_ns);
        prop_assert_eq!(there.paced_by, back.paced_by);
        let sorted = |pair: &Comparison, sign: i64| {
            let mut deltas: Vec<i64> = pair.contributions.iter().map(|part| sign * part.delta_ns).collect();
            deltas.sort_unstable();
            deltas
        };
        prop_assert_eq!(sorted(&there, 1), sorted(&back, -1));
        prop_assert_eq!(places(&there.structure.new), places(&back.structure.gone));
        prop_assert_eq!(places(&there.structure.gone), places(&back.structure.new));
        prop_assert_eq!(there.structure.swapped.len(), back.structure.swapped.len());
        prop_assert_eq!(places(&there.structure.count_changed), places(&back.structure.count_changed));
    }

    #[test]
    fn the_order_of_ranks_does_not_matter(base in document(), test in document()) {
        let turned = |document: &Document| {
            let mut turned = document.clone();
            turned.ranks.reverse();
            turned
        };
        let (there, other) = (alone(&base, &test), alone(&turned(&base), &turned(&test)));
        prop_assert_eq!(there.step_delta_ns, other.step_delta_ns);
        prop_assert_eq!(there.contributions, other.contributions);
        prop_assert_eq!(there.classes, other.classes);
        prop_assert_eq!(there.ranks, other.ranks);
        prop_assert_eq!(there.structure, other.structure);
    }
}

/// A run of one rank whose one operator took `ns` in all.
fn of_operator(ns: i64) -> Document {
    let time_ns = Time { computation: ns, busy: ns, total: ns, ..Time::default() };
    let rank = Rank { time_ns, tables: Some(operators(&[(0, 0, 0, 4, ns)])), ..Rank::default() };
    Document { ranks: vec![rank], ..Document::default() }
}

#[test]
fn how_much_slower_each_is_is_told_of_all_runs_and_not_of_the_first() {
    let runs = |times: [i64; 3]| times.map(of_operator).to_vec();
    let pair = compared(&runs([1_000, 1_000, 1_000]), &runs([500, 2_000, 2_000]));
    let detail = pair.contributions[0].detail.as_deref();
    assert_eq!((pair.contributions[0].delta_ns, detail), (500, Some("as many, each slower by 50.0 %")));
}

#[test]
fn a_side_that_marks_no_steps_is_said_to_be_one() {
    let step = |step| Step { step, window_ns: [step, step + 1], time_ns: Time { total: 10, ..Time::default() } };
    let marked = |count: i64| Document {
        ranks: vec![Rank { steps: (0..count).map(step).collect(), ..Rank::default() }],
        ..Document::default()
    };
    let notes = |test: i64| {
        let document = compare(&[side("a", &[marked(20)]), side("b", &[marked(test)])], &Settings::default());
        document.notes.into_iter().map(|note| note.text).collect::<Vec<_>>()
    };
    assert!(notes(0).iter().any(|note| note.starts_with("a has marks of steps and b has none")), "{:?}", notes(0));
    assert!(notes(20).is_empty(), "{:?}", notes(20));
}

/// What a side was saved without is not known of it: nothing in it is new or gone beside a side that has it.
#[test]
fn tables_that_one_side_lacks_tell_of_no_change() {
    let time_ns =
        Time { computation: 600, exposed_comm: 300, exposed_memcpy: 50, busy: 950, idle: 50, total: 1_000, ..Time::default() };
    let row = RankCollectiveSummary { count: 4, matched: 4, sum_ns: 400, transfer_ns: 400, ..RankCollectiveSummary::default() };
    let idle = IdleBreakdown { host_wait_ns: 50, kernel_wait_ns: 0, other_ns: 0, streams: Vec::new() };
    let with = Document {
        ranks: vec![Rank {
            time_ns,
            tables: Some(Tables { idle: Some(idle), ..operators(&[(0, 0, 0, 4, 600)]) }),
            ..Rank::default()
        }],
        collective_tables: Some(CollectiveTables { nccl_summary_long: Some(vec![row]), ..CollectiveTables::default() }),
        ..Document::default()
    };
    let mut without = with.clone();
    without.collective_tables = None;
    without.ranks[0].tables = None;
    let mut with_some = with.clone();
    with_some.collective_tables = None;
    with_some.ranks[0].tables =
        Some(Tables { kernel_summary: with.ranks[0].tables.clone().unwrap().kernel_summary, ..Tables::default() });
    for lacking in [without, with_some] {
        for (base, test) in [(&with, &lacking), (&lacking, &with)] {
            let pair = alone(base, test);
            assert_eq!(pair.contributions, [], "the sides took as long in every class");
            assert_eq!(pair.structure, StructureChanges::default());
        }
    }
}

/// Of kernels without tables only the longest are listed: what one side does not list need not be gone.
#[test]
fn a_kernel_that_only_one_side_lists_among_its_longest_is_new_if_it_is_longer_than_the_least() {
    let listed = |last: &str, last_ns: i64| {
        let kernel =
            |name: &str, total_ns: i64| Kernel { name: name.to_owned(), class: KernelClass::Compute, count: 4, total_ns };
        let mut kernels: Vec<Kernel> = (0..19).map(|at| kernel(&format!("gemm{at}"), 100)).collect();
        kernels.push(kernel(last, last_ns));
        let time_ns = Time { computation: 5_000, busy: 5_000, total: 5_000, ..Time::default() };
        Document { ranks: vec![Rank { time_ns, kernels, ..Rank::default() }], ..Document::default() }
    };
    let names = |base: &Document, test: &Document| {
        let parts = alone(base, test).contributions;
        parts.into_iter().filter(|part| part.kind == ContributionKind::Kernel).map(|part| part.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&listed("add", 50), &listed("mul", 50)), [""; 0], "each may be the 21st on the other side");
    assert_eq!(names(&listed("add", 50), &listed("mul", 90)), ["mul"]);
    let mut short = listed("add", 50);
    short.ranks[0].kernels.truncate(5);
    assert_eq!(names(&short, &listed("mul", 90)).len(), 15, "a list that is not full is of all there are");
}
