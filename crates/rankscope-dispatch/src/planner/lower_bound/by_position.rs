//! The bound with prices for queries by their position: the later, the more.
//!
//! # The bound
//!
//! Let the query at position `x` of its document, which has `x` cells, be paid for with `u(x) = m x + n x^2`. A plan computes
//! each query once, so whatever `m` and `n` are,
//!
//! ```text
//! bytes  =  sum over queries of u  +  sum over ranks of (bytes of the rank - u of its queries)
//!       >=  sum over queries of u  +  sum over ranks of V,     V the least that any choice of queries within the limit makes it
//! ```
//!
//! Where one document lies on many ranks, `n` decides: a rank full of work `w` that ends at `b` fetches `k b` of context, and
//! `n = k / w` pays it just that. A price for work alone pays as much for early queries, which need little context, and every
//! rank would rather compute those.
//!
//! # One rank alone
//!
//! Let the limit `c` of a rank be paid for as well, with `m - l` for each cell, so that its queries bring `l x + n x^2`. Then
//! `V >= -(m - l) c + sum over documents of phi(l)` with, for a document,
//!
//! ```text
//! phi(l)  =  min over b of  k lacking(b) - P(b),    P(b) = the most that queries up to b within c cells bring, less a for each
//!                                                   that the rank does not hold
//! ```
//!
//! - `P`: among queries up to `b` with so many cells together, the last ones bring most and are fewest. So `P(b)` is at most what
//!   a range that ends at `b` brings, with only as many of its queries to be fetched as it has more than the rank holds up to
//!   `b`. How early the best range starts is one of three places.
//! - `phi`: both `lacking` and `P` rise with `b`. So `k lacking(b1) - P(b2)` is below all from `b1` to `b2`, and a grid of
//!   positions gives a bound of the least.
//! - Documents of which the rank holds nothing bring something only if `l` is above some value; `l` is kept below it.
//!
//! Every choice of `m`, `n` and one `l` for each rank gives a valid bound; the best of a grid of them is taken.

use crate::planner::Prices;
use crate::{Batch, Shard};

/// The bound; there is one limit for each rank. Nothing for batches of so many pieces that it would take long.
pub(super) fn bound(layout: &Batch, prices: Prices, limits: &[u64]) -> u64 {
    let holdings: Vec<Holding> = layout.documents().flat_map(holdings).collect();
    let steps: usize = holdings.iter().map(|holding| holding.stops.len()).sum();
    if prices.key == 0 || steps > MOST_STEPS {
        return 0;
    }
    let lengths = || layout.documents().map(|document| document.iter().map(|shard| f64::from(shard.tokens)).sum::<f64>());
    let all = Sums { cells: lengths().map(triangle).sum(), squares: lengths().map(squares).sum() };
    let longest = lengths().fold(0.0, f64::max);
    let widest = limits.iter().copied().max().unwrap_or(0) as f64;
    let asked = Asked { prices, holdings: &holdings, limits, all, fresh: Fresh::new(prices, longest, widest) };
    let most = asked.fresh.most(|square| Pay { cell: 0.0, square });
    let best = PARTS.iter().map(|part| asked.best(most * part)).fold(0.0, f64::max);
    best.ceil() as u64
}

/// Cells and squares of positions, each summed over queries.
#[derive(Clone, Copy)]
struct Sums {
    cells: f64,
    squares: f64,
}

/// What a query brings: so much for each cell, and for each square of its position.
#[derive(Clone, Copy)]
struct Pay {
    cell: f64,
    square: f64,
}

impl Pay {
    /// For all queries up to `end`, also between whole positions: as a function of cells convex, so never less for a range that
    /// ends on one than what part of a query would bring.
    fn up_to(self, end: f64) -> f64 {
        self.cell * triangle(end) + self.square * squares(end)
    }

    /// The most that queries up to `end` bring within `limit` cells, if `held` of them are free and others cost `query` each.
    fn most(self, end: f64, held: f64, limit: f64, query: f64) -> f64 {
        let fullest = root(triangle(end) - limit);
        // Where one more query brings just what it costs: cell (s + 1/2) + square (s^2 + s + 1/6) = query.
        let (a, b, c) = (self.square, self.cell + self.square, self.cell / 2.0 + self.square / 6.0 - query);
        let paid = match c < 0.0 {
            true => 2.0 * -c / (b + (b * b - 4.0 * a * c).sqrt()).max(f64::MIN_POSITIVE),
            false => 0.0,
        };
        let start = fullest.max(paid.min(end - held)).clamp(0.0, end);
        self.up_to(end) - self.up_to(start) - query * (end - start - held).max(0.0)
    }
}

/// A document of which a rank holds nothing.
struct Fresh {
    prices: Prices,
    longest: f64,
    limit: f64,
}

impl Fresh {
    fn new(prices: Prices, longest: f64, limit: f64) -> Self {
        Self { prices, longest, limit }
    }

    /// The highest figure found for which the pay brings nobody anything.
    fn most(&self, pay: impl Fn(f64) -> Pay) -> f64 {
        // One query and its context cost no more than this, and a query has at least one cell.
        let mut high = self.prices.key as f64 + self.prices.query as f64;
        let mut low = high;
        for _ in 0..DOUBLINGS {
            if self.is_idle(pay(low)) {
                break;
            }
            (low, high) = (low / 2.0, low);
        }
        if !self.is_idle(pay(low)) {
            return 0.0;
        }
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            match self.is_idle(pay(middle)) {
                true => low = middle,
                false => high = middle,
            }
        }
        low
    }

    /// Whether no choice of queries brings more than it costs.
    fn is_idle(&self, pay: Pay) -> bool {
        let (query, key) = (self.prices.query as f64, self.prices.key as f64);
        // Queries up to here bring less than they cost alone.
        let root = (pay.cell * pay.cell + 4.0 * pay.square * query).sqrt();
        let mut before = (2.0 * query / (pay.cell + root) * (1.0 - 1e-9)).floor() - 1.0;
        before = before.clamp(0.0, self.longest);
        while before < self.longest {
            let end = (before * FRESH_STEP).floor().max(before + 1.0).min(self.longest);
            // To compute anything up to `end` takes what comes before, and at least one token.
            if key * (before + 1.0).min(end) < pay.most(end, 0.0, self.limit, query) {
                return false;
            }
            before = end;
        }
        true
    }
}

