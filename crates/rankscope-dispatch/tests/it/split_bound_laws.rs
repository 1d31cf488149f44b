//! The lower bound on bytes where keys may be split, beside every way there is to compute all cells.

use std::collections::{BTreeSet, HashMap};

use proptest::collection::vec;
use proptest::prelude::*;
use rankscope_dispatch::planner::bounded::{Options, bounded};
use rankscope_dispatch::planner::split::split;
use rankscope_dispatch::planner::{Prices, lower_bound, place_in_order, place_zigzag, split_lower_bound};
use rankscope_dispatch::{Batch, Rows, Shard, SplitBatch};
use rankscope_time::Rank;

/// The rank that holds each token of each document, and prices of any ratio: no more cells than can be gone through.
fn tiny() -> impl Strategy<Value = (u32, Vec<Vec<u32>>, Prices, u64)> {
    let prices = (1_u64..2000, 1_u64..2000).prop_map(|(query, key)| Prices { query, key });
    let lse_bytes = prop_oneof![2 => Just(0_u64), 2 => 1_u64..500, 1 => Just(1_u64 << 40)];
    (2_u32..4, prices, lse_bytes).prop_flat_map(|(ranks, prices, lse_bytes)| {
        let most = if ranks == 2 { 12 } else { 7 };
        let few = move |documents: &Vec<Vec<u32>>| cells(documents).len() <= most;
        let documents = vec(vec(0..ranks, 1..5), 1..4).prop_filter("few", few);
        (Just(ranks), documents, Just(prices), Just(lse_bytes))
    })
}

/// Document, query and key.
fn cells(documents: &[Vec<u32>]) -> Vec<(usize, usize, usize)> {
    let of_document =
        |(document, homes): (usize, &Vec<u32>)| (0..homes.len()).flat_map(move |q| (0..=q).map(move |k| (document, q, k)));
    documents.iter().enumerate().flat_map(of_document).collect()
}

fn layout(ranks: u32, documents: &[Vec<u32>]) -> Batch {
    let mut batch = Batch::new(ranks).expect("ranks");
    for document in documents {
        let shard = |&home: &u32| Shard { linear: Rank(home), attention: Rank(home), tokens: 1 };
        batch.push(&document.iter().map(shard).collect::<Vec<_>>()).expect("ranks in range");
    }
    batch
}

/// What moves if every cell is computed where `at` says: a log-sum-exp for each query away, if any is computed on several ranks.
fn bytes(documents: &[Vec<u32>], cells: &[(usize, usize, usize)], at: &[u32], prices: Prices, lse_bytes: u64) -> u64 {
    let of = |token: fn(&(usize, usize, usize)) -> usize| -> BTreeSet<(usize, usize, u32)> {
        cells.iter().zip(at).map(|(cell, &rank)| (cell.0, token(cell), rank)).collect()
    };
    let (queries, keys) = (of(|cell| cell.1), of(|cell| cell.2));
    let away = |tokens: &BTreeSet<(usize, usize, u32)>| {
        tokens.iter().filter(|(document, token, rank)| documents[*document][*token] != *rank).count() as u64
    };
    let computed: BTreeSet<(usize, usize)> = queries.iter().map(|query| (query.0, query.1)).collect();
    let lse_bytes = if queries.len() > computed.len() { lse_bytes } else { 0 };
    away(&queries) * (prices.query + lse_bytes) + away(&keys) * prices.key
}

