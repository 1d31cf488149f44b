//! Which rank computes which piece, while a plan is being made: loads, and what it would cost to move a range.

mod capped;

use std::ops::Range;

use rankscope_time::Rank;

use super::super::pieces;
use super::caps::Ledger;
use super::involved::Involved;
use super::nearness::{Fares, Nodes};
use super::piece::Piece;
use crate::cost::Work;
use crate::planner::{BLOCK_TOKENS, Prices};
use crate::{Batch, Error, Shard};

/// A range of one piece that is to be computed by `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    pub(super) document: usize,
    pub(super) piece: usize,
    pub(super) start: u32,
    pub(super) end: u32,
    pub(super) to: u32,
}

/// Every piece and every load.
pub(super) struct Assignment<'a> {
    pub(super) work: &'a Work,
    /// What is to be low.
    fares: Fares,
    /// Tokens of a block: where pieces may be cut.
    block: u32,
    documents: Vec<Vec<Piece>>,
    /// The linear layout of each document: runs and the rank each lies on.
    runs: Vec<Vec<(Range<u32>, u32)>>,
    /// The same by rank, then position.
    held: Vec<Vec<(u32, Range<u32>)>>,
    loads: Vec<u64>,
    /// The documents that lie on each rank, the longest first.
    of_rank: Vec<Vec<usize>>,
    /// The documents of which each rank has taken something that lies elsewhere, and some of which it has nothing any more.
    guests: Vec<Vec<usize>>,
    /// What ranks send, receive and hold, if that is capped.
    ledger: Option<Ledger>,
    /// What is needed to go back: documents and loads as they were.
    journal: Vec<Before>,
}

enum Before {
    Document(usize, Vec<Piece>),
    Load(u32, u64),
}

impl<'a> Assignment<'a> {
    /// Everything is computed where it lies.
    pub(super) fn at_home(layout: &Batch, work: &'a Work, prices: Prices, nodes: Nodes) -> Result<Self, Error> {
        Self::new(layout, work, prices, nodes, |shard| shard.linear.0)
    }

    /// Everything is computed where `plan` says.
    pub(super) fn planned(plan: &Batch, work: &'a Work, prices: Prices) -> Result<Self, Error> {
        Self::new(plan, work, prices, Nodes::ALIKE, |shard| shard.attention.0)
    }

    fn new(batch: &Batch, work: &'a Work, prices: Prices, nodes: Nodes, at: impl Fn(&Shard) -> u32) -> Result<Self, Error> {
        let mut documents = Vec::with_capacity(batch.len());
        let mut runs = Vec::with_capacity(batch.len());
        let mut held = Vec::with_capacity(batch.len());
        let mut loads = vec![0_u64; batch.world_size() as usize];
        let mut of_rank = vec![Vec::new(); loads.len()];
        let guests = vec![Vec::new(); loads.len()];
        for (index, shards) in batch.documents().enumerate() {
            let mut pieces: Vec<Piece> = Vec::with_capacity(shards.len());
            let mut end = 0;
            for shard in shards.iter().filter(|shard| shard.tokens > 0) {
                let (start, home, at) = (end, shard.linear.0, at(shard));
                end += shard.tokens;
                match pieces.last_mut() {
                    Some(last) if last.home == home && last.at == at => last.end = end,
                    Some(last) if last.home == home => {
                        let origin = last.origin;
                        pieces.push(Piece { start, end, origin, run_end: end, home, at });
                    }
                    _ => pieces.push(Piece { start, end, origin: start, run_end: end, home, at }),
                }
            }
            let mut lies: Vec<(Range<u32>, u32)> = Vec::new();
            for piece in &pieces {
                let load = &mut loads[piece.at as usize];
                *load = load
                    .checked_add(work.of(piece.start, piece.end))
                    .ok_or(Error::Overflow { what: "the work of one rank" })?;
                match lies.last_mut() {
                    Some(last) if last.1 == piece.home => last.0.end = piece.end,
                    _ => lies.push((piece.start..piece.end, piece.home)),
                }
            }
            let mut ends = lies.iter().map(|(run, _)| run.end).peekable();
            for piece in &mut pieces {
                while ends.next_if(|end| *end < piece.end).is_some() {}
                piece.run_end = ends.peek().copied().unwrap_or(piece.end);
            }
            let mut by_rank: Vec<_> = lies.iter().map(|(run, home)| (*home, run.clone())).collect();
            by_rank.sort_unstable_by_key(|(home, run)| (*home, run.start));
            for own in by_rank.chunk_by(|a, b| a.0 == b.0) {
                of_rank[own[0].0 as usize].push(index);
            }
            held.push(by_rank);
            runs.push(lies);
            documents.push(pieces);
        }
        let length = |index: &usize| documents[*index].last().map_or(0, |piece: &Piece| piece.end);
        for list in &mut of_rank {
            list.sort_by_key(|index| std::cmp::Reverse(length(index)));
        }
        let (block, fares) = (BLOCK_TOKENS, Fares::new(prices, nodes));
        Ok(Self { work, fares, block, documents, runs, held, loads, of_rank, guests, ledger: None, journal: Vec::new() })
    }

