//! Dispatches drawn from a seed. The order of the draws is the contract: all lengths, then all degrees, then the destinations,
//! sequence by sequence (dispatch spec 2.6).

use rankscope_time::Rank;

use super::lengths::gen_seq_lens;
use crate::{Batch, Error, Padded, Shard, TorchRandom};

/// What a seeded dispatch is drawn from.
#[derive(Clone, Debug)]
pub struct Recipe<'a> {
    /// Ranks of the job.
    pub world_size: u32,
    /// Tokens on each rank.
    pub total_seq_len: u32,
    /// Sequences on each rank.
    pub num_seqs: u32,
    /// Most shards that a sequence is cut into; a power of two.
    pub max_cp_degree: u32,
    /// Names the stream.
    pub seed: u64,
    /// Lengths to take instead of the drawn ones, which differ by a token between machines now and then. They are drawn all
    /// the same, so that the rest of the stream stays in step.
    pub seq_lens: Option<&'a Padded>,
}

/// A drawn dispatch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// Sequences by rank, then place on it; every shard lives on the rank of its sequence.
    pub batch: Batch,
    /// Replicas for which the padded arrays have room.
    pub max_cp_degree: u32,
    /// Tokens of each sequence.
    pub seq_lens: Padded,
}

/// Cuts every sequence into a random power of two of equal shards and gives each to another rank.
///
/// # Errors
/// [`Error::Degree`] unless the degree is a power of two and no larger than the job, [`Error::NotDivisible`],
/// [`Error::NegativeLength`] where the drawn lengths are negative, and those of [`gen_seq_lens`].
pub fn create_qkv_dispatch(recipe: &Recipe<'_>) -> Result<Drawn, Error> {
    recipe.check_own_ranks()?;
    recipe.draw(&mut TorchRandom::new(recipe.seed), recipe.world_size)
}

/// Cuts sequences into up to twice as many shards as there are ranks, so that a rank may be given two shards of a sequence.
///
/// # Errors
/// [`Error::Degree`] unless the degree is twice the ranks, and a power of two: otherwise it would not divide the sequences and
/// tokens would be lost. Else those of [`create_qkv_dispatch`].
pub fn create_qkv_dispatch_2cp(recipe: &Recipe<'_>) -> Result<Drawn, Error> {
    if u64::from(recipe.max_cp_degree) != 2 * u64::from(recipe.world_size) {
        return Err(recipe.refused_degree("the degree must be twice the ranks"));
    }
    recipe.draw(&mut TorchRandom::new(recipe.seed), recipe.max_cp_degree)
}

/// A dispatch and, for when queries, keys and values are sent again in the backward pass, a second one of the same shards over
/// independently drawn ranks.
///
/// # Errors
/// Those of [`create_qkv_dispatch`].
pub fn create_qkv_dispatch_with_backward(recipe: &Recipe<'_>) -> Result<(Drawn, Drawn), Error> {
    recipe.check_own_ranks()?;
    let mut random = TorchRandom::new(recipe.seed);
    let forward = recipe.draw(&mut random, recipe.world_size)?;
    let mut per_rank = vec![0_usize; recipe.world_size as usize];
    forward.batch.shards().iter().for_each(|shard| per_rank[shard.linear.0 as usize] += 1);
    let slots = per_rank.iter().copied().max().unwrap_or(0);

    // Every slot takes a draw, padding included; the shards of a rank are its first slots.
    let mut destinations = Vec::with_capacity(forward.batch.shards().len());
    for shards in per_rank {
        for slot in 0..slots {
            let rank = Rank(random.below(recipe.world_size));
            if slot < shards {
                destinations.push(rank);
            }
        }
    }
    let mut batch = Batch::new(recipe.world_size)?;
    let mut destinations = destinations.into_iter();
    for document in forward.batch.documents() {
        let shards: Vec<_> =
            document.iter().zip(&mut destinations).map(|(shard, attention)| Shard { attention, ..*shard }).collect();
        batch.push(&shards)?;
    }
    let backward = Drawn { batch, ..forward.clone() };
    Ok((forward, backward))
}

