//! The bound where ranks may share the keys of the same queries, with one price for all work.
//!
//! # The bound
//!
//! As in [`by_work`](super::by_work), every rank is paid `m` for a cell and asked alone how little it can cost; and as in
//! [`by_position`](super::by_position) its limit `c` is paid for with `m - l` for each cell, so that with `T` for all work
//!
//! ```text
//! bytes  >=  m T + sum over ranks of ( -(m - l) c + sum over documents of phi(l) )
//! ```
//!
//! # One rank and one document
//!
//! Let the rank hold `h` tokens of it, fetch `x` queries and `y` keys, and let there be `n` tokens that it does not hold. Whichever they
//! are, it has no more cells than
//!
//! ```text
//! C(x, y)  =  h (h + 1) / 2  +  A(y)  +  B(x)  +  E(x, y)
//!
//!   A  own queries by fetched keys: each sees at most y, and at most as many as the rank lacks before it
//!   B  fetched queries by own keys: each is seen by at most x, and at most as many as the rank lacks after it
//!   E  fetched by fetched: most for the last queries and the first keys, x y less the triangle where they overlap
//! ```
//!
//! and `phi(l)` is the least `a x + k y - l min(c, C)`. For one `y` that is convex in `x`, and the least of it is found by halving.
//! From `y1` to `y2` it is at least `k y1` and the rest at `y2`; stretches of `y` are halved where that is least. A document of which the
//! rank holds nothing brings it something only if `l` is above some value; `l` is kept below it.

use crate::planner::Prices;
use crate::{Batch, Error, Shard};

/// The bound; there is one limit for each rank. Nothing for batches of so many pieces that it would take long.
pub(super) fn bound(layout: &Batch, prices: Prices, limits: &[u64]) -> Result<u64, Error> {
    let holdings: Vec<Holding> = layout.documents().flat_map(holdings).collect();
    // Where a rank holds all of a document there is nothing to look for.
    let parts = holdings.iter().filter(|holding| holding.lacks > 0);
    if parts.map(|holding| holding.runs.len()).sum::<usize>() > MOST_RUNS {
        return Ok(0);
    }
    let total = layout.cells_at_home()?.iter().map(|&cells| cells as f64).sum::<f64>();
    let longest = layout.documents().map(|document| document.iter().map(|shard| u64::from(shard.tokens)).sum::<u64>()).max();
    let nothing = Holding { rank: 0, held: 0.0, lacks: longest.unwrap_or(0), runs: Vec::new() };
    let most: Vec<f64> = most_pays(&nothing, prices, limits);
    let mut values = vec![f64::NEG_INFINITY; limits.len()];
    let (mut best, mut before) = (0.0_f64, 0.0);
    for pay in pays(&most) {
        let mut sums: Vec<f64> = most.iter().map(|&most| if pay <= most { 0.0 } else { f64::NEG_INFINITY }).collect();
        for holding in holdings.iter().filter(|holding| pay <= most[holding.rank]) {
            sums[holding.rank] += holding.least(pay, limits[holding.rank] as f64, prices);
        }
        let mut bytes = pay * total * (1.0 - PRECISION);
        for ((value, sum), &limit) in values.iter_mut().zip(sums).zip(limits) {
            *value = (*value - (pay - before) * limit as f64).max(sum);
            bytes += *value;
        }
        before = pay;
        best = best.max(bytes - 1.0);
    }
    Ok(best.ceil() as u64)
}

/// What one rank holds of one document.
struct Holding {
    rank: usize,
    /// `h` and `n`.
    held: f64,
    lacks: u64,
    /// Tokens of each run, and how many before it the rank lacks.
    runs: Vec<(f64, f64)>,
}

impl Holding {
    /// `phi`, or a little less.
    fn least(&self, pay: f64, limit: f64, prices: Prices) -> f64 {
        let at = |first: u64, last: u64| (prices.key as f64 * first as f64 + self.rest(last, pay, limit, prices), first, last);
        let mut stretches = vec![at(0, 0)];
        let mut first = 1;
        while first <= self.lacks {
            let last = (first * 2 - 1).min(self.lacks);
            stretches.push(at(first, last));
            first = last + 1;
        }
        for _ in 0..HALVINGS {
            let least = (0..stretches.len()).min_by(|&a, &b| stretches[a].0.total_cmp(&stretches[b].0));
            let Some(least) = least.filter(|&least| stretches[least].1 < stretches[least].2) else { break };
            let (_, first, last) = stretches.swap_remove(least);
            let middle = u64::midpoint(first, last);
            stretches.extend([at(first, middle), at(middle + 1, last)]);
        }
        stretches.iter().map(|stretch| stretch.0).fold(0.0, f64::min)
    }

