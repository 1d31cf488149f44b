//! Which tokens of each document go to which ranks: once each, however many tasks they are for, and where they lie in the message.

use std::collections::BTreeSet;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::super::Direction;
use super::super::blocks::Block;
use crate::{Error, Shard, SplitBatch, SplitTask};

/// What has a row for each token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// Queries, outputs, and their gradients.
    Queries = 0,
    /// Keys and values, and their gradients.
    Contexts = 1,
}

impl Class {
    /// What an exchange moves.
    pub(super) fn of(direction: Direction) -> impl Iterator<Item = Self> {
        [Some(Self::Queries), direction.has_contexts().then_some(Self::Contexts)].into_iter().flatten()
    }

    /// The tokens whose rows a task takes.
    pub(super) fn range(self, task: &SplitTask) -> Range<u32> {
        match self {
            Self::Queries => task.queries.clone(),
            Self::Contexts => task.keys.clone(),
        }
    }
}

/// Consecutive tokens that live on one rank and go to one rank.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    pub(super) attention: u32,
    /// Positions in the document.
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) linear: u32,
    /// The row of the first where it lives.
    pub(super) row: u64,
    /// Position in [`Spread::blocks`].
    pub(super) block: u32,
    /// Rows of its class before it in the message.
    pub(super) before: u64,
}

/// All pieces, and the messages they make.
pub(super) struct Spread {
    /// By linear rank, then attention rank.
    pub(super) blocks: Vec<Block>,
    /// Per class; by document, then attention rank, then position.
    pieces: [Vec<Piece>; 2],
    /// Where the pieces of each document start, and the end of the last.
    starts: [Vec<usize>; 2],
}

impl Spread {
    pub(super) fn new(batch: &SplitBatch, has_contexts: bool) -> Result<Self, Error> {
        let mut this = Self { blocks: Vec::new(), pieces: Default::default(), starts: [vec![0], vec![0]] };
        let mut numbers: FxHashMap<(u32, u32), u32> = FxHashMap::default();
        let mut rows = vec![0; batch.world_size() as usize];
        let classes = if has_contexts { &[Class::Queries, Class::Contexts][..] } else { &[Class::Queries] };
        for (shards, tasks) in batch.documents() {
            let runs = runs(shards, &mut rows);
            for &class in classes {
                let needs = needs(tasks, class);
                let pieces = needs.iter().flat_map(|(attention, range)| pieces(&runs, *attention, range));
                for mut piece in pieces {
                    let new = this.blocks.len() as u32;
                    piece.block = *numbers.entry((piece.linear, piece.attention)).or_insert(new);
                    if piece.block == new {
                        let (linear, attention) = (piece.linear, piece.attention);
                        this.blocks.push(Block { linear, attention, queries: 0, contexts: 0, linear_at: 0, attention_at: 0 });
                    }
                    let block = &mut this.blocks[piece.block as usize];
                    let taken = if class == Class::Queries { &mut block.queries } else { &mut block.contexts };
                    piece.before = *taken;
                    *taken += u64::from(piece.end - piece.start);
                    this.pieces[class as usize].push(piece);
                }
                this.starts[class as usize].push(this.pieces[class as usize].len());
            }
        }
        this.sort();
        Ok(this)
    }

    /// The pieces of a class of a document.
    pub(super) fn pieces(&self, class: Class, document: usize) -> &[Piece] {
        let starts = &self.starts[class as usize];
        &self.pieces[class as usize][starts[document]..starts[document + 1]]
    }

    fn sort(&mut self) {
        let mut order: Vec<u32> = (0..self.blocks.len() as u32).collect();
        order.sort_unstable_by_key(|&block| (self.blocks[block as usize].linear, self.blocks[block as usize].attention));
        let mut place = vec![0; order.len()];
        (0..).zip(&order).for_each(|(at, &block)| place[block as usize] = at);
        self.pieces.iter_mut().flatten().for_each(|piece| piece.block = place[piece.block as usize]);
        self.blocks.sort_unstable_by_key(|block| (block.linear, block.attention));
    }
}

/// Consecutive tokens on one rank, and the row of the first.
struct Run {
    start: u32,
    end: u32,
    rank: u32,
    row: u64,
}

/// Where a document lies; `rows` are those that ranks hold of the documents before, and then of this one, too.
fn runs(shards: &[Shard], rows: &mut [u64]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    let mut start = 0;
    for shard in shards {
        let (rank, end) = (shard.linear.0, start + shard.tokens);
        match runs.last_mut() {
            Some(run) if run.rank == rank => run.end = end,
            _ => runs.push(Run { start, end, rank, row: rows[rank as usize] }),
        }
        rows[rank as usize] += u64::from(shard.tokens);
        start = end;
    }
    runs
}

/// What each rank needs: by rank, then position, none twice.
fn needs(tasks: &[SplitTask], class: Class) -> Vec<(u32, Range<u32>)> {
    let mut needs: Vec<(u32, Range<u32>)> = tasks.iter().map(|task| (task.rank.0, class.range(task))).collect();
    needs.sort_unstable_by_key(|(rank, range)| (*rank, range.start));
    needs.dedup_by(|next, kept| {
        let joined = next.0 == kept.0 && next.1.start <= kept.1.end;
        if joined {
            kept.1.end = kept.1.end.max(next.1.end);
        }
        joined
    });
    needs
}

fn pieces(runs: &[Run], attention: u32, range: &Range<u32>) -> impl Iterator<Item = Piece> + use<> {
    let first = runs.partition_point(|run| run.end <= range.start);
    let meeting = runs[first..].iter().take_while(|run| run.start < range.end).filter(|run| run.start < run.end);
    let piece = |run: &Run| {
        let (start, end) = (run.start.max(range.start), run.end.min(range.end));
        let row = run.row + u64::from(start - run.start);
        Piece { attention, start, end, linear: run.rank, row, block: 0, before: 0 }
    };
    meeting.map(piece).collect::<Vec<_>>().into_iter()
}

/// The pieces for `attention` that `range` meets; `pieces` are of one document.
pub(super) fn within<'a>(pieces: &'a [Piece], attention: u32, range: &Range<u32>) -> impl Iterator<Item = &'a Piece> + use<'a> {
    let (first, end) = (pieces.partition_point(|piece| (piece.attention, piece.end) <= (attention, range.start)), range.end);
    pieces[first..].iter().take_while(move |piece| piece.attention == attention && piece.start < end)
}

/// Part of a piece, and the plane in which it returns.
pub(super) struct Placed {
    /// Position in the pieces.
    pub(super) piece: usize,
    pub(super) range: Range<u32>,
    pub(super) plane: u64,
}

/// The planes of the pieces of one document: for every token, numbers for the ranks that have something of it, in the order of
/// ranks.
pub(super) fn planes(pieces: &[Piece]) -> Vec<Placed> {
    let mut bounds: Vec<(u32, bool, usize)> = Vec::with_capacity(2 * pieces.len());
    bounds.extend((0..).zip(pieces).flat_map(|(at, piece)| [(piece.start, true, at), (piece.end, false, at)]));
    // Of one position, what ends comes first.
    bounds.sort_unstable();
    let (mut placed, mut present, mut reached) = (Vec::new(), BTreeSet::new(), 0);
    for (position, begins, piece) in bounds {
        if reached < position {
            // Pieces are in the order of ranks.
            placed.extend((0..).zip(&present).map(|(plane, &piece)| Placed { piece, range: reached..position, plane }));
            reached = position;
        }
        if begins {
            present.insert(piece);
        } else {
            present.remove(&piece);
        }
    }
    placed
}
