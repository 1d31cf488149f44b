//! The dataset of Parquet files: what writes it, which the default build leaves out, and the programs that people read it with.
//!
//! Built as the other stages build, with one feature more, so that only the writer and what stands on it is compiled again. The readers
//! come from the Python package index; where they cannot be had, the tests that want them say so.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use rankscope_testkit::Need;

use crate::cargo::{self, EVERYTHING};
use crate::ci::{self, Outcome};

const READERS: [&str; 4] = ["duckdb>=1.3", "pyarrow>=18", "polars>=1.20", "pandas>=2.2"];

/// Lints and tests.
pub(crate) fn run() -> Result<Outcome> {
    let [selection, locked, option, features] = EVERYTHING;
    let features = format!("{features},rankscope/parquet");
    let with = [selection, locked, option, &features];
    ci::cargo(&[&["clippy", "--lib", "--test", "dataset"], &with[..], &["--", "-D", "warnings"]].concat())?;
    let mut tests = cargo::command([&["test", "--test", "dataset"], &with[..]].concat());
    let variable = Need::DatasetReaders.variable().context("its readers are named by a variable")?;
    if std::env::var_os(variable).is_none() {
        match readers() {
            Ok(python) => {
                tests.env(variable, python);
            }
            Err(why) => println!("the readers cannot be had: {why:#}"),
        }
    }
    ci::check(&mut tests)?;
    Ok(Outcome::Passed)
}

/// Python with the readers, in an environment that is kept.
fn readers() -> Result<PathBuf> {
    let venv = cargo::metadata()?.target_directory.join("dataset-python");
    let python = venv.join("bin").join("python");
    if !python.exists() {
        finish(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    }
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(READERS);
    finish(&mut pip)?;
    Ok(python)
}

fn finish(command: &mut Command) -> Result<()> {
    let output = command.output().with_context(|| format!("failed to start {}", command.get_program().display()))?;
    if !output.status.success() {
        bail!("{}: {}", command.get_program().display(), String::from_utf8_lossy(&output.stderr).trim());
    }
    Ok(())
}
