//! Plan files: JSON, or the compact form (`.rkd`), told apart by their first bytes.
//!
//! A JSON plan lists documents, each as its shards from start to end: `[linear rank, attention rank, tokens]`. Cases as golden
//! files keep them are plans too: `docs` or `shards` with `[linear rank, attention rank, position in the document, tokens]`.
//! Keys that are not known are passed over.
//!
//! A plan that splits heads or keys is of schema 2, which programs that know neither refuse. `head_groups` says how often the same
//! documents follow each other, once for every group of heads; `rows` are those of one group. Where keys are split `layout` takes
//! the place of `documents`, a shard being `[linear rank, tokens]`, and `tasks` has a list for every document of them:
//! `[first query, end of the queries, first key, end of the keys, rank]`.

use rankscope_dispatch::{Assignment, Batch, HeadGroups, Rows, Shard, SplitBatch, SplitTask, binary};
use rankscope_time::Rank;
use serde::Deserialize;
use thiserror::Error;

use crate::MOST_BYTES;

/// A plan that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Who computes what.
    pub assignment: Assignment<'static>,
    /// Sizes of rows, of one group of heads.
    pub rows: Rows,
}

/// A plan as JSON, one document per line.
#[must_use]
pub fn json<'a>(plan: impl Into<Assignment<'a>>, rows: &Rows) -> String {
    let plan = plan.into();
    let Rows { hidden_q, hidden_kv, lse, element_bytes } = rows;
    let groups = plan.head_groups();
    let is_whole = plan.whole().is_some() && groups == HeadGroups::ONE;
    let mut text = format!(
        "{{\"schema\":{},\"kind\":\"{KIND}\",\"plan_hash\":\"{}\",\"world_size\":{},\"rows\":{{\"hidden_q\":{hidden_q},\
         \"hidden_kv\":{hidden_kv},\"lse\":{lse},\"element_bytes\":{element_bytes}}}",
        if is_whole { SCHEMA } else { SPLIT_SCHEMA },
        hash(&plan, rows),
        plan.world_size()
    );
    if groups != HeadGroups::ONE {
        text += &format!(",\"head_groups\":{}", groups.get());
    }
    match plan.split() {
        None => {
            let shard = |shard: &Shard| format!("[{},{},{}]", shard.linear.0, shard.attention.0, shard.tokens);
            lists(&mut text, "documents", plan.layout().documents().map(|document| document.iter().map(shard).collect()));
        }
        Some(split) => {
            let shard = |shard: &Shard| format!("[{},{}]", shard.linear.0, shard.tokens);
            lists(&mut text, "layout", split.layout().documents().map(|document| document.iter().map(shard).collect()));
            let task = |SplitTask { queries, keys, rank, .. }: &SplitTask| {
                format!("[{},{},{},{},{}]", queries.start, queries.end, keys.start, keys.end, rank.0)
            };
            lists(&mut text, "tasks", split.documents().map(|(_, tasks)| tasks.iter().map(task).collect()));
        }
    }
    text += "}\n";
    text
}

/// A list of lists, one of them a line.
fn lists(text: &mut String, name: &str, lists: impl Iterator<Item = Vec<String>>) {
    *text += &format!(",\"{name}\":[");
    for (index, list) in lists.enumerate() {
        *text += if index == 0 { "\n[" } else { ",\n[" };
        *text += &list.join(",");
        text.push(']');
    }
    *text += "\n]";
}

/// The hash that names a plan, in hexadecimal.
#[must_use]
pub fn hash<'a>(plan: impl Into<Assignment<'a>>, rows: &Rows) -> String {
    hex(&binary::hash(plan, rows))
}

/// Two digits for each byte.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a plan of either form.
///
/// # Errors
/// [`PlanError`]: bytes that are no plan, with their place; a plan of another schema, one that was changed after its hash was
/// written, or one beyond the bounds of [`bounded`].
pub fn read(bytes: &[u8]) -> Result<Plan, PlanError> {
    if bytes.len() > MOST_BYTES {
        return Err(PlanError::TooLong { bytes: bytes.len() });
    }
    let (assignment, rows) = match bytes.starts_with(b"RKDP") {
        true => binary::decode(bytes)?,
        false => of_json(bytes)?,
    };
    bounded(Plan { assignment, rows })
}

