//! A piece of a document, and where it may be cut: after whole blocks of a run of the layout, and never so that less than half
//! a block of the run is left.

/// A run of tokens of one document that lies on one rank and is computed on one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) start: u32,
    pub(super) end: u32,
    /// Where the run of the linear layout begins and ends that this was cut from; cuts are whole blocks from the beginning.
    pub(super) origin: u32,
    pub(super) run_end: u32,
    pub(super) home: u32,
    pub(super) at: u32,
}

impl Piece {
    /// The cut nearest to `position`: a whole number of blocks from the origin, or an end of the piece.
    pub(super) fn cut_near(&self, position: f64, block: u32) -> u32 {
        let blocks = ((position - f64::from(self.origin)) / f64::from(block)).round().max(0.0) as u32;
        let cut = self.origin.saturating_add(blocks.saturating_mul(block)).clamp(self.start, self.end);
        if self.leaves_crumb(cut, block) { self.end } else { cut }
    }

    /// The last cut at or before `position`.
    pub(super) fn cut_before(&self, position: u32, block: u32) -> u32 {
        let position = position.clamp(self.start, self.end);
        if position == self.end {
            return position;
        }
        let cut = position - (position - self.origin) % block;
        let cut = if self.leaves_crumb(cut, block) { cut.saturating_sub(block) } else { cut };
        cut.max(self.start)
    }

    /// The first cut at or after `position`.
    pub(super) fn cut_from(&self, position: u32, block: u32) -> u32 {
        let position = position.clamp(self.start, self.end);
        if position == self.start {
            return position;
        }
        let cut = self.origin.saturating_add((position - self.origin).next_multiple_of(block)).min(self.end);
        if self.leaves_crumb(cut, block) { self.end } else { cut }
    }

    /// Whether so little of the run lies behind `cut` that a kernel would compute a tile for it that is more than half empty:
    /// the last block of a run is then one and a part.
    fn leaves_crumb(&self, cut: u32, block: u32) -> bool {
        cut < self.run_end && self.run_end - cut < block / 2
    }
}

/// The most tokens of the last block of a run: those of a block, and of a crumb.
pub(super) fn longest_block(block: u32) -> u32 {
    block + (block / 2).saturating_sub(1)
}
