//! Laws of a replay, and replays beside simulations of the jobs they are about.

mod simulated;

use proptest::prelude::*;
use rankscope_collectives::{Collectives, RankCollectives, match_ranks};
use rankscope_time::{ClockMap, Rank, Span};

use super::{Change, TargetError, TargetSort};
use crate::{Activity, Builder, Key, LaneKind, NewPiece, Share};
use simulated::{Costs, Simulated};

/// Jobs bound by the host, by devices or by communication, on clocks that are off by more than a collective takes.
fn any_costs() -> impl Strategy<Value = Costs> {
    let rank = (0..20_000_i64, 100..9_000_i64, 100..60_000_i64, -30_000..30_000_i64);
    (prop::collection::vec(rank, 1..5), 0..2_000_i64, 0..20_000_i64, any::<bool>()).prop_map(
        |(ranks, launch_ns, transfer_ns, in_turn)| Costs {
            loading_ns: ranks.iter().map(|rank| rank.0).collect(),
            host_ns: ranks.iter().map(|rank| rank.1).collect(),
            kernel_ns: ranks.iter().map(|rank| rank.2).collect(),
            off_ns: ranks.iter().map(|rank| rank.3).collect(),
            launch_ns,
            transfer_ns,
            in_turn,
            ..Costs::of(ranks.len())
        },
    )
}

fn true_clocks(costs: Costs) -> Costs {
    Costs { off_ns: vec![0; costs.off_ns.len()], ..costs }
}

/// Changes that make work longer or shorter by `factor`.
fn all_by(factor: &str, ranks: usize) -> Vec<String> {
    let work = (0..ranks).map(|rank| format!("rank:{rank}={factor}"));
    work.chain([format!("collective:all_reduce={factor}")]).collect()
}

fn texts(owned: &[String]) -> Vec<&str> {
    owned.iter().map(String::as_str).collect()
}

/// What a step of `job` took, and what it takes in the modelled job.
fn seen_and_modelled_ns(job: &Simulated) -> (i64, i64) {
    job.with(|replay| (replay.observed_step_ns(), replay.modelled().step_ns))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_does_not_change_comes_back_exactly_whatever_the_clocks_say(costs in any_costs()) {
        for job in [costs.run(), costs.run().whole()] {
            let observed_ns = job.observed_ns();
            prop_assert_eq!(job.changed_ns(&[]), observed_ns);
            let same = all_by("1x", costs.kernel_ns.len());
            prop_assert_eq!(job.changed_ns(&texts(&same)), observed_ns);
            prop_assert_eq!(job.with(|replay| replay.unchanged().cycles), 0);
        }
    }

    #[test]
    fn a_job_of_constant_delays_is_explained_by_its_graph(costs in any_costs()) {
        let job = true_clocks(costs).run();
        let (seen_ns, modelled_ns) = seen_and_modelled_ns(&job);
        prop_assert!((modelled_ns - seen_ns).abs() * 50 <= seen_ns, "{} {}", modelled_ns, seen_ns);
    }

    #[test]
    fn less_work_never_makes_a_job_longer(costs in any_costs(), factor in 0.01..1.0_f64, less in 0.01..1.0_f64) {
        let job = true_clocks(costs).run().whole();
        for target in ["op:aten::mm", "kernel:gemm", "host:data_loading", "rank:0", "collective:all_reduce"] {
            let more_ns = job.changed_ns(&[&format!("{target}={factor}x")]);
            let less_ns = job.changed_ns(&[&format!("{target}={}x", factor * less)]);
            let none_ns = job.changed_ns(&[&format!("{target}=0")]);
            prop_assert!(none_ns <= less_ns && less_ns <= more_ns && more_ns <= job.observed_ns(), "{}", target);
        }
        for text in ["overlap=perfect", "launch=0", "idle=0"] {
            prop_assert!(job.changed_ns(&[text]) <= job.observed_ns(), "{}", text);
        }
    }

    #[test]
    fn a_job_of_twice_the_work_takes_at_most_twice_as_long(costs in any_costs()) {
        let twice = all_by("2x", costs.kernel_ns.len());
        let job = true_clocks(costs).run().whole();
        let (before_ns, after_ns) = (job.observed_ns(), job.changed_ns(&texts(&twice)));
        prop_assert!(before_ns <= after_ns && after_ns <= 2 * before_ns, "{before_ns} {after_ns}");
    }

    #[test]
    fn the_order_of_ranks_changes_nothing(costs in any_costs()) {
        let job = costs.run();
        let mut turned = job.clone();
        turned.executions.reverse();
        turned.collectives.reverse();
        turned.windows.reverse();
        turned.matched = rankscope_collectives::match_ranks(&turned.collectives);
        let sets = [vec!["op:aten::mm=0.5x"], vec!["balance=perfect"], vec!["overlap=perfect"], vec!["collective:all_reduce@dp=0"]];
        for set in sets {
            prop_assert_eq!(job.changed_ns(&set), turned.changed_ns(&set), "{:?}", set);
        }
    }

    #[test]
    fn a_changed_job_is_what_the_simulator_makes_of_it(costs in any_costs(), factor in 0.3..3.0_f64) {
        let costs = true_clocks(costs);
        let (job, text) = (costs.run(), format!("={factor}x"));
        let scaled = |ns: &i64| (*ns as f64 * factor).round() as i64;
        let cases = [
            (format!("kernel:gemm{text}"), Costs { kernel_ns: costs.kernel_ns.iter().map(scaled).collect(), ..costs.clone() }),
            (format!("host:data_loading{text}"), Costs { loading_ns: costs.loading_ns.iter().map(scaled).collect(), ..costs.clone() }),
            (format!("collective:all_reduce@dp{text}"), Costs { transfer_ns: scaled(&costs.transfer_ns), ..costs.clone() }),
        ];
        for (text, costs) in cases {
            let (truth_ns, replayed_ns) = (costs.run().observed_ns(), job.changed_ns(&[&text]));
            // How soon a kernel could have started after a launch that did not bind it is not in the recording.
            let open_ns = costs.launch_ns * (costs.layers as i64 + 1);
            prop_assert!((truth_ns - replayed_ns).abs() <= open_ns + 10, "{text}: {truth_ns} {replayed_ns}");
        }
    }
}