    /// The least of what queries cost, less what `keys` fetched ones and they bring.
    fn rest(&self, keys: u64, pay: f64, limit: f64, prices: Prices) -> f64 {
        let query = prices.query as f64;
        // What one more query brings falls from one to the next, also where the limit cuts it short.
        let cells = |queries: u64| self.cells(queries, keys).min(limit);
        let enough = |queries: u64| pay * (cells(queries + 1) - cells(queries)) <= query;
        let (mut low, mut high) = (0, self.lacks);
        while low < high {
            let middle = u64::midpoint(low, high);
            match enough(middle) {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        query * low as f64 - pay * cells(low)
    }

    /// `C`, or a little more where queries and keys overlap, so that it is concave in either.
    fn cells(&self, queries: u64, keys: u64) -> f64 {
        let (x, y, n) = (queries as f64, keys as f64, self.lacks as f64);
        let beside = self.runs.iter().map(|&(tokens, before)| tokens * (y.min(before) + x.min(n - before))).sum::<f64>();
        let overlap = (x + y - n - 1.0).max(0.0);
        self.held * (self.held + 1.0) / 2.0 + beside + x * y - overlap * overlap / 2.0
    }
}

/// The highest pay for each rank at which documents of which it has nothing bring nothing.
fn most_pays(nothing: &Holding, prices: Prices, limits: &[u64]) -> Vec<f64> {
    let (query, key) = (prices.query as f64, prices.key as f64);
    let all = nothing.lacks as f64 * (nothing.lacks as f64 + 1.0) / 2.0;
    let mut known: Option<(u64, f64)> = None;
    let most = |&limit: &u64| {
        if let Some((_, most)) = known.filter(|known| known.0 == limit) {
            return most;
        }
        // v cells have no fewer than v / x keys, and cost at least 2 sqrt(a k v).
        let cells = all.min(limit as f64);
        let mut low = if cells < 1.0 { query + key } else { (2.0 * (query * key / cells).sqrt()).min(query + key) };
        low *= 1.0 - PRECISION;
        let mut high = query + key;
        for _ in 0..PAY_HALVINGS {
            let middle = f64::midpoint(low, high);
            match nothing.least(middle, limit as f64, prices) >= 0.0 {
                true => low = middle,
                false => high = middle,
            }
        }
        known = Some((limit, low));
        low
    };
    limits.iter().map(most).collect()
}

/// Pays that are tried: parts of the lowest and of the highest that a rank allows.
fn pays(most: &[f64]) -> Vec<f64> {
    let lowest = most.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = most.iter().copied().fold(0.0, f64::max);
    let mut pays: Vec<f64> = [lowest, highest]
        .into_iter()
        .filter(|most| most.is_finite())
        .flat_map(|most| (0..=PAYS).map(move |part| if part == PAYS { most } else { most * f64::from(part) / f64::from(PAYS) }))
        .collect();
    pays.sort_by(f64::total_cmp);
    pays.dedup();
    pays
}

/// The ranks that hold something of a document.
fn holdings(document: &[Shard]) -> Vec<Holding> {
    let tokens: u64 = document.iter().map(|shard| u64::from(shard.tokens)).sum();
    let mut runs: Vec<(usize, u64, u64)> = Vec::with_capacity(document.len());
    let mut end = 0;
    for shard in document.iter().filter(|shard| shard.tokens > 0) {
        let start = end;
        end += u64::from(shard.tokens);
        match runs.last_mut() {
            Some(last) if last.0 == shard.linear.0 as usize => last.2 = end,
            _ => runs.push((shard.linear.0 as usize, start, end)),
        }
    }
    runs.sort_by_key(|run| run.0);
    let of_rank = |own: &[(usize, u64, u64)]| {
        let mut held = 0;
        let run = |&(_, start, end): &(usize, u64, u64)| {
            let before = start - held;
            held += end - start;
            ((end - start) as f64, before as f64)
        };
        let runs = own.iter().map(run).collect();
        Holding { rank: own[0].0, held: held as f64, lacks: tokens - held, runs }
    };
    runs.chunk_by(|a, b| a.0 == b.0).map(of_rank).collect()
}

/// Pays that are tried, and halvings of stretches of keys for each.
const PAYS: u32 = 8;
const HALVINGS: u32 = 40;
/// Of a search for the highest pay at which nothing new is worth its cost.
const PAY_HALVINGS: u32 = 8;
/// Runs of all ranks in documents that lie on several; more take longer than a second.
const MOST_RUNS: usize = 20_000;
/// Of sums of some million figures.
const PRECISION: f64 = 1e-9;
