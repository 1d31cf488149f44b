//! `cargo xtask bench record`: what a span costs, beside the floor of this machine and beside other recorders, all from one
//! run of the package in `benches/record`.
//!
//! That package is a workspace of its own, so it is built here and nowhere else.

mod table;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::cargo;

/// Options of `cargo xtask bench record`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// `json` for one document on stdout, anything else for a Markdown table.
    #[arg(long, default_value = "table")]
    format: String,
    /// Record a thousand million spans to a file and export them too. Takes minutes and some 30 GB in the temporary folder.
    #[arg(long)]
    billion: bool,
}

/// Runs the benchmark.
pub(crate) fn run(args: &Args) -> Result<()> {
    let binary = build()?;
    let mut document = measure(&binary, &[])?;
    if args.billion {
        document["billion"] = measure(&binary, &["export", "native", "file", "1000000000"])?;
    }
    if args.format == "json" {
        println!("{document}");
    } else {
        print!("{}", table::markdown(&document));
    }
    Ok(())
}

/// The package's program, in a target folder of its own: its profile is not the workspace's. Its lock file pins the rivals, and
/// may lag behind what our own crates depend on.
fn build() -> Result<PathBuf> {
    let target = cargo::metadata()?.target_directory.join("bench-record");
    let mut command = cargo::command(["build", "--release", "--manifest-path", "benches/record/Cargo.toml"]);
    let status = command.arg("--target-dir").arg(&target).status().context("failed to start cargo")?;
    if !status.success() {
        bail!("the benchmark does not build");
    }
    Ok(target.join("release").join("rankscope-record-bench"))
}

fn measure(binary: &Path, args: &[&str]) -> Result<Value> {
    let output = Command::new(binary).args(args).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("failed to run {}", binary.display()))?;
    if !output.status.success() {
        bail!("the benchmark failed ({})", output.status);
    }
    serde_json::from_slice(&output.stdout).context("the benchmark printed no JSON")
}
