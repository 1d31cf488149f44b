//! Kinds that plan: the original's two planners, and the benchmark that sets ours beside them.

use rankscope_dispatch::planner::bounded::{Options, bounded};
use rankscope_dispatch::planner::{Prices, Remote, equal_flops, greedy, place_in_order};
use rankscope_dispatch::{Batch, Rows, Shard};
use serde_json::{Value, json};

use super::error::{At, Error, InputFault, Place, Result};
use super::{Case, Object, Way};

/// Plans by the original's greedy planner, for every entry of `cases` or for the case itself.
pub(super) fn greedy_planner(case: &Case, _: Way) -> Result<Object> {
    each("greedy_planner", case, greedy_case)
}

/// Plans by the original's older planner.
pub(super) fn equal_flops_planner(case: &Case, _: Way) -> Result<Object> {
    each("equal_flops_planner", case, equal_flops_case)
}

/// What layouts, the original's plans and ours move, and how heavy their heaviest rank is.
pub(super) fn planner_benchmark(case: &Case, _: Way) -> Result<Object> {
    each("planner_benchmark", case, benchmark_case)
}

fn each(kind: &str, case: &Case, answer: impl Fn(&Case, Object) -> Result<Object>) -> Result<Object> {
    match case.find("cases") {
        None => answer(case, Object::of_kind(kind)),
        Some(_) => {
            let cases = case.list("cases")?;
            let answers = cases.iter().map(|case| answer(case, Object::default())).collect::<Result<Vec<_>>>()?;
            Ok(Object::of_kind(kind).with("cases", answers))
        }
    }
}

fn greedy_case(case: &Case, mut answer: Object) -> Result<Object> {
    for key in ["batches", "tokens_per_rank", "world_size", "tolerance"] {
        answer.push(key, case.find(key).cloned());
    }
    let tolerance = case.find("tolerance").map_or(Some(0.1), Value::as_f64);
    let tolerance = tolerance.ok_or_else(|| Error::input("tolerance", InputFault::NoNumber))?;
    let layout = place_in_order(&batches(case)?.concat(), case.count("world_size")?, tokens_per_rank(case)?)?;
    let plan = greedy(&layout, tolerance)?;
    let (before, after) = (layout.cells()?, plan.cells()?);
    let mean = after.iter().sum::<u64>() as f64 / after.len() as f64;
    let over_mean = |load: Option<&u64>| load.map(|&load| load as f64 / mean);
    let remote = Remote::of(&plan);
    let stats = Object::default()
        .with("max_over_avg_before", over_mean(before.iter().max()))
        .with("max_over_avg", over_mean(after.iter().max()))
        .with("min_over_avg", over_mean(after.iter().min()))
        .with("q_tokens_remote", remote.queries as i64)
        .with("kv_tokens_remote_dedup", remote.keys as i64)
        .with("kv_tokens_remote_naive", remote.keys_repeated as i64);
    Ok(answer
        .with("placed_items", placed_items(&layout))
        .with("shards", json!(plan.documents().map(rows).collect::<Vec<_>>()))
        .with("flops_before", json!(before))
        .with("flops_after", json!(after))
        .with("stats", stats))
}

/// What every rank holds of each document, as lengths and ends.
fn placed_items(layout: &Batch) -> Value {
    let mut items: Vec<Value> = Vec::new();
    for (document, shards) in layout.documents().enumerate() {
        let mut held: Vec<(u32, Vec<[u32; 2]>)> = Vec::new();
        let mut end = 0;
        for shard in shards {
            end += shard.tokens;
            let chunk = [shard.tokens, end];
            match held.iter_mut().find(|item| item.0 == shard.linear.0) {
                Some(item) => item.1.push(chunk),
                None => held.push((shard.linear.0, vec![chunk])),
            }
        }
        items.extend(held.into_iter().map(|(rank, chunks)| json!({"seq": document, "src": rank, "chunks": chunks})));
    }
    items.into()
}

fn rows(document: &[Shard]) -> Vec<[u32; 4]> {
    (0..).zip(document).map(|(place, shard)| [shard.linear.0, shard.attention.0, place, shard.tokens]).collect()
}