impl Recipe<'_> {
    /// Draws with `keys` sort keys per sequence; places in their order beyond the last rank begin again at rank 0.
    fn draw(&self, random: &mut TorchRandom, keys: u32) -> Result<Drawn, Error> {
        let (degree, sequences) = (self.max_cp_degree, self.num_seqs as usize);
        self.check_degree()?;
        let shape = [self.world_size, self.num_seqs, keys].map(|axis| axis as usize);
        if shape.iter().try_fold(1_usize, |draws, &axis| draws.checked_mul(axis)).is_none_or(|draws| draws as u64 > MOST_DRAWS)
        {
            return Err(Error::TooLarge { shape: shape.to_vec() });
        }
        let mut seq_lens = gen_seq_lens(random, self.world_size, self.num_seqs, self.total_seq_len / degree)?;
        seq_lens.values_mut().iter_mut().for_each(|length| *length *= i64::from(degree));
        if let Some(given) = self.seq_lens {
            given.expect_shape("seq_lens", seq_lens.shape())?;
            seq_lens = given.clone();
        }
        let degrees: Vec<u32> = seq_lens.values().iter().map(|_| 1 << random.below(degree.ilog2() + 1)).collect();

        let mut batch = Batch::new(self.world_size)?;
        let mut order = Order::new(degree as usize);
        for (at, (&length, &shards)) in seq_lens.values().iter().zip(&degrees).enumerate() {
            let (rank, sequence) = (at / sequences, at % sequences);
            let tokens = shard_tokens(length, shards, rank, sequence)?;
            let linear = Rank(rank as u32);
            let shards: Vec<_> = order
                .first(random, keys)
                .take(shards as usize)
                .map(|place| Shard { linear, attention: Rank(place % self.world_size), tokens })
                .collect();
            batch.push(&shards)?;
        }
        Ok(Drawn { batch, max_cp_degree: degree, seq_lens })
    }

    fn check_degree(&self) -> Result<(), Error> {
        let degree = self.max_cp_degree;
        if !degree.is_power_of_two() {
            return Err(self.refused_degree("the degree must be a power of two, or sequences could not be cut evenly"));
        }
        match self.total_seq_len.is_multiple_of(degree) {
            true => Ok(()),
            false => Err(Error::NotDivisible { tokens: u64::from(self.total_seq_len), degree }),
        }
    }

    fn check_own_ranks(&self) -> Result<(), Error> {
        self.check_degree()?;
        match self.max_cp_degree <= self.world_size {
            true => Ok(()),
            false => Err(self.refused_degree("every shard needs its own rank, so the degree must not exceed the ranks")),
        }
    }

    fn refused_degree(&self, must: &'static str) -> Error {
        Error::Degree { degree: self.max_cp_degree, world_size: self.world_size, must }
    }
}

/// A minute of sort keys: thirty times what 8192 ranks of eight sequences draw.
const MOST_DRAWS: u64 = 1 << 34;

fn shard_tokens(length: i64, shards: u32, rank: usize, sequence: usize) -> Result<u32, Error> {
    if length < 0 {
        return Err(Error::NegativeLength { rank, slot: sequence, tokens: length });
    }
    if length % i64::from(shards) != 0 {
        return Err(Error::Sequence {
            rank,
            sequence,
            problem: format!("{length} tokens cannot be cut into {shards} equal shards"),
        });
    }
    u32::try_from(length / i64::from(shards)).map_err(|_| Error::Overflow32 { what: "the tokens of one shard" })
}

/// The beginning of a stable ascending order of random keys, without sorting the rest.
struct Order {
    /// The least keys so far and their places, ascending.
    least: Vec<(f32, u32)>,
    wanted: usize,
}