/// One rank whose twenty kernels start 500 ns after their launch, but for the last ones, so many, that are late by `late_ns` for no
/// reason that is recorded.
fn last_late(late: i64, late_ns: i64) -> Simulated {
    let mut builder = Builder::default();
    let (host, device) = (builder.lane(LaneKind::Thread, "main"), builder.lane(LaneKind::Stream, "7"));
    let (call, kernel) = (builder.key(Key::new(Activity::Call, "launch")), builder.key(Key::new(Activity::Kernel, "k")));
    let piece = |lane, start_ns, dur_ns, key| NewPiece {
        lane,
        start_ns,
        dur_ns,
        shares: vec![Share { key, ns: dur_ns }],
        collective: None,
    };
    for at in 0..20 {
        let launched_ns = at * 50_000 + 10_000;
        let late_ns = if at >= 20 - late { late_ns } else { 0 };
        let by = builder.piece(piece(host, launched_ns - 50_000 + 10_000, 40_000, call));
        let work = builder.piece(piece(device, launched_ns + 500 + late_ns, 5_000, kernel));
        builder.launch(work, by);
    }
    let collectives =
        vec![RankCollectives { rank: Rank(0), groups: Vec::new(), collectives: Collectives::default(), steps: Vec::new() }];
    let maps = vec![ClockMap::from_offset(Span::from_nanos(0), 0)];
    let matched = match_ranks(&collectives);
    Simulated { executions: vec![builder.finish()], collectives, matched, maps, windows: vec![Vec::new()], nodes: vec![None] }
}

#[test]
fn delays_that_nothing_explains_are_an_error_of_the_modelled_job_alone() {
    for late_ns in [0, 40_000] {
        let job = last_late(10, late_ns);
        let (seen_ns, unchanged_ns, modelled_ns) =
            job.with(|replay| (replay.observed_step_ns(), replay.unchanged().step_ns, replay.modelled().step_ns));
        // What half of them were late by, all of them are half of on average, the last, too.
        assert_eq!((unchanged_ns, modelled_ns), (seen_ns, seen_ns - late_ns / 2));
        assert_eq!(job.with(|replay| replay.stalls().count), 0);
    }
}

