//! Metadata in tokens (dispatch spec 2.3 to 2.6).

use crate::metadata::{AttentionLayout, KeyValueMapping, Metadata, QkvDispatch, RawDispatch};
use crate::{Batch, Error, Padded};

/// A shard, or a copy of one, on its way.
struct Sent {
    rank: usize,
    slot: usize,
    copy: usize,
    to: usize,
    tokens: i64,
    /// Where it begins in the linear layout, copies in planes of their own.
    home: i64,
    /// Where it begins at its destination, in tokens and in slots.
    token: i64,
    place: usize,
}

/// Entries in global order: by rank, slot and copy.
fn entries(shape: &[usize]) -> impl Iterator<Item = (usize, usize, usize)> {
    let (slots, copies) = (shape[1], shape.get(2).copied().unwrap_or(1));
    (0..shape[0]).flat_map(move |rank| (0..slots).flat_map(move |slot| (0..copies).map(move |copy| (rank, slot, copy))))
}

/// `compute_metadata`: at its destination a shard begins where all shards before it in global order end.
///
/// # Errors
/// [`Error::TooLarge`].
pub fn compute_metadata(seq_len: &Padded, dispatch: &Padded) -> Result<(Metadata, Metadata), Error> {
    let ranks = dispatch.shape()[0];
    let mut received: Vec<Vec<Sent>> = (0..ranks).map(|_| Vec::new()).collect();
    for ((rank, slot, copy), &to) in entries(dispatch.shape()).zip(dispatch.values()) {
        let (lengths, Ok(to)) = (seq_len.row(rank), usize::try_from(to)) else { continue };
        let home = copy as i64 * lengths.iter().sum::<i64>() + lengths[..slot].iter().sum::<i64>();
        received[to].push(Sent { rank, slot, copy, to, tokens: lengths[slot], home, token: 0, place: 0 });
    }
    for here in &mut received {
        let mut end = 0;
        for (place, sent) in here.iter_mut().enumerate() {
            (sent.token, sent.place) = (end, place);
            end += sent.tokens;
        }
    }
    let copied = dispatch.shape().len() == 3;
    let slots_at: Vec<usize> = received.iter().map(Vec::len).collect();
    let sent: Vec<Sent> = received.into_iter().flatten().collect();
    let (mut forward, mut reverse) = pair(seq_len, dispatch.shape(), &slots_at, &sent)?;
    let with_tokens = |row: &[i64]| row.iter().filter(|&&tokens| tokens > 0).count() as i64;
    forward.num_seqs = Padded::flat(seq_len.rows().map(with_tokens).collect());
    reverse.num_seqs = Padded::flat(reverse.seq_len.rows().map(with_tokens).collect());
    if !copied {
        (reverse.seq_recv_mask, reverse.recv_seq_lens) = (None, None);
    }
    Ok((forward, reverse))
}

/// `compute_metadata_kv`: a copy begins where the run of the query that it serves begins, plus the tokens of its document before
/// it; its slot is the first of that query plus its own place in the document.
///
/// # Errors
/// [`Error::TooLarge`].
pub fn compute_metadata_kv(mapping: &KeyValueMapping<'_>) -> Result<(Metadata, Metadata), Error> {
    let shape = mapping.kv_to_q_rank.shape();
    let destination = |rank: usize, slot: usize| usize::try_from(mapping.q_dispatch.row(rank)[slot]).ok();
    let queries_at = |to: usize| entries(&shape[..2]).filter(move |&(rank, slot, _)| destination(rank, slot) == Some(to));
    let sum = |to: usize, before: Option<(usize, usize)>, of: &Padded| -> i64 {
        let earlier = queries_at(to).map(|(rank, slot, _)| (rank, slot));
        earlier.take_while(|&query| Some(query) != before).map(|(rank, slot)| of.row(rank)[slot]).sum()
    };
    let mut sent = Vec::new();
    for ((rank, slot, copy), pair) in entries(shape).zip(mapping.kv_to_q_mapping.values().chunks(2)) {
        let (Ok(query_rank), Ok(query_slot)) = (usize::try_from(pair[0]), usize::try_from(pair[1])) else { continue };
        let Some(to) = destination(query_rank, query_slot) else { continue };
        let (query, lengths) = (Some((query_rank, query_slot)), mapping.seq_len.row(rank));
        let nth = mapping.kv_to_q_rank.row(rank)[slot * shape[2] + copy];
        sent.push(Sent {
            rank,
            slot,
            copy,
            to,
            tokens: lengths[slot],
            home: copy as i64 * lengths.iter().sum::<i64>() + lengths[..slot].iter().sum::<i64>(),
            token: sum(to, query, mapping.q_to_num_kv_token) + mapping.kv_context_size.row(rank)[slot],
            place: (sum(to, query, mapping.q_to_num_kv_seq) + nth) as usize,
        });
    }
    let slots_at: Vec<usize> = (0..shape[0]).map(|to| sum(to, None, mapping.q_to_num_kv_seq) as usize).collect();
    let (mut forward, mut reverse) = pair(mapping.seq_len, shape, &slots_at, &sent)?;
    forward.num_seqs = mapping.num_seqs.clone();
    reverse.num_seqs = Padded::flat(slots_at.iter().map(|&slots| slots as i64).collect());
    Ok((forward, reverse))
}

