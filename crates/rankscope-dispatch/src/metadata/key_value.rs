//! `compute_metadata_kv`: keys and values follow the queries. At its destination each query has the whole causal context as
//! one run, and the runs lie in the order of the queries; a shard that two queries need there is sent twice.

use super::counts::Counts;
use super::query::{Place, check_lengths, check_lengths_where, sent, starts};
use super::reverse::Reverse;
use super::{Compat, Metadata};
use crate::{Error, Padded};

/// Which queries need which keys and values: the original's arguments, without the two that follow from the others.
#[derive(Clone, Copy, Debug)]
pub struct KeyValueMapping<'a> {
    /// W x P x C x 2: rank and slot of the query that each copy of a key/value shard serves; -1 where there is no copy.
    pub kv_to_q_mapping: &'a Padded,
    /// W x P x C: which of that query's shards this is, from the start of the document; -1 where there is no copy.
    pub kv_to_q_rank: &'a Padded,
    /// W x P: tokens of the document before each shard.
    pub kv_context_size: &'a Padded,
    /// W x P: key/value shards that each query needs; of any value where there is no query.
    pub q_to_num_kv_seq: &'a Padded,
    /// W x P: key/value tokens that each query needs.
    pub q_to_num_kv_token: &'a Padded,
    /// W x P: tokens of each shard.
    pub seq_len: &'a Padded,
    /// W: slots in use.
    pub num_seqs: &'a Padded,
    /// W x P: where each query goes.
    pub q_dispatch: &'a Padded,
}

/// Where every copy of every key/value shard goes, and the way back of its gradient: copy c to plane c of its rank.
///
/// # Errors
/// Those of [`compute_metadata`](super::compute_metadata); [`Error::KeyValue`] where a copy serves a query that does not
/// exist, takes no place of its own, or where a query misses one of the shards it needs.
pub fn compute_metadata_kv(mapping: &KeyValueMapping<'_>, compat: Compat) -> Result<(Metadata, Metadata), Error> {
    let (world_size, slots, replicas) = mapping.check()?;
    let queries = mapping.queries(world_size, slots)?;
    let (starts, held) = starts(mapping.seq_len)?;

    let shape = [world_size, slots, replicas];
    let (mut dst_rank, mut dst_offset) = (Padded::filled(&shape, -1)?, Padded::filled(&shape, 0)?);
    let mut counts = Counts::new(world_size)?;
    let mut reverse = Reverse::new(&queries.slots_at)?;
    let mut filled = vec![0; world_size];
    for (at, pair) in mapping.kv_to_q_mapping.values().chunks_exact(2).enumerate() {
        if pair[0] == -1 {
            continue;
        }
        let place = Place::of(at, slots, replicas);
        let refuse = |problem| Error::KeyValue { rank: place.rank, slot: place.slot, replica: place.replica, problem };
        let query = query(pair, world_size, slots).ok_or_else(|| refuse("it serves a query that does not exist"))?;
        let Ok(to) = usize::try_from(mapping.q_dispatch.values()[query]) else { continue };

        let tokens = mapping.seq_len.row(place.rank)[place.slot];
        let context = mapping.kv_context_size.row(place.rank)[place.slot];
        dst_rank.values_mut()[at] = to as i64;
        dst_offset.values_mut()[at] = queries.first_token[query] + context;

        let nth = mapping.kv_to_q_rank.values()[at];
        if !(0..mapping.q_to_num_kv_seq.values()[query]).contains(&nth) {
            return Err(refuse("its query does not need that many shards"));
        }
        let offset = place.replica as i64 * held[place.rank] + starts.row(place.rank)[place.slot];
        if !reverse.set(to, (queries.first_slot[query] + nth) as usize, place.rank, offset, tokens) {
            return Err(refuse("its place at the query is taken"));
        }
        filled[to] += 1;
        if compat == Compat::Exact {
            counts.add(to, place.rank, tokens);
        }
    }
    if let Some(rank) = (0..world_size).find(|&rank| filled[rank] != queries.slots_at[rank]) {
        let slot = reverse.dst_rank.row(rank).iter().position(|&from| from < 0).unwrap_or(0);
        return Err(Error::KeyValue {
            rank,
            slot,
            replica: 0,
            problem: "a query on this rank needs a shard that nobody sends",
        });
    }
    if compat == Compat::Documented {
        for (query, &to) in mapping.q_dispatch.values().iter().enumerate() {
            if let Ok(to) = usize::try_from(to) {
                counts.add(to, query / slots, mapping.q_to_num_kv_token.values()[query]);
            }
        }
    }

    let [(num_recv_tokens, totals), (rev_recv_tokens, rev_totals)] = counts.finish()?;
    let seq_recv_mask = Some(sent(&dst_rank)?);
    let forward = Metadata {
        dst_rank,
        dst_offset,
        seq_len: mapping.seq_len.clone(),
        num_recv_tokens,
        seq_recv_mask: None,
        recv_seq_lens: None,
        num_seqs: mapping.num_seqs.clone(),
        world_size,
        num_total_recv_tokens: Some(totals),
    };
    let back = Metadata {
        dst_rank: reverse.dst_rank,
        dst_offset: reverse.dst_offset,
        seq_len: reverse.seq_len,
        num_recv_tokens: rev_recv_tokens,
        seq_recv_mask,
        recv_seq_lens: Some(mapping.seq_len.clone()),
        num_seqs: Padded::flat(queries.slots_at),
        world_size,
        num_total_recv_tokens: Some(rev_totals),
    };
    Ok((forward, if compat == Compat::Documented { without_totals(back)? } else { back }))
}

