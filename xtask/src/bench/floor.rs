//! The floor under every reader of traces: inflating them and passing over their JSON, and doing nothing with either. One of
//! `benches/counted` does it, built as the product is.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::inputs::Input;
use crate::cargo;

/// What one thread takes for the files of an input.
#[derive(Clone, Copy, Debug, Deserialize, Serialize)]
pub(crate) struct Floor {
    /// After decompression.
    pub(crate) bytes: u64,
    /// To inflate them; 0 where nothing is compressed.
    pub(crate) inflate_seconds: f64,
    /// To pass over the JSON, checked and not kept, by serde_json.
    pub(crate) skip_seconds: f64,
}

/// The floor of an input: of a gzip of it where there is one.
pub(crate) fn of(input: &Input) -> Result<Floor> {
    match &input.gzip {
        Some(gzip) => of_files(std::slice::from_ref(gzip)),
        None => of_files(&files(&input.path)?),
    }
}

/// The floor of files.
pub(crate) fn of_files(files: &[PathBuf]) -> Result<Floor> {
    let run = ["run", "--release", "--locked", "--quiet", "--package", "rankscope-counted"];
    let program = run.into_iter().chain(["--features", "floor", "--bin", "read_floor", "--"]);
    let output = cargo::command(program).args(files).stderr(Stdio::inherit()).output().context("failed to start cargo")?;
    if !output.status.success() {
        bail!("read_floor failed ({})", output.status);
    }
    serde_json::from_slice(&output.stdout).context("failed to understand read_floor")
}

/// The file itself, or the files of a directory.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let list = || format!("failed to list {}", path.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(path).with_context(list)? {
        files.push(entry.with_context(list)?.path());
    }
    files.sort();
    Ok(files)
}
