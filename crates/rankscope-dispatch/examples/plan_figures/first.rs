//! The first plan of a process, which has to be given its memory by the system, in processes of its own; beside it, what it
//! takes to be given as much memory and to write a word into each page of it.

use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::Instant;

use rankscope_dispatch::Error;
use rankscope_dispatch::plan::{LogicalPlan, TaskOrder};
use serde_json::{Value, json};

use crate::batches::drawn;

/// The ranks that this process is to plan for, and then to end.
pub(crate) fn asked() -> Option<u32> {
    let mut arguments = std::env::args().skip_while(|argument| argument != FIRST);
    arguments.nth(1)?.parse().ok()
}

/// Prints what the first plan took.
pub(crate) fn measure(ranks: u32) -> Result<(), Error> {
    let batch = drawn(ranks)?;
    let begun = Instant::now();
    let plan = black_box(LogicalPlan::new(&batch, TaskOrder::Documents)?);
    let plan_ms = begun.elapsed().as_secs_f64() * 1e3;
    let begun = Instant::now();
    let mut fresh = vec![0_u32; words(&plan, batch.shards().len())];
    fresh.iter_mut().step_by(PAGE_WORDS).for_each(|word| *word = 1);
    let memory_ms = begun.elapsed().as_secs_f64() * 1e3;
    black_box(fresh);
    println!("{}", json!({ "plan": plan_ms, "memory": memory_ms }));
    Ok(())
}

/// The fastest of several processes; nothing where none can be started.
pub(crate) fn fastest(ranks: u32) -> Option<Value> {
    let program = std::env::current_exe().ok()?;
    let runs = (0..PROCESSES).filter_map(|_| {
        let output = Command::new(&program).args([FIRST, &ranks.to_string()]).stderr(Stdio::inherit()).output().ok()?;
        serde_json::from_slice::<Value>(&output.stdout).ok()
    });
    runs.min_by(|a, b| a["plan"].as_f64().unwrap_or(f64::INFINITY).total_cmp(&b["plan"].as_f64().unwrap_or(f64::INFINITY)))
}

/// Of 32 bits, in the plan and in the index that it is made from.
fn words(plan: &LogicalPlan, shards: usize) -> usize {
    let returns = [&plan.query_returns, &plan.key_value_returns].map(|returns| 3 * returns.rank.len());
    let sends = [&plan.queries, &plan.key_values].map(|sends| 2 * sends.rank.len());
    let ends = [&plan.slot_tokens, &plan.copies, &plan.runs, &plan.cu_seqlens_q, &plan.cu_seqlens_kv].map(Vec::len);
    let counts = [&plan.query_counts, &plan.key_value_counts].map(|counts| 2 * counts.entries.len());
    let index = 11 * shards;
    [returns, sends, counts].as_flattened().iter().chain(&ends).sum::<usize>() + index
}

const FIRST: &str = "first";
const PROCESSES: usize = 15;
const PAGE_WORDS: usize = 1024;
