//! How long the logical plan of a drawn dispatch takes on one core: `cargo run --release --example plan_speed -- 1024`.

#![expect(clippy::print_stdout, reason = "an example prints")]

use std::time::Instant;

use rankscope_dispatch::plan::{Index, LogicalPlan, RankPlan, TaskOrder};
use rankscope_dispatch::{Batch, Error, Shard, TorchRandom};
use rankscope_time::Rank;

fn main() -> Result<(), Error> {
    let ranks = std::env::args().nth(1).and_then(|argument| argument.parse().ok()).unwrap_or(1024);
    let batch = drawn(ranks)?;
    let plan = LogicalPlan::new(&batch, TaskOrder::Documents)?;
    println!("{ranks} ranks, {} shards, {} key/value slots", plan.slot_tokens.len(), plan.key_value_returns.rank.len());
    let (mut plan, mut index) = (plan, Index::new(&batch, TaskOrder::Documents)?);
    let time = milliseconds(|| {
        index.rebuild(&batch, TaskOrder::Documents)?;
        plan.refill(&index);
        Ok(())
    })?;
    println!("plan      {time:9.3} ms, in the memory of the last one");
    println!("          {:9.3} ms, in new memory", milliseconds(|| LogicalPlan::new(&batch, TaskOrder::Documents).map(drop))?);
    println!("threads   {:9.3} ms", milliseconds(|| LogicalPlan::parallel(&batch, TaskOrder::Documents).map(drop))?);
    println!("index     {:9.3} ms", milliseconds(|| index.rebuild(&batch, TaskOrder::Documents))?);
    println!(
        "one rank  {:9.3} ms, index included",
        milliseconds(|| RankPlan::new(&batch, TaskOrder::Documents, ranks / 2).map(drop))?
    );
    println!("          {:9.3} ms from the index", milliseconds(|| index.rank(ranks / 2).map(drop))?);
    Ok(())
}

/// Eight sequences of about 512 tokens on every rank, each in 1, 2, 4 or 8 shards on as many ranks.
fn drawn(ranks: u32) -> Result<Batch, Error> {
    let mut random = TorchRandom::new(0);
    let mut batch = Batch::new(ranks)?;
    for sequence in 0..ranks * 8 {
        let shards = 1 << random.below(ranks.min(8).ilog2() + 1);
        let (first, step) = (random.below(ranks), 1 + 2 * random.below(ranks / 2));
        let shards: Vec<_> = (0..shards)
            .map(|k| Shard { linear: Rank(sequence / 8), attention: Rank((first + k * step) % ranks), tokens: 512 / shards })
            .collect();
        batch.push(&shards)?;
    }
    Ok(batch)
}

/// The fastest of 101 runs: what the others add is other people's work on this machine.
fn milliseconds(mut run: impl FnMut() -> Result<(), Error>) -> Result<f64, Error> {
    let mut fastest = f64::INFINITY;
    for _ in 0..101 {
        let begin = Instant::now();
        run()?;
        fastest = fastest.min(begin.elapsed().as_secs_f64() * 1e3);
    }
    Ok(fastest)
}
