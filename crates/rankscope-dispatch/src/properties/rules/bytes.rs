//! Metadata in bytes (dispatch spec 2.8 and 2.9). A message from i to j holds what i sends j of one tensor after the other; so
//! a piece begins where its message begins, plus the bytes of the pieces before it in the same message.

use std::collections::BTreeMap;

use crate::alltoall::{
    FastAllToAll, GradientSums, LogicalOutput, LogicalShape, Offsets, PairMatrix, PlannerOptions, PlannerOutput, SeqLens,
};
use crate::export::TaskLengths;
use crate::metadata::{Metadata, RawDispatch};
use crate::{Batch, Error, Rows, Shard};

/// A shard, or a copy of one, in a message.
#[derive(Clone, Copy)]
struct Piece {
    from: usize,
    slot: usize,
    copy: usize,
    to: usize,
    place: usize,
    tokens: u64,
    /// The place that holds the same shard already; then nothing is sent.
    same_as: Option<usize>,
}

/// A tensor: its pieces in the order of messages, and what the arrays around them look like.
#[derive(Clone)]
struct Tensor {
    pieces: Vec<Piece>,
    /// Tokens by rank and slot, before and after.
    send: Vec<Vec<u64>>,
    recv: Vec<Vec<u64>>,
    /// Copies of every slot of a rank; `None` where slots have no axis of copies.
    copies: Option<Vec<usize>>,
    /// What stands where nothing is sent.
    unused: i64,
}

impl Tensor {
    fn shape(&self, elements: u64) -> LogicalShape {
        let tokens = |lens: &Vec<u64>| lens.iter().sum::<u64>();
        let send = |(rank, lens): (usize, &Vec<u64>)| match &self.copies {
            Some(copies) => vec![copies[rank] as u64, tokens(lens), elements],
            None => vec![tokens(lens), elements],
        };
        LogicalShape {
            send: self.send.iter().enumerate().map(send).collect(),
            recv: self.recv.iter().map(|lens| vec![tokens(lens), elements]).collect(),
        }
    }

    fn lens(&self) -> SeqLens {
        SeqLens { send: self.send.clone(), recv: self.recv.clone() }
    }
}

/// One all-to-all of `tensors`, each with the bytes of a row and the slots that its send offsets have room for.
fn all_to_all(tensors: &[(&Tensor, u64, &[usize])]) -> FastAllToAll {
    let ranks = tensors[0].0.send.len();
    let sent = |tensor: &Tensor| tensor.pieces.clone().into_iter().filter(|piece| piece.same_as.is_none());
    let mut size = vec![vec![0; ranks]; ranks];
    for (tensor, row, _) in tensors {
        sent(tensor).for_each(|piece| size[piece.from][piece.to] += piece.tokens * row);
    }
    let matrix = |entry: &dyn Fn(usize, usize) -> u64| -> PairMatrix {
        (0..ranks).map(|i| (0..ranks).map(|j| entry(i, j)).collect()).collect()
    };
    let sender_send_disp = matrix(&|i, j| (0..j).map(|earlier| size[i][earlier]).sum());
    let sender_recv_disp = matrix(&|i, j| (0..i).map(|earlier| size[earlier][j]).sum());

    let mut before: BTreeMap<(usize, usize), u64> = BTreeMap::new();
    let (mut send_memcpy, mut recv_memcpy) = (Vec::new(), Vec::new());
    for (tensor, row, slots) in tensors {
        let mut send: Vec<Vec<Vec<i64>>> = (0..ranks)
            .map(|rank| vec![vec![tensor.unused; slots[rank]]; tensor.copies.as_ref().map_or(1, |copies| copies[rank])])
            .collect();
        let mut recv: Vec<Vec<i64>> = tensor.recv.iter().map(|lens| vec![0; lens.len()]).collect();
        for piece in &tensor.pieces {
            if let Some(place) = piece.same_as {
                recv[piece.to][piece.place] = recv[piece.to][place];
                continue;
            }
            let bytes = before.entry((piece.from, piece.to)).or_default();
            send[piece.from][piece.copy][piece.slot] = (sender_send_disp[piece.from][piece.to] + *bytes) as i64;
            recv[piece.to][piece.place] = (sender_recv_disp[piece.from][piece.to] + *bytes) as i64;
            *bytes += piece.tokens * row;
        }
        let planes = |mut planes: Vec<Vec<i64>>| match tensor.copies {
            Some(_) => Offsets::Replicas(planes),
            None => Offsets::Shards(planes.swap_remove(0)),
        };
        send_memcpy.push(send.into_iter().map(planes).collect());
        recv_memcpy.push(recv.into_iter().map(Offsets::Shards).collect());
    }
    FastAllToAll {
        recver_transfer_sz: matrix(&|i, j| size[j][i]),
        sender_transfer_sz: size,
        sender_send_disp,
        sender_recv_disp,
        send_memcpy,
        recv_memcpy,
        seq_lens: Vec::new(),
        tensor_shape: Vec::new(),
        kv_replica_mask: None,
        kv_grad_send_dedup: None,
    }
}