#[test]
fn a_delay_far_out_of_its_sort_stays_and_is_told_apart() {
    let job = last_late(1, 100_000);
    let (seen_ns, modelled_ns) = seen_and_modelled_ns(&job);
    assert_eq!(modelled_ns, seen_ns);
    assert_eq!(job.with(|replay| (replay.stalls().count, replay.stalls().ns)), (1, 100_500));
    let none = job.with(|replay| replay.run_modelled(&super::parse("launch=0").expect("a change")).map(|done| done.step_ns));
    assert_eq!(none, Ok(seen_ns - 100_500), "a stall of a launch is a delay of a launch");
}

#[test]
fn what_ended_last_need_not_have_held_a_piece_up() {
    // The collective of one layer ends when the next launch does, or just after: the lag behind it is a launch's.
    for (host_ns, kernel_ns, launch_ns) in [(2_653, 1_183, 1_470), (5_748, 4_079, 1_670)] {
        let costs = Costs {
            steps: 4,
            layers: 3,
            loading_ns: vec![0],
            host_ns: vec![host_ns],
            kernel_ns: vec![kernel_ns],
            launch_ns,
            transfer_ns: host_ns,
            in_turn: false,
            off_ns: vec![0],
            ..Costs::of(1)
        };
        let (seen_ns, modelled_ns) = seen_and_modelled_ns(&costs.run());
        assert!((modelled_ns - seen_ns).abs() * 50 <= seen_ns, "{modelled_ns} {seen_ns}");
    }
}

#[test]
fn no_device_takes_milliseconds_to_start_what_nothing_holds_up() {
    // The first one is late by its launch, and the others by those before them.
    let job = last_late(20, 2_000_000);
    let (seen_ns, modelled_ns) = seen_and_modelled_ns(&job);
    assert_eq!(modelled_ns, seen_ns);
    assert_eq!(job.with(|replay| (replay.stalls().count, replay.stalls().ns)), (1, 2_000_500));
}

#[test]
fn without_its_straggler_a_job_takes_as_long_as_without_it() {
    let fair = Costs::of(4);
    let fair_ns = fair.run().observed_ns();
    let slow = Costs { kernel_ns: vec![30_000, 30_000, 45_000, 30_000], ..fair.clone() };
    assert!(slow.run().observed_ns() > fair_ns + 40_000);
    assert_eq!(slow.run().changed_ns(&["rank:2=median"]), fair_ns);
    assert_eq!(slow.run().changed_ns(&["balance=perfect"]), fair_ns);
    assert_eq!(slow.run().changed_ns(&["wait=0"]), fair_ns);
    assert_eq!(slow.run().changed_ns(&["rank:1=median"]), slow.run().observed_ns());
    let slow_host = Costs { loading_ns: vec![1_000, 90_000, 1_000, 1_000], ..fair };
    assert_eq!(slow_host.run().changed_ns(&["rank:1=median"]), fair_ns);
}

#[test]
fn what_is_slow_in_one_step_is_taken_away_in_that_step() {
    let fair = Costs { steps: 8, ..Costs::of(3) };
    let sporadic = Costs { slow_loading_ns: vec![(1, 3, 400_000), (1, 7, 400_000)], ..fair.clone() };
    let (fair_ns, sporadic_ns) = (fair.run().observed_ns(), sporadic.run().observed_ns());
    assert_eq!(sporadic_ns - fair_ns, 2 * 399_000 / 8);
    assert_eq!(sporadic.run().changed_ns(&["rank:1=median"]), fair_ns);
}

#[test]
fn work_that_overlaps_perfectly_hides_all_transfers_but_the_last() {
    let costs = Costs { transfer_ns: 12_000, ..Costs::of(2) };
    let job = costs.run();
    let layer_ns = 30_000;
    // While the last transfer of a step goes on, the host gets the next step ready.
    assert_eq!(job.changed_ns(&["overlap=perfect"]), 3 * layer_ns + 12_000);
    // Where collectives take longer than the work, they are what remains.
    let costs = Costs { transfer_ns: 100_000, ..costs };
    assert_eq!(costs.run().changed_ns(&["overlap=perfect"]), layer_ns + 3 * 100_000);
}

#[test]
fn lags_can_be_taken_away() {
    let costs =
        Costs { host_ns: vec![40_000; 2], kernel_ns: vec![10_000; 2], launch_ns: 3_000, in_turn: false, ..Costs::of(2) };
    let job = costs.run().whole();
    let at_once = Costs { launch_ns: 0, ..costs }.run().whole();
    assert_eq!(job.changed_ns(&["launch=0"]), at_once.observed_ns());
    assert_eq!(job.changed_ns(&["idle=0"]), at_once.observed_ns());
}

