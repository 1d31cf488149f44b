//! Three documents over two ranks, from lengths to what an attention kernel takes:
//! `cargo run -p rankscope-dispatch --example plan_a_batch`.

#![expect(clippy::print_stdout, reason = "an example prints")]

use rankscope_dispatch::plan::{LogicalPlan, TaskOrder};
use rankscope_dispatch::planner::bounded::{Options, bounded};
use rankscope_dispatch::planner::{Prices, place_on_ranks};
use rankscope_dispatch::{Direction, Error, Exchange, Rows};

fn main() -> Result<(), Error> {
    // Rank 0 holds one document of 8,192 tokens, rank 1 two of 4,096: equally many tokens, twice the attention.
    let layout = place_on_ranks(&[vec![8192], vec![4096, 4096]])?;
    println!("cells before  {:?}", layout.cells_at_home()?);

    let rows = Rows::LLAMA_8B;
    let plan = bounded(&layout, &Options::new(0.05, Prices::of(&rows)))?;
    println!("cells after   {:?}", plan.cells()?);
    for (number, document) in plan.documents().enumerate() {
        let shards: Vec<String> = document
            .iter()
            .map(|shard| format!("{} tokens of rank {} on rank {}", shard.tokens, shard.linear, shard.attention))
            .collect();
        println!("document {number}    {}", shards.join(", "));
    }

    let traffic = Exchange::new(&plan, &rows, Direction::Forward)?.traffic();
    for (from, to, bytes) in traffic.pairs().iter().filter(|pair| pair.0 != pair.1) {
        println!("{from} sends {to}     {bytes} bytes");
    }
    let metadata = LogicalPlan::new(&plan, TaskOrder::Documents)?;
    for rank in 0..2 {
        let view = metadata.rank(rank);
        println!("rank {rank}        cu_seqlens_q {:?}, cu_seqlens_k {:?}", view.cu_seqlens_q, view.cu_seqlens_kv);
    }
    Ok(())
}
