//! What a layout is worth: the same documents in file order and where they should lie, and how near their plans are to the bound.

use std::time::Instant;

use rankscope_dispatch::cost::Work;
use rankscope_dispatch::planner::bounded::{Limits, Options, bounded};
use rankscope_dispatch::planner::{BLOCK_TOKENS, Goal, Prices, Remote, choose, lower_bound, place_evenly};
use rankscope_dispatch::{Batch, Error, Rows, TorchRandom};
use serde_json::{Value, json};

const TOKENS_PER_RANK: u64 = 65_536;

/// Every mix in both layouts.
pub(crate) fn cases() -> Result<Vec<Value>, Error> {
    let mut cases = Vec::new();
    for ranks in [8, 64, 256] {
        for (name, lengths) in mixes(ranks) {
            cases.push(case(&name, ranks, &lengths)?);
        }
    }
    Ok(cases)
}

/// Lengths of documents that fill so many ranks, by what they are called.
pub(crate) fn mixes(ranks: u32) -> Vec<(String, Vec<u32>)> {
    let log_normal = [1 << 16, 1 << 18, 1 << 20].map(|longest| {
        let name = format!("log-normal, to {} Ki", longest >> 10);
        (name, lengths(ranks, 1, |random| log_normal(random).clamp(64, longest)))
    });
    let mostly_short =
        |random: &mut TorchRandom| if random.below(20) == 0 { 1 << 17 } else { 2048 + u64::from(random.below(2048)) };
    let others = [
        ("half of all tokens in one document".to_owned(), giant(ranks)),
        ("one in twenty of 128 Ki, others short".to_owned(), lengths(ranks, 3, mostly_short)),
    ];
    log_normal.into_iter().chain(others).collect()
}

/// A document that lies on thousands of ranks, and more ranks than tokens: milliseconds of one plan each.
pub(crate) fn wide_ms() -> Result<Value, Error> {
    let mut random = TorchRandom::new(5);
    let mut long = vec![8_000_000];
    long.extend((0..2995).map(|_| 100 + random.below(4000)));
    Ok(json!({
        "8 million tokens and 2995 short documents on 2048 ranks": plan_ms(&long, 2048)?,
        "1005 tokens on 100000 ranks": plan_ms(&[1000, 0, 5], 100_000)?,
    }))
}

fn plan_ms(lengths: &[u32], ranks: u32) -> Result<f64, Error> {
    let layout = place_evenly(lengths, ranks)?;
    let begun = Instant::now();
    bounded(&layout, &options())?;
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}

fn case(name: &str, ranks: u32, lengths: &[u32]) -> Result<Value, Error> {
    let in_order = place_evenly(lengths, ranks)?;
    let chosen = choose(&in_order, None, &options(), Goal::FewestBytes)?;
    let in_order_plan = bounded(&in_order, &options())?;
    let (first, first_bound) = bytes_and_bound(&in_order, &in_order_plan)?;
    let (second, second_bound) = bytes_and_bound(&chosen.layout, &chosen.plan)?;
    Ok(json!({
        "name": name,
        "world_size": ranks,
        "in_order_bytes": first,
        "in_order_bound_bytes": first_bound,
        "chosen_bytes": second,
        "chosen_bound_bytes": second_bound,
        "in_order_crumbs": crumbs(&in_order_plan),
        "chosen_crumbs": crumbs(&chosen.plan),
    }))
}

/// Pieces of cut documents for which a kernel would compute a tile that is more than half empty, and all pieces.
fn crumbs(plan: &Batch) -> [usize; 2] {
    let pieces = || plan.documents().filter(|document| document.len() > 1).flatten();
    [pieces().filter(|piece| piece.tokens < BLOCK_TOKENS / 2).count(), pieces().count()]
}

fn bytes_and_bound(layout: &Batch, plan: &Batch) -> Result<(u64, u64), Error> {
    let options = options();
    let kept = Limits::new(layout, &Work::Cells, options.eps, &[])?.kept_by(&plan.cells()?);
    Ok((Remote::of(plan).bytes(options.prices), lower_bound(layout, options.prices, &kept)?))
}

/// Balance within 5 %; eight queries to a key, in bf16.
fn options() -> Options {
    Options::new(0.05, Prices::of(&Rows { hidden_q: 8192, hidden_kv: 1024, lse: 0, element_bytes: 2 }))
}

/// Documents until all ranks are full.
fn lengths(ranks: u32, seed: u64, mut length: impl FnMut(&mut TorchRandom) -> u64) -> Vec<u32> {
    let mut random = TorchRandom::new(seed);
    let mut left = u64::from(ranks) * TOKENS_PER_RANK;
    std::iter::from_fn(|| {
        let length = length(&mut random).min(left);
        left -= length;
        (length > 0).then_some(length as u32)
    })
    .collect()
}

/// Half of them 4,900 tokens at most, one in a hundred 160,000 or more.
fn log_normal(random: &mut TorchRandom) -> u64 {
    let mut unit = || (f64::from(random.below(1 << 24)) + 0.5) / f64::from(1 << 24);
    let normal = (-2.0 * unit().ln()).sqrt() * (std::f64::consts::TAU * unit()).cos();
    (8.5 + 1.5 * normal).exp() as u64
}

/// One of half of all tokens, 8 million at most, and short ones.
fn giant(ranks: u32) -> Vec<u32> {
    let mut longest = (u64::from(ranks) * TOKENS_PER_RANK / 2).min(8_000_000);
    lengths(ranks, 2, |random| match std::mem::take(&mut longest) {
        0 => 500 + u64::from(random.below(7000)),
        first => first,
    })
}
