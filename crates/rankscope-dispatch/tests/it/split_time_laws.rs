//! Keys that are split for the shortest pass: what it is said to take, and what it is compared with.

#![expect(clippy::unwrap_used, reason = "a law that cannot be set up has failed")]

use proptest::prelude::*;
use rankscope_dispatch::cost::{TimeTable, Work};
use rankscope_dispatch::events::Machine;
use rankscope_dispatch::network::{Network, Preset};
use rankscope_dispatch::planner::bounded::{Options, loads, slowest};
use rankscope_dispatch::planner::split::SplitPlan;
use rankscope_dispatch::planner::{Goal, Least, Pace, Prices, place_in_order, time_lower_bound};
use rankscope_dispatch::{Batch, Exchange, Pass, Rows};
use rankscope_time::Span;

const HEADS: u32 = 32;
const LSE_BYTES: u64 = 4 * HEADS as u64;

fn network(name: &str) -> Network {
    Preset::of_name(name).unwrap().network()
}

fn networks() -> impl Strategy<Value = Network> {
    prop::sample::select(vec!["h100-nvlink", "h100-ib400", "h100-ib400-2to1", "ethernet-100", "free"]).prop_map(network)
}

fn layouts() -> impl Strategy<Value = Batch> {
    (prop::collection::vec(prop_oneof![1 => 0_u32..400, 2 => 1000_u32..6000], 1..4), 1_u32..12).prop_map(|(lengths, ranks)| {
        let tokens: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        place_in_order(&lengths, ranks, tokens.div_ceil(ranks.into()).max(1)).unwrap()
    })
}

fn works() -> impl Strategy<Value = Work> {
    let axis = || vec![1_u32, 128, 1024, 8192];
    let time = |queries: u32, context: u32| 0.01 + f64::from(queries.max(128).min(context)) * f64::from(context) / 1e8;
    let times = axis()
        .into_iter()
        .map(|queries| axis().into_iter().map(|context| time(queries, context)).collect())
        .collect::<Vec<_>>();
    prop::sample::select(vec![Work::Cells, Work::Time(TimeTable::new(axis(), axis(), &times).unwrap())])
}

fn rows(hidden_kv: u32) -> Rows {
    Rows { hidden_kv, ..Rows::LLAMA_8B }
}

/// Attention of the slowest rank and what is exchanged, task by task.
fn takes(split: &SplitPlan, options: &Options, pace: &Pace<'_>) -> Span {
    let per_cell_ns = 4.0 * f64::from(pace.rows.hidden_q) * 1e9 / pace.machine.attention_flops_per_second as f64;
    let mut attention_ns = vec![0.0; split.batch.world_size() as usize];
    for task in split.batch.tasks() {
        let work = options.work.of_part(&task.queries, &task.keys) as f64;
        attention_ns[task.rank.0 as usize] += if options.work == Work::Cells { work * per_cell_ns } else { work };
    }
    let slowest_ns = attention_ns.into_iter().fold(0.0, f64::max) * if pace.pass == Pass::Forward { 1.0 } else { 2.5 };
    let rows = if split.batch.merges() { pace.rows.with_lse_of(HEADS) } else { *pace.rows };
    let exchanges = pace.pass.exchanges().map(|direction| {
        let exchange = Exchange::of_split(&split.batch, &rows, direction).unwrap();
        pace.network.predict(&exchange.traffic()).unwrap().total
    });
    exchanges.into_iter().fold(Span::from_nanos(slowest_ns as i64), |sum, span| sum + span)
}