/// The fewest bytes for each way to have loads, of all ways to compute all cells.
fn fewest(ranks: u32, documents: &[Vec<u32>], prices: Prices, lse_bytes: u64) -> HashMap<Vec<u64>, u64> {
    let cells = cells(documents);
    let mut fewest = HashMap::new();
    for code in 0..ranks.pow(cells.len() as u32) {
        let at: Vec<u32> = (0..cells.len() as u32).map(|cell| code / ranks.pow(cell) % ranks).collect();
        let mut loads = vec![0; ranks as usize];
        at.iter().for_each(|&rank| loads[rank as usize] += 1);
        let bytes = bytes(documents, &cells, &at, prices, lse_bytes);
        fewest.entry(loads).and_modify(|least: &mut u64| *least = bytes.min(*least)).or_insert(bytes);
    }
    fewest
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn no_way_to_compute_all_cells_is_below_the_bound((ranks, documents, prices, lse_bytes) in tiny(), spare in 0_u64..3) {
        let layout = layout(ranks, &documents);
        for (loads, bytes) in fewest(ranks, &documents, prices, lse_bytes) {
            let limits: Vec<u64> = loads.iter().map(|load| load + spare).collect();
            let bound = split_lower_bound(&layout, prices, lse_bytes, &limits)?;
            prop_assert!(bound <= bytes, "{} for {} bytes with loads of {:?}", bound, bytes, loads);
            let whole = lower_bound(&layout, prices, &limits)?;
            prop_assert!(bound <= whole, "{} though whole contexts are allowed", bound);
            // Where log-sum-exps cost more than all else, nobody splits.
            prop_assert!(lse_bytes < 1 << 40 || bound == whole, "{} and not {}", bound, whole);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn no_plan_drawn_at_random_is_below_the_bound_of_its_loads(
        batch in crate::batches::split_batch(),
        query in 1_u64..40_000,
        key in 1_u64..40_000,
        lse_bytes in 0_u64..1000,
    ) {
        let prices = Prices { query, key };
        let bound = split_lower_bound(batch.layout(), prices, lse_bytes, &batch.cells()?)?;
        prop_assert!(bound <= moved(&batch, prices, lse_bytes), "{}", bound);
    }
}

/// The query that fills rank 1 brings less than one that a limit does not cut short, and was paid for as one of those.
#[test]
fn a_query_is_not_paid_for_more_than_the_limit_allows() {
    let documents = [vec![1], vec![1, 2, 1]];
    let prices = Prices { query: 1264, key: 1497 };
    let loads = vec![1, 5, 1];
    let bound = split_lower_bound(&layout(3, &documents), prices, 374, &loads).expect("a bound");
    assert!(bound <= fewest(3, &documents, prices, 374)[&loads], "{bound}");
}

/// Of a batch, token by token.
fn moved(batch: &SplitBatch, prices: Prices, lse_bytes: u64) -> u64 {
    let lse_bytes = if batch.merges() { lse_bytes } else { 0 };
    let mut away = [BTreeSet::new(), BTreeSet::new()];
    for task in batch.tasks() {
        let at_home = |token: u32| batch.home(task.document, token) == Some(task.rank);
        for (range, away) in [task.queries.clone(), task.keys.clone()].into_iter().zip(&mut away) {
            away.extend(range.filter(|token| !at_home(*token)).map(|token| (task.document, token, task.rank)));
        }
    }
    away[0].len() as u64 * (prices.query + lse_bytes) + away[1].len() as u64 * prices.key
}

#[test]
fn what_is_found_for_a_long_document_is_not_far_above_the_bound() {
    let rows = Rows { hidden_kv: 1024, ..Rows::LLAMA_8B };
    let options = Options { search_steps: Some(10), ..Options::new(0.05, Prices::of(&rows)) };
    for (name, layout) in [
        ("in order 16", place_in_order(&[16 * 4096], 16, 4096).expect("it fits")),
        ("in order 64", place_in_order(&[64 * 1024], 64, 1024).expect("it fits")),
        ("zigzag 16", place_zigzag(&[vec![16 * 4096]], 16).expect("equal chunks")),
        ("zigzag 64", place_zigzag(&[vec![64 * 1024]], 64).expect("equal chunks")),
    ] {
        let plan = bounded(&layout, &options).expect("a plan");
        let divided = split(&layout, &plan, &options, 128).expect("a plan");
        let bound = split_lower_bound(&layout, options.prices, 128, &divided.batch.cells().expect("cells")).expect("a bound");
        assert!(bound * 4 > divided.bytes * 3, "{name}: {bound} of {}", divided.bytes);
    }
}

/// Tokens of a block in which the search cuts.
const BLOCK: u32 = 128;

/// All ways to compute blocks of queries by blocks of keys: the fewest bytes within a limit of cells for each rank.
fn fewest_in_blocks(ranks: u32, homes: &[u32], prices: Prices, lse_bytes: u64, limit: u64) -> Option<u64> {
    let cells = cells(&[homes.to_vec()]);
    let block = u64::from(BLOCK);
    let size = |cell: &(usize, usize, usize)| if cell.1 == cell.2 { block * (block + 1) / 2 } else { block * block };
    let mut least = None;
    let mut at = vec![0_u32; cells.len()];
    for code in 0..ranks.pow(cells.len() as u32) {
        let mut rest = code;
        let mut loads = vec![0; ranks as usize];
        for (cell, rank) in cells.iter().zip(&mut at) {
            *rank = rest % ranks;
            rest /= ranks;
            loads[*rank as usize] += size(cell);
        }
        if loads.iter().all(|load| *load <= limit) {
            let bytes = block * bytes_of_one(homes, &cells, &at, prices, lse_bytes);
            least = Some(least.map_or(bytes, |least: u64| least.min(bytes)));
        }
    }
    least
}

/// As `bytes`, of one document, by sets of bits.
fn bytes_of_one(homes: &[u32], cells: &[(usize, usize, usize)], at: &[u32], prices: Prices, lse_bytes: u64) -> u64 {
    let (mut queries, mut keys) = (0_u64, 0_u64);
    for (cell, rank) in cells.iter().zip(at) {
        queries |= 1 << (cell.1 as u32 * 8 + rank);
        keys |= 1 << (cell.2 as u32 * 8 + rank);
    }
    let own: u64 = (0..).zip(homes).map(|(token, home): (u32, &u32)| 1 << (token * 8 + home)).fold(0, |sum, bit| sum | bit);
    let merges = queries.count_ones() as usize > homes.len();
    let query = prices.query + if merges { lse_bytes } else { 0 };
    u64::from((queries & !own).count_ones()) * query + u64::from((keys & !own).count_ones()) * prices.key
}

/// Beside all plans in whole blocks: the search finds nearly the fewest bytes, and most of what it is above the bound is the bound's.
#[test]
fn what_is_found_is_nearer_to_the_fewest_than_the_bound_is() {
    let (mut found, mut fewest, mut least, mut batches, mut best) = (0, 0, 0, 0, 0);
    for code in 0..81_u32 {
        let homes: Vec<u32> = (0..4).map(|block| code / 3_u32.pow(block) % 3).collect();
        let mut layout = Batch::new(3).expect("ranks");
        let shard = |&home: &u32| Shard { linear: Rank(home), attention: Rank(home), tokens: BLOCK };
        layout.push(&homes.iter().map(shard).collect::<Vec<_>>()).expect("ranks in range");
        for (hidden_kv, eps) in [(1024, 0.4), (4096, 0.4), (4096, 0.6)] {
            let rows = Rows { hidden_kv, ..Rows::LLAMA_8B };
            let options = Options { search_steps: Some(10), ..Options::new(eps, Prices::of(&rows)) };
            let plan = bounded(&layout, &options).expect("a plan");
            let divided = split(&layout, &plan, &options, 128).expect("a plan");
            let loads = divided.batch.cells().expect("cells");
            let limit = *loads.iter().max().expect("ranks");
            let Some(optimum) = fewest_in_blocks(3, &homes, options.prices, 128, limit) else { continue };
            let bound = split_lower_bound(&layout, options.prices, 128, &[limit; 3]).expect("a bound");
            assert!(bound <= optimum, "{homes:?}: {bound} of {optimum}");
            (found, fewest, least, batches) = (found + divided.bytes, fewest + optimum, least + bound, batches + 1);
            best += u32::from(divided.bytes <= optimum);
        }
    }
    assert!(best * 10 > batches * 6, "{best} of {batches} have the fewest bytes");
    assert!(found * 10 < fewest * 11, "{found} bytes, and {fewest} are the fewest");
    assert!(found - fewest < (fewest - least) / 2, "{found} bytes, {fewest} are the fewest, and {least} the bound");
}
