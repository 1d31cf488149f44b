//! `compute_attn_layout_seqlens`: the cumulative lengths that attention kernels for packed sequences take. Every query block is
//! aligned to the end of its run of keys and values, and attention is causal.

use super::query::{Place, check_lengths};
use crate::{Error, Padded};

/// Lengths of the tasks of every rank, in the order of their slots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttentionLayout {
    /// Per rank: where each task's queries begin, and the end of the last; `[0]` on a rank without tasks.
    pub cu_seqlens_q: Vec<Vec<i64>>,
    /// The same for its keys and values.
    pub cu_seqlens_kv: Vec<Vec<i64>>,
    /// Most queries of one task, per rank.
    pub max_seqlen_q: Vec<i64>,
    /// Most keys of one task, per rank.
    pub max_seqlen_kv: Vec<i64>,
    /// Tasks per rank.
    pub num_local_seqs_recv: Vec<i64>,
}

/// Queries (`shard_len`) and keys (`shard_cumsum`) of the tasks that `q_dispatch` gives to every rank.
///
/// # Errors
/// [`Error::NoRanks`], [`Error::Axes`], [`Error::Shape`], [`Error::NegativeLength`], [`Error::Destination`],
/// [`Error::Overflow`].
pub fn compute_attn_layout_seqlens(
    shard_len: &Padded,
    shard_cumsum: &Padded,
    q_dispatch: &Padded,
) -> Result<AttentionLayout, Error> {
    let (world_size, slots) = check(shard_len, shard_cumsum, q_dispatch)?;
    let mut layout = AttentionLayout {
        cu_seqlens_q: vec![vec![0]; world_size],
        cu_seqlens_kv: vec![vec![0]; world_size],
        max_seqlen_q: vec![0; world_size],
        max_seqlen_kv: vec![0; world_size],
        num_local_seqs_recv: vec![0; world_size],
    };
    for (at, &destination) in q_dispatch.values().iter().enumerate() {
        let Some(to) = Place::of(at, slots, 1).destination(destination, world_size)? else { continue };
        let (queries, keys) = (shard_len.values()[at], shard_cumsum.values()[at]);
        for (ends, length) in [(&mut layout.cu_seqlens_q[to], queries), (&mut layout.cu_seqlens_kv[to], keys)] {
            ends.push(ends.last().map_or(length, |end| end + length));
        }
        layout.max_seqlen_q[to] = layout.max_seqlen_q[to].max(queries);
        layout.max_seqlen_kv[to] = layout.max_seqlen_kv[to].max(keys);
        layout.num_local_seqs_recv[to] += 1;
    }
    Ok(layout)
}

/// The layout as the documented revision computes it, which is wrong in three ways: there is no leading zero, entries without a
/// destination write to the first slot of rank 0 (the last write stays), and the number of tasks of rank d is taken over every
/// W-th entry from the d-th on. Here to compare with what that revision printed; nothing should be built on it.
///
/// # Errors
/// Those of [`compute_attn_layout_seqlens`].
pub fn documented_attn_layout_seqlens(
    shard_len: &Padded,
    shard_cumsum: &Padded,
    q_dispatch: &Padded,
) -> Result<AttentionLayout, Error> {
    let (world_size, slots) = check(shard_len, shard_cumsum, q_dispatch)?;
    let mut received = vec![0_usize; world_size];
    let mut places = Vec::with_capacity(q_dispatch.values().len());
    for (at, &destination) in q_dispatch.values().iter().enumerate() {
        places.push(match Place::of(at, slots, 1).destination(destination, world_size)? {
            Some(to) => {
                received[to] += 1;
                (to, received[to] - 1)
            }
            None => (0, 0),
        });
    }
    let width = places.iter().map(|place| place.1 + 1).max().unwrap_or(0);
    let mut num_local_seqs_recv = vec![0; world_size];
    for (at, place) in places.iter().enumerate() {
        let tasks = &mut num_local_seqs_recv[at % world_size];
        *tasks = (place.1 as i64 + 1).max(*tasks);
    }
    let scatter = |lengths: &Padded| -> Result<Padded, Error> {
        let mut tasks = Padded::filled(&[world_size, width], 0)?;
        for (&(to, slot), &length) in places.iter().zip(lengths.values()) {
            tasks.row_mut(to)[slot] = length;
        }
        Ok(tasks)
    };
    let (queries, keys) = (scatter(shard_len)?, scatter(shard_cumsum)?);
    Ok(AttentionLayout {
        cu_seqlens_q: queries.rows().map(running_sums).collect(),
        cu_seqlens_kv: keys.rows().map(running_sums).collect(),
        max_seqlen_q: queries.rows().map(|row| row.iter().copied().max().unwrap_or(0)).collect(),
        max_seqlen_kv: keys.rows().map(|row| row.iter().copied().max().unwrap_or(0)).collect(),
        num_local_seqs_recv,
    })
}

fn running_sums(lengths: &[i64]) -> Vec<i64> {
    lengths
        .iter()
        .scan(0, |end, length| {
            Some({
                *end += length;
                *end
            })
        })
        .collect()
}

fn check(shard_len: &Padded, shard_cumsum: &Padded, q_dispatch: &Padded) -> Result<(usize, usize), Error> {
    let &[world_size, slots] = q_dispatch.shape() else {
        return Err(Error::Axes {
            what: "q_dispatch",
            expected: "ranks and slots are asked for",
            found: q_dispatch.shape().len(),
        });
    };
    if world_size == 0 {
        return Err(Error::NoRanks);
    }
    shard_len.expect_shape("shard_len", &[world_size, slots])?;
    shard_cumsum.expect_shape("shard_cumsum", &[world_size, slots])?;
    check_lengths(shard_len, 1)?;
    check_lengths(shard_cumsum, 1)?;
    Ok((world_size, slots))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rank_without_tasks_has_one_zero_and_no_maximum() -> Result<(), Error> {
        let (lengths, dispatch) = (Padded::new(&[2, 1], vec![3, 4])?, Padded::new(&[2, 1], vec![1, 1])?);
        let layout = compute_attn_layout_seqlens(&lengths, &lengths, &dispatch)?;
        assert_eq!(layout.cu_seqlens_q, [vec![0], vec![0, 3, 7]]);
        assert_eq!((layout.max_seqlen_q, layout.num_local_seqs_recv), (vec![0, 4], vec![0, 2]));
        Ok(())
    }
}
