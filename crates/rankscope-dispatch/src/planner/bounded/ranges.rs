//! Which range of a piece to move.
//!
//! A range that ends at `b` and holds `A` cells starts at `sqrt(b^2 - 2A)`. Its queries cost `a` each and its context `k` a
//! token, so with `rho = 1 + k / a` the cheapest one ends at `b = sqrt(2A) rho / sqrt(rho^2 - 1)` and costs
//! `sqrt(2A) sqrt(k (2a + k))` (dispatch spec 7.C). Context that the receiver has already is free, and so is the context that
//! the giver then no longer needs; ranges that end there are tried as well.

use std::ops::RangeInclusive;

use super::piece::Piece;
use crate::cost::Work;
use crate::planner::Prices;

/// What moving a given amount of work costs, as far as it is known without looking at documents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ideal {
    /// Bytes per square root of work.
    bytes_per_root: f64,
    /// Where the cheapest range ends, per square root of work.
    end_per_root: f64,
}

impl Ideal {
    /// For work of which one unit stands for so many cells.
    pub(super) fn new(prices: Prices, cells_per_work: f64) -> Self {
        let (query, key) = (prices.query as f64, (prices.key as f64).max(1e-9));
        let rho = 1.0 + key / query.max(1e-9);
        let root = (2.0 * cells_per_work).sqrt();
        Self { bytes_per_root: root * (key * (2.0 * query + key)).sqrt(), end_per_root: root * rho / (rho * rho - 1.0).sqrt() }
    }

    /// Bytes to move `work` to a rank that has nothing of the document.
    pub(super) fn bytes(&self, work: u64) -> f64 {
        self.bytes_per_root * (work as f64).sqrt()
    }

    /// Bytes to move `work` to ranks that have nothing of the document and room for `room` each.
    pub(super) fn bytes_in_parts(&self, work: u64, room: u64) -> f64 {
        let room = room.max(1);
        (work / room) as f64 * self.bytes(room) + self.bytes(work % room)
    }

    fn end(&self, work: u64) -> f64 {
        self.end_per_root * (work as f64).sqrt()
    }
}

/// What ranges are measured in, and where they may begin and end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cuts<'a> {
    pub(super) work: &'a Work,
    /// Tokens of a block.
    pub(super) block: u32,
}

/// Calls `found` with ranges of `piece` that hold at least the lower amount of work, or as much as the upper one allows.
/// `reach` is how far the receiver's context goes already.
pub(super) fn ranges(
    piece: &Piece,
    reach: u32,
    cuts: Cuts,
    ideal: &Ideal,
    amounts: RangeInclusive<u64>,
    mut found: impl FnMut(u32, u32),
) {
    let wanted = *amounts.start().min(amounts.end());
    let ends = [
        piece.end,
        piece.cut_near(ideal.end(wanted), cuts.block),
        piece.cut_before(reach.max(piece.start), cuts.block),
        first_end(piece, cuts, wanted),
    ];
    for (index, &end) in ends.iter().enumerate() {
        if end > piece.start
            && !ends[..index].contains(&end)
            && let Some(start) = start_for(piece, cuts, end, &amounts)
        {
            found(start, end);
        }
    }
}

/// The latest start of a range up to `end` that holds the wanted work; where that is too much, the earliest that is not.
fn start_for(piece: &Piece, cuts: Cuts, end: u32, amounts: &RangeInclusive<u64>) -> Option<u32> {
    let Cuts { work, block } = cuts;
    let high = *amounts.end();
    let low = high.min(*amounts.start());
    if work.of(piece.start, end) <= low {
        return Some(piece.start);
    }
    let enough = piece.cut_before(last_start(piece, work, end, low), block);
    if work.of(enough, end) <= high {
        return Some(enough);
    }
    let fitting = piece.cut_from(last_start(piece, work, end, high.saturating_add(1)) + 1, block);
    (fitting < end).then_some(fitting)
}

/// The last start in the piece of a range up to `end` that holds `amount`, which the whole piece does.
fn last_start(piece: &Piece, work: &Work, end: u32, amount: u64) -> u32 {
    match work {
        Work::Cells => start_of_cells(end, amount).max(piece.start),
        Work::Time(_) => bisect(piece.start, end, |start| work.of(start, end) >= amount),
    }
}

/// The first end of a range from the start of the piece that holds the wanted work.
fn first_end(piece: &Piece, cuts: Cuts, wanted: u64) -> u32 {
    let Cuts { work, block } = cuts;
    match work {
        Work::Cells => {
            let start = f64::from(piece.start);
            piece.cut_near((start * start + 2.0 * wanted as f64).sqrt() + f64::from(block / 2), block)
        }
        Work::Time(_) => piece.cut_from(bisect(piece.start, piece.end, |end| work.of(piece.start, end) < wanted) + 1, block),
    }
}

/// The last position from which the queries up to `end` hold `cells` cells.
fn start_of_cells(end: u32, cells: u64) -> u32 {
    let triangle = |tokens: u64| tokens * (tokens + 1) / 2;
    let rest = triangle(u64::from(end)).saturating_sub(cells);
    let mut start = (((8.0 * rest as f64 + 1.0).sqrt() - 1.0) / 2.0) as u64;
    while triangle(start) > rest {
        start -= 1;
    }
    while triangle(start + 1) <= rest {
        start += 1;
    }
    start as u32
}

/// The last position in a range for which `holds`, which is true up to some position and false from there on.
fn bisect(mut low: u32, mut high: u32, holds: impl Fn(u32) -> bool) -> u32 {
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match holds(middle) {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}
