//! What plans cost, on one core, and how good they are: `cargo run --release -p rankscope-dispatch --example plan_figures`.
//!
//! With the argument `json` one document, which `cargo xtask bench dispatch` puts beside the original's figures.

#![expect(clippy::print_stdout, reason = "an example prints")]

mod batches;
mod benchmark;
mod first;
mod goals;
mod layouts;

use std::hint::black_box;
use std::time::Instant;

use rankscope_dispatch::Error;
use rankscope_dispatch::plan::{Index, LogicalPlan, RankPlan, TaskOrder};
use rankscope_dispatch::planner::bounded::{Options, bounded};
use rankscope_dispatch::planner::{Prices, place_in_order};
use serde_json::json;

/// Tokens on a rank where the planner is timed.
const TOKENS_PER_RANK: u64 = 65_536;

fn main() -> Result<(), Error> {
    if let Some(ranks) = first::asked() {
        return first::measure(ranks);
    }
    let metadata = [64, 1024, 8192].map(|ranks| (ranks, metadata_ms(ranks)));
    let firsts = [64, 1024, 8192].map(|ranks| (ranks, first::fastest(ranks)));
    let first = firsts.map(|(ranks, first)| (ranks.to_string(), json!(first)));
    let planner = [64, 1024].map(|ranks| (ranks, planner_ms(ranks)));
    let slices = [1024, 8192].map(|ranks| (ranks, slice_ms(ranks)));
    let cases = benchmark::cases()?;
    let worst = |of: fn(&benchmark::Case) -> f64| cases.iter().map(of).fold(0.0, f64::max);
    let document = json!({
        "metadata_ms": by_ranks(metadata)?,
        "first_metadata_ms": serde_json::Map::from_iter(first),
        "slice_ms": slices[0].1.clone()?,
        "slice_8192_ms": slices[1].1.clone()?,
        "planner_ms": by_ranks(planner)?,
        "bytes_ratio": worst(|case| case.bytes_ratio),
        "max_over_mean": worst(|case| case.max_over_mean),
        "shards": by_ranks([64, 1024, 8192].map(|ranks| (ranks, batches::drawn(ranks).map(|batch| batch.shards().len()))))?,
        "layouts": layouts::cases()?,
        "goals": goals::cases()?,
        "wide_ms": layouts::wide_ms()?,
        "cases": cases.iter().map(benchmark::Case::json).collect::<Vec<_>>(),
    });
    match std::env::args().nth(1).as_deref() {
        Some("json") => println!("{document}"),
        _ => println!("{document:#}"),
    }
    Ok(())
}

fn by_ranks<T: Into<serde_json::Value>, const N: usize>(
    figures: [(u32, Result<T, Error>); N],
) -> Result<serde_json::Map<String, serde_json::Value>, Error> {
    figures.into_iter().map(|(ranks, figure)| Ok((ranks.to_string(), figure?.into()))).collect()
}

/// The whole logical plan: all offsets, counts and attention lengths of queries, keys and values, both ways. In the memory of
/// the plan before, as in a training job, where every microbatch is planned.
fn metadata_ms(ranks: u32) -> Result<f64, Error> {
    let batch = batches::drawn(ranks)?;
    let (mut index, mut plan) = (Index::new(&batch, TaskOrder::Documents)?, LogicalPlan::default());
    fastest_ms(|| {
        index.rebuild(&batch, TaskOrder::Documents)?;
        plan.refill(&index);
        Ok(())
    })
}

/// The part of one rank, from nothing but the batch.
fn slice_ms(ranks: u32) -> Result<f64, Error> {
    let batch = batches::drawn(ranks)?;
    fastest_ms(|| RankPlan::new(&batch, TaskOrder::Documents, ranks / 2))
}

fn planner_ms(ranks: u32) -> Result<f64, Error> {
    let layout = place_in_order(&batches::log_uniform(ranks, TOKENS_PER_RANK), ranks, TOKENS_PER_RANK)?;
    let options = options();
    fastest_ms(|| bounded(&layout, &options))
}

/// Balance within 5 %, cost in elements of an 8B model.
fn options() -> Options {
    let rows = rankscope_dispatch::Rows { element_bytes: 1, ..rankscope_dispatch::Rows::LLAMA_8B };
    Options::new(0.05, Prices::of(&rows))
}

/// The fastest of many runs: what the others add is other people's work on this machine.
fn fastest_ms<T>(mut run: impl FnMut() -> Result<T, Error>) -> Result<f64, Error> {
    let mut fastest = f64::INFINITY;
    for _ in 0..RUNS {
        let begun = Instant::now();
        let result = black_box(run()?);
        fastest = fastest.min(begun.elapsed().as_secs_f64() * 1e3);
        // Whoever plans keeps the plan.
        drop(result);
    }
    Ok(fastest)
}

const RUNS: usize = 31;
