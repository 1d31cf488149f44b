//! Batches as loaders make them, and as they do not: tiny ones, giants among crumbs, more ranks than tokens.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rankscope_dispatch::planner::bounded::Options;
use rankscope_dispatch::planner::{Prices, place_evenly, place_in_order, place_on_ranks};
use rankscope_dispatch::{Batch, Rows, Shard};
use rankscope_time::Rank;

/// The same batches on every machine.
pub(crate) fn runner(cases: u32) -> TestRunner {
    let seed = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(Config { cases, failure_persistence: None, ..Config::default() }, seed)
}

/// From nothing to longer than many ranks hold, short ones most often.
fn length() -> impl Strategy<Value = u32> {
    prop_oneof![2 => 0_u32..20, 4 => 1_u32..600, 3 => 500_u32..6000, 1 => 6000_u32..60_000]
}

/// Documents in order, evenly or with ranks that are not full; whole on ranks; or in shards anywhere.
pub(crate) fn layouts() -> impl Strategy<Value = Batch> {
    let ranks = || prop_oneof![4 => 1_u32..9, 2 => 9_u32..40, 1 => 40_u32..80];
    let evenly =
        (vec(length(), 0..24), ranks()).prop_map(|(lengths, world_size)| place_evenly(&lengths, world_size).expect("ranks"));
    let in_order = (vec(length(), 0..24), ranks(), 0_u64..300).prop_map(|(lengths, world_size, spare)| {
        let tokens: u64 = lengths.iter().map(|&length| u64::from(length)).sum();
        place_in_order(&lengths, world_size, tokens.div_ceil(world_size.into()) + spare + 1).expect("they fit")
    });
    let on_ranks = vec(vec(length(), 0..6), 1..12).prop_map(|ranks| place_on_ranks(&ranks).expect("ranks"));
    let anywhere = (1_u32..9, vec(vec((any::<Index>(), 0_u32..700), 0..6), 0..8)).prop_map(|(world_size, documents)| {
        let mut batch = Batch::new(world_size).expect("ranks");
        for shards in documents {
            let rank = |index: Index| Rank(index.index(world_size as usize) as u32);
            let shards: Vec<Shard> = shards
                .into_iter()
                .map(|(index, tokens)| Shard { linear: rank(index), attention: rank(index), tokens })
                .collect();
            batch.push(&shards).expect("ranks in range");
        }
        batch
    });
    prop_oneof![3 => evenly, 2 => in_order, 3 => on_ranks, 2 => anywhere]
}

/// Tolerances, models and ranks of every speed, some of which compute nothing.
pub(crate) fn options(world_size: u32) -> impl Strategy<Value = Options> {
    let eps = prop_oneof![1 => Just(0.0), 3 => Just(0.05), 1 => Just(0.1), 1 => 0.0..0.5_f64];
    let hidden_kv = prop_oneof![Just(1024_u32), Just(4096), Just(64)];
    let weight = prop_oneof![4 => Just(1.0), 2 => 0.2..1.0_f64, 1 => Just(0.0), 1 => 0.01..0.1_f64];
    let weights = prop_oneof![
        2 => Just(Vec::new()),
        1 => vec(weight, world_size as usize).prop_map(|mut weights| {
            weights[0] = weights[0].max(0.5);
            weights
        })
    ];
    (eps, hidden_kv, weights, 0_u32..12).prop_map(|(eps, hidden_kv, weights, steps)| {
        let rows = Rows { hidden_kv, ..Rows::LLAMA_8B };
        Options { weights, search_steps: Some(steps), ..Options::new(eps, Prices::of(&rows)) }
    })
}

pub(crate) fn cases() -> impl Strategy<Value = (Batch, Options)> {
    layouts().prop_flat_map(|layout| options(layout.world_size()).prop_map(move |options| (layout.clone(), options)))
}

/// Every task where its tokens lie.
pub(crate) fn at_home(layout: &Batch) -> Batch {
    relaid(layout, |shard| Shard { attention: shard.linear, ..shard })
}

/// Every token where its task is computed.
pub(crate) fn settled(plan: &Batch) -> Batch {
    relaid(plan, |shard| Shard { linear: shard.attention, ..shard })
}

pub(crate) fn relaid(batch: &Batch, change: impl Fn(Shard) -> Shard) -> Batch {
    let mut changed = Batch::new(batch.world_size()).expect("ranks");
    for document in batch.documents() {
        changed.push(&document.iter().map(|&shard| change(shard)).collect::<Vec<_>>()).expect("ranks in range");
    }
    changed
}