/// The way back: what was received is sent, from where it lies to where it came from.
fn turned(there: &FastAllToAll) -> FastAllToAll {
    let ranks = there.sender_transfer_sz.len();
    let swapped = |of: &PairMatrix| -> PairMatrix { (0..ranks).map(|i| (0..ranks).map(|j| of[j][i]).collect()).collect() };
    FastAllToAll {
        sender_transfer_sz: swapped(&there.sender_transfer_sz),
        recver_transfer_sz: there.sender_transfer_sz.clone(),
        sender_send_disp: swapped(&there.sender_recv_disp),
        sender_recv_disp: swapped(&there.sender_send_disp),
        send_memcpy: there.recv_memcpy.clone(),
        recv_memcpy: there.send_memcpy.clone(),
        seq_lens: there.seq_lens.iter().map(|l| SeqLens { send: l.recv.clone(), recv: l.send.clone() }).collect(),
        tensor_shape: there.tensor_shape.iter().map(|s| LogicalShape { send: s.recv.clone(), recv: s.send.clone() }).collect(),
        kv_replica_mask: there.kv_replica_mask.clone(),
        kv_grad_send_dedup: None,
    }
}

/// Elements of a row of `elements` that is padded to 16 bytes.
fn padded(rows: &Rows, elements: u64) -> u64 {
    (elements * u64::from(rows.element_bytes)).div_ceil(16) * 16 / u64::from(rows.element_bytes.max(1))
}

/// Queries, keys and values in one all-to-all.
fn fused(queries: &Tensor, keys: &Tensor, elements: [u64; 2], rows: &Rows, mask: &[Vec<Vec<u8>>]) -> FastAllToAll {
    let slots: Vec<usize> = queries.send.iter().map(Vec::len).collect();
    let [query, key] = elements.map(|elements| elements * u64::from(rows.element_bytes));
    FastAllToAll {
        seq_lens: vec![queries.lens(), keys.lens()],
        tensor_shape: vec![queries.shape(elements[0]), keys.shape(elements[1])],
        kv_replica_mask: Some(mask.to_vec()),
        ..all_to_all(&[(queries, query, &slots), (keys, key, &slots), (keys, key, &slots)])
    }
}

/// Rows of `elements` where the queries go.
fn alone(queries: &Tensor, elements: u64, rows: &Rows, slots: &[usize]) -> FastAllToAll {
    FastAllToAll {
        seq_lens: vec![queries.lens()],
        tensor_shape: vec![queries.shape(elements)],
        ..all_to_all(&[(queries, elements * u64::from(rows.element_bytes), slots)])
    }
}