/// Both directions of `sent`; `num_seqs` is left to the caller.
fn pair(seq_len: &Padded, shape: &[usize], slots_at: &[usize], sent: &[Sent]) -> Result<(Metadata, Metadata), Error> {
    let (ranks, copies) = (shape[0], shape.get(2).copied().unwrap_or(1));
    let (mut dst_rank, mut dst_offset) = (Padded::filled(shape, -1)?, Padded::filled(shape, 0)?);
    let mut mask = Padded::filled(shape, 0)?;
    let back = [ranks, slots_at.iter().copied().max().unwrap_or(0)];
    let (mut from, mut home, mut lengths) = (Padded::filled(&back, -1)?, Padded::filled(&back, 0)?, Padded::filled(&back, 0)?);
    let mut tokens = vec![vec![0; ranks]; ranks];
    for sent in sent {
        let at = sent.slot * copies + sent.copy;
        dst_rank.row_mut(sent.rank)[at] = sent.to as i64;
        dst_offset.row_mut(sent.rank)[at] = sent.token;
        mask.row_mut(sent.rank)[at] = 1;
        from.row_mut(sent.to)[sent.place] = sent.rank as i64;
        home.row_mut(sent.to)[sent.place] = sent.home;
        lengths.row_mut(sent.to)[sent.place] = sent.tokens;
        tokens[sent.to][sent.rank] += sent.tokens;
    }
    let matrix = |entry: &dyn Fn(usize, usize) -> i64| {
        let row = |at: usize| (0..ranks).map(|peer| entry(at, peer)).collect::<Vec<_>>();
        let totals: Vec<i64> = (0..ranks).map(|at| row(at).iter().sum()).collect();
        let rows = (0..ranks).flat_map(|at| row(at).into_iter().chain([totals[at]])).collect();
        Padded::new(&[ranks, ranks + 1], rows).map(|matrix| (matrix, Some(totals)))
    };
    let (num_recv_tokens, num_total_recv_tokens) = matrix(&|at, peer| tokens[at][peer])?;
    let (back_tokens, back_totals) = matrix(&|at, peer| tokens[peer][at])?;
    let num_seqs = Padded::flat(Vec::new());
    let forward = Metadata {
        dst_rank,
        dst_offset,
        seq_len: seq_len.clone(),
        num_recv_tokens,
        seq_recv_mask: None,
        recv_seq_lens: None,
        num_seqs: num_seqs.clone(),
        world_size: ranks,
        num_total_recv_tokens,
    };
    let reverse = Metadata {
        dst_rank: from,
        dst_offset: home,
        seq_len: lengths,
        num_recv_tokens: back_tokens,
        seq_recv_mask: Some(mask),
        recv_seq_lens: Some(seq_len.clone()),
        num_seqs,
        world_size: ranks,
        num_total_recv_tokens: back_totals,
    };
    Ok((forward, reverse))
}