/// A plan that is not too large to be one.
///
/// # Errors
/// [`PlanError::TooManyRanks`] beyond [`MOST_RANKS`]; [`PlanError::Rows`] beyond [`MOST_ELEMENTS`] or [`MOST_ELEMENT_BYTES`].
pub fn bounded(plan: Plan) -> Result<Plan, PlanError> {
    within(&plan.assignment, &plan.rows).map(|()| plan)
}

/// Whether a plan is not too large to be one.
///
/// # Errors
/// Those of [`bounded`].
pub fn within<'a>(assignment: impl Into<Assignment<'a>>, rows: &Rows) -> Result<(), PlanError> {
    let (ranks, rows) = (assignment.into().world_size(), *rows);
    if ranks > MOST_RANKS {
        return Err(PlanError::TooManyRanks { ranks });
    }
    let widest = [rows.hidden_q, rows.hidden_kv, rows.lse].into_iter().max();
    match widest <= Some(MOST_ELEMENTS) && rows.element_bytes <= MOST_ELEMENT_BYTES {
        true => Ok(()),
        false => Err(PlanError::Rows { rows }),
    }
}

fn of_json(text: &[u8]) -> Result<(Assignment<'static>, Rows), PlanError> {
    // Lists would be taken for the fields of an object, in their order.
    match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => serde_json::from_slice::<Document>(text).map_err(PlanError::Json)?.plan(),
        _ => Err(PlanError::NotAPlan),
    }
}

