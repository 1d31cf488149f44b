//! What splitting keys and values would save on the published mixes: `cargo run --release -p rankscope-dispatch --example split_kv`.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::time::Instant;

use rankscope_dispatch::planner::bounded::{Options, bounded};
use rankscope_dispatch::planner::split::split;
use rankscope_dispatch::planner::{Prices, Remote, place_in_order};
use rankscope_dispatch::{Batch, Error, Rows};
use serde_json::Value;

fn main() -> Result<(), Error> {
    let fixture = include_str!("../../../fixtures/dispatch/g27_planner_benchmark.json");
    let fixture: Value = serde_json::from_str(fixture).expect("the fixture is JSON");
    let number = |value: &Value| value.as_u64().expect("the fixture has whole numbers here");
    for case in fixture["cases"].as_array().into_iter().flatten() {
        let lengths: Vec<u32> = case["doc_lens"].as_array().into_iter().flatten().map(|length| number(length) as u32).collect();
        let layout = place_in_order(&lengths, number(&case["world_size"]) as u32, number(&case["tokens_per_rank"]))?;
        figures(case["name"].as_str().unwrap_or_default(), &layout)?;
    }
    for world_size in [8_u32, 64] {
        let layout = place_in_order(&[world_size * 16_384], world_size, 16_384)?;
        figures(&format!("one document of {world_size} x 16384"), &layout)?;
    }
    Ok(())
}

/// A line for grouped and one for as many key/value heads as query heads.
fn figures(name: &str, layout: &Batch) -> Result<(), Error> {
    for (heads, hidden_kv) in [("32 query, 8 key heads", 1024), ("32 query, 32 key heads", 4096)] {
        let options = Options::new(0.05, Prices::of(&Rows { hidden_kv, ..Rows::LLAMA_8B }));
        let plan = bounded(layout, &options)?;
        let before = Remote::of(&plan).bytes(options.prices);
        let begun = Instant::now();
        let split = split(layout, &plan, &options, 128)?;
        let elapsed = begun.elapsed();
        println!(
            "{name}; {heads}: {:.2} -> {:.2} GB, {:.1} % less, {} tasks, {:.0} ms",
            before as f64 / 1e9,
            split.bytes as f64 / 1e9,
            (before - split.bytes) as f64 / before as f64 * 100.0,
            split.batch.tasks().len(),
            elapsed.as_secs_f64() * 1e3
        );
    }
    Ok(())
}