/// `compute_attn_layout_seqlens`: every rank's tasks in global order, both kinds of lengths summed up.
#[must_use]
pub fn compute_attn_layout_seqlens(shard_len: &Padded, shard_cumsum: &Padded, q_dispatch: &Padded) -> AttentionLayout {
    let tasks = |to: usize, lengths: &Padded| -> Vec<i64> {
        let here = lengths.values().iter().zip(q_dispatch.values()).filter(|(_, at)| **at == to as i64);
        here.map(|(length, _)| *length).collect()
    };
    let ranks = 0..q_dispatch.shape()[0];
    let each = |lengths: &Padded| ranks.clone().map(|to| tasks(to, lengths)).collect::<Vec<_>>();
    let (queries, keys) = (each(shard_len), each(shard_cumsum));
    let sums =
        |rows: &[Vec<i64>]| rows.iter().map(|row| (0..=row.len()).map(|end| row[..end].iter().sum()).collect()).collect();
    let longest = |rows: &[Vec<i64>]| rows.iter().map(|row| row.iter().copied().max().unwrap_or(0)).collect();
    AttentionLayout {
        cu_seqlens_q: sums(&queries),
        cu_seqlens_kv: sums(&keys),
        max_seqlen_q: longest(&queries),
        max_seqlen_kv: longest(&keys),
        num_local_seqs_recv: queries.iter().map(|row| row.len() as i64).collect(),
    }
}

/// The eight input arrays of `batch`: shard k of a document is needed by the queries of shards k to the last.
///
/// # Errors
/// [`Error::TooLarge`].
pub fn raw_dispatch(batch: &Batch, copies: usize) -> Result<RawDispatch, Error> {
    let ranks = batch.world_size() as usize;
    // Every shard by its number in the batch: its rank and slot, its document's first shard, and the end of that document.
    let mut held = vec![Vec::new(); ranks];
    let mut shards: Vec<(usize, usize, usize, usize)> = Vec::new();
    for document in batch.documents() {
        let first = shards.len();
        for shard in document {
            let rank = shard.linear.0 as usize;
            shards.push((rank, held[rank].len(), first, first + document.len()));
            held[rank].push(shards.len() - 1);
        }
    }
    let tokens = |at: usize| i64::from(batch.shards()[at].tokens);
    let width = held.iter().map(Vec::len).max().unwrap_or(0);
    let table = |padding: i64, of: &dyn Fn(usize) -> i64| {
        let row = |row: &Vec<usize>| {
            let shards = row.iter().map(|&at| of(at));
            shards.chain(std::iter::repeat_n(padding, width - row.len())).collect::<Vec<_>>()
        };
        Padded::new(&[ranks, width], held.iter().flat_map(row).collect())
    };
    let served = |rank: usize, slot: usize, copy: usize| {
        let &at = held[rank].get(slot)?;
        (at + copy < shards[at].3).then_some((at, at + copy))
    };
    let all = || entries(&[ranks, width, copies]).map(|(rank, slot, copy)| served(rank, slot, copy)).collect::<Vec<_>>();
    let pairs = all().into_iter().flat_map(|served| match served {
        Some((_, query)) => [shards[query].0 as i64, shards[query].1 as i64],
        None => [-1, -1],
    });
    let nth = all().into_iter().map(|served| served.map_or(-1, |(at, _)| (at - shards[at].2) as i64));
    let context = |at: usize| (shards[at].2..at).map(tokens).sum::<i64>();
    Ok(RawDispatch {
        shard_len: table(0, &tokens)?,
        num_shards: Padded::flat(held.iter().map(|row| row.len() as i64).collect()),
        q_dispatch: table(-1, &|at| i64::from(batch.shards()[at].attention.0))?,
        kv_to_q_mapping: Padded::new(&[ranks, width, copies, 2], pairs.collect())?,
        kv_to_q_rank: Padded::new(&[ranks, width, copies], nth.collect())?,
        kv_context_size: table(0, &context)?,
        q_to_num_kv_seq: table(0, &|at| (at - shards[at].2) as i64 + 1)?,
        q_to_num_kv_token: table(0, &|at| context(at) + tokens(at))?,
    })
}

/// All five objects that follow from the input arrays.
///
/// # Errors
/// [`Error::TooLarge`].
pub fn whole(raw: &RawDispatch) -> Result<QkvDispatch, Error> {
    let (fwd_q, rev_q) = compute_metadata(&raw.shard_len, &raw.q_dispatch)?;
    let (fwd_kv, rev_kv) = compute_metadata_kv(&raw.key_value_mapping())?;
    let attention = compute_attn_layout_seqlens(&raw.shard_len, &raw.q_to_num_kv_token, &raw.q_dispatch);
    Ok(QkvDispatch { fwd_q, rev_q, fwd_kv, rev_kv, attention })
}
