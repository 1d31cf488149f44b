//! Random sequence lengths that fill every rank: shares of a uniform draw, rounded, the last sequence taking what is left.
//!
//! The original promises positive lengths and does not keep the promise: with few tokens per sequence the last one absorbs
//! the rounding of all others and goes below zero. [`gen_seq_lens`] reproduces that, because a seed names exactly these
//! lengths; [`gen_seq_lens_valid`] is for everyone else.

use crate::{Error, Padded, TorchRandom};

/// Lengths of `sequences` sequences on each of `world_size` ranks, `tokens` in every row. Lengths may be zero or negative.
///
/// Sums run from left to right in float32, where torch's order depends on the machine: of 1000 seeds a few rows differ by
/// one token at 16 sequences and more. Keep the lengths next to the seed.
///
/// # Errors
/// [`Error::NoRanks`], [`Error::TooLarge`], [`Error::TooFewTokens`] without any sequence, [`Error::Overflow32`] beyond `i32`.
pub fn gen_seq_lens(random: &mut TorchRandom, world_size: u32, sequences: u32, tokens: u32) -> Result<Padded, Error> {
    if world_size == 0 {
        return Err(Error::NoRanks);
    }
    if sequences == 0 {
        return Err(Error::TooFewTokens { tokens, sequences });
    }
    if u64::from(world_size) * u64::from(sequences) > MOST_SEQUENCES {
        return Err(Error::TooLarge { shape: vec![world_size as usize, sequences as usize] });
    }
    let total = i32::try_from(tokens)
        .map_err(|_| Error::Overflow32 { what: "the tokens of one rank, which the original counts in int32," })?;
    let mut lengths = Padded::filled(&[world_size as usize, sequences as usize], 0)?;
    let least = (0.25 / f64::from(sequences)) as f32;
    let mut shares = vec![0_f32; sequences as usize];
    for rank in 0..world_size as usize {
        shares.fill_with(|| random.uniform() + least);
        let sum = shares.iter().fold(0_f32, |sum, share| sum + share);
        let row = lengths.row_mut(rank);
        for (length, share) in row.iter_mut().zip(&shares) {
            *length = i64::from((share / sum * total as f32).round_ties_even() as i32);
        }
        let rest = i64::from(total) - row.iter().sum::<i64>();
        row[sequences as usize - 1] += rest;
    }
    Ok(lengths)
}

/// Two numbers in a file could ask for any amount of memory; this many sequences take 128 MiB.
const MOST_SEQUENCES: u64 = 1 << 24;

/// The same lengths wherever they are all positive. In the other rows every length below one becomes one, and what that takes
/// is taken from the longest sequence of the row, token by token, the first of equals first.
///
/// # Errors
/// Those of [`gen_seq_lens`]; [`Error::TooFewTokens`] with fewer tokens than sequences.
pub fn gen_seq_lens_valid(random: &mut TorchRandom, world_size: u32, sequences: u32, tokens: u32) -> Result<Padded, Error> {
    if tokens < sequences {
        return Err(Error::TooFewTokens { tokens, sequences });
    }
    let mut lengths = gen_seq_lens(random, world_size, sequences, tokens)?;
    for rank in 0..world_size as usize {
        repair(lengths.row_mut(rank));
    }
    Ok(lengths)
}

/// Raises lengths below one to one and lowers the longest until the sum is what it was.
fn repair(row: &mut [i64]) {
    let mut missing: i64 = row.iter().map(|&length| (1 - length).max(0)).sum();
    row.iter_mut().for_each(|length| *length = (*length).max(1));
    while missing > 0 {
        // As long as the sum allows one token each, the longest has more than one.
        let longest = row.iter().copied().max().unwrap_or(0);
        let Some(at) = row.iter().position(|&length| length == longest) else { return };
        row[at] -= 1;
        missing -= 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn drawn(seed: u64, world_size: u32, sequences: u32, tokens: u32) -> Vec<i64> {
        gen_seq_lens(&mut TorchRandom::new(seed), world_size, sequences, tokens).unwrap().values().to_vec()
    }

    #[test]
    fn lengths_are_those_of_torch_also_where_they_are_not_positive() {
        assert_eq!(drawn(0, 2, 3, 120), [43, 64, 13, 20, 35, 65]);
        assert_eq!(drawn(42, 1, 3, 10), [4, 4, 2]);
        assert_eq!(drawn(2, 1, 10, 50), [7, 4, 7, 5, 8, 7, 5, 1, 7, -1]);
        assert_eq!(drawn(2, 2, 3, 0), [0; 6]);
    }

    #[test]
    fn too_few_tokens_are_refused_where_every_length_must_be_positive() {
        let refused = gen_seq_lens_valid(&mut TorchRandom::new(0), 1, 4, 3);
        assert_eq!(refused, Err(Error::TooFewTokens { tokens: 3, sequences: 4 }));
        let tight = gen_seq_lens_valid(&mut TorchRandom::new(0), 1, 4, 4).unwrap();
        assert_eq!(tight.values(), [1, 1, 1, 1]);
    }

    proptest! {
        #[test]
        fn every_row_sums_to_its_tokens(seed: u64, world_size in 1..6_u32, sequences in 1..40_u32, more in 0..500_u32) {
            let tokens = sequences + more;
            for (exact, valid) in gen_seq_lens(&mut TorchRandom::new(seed), world_size, sequences, tokens).unwrap().rows()
                .zip(gen_seq_lens_valid(&mut TorchRandom::new(seed), world_size, sequences, tokens).unwrap().rows())
            {
                prop_assert_eq!(exact.iter().sum::<i64>(), i64::from(tokens));
                prop_assert_eq!(valid.iter().sum::<i64>(), i64::from(tokens));
                prop_assert!(valid.iter().all(|&length| length > 0));
                prop_assert!(exact.iter().any(|&length| length < 1) || exact == valid);
            }
        }
    }
}
