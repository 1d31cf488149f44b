//! The tiles of one document, by the rank that computes them, and what they cost.

use std::ops::Range;

use super::tile::{Corner, Tile, joined};
use crate::Shard;
use crate::cost::Work;
use crate::planner::bounded::Entry;
use crate::planner::{BLOCK_TOKENS, Prices};

/// What a token costs that crosses between ranks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Costs {
    pub(super) prices: Prices,
    /// The log-sum-exp beside every output that comes back, for rows of one tensor have one length.
    pub(super) lse_bytes: u64,
}

/// Where a document lies, and who computes which of its tiles.
#[derive(Clone)]
pub(super) struct Document {
    /// Runs of the linear layout and the rank each lies on.
    pub(super) runs: Vec<(Range<u32>, u32)>,
    /// Every rank that holds something of the document or computes something of it, with its tiles.
    pub(super) parts: Vec<(u32, Vec<Tile>)>,
}

impl Document {
    /// Every task with its whole context, as planned.
    pub(super) fn new(shards: &[Shard]) -> Self {
        let mut runs: Vec<(Range<u32>, u32)> = Vec::new();
        let mut parts: Vec<(u32, Vec<Tile>)> = Vec::new();
        let mut end = 0;
        for shard in shards.iter().filter(|shard| shard.tokens > 0) {
            let start = end;
            end += shard.tokens;
            match runs.last_mut() {
                Some(last) if last.1 == shard.linear.0 => last.0.end = end,
                _ => runs.push((start..end, shard.linear.0)),
            }
            part(&mut parts, shard.linear.0);
            part(&mut parts, shard.attention.0).push(Tile { q_start: start, q_end: end, k_start: 0, k_end: end });
        }
        for (_, tiles) in &mut parts {
            *tiles = joined(std::mem::take(tiles));
        }
        Self { runs, parts }
    }

    /// The last position at or before `position` where tiles may be cut: whole blocks from where a run begins.
    pub(super) fn cut_before(&self, position: u32) -> u32 {
        let run = self.runs.partition_point(|(run, _)| run.end <= position);
        self.runs.get(run).map_or(position, |(run, _)| position - (position - run.start) % BLOCK_TOKENS)
    }

    /// The work of `tiles`, cut into tasks.
    pub(super) fn work(&self, tiles: &[Tile], work: &Work) -> u64 {
        match work {
            // However they are cut.
            Work::Cells => tiles.iter().map(Tile::cells).sum(),
            Work::Time(_) => tiles
                .iter()
                .flat_map(|tile| self.cut(tile))
                .map(|task| work.of_part(&(task.q_start..task.q_end), &(task.k_start..task.k_end)))
                .fold(0, u64::saturating_add),
        }
    }

    /// A tile, cut where the home of its queries changes.
    pub(super) fn cut(&self, tile: &Tile) -> impl Iterator<Item = Tile> {
        let first = self.runs.partition_point(|(run, _)| run.end <= tile.q_start);
        let runs = self.runs[first..].iter().take_while(|(run, _)| run.start < tile.q_end);
        let cut = |query, later_queries| Corner { query, key: 0, later_queries, later_keys: true };
        runs.flat_map(move |(run, _)| tile.within(cut(run.start, true)).flat_map(move |part| part.within(cut(run.end, false))))
    }

    /// Bytes that cross between ranks because `rank` computes `tiles`.
    pub(super) fn bytes(&self, rank: u32, tiles: &[Tile], costs: Costs) -> u64 {
        let queries = self.away(rank, tiles.iter().map(|tile| tile.q_start..tile.q_end).collect());
        let keys = self.away(rank, tiles.iter().map(|tile| tile.k_start..tile.k_end).collect());
        queries * (costs.prices.query + costs.lse_bytes) + keys * costs.prices.key
    }

    /// Bytes that cross between ranks because of all tiles.
    pub(super) fn all_bytes(&self, costs: Costs) -> u64 {
        self.parts.iter().map(|(rank, tiles)| self.bytes(*rank, tiles, costs)).sum()
    }

    /// Enters what `rank` sends, receives and holds because it computes `tiles`; with `sign` -1, because it no longer does.
    pub(super) fn enter(&self, entry: &mut Entry, rank: u32, tiles: &[Tile], sign: i128) {
        self.homes(tiles.iter().map(|tile| tile.q_start..tile.q_end).collect(), |home, tokens| {
            entry.queries(home, rank, tokens, sign)
        });
        self.homes(tiles.iter().map(|tile| tile.k_start..tile.k_end).collect(), |home, tokens| {
            entry.keys(home, rank, tokens, sign)
        });
    }

    /// Tokens in any of `ranges` that do not lie on `rank`.
    fn away(&self, rank: u32, ranges: Vec<Range<u32>>) -> u64 {
        let mut away = 0;
        self.homes(ranges, |home, tokens| away += if home == rank { 0 } else { tokens });
        away
    }

    /// Calls `found` with the tokens in any of `ranges`, by where they lie.
    fn homes(&self, mut ranges: Vec<Range<u32>>, mut found: impl FnMut(u32, u64)) {
        ranges.sort_unstable_by_key(|range| range.start);
        let mut reached = 0;
        for range in ranges {
            let start = range.start.max(reached);
            let first = self.runs.partition_point(|(run, _)| run.end <= start);
            for (run, home) in self.runs[first..].iter().take_while(|(run, _)| run.start < range.end) {
                found(*home, u64::from(run.end.min(range.end).saturating_sub(run.start.max(start))));
            }
            reached = reached.max(range.end);
        }
    }
}

fn part(parts: &mut Vec<(u32, Vec<Tile>)>, rank: u32) -> &mut Vec<Tile> {
    let place = parts.iter().position(|part| part.0 == rank).unwrap_or_else(|| {
        parts.push((rank, Vec::new()));
        parts.len() - 1
    });
    &mut parts[place].1
}
