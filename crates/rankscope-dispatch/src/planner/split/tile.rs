//! A range of queries by a range of keys, as far as it lies on or before the diagonal.

/// Queries `q_start..q_end` of a document, attending to the keys `k_start..k_end`. Either all keys come before all queries, or
/// the keys end with the queries and each query attends to those up to itself: the two shapes that attention kernels know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Tile {
    pub(super) q_start: u32,
    pub(super) q_end: u32,
    pub(super) k_start: u32,
    pub(super) k_end: u32,
}

impl Tile {
    /// Score cells.
    pub(super) fn cells(&self) -> u64 {
        let (queries, keys) = (u64::from(self.q_end - self.q_start), u64::from(self.k_end - self.k_start));
        match self.k_end <= self.q_start {
            true => queries * keys,
            false => crate::causal_cells(queries, keys),
        }
    }

    /// What of the tile lies in `corner`: at most a rectangle and a part that ends on the diagonal.
    pub(super) fn within(&self, corner: Corner) -> impl Iterator<Item = Self> + use<> {
        let Self { mut q_start, mut q_end, mut k_start, mut k_end } = *self;
        match corner.later_queries {
            true => q_start = q_start.max(corner.query),
            false => q_end = q_end.min(corner.query),
        }
        match corner.later_keys {
            true => k_start = k_start.max(corner.key),
            false => k_end = k_end.min(corner.key),
        }
        // Queries before all keys see none of them; keys after all queries are seen by none.
        (q_start, k_end) = (q_start.max(k_start), k_end.min(q_end));
        let middle = if k_end > q_start { k_end } else { q_start };
        let parts = [Self { q_start, q_end: middle, k_start, k_end }, Self { q_start: middle, q_end, k_start, k_end }];
        parts.into_iter().filter(|part| part.q_start < part.q_end && part.k_start < part.k_end)
    }

    /// Both as one tile, if together they are one. `self` comes first.
    fn joined(&self, next: &Self) -> Option<Self> {
        if (self.q_start, self.q_end, self.k_end) == (next.q_start, next.q_end, next.k_start) {
            return Some(Self { k_end: next.k_end, ..*self });
        }
        let stacked = (self.q_end, self.k_start) == (next.q_start, next.k_start);
        let alike = self.k_end == next.k_end && self.k_end <= self.q_start;
        let diagonal = self.k_end == self.q_end && next.k_end == next.q_end;
        (stacked && (alike || diagonal)).then_some(Self { q_end: next.q_end, k_end: next.k_end, ..*self })
    }
}

/// One of the four parts into which a query and a key cut a document.
#[derive(Clone, Copy, Debug)]
pub(super) struct Corner {
    pub(super) query: u32,
    pub(super) key: u32,
    pub(super) later_queries: bool,
    pub(super) later_keys: bool,
}

impl Corner {
    /// The other three parts, as two that do not overlap.
    fn rest(self) -> [Self; 2] {
        // All keys of the other queries, and the other keys of these.
        let others = Self { later_queries: !self.later_queries, key: 0, later_keys: true, ..self };
        [others, Self { later_keys: !self.later_keys, ..self }]
    }
}

/// The tiles of `pool` in `corner`.
pub(super) fn inside(pool: &[Tile], corner: Corner) -> Vec<Tile> {
    joined(pool.iter().flat_map(|tile| tile.within(corner)).collect())
}

/// The tiles of `pool` that are not in `corner`.
pub(super) fn outside(pool: &[Tile], corner: Corner) -> Vec<Tile> {
    joined(pool.iter().flat_map(|tile| corner.rest().into_iter().flat_map(|part| tile.within(part))).collect())
}

/// The same cells in fewer tiles.
pub(super) fn joined(mut tiles: Vec<Tile>) -> Vec<Tile> {
    tiles.sort_unstable();
    let mut at = 0;
    while at < tiles.len() {
        let found = (0..tiles.len()).find_map(|next| (next != at).then(|| Some((next, tiles[at].joined(&tiles[next])?)))?);
        match found {
            Some((next, tile)) => {
                tiles[at] = tile;
                tiles.remove(next);
                at = 0;
            }
            None => at += 1,
        }
    }
    tiles
}
