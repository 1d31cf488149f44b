//! The SQL engine, which is a workspace of its own: its lints and tests, and those of `rankscope query` with it. It compiles as long as
//! all the rest, so this runs where it is asked for, and no change that leaves it alone waits for it.

use anyhow::{Context, Result};
use rankscope_testkit::Need;

use crate::cargo::{self, EVERYTHING};
use crate::ci::{self, Outcome};

const MANIFEST: [&str; 3] = ["--locked", "--manifest-path", "crates/rankscope-sql/Cargo.toml"];

/// Checks it.
pub(crate) fn run() -> Result<Outcome> {
    let target = cargo::metadata()?.target_directory.join("sql");
    for (verb, more) in [("clippy", &["--all-targets", "--", "-D", "warnings"][..]), ("test", &[]), ("build", &[])] {
        let mut command = cargo::command(std::iter::once(verb).chain(MANIFEST));
        // Its own folder, whatever the environment says: the lock file is another.
        ci::check(command.env("CARGO_TARGET_DIR", &target).args(more))?;
    }
    let variable = Need::SqlEngine.variable().context("it is named by a variable")?;
    let tests = ["test", "--test", "dataset", "--test", "stores"];
    let mut tests = cargo::command([&tests[..], &EVERYTHING[..], &["--", "query::"]].concat());
    ci::check(tests.env(variable, target.join("debug").join("rankscope-sql")))?;
    Ok(Outcome::Passed)
}
