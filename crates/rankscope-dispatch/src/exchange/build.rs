//! Exchanges from a batch: keys and values are sent once per pair of ranks, gradients of their copies are summed before they
//! return, and the planes in which they return are summed after (dispatch spec 2.9). One walk over the documents writes the
//! parts of all ranks, or only one rank's, which is then the same.

use rankscope_time::Rank;

use super::blocks::Blocks;
use super::outline::Outline;
use super::parts::{Parts, Side};
use super::planes::Planes;
use super::{Contexts, Direction, Exchange, RankExchange, RowCopy, RowSum, TensorRows};
use crate::{Batch, Error, Rows};

impl Exchange {
    /// The exchange of `batch` in `direction`, contexts lying as [`Contexts::PerTask`].
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn new(batch: &Batch, rows: &Rows, direction: Direction) -> Result<Self, Error> {
        Self::with_contexts(batch, rows, direction, Contexts::PerTask)
    }

    /// The exchange of `batch` in `direction`.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn with_contexts(batch: &Batch, rows: &Rows, direction: Direction, contexts: Contexts) -> Result<Self, Error> {
        let tensors = direction.tensors(rows)?;
        let ranks = write(batch, &tensors, direction, contexts, None)?;
        Ok(Self { tensors, ranks })
    }
}

impl RankExchange {
    /// What `rank` does in the exchange that [`Exchange::with_contexts`] makes of the same arguments, without the others' parts.
    ///
    /// # Errors
    /// [`Error::Overflow`]; [`Error::NoSuchRank`].
    pub fn new(batch: &Batch, rows: &Rows, direction: Direction, contexts: Contexts, rank: Rank) -> Result<Self, Error> {
        if rank.0 >= batch.world_size() {
            return Err(Error::NoSuchRank { rank, world_size: batch.world_size() });
        }
        let mut ranks = write(batch, &direction.tensors(rows)?, direction, contexts, Some(rank))?;
        Ok(ranks.swap_remove(0))
    }

    pub(crate) fn empty(rank: Rank, tensors: usize) -> Self {
        Self {
            rank,
            sends: Vec::new(),
            receives: Vec::new(),
            send_bytes: 0,
            receive_bytes: 0,
            input_rows: vec![0; tensors],
            output_rows: vec![0; tensors],
            pack: Vec::new(),
            unpack: Vec::new(),
            sums_before: Vec::new(),
            sums_after: Vec::new(),
        }
    }
}

fn write(
    batch: &Batch,
    tensors: &[TensorRows],
    direction: Direction,
    contexts: Contexts,
    only: Option<Rank>,
) -> Result<Vec<RankExchange>, Error> {
    let blocks = Blocks::new(batch, direction, tensors)?;
    let mut writer = Writer::new(batch, &blocks, tensors, direction, contexts, only);
    writer.reserve(batch);
    writer.parts.messages(&blocks.blocks, &blocks.linear_bytes, &blocks.attention_bytes);
    let mut outline = Outline::new(batch.world_size());
    let mut parts = 0;
    for document in batch.documents() {
        outline.draw(document);
        if only.is_none_or(|rank| outline.sources.contains(&rank.0) || outline.destinations.contains(&rank.0)) {
            writer.queries(&outline, parts);
            if direction.has_contexts() {
                match direction {
                    Direction::Backward => writer.gradient_planes(&outline, parts),
                    _ => writer.held_contexts(&outline, parts),
                }
                writer.task_contexts(&outline, parts);
            }
        }
        writer.pass(&outline);
        parts += outline.sources.len() * outline.destinations.len();
    }
    writer.finish()
}

/// Writes document after document; knows how many rows of each rank are taken.
struct Writer<'a> {
    blocks: &'a Blocks,
    direction: Direction,
    contexts: Contexts,
    parts: Parts,
    linear_tokens: Vec<u64>,
    /// Rows of the documents so far, per rank.
    linear_rows: Vec<u64>,
    attention_rows: Vec<u64>,
    context_rows: Vec<u64>,
    planes: Planes,
    /// Of the document at hand, per destination: the ranges of it that already lie there, and the row that position 0 of the
    /// document would have in the task that brought them.
    present: Vec<Vec<Present>>,
}

