//! Another place to begin: a document in bands of queries, each of which some ranks share by its keys.
//!
//! A rectangle of `q` queries and `m` keys has the fewest bytes for its cells where `a q = k m`. A document is tiled with almost nothing
//! else if it is cut into bands of queries, and each band by keys into as many pieces as make them so: early queries have short contexts
//! and one rank a band, late ones more and more. How many ranks share which band is found by going through all ways, as a shortest path
//! from the start of the document to its end. Which rank gets which piece is settled by exchanging pieces as long as that saves bytes,
//! for queries, keys and values that lie on a rank are free to it.
//!
//! Ranks get as much of the document as they have room for, in proportion. Where a piece comes out larger than the room of its rank,
//! there is no such beginning.

use std::ops::Range;

use super::document::{Costs, Document};
use super::search::{Standing, cut_from, first_cut};
use super::tile::{Corner, Tile, inside};
use crate::causal_cells;

/// What the ranks of a document would compute of it. Those that share a band are neighbours.
pub(super) fn begin(document: &Document, standing: &Standing<'_>, costs: Costs) -> Option<Vec<(u32, Vec<Tile>)>> {
    let ranks = with_room(document, standing)?;
    let (cells, starts) = shares(document, &ranks);
    let mut pieces = Vec::with_capacity(ranks.len());
    for band in bands(&starts, costs) {
        pieces.extend(shared(document, starts[band.start]..starts[band.end], &cells[band]));
    }
    let works: Vec<u64> = pieces.iter().map(|tiles| document.work(tiles, standing.work)).collect();
    let rooms: Vec<u64> = ranks.iter().map(|rank| rank.1).collect();
    let bytes = pieces.iter().map(|tiles| ranks.iter().map(|rank| document.bytes(rank.0, tiles, costs)).collect()).collect();
    let takers = assigned(&works, &rooms, bytes)?;
    let mut parts: Vec<(u32, Vec<Tile>)> = takers.into_iter().map(|taker| ranks[taker].0).zip(pieces).collect();
    let idle = document.parts.iter().filter(|part| ranks.iter().all(|rank| rank.0 != part.0));
    parts.extend(idle.map(|part| (part.0, Vec::new())));
    Some(parts)
}

/// Ranks of the document and the most work of it that each may have, in the order in which their tokens end.
fn with_room(document: &Document, standing: &Standing<'_>) -> Option<Vec<(u32, u64)>> {
    let mut ranks: Vec<(u32, u64)> = Vec::with_capacity(document.parts.len());
    for (rank, tiles) in &document.parts {
        let (at, own) = (*rank as usize, document.work(tiles, standing.work));
        let room = standing.limits[at].saturating_add(own).saturating_sub(standing.loads[at]);
        ranks.extend((room > 0).then_some((*rank, room)));
    }
    let ends = |rank: u32| document.runs.iter().rev().find(|run| run.1 == rank).map_or(u32::MAX, |(run, _)| run.end);
    ranks.sort_by_cached_key(|&(rank, _)| (ends(rank), rank));
    (FEWEST..=MOST).contains(&ranks.len()).then_some(ranks)
}

/// Score cells for each rank, and where the queries of each would begin if it had them with all of their keys; and the end.
fn shares(document: &Document, ranks: &[(u32, u64)]) -> (Vec<u64>, Vec<u32>) {
    let end = document.runs.last().map_or(0, |(run, _)| run.end);
    let total = u128::from(causal_cells(end.into(), end.into()));
    let rooms: u128 = ranks.iter().map(|rank| u128::from(rank.1)).sum();
    let (mut cells, mut starts) = (Vec::with_capacity(ranks.len()), vec![0]);
    let (mut before, mut reached) = (0, 0);
    for &(_, room) in ranks {
        before += u128::from(room);
        let next = (total * before / rooms) as u64;
        cells.push(next - reached);
        let start = nearest(document, end, |query| causal_cells(query.into(), query.into()) >= next);
        // Runs shorter than a block have cuts of their own.
        starts.push(start.max(starts[starts.len() - 1]));
        reached = next;
    }
    (cells, starts)
}