fn near(a: Span, b: Span) -> bool {
    (a.as_nanos() - b.as_nanos()).abs() <= 4
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10, ..ProptestConfig::default() })]

    #[test]
    fn a_pass_takes_what_it_is_said_to_and_no_longer_than_whole_contexts(
        layout in layouts(),
        network in networks(),
        pass in prop::sample::select(vec![Pass::Forward, Pass::Backward]),
        hidden_kv in prop::sample::select(vec![1024_u32, 4096]),
        work in works(),
    ) {
        let rows = rows(hidden_kv);
        let pace = Pace { pass, network: &network, machine: &Machine::H100, rows: &rows };
        let goal = Goal::ShortestTime(pace);
        let options = |eps| Options { work: work.clone(), search_steps: Some(5), ..Options::new(eps, Prices::of(&rows)) }.of_pass(pass, &rows);
        let mut before = None;
        for eps in [0.01, 0.03, 0.1, 0.5] {
            let options = options(eps);
            let Ok(plan) = goal.plan(&layout, &options) else { prop_assert!(work != Work::Cells); return Ok(()) };
            let split = goal.split(&layout, &plan, &options, LSE_BYTES)?;
            let took = pace.takes_split(&split, &options)?;
            prop_assert!(near(took, takes(&split, &options, &pace)), "{:?} is said, {:?} counted", took, takes(&split, &options, &pace));
            let whole = pace.takes(&plan, &options)?;
            prop_assert!(took <= whole, "{:?} split, {:?} whole", took, whole);
            prop_assert!(before.is_none_or(|before| took <= before), "{:?} with less allowed, {:?} with {}", before, took, eps);
            before = Some(took);

            let after = split.loads(&options.work)?;
            let heaviest = slowest(&after, &[]);
            let least = time_lower_bound(&pace, &layout, &options, &after, Least::Split { lse_bytes: LSE_BYTES })?;
            prop_assert!(least <= took, "{:?} at least, and it takes {:?}", least, took);
            let loads = loads(&plan, &options.work)?;
            let of_whole = time_lower_bound(&pace, &layout, &options, &loads, Least::Whole)?;
            prop_assert!(of_whole <= whole, "{:?} at least, and it takes {:?}", of_whole, whole);
            prop_assert!(heaviest.is_finite());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_plan_drawn_at_random_is_faster_than_the_bound_of_its_loads(
        batch in crate::batches::split_batch(),
        network in networks(),
        pass in prop::sample::select(vec![Pass::Forward, Pass::Backward]),
        work in works(),
        eps in 0.0..1.0_f64,
    ) {
        let rows = rows(1024);
        let slow = Machine { attention_flops_per_second: 1_000_000_000_000, ..Machine::H100 };
        let pace = Pace { pass, network: &network, machine: &slow, rows: &rows };
        let options = Options { work, ..Options::new(eps, Prices::of(&rows)) }.of_pass(pass, &rows);
        let layout = batch.layout().clone();
        let split = SplitPlan { batch, bytes: 0, lse_bytes: LSE_BYTES };
        let least = time_lower_bound(&pace, &layout, &options, &split.loads(&options.work)?, Least::Split { lse_bytes: LSE_BYTES })?;
        let took = pace.takes_split(&split, &options)?;
        prop_assert!(least <= took, "{:?} at least, and it takes {:?}", least, took);
    }
}

/// Where one document lies on all ranks sharing keys is what makes a pass shorter, most of all where the network is slow.
#[test]
fn a_long_document_takes_less_the_slower_the_network() {
    let layout = place_in_order(&[32 * 1024], 16, 2048).unwrap();
    let rows = rows(4096);
    for (name, of_whole, of_least) in [("h100-nvlink", 0.85, 1.5), ("ethernet-100", 0.5, 10.0)] {
        let network = network(name);
        let pace = Pace { pass: Pass::Forward, network: &network, machine: &Machine::H100, rows: &rows };
        let options = Options { search_steps: Some(10), ..Options::new(0.05, Prices::of(&rows)) };
        let goal = Goal::ShortestTime(pace);
        let plan = goal.plan(&layout, &options).unwrap();
        let split = goal.split(&layout, &plan, &options, LSE_BYTES).unwrap();
        let loads = split.loads(&Work::Cells).unwrap();
        let least = time_lower_bound(&pace, &layout, &options, &loads, Least::Split { lse_bytes: LSE_BYTES }).unwrap();
        let [whole, shared] = [pace.takes(&plan, &options).unwrap(), pace.takes_split(&split, &options).unwrap()];
        let over = |a: Span, b: Span| a.as_nanos() as f64 / b.as_nanos() as f64;
        assert!(over(shared, whole) < of_whole, "{name}: {shared:?} of {whole:?}");
        assert!(over(shared, least) < of_least, "{name}: {shared:?} and {least:?} at least");
    }
}
