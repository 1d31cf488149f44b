//! How long exchanges take to build: `cargo run --release -p rankscope-dispatch --example exchange_time`.
//!
//! Batches like those of the original's own measurements: 8 sequences of 512 tokens a rank, each cut in up to 8 shards.

use std::hint::black_box;
use std::time::Instant;

use rankscope_dispatch::{Batch, Contexts, Direction, Error, Exchange, RankExchange, Rows, Shard};
use rankscope_time::Rank;

fn main() -> Result<(), Error> {
    let mut lines = String::new();
    for world_size in [64, 1024, 8192] {
        let batch = batch(world_size)?;
        for direction in Direction::ALL {
            let whole = fastest(|| Exchange::new(&batch, &Rows::LLAMA_8B, direction))?;
            let slice =
                fastest(|| RankExchange::new(&batch, &Rows::LLAMA_8B, direction, Contexts::PerTask, Rank(world_size / 2)))?;
            let (shards, name) = (batch.shards().len(), direction.as_str());
            lines += &format!("{world_size:5} ranks {shards:7} shards {name:16} {whole:8.2} ms, one rank {slice:7.2} ms\n");
        }
    }
    std::io::Write::write_all(&mut std::io::stdout(), lines.as_bytes()).expect("standard output takes text");
    Ok(())
}

fn batch(world_size: u32) -> Result<Batch, Error> {
    let mut batch = Batch::new(world_size)?;
    let mut state = 7_u64;
    let mut draw = |below: u32| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32 % below
    };
    for linear in 0..world_size {
        for _ in 0..8 {
            let shards = 1 << draw(4);
            let shard = |_| Shard { linear: Rank(linear), attention: Rank(draw(world_size)), tokens: 512 / shards };
            batch.push(&(0..shards).map(shard).collect::<Vec<_>>())?;
        }
    }
    Ok(batch)
}

/// Milliseconds of the fastest of several runs.
fn fastest<T>(mut run: impl FnMut() -> Result<T, Error>) -> Result<f64, Error> {
    let mut best = f64::INFINITY;
    for _ in 0..7 {
        let start = Instant::now();
        black_box(run()?);
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(best)
}