/// Which ranks share which band: the way with the fewest bytes, as if nothing lay anywhere.
fn bands(starts: &[u32], costs: Costs) -> Vec<Range<usize>> {
    let (query, key) = (costs.prices.query + costs.lse_bytes, costs.prices.key);
    let ranks = starts.len() - 1;
    let mut least: Vec<(u64, usize)> = vec![(0, 0)];
    for last in 1..=ranks {
        let bytes = |first: usize| {
            let (queries, keys) = (u64::from(starts[last] - starts[first]), u64::from(starts[last]));
            let band =
                query.saturating_mul(queries).saturating_mul((last - first) as u64).saturating_add(key.saturating_mul(keys));
            (least[first].0.saturating_add(band), first)
        };
        let best = (last.saturating_sub(MOST_SHARING)..last).map(bytes).min();
        least.push(best.unwrap_or((u64::MAX, last - 1)));
    }
    let mut bands = Vec::new();
    let mut last = ranks;
    while last > 0 {
        bands.push(least[last].1..last);
        last = least[last].1;
    }
    bands.reverse();
    bands
}

/// A band, cut by keys into pieces in proportion to `cells`.
fn shared(document: &Document, queries: Range<u32>, cells: &[u64]) -> Vec<Vec<Tile>> {
    let end = queries.end;
    let band = [Tile { q_start: queries.start, q_end: end, k_start: 0, k_end: end }];
    if queries.is_empty() {
        return vec![Vec::new(); cells.len()];
    }
    let at = |key: u32, later_keys: bool| Corner { query: 0, key, later_queries: true, later_keys };
    let held = |key: u32| inside(&band, at(key, false)).iter().map(Tile::cells).sum::<u64>();
    let (all, of_all) = (u128::from(band[0].cells()), cells.iter().map(|&cells| u128::from(cells)).sum::<u128>().max(1));
    let (mut pieces, mut start, mut before) = (Vec::with_capacity(cells.len()), 0, 0);
    for (place, &own) in cells.iter().enumerate() {
        before += u128::from(own);
        let wanted = (all * before / of_all) as u64;
        let cut = if place + 1 == cells.len() { end } else { nearest(document, end, |key| held(key) >= wanted).max(start) };
        pieces.push(inside(&inside(&band, at(start, true)), at(cut, false)));
        start = cut;
    }
    pieces
}

/// Which rank takes each piece, each one of them, if all have room; `bytes` by piece and rank.
fn assigned(works: &[u64], rooms: &[u64], bytes: Vec<Vec<u64>>) -> Option<Vec<usize>> {
    let mut takers: Vec<usize> = (0..works.len()).collect();
    if works.iter().zip(rooms).any(|(work, room)| work > room) {
        return None;
    }
    for _ in 0..EXCHANGES {
        let before = takers.clone();
        for first in 0..takers.len() {
            for second in first + 1..takers.len() {
                let (a, b) = (takers[first], takers[second]);
                let saves = bytes[first][b] + bytes[second][a] < bytes[first][a] + bytes[second][b];
                if saves && works[first] <= rooms[b] && works[second] <= rooms[a] {
                    takers.swap(first, second);
                }
            }
        }
        if takers == before {
            break;
        }
    }
    Some(takers)
}

/// The cut nearest to the first position up to `end` from which on `enough` holds.
fn nearest(document: &Document, end: u32, enough: impl Fn(u32) -> bool) -> u32 {
    let position = first_cut(end, enough);
    let (before, after) = (document.cut_before(position), cut_from(document, position).min(end));
    if position - before <= after - position { before } else { after }
}

/// Two ranks divide a document as the search does.
const FEWEST: usize = 3;
/// What every rank would pay for every piece is worked out; of more that takes minutes.
const MOST: usize = 512;
/// Ranks of one band.
const MOST_SHARING: usize = 256;
/// How often all pairs of pieces are looked at.
const EXCHANGES: usize = 4;
