//! The dataset of Parquet files, read by the programs that people read it with.
//!
//! They come from the Python package index; where they cannot be had, the tests that want them say so.

use std::path::PathBuf;

use anyhow::{Context, Result};
use rankscope_testkit::Need;

use crate::cargo::{self, EVERYTHING};
use crate::ci::{self, Outcome};
use crate::venv;

const READERS: [&str; 4] = ["duckdb>=1.3", "pyarrow>=18", "polars>=1.20", "pandas>=2.2"];

/// The tests that read datasets.
pub(crate) fn run() -> Result<Outcome> {
    let mut tests = cargo::command([&["test", "--test", "dataset"], &EVERYTHING[..]].concat());
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
        venv::create(&venv)?;
    }
    venv::finish(venv::pip(&python).args(READERS), "pip")?;
    Ok(python)
}
