//! A hundred thousand plans satisfy every property, and a plan with one value changed does not.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rankscope_dispatch::draw::{Recipe, create_qkv_dispatch, create_qkv_dispatch_2cp};
use rankscope_dispatch::metadata::{Compat, RawDispatch, compute_metadata};
use rankscope_dispatch::plan::{LogicalPlan, TaskOrder};
use rankscope_dispatch::properties::{Property, Tensors, Violation, check, check_attention, check_mapping, check_metadata};
use rankscope_dispatch::{Batch, Error};

use crate::batches::{batches, replicas};
use crate::dense::dispatches;

/// The same plans on every machine.
fn runner(cases: u32) -> TestRunner {
    let seed = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    TestRunner::new_with_rng(Config { cases, failure_persistence: None, ..Config::default() }, seed)
}

/// Everything that must hold for the plans of one batch.
fn violations(batch: &Batch) -> Vec<Violation> {
    let mut found = Vec::new();
    for order in [TaskOrder::Documents, TaskOrder::Slots] {
        found.extend(check(batch, order, &LogicalPlan::new(batch, order).unwrap()));
    }
    let raw = RawDispatch::new(batch, replicas(batch)).unwrap();
    found.extend(check_mapping(&raw.key_value_mapping()).unwrap());
    let whole = raw.metadata(Compat::Exact).unwrap();
    found.extend(check_metadata(Tensors::Queries, &whole.fwd_q, &whole.rev_q));
    found.extend(check_metadata(Tensors::KeysAndValues, &whole.fwd_kv, &whole.rev_kv));
    found.extend(check_attention(&whole.fwd_q, &whole.rev_q, &whole.fwd_kv, &whole.attention));
    found
}

#[test]
fn seventy_thousand_batches_have_no_violation() {
    runner(70_000)
        .run(&batches(7), |batch| {
            prop_assert_eq!(violations(&batch), []);
            Ok(())
        })
        .unwrap();
}

#[test]
fn thirty_thousand_padded_dispatches_with_holes_have_no_violation() {
    runner(30_000)
        .run(&dispatches(), |(lengths, dispatch)| {
            let (forward, reverse) = compute_metadata(&lengths, &dispatch).unwrap();
            prop_assert_eq!(check_metadata(Tensors::Queries, &forward, &reverse), []);
            Ok(())
        })
        .unwrap();
}

#[test]
fn drawn_dispatches_have_no_violation_or_are_refused() {
    let recipes = (1..9_u32, 0..40_u32, 1..6_u32, 0..5_u32, any::<u64>(), any::<bool>());
    runner(5_000)
        .run(&recipes, |(world_size, tokens, num_seqs, log_degree, seed, twice)| {
            let max_cp_degree = if twice { 2 * world_size } else { 1 << log_degree };
            let total_seq_len = tokens * max_cp_degree;
            let recipe = Recipe { world_size, total_seq_len, num_seqs, max_cp_degree, seed, seq_lens: None };
            match if twice { create_qkv_dispatch_2cp(&recipe) } else { create_qkv_dispatch(&recipe) } {
                Ok(drawn) => {
                    prop_assert_eq!(violations(&drawn.batch), []);
                    let held = drawn.batch.linear_tokens();
                    prop_assert!(held.iter().all(|&held| held == u64::from(total_seq_len)), "no token is lost: {:?}", held);
                }
                Err(Error::Degree { .. }) => prop_assert!(max_cp_degree > world_size || !max_cp_degree.is_power_of_two()),
                Err(error) => prop_assert!(matches!(error, Error::NegativeLength { .. }), "{}", error),
            }
            Ok(())
        })
        .unwrap();
}

/// One value of one column, changed.
type Spoil = fn(&mut LogicalPlan, usize);