#[test]
fn a_link_that_is_twice_as_fast_halves_its_transfers() {
    let costs = Costs::of(4);
    let mut job = costs.run();
    job.nodes = vec![Some(0), Some(0), Some(1), Some(1)];
    let fast = Costs { transfer_ns: 3_500, ..costs };
    assert_eq!(job.changed_ns(&["link:inter=2x"]), fast.run().observed_ns());
    assert_eq!(job.changed_ns(&["link:1-0=2x"]), fast.run().observed_ns());
    assert!(matches!(job.try_changed_ns(&["link:0-2=2x"]), Err(TargetError::UnusedLink { .. })));
    assert!(matches!(job.try_changed_ns(&["link:intra=2x"]), Err(TargetError::UnusedLink { .. })));
    job.nodes = vec![None; 4];
    assert!(matches!(job.try_changed_ns(&["link:inter=2x"]), Err(TargetError::UnknownNodes { .. })));
}

#[test]
fn several_changes_are_made_together() {
    let costs = Costs::of(2);
    let both = Costs { kernel_ns: vec![15_000; 2], transfer_ns: 0, ..costs.clone() };
    assert_eq!(costs.run().changed_ns(&["kernel:gemm=0.5x", "collective:all_reduce=0"]), both.run().observed_ns());
}

#[test]
fn targets_that_are_not_there_are_named_with_those_like_them() {
    let job = Costs::of(2).run();
    let near = |text: &str| match job.try_changed_ns(&[text]) {
        Err(TargetError::UnknownTarget { sort, near, .. }) => (sort, near.join(" ")),
        other => panic!("{text}: {other:?}"),
    };
    assert_eq!(near("op:aten::nm=0.5x"), (TargetSort::Operator, "aten::mm".to_owned()));
    assert_eq!(near("kernel:gem_m=0.5x"), (TargetSort::Kernel, "gemm".to_owned()));
    assert_eq!(near("host:loading=0.5x"), (TargetSort::Host, "data_loading".to_owned()));
    assert_eq!(near("rank:7=median"), (TargetSort::Rank, "0-1".to_owned()));
    assert_eq!(near("collective:all_gather=0"), (TargetSort::Collective, "all_reduce@dp".to_owned()));
    assert_eq!(near("collective:all_reduce@tp=0"), (TargetSort::Collective, "all_reduce@dp".to_owned()));
    for text in ["kernel:ge=0.5x", "collective:AllReduce@0=0", "collective:all_reduce@mesh_dp=0", "host:data=0"] {
        assert!(job.try_changed_ns(&[text]).is_ok(), "{text}");
    }
    let alone = Costs::of(1).run();
    assert_eq!(alone.try_changed_ns(&["rank:0=median"]), Err(TargetError::NoOtherRank { rank: Rank(0) }));
}

#[test]
fn orders_that_contradict_each_other_are_broken_up_and_counted() {
    let mut job = Costs::of(2).run();
    // The first collective of one rank is taken for the second of the other, and the other way round.
    let [first, second] = &mut job.matched.instances[..2] else { panic!("two collectives") };
    let other = first.members.at(1);
    first.members = [first.members.at(0), second.members.at(1)].into_iter().collect();
    second.members = [second.members.at(0), other].into_iter().collect();
    let (observed_ns, unchanged) = (job.observed_ns(), job.with(|replay| replay.unchanged().clone()));
    assert_eq!((unchanged.step_ns, unchanged.cycles > 0), (observed_ns, true));
    assert!(job.changed_ns(&["kernel:gemm=0.5x"]) < observed_ns);
}

#[test]
fn candidates_are_what_the_job_has() {
    let slow = Costs { kernel_ns: vec![30_000, 30_000, 45_000], ..Costs::of(3) };
    let candidates = slow.run().with(|replay| replay.candidates());
    let texts: Vec<String> = candidates.iter().map(ToString::to_string).collect();
    assert_eq!(
        texts,
        [
            "op:aten::mm=0.5x",
            "rank:2=median",
            "rank:0=median",
            "rank:1=median",
            "collective:all_reduce@dp=0",
            "overlap=perfect",
            "launch=0"
        ]
    );
    assert!(!Costs::of(1).run().with(|replay| replay.candidates()).contains(&Change::RankAtMedian { rank: Rank(0) }));
}
