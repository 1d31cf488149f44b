//! The original's older planner, to compare with (dispatch spec 2.10): the largest document of the busiest rank is taken out,
//! the ranks are filled up with it like vessels with water, and each gets its part as a head and a tail, its own rank the
//! outermost. One document per call.

use rankscope_time::Rank;

use super::pieces::{Piece, assemble};
use super::placement::place_on_ranks;
use crate::{Batch, Error, causal_cells};

/// Plans documents that lie whole on ranks, one list of lengths per rank, as the original does.
///
/// # Errors
/// [`Error::NoRanks`]; [`Error::Overflow`].
pub fn equal_flops(lengths: &[Vec<u32>]) -> Result<Batch, Error> {
    let layout = place_on_ranks(lengths)?;
    let loads = layout.cells()?;
    let Some(busiest) = (0..loads.len()).rev().max_by_key(|&rank| loads[rank]) else { return Ok(layout) };
    let Some(place) = (0..lengths[busiest].len()).rev().max_by_key(|&place| lengths[busiest][place]) else { return Ok(layout) };
    let document = lengths[..busiest].iter().map(Vec::len).sum::<usize>() + place;
    let (parts, home) = (parts(loads, busiest, lengths[busiest][place]), Rank(busiest as u32));

    let mut pieces = Vec::new();
    for (index, shards) in layout.documents().enumerate() {
        if index != document {
            pieces.extend(shards.iter().map(|shard| Piece {
                document: index,
                start: 0,
                end: shard.tokens,
                home: shard.linear,
                at: shard.linear,
            }));
        }
    }
    let (mut start, mut end) = (0, lengths[busiest][place]);
    for (index, &(at, tokens)) in parts.iter().enumerate() {
        // What rounding left over goes to the tail of the innermost.
        let tail_start = if index + 1 == parts.len() { start + tokens } else { end - tokens };
        for (start, end) in [(start, start + tokens), (tail_start, end)] {
            if start < end {
                pieces.push(Piece { document, start, end, home, at });
            }
        }
        (start, end) = (start + tokens, tail_start);
    }
    assemble(&layout, pieces)
}

/// How many tokens of head, and as many of tail, each rank takes of a document of `length` tokens: its own rank first, which
/// gets the outermost, then the others in order.
fn parts(mut loads: Vec<u64>, busiest: usize, length: u32) -> Vec<(Rank, u32)> {
    let cells = causal_cells(u64::from(length), u64::from(length));
    loads[busiest] -= cells;
    let level = level(&loads, cells);
    let pair_cells = u64::from(length) + 1;
    let mut left = length / 2;
    let others = (0..loads.len()).filter(|&rank| rank != busiest);
    let mut parts = Vec::new();
    for rank in std::iter::once(busiest).chain(others) {
        let tokens = u32::try_from(level.saturating_sub(loads[rank]) / pair_cells).unwrap_or(left).min(left);
        left -= tokens;
        if tokens > 0 {
            parts.push((Rank(rank as u32), tokens));
        }
    }
    if parts.is_empty() {
        parts.push((Rank(busiest as u32), length / 2));
    }
    parts
}

/// What the lightest ranks reach when `cells` fill them up evenly; a broken cell counts as a whole one, as in the original.
fn level(loads: &[u64], mut cells: u64) -> u64 {
    let mut sorted = loads.to_vec();
    sorted.sort_unstable();
    for (filled, pair) in (1_u64..).zip(sorted.windows(2)) {
        match cells.checked_sub((pair[1] - pair[0]).saturating_mul(filled)) {
            Some(rest) => cells = rest,
            None => return pair[0] + cells.div_ceil(filled),
        }
    }
    sorted.last().map_or(cells, |&heaviest| heaviest.saturating_add(cells.div_ceil(sorted.len() as u64)))
}
