//! Where documents lie before anybody plans.

use pyo3::prelude::*;
use rankscope_dispatch::planner::{place_evenly, place_in_order, place_on_ranks, place_zigzag};
use rankscope_dispatch::{Batch, Error, Rows, Shard};
use rankscope_plan_files::documents::{self, Documents, Lengths};
use rankscope_plan_files::plan::{self as file, MOST_RANKS};
use rankscope_time::Rank;

use super::errors::{DocumentsError, plan, plan_file};
use super::plan::Plan;

/// Documents as the command reads them: spread over so many ranks, evenly or filling each with so many tokens, or as they lie on
/// ranks already.
#[pyfunction]
#[pyo3(signature = (json, rows, ranks=None, tokens_per_rank=None))]
pub(crate) fn layout_documents(
    py: Python<'_>,
    json: &str,
    rows: [u32; 4],
    ranks: Option<u32>,
    tokens_per_rank: Option<u64>,
) -> PyResult<Plan> {
    py.detach(|| {
        let documents = read(json)?;
        let (ranks, tokens_per_rank) = (ranks.or(documents.world_size), tokens_per_rank.or(documents.tokens_per_rank));
        let spread = |lengths: &[u32]| {
            let ranks = ranks.ok_or_else(|| refused("the number of ranks is missing: give `ranks`".to_owned()))?;
            let placed = match tokens_per_rank {
                _ if ranks > MOST_RANKS => {
                    return Err(refused(format!("{ranks} ranks; plans are for {MOST_RANKS} at most")));
                }
                Some(tokens) => place_in_order(lengths, ranks, tokens),
                None => place_evenly(lengths, ranks),
            };
            placed.map_err(plan)
        };
        let batch = match &documents.lengths {
            Lengths::InOrder(lengths) => spread(lengths)?,
            Lengths::PerRank(lists) if tokens_per_rank.is_some() => spread(&lists.concat())?,
            Lengths::PerRank(lists) => match ranks.filter(|ranks| *ranks as usize != lists.len()) {
                Some(ranks) => return Err(refused(format!("{} lists of documents for {ranks} ranks", lists.len()))),
                None => place_on_ranks(lists).map_err(plan)?,
            },
        };
        Ok(laid_out(batch, rows)?.with_room(tokens_per_rank))
    })
}

/// Documents in 2 x degree chunks over groups of so many ranks, one list of lengths for each group.
#[pyfunction]
pub(crate) fn layout_zigzag(py: Python<'_>, json: &str, rows: [u32; 4], degree: u32) -> PyResult<Plan> {
    py.detach(|| {
        let groups = match read(json)?.lengths {
            Lengths::InOrder(lengths) => vec![lengths],
            Lengths::PerRank(lists) => lists,
        };
        laid_out(place_zigzag(&groups, degree).map_err(plan)?, rows)
    })
}

/// Documents as shards `(linear rank, attention rank, tokens)`, each from start to end.
#[pyfunction]
pub(crate) fn layout_shards(documents: Vec<Vec<(u32, u32, u32)>>, rows: [u32; 4], ranks: u32) -> PyResult<Plan> {
    let batch = || {
        let mut batch = Batch::new(ranks)?;
        for document in documents {
            let shard = |(linear, attention, tokens)| Shard { linear: Rank(linear), attention: Rank(attention), tokens };
            batch.push(&document.into_iter().map(shard).collect::<Vec<_>>())?;
        }
        Ok::<_, Error>(batch)
    };
    laid_out(batch().map_err(plan)?, rows)
}

fn read(json: &str) -> PyResult<Documents> {
    documents::read(json.as_bytes().to_vec(), None).map_err(|error| refused(error.to_string()))
}

fn refused(error: String) -> PyErr {
    DocumentsError::new_err(error)
}

fn laid_out(batch: Batch, [hidden_q, hidden_kv, lse, element_bytes]: [u32; 4]) -> PyResult<Plan> {
    let rows = Rows { hidden_q, hidden_kv, lse, element_bytes };
    file::bounded(file::Plan { assignment: batch.into(), rows }).map(Plan::given).map_err(plan_file)
}
