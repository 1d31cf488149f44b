//! The original's planners and what moving costs, against files that the original wrote. They lie in `dispatch_golden` of the
//! folder `RANKSCOPE_CORPUS`; without it these tests are skipped. Those that read `fixtures` always run.
#![expect(clippy::unwrap_used, reason = "a test helper may stop at the first surprise")]

use std::path::PathBuf;

use rankscope_dispatch::planner::{Remote, equal_flops, greedy, place_in_order};
use rankscope_dispatch::{Batch, Rows, causal_cells};
use serde_json::Value;

#[track_caller]
fn golden(file: &str) -> Option<Vec<Value>> {
    let corpus = rankscope_testkit::given(rankscope_testkit::Need::Corpus)?;
    let text = std::fs::read_to_string(corpus.join("dispatch_golden").join(file)).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    Some(document["cases"].as_array().unwrap().clone())
}

fn lengths(list: &Value) -> Vec<u32> {
    serde_json::from_value(list.clone()).unwrap()
}

fn rows(batch: &Batch) -> Vec<Vec<[u32; 4]>> {
    let document = |shards: &[rankscope_dispatch::Shard]| {
        (0..).zip(shards).map(|(place, shard)| [shard.linear.0, shard.attention.0, place, shard.tokens]).collect()
    };
    batch.documents().map(document).collect()
}

fn max_over_mean(batch: &Batch) -> f64 {
    let cells = batch.cells().unwrap();
    *cells.iter().max().unwrap() as f64 * cells.len() as f64 / cells.iter().sum::<u64>() as f64
}

/// Plans of the cases of a fixture against the shards that the original gives for them.
fn same_plans(file: &str, plan: impl Fn(&Value) -> Batch) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/dispatch").join(file);
    let document: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    for case in document["cases"].as_array().unwrap() {
        assert_eq!(serde_json::json!(rows(&plan(case))), case["shards"], "{}", case["batches"]);
    }
}

#[test]
fn greedy_plans_are_the_originals_with_odd_numbers_of_ranks() {
    same_plans("h19_planner_greedy.json", |case| {
        let documents: Vec<u32> = case["batches"].as_array().unwrap().iter().flat_map(lengths).collect();
        let world_size = case["world_size"].as_u64().unwrap() as u32;
        let layout = place_in_order(&documents, world_size, case["tokens_per_rank"].as_u64().unwrap()).unwrap();
        greedy(&layout, case["tolerance"].as_f64().unwrap()).unwrap()
    });
}

#[test]
fn equal_flops_plans_are_the_originals_when_the_busiest_rank_is_not_the_first() {
    same_plans("h20_planner_equal_flops.json", |case| {
        let batches: Vec<Vec<u32>> = case["batches"].as_array().unwrap().iter().map(lengths).collect();
        equal_flops(&batches).unwrap()
    });
}

#[test]
fn greedy_plans_are_the_originals() {
    let Some(cases) = golden("g19_planner_greedy.json") else { return };
    for case in &cases {
        let documents: Vec<u32> = case["batches"].as_array().unwrap().iter().flat_map(lengths).collect();
        let world_size = case["world_size"].as_u64().unwrap() as u32;
        let layout = place_in_order(&documents, world_size, case["tokens_per_rank"].as_u64().unwrap()).unwrap();
        assert_eq!(serde_json::json!(layout.cells().unwrap()), case["flops_before"]);

        let plan = greedy(&layout, case["tolerance"].as_f64().unwrap()).unwrap();
        assert_eq!(serde_json::json!(rows(&plan)), case["shards"]);
        assert_eq!(serde_json::json!(plan.cells().unwrap()), case["flops_after"]);
        let remote = Remote::of(&plan);
        assert_eq!(remote.queries, case["stats"]["q_tokens_remote"]);
        assert_eq!(remote.keys, case["stats"]["kv_tokens_remote_dedup"]);
        assert_eq!(remote.keys_repeated, case["stats"]["kv_tokens_remote_naive"]);
        assert_eq!(max_over_mean(&plan), case["stats"]["max_over_avg"].as_f64().unwrap());
    }
}

#[test]
fn equal_flops_plans_are_the_originals() {
    let Some(cases) = golden("g20_planner_equal_flops.json") else { return };
    for case in &cases {
        let batches: Vec<Vec<u32>> = case["batches"].as_array().unwrap().iter().map(lengths).collect();
        let plan = equal_flops(&batches).unwrap();
        let mut documents = plan.documents();
        for (rank, batch) in batches.iter().enumerate() {
            for (place, _) in batch.iter().enumerate() {
                let shards = documents.next().unwrap();
                let expected = |key: &str, unused: i64| -> Vec<i64> {
                    let row: Vec<i64> = serde_json::from_value(case[key][rank][place].clone()).unwrap();
                    row.into_iter().filter(|&entry| entry != unused).collect()
                };
                assert_eq!(shards.iter().map(|shard| i64::from(shard.attention.0)).collect::<Vec<_>>(), expected("cp_dst", -1));
                assert_eq!(
                    shards.iter().map(|shard| i64::from(shard.tokens)).collect::<Vec<_>>(),
                    expected("seq_shard_lens", 0)
                );
            }
        }
        assert!(documents.next().is_none());
    }
}

#[test]
fn layouts_and_original_plans_cost_what_the_benchmark_says() {
    let Some(cases) = golden("g27_planner_benchmark.json") else {
        return;
    };
    for case in &cases {
        let documents = lengths(&case["doc_lens"]);
        let world_size = case["world_size"].as_u64().unwrap() as u32;
        let layout = place_in_order(&documents, world_size, case["tokens_per_rank"].as_u64().unwrap()).unwrap();
        compare(&layout, &case["results"]["layout_only"], &documents);
        for tolerance in ["0.0", "0.05", "0.1", "0.15"] {
            let plan = greedy(&layout, tolerance.parse().unwrap()).unwrap();
            compare(&plan, &case["results"][format!("original_tol_{tolerance}")], &documents);
        }
    }
}

/// The benchmark's figures are rounded: four digits, and whole elements.
fn compare(plan: &Batch, expected: &Value, documents: &[u32]) {
    let tokens: f64 = documents.iter().map(|&length| f64::from(length)).sum();
    let remote = Remote::of(plan);
    let near = |key: &str, value: f64, half: f64| {
        let expected = expected[key].as_f64().unwrap();
        assert!((expected - value).abs() <= half + 1e-9, "{key}: {value} is not {expected}");
    };
    near("max", max_over_mean(plan), 0.00005);
    near("q", remote.queries as f64 / tokens, 0.00005);
    near("kv", remote.keys as f64 / tokens, 0.00005);
    let prices = rankscope_dispatch::planner::Prices::of(&Rows { element_bytes: 1, ..Rows::LLAMA_8B });
    near("elems_per_tok", remote.bytes(prices) as f64 / tokens, 0.5);
    assert_eq!(plan.shards().len() as u64, expected["n"]);
    let cells: u64 = plan.cells().unwrap().iter().sum();
    assert_eq!(cells, documents.iter().map(|&length| causal_cells(length.into(), length.into())).sum::<u64>());
}
