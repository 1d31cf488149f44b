//! The lower bound on bytes, beside all plans there are.

use proptest::collection::vec;
use proptest::prelude::*;
use rankscope_dispatch::planner::{Prices, Remote, lower_bound, place_zigzag};
use rankscope_dispatch::{Batch, Rows, Shard};
use rankscope_time::Rank;

/// Ranks, the rank that holds each token of each document, and prices of any ratio.
fn tiny() -> impl Strategy<Value = (u32, Vec<Vec<u32>>, Prices)> {
    let prices = (1_u64..2000, 1_u64..2000).prop_map(|(query, key)| Prices { query, key });
    (2_u32..4, prices).prop_flat_map(|(ranks, prices)| {
        let documents = vec(vec(0..ranks, 0..5), 1..4).prop_filter("few", |documents| documents.concat().len() <= 7);
        (Just(ranks), documents, Just(prices))
    })
}

/// Documents of single tokens, each computed where `at` says.
fn batch(ranks: u32, homes: &[Vec<u32>], at: &[u32]) -> Batch {
    let mut batch = Batch::new(ranks).expect("ranks");
    let mut at = at.iter();
    for document in homes {
        let shards = document.iter().zip(&mut at);
        let shards = shards.map(|(home, at)| Shard { linear: Rank(*home), attention: Rank(*at), tokens: 1 });
        batch.push(&shards.collect::<Vec<_>>()).expect("ranks in range");
    }
    batch
}

/// Every way to have `tokens` tokens computed.
fn assignments(ranks: u32, tokens: usize) -> impl Iterator<Item = Vec<u32>> {
    (0..ranks.pow(tokens as u32)).map(move |code| (0..tokens as u32).map(|token| code / ranks.pow(token) % ranks).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_plan_of_all_there_are_is_below_the_bound_of_its_limits((ranks, homes, prices) in tiny(), spare in 0_u64..4) {
        let layout = batch(ranks, &homes, &homes.concat());
        let mut bounds = std::collections::HashMap::new();
        for at in assignments(ranks, homes.concat().len()) {
            let plan = batch(ranks, &homes, &at);
            let limits: Vec<u64> = plan.cells()?.iter().map(|load| load + spare).collect();
            let bound = bounds.entry(limits).or_insert_with_key(|limits| lower_bound(&layout, prices, limits).expect("a bound"));
            let bytes = Remote::of(&plan).bytes(prices);
            prop_assert!(*bound <= bytes, "{} for a plan of {} bytes: {:?}", bound, bytes, at);
        }
    }

    #[test]
    fn no_plan_drawn_at_random_is_below_the_bound_of_its_loads(
        shards in vec(vec((0_u32..12, 0_u32..12, 1_u32..3000), 0..14), 1..5),
        query in 1_u64..40_000,
        key in 1_u64..40_000,
    ) {
        let mut plan = Batch::new(12)?;
        for document in &shards {
            let shard = |&(linear, attention, tokens)| Shard { linear: Rank(linear), attention: Rank(attention), tokens };
            plan.push(&document.iter().map(shard).collect::<Vec<_>>())?;
        }
        let prices = Prices { query, key };
        let bound = lower_bound(&plan, prices, &plan.cells()?)?;
        prop_assert!(bound <= Remote::of(&plan).bytes(prices), "{}", bound);
    }
}

/// Every rank has just its share of a document in zigzag, and what it must fetch for that is nearly known.
#[test]
fn a_document_on_all_ranks_is_bounded_closely() {
    let prices = Prices::of(&Rows { hidden_q: 8192, hidden_kv: 1024, lse: 0, element_bytes: 2 });
    for ranks in [64, 256] {
        let layout = place_zigzag(&[vec![ranks * 65_536]], ranks).expect("equal chunks");
        let bound = lower_bound(&layout, prices, &layout.cells().expect("cells")).expect("a bound");
        let bytes = Remote::of(&layout).bytes(prices);
        assert!(bound * 2 > bytes, "{ranks} ranks: {bound} of {bytes}");
    }
}
