//! Plan files: JSON, or the compact form (`.rkd`), told apart by their first bytes.
//!
//! A JSON plan lists documents, each as its shards from start to end: `[linear rank, attention rank, tokens]`. Cases as golden
//! files keep them are plans too: `docs` or `shards` with `[linear rank, attention rank, position in the document, tokens]`.
//! Keys that are not known are passed over.

use rankscope_dispatch::{Batch, Rows, Shard, binary};
use rankscope_time::Rank;
use serde::Deserialize;
use thiserror::Error;

use crate::MOST_BYTES;

/// A plan that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Who computes what.
    pub batch: Batch,
    /// Sizes of rows.
    pub rows: Rows,
}

/// A plan as JSON, one document per line.
#[must_use]
pub fn json(batch: &Batch, rows: &Rows) -> String {
    let Rows { hidden_q, hidden_kv, lse, element_bytes } = rows;
    let mut text = format!(
        "{{\"schema\":{SCHEMA},\"kind\":\"{KIND}\",\"plan_hash\":\"{}\",\"world_size\":{},\"rows\":{{\"hidden_q\":{hidden_q},\
         \"hidden_kv\":{hidden_kv},\"lse\":{lse},\"element_bytes\":{element_bytes}}},\"documents\":[",
        hash(batch, rows),
        batch.world_size()
    );
    for (index, document) in batch.documents().enumerate() {
        let shard = |shard: &Shard| format!("[{},{},{}]", shard.linear.0, shard.attention.0, shard.tokens);
        let shards: Vec<String> = document.iter().map(shard).collect();
        text += if index == 0 { "\n[" } else { ",\n[" };
        text += &shards.join(",");
        text.push(']');
    }
    text += "\n]}\n";
    text
}

/// The hash that names a plan, in hexadecimal.
#[must_use]
pub fn hash(batch: &Batch, rows: &Rows) -> String {
    hex(&binary::hash(batch, rows))
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
    let (batch, rows) = match bytes.starts_with(b"RKDP") {
        true => binary::decode(bytes)?,
        false => of_json(bytes)?,
    };
    bounded(Plan { batch, rows })
}

/// A plan that is not too large to be one.
///
/// # Errors
/// [`PlanError::TooManyRanks`] beyond [`MOST_RANKS`]; [`PlanError::Rows`] beyond [`MOST_ELEMENTS`] or [`MOST_ELEMENT_BYTES`].
pub fn bounded(plan: Plan) -> Result<Plan, PlanError> {
    let (ranks, rows) = (plan.batch.world_size(), plan.rows);
    if ranks > MOST_RANKS {
        return Err(PlanError::TooManyRanks { ranks });
    }
    let widest = [rows.hidden_q, rows.hidden_kv, rows.lse].into_iter().max();
    match widest <= Some(MOST_ELEMENTS) && rows.element_bytes <= MOST_ELEMENT_BYTES {
        true => Ok(plan),
        false => Err(PlanError::Rows { rows }),
    }
}

fn of_json(text: &[u8]) -> Result<(Batch, Rows), PlanError> {
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
    #[error("schema {found}; this program reads schema {SCHEMA}")]
    Schema {
        /// What the file says.
        found: u32,
    },
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
    fn plan(self) -> Result<(Batch, Rows), PlanError> {
        if let Some(found) = self.schema.filter(|schema| *schema != SCHEMA) {
            return Err(PlanError::Schema { found });
        }
        let mut documents = self.documents.unwrap_or_default();
        for mut shards in self.docs.unwrap_or_default() {
            shards.sort_by_key(|shard| shard[2]);
            documents.push(shards.into_iter().map(|[linear, attention, _, tokens]| [linear, attention, tokens]).collect());
        }
        let ranks = documents.iter().flatten().flat_map(|shard| &shard[..2]).copied();
        let world_size = self.world_size.or(self.inputs.as_ref().and_then(|inputs| inputs.world_size));
        let world_size = world_size.or_else(|| ranks.max()?.checked_add(1));
        let mut batch = Batch::new(world_size.ok_or(PlanError::NoRanks)?)?;
        for shards in documents {
            let shard =
                |[linear, attention, tokens]: [u32; 3]| Shard { linear: Rank(linear), attention: Rank(attention), tokens };
            batch.push(&shards.into_iter().map(shard).collect::<Vec<_>>())?;
        }
        let rows = self.rows.or(self.inputs.and_then(|inputs| inputs.rows)).map_or(Rows::LLAMA_8B, Rows::from);
        if let Some(written) = self.plan_hash {
            let found = hash(&batch, &rows);
            if written != found {
                return Err(PlanError::Changed { written, found });
            }
        }
        Ok((batch, rows))
    }
}

impl From<RowSizes> for Rows {
    fn from(RowSizes { hidden_q, hidden_kv, lse, element_bytes }: RowSizes) -> Self {
        Self { hidden_q, hidden_kv, lse, element_bytes }
    }
}

/// Layout version of the file.
const SCHEMA: u32 = 1;
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
        let text = json(&plan.batch, &plan.rows);
        for bytes in [text.into_bytes(), binary::encode(&plan.batch, &plan.rows)] {
            let again = read(&bytes).unwrap();
            assert_eq!((again.batch, again.rows), (plan.batch.clone(), plan.rows));
        }
    }

    #[test]
    fn a_golden_case_is_a_plan() {
        let case =
            br#"{"inputs":{"world_size":2,"hidden_q":8,"hidden_k":4,"lse_size_elems":0,"element_size":2,"docs":"see below"},
            "docs":[[[1,1,1,4],[0,0,0,3]]]}"#;
        let plan = read(case).unwrap();
        assert_eq!(plan.batch.shards()[0], Shard { linear: Rank(0), attention: Rank(0), tokens: 3 });
        assert_eq!((plan.batch.world_size(), plan.rows.hidden_kv), (2, 4));
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
        assert!(wrong(r#"{"schema":2,"documents":[]}"#).contains("schema 1"));
        let changed = json(&read(PLAN).unwrap().batch, &Rows::LLAMA_8B).replace("[0,2,5]", "[0,2,6]");
        assert!(wrong(&changed).contains("was changed"));
    }
}
