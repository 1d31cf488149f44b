//! Exchanges of batches that split keys.
//!
//! Queries and keys go the same way here: a row goes once to every rank that has a task for it, lies there once for every such
//! task, and what returns of it (an output, or a gradient) is joined on that rank first, returns in a plane of its own for every
//! rank, and is joined at home. Where every task has its whole context this is the exchange of the [`Batch`](crate::Batch), with
//! planes in the order of ranks.

mod spread;

use rankscope_time::Rank;

use super::blocks::{Block, Wire, fits_u64, place};
use super::parts::{Parts, Side};
use super::{Direction, Exchange, RankExchange, RowCopy, RowSum, TensorRows};
use crate::{Error, Rows, SplitBatch, SplitTask};
use spread::{Class, Piece, Spread};

impl Exchange {
    /// The exchange of `batch` in `direction`. Where outputs come in parts `rows` have a log-sum-exp for every head.
    ///
    /// # Errors
    /// [`Error::Overflow`]; those of [`Direction::split_tensors`] where outputs come in parts.
    pub fn of_split(batch: &SplitBatch, rows: &Rows, direction: Direction) -> Result<Self, Error> {
        let tensors = tensors(batch, rows, direction)?;
        let ranks = write(batch, &tensors, direction, None)?;
        Ok(Self { tensors, ranks })
    }
}

impl RankExchange {
    /// What `rank` does in the exchange that [`Exchange::of_split`] makes of the same arguments.
    ///
    /// # Errors
    /// Those of [`Exchange::of_split`]; [`Error::NoSuchRank`].
    pub fn of_split(batch: &SplitBatch, rows: &Rows, direction: Direction, rank: Rank) -> Result<Self, Error> {
        if rank.0 >= batch.world_size() {
            return Err(Error::NoSuchRank { rank, world_size: batch.world_size() });
        }
        let mut ranks = write(batch, &tensors(batch, rows, direction)?, direction, Some(rank))?;
        Ok(ranks.swap_remove(0))
    }
}

/// Key tokens that are sent, once to every rank that needs them.
pub(super) fn context_tokens(batch: &SplitBatch) -> Result<u64, Error> {
    Ok(Spread::new(batch, true)?.blocks.iter().map(|block| block.contexts).sum())
}

fn tensors(batch: &SplitBatch, rows: &Rows, direction: Direction) -> Result<Vec<TensorRows>, Error> {
    if batch.merges() { direction.split_tensors(rows) } else { direction.tensors(rows) }
}

fn write(
    batch: &SplitBatch,
    tensors: &[TensorRows],
    direction: Direction,
    only: Option<Rank>,
) -> Result<Vec<RankExchange>, Error> {
    let wire = Wire::of(tensors);
    let mut spread = Spread::new(batch, direction.has_contexts())?;
    fits_u64(spread.blocks.iter().map(|block| (block.queries, block.contexts)), wire)?;
    let (linear_bytes, attention_bytes) = place(&mut spread.blocks, wire, batch.world_size());
    let mut parts = Parts::new(batch.world_size(), tensors.len(), direction, only, wire);
    parts.messages(&spread.blocks, &linear_bytes, &attention_bytes);
    let ranks = batch.world_size() as usize;
    let mut writer = Writer {
        blocks: &spread.blocks,
        wire,
        returns: !direction.to_attention(),
        parts,
        linear_tokens: batch.layout().linear_tokens(),
        attention_rows: [vec![0; ranks], vec![0; ranks]],
        planes: [vec![1; ranks], vec![1; ranks]],
    };
    for (document, (_, tasks)) in batch.documents().enumerate() {
        for class in Class::of(direction) {
            let pieces = spread.pieces(class, document);
            if writer.returns {
                writer.copies_return(class, tasks, pieces);
                writer.planes(class, pieces);
            } else {
                pieces.iter().for_each(|piece| writer.copy(Side::Linear, class, piece, piece.start..piece.end, piece.row));
                writer.tasks(class, tasks, pieces);
            }
        }
    }
    writer.finish()
}

struct Writer<'a> {
    blocks: &'a [Block],
    wire: Wire,
    returns: bool,
    parts: Parts,
    linear_tokens: Vec<u64>,
    /// Rows of the tasks so far, per class and rank.
    attention_rows: [Vec<u64>; 2],
    /// Planes of each class and rank.
    planes: [Vec<u64>; 2],
}