/// What one rank holds of one document.
struct Holding {
    rank: u32,
    /// Positions, from the start to the end of the document, with the tokens up to each that the rank holds.
    stops: Vec<(f64, f64)>,
}

impl Holding {
    /// `phi`: the least that the document can make of the rank's costs, less what it brings.
    fn least(&self, pay: Pay, limit: f64, prices: Prices) -> f64 {
        let mut least = 0.0_f64;
        for pair in self.stops.windows(2) {
            let [(start, held_before), (end, held)] = [pair[0], pair[1]];
            least = least.min(prices.key as f64 * (start - held_before) - pay.most(end, held, limit, prices.query as f64));
        }
        least
    }
}

/// The ranks that hold something of a document.
fn holdings(document: &[Shard]) -> Vec<Holding> {
    let length: f64 = document.iter().map(|shard| f64::from(shard.tokens)).sum();
    let mut runs: Vec<(u32, f64, f64)> = Vec::with_capacity(document.len());
    let mut end = 0.0;
    for shard in document.iter().filter(|shard| shard.tokens > 0) {
        let start = end;
        end += f64::from(shard.tokens);
        runs.push((shard.linear.0, start, end));
    }
    runs.sort_by_key(|run| run.0);
    let owns = runs.chunk_by(|a, b| a.0 == b.0);
    owns.map(|own| {
        let mut stops = vec![(0.0, 0.0)];
        let mut held = 0.0;
        for &(_, start, end) in own {
            stretch(&mut stops, start, held, length);
            held += end - start;
            stops.push((end, held));
        }
        stretch(&mut stops, length, held, length);
        Holding { rank: own[0].0, stops }
    })
    .collect()
}

/// Stops up to `end` of a stretch that the rank does not hold.
fn stretch(stops: &mut Vec<(f64, f64)>, end: f64, held: f64, length: f64) {
    let start = stops.last().map_or(0.0, |stop| stop.0);
    let parts = ((end - start) / length * STOPS).ceil();
    let mut part = 1.0;
    while part <= parts {
        let stop = if part == parts { end } else { (start + (end - start) * part / parts).floor() };
        stops.push((stop, held));
        part += 1.0;
    }
}

/// What every rank is asked.
struct Asked<'a> {
    prices: Prices,
    holdings: &'a [Holding],
    limits: &'a [u64],
    all: Sums,
    fresh: Fresh,
}

impl Asked<'_> {
    /// The best bound that was found with this pay for squares.
    fn best(&self, square: f64) -> f64 {
        let most = self.fresh.most(|cell| Pay { cell, square });
        let mut best = 0.0_f64;
        // What each rank makes of the prices for work so far.
        let mut values = vec![f64::NEG_INFINITY; self.limits.len()];
        let mut before = 0.0;
        for step in 0..=WORK_STEPS {
            let cell = most * f64::from(step) / f64::from(WORK_STEPS);
            let pay = Pay { cell, square };
            let mut sums = vec![0.0; self.limits.len()];
            for holding in self.holdings {
                let limit = self.limits[holding.rank as usize] as f64;
                sums[holding.rank as usize] += holding.least(pay, limit, self.prices);
            }
            let mut total = pay.cell * self.all.cells + pay.square * self.all.squares;
            // What sums of floats may have added.
            total -= total * PRECISION;
            for ((value, sum), &limit) in values.iter_mut().zip(sums).zip(self.limits) {
                *value = (*value - (cell - before) * limit as f64).max(sum);
                total += *value;
            }
            before = cell;
            best = best.max(total - 1.0);
        }
        best
    }
}

/// Cells of the first `tokens` queries.
fn triangle(tokens: f64) -> f64 {
    tokens * (tokens + 1.0) / 2.0
}

/// Squares of the first `tokens` positions.
fn squares(tokens: f64) -> f64 {
    tokens * (tokens + 1.0) * (2.0 * tokens + 1.0) / 6.0
}

/// Where the first queries hold so many cells, and a little before, so that rounding takes nothing away.
fn root(cells: f64) -> f64 {
    if cells <= 0.0 { 0.0 } else { ((8.0 * cells + 1.0).sqrt() - 1.0) / 2.0 * (1.0 - 1e-14) }
}

/// Parts of the highest pay for squares that are tried. None, and a price for work is all there is.
const PARTS: [f64; 4] = [1.0, 0.6, 0.25, 0.0];
/// Prices for work that are tried with each.
const WORK_STEPS: u32 = 6;
/// Stretches into which the positions of a document are cut.
const STOPS: f64 = 48.0;
/// From one position to the next where a rank holds nothing.
const FRESH_STEP: f64 = 1.0 + 1.0 / 64.0;
/// Of a search for a figure that may be very small, and then within a factor of two.
const DOUBLINGS: u32 = 90;
const HALVINGS: u32 = 6;
/// Stops of all ranks; more take longer than half a second.
const MOST_STEPS: usize = 400_000;
/// Of sums of some million figures.
const PRECISION: f64 = 1e-9;
