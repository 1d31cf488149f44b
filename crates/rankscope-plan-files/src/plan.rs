//! Plan files: JSON, or the compact form (`.rkd`), told apart by their first bytes.
//!
//! A JSON plan lists documents, each as its shards from start to end: `[linear rank, attention rank, tokens]`. Cases as golden
//! files keep them are plans too: `docs` or `shards` with `[linear rank, attention rank, position in the document, tokens]`.
//! Keys that are not known are passed over.

use anyhow::{Context, Result, bail, ensure};
use rankscope_dispatch::{Batch, Rows, Shard, binary};
use rankscope_time::Rank;
use serde::{Deserialize, Serialize};

/// A plan that was read.
pub struct Loaded {
    /// Who computes what.
    pub batch: Batch,
    /// Sizes of rows.
    pub rows: Rows,
}

/// A plan as JSON, one document per line.
pub fn json(batch: &Batch, rows: &Rows) -> Result<String> {
    let (world_size, rows_text) = (batch.world_size(), serde_json::to_string(&RowSizes::from(*rows))?);
    let mut text = format!(
        "{{\"schema\":{SCHEMA},\"kind\":\"{KIND}\",\"plan_hash\":\"{}\",\"world_size\":{world_size},\"rows\":{rows_text},\"documents\":[",
        hash(batch, rows)
    );
    for (index, document) in batch.documents().enumerate() {
        let shards: Vec<_> = document.iter().map(|shard| [shard.linear.0, shard.attention.0, shard.tokens]).collect();
        text += if index == 0 { "\n" } else { ",\n" };
        text += &serde_json::to_string(&shards)?;
    }
    text += "\n]}\n";
    Ok(text)
}

/// The hash that names a plan, in hexadecimal.
pub fn hash(batch: &Batch, rows: &Rows) -> String {
    hex(&binary::hash(batch, rows))
}

/// Two digits for each byte.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Reads a plan of either form.
pub fn read(bytes: &[u8]) -> Result<Loaded> {
    let (batch, rows) = match bytes.starts_with(b"RKDP") {
        true => binary::decode(bytes)?,
        false => of_json(bytes)?,
    };
    bounded(Loaded { batch, rows })
}

/// A plan that is not too large to be one.
pub fn bounded(plan: Loaded) -> Result<Loaded> {
    let ranks = plan.batch.world_size();
    ensure!(ranks <= MOST_RANKS, "{ranks} ranks; plans are for {MOST_RANKS} at most");
    let Rows { hidden_q, hidden_kv, lse, element_bytes } = plan.rows;
    ensure!(
        [hidden_q, hidden_kv, lse].into_iter().max() <= Some(MOST_ELEMENTS) && element_bytes <= MOST_ELEMENT_BYTES,
        "rows: {hidden_q}, {hidden_kv} and {lse} elements of {element_bytes} bytes; \
         at most {MOST_ELEMENTS} elements of {MOST_ELEMENT_BYTES} bytes are taken"
    );
    Ok(plan)
}

fn of_json(text: &[u8]) -> Result<(Batch, Rows)> {
    // Lists would be taken for the fields of an object, in their order.
    let is_object = text.iter().find(|byte| !byte.is_ascii_whitespace()) == Some(&b'{');
    ensure!(is_object, "not a plan, which is a JSON object with `documents`, or the compact form that begins with `RKDP`");
    serde_json::from_slice::<Document>(text).context("not a plan")?.plan()
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
#[derive(Clone, Copy, Serialize, Deserialize)]
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
    fn plan(self) -> Result<(Batch, Rows)> {
        if let Some(schema) = self.schema.filter(|schema| *schema != SCHEMA) {
            bail!("schema {schema}; this program reads schema {SCHEMA}");
        }
        let mut documents = self.documents.unwrap_or_default();
        for mut shards in self.docs.unwrap_or_default() {
            shards.sort_by_key(|shard| shard[2]);
            documents.push(shards.into_iter().map(|[linear, attention, _, tokens]| [linear, attention, tokens]).collect());
        }
        let ranks = documents.iter().flatten().flat_map(|shard| &shard[..2]).copied();
        let world_size = self.world_size.or(self.inputs.as_ref().and_then(|inputs| inputs.world_size));
        let world_size = world_size.or_else(|| ranks.max()?.checked_add(1));
        let mut batch = Batch::new(world_size.context("neither `world_size` nor `documents`: this is no plan")?)?;
        for shards in documents {
            let shard =
                |[linear, attention, tokens]: [u32; 3]| Shard { linear: Rank(linear), attention: Rank(attention), tokens };
            batch.push(&shards.into_iter().map(shard).collect::<Vec<_>>())?;
        }
        let rows = self.rows.or(self.inputs.and_then(|inputs| inputs.rows)).map_or(Rows::LLAMA_8B, Rows::from);
        if let Some(written) = self.plan_hash {
            let found = hash(&batch, &rows);
            ensure!(
                written == found,
                "`plan_hash` is {written}, but the plan's is {found}: the file was changed; without the key it is read"
            );
        }
        Ok((batch, rows))
    }
}

impl From<Rows> for RowSizes {
    fn from(Rows { hidden_q, hidden_kv, lse, element_bytes }: Rows) -> Self {
        Self { hidden_q, hidden_kv, lse, element_bytes }
    }
}

impl From<RowSizes> for Rows {
    fn from(RowSizes { hidden_q, hidden_kv, lse, element_bytes }: RowSizes) -> Self {
        Self { hidden_q, hidden_kv, lse, element_bytes }
    }
}

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
        let text = json(&plan.batch, &plan.rows).unwrap();
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
        let wrong = |text: &str| format!("{:#}", read(text.as_bytes()).err().unwrap());
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
        let changed = json(&read(PLAN).unwrap().batch, &Rows::LLAMA_8B).unwrap().replace("[0,2,5]", "[0,2,6]");
        assert!(wrong(&changed).contains("was changed"));
    }
}