/// Why bytes are no plan. The fault is the file's, and each message says where.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// Longer than any plan.
    #[error("{bytes} bytes; files of plans have at most {MOST_BYTES}")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// Neither of the two forms.
    #[error("not a plan, which is a JSON object with `documents`, or the compact form that begins with `RKDP`")]
    NotAPlan,
    /// JSON that is no plan; the source has the line and the column.
    #[error("not a plan: {0}")]
    Json(#[source] serde_json::Error),
    /// A plan of another layout.
    #[error("schema {found}; this program reads schemas {SCHEMA} and {SPLIT_SCHEMA}")]
    Schema {
        /// What the file says.
        found: u32,
    },
    /// Tasks without the documents that they are of, or with those of another plan.
    #[error("`tasks` are of the documents in `layout`: {layout} of them here, and {tasks} lists of tasks")]
    Tasks {
        /// Documents.
        layout: usize,
        /// Lists of tasks.
        tasks: usize,
    },
    /// No group of heads at all.
    #[error("`head_groups` is 0; heads are in one group at least")]
    NoHeadGroups,
    /// An object that says nothing of ranks.
    #[error("neither `world_size` nor `documents`: this is no plan")]
    NoRanks,
    /// The plan is another than the one whose hash the file has.
    #[error("`plan_hash` is {written}, but the plan's is {found}: the file was changed; without the key it is read")]
    Changed {
        /// The hash in the file, in hexadecimal.
        written: String,
        /// The plan's.
        found: String,
    },
    /// More ranks than plans are for.
    #[error("{ranks} ranks; plans are for {MOST_RANKS} at most")]
    TooManyRanks {
        /// How many.
        ranks: u32,
    },
    /// Rows beyond what is taken.
    #[error(
        "rows: {}, {} and {} elements of {} bytes; at most {MOST_ELEMENTS} elements of {MOST_ELEMENT_BYTES} bytes are taken",
        rows.hidden_q, rows.hidden_kv, rows.lse, rows.element_bytes
    )]
    Rows {
        /// Their sizes.
        rows: Rows,
    },
    /// Documents that no plan can have.
    #[error(transparent)]
    Plan(#[from] rankscope_dispatch::Error),
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

/// Layout version of the file.
const SCHEMA: u32 = 1;
/// The same where heads or keys are split.
const SPLIT_SCHEMA: u32 = 2;
/// `kind` of a plan.
pub const KIND: &str = "rankscope_dispatch_plan";

/// Every rank takes some memory, whether it has a shard or not; a larger number is a mistake in a file.
pub const MOST_RANKS: u32 = 1 << 18;

/// A row of more is a mistake in a file; with less, no sum of sizes leaves 64 bits before the tokens do.
pub const MOST_ELEMENTS: u32 = 1 << 24;
/// The widest elements.
pub const MOST_ELEMENT_BYTES: u32 = 16;

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: &[u8] = br#"{"schema":1,"world_size":3,"rows":{"hidden_q":8,"hidden_kv":8,"lse":1,"element_bytes":2},
        "documents":[[[0,2,5],[1,0,0]],[],[[2,2,7]]],"note":"ours"}"#;

    #[test]
    fn every_form_is_the_same_plan() {
        let plan = read(PLAN).unwrap();
        for plan in [plan, read(SPLIT).unwrap(), read(HEADS).unwrap()] {
            let text = json(&plan.assignment, &plan.rows);
            for bytes in [text.into_bytes(), binary::encode(&plan.assignment, &plan.rows)] {
                assert_eq!(read(&bytes).unwrap(), plan);
            }
        }
    }

    const SPLIT: &[u8] = br#"{"schema":2,"rows":{"hidden_q":8,"hidden_kv":8,"lse":2,"element_bytes":2},
        "layout":[[[0,4],[1,4]],[]],"tasks":[[[0,4,0,4,0],[4,8,0,4,2],[4,8,4,8,1]],[]]}"#;
    const HEADS: &[u8] = br#"{"head_groups":2,"documents":[[[0,0,4]],[[1,1,3]],[[0,1,4]],[[1,0,1],[1,1,2]]]}"#;

    #[test]
    fn a_plan_that_splits_is_none_for_programs_that_do_not() {
        let (split, heads) = (read(SPLIT).unwrap(), read(HEADS).unwrap());
        assert!(split.assignment.merges() && split.assignment.world_size() == 3);
        assert_eq!(heads.assignment.linear_tokens(), [4, 3]);
        for plan in [split, heads] {
            assert!(json(&plan.assignment, &plan.rows).starts_with("{\"schema\":2,"));
        }
    }

    #[test]
    fn a_golden_case_is_a_plan() {
        let case =
            br#"{"inputs":{"world_size":2,"hidden_q":8,"hidden_k":4,"lse_size_elems":0,"element_size":2,"docs":"see below"},
            "docs":[[[1,1,1,4],[0,0,0,3]]]}"#;
        let plan = read(case).unwrap();
        assert_eq!(plan.assignment.layout().shards()[0], Shard { linear: Rank(0), attention: Rank(0), tokens: 3 });
        assert_eq!((plan.assignment.world_size(), plan.rows.hidden_kv), (2, 4));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let wrong = |text: &str| read(text.as_bytes()).err().unwrap().to_string();
        assert!(
            wrong(r#"{"documents":[[[0,1,"x"]]]}"#).contains("line 1 column"),
            "{}",
            wrong(r#"{"documents":[[[0,1,"x"]]]}"#)
        );
        assert_eq!(wrong(r#"{"world_size":1,"documents":[[[0,1,5]]]}"#), "document 0, shard 0: rank 1 is not one of 0 to 0");
        assert!(wrong(r#"{"lengths":[1]}"#).contains("no plan"));
        assert!(wrong("[4096, 512]").contains("a JSON object with `documents`"));
        assert!(wrong(r#"{"world_size":1,"rows":{"hidden_q":1,"hidden_kv":1,"element_bytes":99}}"#).contains("of 16 bytes"));
        assert!(wrong(r#"{"world_size":4000000000}"#).contains("at most"));
        assert!(wrong(r#"{"schema":3,"documents":[]}"#).contains("schemas 1 and 2"));
        assert!(wrong(r#"{"layout":[[[0,4]]],"tasks":[]}"#).contains("1 of them here, and 0 lists"));
        assert!(wrong(r#"{"layout":[[[0,4]]],"tasks":[[[0,3,0,3,0]]]}"#).contains("no task computes query 3 with key 0"));
        assert!(
            wrong(r#"{"head_groups":2,"documents":[[[0,0,4]],[[0,0,5]]]}"#).contains("document 1 is none of the first group")
        );
        let changed = json(&read(PLAN).unwrap().assignment, &Rows::LLAMA_8B).replace("[0,2,5]", "[0,2,6]");
        assert!(wrong(&changed).contains("was changed"));
    }
}
