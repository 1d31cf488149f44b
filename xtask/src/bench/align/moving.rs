//! Moving spans in memory: one of `benches/counted` does it, built as the product is.

use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::cargo;

/// Ten million, over sixteen ranks.
pub(super) const SPANS: usize = 10_000_000;

/// Events a second.
#[derive(Deserialize)]
pub(super) struct Moved {
    pub(super) all_cores: f64,
    pub(super) one_core: f64,
    pub(super) cores: usize,
}

/// Moves the spans `runs` times on all cores and on one; medians.
pub(super) fn measure(runs: usize) -> Result<Moved> {
    let program = ["run", "--release", "--locked", "--quiet", "--package", "rankscope-counted", "--bin", "move_spans"];
    let (spans, runs) = (SPANS.to_string(), runs.to_string());
    let output = cargo::command(program.into_iter().chain(["--", "time", &spans, &runs])).stderr(Stdio::inherit()).output();
    let output = output.context("failed to start cargo")?;
    if !output.status.success() {
        bail!("move_spans failed ({})", output.status);
    }
    serde_json::from_slice(&output.stdout).context("failed to understand move_spans")
}
