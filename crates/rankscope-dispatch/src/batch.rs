//! Documents cut into shards, each with the rank it lives on and the rank that computes its attention. The one input of
//! everything else: data-parallel and context-parallel layouts, custom mappings and planners all end up here.

use rankscope_time::Rank;

use crate::Error;

/// A run of consecutive tokens of one document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    /// Where the tokens live for the dense layers.
    pub linear: Rank,
    /// Where the attention of these tokens as queries is computed.
    pub attention: Rank,
    /// How many tokens. Zero is legal; such a shard takes a slot and no room.
    pub tokens: u32,
}

/// The documents of one dispatch over all ranks.
///
/// Order is meaning: a rank holds its shards back to back in the order in which this batch lists them, documents first, then
/// shards from the start of the document to its end. The same order holds for the tasks of a rank in the attention layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    world_size: u32,
    shards: Vec<Shard>,
    /// Where each document starts in `shards`, and the end of the last.
    starts: Vec<usize>,
}

impl Batch {
    /// Most ranks of a job. What is derived keeps a few numbers for each, and a file of ten bytes can ask for four billion.
    pub const RANKS_MAX: u32 = 1 << 20;

    /// No documents yet, over ranks `0..world_size`.
    ///
    /// # Errors
    /// [`Error::NoRanks`]; [`Error::TooManyRanks`] beyond [`Self::RANKS_MAX`].
    pub fn new(world_size: u32) -> Result<Self, Error> {
        match world_size {
            0 => Err(Error::NoRanks),
            _ if world_size > Self::RANKS_MAX => Err(Error::TooManyRanks { world_size }),
            _ => Ok(Self { world_size, shards: Vec::new(), starts: vec![0] }),
        }
    }

    /// Adds a document, its shards from start to end.
    ///
    /// # Errors
    /// [`Error::RankOutOfRange`]; [`Error::DocumentTooLong`] beyond `u32::MAX` tokens. The batch is then as it was.
    pub fn push(&mut self, shards: &[Shard]) -> Result<(), Error> {
        let document = self.len();
        let mut tokens = 0_u64;
        for (index, shard) in shards.iter().enumerate() {
            for rank in [shard.linear, shard.attention] {
                if rank.0 >= self.world_size {
                    let (rank, world_size) = (i64::from(rank.0), self.world_size);
                    return Err(Error::RankOutOfRange { document, shard: index, rank, world_size });
                }
            }
            tokens += u64::from(shard.tokens);
        }
        // Offsets within a document then fit u32, and its cells fit u64.
        if tokens > u64::from(u32::MAX) {
            return Err(Error::DocumentTooLong { document, tokens });
        }
        self.shards.extend_from_slice(shards);
        self.starts.push(self.shards.len());
        Ok(())
    }

    /// Ranks of the job.
    #[must_use]
    pub fn world_size(&self) -> u32 {
        self.world_size
    }

    /// Documents.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Whether there is no document.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All shards, in order.
    #[must_use]
    pub fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// The shards of the document at `index`, which must exist.
    #[must_use]
    pub fn document(&self, index: usize) -> &[Shard] {
        &self.shards[self.starts[index]..self.starts[index + 1]]
    }

    /// The documents, each as its shards from start to end.
    pub fn documents(&self) -> impl ExactSizeIterator<Item = &[Shard]> + Clone {
        self.starts.windows(2).map(|ends| &self.shards[ends[0]..ends[1]])
    }

    /// The same documents with every token's attention computed where the token lives: what a job does without a plan.
    #[must_use]
    pub fn at_home(&self) -> Self {
        let shards = self.shards.iter().map(|shard| Shard { attention: shard.linear, ..*shard }).collect();
        Self { shards, starts: self.starts.clone(), ..*self }
    }

    /// Tokens per rank in the linear layout.
    #[must_use]
    pub fn linear_tokens(&self) -> Vec<u64> {
        let mut tokens = vec![0; self.world_size as usize];
        for shard in &self.shards {
            tokens[shard.linear.0 as usize] += u64::from(shard.tokens);
        }
        tokens
    }

    /// Attention work per rank, in [`causal_cells`].
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn cells(&self) -> Result<Vec<u64>, Error> {
        self.cells_by(|shard| shard.attention)
    }

    /// Attention work per rank if every rank computed the queries that lie on it.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn cells_at_home(&self) -> Result<Vec<u64>, Error> {
        self.cells_by(|shard| shard.linear)
    }

    fn cells_by(&self, rank: impl Fn(&Shard) -> Rank) -> Result<Vec<u64>, Error> {
        let mut cells = vec![0_u64; self.world_size as usize];
        for document in self.documents() {
            let mut end = 0;
            for shard in document {
                end += u64::from(shard.tokens);
                let sum = &mut cells[rank(shard).0 as usize];
                *sum = sum
                    .checked_add(causal_cells(u64::from(shard.tokens), end))
                    .ok_or(Error::Overflow { what: "the attention cells of one rank" })?;
            }
        }
        Ok(cells)
    }
}

/// Score cells of `queries` tokens that end at position `end` of their document, each attending to everything up to itself:
/// `q * kv - q (q - 1) / 2` (dispatch spec 2.10). Asks for `queries <= end <= u32::MAX`.
#[must_use]
pub fn causal_cells(queries: u64, end: u64) -> u64 {
    queries * end - queries * queries.saturating_sub(1) / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard(linear: u32, attention: u32, tokens: u32) -> Shard {
        Shard { linear: Rank(linear), attention: Rank(attention), tokens }
    }

    #[test]
    fn the_cells_of_the_shards_are_those_of_the_document() -> Result<(), Error> {
        let mut batch = Batch::new(3)?;
        batch.push(&[shard(0, 0, 5), shard(0, 2, 0), shard(1, 2, 7)])?;
        assert_eq!(batch.cells()?, [15, 0, 63]);
        assert_eq!(batch.cells()?.iter().sum::<u64>(), causal_cells(12, 12));
        assert_eq!(batch.linear_tokens(), [5, 7, 0]);
        Ok(())
    }

    #[test]
    fn a_rank_that_does_not_exist_is_named_and_nothing_is_added() -> Result<(), Error> {
        let mut batch = Batch::new(2)?;
        let refused = batch.push(&[shard(0, 1, 4), shard(0, 2, 4)]);
        assert_eq!(refused, Err(Error::RankOutOfRange { document: 0, shard: 1, rank: 2, world_size: 2 }));
        assert!(batch.is_empty() && batch.shards().is_empty());
        Ok(())
    }

    #[test]
    fn a_job_of_billions_is_refused() {
        assert_eq!(Batch::new(u32::MAX), Err(Error::TooManyRanks { world_size: u32::MAX }));
        assert!(Batch::new(Batch::RANKS_MAX).is_ok());
    }

    #[test]
    fn a_document_that_would_overflow_is_refused() -> Result<(), Error> {
        let refused = Batch::new(1)?.push(&[shard(0, 0, u32::MAX), shard(0, 0, 1)]);
        assert_eq!(refused, Err(Error::DocumentTooLong { document: 0, tokens: u64::from(u32::MAX) + 1 }));
        Ok(())
    }
}