#[derive(Clone, Copy)]
struct Present {
    start: u64,
    end: u64,
    row: u64,
}

impl<'a> Writer<'a> {
    fn new(
        batch: &Batch,
        blocks: &'a Blocks,
        tensors: &[TensorRows],
        direction: Direction,
        contexts: Contexts,
        only: Option<Rank>,
    ) -> Self {
        let world_size = batch.world_size();
        let rows = || vec![0; world_size as usize];
        Self {
            blocks,
            direction,
            contexts,
            parts: Parts::new(world_size, tensors.len(), direction, only, blocks.wire),
            linear_tokens: batch.linear_tokens(),
            linear_rows: rows(),
            attention_rows: rows(),
            context_rows: rows(),
            planes: Planes::new(world_size),
            present: Vec::new(),
        }
    }

    /// Room for the copies of every rank, so that their lists do not move while they grow. Copies that go on where another ends
    /// need none; gradients, which return in pieces, may need more.
    fn reserve(&mut self, batch: &Batch) {
        let ranks = batch.world_size() as usize;
        let (mut linear, mut attention) = (vec![0; ranks], vec![0; ranks]);
        let per_piece = if self.direction.has_contexts() { 2 } else { 0 };
        for document in batch.documents() {
            let (mut pieces, mut last) = (0, None);
            for shard in document {
                pieces += usize::from(last != Some(shard.linear));
                last = Some(shard.linear);
                linear[shard.linear.0 as usize] += 1;
                attention[shard.attention.0 as usize] += 1 + per_piece * pieces;
            }
        }
        for part in &self.blocks.parts {
            linear[part.linear as usize] += per_piece;
        }
        let linear_sends = self.parts.sends(Side::Linear);
        for part in &mut self.parts.ranks {
            let (linear, attention) = (linear[part.rank.0 as usize], attention[part.rank.0 as usize]);
            let (pack, unpack) = if linear_sends { (linear, attention) } else { (attention, linear) };
            part.pack.reserve(pack);
            part.unpack.reserve(unpack);
        }
    }

    fn queries(&mut self, outline: &Outline, first_part: usize) {
        for place in &outline.places {
            let (source, destination) = (outline.sources[place.source], outline.destinations[place.destination]);
            let at = self.blocks.part_at(first_part + place.destination * outline.sources.len() + place.source);
            let before = place.start_in_pair * self.blocks.wire.query;

            let row = self.linear_rows[source as usize] + place.start_on_source;
            let copy = RowCopy { tensor: 0, row, rows: place.tokens, at: at.linear_query + before };
            self.parts.copy_queries(Side::Linear, source, copy);
            let row = self.attention_rows[destination as usize] + place.start_in_tasks;
            let copy = RowCopy { tensor: 0, row, rows: place.tokens, at: at.attention_query + before };
            self.parts.copy_queries(Side::Attention, destination, copy);
        }
    }

    /// Keys and values leave their rank: one range per document and destination.
    fn held_contexts(&mut self, outline: &Outline, first_part: usize) {
        let mut rows = Vec::new();
        for destination in 0..outline.destinations.len() {
            outline.contexts(destination, &mut rows);
            for (index, (&source, &rows)) in outline.sources.iter().zip(&rows).enumerate() {
                let at = self.blocks.part_at(first_part + destination * outline.sources.len() + index);
                let key = RowCopy { tensor: 1, row: self.linear_rows[source as usize], rows, at: at.linear_key };
                self.parts.copy_contexts(Side::Linear, source, key, at.value_after);
            }
        }
    }

