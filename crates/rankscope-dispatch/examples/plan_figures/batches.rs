//! Batches of any size, drawn from fixed seeds.

use rankscope_dispatch::{Batch, Error, Shard, TorchRandom};
use rankscope_time::Rank;

/// Eight sequences of about 512 tokens on every rank, each in 1, 2, 4 or 8 shards on as many ranks: what the original was
/// measured with (dispatch spec 5).
pub(crate) fn drawn(ranks: u32) -> Result<Batch, Error> {
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

/// Documents of 512 to 131,072 tokens, every doubling as likely as the next, until all ranks are full.
pub(crate) fn log_uniform(ranks: u32, tokens_per_rank: u64) -> Vec<u32> {
    let mut random = TorchRandom::new(0);
    let mut left = u64::from(ranks) * tokens_per_rank;
    let mut lengths = Vec::new();
    while left > 0 {
        let share = f64::from(random.below(1 << 24)) / f64::from(1 << 24);
        let length = ((512.0 * 256_f64.powf(share)) as u64 / 2 * 2).min(left);
        lengths.push(length as u32);
        left -= length;
    }
    lengths
}
