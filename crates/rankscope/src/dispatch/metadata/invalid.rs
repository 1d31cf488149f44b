//! Rows that name a function and inputs it may have to refuse; answered with what it says.

use anyhow::Result;
use rankscope_dispatch::draw::{create_qkv_dispatch, create_qkv_dispatch_2cp};
use rankscope_dispatch::metadata::{Compat, RawDispatch, compute_metadata};
use rankscope_dispatch::{Batch, Error, Shard};
use rankscope_time::Rank;
use serde_json::Value;

use super::whole::draw;
use super::{Case, Object, Revision};

/// What every row comes to: `ok`, or the error's name and text.
pub(super) fn invalid_inputs(case: &Case, _: Revision) -> Result<Object> {
    let rows = case.list("rows")?.into_iter().map(|row| {
        let mut answer = Object::default();
        for key in ["fn", "why"] {
            answer.push(key, row.find(key).cloned());
        }
        match outcome(row) {
            Ok(()) => answer.with("outcome", "ok"),
            Err(error) => {
                let name = error.downcast_ref::<Error>().map(|error| format!("{error:?}"));
                let name = name.as_deref().and_then(|name| name.split(' ').next()).unwrap_or("Input");
                answer.with("outcome", "error").with("error", name).with("message", format!("{error:#}"))
            }
        }
    });
    let rows = rows.collect::<Vec<_>>();
    Ok(Object::of_kind("invalid_inputs").with("rows", rows))
}

fn outcome(row: Case) -> Result<()> {
    let function = row.find("fn").and_then(Value::as_str).unwrap_or_default().to_owned();
    match function.as_str() {
        "compute_metadata" => compute_metadata(&row.array("seq_len")?, &row.array("dispatch")?).map(drop)?,
        "create_qkv_dispatch" => seeded(&row, create_qkv_dispatch)?,
        "create_qkv_dispatch_2cp" => seeded(&row, create_qkv_dispatch_2cp)?,
        "compute_metadata_kv" => unused_copies(row.count("world_size")?)?,
        other => anyhow::bail!("no function is called {other:?}"),
    }
    Ok(())
}

/// The rows name no seed: what they test comes before any draw.
fn seeded<T>(row: &Case, create: fn(&rankscope_dispatch::draw::Recipe<'_>) -> Result<T, Error>) -> Result<()> {
    match row.find("seed") {
        Some(_) => draw(row, create).map(drop),
        None => draw(&row.with_seed(0), create).map(drop),
    }
}

/// A document of two shards on rank 0: the second copy of its second shard is unused, and -1 in the mapping.
fn unused_copies(world_size: u32) -> Result<()> {
    let mut batch = Batch::new(world_size)?;
    batch.push(&[Shard { linear: Rank(0), attention: Rank(0), tokens: 4 }; 2])?;
    Ok(RawDispatch::new(&batch, 2)?.metadata(Compat::Exact).map(drop)?)
}