    /// From now on pieces are cut in blocks of so many tokens.
    pub(super) fn cut_in_blocks_of(&mut self, tokens: u32) {
        self.block = tokens;
    }

    pub(super) fn block(&self) -> u32 {
        self.block
    }

    pub(super) fn load(&self, rank: u32) -> u64 {
        self.loads[rank as usize]
    }

    pub(super) fn loads(&self) -> &[u64] {
        &self.loads
    }

    pub(super) fn pieces(&self, document: usize) -> &[Piece] {
        &self.documents[document]
    }

    /// The documents that lie on `rank`, the longest first.
    pub(super) fn documents_on(&self, rank: u32) -> &[usize] {
        &self.of_rank[rank as usize]
    }

    /// How far into `document` the queries go that `rank` computes.
    pub(super) fn reach(&self, document: usize, rank: u32) -> u32 {
        self.documents[document].iter().rev().find(|piece| piece.at == rank).map_or(0, |piece| piece.end)
    }

    /// Tokens of `range` that lie on these ranks.
    fn held_by(&self, document: usize, ranks: Range<u32>, range: &Range<u32>) -> i64 {
        let held = &self.held[document];
        let own = held[held.partition_point(|run| run.0 < ranks.start)..].iter().take_while(|run| run.0 < ranks.end);
        own.map(|(_, run)| (i64::from(run.end.min(range.end)) - i64::from(run.start.max(range.start))).max(0)).sum()
    }

    /// Bytes that the plan moves more, or fewer, after `transfer`. `reach` is the receiver's, as it is now.
    pub(super) fn cost(&self, transfer: &Transfer, reach: u32) -> i64 {
        let pieces = &self.documents[transfer.document];
        let rank = pieces[transfer.piece].at;
        let mut own = pieces.iter().enumerate().rev().filter(|(_, piece)| piece.at == rank);
        let last = own.next().map(|(place, _)| place);
        let rest = own.next().map_or(0, |(_, piece)| piece.end);
        self.cost_with(transfer, reach, &Involved { rank, last, reach: pieces[transfer.piece].end, rest })
    }

    /// The same where it is known already what the giver has of the document.
    pub(super) fn cost_with(&self, transfer: &Transfer, reach: u32, giver: &Involved) -> i64 {
        let Transfer { document, start, end, .. } = *transfer;
        let piece = self.documents[document][transfer.piece];
        let mut cost = self.cost_of_taking(transfer, reach);
        // Only the end of its last queries rids the giver of context.
        if end == piece.end && giver.last == Some(transfer.piece) {
            let rest = if start > piece.start { start } else { giver.rest };
            cost -= self.context_bytes(document, piece.at, rest..end);
        }
        cost
    }

    /// The same without the context that the giver is then rid of.
    pub(super) fn cost_of_taking(&self, transfer: &Transfer, reach: u32) -> i64 {
        let Transfer { document, start, end, to, .. } = *transfer;
        let piece = self.documents[document][transfer.piece];
        let away = self.fares.query(to, piece.home) - self.fares.query(piece.at, piece.home);
        away * i64::from(end - start) + self.context_bytes(document, to, reach.min(end)..end)
    }

    /// Bytes of the context in `range` that `rank` lacks.
    pub(super) fn context_bytes(&self, document: usize, rank: u32, range: Range<u32>) -> i64 {
        if range.is_empty() {
            return 0;
        }
        let own = self.held_by(document, rank..rank + 1, &range);
        let node = self.fares.node(rank);
        let within = if node.len() == 1 { 0 } else { self.held_by(document, node, &range) - own };
        self.fares.keys(i64::from(range.end - range.start) - own, within)
    }

    /// Bytes that queries of this piece cost at least if somebody else computes them, or save at most.
    pub(super) fn least_query_bytes(&self, piece: &Piece) -> i64 {
        let tokens = i64::from(piece.end - piece.start);
        match piece.at == piece.home {
            true => tokens * self.fares.least_query(),
            false => -tokens * self.fares.query(piece.at, piece.home),
        }
    }

    /// What the queries of `transfer` cost: less than it costs altogether where the giver still needs its context.
    pub(super) fn least_cost(&self, transfer: &Transfer) -> f64 {
        let piece = &self.documents[transfer.document][transfer.piece];
        match transfer.to == piece.home || piece.at != piece.home {
            true => 0.0,
            false => f64::from(transfer.end - transfer.start) * self.fares.query(transfer.to, piece.home) as f64,
        }
    }

    /// The ranks to which bytes from `rank` cost less, itself included.
    pub(super) fn near(&self, rank: u32) -> Range<u32> {
        let node = self.fares.node(rank);
        node.start..node.end.min(self.loads.len() as u32)
    }

    /// Work that the giver is rid of after `transfer`.
    pub(super) fn relief(&self, transfer: &Transfer) -> u64 {
        let piece = self.documents[transfer.document][transfer.piece];
        let kept = self.work.of(piece.start, transfer.start) + self.work.of(transfer.end, piece.end);
        self.work.of(piece.start, piece.end).saturating_sub(kept)
    }