impl Writer<'_> {
    /// What tasks take, each all its rows.
    fn tasks(&mut self, class: Class, tasks: &[SplitTask], pieces: &[Piece]) {
        for task in tasks {
            let range = class.range(task);
            let row = self.rows_of(class, task);
            for piece in spread::within(pieces, task.rank.0, &range) {
                let common = piece.start.max(range.start)..piece.end.min(range.end);
                let first = row + u64::from(common.start - range.start);
                self.copy(Side::Attention, class, piece, common, first);
            }
        }
    }

    /// What tasks give. Of rows that several tasks of a rank give, the first one's are sent; the others are joined to them.
    fn copies_return(&mut self, class: Class, tasks: &[SplitTask], pieces: &[Piece]) {
        let mut by_rank: Vec<&SplitTask> = tasks.iter().collect();
        // Stable: tasks of a rank stay in order.
        by_rank.sort_by_key(|task| task.rank.0);
        let mut given: Vec<Given> = Vec::new();
        let mut rank = None;
        for task in by_rank {
            if rank.replace(task.rank) != Some(task.rank) {
                given.clear();
            }
            let range = class.range(task);
            let row = self.rows_of(class, task);
            let mut fresh = Vec::new();
            let mut at = range.start;
            for before in given.iter().filter(|given| given.start < range.end && range.start < given.end) {
                let (start, end) = (before.start.max(range.start), before.end.min(range.end));
                if at < start {
                    fresh.push(Given { start: at, end: start, row: row + u64::from(at - range.start) });
                }
                let (into, from) = (before.row + u64::from(start - before.start), row + u64::from(start - range.start));
                self.sum(Side::Attention, class, task.rank.0, into, from, u64::from(end - start));
                at = end;
            }
            if at < range.end {
                fresh.push(Given { start: at, end: range.end, row: row + u64::from(at - range.start) });
            }
            for part in &fresh {
                for piece in spread::within(pieces, task.rank.0, &(part.start..part.end)) {
                    let common = piece.start.max(part.start)..piece.end.min(part.end);
                    let first = part.row + u64::from(common.start - part.start);
                    self.copy(Side::Attention, class, piece, common, first);
                }
            }
            given.extend(fresh);
            given.sort_unstable_by_key(|given| given.start);
        }
    }

    /// What returns to where the tokens live, one plane for each rank that has something of a token, and is joined to the first.
    fn planes(&mut self, class: Class, pieces: &[Piece]) {
        let mut placed = spread::planes(pieces);
        placed.sort_unstable_by_key(|place| (place.piece, place.range.start));
        for place in &placed {
            let piece = &pieces[place.piece];
            let row = piece.row + u64::from(place.range.start - piece.start);
            let tokens = self.linear_tokens[piece.linear as usize];
            self.copy(Side::Linear, class, piece, place.range.clone(), place.plane * tokens + row);
            let most = &mut self.planes[class as usize][piece.linear as usize];
            *most = (place.plane + 1).max(*most);
        }
        placed.sort_unstable_by_key(|place| (place.plane, place.range.start));
        for place in placed.iter().filter(|place| place.plane > 0) {
            let piece = &pieces[place.piece];
            let into = piece.row + u64::from(place.range.start - piece.start);
            let from = place.plane * self.linear_tokens[piece.linear as usize] + into;
            self.sum(Side::Linear, class, piece.linear, into, from, place.range.len() as u64);
        }
    }

    /// The first row of a task, whose rows are then taken.
    fn rows_of(&mut self, class: Class, task: &SplitTask) -> u64 {
        let rows = &mut self.attention_rows[class as usize][task.rank.0 as usize];
        let first = *rows;
        *rows += class.range(task).len() as u64;
        first
    }

    /// Copies `range` of a piece between the message it is in and the rows from `row` on.
    fn copy(&mut self, side: Side, class: Class, piece: &Piece, range: std::ops::Range<u32>, row: u64) {
        let block = &self.blocks[piece.block as usize];
        let (start, rank) = match side {
            Side::Linear => (block.linear_at, piece.linear),
            Side::Attention => (block.attention_at, piece.attention),
        };
        let (before, rows) = (piece.before + u64::from(range.start - piece.start), range.len() as u64);
        match class {
            Class::Queries => {
                let copy = RowCopy { tensor: 0, row, rows, at: start + before * self.wire.query };
                self.parts.copy_queries(side, rank, copy);
            }
            Class::Contexts => {
                let at = start + block.queries * self.wire.query + before * self.wire.context;
                let key = RowCopy { tensor: 1, row, rows, at };
                self.parts.copy_contexts(side, rank, key, block.contexts * self.wire.context);
            }
        }
    }

    fn sum(&mut self, side: Side, class: Class, rank: u32, into: u64, from: u64, rows: u64) {
        match class {
            Class::Queries => self.parts.sum_queries(side, rank, RowSum { tensor: 0, into, from, rows }),
            Class::Contexts => self.parts.sum_contexts(side, rank, RowSum { tensor: 1, into, from, rows }),
        }
    }

    fn finish(mut self) -> Result<Vec<RankExchange>, Error> {
        for part in &mut self.parts.ranks {
            let rank = part.rank.0 as usize;
            let by_tensor = |queries: u64, contexts: u64| {
                let mut rows = vec![contexts; part.input_rows.len()];
                rows[0] = queries;
                rows
            };
            let attention = by_tensor(self.attention_rows[0][rank], self.attention_rows[1][rank]);
            let tokens = |class: Class| {
                let planes = if self.returns { self.planes[class as usize][rank] } else { 1 };
                let rows = planes.checked_mul(self.linear_tokens[rank]);
                rows.ok_or(Error::Overflow { what: "the rows of all planes of one rank" })
            };
            let linear = by_tensor(tokens(Class::Queries)?, tokens(Class::Contexts)?);
            (part.input_rows, part.output_rows) = if self.returns { (attention, linear) } else { (linear, attention) };
        }
        Ok(self.parts.ranks)
    }
}

/// Positions that a task of the rank gives, and the row of the first.
struct Given {
    start: u32,
    end: u32,
    row: u64,
}