/// `compute_e2e_fa2a_metadata`: queries by slot, then keys by copy and slot, then values likewise.
///
/// # Errors
/// [`Error::TooLarge`].
pub fn compute_e2e_fa2a_metadata(raw: &RawDispatch, rows: &Rows) -> Result<LogicalOutput, Error> {
    let whole = super::whole(raw)?;
    let ranks = raw.num_shards.values().len();
    let used = |rank: usize| raw.num_shards.values()[rank] as usize;
    let send: Vec<Vec<u64>> =
        (0..ranks).map(|rank| raw.shard_len.row(rank)[..used(rank)].iter().map(|&tokens| tokens as u64).collect()).collect();
    let copies = raw.kv_to_q_rank.shape()[2];

    // What arrives is what the metadata in tokens say of the way back.
    let recv = |back: &Metadata| -> Vec<Vec<u64>> {
        let row = |to: usize| {
            let lens = back.dst_rank.row(to).iter().zip(back.seq_len.row(to));
            lens.filter(|(rank, _)| **rank >= 0).map(|(_, tokens)| *tokens as u64).collect()
        };
        (0..ranks).map(row).collect()
    };
    let mut queries = Vec::new();
    let mut next = vec![0; ranks];
    for (from, lens) in send.iter().enumerate() {
        for (slot, &tokens) in lens.iter().enumerate() {
            let Ok(to) = usize::try_from(raw.q_dispatch.row(from)[slot]) else { continue };
            queries.push(Piece { from, slot, copy: 0, to, place: next[to], tokens, same_as: None });
            next[to] += 1;
        }
    }
    let first_key = |query: &Piece| -> i64 {
        let earlier = queries.iter().filter(|other| other.to == query.to && other.place < query.place);
        earlier.map(|other| raw.q_to_num_kv_seq.row(other.from)[other.slot]).sum()
    };
    let first_key: BTreeMap<_, _> =
        queries.iter().map(|query| ((query.from, query.slot), (query.to, first_key(query)))).collect();
    let (mut keys, mut mask) = (Vec::new(), Vec::new());
    for (from, lens) in send.iter().enumerate() {
        mask.push(vec![vec![0; copies]; lens.len()]);
        #[expect(clippy::needless_range_loop, reason = "copies lie inside slots in the mask, and outside them here")]
        for copy in 0..copies {
            for (slot, &tokens) in lens.iter().enumerate() {
                let at = slot * copies + copy;
                let pair = &raw.kv_to_q_mapping.row(from)[2 * at..][..2];
                let Some(&(to, first)) = first_key.get(&(pair[0] as usize, pair[1] as usize)) else { continue };
                let place = (first + raw.kv_to_q_rank.row(from)[at]) as usize;
                keys.push(Piece { from, slot, copy, to, place, tokens, same_as: None });
                mask[from][slot][copy] = 1;
            }
        }
    }
    let queries = Tensor { pieces: queries, send: send.clone(), recv: recv(&whole.rev_q), copies: None, unused: 0 };
    let keys = Tensor { pieces: keys, send, recv: recv(&whole.rev_kv), copies: Some(vec![copies; ranks]), unused: 0 };
    let (q, kv, lse) = (u64::from(rows.hidden_q), u64::from(rows.hidden_kv), u64::from(rows.lse));
    let qkv_fwd = fused(&queries, &keys, [q, kv], rows, &mask);
    // Outputs have room for all slots of the padded arrays.
    let attn_out_bwd = alone(&queries, padded(rows, q + lse), rows, &vec![raw.q_dispatch.width(); ranks]);
    let (qkv_bwd, attn_out_fwd) = (turned(&qkv_fwd), turned(&attn_out_bwd));
    Ok(LogicalOutput { fa_params: whole.attention, qkv_fwd, qkv_bwd, attn_out_fwd, attn_out_bwd })
}