    /// Has `transfer` computed where it says.
    pub(super) fn apply(&mut self, transfer: &Transfer) {
        let Transfer { document, to, .. } = *transfer;
        let piece = self.documents[document][transfer.piece];
        let before = [piece.at, to].map(|rank| self.work_in(document, rank));
        if to != piece.home {
            self.guests[to as usize].push(document);
        }
        let after = self.pieces_after(transfer);
        if let Some(ledger) = &mut self.ledger {
            let entry = ledger.replaced(&self.runs[document], &self.documents[document], &after);
            ledger.enter(&entry);
        }
        let pieces = std::mem::replace(&mut self.documents[document], after);
        self.journal.push(Before::Document(document, pieces));
        for (rank, before) in [piece.at, to].into_iter().zip(before) {
            self.set_load(rank, self.load(rank) + self.work_in(document, rank) - before);
        }
    }

    /// The pieces of the document after `transfer`.
    ///
    /// Neighbours become one task. Measured time of two tasks need not be that of both in one, so a receiver, which must not get
    /// more than it was asked about, then keeps them apart.
    fn pieces_after(&self, transfer: &Transfer) -> Vec<Piece> {
        let Transfer { document, start, end, to, .. } = *transfer;
        let mut pieces = Vec::with_capacity(self.documents[document].len() + 2);
        pieces.extend_from_slice(&self.documents[document]);
        let piece = pieces[transfer.piece];
        let parts = [Piece { end: start, ..piece }, Piece { start, end, at: to, ..piece }, Piece { start: end, ..piece }];
        let additive = *self.work == Work::Cells;
        pieces.splice(transfer.piece..=transfer.piece, parts.into_iter().filter(|part| part.start < part.end));
        pieces.dedup_by(|next, kept| {
            let same = next.origin == kept.origin && next.at == kept.at && (additive || next.at == next.home);
            if same {
                kept.end = next.end;
            }
            same
        });
        pieces
    }

    /// Whether the receiver's load after `transfer` is known beforehand. Back home a piece joins its neighbours, and what that
    /// adds is only known when work adds up.
    pub(super) fn may_join(&self, transfer: &Transfer) -> bool {
        *self.work == Work::Cells || transfer.to != self.documents[transfer.document][transfer.piece].home
    }

    /// Documents.
    pub(super) fn len(&self) -> usize {
        self.documents.len()
    }

    /// What `rank` does of `document`.
    fn work_in(&self, document: usize, rank: u32) -> u64 {
        let own = self.documents[document].iter().filter(|piece| piece.at == rank);
        own.map(|piece| self.work.of(piece.start, piece.end)).sum()
    }

    fn set_load(&mut self, rank: u32, load: u64) {
        let place = &mut self.loads[rank as usize];
        self.journal.push(Before::Load(rank, std::mem::replace(place, load)));
    }

    /// Who else than `giver` gives something to `receiver`.
    pub(super) fn givers_to(&mut self, receiver: u32, giver: u32) -> Vec<u32> {
        let mut givers = Vec::new();
        let Self { guests, documents, .. } = self;
        let list = &mut guests[receiver as usize];
        list.sort_unstable();
        list.dedup();
        list.retain(|&document| {
            let taken = documents[document].iter().filter(|piece| piece.at == receiver && piece.home != receiver);
            let before = givers.len();
            givers.extend(taken.map(|piece| piece.home));
            givers.len() > before
        });
        givers.retain(|&other| other != giver);
        givers
    }

    /// Forgets how to go back.
    pub(super) fn commit(&mut self) {
        self.journal.clear();
    }

    /// Goes back to the last commit; the ranks whose load changed.
    pub(super) fn rollback(&mut self) -> Vec<u32> {
        let mut ranks = Vec::new();
        while let Some(before) = self.journal.pop() {
            match before {
                Before::Document(index, pieces) => {
                    if let Some(ledger) = &mut self.ledger {
                        let entry = ledger.replaced(&self.runs[index], &self.documents[index], &pieces);
                        ledger.enter(&entry);
                    }
                    self.documents[index] = pieces;
                }
                Before::Load(rank, load) => {
                    self.loads[rank as usize] = load;
                    ranks.push(rank);
                }
            }
        }
        ranks
    }

    /// The pieces that lie on `rank` and are computed elsewhere: document and place.
    pub(super) fn given(&self, rank: u32) -> impl Iterator<Item = (usize, usize)> {
        self.of_rank[rank as usize].iter().flat_map(move |&document| {
            let pieces = self.documents[document].iter().enumerate();
            pieces.filter(move |(_, piece)| piece.home == rank && piece.at != rank).map(move |(place, _)| (document, place))
        })
    }

    /// The plan as it stands.
    pub(super) fn batch(&self, layout: &Batch) -> Result<Batch, Error> {
        let pieces = self.documents.iter().enumerate().flat_map(|(document, pieces)| {
            pieces.iter().map(move |piece| pieces::Piece {
                document,
                start: piece.start,
                end: piece.end,
                home: Rank(piece.home),
                at: Rank(piece.at),
            })
        });
        pieces::assemble(layout, pieces.collect())
    }
}
