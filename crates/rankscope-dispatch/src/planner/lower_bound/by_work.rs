//! The bound with one price for all work.
//!
//! # The bound
//!
//! Let every rank be asked alone: *with work `w`, how few bytes can you cost?* Call a lower bound of the answer `h(w)`. A plan
//! gives every rank `w <= limit`, and all `w` add up to all work `T`. For any price `m` of work,
//!
//! ```text
//! bytes  >=  sum h(w)  =  m T + sum (h(w) - m w)  >=  m T + sum min over w <= limit of (h(w) - m w)
//! ```
//!
//! which holds for every `m`, so the best `m` is taken. Leaving out that a query is computed only once makes the right side
//! smaller, never larger.
//!
//! # One rank alone
//!
//! A rank's work is `v` cells of queries that it holds and `A` cells of others, and `h(v + A) = G(v) + F(A)` with
//!
//! - `G`: own queries up to the end of a run need the context before it, less what the rank holds. Those are points (cells,
//!   bytes) per document; the lower convex hull of each, put together by slope, is convex and below every choice.
//! - `F` of documents that the rank has nothing of: `q` queries that end at `b` hold `((b+1/2)^2 - (b-q+1/2)^2) / 2` cells, and
//!   `a q + k b` is then at least `sqrt(2A) sqrt(k (2a + k)) - k / 2`. With a straight start from zero that is concave, and
//!   therefore no larger for one document than for several.
//! - `F` of documents that the rank has a part of: let all context up to its last own token `R` be free. A query has at most `b`
//!   cells, so `A` cells cost at least `a A / b + k (b - R)` for some `b` from `R` to the end: a minimum of lines, concave
//!   too. There are no more such cells than other ranks hold in these documents, `S`; the rest falls to the case before.
//!
//! On every stretch between the corners of `G` and `A = S` the sum is concave in `A`, so its least value lies on a corner.

use crate::planner::Prices;
use crate::{Batch, Error, Shard, causal_cells};

/// The bound; there is one limit for each rank.
pub(super) fn bound(layout: &Batch, prices: Prices, limits: &[u64]) -> Result<u64, Error> {
    let total = layout.cells_at_home()?.iter().sum::<u64>() as f64;
    let mut ranks: Vec<Alone> = limits.iter().map(|_| Alone::default()).collect();
    for document in layout.documents() {
        for (rank, share) in shares(document) {
            ranks[rank as usize].add(&share, prices);
        }
    }
    let mut choices = Vec::new();
    let mut ends = Vec::with_capacity(ranks.len());
    for (rank, &limit) in ranks.iter_mut().zip(limits) {
        rank.choices(limit as f64, prices, &mut choices);
        ends.push(choices.len());
    }
    let best = best_price(total, &choices, &ends);
    // What floats may have added.
    Ok((best * (1.0 - 1e-9) - 1.0).ceil().max(0.0) as u64)
}

/// What one rank holds of one document.
struct Share {
    /// Cells of own queries and tokens of context lacking, up to the end of each own run.
    runs: Vec<(f64, f64)>,
    /// The end of the last own run, and of the document.
    reach: f64,
    length: f64,
    /// Cells of the queries that others hold.
    others: f64,
}

/// The shares of all ranks that hold something of a document.
fn shares(document: &[Shard]) -> Vec<(u32, Share)> {
    let length: u64 = document.iter().map(|shard| u64::from(shard.tokens)).sum();
    let mut shares: Vec<(u32, Share)> = Vec::new();
    let mut held: Vec<u64> = Vec::new();
    let mut end = 0;
    for shard in document.iter().filter(|shard| shard.tokens > 0) {
        let tokens = u64::from(shard.tokens);
        end += tokens;
        let cells = causal_cells(tokens, end) as f64;
        let place = shares.iter().position(|(rank, _)| *rank == shard.linear.0).unwrap_or_else(|| {
            let others = causal_cells(length, length) as f64;
            shares.push((shard.linear.0, Share { runs: Vec::new(), reach: 0.0, length: length as f64, others }));
            held.push(0);
            shares.len() - 1
        });
        held[place] += tokens;
        let share = &mut shares[place].1;
        let before = share.runs.last().map_or(0.0, |run| run.0);
        share.runs.push((before + cells, (end - held[place]) as f64));
        share.reach = end as f64;
        share.others -= cells;
    }
    shares
}

