//! Looking for tiles that cost less: two ranks put together what they compute of a document, and divide it anew.
//!
//! One of them gets a corner, which is the queries before or after some query by the keys before or after some key, and the
//! other the rest. A corner that is as wide as the document divides by queries, as plans without splitting do; one that is as
//! high, by keys. A rectangle of `q` queries and `m` keys costs `a q + k m` bytes for `q m` cells, which is least for
//! `a q = k m` (`a` bytes of a query and its output, `k` of a key and a value); queries, outputs, keys and values that lie on the
//! rank are free, so cuts are tried there as well. Only what moves fewer bytes is kept, and only within the limits and the caps.

use super::document::{Costs, Document};
use super::tile::{Corner, Tile, inside, outside};
use crate::cost::Work;
use crate::planner::bounded::{Entry, Ledger};

/// What ranks have, and what they may.
#[derive(Clone)]
pub(super) struct Standing<'a> {
    pub(super) loads: Vec<u64>,
    pub(super) limits: &'a [u64],
    /// What both are in.
    pub(super) work: &'a Work,
    /// What they send, receive and hold of all documents, if that is capped.
    pub(super) ledger: Option<Ledger>,
}

impl Standing<'_> {
    /// The same with `after` in the place of a document, if that takes no rank further above a cap.
    pub(super) fn replaced(&self, before: &Document, after: &Document) -> Option<Self> {
        let mut replaced = self.clone();
        for (document, sign) in [(before, -1), (after, 1)] {
            for (rank, tiles) in &document.parts {
                let (load, work) = (&mut replaced.loads[*rank as usize], document.work(tiles, self.work));
                *load = if sign < 0 { load.saturating_sub(work) } else { load.saturating_add(work) };
            }
        }
        if let Some(ledger) = &mut replaced.ledger {
            let mut entry = ledger.entry();
            for (document, sign) in [(before, -1), (after, 1)] {
                document.parts.iter().for_each(|(rank, tiles)| document.enter(&mut entry, *rank, tiles, sign));
            }
            if !ledger.allows(&entry) {
                return None;
            }
            ledger.enter(&entry);
        }
        Some(replaced)
    }
}

/// Improves one document until nothing is found any more.
pub(super) fn improve(document: &mut Document, standing: &mut Standing<'_>, costs: Costs) {
    let mut changed: Vec<bool> = vec![true; document.parts.len()];
    for _ in 0..ROUNDS {
        let before = std::mem::replace(&mut changed, vec![false; document.parts.len()]);
        for first in 0..document.parts.len() {
            for second in first + 1..document.parts.len().min(first + 1 + PARTNERS) {
                if !(before[first] || before[second] || changed[first] || changed[second]) {
                    continue;
                }
                if let Some(division) = best(document, [first, second], standing, costs) {
                    if let Some(ledger) = &mut standing.ledger {
                        let entry = divided(ledger, document, [first, second], [&division[0], &division[1]]);
                        ledger.enter(&entry);
                    }
                    for (place, tiles) in [first, second].into_iter().zip(division) {
                        let (rank, before) = &document.parts[place];
                        let (before, after) = (document.work(before, standing.work), document.work(&tiles, standing.work));
                        let load = &mut standing.loads[*rank as usize];
                        *load = load.saturating_add(after).saturating_sub(before);
                        document.parts[place].1 = tiles;
                        changed[place] = true;
                    }
                }
            }
        }
        if !changed.contains(&true) {
            return;
        }
    }
}

/// The cheapest division between two ranks, if it is cheaper than the one there is.
fn best(document: &Document, pair: [usize; 2], standing: &Standing<'_>, costs: Costs) -> Option<[Vec<Tile>; 2]> {
    let Standing { loads, limits, work, ledger } = standing;
    let parts = pair.map(|place| &document.parts[place]);
    let bytes = |rank: usize, tiles: &[Tile]| document.bytes(parts[rank].0, tiles, costs);
    let mut least = bytes(0, &parts[0].1) + bytes(1, &parts[1].1);
    let pool: Vec<Tile> = parts.iter().flat_map(|part| &part.1).copied().collect();
    if least == 0 || pool.is_empty() {
        return None;
    }
    // What each may have of this document, beside what it has of others.
    let rooms = parts.map(|part| {
        let rank = part.0 as usize;
        limits[rank].saturating_add(document.work(&part.1, work)).saturating_sub(loads[rank])
    });
    let mut found = None;
    for taker in 0..2 {
        let share = Share {
            document,
            work,
            pool: &pool,
            total: document.work(&pool, work),
            taken: rooms[taker],
            left: rooms[1 - taker],
        };
        share.corners(parts[taker].0, costs, |corner| {
            let taken = inside(&pool, corner);
            let cost = bytes(taker, &taken);
            if cost >= least {
                return;
            }
            let rest = outside(&pool, corner);
            let cost = cost + bytes(1 - taker, &rest);
            let allowed =
                |ledger: &Ledger| ledger.allows(&divided(ledger, document, [pair[taker], pair[1 - taker]], [&taken, &rest]));
            if cost < least && ledger.as_ref().is_none_or(allowed) {
                least = cost;
                found = Some(if taker == 0 { [taken, rest] } else { [rest, taken] });
            }
        });
    }
    found
}

