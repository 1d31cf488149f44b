//! A dispatch that the caller spells out: sequences per rank, shards per sequence, a length and a destination per shard.

use rankscope_time::Rank;

use super::seeded::Drawn;
use crate::{Batch, Error, Padded, Shard};

/// The original's four arrays, padded: W ranks, S sequences on each, room for C shards of each.
#[derive(Clone, Copy, Debug)]
pub struct CustomMapping<'a> {
    /// W x S: tokens of each sequence; 0 from the first unused one on.
    pub seq_lens: &'a Padded,
    /// W x S: shards of each sequence.
    pub cp_num: &'a Padded,
    /// W x S x C: the rank of each shard's attention; -1 beyond the last shard.
    pub cp_dst: &'a Padded,
    /// W x S x C: tokens of each shard; 0 beyond the last shard.
    pub shard_lens: &'a Padded,
}

/// The dispatch that `mapping` spells out.
///
/// # Errors
/// [`Error::Shape`], [`Error::Axes`]; [`Error::Sequence`] when shards do not add up to their sequence, a used entry is empty,
/// an unused one is not, or an empty sequence comes before another; [`Error::RankOutOfRange`].
pub fn create_qkv_dispatch_with_custom_mapping(mapping: &CustomMapping<'_>) -> Result<Drawn, Error> {
    let &[ranks, sequences, degree] = mapping.cp_dst.shape() else {
        let found = mapping.cp_dst.shape().len();
        return Err(Error::Axes { what: "cp_dst", expected: "ranks, sequences and shards are asked for", found });
    };
    mapping.seq_lens.expect_shape("seq_lens", &[ranks, sequences])?;
    mapping.cp_num.expect_shape("cp_num", &[ranks, sequences])?;
    mapping.shard_lens.expect_shape("shard_lens", &[ranks, sequences, degree])?;

    let too_large = || Error::TooLarge { shape: mapping.cp_dst.shape().to_vec() };
    let mut batch = Batch::new(u32::try_from(ranks).map_err(|_| too_large())?)?;
    for rank in 0..ranks {
        let mut ended = false;
        for sequence in 0..sequences {
            let shards = mapping.shards(rank, sequence).map_err(|problem| Error::Sequence { rank, sequence, problem })?;
            if ended && !shards.is_empty() {
                return Err(Error::Sequence { rank, sequence, problem: "follows an empty sequence".into() });
            }
            ended = shards.is_empty();
            if !ended {
                batch.push(&shards)?;
            }
        }
    }
    Ok(Drawn { batch, max_cp_degree: u32::try_from(degree).map_err(|_| too_large())?, seq_lens: mapping.seq_lens.clone() })
}

impl CustomMapping<'_> {
    /// The shards of one sequence, or what is wrong with them.
    fn shards(&self, rank: usize, sequence: usize) -> Result<Vec<Shard>, String> {
        let [ranks, sequences, degree] = *self.cp_dst.shape() else { unreachable!("checked by the caller") };
        let at = rank * sequences + sequence;
        let (length, used) = (self.seq_lens.values()[at], self.cp_num.values()[at]);
        let used = usize::try_from(used)
            .ok()
            .filter(|&used| used <= degree)
            .ok_or_else(|| format!("{used} shards where there is room for 0 to {degree}"))?;
        let entries = at * degree..(at + 1) * degree;
        let (destinations, lengths) = (&self.cp_dst.values()[entries.clone()], &self.shard_lens.values()[entries]);

        let mut shards = Vec::with_capacity(used);
        let mut sum = 0_i64;
        for (shard, (&destination, &tokens)) in destinations.iter().zip(lengths).enumerate() {
            if shard >= used {
                if (destination, tokens) != (-1, 0) {
                    return Err(format!("shard {shard} is unused and must have destination -1 and length 0"));
                }
                continue;
            }
            let attention = u32::try_from(destination).ok().filter(|&rank| (rank as usize) < ranks);
            let attention =
                attention.ok_or_else(|| format!("shard {shard}: destination {destination} is not one of {ranks} ranks"))?;
            let tokens = u32::try_from(tokens).ok().filter(|&tokens| tokens > 0);
            let tokens = tokens.ok_or_else(|| format!("shard {shard}: its length must be positive and fit 32 bits"))?;
            sum += i64::from(tokens);
            shards.push(Shard { linear: Rank(rank as u32), attention: Rank(attention), tokens });
        }
        match sum == length {
            true => Ok(shards),
            false => Err(format!("its shards have {sum} tokens, itself {length}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ranks, two sequences, two shards; one value of one array changed by `spoil`.
    fn refusal(spoil: impl Fn(&mut [Padded; 4])) -> Error {
        let array = |shape: &[usize], values: &[i64]| Padded::new(shape, values.to_vec()).unwrap();
        let mut arrays = [
            array(&[2, 2], &[16, 8, 10, 0]),
            array(&[2, 2], &[2, 1, 2, 0]),
            array(&[2, 2, 2], &[1, 0, 1, -1, 0, 1, -1, -1]),
            array(&[2, 2, 2], &[8, 8, 8, 0, 4, 6, 0, 0]),
        ];
        let create = |[seq_lens, cp_num, cp_dst, shard_lens]: &[Padded; 4]| {
            create_qkv_dispatch_with_custom_mapping(&CustomMapping { seq_lens, cp_num, cp_dst, shard_lens })
        };
        assert_eq!(create(&arrays).unwrap().batch.linear_tokens(), [24, 10]);
        spoil(&mut arrays);
        create(&arrays).unwrap_err()
    }

    #[test]
    fn whatever_contradicts_itself_is_refused_at_its_place() {
        let at = |error: Error| match error {
            Error::Sequence { rank, sequence, .. } => (rank, sequence),
            other => panic!("{other}"),
        };
        assert_eq!(at(refusal(|arrays| arrays[0].values_mut()[2] = 11)), (1, 0), "the sum");
        assert_eq!(at(refusal(|arrays| arrays[1].values_mut()[1] = 3)), (0, 1), "more shards than room");
        assert_eq!(at(refusal(|arrays| arrays[2].values_mut()[0] = 2)), (0, 0), "no such rank");
        assert_eq!(at(refusal(|arrays| arrays[2].values_mut()[3] = 0)), (0, 1), "unused but sent");
        assert_eq!(at(refusal(|arrays| arrays[3].values_mut()[4] = 0)), (1, 0), "used but empty");
        let swapped = |arrays: &mut [Padded; 4]| {
            arrays[0].values_mut().copy_from_slice(&[0, 8, 10, 0]);
            arrays[1].values_mut().copy_from_slice(&[0, 1, 2, 0]);
            arrays[2].values_mut()[..2].fill(-1);
            arrays[3].values_mut()[..2].fill(0);
        };
        assert_eq!(at(refusal(swapped)), (0, 1), "an empty sequence in between");
    }

    #[test]
    fn arrays_that_do_not_fit_together_are_refused() {
        assert!(matches!(refusal(|arrays| arrays[0] = Padded::flat(vec![1])), Error::Shape { what: "seq_lens", .. }));
        assert!(matches!(refusal(|arrays| arrays[2] = Padded::flat(vec![1])), Error::Axes { what: "cp_dst", .. }));
    }
}
