//! Plans as files.

use std::path::Path;

use anyhow::{Context, Result};
use rankscope_dispatch::{Batch, Rows, Shard};
use rankscope_time::Rank;

/// A plan that was read.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) batch: Batch,
    pub(crate) rows: Rows,
}

/// Reads a plan.
pub(crate) fn load(path: &Path) -> Result<Loaded> {
    let text = std::fs::read(path).with_context(|| path.display().to_string())?;
    let v: serde_json::Value = serde_json::from_slice(&text)?;
    let mut batch = Batch::new(v["world_size"].as_u64().unwrap_or(0) as u32)?;
    for d in v["documents"].as_array().context("documents")? {
        let shards: Vec<Shard> = d
            .as_array()
            .context("doc")?
            .iter()
            .map(|s| Shard {
                linear: Rank(s[0].as_u64().unwrap_or(0) as u32),
                attention: Rank(s[1].as_u64().unwrap_or(0) as u32),
                tokens: s[2].as_u64().unwrap_or(0) as u32,
            })
            .collect();
        batch.push(&shards)?;
    }
    Ok(Loaded { batch, rows: Rows::LLAMA_8B })
}