    /// Gradients return to their rank, one plane per destination of a shard, and the planes are added to the first.
    fn gradient_planes(&mut self, outline: &Outline, first_part: usize) {
        let mut planes = std::mem::take(&mut self.planes);
        planes.draw(outline);
        for &(destination, shard, plane) in planes.copies() {
            let place = outline.places[shard];
            let source = outline.sources[place.source];
            let at = self.blocks.part_at(first_part + destination * outline.sources.len() + place.source);
            let row = self.linear_rows[source as usize] + place.start_on_source;
            let before = place.start_on_source * self.blocks.wire.context;
            let row = plane * self.linear_tokens[source as usize] + row;
            let key = RowCopy { tensor: 1, row, rows: place.tokens, at: at.linear_key + before };
            self.parts.copy_contexts(Side::Linear, source, key, at.value_after);
        }
        for plane in 1..planes.of_shard().iter().copied().max().unwrap_or(0) {
            let wide = outline.places.iter().zip(planes.of_shard()).filter(|(_, planes)| **planes > plane);
            for (place, _) in wide {
                let source = outline.sources[place.source];
                let into = self.linear_rows[source as usize] + place.start_on_source;
                let from = plane * self.linear_tokens[source as usize] + into;
                self.parts.sum_contexts(Side::Linear, source, RowSum { tensor: 1, into, from, rows: place.tokens });
            }
        }
        self.planes = planes;
    }

    /// The contexts of the tasks at the ranks that compute them.
    fn task_contexts(&mut self, outline: &Outline, first_part: usize) {
        let gradients = self.direction == Direction::Backward;
        let destinations = outline.destinations.len();
        self.present.resize_with(self.present.len().max(destinations), Vec::new);
        let mut taken = vec![0; destinations];
        for place in &outline.places {
            let (end, destination) = (place.start + place.tokens, place.destination);
            let rank = outline.destinations[destination];
            let present = std::mem::take(&mut self.present[destination]);
            let already = present.last().map_or(0, |range| range.end);
            let per_task = self.contexts == Contexts::PerTask;
            let row = self.context_rows[rank as usize] + if per_task { taken[destination] } else { 0 };
            taken[destination] = if per_task { taken[destination] + end } else { end };

            let from = if gradients || !per_task { already } else { 0 };
            self.context_range(outline, first_part, destination, from..end, row);
            if gradients && per_task {
                for range in &present {
                    let (into, rows) = (range.row + range.start, range.end - range.start);
                    self.parts.sum_contexts(Side::Attention, rank, RowSum { tensor: 1, into, from: row + range.start, rows });
                }
            }
            self.present[destination] = present;
            self.present[destination].push(Present { start: already, end, row });
        }
        for (index, &rank) in outline.destinations.iter().enumerate() {
            self.present[index].clear();
            self.context_rows[rank as usize] += taken[index];
        }
    }

    /// Copies a range of the document's keys and values between the messages of `destination` and the run whose position 0 has
    /// `row` there.
    fn context_range(
        &mut self,
        outline: &Outline,
        first_part: usize,
        destination: usize,
        range: std::ops::Range<u64>,
        row: u64,
    ) {
        let rank = outline.destinations[destination];
        for piece in outline.pieces(range.start, range.end) {
            let at = self.blocks.part_at(first_part + destination * outline.sources.len() + piece.source);
            let before = piece.start_on_source * self.blocks.wire.context;
            let key = RowCopy { tensor: 1, row: row + piece.start, rows: piece.tokens, at: at.attention_key + before };
            self.parts.copy_contexts(Side::Attention, rank, key, at.value_after);
        }
    }

    /// Moves on to the next document.
    fn pass(&mut self, outline: &Outline) {
        for (&rank, &tokens) in outline.sources.iter().zip(&outline.held) {
            self.linear_rows[rank as usize] += tokens;
        }
        for (&rank, &tokens) in outline.destinations.iter().zip(&outline.asked) {
            self.attention_rows[rank as usize] += tokens;
        }
    }

    fn finish(mut self) -> Result<Vec<RankExchange>, Error> {
        let linear_sends = self.parts.sends(Side::Linear);
        for part in &mut self.parts.ranks {
            let rank = part.rank.0 as usize;
            let mut linear = vec![self.linear_rows[rank]; part.input_rows.len()];
            let mut attention = vec![self.context_rows[rank]; part.input_rows.len()];
            attention[0] = self.attention_rows[rank];
            if self.direction == Direction::Backward {
                let rows = self.planes.of_rank(part.rank).checked_mul(self.linear_tokens[rank]);
                linear[1..].fill(rows.ok_or(Error::Overflow { what: "the rows of all gradient planes of one rank" })?);
            }
            (part.input_rows, part.output_rows) = if linear_sends { (linear, attention) } else { (attention, linear) };
        }
        Ok(self.parts.ranks)
    }
}