fn equal_flops_case(case: &Case, answer: Object) -> Result<Object> {
    let batches = batches(case)?;
    let plan = equal_flops(&batches)?;
    let places: Vec<(usize, usize)> =
        batches.iter().enumerate().flat_map(|(rank, batch)| (0..batch.len()).map(move |place| (rank, place))).collect();
    let slots = batches.iter().map(Vec::len).max().unwrap_or(0);
    let degree = plan.documents().map(<[Shard]>::len).max().unwrap_or(0);

    let mut lengths = vec![vec![0; slots]; batches.len()];
    let mut degrees = vec![vec![0; slots]; batches.len()];
    let mut ranks = vec![vec![vec![-1_i64; degree]; slots]; batches.len()];
    let mut tokens = vec![vec![vec![0; degree]; slots]; batches.len()];
    let mut flops = vec![0.0; batches.len()];
    let (mut kept, mut cut) = (Vec::new(), Vec::new());
    for (&(rank, place), shards) in places.iter().zip(plan.documents()) {
        lengths[rank][place] = batches[rank][place];
        degrees[rank][place] = shards.len();
        let moved = shards.len() > 1;
        let mut end = 0;
        for (index, shard) in shards.iter().enumerate() {
            end += shard.tokens;
            ranks[rank][place][index] = shard.attention.0.into();
            tokens[rank][place][index] = shard.tokens;
            // The original's own measure, half a cell a token less than the cells.
            flops[shard.attention.0 as usize] += f64::from(shard.tokens) * (f64::from(end) - f64::from(shard.tokens) / 2.0);
            let item = json!([shard.tokens, end, shard.attention.0, place, rank, i32::from(!moved), index]);
            if moved { &mut cut } else { &mut kept }.push(item);
        }
    }
    kept.append(&mut cut);
    let world = json!({"world_size": batches.len(), "num_seqs": slots, "max_cp_degree": degree});
    Ok(answer
        .with("batches", json!(batches))
        .with("items", Value::from(kept))
        .with("world", world)
        .with("seq_lens", json!(lengths))
        .with("cp_num", json!(degrees))
        .with("cp_dst", json!(ranks))
        .with("seq_shard_lens", json!(tokens))
        .with("flops", json!(flops)))
}

fn benchmark_case(case: &Case, mut answer: Object) -> Result<Object> {
    for key in ["name", "world_size", "tokens_per_rank", "doc_lens"] {
        answer.push(key, case.find(key).cloned());
    }
    let documents = case.find("doc_lens").ok_or_else(|| Error::input("doc_lens", InputFault::NotGiven))?;
    let documents = lengths(documents).at(|| Place::Input("doc_lens".to_owned()))?;
    let layout = place_in_order(&documents, case.count("world_size")?, tokens_per_rank(case)?)?;
    let mut results = Object::default().with("layout_only", figures(&layout)?);
    for tolerance in [0.0, 0.05, 0.1, 0.15] {
        results.push(&format!("original_tol_{tolerance:?}"), figures(&greedy(&layout, tolerance)?)?);
    }
    for eps in [0.0, 0.05, 0.1] {
        let prices = Prices::of(&Rows::LLAMA_8B);
        let options = Options::new(eps, prices);
        results.push(&format!("bounded_interval_eps_{eps:?}"), figures(&bounded(&layout, &options)?)?);
    }
    Ok(answer.with("results", results))
}

/// The benchmark's figures of a plan, rounded as there.
fn figures(plan: &Batch) -> Result<Object> {
    let cells = plan.cells()?;
    let tokens = plan.linear_tokens().iter().sum::<u64>().max(1) as f64;
    let remote = Remote::of(plan);
    let elements = remote.bytes(Prices::of(&Rows { element_bytes: 1, ..Rows::LLAMA_8B })) as f64 / tokens;
    let rounded = |value: f64| (value * 1e4).round() / 1e4;
    let heaviest =
        cells.iter().max().copied().unwrap_or(0) as f64 * cells.len() as f64 / cells.iter().sum::<u64>().max(1) as f64;
    Ok(Object::default()
        .with("max", rounded(heaviest))
        .with("q", rounded(remote.queries as f64 / tokens))
        .with("kv", rounded(remote.keys as f64 / tokens))
        .with("elems_per_tok", elements.round() as i64)
        .with("n", plan.shards().len()))
}

fn batches(case: &Case) -> Result<Vec<Vec<u32>>> {
    let lists = case.find("batches").and_then(Value::as_array);
    let lists = lists.ok_or_else(|| Error::input("batches", InputFault::NoListPerRank))?;
    lists.iter().enumerate().map(|(at, list)| lengths(list).at(|| Place::Entry { list: "batches".to_owned(), at })).collect()
}

fn lengths(list: &Value) -> Result<Vec<u32>> {
    serde_json::from_value(list.clone()).map_err(Error::Lengths)
}

fn tokens_per_rank(case: &Case) -> Result<u64> {
    case.find("tokens_per_rank").and_then(Value::as_u64).ok_or_else(|| Error::input("tokens_per_rank", InputFault::NoTokens))
}
