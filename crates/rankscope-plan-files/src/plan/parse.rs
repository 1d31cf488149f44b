//! A JSON document as a plan: ours, or a case that contains one. What is said twice is compared, what is missing is made up only
//! where there is one way to.

use rankscope_dispatch::{Assignment, Batch, HeadGroups, Rows, Shard, SplitBatch, SplitTask};
use rankscope_time::Rank;
use serde::Deserialize;

use super::{PlanError, SCHEMA, SPLIT_SCHEMA, hash};

pub(super) fn of_json(text: &[u8]) -> Result<(Assignment<'static>, Rows), PlanError> {
    // Lists would be taken for the fields of an object, in their order.
    match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => serde_json::from_slice::<Document>(text).map_err(PlanError::Json)?.plan(),
        _ => Err(PlanError::NotAPlan),
    }
}

/// A plan, or a case that contains one.
#[derive(Deserialize)]
struct Document {
    schema: Option<u32>,
    world_size: Option<u32>,
    rows: Option<RowSizes>,
    plan_hash: Option<String>,
    documents: Option<Vec<Vec<[u32; 3]>>>,
    layout: Option<Vec<Vec<[u32; 2]>>>,
    tasks: Option<Vec<Vec<[u32; 5]>>>,
    head_groups: Option<u32>,
    #[serde(alias = "shards")]
    docs: Option<Vec<Vec<[u32; 4]>>>,
    inputs: Option<Inputs>,
}

/// What golden cases keep beside their documents.
#[derive(Deserialize)]
struct Inputs {
    world_size: Option<u32>,
    #[serde(flatten)]
    rows: Option<RowSizes>,
}

/// Sizes of rows, by our names and by the original's.
#[derive(Clone, Copy, Deserialize)]
struct RowSizes {
    hidden_q: u32,
    #[serde(alias = "hidden_k")]
    hidden_kv: u32,
    #[serde(alias = "lse_size", alias = "lse_size_elems", default)]
    lse: u32,
    #[serde(alias = "element_size")]
    element_bytes: u32,
}

impl Document {
    fn plan(mut self) -> Result<(Assignment<'static>, Rows), PlanError> {
        if let Some(found) = self.schema.filter(|schema| ![SCHEMA, SPLIT_SCHEMA].contains(schema)) {
            return Err(PlanError::Schema { found });
        }
        let groups = HeadGroups::new(self.head_groups.unwrap_or(1)).ok_or(PlanError::NoHeadGroups)?;
        let plan = match (self.layout.take(), self.tasks.take()) {
            (None, None) => Assignment::from(self.whole()?),
            (layout, tasks) => Assignment::from(self.split(layout.unwrap_or_default(), tasks.unwrap_or_default())?),
        };
        let plan = plan.of_heads(groups)?;
        let rows = self.rows.or(self.inputs.and_then(|inputs| inputs.rows)).map_or(Rows::LLAMA_8B, Rows::from);
        if let Some(written) = self.plan_hash {
            let found = hash(&plan, &rows);
            if written != found {
                return Err(PlanError::Changed { written, found });
            }
        }
        Ok((plan, rows))
    }

    /// No documents yet, over the ranks that are said, or as many as the others name.
    fn batch(&self, ranks: impl Iterator<Item = u32>) -> Result<Batch, PlanError> {
        let world_size = self.world_size.or(self.inputs.as_ref().and_then(|inputs| inputs.world_size));
        let world_size = world_size.or_else(|| ranks.max()?.checked_add(1));
        Ok(Batch::new(world_size.ok_or(PlanError::NoRanks)?)?)
    }

    fn whole(&mut self) -> Result<Batch, PlanError> {
        let mut documents = self.documents.take().unwrap_or_default();
        for mut shards in self.docs.take().unwrap_or_default() {
            shards.sort_by_key(|shard| shard[2]);
            documents.push(shards.into_iter().map(|[linear, attention, _, tokens]| [linear, attention, tokens]).collect());
        }
        let mut batch = self.batch(documents.iter().flatten().flat_map(|shard| &shard[..2]).copied())?;
        for shards in documents {
            let shard =
                |[linear, attention, tokens]: [u32; 3]| Shard { linear: Rank(linear), attention: Rank(attention), tokens };
            batch.push(&shards.into_iter().map(shard).collect::<Vec<_>>())?;
        }
        Ok(batch)
    }

    fn split(&self, documents: Vec<Vec<[u32; 2]>>, tasks: Vec<Vec<[u32; 5]>>) -> Result<SplitBatch, PlanError> {
        if documents.len() != tasks.len() || self.documents.is_some() || self.docs.is_some() {
            return Err(PlanError::Tasks { layout: documents.len(), tasks: tasks.len() });
        }
        let ranks = documents.iter().flatten().map(|shard| shard[0]).chain(tasks.iter().flatten().map(|task| task[4]));
        let mut layout = self.batch(ranks)?;
        for shards in documents {
            let shard = |[rank, tokens]: [u32; 2]| Shard { linear: Rank(rank), attention: Rank(rank), tokens };
            layout.push(&shards.into_iter().map(shard).collect::<Vec<_>>())?;
        }
        let task = |document, [first, end, first_key, end_key, rank]: [u32; 5]| SplitTask {
            document,
            queries: first..end,
            keys: first_key..end_key,
            rank: Rank(rank),
        };
        let tasks =
            tasks.into_iter().enumerate().flat_map(|(document, tasks)| tasks.into_iter().map(move |one| task(document, one)));
        Ok(SplitBatch::new(&layout, tasks.collect())?)
    }
}

impl From<RowSizes> for Rows {
    fn from(RowSizes { hidden_q, hidden_kv, lse, element_bytes }: RowSizes) -> Self {
        Self { hidden_q, hidden_kv, lse, element_bytes }
    }
}
