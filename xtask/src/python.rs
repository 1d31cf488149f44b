//! The Python package: installed as a user does it, into an environment of its own, and tested there.
//!
//! Built in the folder of the other stages, for debugging and with their features, so that nothing is compiled twice. A machine
//! without Python skips this, and says so; a wheel for users is `maturin build --release`.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::cargo;
use crate::ci::{self, Outcome};
use crate::venv::{self, pip};

/// What the tests need besides the package: of all readers of Arrow only its own. Tests of others, of pyright and of the notebook skip, and say so.
const TOOLS: &[&str] = &["pytest>=8,<10", "mypy>=1.15,<3", "pyarrow>=18"];

/// Installs and tests.
pub(crate) fn run() -> Result<Outcome> {
    let target = cargo::metadata()?.target_directory;
    let venv = target.join("python");
    if let Err(missing) = environment(&venv) {
        return Ok(Outcome::Skipped(format!("no environment of Python can be had: {missing:#}")));
    }
    let python = venv.join("bin/python");
    ci::check(pip(&python).args(TOOLS))?;
    let mut install = pip(&python);
    install
        .arg(cargo::root())
        .env("CARGO_TARGET_DIR", &target)
        .env("MATURIN_PEP517_ARGS", "--profile dev --features as-tested");
    ci::check(&mut install)?;
    let mut tests = Command::new(&python);
    tests.args(["-m", "pytest", "-p", "no:cacheprovider"]).current_dir(cargo::root()).env("PATH", first(&venv.join("bin"))?);
    ci::check(&mut tests)?;
    Ok(Outcome::Passed)
}

/// A fresh environment: what an earlier run installed could hide what the package lacks.
fn environment(venv: &Path) -> Result<()> {
    if venv.exists() {
        fs::remove_dir_all(venv).with_context(|| format!("failed to remove {}", venv.display()))?;
    }
    venv::create(venv)
}

/// The path on which `folder` is looked at first.
fn first(folder: &Path) -> Result<OsString> {
    let before = env::var_os("PATH").unwrap_or_default();
    let folders = [PathBuf::from(folder)].into_iter().chain(env::split_paths(&before));
    env::join_paths(folders).context("the target folder has a colon in its name")
}