/// The documented revision has no sums on the way back.
fn without_totals(mut back: Metadata) -> Result<Metadata, Error> {
    let ranks = back.world_size;
    let counts = back.num_recv_tokens.rows().flat_map(|row| row[..ranks].to_vec()).collect();
    back.num_recv_tokens = Padded::new(&[ranks, ranks], counts)?;
    back.num_total_recv_tokens = None;
    Ok(back)
}

/// Position of the query that a pair of rank and slot names.
fn query(pair: &[i64], world_size: usize, slots: usize) -> Option<usize> {
    let rank = usize::try_from(pair[0]).ok().filter(|&rank| rank < world_size)?;
    let slot = usize::try_from(pair[1]).ok().filter(|&slot| slot < slots)?;
    Some(rank * slots + slot)
}

/// Where the context of each query begins at its destination.
struct Queries {
    first_token: Vec<i64>,
    first_slot: Vec<i64>,
    /// Key/value slots of each rank.
    slots_at: Vec<i64>,
}

impl KeyValueMapping<'_> {
    /// Shapes, signs and sums; answers with ranks, slots and replicas.
    fn check(&self) -> Result<(usize, usize, usize), Error> {
        let &[world_size, slots, replicas, 2] = self.kv_to_q_mapping.shape() else {
            let found = self.kv_to_q_mapping.shape().len();
            return Err(Error::Axes {
                what: "kv_to_q_mapping",
                expected: "ranks, slots, replicas and a pair are asked for",
                found,
            });
        };
        if world_size == 0 {
            return Err(Error::NoRanks);
        }
        self.kv_to_q_rank.expect_shape("kv_to_q_rank", &[world_size, slots, replicas])?;
        self.num_seqs.expect_shape("num_seqs", &[world_size])?;
        for (what, tensor) in [
            ("kv_context_size", self.kv_context_size),
            ("q_to_num_kv_seq", self.q_to_num_kv_seq),
            ("q_to_num_kv_token", self.q_to_num_kv_token),
            ("seq_len", self.seq_len),
            ("q_dispatch", self.q_dispatch),
        ] {
            tensor.expect_shape(what, &[world_size, slots])?;
        }
        check_lengths(self.seq_len, replicas)?;
        // Contexts are offsets into the tokens that queries need, so both sums together bound every offset.
        for lengths in [self.kv_context_size, self.q_to_num_kv_token] {
            check_lengths(lengths, 2)?;
        }
        // From a planner's output the original pads this array, and only this one, with -1.
        check_lengths_where(self.q_to_num_kv_seq, 2, |rank, slot| self.q_dispatch.row(rank)[slot] >= 0)?;
        Ok((world_size, slots, replicas))
    }

    fn queries(&self, world_size: usize, slots: usize) -> Result<Queries, Error> {
        let (mut tokens_at, mut slots_at) = (vec![0; world_size], vec![0; world_size]);
        let all = self.q_dispatch.values().len();
        let (mut first_token, mut first_slot) = (vec![0; all], vec![0; all]);
        for (query, &destination) in self.q_dispatch.values().iter().enumerate() {
            if let Some(to) = Place::of(query, slots, 1).destination(destination, world_size)? {
                (first_token[query], first_slot[query]) = (tokens_at[to], slots_at[to]);
                tokens_at[to] += self.q_to_num_kv_token.values()[query];
                slots_at[to] += self.q_to_num_kv_seq.values()[query];
            }
        }
        Ok(Queries { first_token, first_slot, slots_at })
    }
}
