//! Where documents should lie, and what a plan is made for.

use proptest::collection::vec;
use proptest::prelude::*;
use rankscope_dispatch::cost::Work;
use rankscope_dispatch::events::Machine;
use rankscope_dispatch::network::Preset;
use rankscope_dispatch::planner::bounded::{Limits, Options, bounded};
use rankscope_dispatch::planner::{Goal, Pace, Prices, Remote, SPARE_PARTS, choose, place_evenly, place_on_ranks};
use rankscope_dispatch::{Batch, Pass, Rows};

fn options(eps: f64) -> Options {
    Options { search_steps: Some(8), ..Options::new(eps, Prices::of(&Rows::LLAMA_8B)) }
}

/// Short ones, long ones, one that is longer than many ranks hold, none.
fn lengths() -> impl Strategy<Value = Vec<u32>> {
    vec(prop_oneof![1 => Just(0_u32), 4 => 1_u32..3000, 3 => 2000_u32..40_000, 1 => 40_000_u32..300_000], 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn a_chosen_layout_is_even_and_never_worse_than_file_order(lengths in lengths(), ranks in 1_u32..24, eps in 0.0..0.2_f64) {
        let options = options(eps);
        let in_order = place_evenly(&lengths, ranks)?;
        let chosen = choose(&in_order, None, &options, Goal::FewestBytes)?;
        for (document, &length) in chosen.layout.documents().zip(&lengths) {
            prop_assert_eq!(document.iter().map(|shard| shard.tokens).sum::<u32>(), length);
        }
        let tokens: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        let mean = tokens.div_ceil(ranks.into());
        prop_assert!(chosen.layout.linear_tokens().iter().all(|held| *held <= mean + mean / SPARE_PARTS));
        prop_assert_eq!(chosen.plan.linear_tokens(), chosen.layout.linear_tokens());

        let target = Limits::new(&in_order, &Work::Cells, eps, &[])?.target[0];
        let heaviest = |plan: &Batch| Ok::<_, TestCaseError>(plan.cells()?.into_iter().max().unwrap_or(0).max(target));
        let other = bounded(&in_order, &options)?;
        let bytes = |plan| Remote::of(plan).bytes(options.prices);
        prop_assert!((heaviest(&chosen.plan)?, bytes(&chosen.plan)) <= (heaviest(&other)?, bytes(&other)));
        prop_assert_eq!(chosen.given, Some(other));
    }

    #[test]
    fn what_is_allowed_never_makes_a_forward_pass_longer(lengths in lengths(), ranks in 1_u32..18) {
        let network = Preset::of_name("h100-ib400").expect("a preset").network();
        let (rows, machine) = (Rows::LLAMA_8B, Machine::H100);
        let pace = Pace { pass: Pass::Forward, network: &network, machine: &machine, rows: &rows };
        let layout = place_evenly(&lengths, ranks)?;
        let mut before = None;
        for eps in [0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5] {
            let plan = Goal::ShortestTime(pace).plan(&layout, &options(eps))?;
            let time = pace.takes(&plan, &options(eps))?;
            let fewest = pace.takes(&bounded(&layout, &options(eps))?, &options(eps))?;
            prop_assert!(eps == 0.03 || time <= fewest, "{time:?} where the fewest bytes take {fewest:?}");
            prop_assert!(before.is_none_or(|before| time <= before), "{time:?} with {eps} and {before:?} with less");
            let promised = Limits::new(&layout, &Work::Cells, eps, &[])?.promised;
            prop_assert!(plan.cells()?.iter().zip(promised).all(|(load, limit)| *load <= limit));
            before = Some(time);
        }
        let chosen = |eps| {
            let chosen = choose(&layout, None, &options(eps), Goal::ShortestTime(pace)).expect("a layout");
            pace.takes(&chosen.plan, &options(eps)).expect("a time")
        };
        prop_assert!(chosen(0.2) <= chosen(0.02) && Some(chosen(0.5)) <= before);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn a_plan_for_a_pass_is_no_slower_in_it_than_one_for_the_other(lengths in lengths(), ranks in 1_u32..18, eps in 0.0..0.3_f64) {
        let network = Preset::of_name("ethernet-100").expect("a preset").network();
        let (rows, machine) = (Rows { lse: 0, ..Rows::LLAMA_8B }, Machine::H100);
        let layout = place_evenly(&lengths, ranks)?;
        let pace = |pass| Pace { pass, network: &network, machine: &machine, rows: &rows };
        let options = |pass| options(eps).of_pass(pass, &rows);
        let plan = |pass| Goal::ShortestTime(pace(pass)).plan(&layout, &options(pass)).expect("a plan");
        let plans = [Pass::Forward, Pass::Backward].map(plan);
        for (at, pass) in [Pass::Forward, Pass::Backward].into_iter().enumerate() {
            let [own, other] = [at, 1 - at].map(|at| pace(pass).takes(&plans[at], &options(pass)).expect("a time"));
            prop_assert!(own <= other, "{pass:?}: {own:?}, and {other:?} by the other's plan");
            // Attention and two exchanges, and nothing else.
            let exchanges = network.predict_exchanges(&plans[at], &rows, &pass.exchanges())?;
            let sent: i64 = exchanges.iter().map(|one| one.prediction.total.as_nanos()).sum();
            let slowest = machine.attention(&plans[at], &rows)?.into_iter().max().unwrap_or_default().as_nanos();
            let attention = if pass == Pass::Forward { slowest } else { slowest * 5 / 2 };
            prop_assert!((own.as_nanos() - sent - attention).abs() <= 1);
        }
    }
}

#[test]
fn for_time_work_is_given_away_within_a_node() {
    // Rank 0 has two documents, and ranks 3 and 12 have none; eight ranks share a node and its card.
    let mut lists = vec![vec![8192]; 16];
    lists[0].push(8192);
    lists[3].clear();
    lists[12].clear();
    lists[13].push(512);
    let layout = place_on_ranks(&lists).expect("ranks");
    let network = Preset::of_name("ethernet-100").expect("a preset").network();
    let pace = Pace { pass: Pass::Forward, network: &network, machine: &Machine::H100, rows: &Rows::LLAMA_8B };
    let receivers = |plan: &Batch| -> Vec<u32> {
        let moved = plan.shards().iter().filter(|shard| shard.linear != shard.attention);
        moved.map(|shard| shard.attention.0).collect()
    };
    assert_eq!(receivers(&bounded(&layout, &options(0.1)).expect("a plan")), [12]);
    assert_eq!(receivers(&Goal::ShortestTime(pace).plan(&layout, &options(0.1)).expect("a plan")), [3]);
}

#[test]
fn documents_that_fit_on_ranks_move_nothing_whatever_their_order() {
    let lengths: Vec<u32> = (0..16).flat_map(|_| [6000, 4000, 2000]).collect();
    let given = place_evenly(&lengths, 16).expect("ranks");
    let chosen = choose(&given, None, &options(0.05), Goal::FewestBytes).expect("a layout");
    assert_eq!(Remote::of(&chosen.plan).bytes(options(0.05).prices), 0);
}

#[test]
fn a_layout_that_is_less_even_than_a_choice_may_be_is_only_compared_with() {
    // On its two ranks each document is whole, and nothing moves; but rank 0 holds three quarters of all tokens.
    let given = place_on_ranks(&[vec![3000], vec![1000]]).expect("ranks");
    let options = options(5.0);
    let chosen = choose(&given, None, &options, Goal::FewestBytes).expect("a layout");
    assert!(chosen.layout.linear_tokens().iter().all(|held| *held <= 2020));
    assert_eq!(chosen.given.map(|plan| Remote::of(&plan).bytes(options.prices)), Some(0));
}
