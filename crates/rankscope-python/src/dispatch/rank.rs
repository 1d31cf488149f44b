//! One rank's part of a plan as arrays: which rows it packs and unpacks, how many go to whom, and what an attention kernel takes.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rankscope_dispatch::Assignment;
use rankscope_dispatch::export::{RowIndices, RowMoves, TokenPlaces};
use rankscope_time::Rank;

use super::array::Array;
use super::errors::plan;

/// By the names that `rankscope.dispatch.RankRows` has.
pub(super) fn fields<'py>(
    py: Python<'py>,
    assignment: &Assignment<'_>,
    rank: Rank,
    kept_last: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let (indices, tasks) = py
        .detach(|| {
            let mut indices = RowIndices::new(assignment, rank)?;
            if kept_last {
                (indices.queries, indices.keys) = (indices.queries.kept_last(rank), indices.keys.kept_last(rank));
            }
            let tasks = indices.tasks.narrowed()?;
            Ok((indices, tasks))
        })
        .map_err(plan)?;
    let dict = PyDict::new(py);
    let lengths = |values: Vec<i32>| Array::int32(&[values.len()], values);
    dict.set_item("cu_seqlens_q", lengths(tasks.cu_seqlens_q))?;
    dict.set_item("cu_seqlens_k", lengths(tasks.cu_seqlens_kv))?;
    dict.set_item("max_seqlen_q", tasks.max_seqlen_q)?;
    dict.set_item("max_seqlen_k", tasks.max_seqlen_kv)?;
    dict.set_item("causal", Array::int32(&[indices.causal.len()], indices.causal.into_iter().map(i32::from)))?;
    dict.set_item("merges", assignment.merges())?;
    moves(&dict, "q", indices.queries)?;
    moves(&dict, "kv", indices.keys)?;
    places(&dict, "", indices.held)?;
    places(&dict, "q_", indices.computed)?;
    Ok(dict)
}

fn moves(dict: &Bound<'_, PyDict>, tensor: &str, moves: RowMoves) -> PyResult<()> {
    dict.set_item("tokens", moves.rows)?;
    dict.set_item(format!("{tensor}_kept"), moves.kept)?;
    dict.set_item(format!("{tensor}_send_rows"), Array::flat(moves.send_rows))?;
    dict.set_item(format!("{tensor}_send_counts"), moves.send_counts)?;
    dict.set_item(format!("{tensor}_receive_counts"), moves.receive_counts)?;
    dict.set_item(format!("{tensor}_receive_rows"), Array::flat(moves.receive_rows))
}

fn places(dict: &Bound<'_, PyDict>, whose: &str, places: TokenPlaces) -> PyResult<()> {
    let wide = |values: Vec<u32>| Array::int64(&[values.len()], values.into_iter().map(i64::from));
    dict.set_item(format!("{whose}document_ids"), wide(places.documents))?;
    dict.set_item(format!("{whose}position_ids"), wide(places.positions))
}
