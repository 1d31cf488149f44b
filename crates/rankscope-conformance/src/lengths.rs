//! Kinds that answer with sequence lengths.

use rankscope_dispatch::draw::{gen_seq_lens as exact, gen_seq_lens_valid, pipeline_tick_backward, pipeline_tick_forward};
use rankscope_dispatch::{Padded, TorchRandom};

use super::error::{Error, Must, Result};
use super::{Case, Object, Way};

/// Lengths for every entry of `cases`, or for the case itself; beside them what a checker of the stream wants to see.
pub(super) fn gen_seq_lens(case: &Case, _: Way) -> Result<Object> {
    let mut answer = Object::of_kind("gen_seq_lens");
    if case.find("cases").is_none() && case.find("world_size").is_some() {
        return drawn(case, answer);
    }
    answer.push("rng", stream());
    let cases = case.list("cases")?;
    answer.push("cases", cases.iter().map(|case| drawn(case, Object::default())).collect::<Result<Vec<_>>>()?);
    answer.push("nonpositive_lengths_W1_S10_T50", nonpositive(case)?);
    Ok(answer)
}

/// Adds the inputs and lengths of one case to `answer`. In the mode `valid`, lengths are never below one.
fn drawn(case: &Case, mut answer: Object) -> Result<Object> {
    let keys = ["world_size", "num_seqs", "total_len"];
    let mut counts = [0; 3];
    for (count, key) in counts.iter_mut().zip(keys) {
        *count = case.count(key)?;
        answer.push(key, *count);
    }
    let [ranks, sequences, tokens] = counts;
    answer.push("seed", case.find("seed").cloned());
    if let Some(mode) = case.find("mode") {
        answer.push("mode", mode.clone());
    }
    let draw = match case.find("mode") {
        None => exact,
        Some(mode) if mode == "documented" => exact,
        Some(mode) if mode == "valid" => gen_seq_lens_valid,
        Some(mode) => return Err(Error::value("mode", mode, Must::Mode)),
    };
    let lengths = draw(&mut TorchRandom::new(case.seed()?), ranks, sequences, tokens)?;
    let least = lengths.values().iter().min().copied();
    Ok(answer.with("seq_lens", lengths).with("min", least))
}

/// The first draws of two seeds.
fn stream() -> Object {
    let bits = |seed| {
        let mut random = TorchRandom::new(seed);
        (0..12).map(|_| random.bits()).collect::<Vec<_>>()
    };
    let mut random = TorchRandom::new(0);
    let floats: Vec<f64> = (0..12).map(|_| f64::from(random.uniform())).collect();
    Object::default().with("seed0_u32", bits(0)).with("seed42_u32", bits(42)).with("seed0_rand", floats)
}

/// How many of the first seeds give a length below one where 50 tokens are cut into 10 sequences, and the first of them.
fn nonpositive(case: &Case) -> Result<Object> {
    let seeds = case.find("nonpositive_lengths_W1_S10_T50").and_then(|given| given["seeds_tested"].as_u64()).unwrap_or(200);
    let (mut count, mut examples) = (0_u32, Vec::new());
    for seed in 0..seeds.min(100_000) {
        let lengths: Padded = exact(&mut TorchRandom::new(seed), 1, 10, 50)?;
        if lengths.values().iter().any(|&length| length < 1) {
            count += 1;
            if examples.len() < 6 {
                examples.push(Object::default().with("seed", seed as i64).with("seq_lens", lengths));
            }
        }
    }
    Ok(Object::default().with("seeds_tested", seeds as i64).with("count", count).with("examples", examples))
}

/// Lengths of a forward tick and of the backward tick that answers it.
pub(super) fn pipeline_tick(case: &Case, _: Way) -> Result<Object> {
    let new = case.array("new_seq_lens")?;
    let forward = pipeline_tick_forward(&new, &case.array("previous_seq_lens")?)?;
    let stage = new.shape().first().copied().unwrap_or(0);
    let backward = pipeline_tick_backward(&forward, stage)?;
    Ok(Object::of_kind("pipeline_tick").with("seq_lens", forward).with("backward_seq_lens", backward))
}