/// What changes when two ranks have these tiles in the place of their own.
fn divided(ledger: &Ledger, document: &Document, pair: [usize; 2], tiles: [&[Tile]; 2]) -> Entry {
    let mut entry = ledger.entry();
    for (place, tiles) in pair.into_iter().zip(tiles) {
        let (rank, before) = &document.parts[place];
        document.enter(&mut entry, *rank, before, -1);
        document.enter(&mut entry, *rank, tiles, 1);
    }
    entry
}

/// What two ranks have of a document together, one of which takes a corner of it.
struct Share<'a> {
    document: &'a Document,
    work: &'a Work,
    pool: &'a [Tile],
    /// The work of all of it, by one rank.
    total: u64,
    /// The most that the one may take.
    taken: u64,
    /// The most that may be left to the other.
    left: u64,
}

impl Share<'_> {
    /// The work in `corner`.
    fn held(&self, corner: Corner) -> u64 {
        match self.work {
            Work::Cells => self.pool.iter().flat_map(|tile| tile.within(corner)).map(|tile| tile.cells()).sum(),
            Work::Time(_) => self.document.work(&inside(self.pool, corner), self.work),
        }
    }

    /// The work outside of `corner`.
    fn rest(&self, corner: Corner) -> u64 {
        match self.work {
            Work::Cells => self.total - self.held(corner),
            Work::Time(_) => self.document.work(&outside(self.pool, corner), self.work),
        }
    }

    fn fits(&self, corner: Corner) -> bool {
        self.held(corner) <= self.taken && self.rest(corner) <= self.left
    }

    /// Score cells that the one has to take at least, about.
    fn least_cells(&self) -> u64 {
        let (all, over) = (cells(self.pool), self.total.saturating_sub(self.left));
        (u128::from(all) * u128::from(over) / u128::from(self.total.max(1))) as u64
    }

    /// Calls `found` with corners that leave both ranks within what they may have.
    fn corners(&self, taker: u32, costs: Costs, mut found: impl FnMut(Corner)) {
        let Self { document, pool, .. } = *self;
        let start = pool.iter().map(|tile| tile.q_start).min().unwrap_or(0);
        let end = pool.iter().map(|tile| tile.q_end).max().unwrap_or(0);
        let ideal = ideal_queries(self.least_cells(), costs).min(f64::from(end - start)) as u32;
        let mut queries: Vec<u32> = pool.iter().flat_map(|tile| [tile.q_start, tile.q_end]).collect();
        queries.extend((1..FRACTIONS).map(|part| start + (u64::from(end - start) * part / FRACTIONS) as u32));
        queries.extend([start + ideal, end - ideal]);
        let mut queries: Vec<u32> = queries.into_iter().map(|query| document.cut_before(query)).collect();
        queries.sort_unstable();
        queries.dedup();
        let residents = || document.runs.iter().filter(|run| run.1 == taker).flat_map(|run| [run.0.start, run.0.end]);
        for query in queries {
            for (later_queries, later_keys) in [(true, false), (true, true), (false, false), (false, true)] {
                let at = |key| Corner { query, key, later_queries, later_keys };
                let (held, rest) = (|key: u32| self.held(at(key)), |key: u32| self.rest(at(key)));
                if rest(if later_keys { 0 } else { end }) > self.left {
                    continue;
                }
                // What the corner holds falls with the key, or rises, and what is left does the other.
                let enough = |key: u32| if later_keys { held(key) <= self.taken } else { rest(key) <= self.left };
                let first = first_cut(end, enough);
                let much = |key: u32| if later_keys { rest(key) > self.left } else { held(key) > self.taken };
                let (low, high) = (cut_from(document, first), document.cut_before(first_cut(end + 1, much).saturating_sub(1)));
                if low > high {
                    continue;
                }
                let mut keys = vec![low, high];
                keys.extend(residents().filter(|key| (low..=high).contains(key)));
                keys.sort_unstable();
                keys.dedup();
                // Measured times need not rise and fall quite like that.
                keys.into_iter().map(at).filter(|corner| self.fits(*corner)).for_each(&mut found);
            }
        }
    }
}

/// Queries of the cheapest rectangle of so many cells.
fn ideal_queries(cells: u64, costs: Costs) -> f64 {
    let row = (costs.prices.query + costs.lse_bytes).max(1);
    (cells as f64 * costs.prices.key as f64 / row as f64).sqrt()
}

fn cells(tiles: &[Tile]) -> u64 {
    tiles.iter().map(Tile::cells).sum()
}

/// The first position up to `end` for which `holds`, which is false up to some position and true from there on.
pub(super) fn first_cut(end: u32, holds: impl Fn(u32) -> bool) -> u32 {
    let (mut low, mut high) = (0, end);
    while low < high {
        let middle = low + (high - low) / 2;
        match holds(middle) {
            true => high = middle,
            false => low = middle + 1,
        }
    }
    low
}

/// The first cut at or after `position`.
pub(super) fn cut_from(document: &Document, position: u32) -> u32 {
    let before = document.cut_before(position);
    match before == position {
        true => position,
        false => document.cut_before(before.saturating_add(crate::planner::BLOCK_TOKENS)).max(position),
    }
}

/// How often every pair is looked at.
const ROUNDS: usize = 3;
/// Ranks that each is paired with.
const PARTNERS: usize = 8;
/// Queries at which documents are cut, beside those where something begins or ends.
const FRACTIONS: u64 = 8;