/// `from_planner_output`: documents in their order, shards from start to end; every query brings the keys up to its own end, and
/// of those that its rank has been sent already only their place.
#[must_use]
pub fn from_planner_output(batch: &Batch, rows: &Rows, options: PlannerOptions) -> PlannerOutput {
    let ranks = batch.world_size() as usize;
    let (mut send, mut recv, mut recv_keys) = (vec![Vec::new(); ranks], vec![Vec::new(); ranks], vec![Vec::new(); ranks]);
    let (mut queries, mut keys, mut first_uses) = (Vec::new(), Vec::new(), BTreeMap::new());
    for document in batch.documents() {
        let mut here: Vec<(usize, usize, u64)> = Vec::new();
        for shard in document {
            let (from, to, tokens) = (shard.linear.0 as usize, shard.attention.0 as usize, u64::from(shard.tokens));
            let slot = send[from].len();
            queries.push(Piece { from, slot, copy: 0, to, place: recv[to].len(), tokens, same_as: None });
            send[from].push(tokens);
            recv[to].push(tokens);
            here.push((from, slot, tokens));
            for &(from, slot, tokens) in &here {
                // Where the shard has been sent so far: rank and place, in the order of first use.
                let uses: &mut Vec<(usize, usize)> = first_uses.entry((from, slot)).or_default();
                let (known, place) = (uses.iter().position(|used| used.0 == to), recv_keys[to].len());
                let (copy, same_as) = known.map_or((uses.len(), None), |copy| (copy, Some(uses[copy].1)));
                keys.push(Piece { from, slot, copy, to, place, tokens, same_as });
                recv_keys[to].push(tokens);
                if same_as.is_none() {
                    uses.push((to, place));
                }
            }
        }
    }
    // Destinations of every shard, and the most of any shard of a rank.
    let mut destinations: Vec<Vec<usize>> = send.iter().map(|lens| vec![0; lens.len()]).collect();
    keys.iter().filter(|piece| piece.same_as.is_none()).for_each(|piece| destinations[piece.from][piece.slot] += 1);
    let copies: Vec<usize> = destinations.iter().map(|counts| counts.iter().copied().max().unwrap_or(0)).collect();
    let mask: Vec<Vec<Vec<u8>>> = destinations
        .iter()
        .zip(&copies)
        .map(|(counts, &copies)| counts.iter().map(|&count| (0..copies).map(|copy| u8::from(copy < count)).collect()).collect())
        .collect();
    let sums = (0..ranks).map(|rank| gradient_sums(&recv_keys[rank], keys.iter().filter(|piece| piece.to == rank))).collect();
    let slots: Vec<usize> = send.iter().map(Vec::len).collect();
    let queries = Tensor { pieces: queries, send: send.clone(), recv, copies: None, unused: 0 };
    let keys = Tensor { pieces: keys, send, recv: recv_keys, copies: Some(copies), unused: -1 };

    let (q, kv, lse) = (u64::from(rows.hidden_q), u64::from(rows.hidden_kv), u64::from(rows.lse));
    let carries_lse = options.is_pipeline_tick || options.is_resend_qkv;
    let qkv = fused(&queries, &keys, [padded(rows, q), kv], rows, &mask);
    let out = alone(&queries, padded(rows, if carries_lse { q + lse } else { q }), rows, &slots);
    let again = || fused(&queries, &keys, [padded(rows, 3 * q + lse), kv], rows, &mask);
    let gradients = FastAllToAll { kv_grad_send_dedup: Some(sums), ..turned(&qkv) };
    PlannerOutput {
        qkv_linear_to_attn: qkv,
        qkv_grad_attn_to_linear: (!options.is_pipeline_tick).then_some(gradients),
        out_attn_to_linear: turned(&out),
        out_grad_linear_to_attn: (!options.is_pipeline_tick).then(|| if options.is_resend_qkv { again() } else { out }),
        attn: (0..ranks).map(|rank| tasks(batch, rank)).collect(),
    }
}

/// Places of one rank that hold the same shard: the first of them, and where the tokens of the others begin.
fn gradient_sums<'a>(lens: &[u64], pieces: impl Iterator<Item = &'a Piece>) -> GradientSums {
    let mut others = vec![Vec::new(); lens.len()];
    let mut is_first = vec![1; lens.len()];
    for piece in pieces {
        if let Some(first) = piece.same_as {
            others[first].push(lens[..piece.place].iter().sum());
            is_first[piece.place] = 0;
        }
    }
    let num_copies: Vec<u64> = others.iter().map(|others| others.len() as u64).collect();
    let width = others.iter().map(Vec::len).max().unwrap_or(0).max(1);
    others.iter_mut().for_each(|others| others.resize(width, 0));
    GradientSums { num_copies, copy_start_id: others, main_copy_mask: is_first }
}

/// The tasks of `rank`: a shard's tokens as queries, everything of its document up to its end as keys.
fn tasks(batch: &Batch, rank: usize) -> TaskLengths {
    let tokens = |shards: &[Shard]| shards.iter().map(|shard| u64::from(shard.tokens)).sum::<u64>();
    let of_document = |document: &[Shard]| {
        let here = (0..document.len()).filter(|&at| document[at].attention.0 as usize == rank);
        here.map(|at| (tokens(&document[at..=at]), tokens(&document[..=at]))).collect::<Vec<_>>()
    };
    let (queries, keys): (Vec<u64>, Vec<u64>) = batch.documents().flat_map(of_document).unzip();
    let ends = |lengths: &[u64]| (0..=lengths.len()).map(|end| lengths[..end].iter().sum()).collect();
    TaskLengths {
        cu_seqlens_q: ends(&queries),
        cu_seqlens_kv: ends(&keys),
        max_seqlen_q: queries.iter().copied().max().unwrap_or(0),
        max_seqlen_kv: keys.iter().copied().max().unwrap_or(0),
    }
}