impl Order {
    fn new(wanted: usize) -> Self {
        Self { least: Vec::with_capacity(wanted + 1), wanted }
    }

    /// Draws `keys` keys; the places of the least, in order.
    fn first(&mut self, random: &mut TorchRandom, keys: u32) -> impl Iterator<Item = u32> {
        self.least.clear();
        for place in 0..keys {
            let key = random.uniform();
            if self.least.len() == self.wanted && self.least.last().is_some_and(|last| last.0 <= key) {
                continue;
            }
            let at = self.least.partition_point(|other| other.0 <= key);
            self.least.insert(at, (key, place));
            self.least.truncate(self.wanted);
        }
        self.least.iter().map(|&(_, place)| place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(world_size: u32, total_seq_len: u32, num_seqs: u32, max_cp_degree: u32) -> Recipe<'static> {
        Recipe { world_size, total_seq_len, num_seqs, max_cp_degree, seed: 0, seq_lens: None }
    }

    #[test]
    fn every_recipe_that_has_no_dispatch_is_refused_with_its_reason() {
        for world_size in [2, 4] {
            let refused = create_qkv_dispatch(&recipe(world_size, 17, 2, 4));
            assert_eq!(refused, Err(Error::NotDivisible { tokens: 17, degree: 4 }));
        }
        for (world_size, degree) in [(2, 4), (1, 2), (4, 3), (4, 0)] {
            let refused = create_qkv_dispatch(&recipe(world_size, 48, 2, degree));
            assert!(matches!(refused, Err(Error::Degree { .. })), "{world_size} ranks, degree {degree}: {refused:?}");
        }
        for (world_size, degree) in [(4, 4), (3, 6)] {
            let refused = create_qkv_dispatch_2cp(&recipe(world_size, 96, 2, degree));
            assert!(matches!(refused, Err(Error::Degree { .. })), "{world_size} ranks, degree {degree}: {refused:?}");
        }
        // Eight tokens over sixteen sequences: some length is below zero under most seeds.
        let negative = (0..20).find_map(|seed| create_qkv_dispatch(&Recipe { seed, ..recipe(4, 32, 32, 1) }).err());
        assert!(matches!(negative, Some(Error::NegativeLength { .. })), "{negative:?}");
    }

    #[test]
    fn one_rank_without_context_parallelism_keeps_everything() -> Result<(), Error> {
        let drawn = create_qkv_dispatch(&recipe(1, 8, 2, 1))?;
        assert!(drawn.batch.shards().iter().all(|shard| shard.attention == Rank(0)));
        assert_eq!(drawn.batch.linear_tokens(), [8]);
        Ok(())
    }

    #[test]
    fn a_sequence_meets_a_rank_once_and_under_2cp_at_most_twice() -> Result<(), Error> {
        for (drawn, most) in
            [(create_qkv_dispatch(&recipe(8, 512, 6, 8))?, 1), (create_qkv_dispatch_2cp(&recipe(4, 512, 6, 8))?, 2)]
        {
            for document in drawn.batch.documents() {
                for shard in document {
                    assert!(document.iter().filter(|other| other.attention == shard.attention).count() <= most);
                }
            }
        }
        Ok(())
    }

    #[test]
    fn the_backward_dispatch_moves_the_same_shards_elsewhere() -> Result<(), Error> {
        let (forward, backward) = create_qkv_dispatch_with_backward(&recipe(8, 512, 6, 8))?;
        assert_eq!(forward, create_qkv_dispatch(&recipe(8, 512, 6, 8))?);
        let lengths =
            |drawn: &Drawn| drawn.batch.documents().map(|d| d.iter().map(|s| s.tokens).collect()).collect::<Vec<Vec<_>>>();
        assert_eq!(lengths(&forward), lengths(&backward));
        assert_ne!(forward.batch, backward.batch);
        Ok(())
    }
}