/// One rank's part of the bound.
#[derive(Default)]
struct Alone {
    /// Slopes of `G`: cells, and bytes they cost.
    own: Vec<(f64, f64)>,
    /// `S`, and of what each document with cells in it allows: reach and length.
    others: f64,
    parts: Vec<(f64, f64)>,
}

impl Alone {
    fn add(&mut self, share: &Share, prices: Prices) {
        let mut hull: Vec<(f64, f64)> = vec![(0.0, 0.0)];
        for &(cells, lacking) in &share.runs {
            let point = (cells, lacking * prices.key as f64);
            while let [.., before, last] = hull[..] {
                if (last.1 - before.1) * (point.0 - before.0) < (point.1 - before.1) * (last.0 - before.0) {
                    break;
                }
                hull.pop();
            }
            hull.push(point);
        }
        self.own.extend(hull.windows(2).map(|pair| (pair[1].0 - pair[0].0, pair[1].1 - pair[0].1)));
        if share.others > 0.0 {
            self.others += share.others;
            self.parts.push((share.reach, share.length));
        }
    }

    /// The corners of `h`: work, and bytes it costs at least.
    fn choices(&mut self, limit: f64, prices: Prices, choices: &mut Vec<(f64, f64)>) {
        self.own.sort_by(|a, b| (a.1 * b.0).total_cmp(&(b.1 * a.0)));
        let mut corners = vec![(0.0, 0.0)];
        let (mut cells, mut bytes) = (0.0, 0.0);
        for &(more_cells, more_bytes) in &self.own {
            for stop in [limit - self.others, limit] {
                if cells < stop && stop < cells + more_cells {
                    corners.push((stop, bytes + more_bytes * (stop - cells) / more_cells));
                }
            }
            (cells, bytes) = (cells + more_cells, bytes + more_bytes);
            corners.push((cells, bytes));
        }
        for (cells, bytes) in corners.into_iter().filter(|corner| corner.0 <= limit) {
            choices.push((cells, bytes));
            let room = limit - cells;
            for taken in [room, self.others.min(room)] {
                choices.push((cells + taken, bytes + self.taking(taken, prices)));
            }
        }
    }

    /// `F`: bytes that `cells` of queries of others cost at least.
    fn taking(&self, cells: f64, prices: Prices) -> f64 {
        let (query, key) = (prices.query as f64, prices.key as f64);
        let fresh = |cells: f64| match cells < 1.0 {
            true => 0.0,
            false => ((2.0 * cells).sqrt() * (key * (2.0 * query + key)).sqrt() - key / 2.0).max(0.0),
        };
        let near = cells.min(self.others);
        let part = |&(reach, length): &(f64, f64)| {
            let end = (query * near / key.max(1e-9)).sqrt().clamp(reach, length);
            query * near / end + key * (end - reach)
        };
        self.parts.iter().map(part).map(|bytes| bytes + fresh(cells - near)).fold(fresh(cells), f64::min)
    }
}

/// The most that any price of work makes of the choices of all ranks. The sum is concave in the price; its slope is the work
/// that nobody chose.
fn best_price(total: f64, choices: &[(f64, f64)], ends: &[usize]) -> f64 {
    let at = |price: f64| {
        let (mut sum, mut slope, mut start) = (price * total, total, 0);
        for &end in ends {
            let value = |choice: &(f64, f64)| choice.1 - price * choice.0;
            let least = choices[start..end].iter().min_by(|a, b| value(a).total_cmp(&value(b)));
            if let Some(least) = least {
                sum += value(least);
                slope -= least.0;
            }
            start = end;
        }
        (sum, slope)
    };
    let (mut low, mut high) = (0.0, 1.0);
    while at(high).1 > 0.0 && high < 1e18 {
        (low, high) = (high, high * 4.0);
    }
    let mut best = at(low).0.max(0.0);
    for _ in 0..PRICE_STEPS {
        let middle = f64::midpoint(low, high);
        let (sum, slope) = at(middle);
        best = best.max(sum);
        match slope > 0.0 {
            true => low = middle,
            false => high = middle,
        }
    }
    best
}

/// Halvings of the interval of prices; each price gives a valid bound.
const PRICE_STEPS: u32 = 48;
