//! The original's metadata executed: it must move what the sparse exchanges move.

#![expect(clippy::unwrap_used, reason = "a law that cannot be set up has failed")]

use proptest::prelude::*;
use rankscope_dispatch::alltoall::{
    FastAllToAll, PlannerOptions, compute_backward_resend_e2e_metadata, compute_e2e_fa2a_metadata, from_planner_output,
};
use rankscope_dispatch::metadata::RawDispatch;
use rankscope_dispatch::movement::{self, ElementType};
use rankscope_dispatch::{Batch, Direction, Error, Exchange, Rows, Shard, TensorRows};

const ROWS: Rows = Rows { hidden_q: 3, hidden_kv: 8, lse: 1, element_bytes: 2 };

/// Every byte of every input is another one, as far as bytes go.
fn inputs(exchange: &Exchange) -> Vec<Vec<Vec<u8>>> {
    let mut next = 0_u32;
    let mut byte = || {
        next = next.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (next >> 24) as u8
    };
    let mut tensors = |rows: &[u64]| {
        let sizes = exchange.tensors.iter().zip(rows).map(|(tensor, rows)| tensor.row_bytes * rows);
        sizes.map(|size| (0..size).map(|_| byte()).collect()).collect()
    };
    exchange.ranks.iter().map(|part| tensors(&part.input_rows)).collect()
}

/// What the original's messages have in common with ours.
#[derive(Clone, Copy, PartialEq)]
enum Messages {
    /// The same bytes.
    Same,
    /// The same rows, but keys that are used twice are sent twice.
    Repeated,
    /// The same, and rows are not padded.
    Unpadded,
}

/// Executes both on the same inputs and compares what arrives; of gradients only the first plane, which has the sums.
fn same(theirs: &FastAllToAll, batch: &Batch, direction: Direction, rows: &Rows, messages: Messages) {
    let ours = Exchange::new(batch, rows, direction).unwrap();
    let mut tensors = ours.tensors.clone();
    if messages == Messages::Unpadded {
        tensors.iter_mut().for_each(|tensor| tensor.wire_row_bytes = tensor.row_bytes);
    }
    let theirs = theirs.exchange(&tensors).unwrap();
    let inputs = inputs(&ours);
    let [moved, expected] = [&theirs, &ours].map(|exchange| {
        let mut ranks = movement::execute(exchange, ElementType::I16, &inputs).unwrap();
        if direction == Direction::Backward {
            for (rank, tokens) in ranks.iter_mut().zip(batch.linear_tokens()) {
                let first_plane = |tensor: &TensorRows| (tensor.row_bytes * tokens) as usize;
                rank.iter_mut().zip(&tensors).for_each(|(bytes, tensor)| bytes.truncate(first_plane(tensor)));
            }
        }
        ranks
    });
    assert_eq!(moved, expected, "{direction:?}");
    if messages == Messages::Same {
        assert_eq!(theirs.traffic(), ours.traffic(), "{direction:?}");
    }
}

/// The same documents with their shards on ascending ranks. The logical functions order tasks by where the shards live, a
/// batch by document; only then are these the same.
fn ascending(batch: &Batch) -> Batch {
    let mut ranks: Vec<_> = batch.shards().iter().map(|shard| shard.linear).collect();
    ranks.sort_unstable();
    let mut ranks = ranks.into_iter();
    let mut sorted = Batch::new(batch.world_size()).unwrap();
    for document in batch.documents() {
        let shards = document.iter().zip(ranks.by_ref()).map(|(shard, linear)| Shard { linear, ..*shard });
        sorted.push(&shards.collect::<Vec<_>>()).unwrap();
    }
    sorted
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn a_planners_output_moves_what_the_exchanges_move(batch in crate::batches::batch()) {
        let without_lse = Rows { lse: 0, ..ROWS };
        let plain = from_planner_output(&batch, &without_lse, PlannerOptions::default()).unwrap();
        same(&plain.qkv_linear_to_attn, &batch, Direction::Forward, &without_lse, Messages::Same);
        same(&plain.out_attn_to_linear, &batch, Direction::Output, &without_lse, Messages::Same);
        same(&plain.out_grad_linear_to_attn.unwrap(), &batch, Direction::OutputGradient, &without_lse, Messages::Same);
        let backward = plain.qkv_grad_attn_to_linear.unwrap();
        same(&backward, &batch, Direction::Backward, &without_lse, Messages::Same);

        let resend = PlannerOptions { is_resend_qkv: true, is_pipeline_tick: false };
        let resent = from_planner_output(&batch, &ROWS, resend).unwrap();
        same(&resent.out_grad_linear_to_attn.unwrap(), &batch, Direction::Resend, &ROWS, Messages::Same);
        same(&resent.out_attn_to_linear, &batch, Direction::Output, &ROWS, Messages::Same);
        prop_assert_eq!(resent.qkv_grad_attn_to_linear.unwrap(), backward);

        let tick = PlannerOptions { is_pipeline_tick: true, is_resend_qkv: false };
        let tick = from_planner_output(&batch, &ROWS, tick).unwrap();
        prop_assert_eq!(&tick.out_attn_to_linear, &resent.out_attn_to_linear);
        prop_assert_eq!(&tick.qkv_linear_to_attn, &plain.qkv_linear_to_attn);
        prop_assert!(tick.qkv_grad_attn_to_linear.is_none() && tick.out_grad_linear_to_attn.is_none());
    }

    #[test]
    fn logical_metadata_moves_what_the_exchanges_move(batch in crate::batches::batch()) {
        let batch = ascending(&batch);
        let replicas = batch.documents().map(<[_]>::len).max().unwrap_or(0);
        let raw = RawDispatch::new(&batch, replicas).unwrap();
        let step = compute_e2e_fa2a_metadata(&raw, &ROWS).unwrap();
        same(&step.qkv_fwd, &batch, Direction::Forward, &ROWS, Messages::Unpadded);
        same(&step.qkv_bwd, &batch, Direction::Backward, &ROWS, Messages::Unpadded);
        same(&step.attn_out_fwd, &batch, Direction::Output, &ROWS, Messages::Repeated);
        let resent = compute_backward_resend_e2e_metadata(&raw, &ROWS).unwrap();
        same(&resent.attn_out_qkv_bwd, &batch, Direction::Resend, &ROWS, Messages::Repeated);
        prop_assert_eq!(resent.qkv_bwd, step.qkv_bwd);
    }
}

#[test]
fn key_rows_that_cannot_be_padded_and_options_that_exclude_each_other_are_refused() {
    let batch = Batch::new(1).unwrap();
    let odd = Rows { hidden_kv: 4, ..ROWS };
    let refused = from_planner_output(&batch, &odd, PlannerOptions::default()).unwrap_err();
    assert_eq!(refused.to_string(), "key rows of 8 bytes: they must be a multiple of 16");
    let both = PlannerOptions { is_pipeline_tick: true, is_resend_qkv: true };
    assert!(matches!(from_planner_output(&batch, &ROWS, both), Err(Error::Options { .. })));
}