const SPOILED: &[(&str, Property, Spoil)] = &[
    ("queries.rank", Property::Destination, |plan, at| bump(&mut plan.queries.rank, at)),
    ("queries.offset", Property::Packing, |plan, at| bump(&mut plan.queries.offset, at)),
    ("key_values.rank", Property::Destination, |plan, at| bump(&mut plan.key_values.rank, at)),
    ("key_values.offset", Property::Packing, |plan, at| bump(&mut plan.key_values.offset, at)),
    ("query_returns.rank", Property::Bijection, |plan, at| bump(&mut plan.query_returns.rank, at)),
    ("query_returns.offset", Property::Bijection, |plan, at| bump(&mut plan.query_returns.offset, at)),
    ("query_returns.tokens", Property::Bijection, |plan, at| bump(&mut plan.query_returns.tokens, at)),
    ("key_value_returns.rank", Property::Causality, |plan, at| bump(&mut plan.key_value_returns.rank, at)),
    ("key_value_returns.offset", Property::Planes, |plan, at| bump(&mut plan.key_value_returns.offset, at)),
    ("key_value_returns.tokens", Property::Causality, |plan, at| bump(&mut plan.key_value_returns.tokens, at)),
    ("slot_tokens", Property::Destination, |plan, at| bump(&mut plan.slot_tokens, at)),
    ("cu_seqlens_q", Property::Lengths, |plan, at| bump(&mut plan.cu_seqlens_q, at)),
    ("cu_seqlens_kv", Property::Lengths, |plan, at| bump(&mut plan.cu_seqlens_kv, at)),
    ("slots", Property::Shape, |plan, at| bump(&mut plan.slots, at)),
    ("tasks", Property::Shape, |plan, at| bump(&mut plan.tasks, at)),
    ("copies", Property::Shape, |plan, at| bump(&mut plan.copies, at)),
    ("runs", Property::Shape, |plan, at| bump(&mut plan.runs, at)),
    ("a column", Property::Shape, |plan, _| plan.key_values.offset.truncate(plan.key_values.offset.len() - 1)),
    ("query_counts", Property::Conservation, |plan, at| count(&mut plan.query_counts.entries, at)),
    ("key_value_counts", Property::Conservation, |plan, at| count(&mut plan.key_value_counts.entries, at)),
];

fn bump(column: &mut [u32], at: usize) {
    let at = at % column.len();
    column[at] = column[at].wrapping_add(1);
}

fn count(entries: &mut [(u32, u32)], at: usize) {
    let at = at % entries.len();
    entries[at].1 -= 1;
}

#[test]
fn one_value_changed_in_any_column_is_found_and_named() {
    let some_tokens = batches(5).prop_filter("tokens to be moved", |batch| batch.linear_tokens().iter().sum::<u64>() > 0);
    runner(300)
        .run(&(some_tokens, any::<usize>()), |(batch, at)| {
            let plan = LogicalPlan::new(&batch, TaskOrder::Documents).unwrap();
            // A change to a shard without tokens has no consequence for packing, but is a wrong value all the same.
            for (what, property, spoil) in SPOILED {
                let mut spoiled = plan.clone();
                spoil(&mut spoiled, at);
                let found = check(&batch, TaskOrder::Documents, &spoiled);
                prop_assert!(!found.is_empty(), "{}: not found", what);
                if *property != Property::Packing {
                    prop_assert!(found.iter().any(|violation| violation.property == *property), "{}: {:?}", what, found);
                }
            }
            Ok(())
        })
        .unwrap();
}

#[test]
fn padded_metadata_with_one_value_changed_is_found() {
    let sent = dispatches().prop_filter("something to be sent", |(lengths, dispatch)| {
        let replicas = dispatch.values().len().checked_div(lengths.values().len()).unwrap_or(0);
        dispatch.values().iter().enumerate().any(|(at, &to)| to >= 0 && lengths.values()[at / replicas] > 0)
    });
    runner(300)
        .run(&(sent, any::<prop::sample::Index>()), |((lengths, dispatch), pick)| {
            let (forward, reverse) = compute_metadata(&lengths, &dispatch).unwrap();
            let replicas = dispatch.values().len() / lengths.values().len();
            let moved: Vec<usize> = (0..dispatch.values().len())
                .filter(|&at| dispatch.values()[at] >= 0 && lengths.values()[at / replicas] > 0)
                .collect();
            let at = moved[pick.index(moved.len())];
            let returned: Vec<usize> =
                (0..reverse.seq_len.values().len()).filter(|&at| reverse.seq_len.values()[at] > 0).collect();
            let back = returned[pick.index(returned.len())];

            for (property, value) in
                [(Property::Packing, 0), (Property::Conservation, 1), (Property::Bijection, 2), (Property::Bijection, 3)]
            {
                let (mut forward, mut reverse) = (forward.clone(), reverse.clone());
                match value {
                    0 => forward.dst_offset.values_mut()[at] += 1,
                    1 => {
                        forward.num_recv_tokens.row_mut(dispatch.values()[at] as usize)[at / replicas / lengths.shape()[1]] += 1
                    }
                    2 => reverse.dst_offset.values_mut()[back] += 1,
                    _ => reverse.dst_rank.values_mut()[back] += 1,
                }
                let found = check_metadata(Tensors::Queries, &forward, &reverse);
                prop_assert!(found.iter().any(|violation| violation.property == property), "{:?}: {:?}", property, found);
            }
            Ok(())
        })
        .unwrap();
}
