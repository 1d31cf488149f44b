//! Tests that passed because they could not run here, gathered from the file they leave it in.
//!
//! Test runners hide what passing tests print; `rankscope_testkit::skip` therefore also writes a line to the file that
//! `RANKSCOPE_SKIPS` names. One file serves all stages: a test that two of them run is one test.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cargo;

/// Where tests leave word that they were skipped.
pub(super) fn file() -> PathBuf {
    // Beside what cargo keeps, in the folder every machine has.
    cargo::root().join("target").join("ci-skips.tsv")
}

/// Forgets what an earlier run left.
pub(super) fn clear() -> Result<()> {
    let path = file();
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).context(format!("failed to clear {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// What was missing and why, each with the tests that said so.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Skips(BTreeMap<String, BTreeSet<String>>);

impl Skips {
    /// What the tests left.
    pub(super) fn read() -> Self {
        Self::parse(&fs::read_to_string(file()).unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut skips = Self::default();
        for line in text.lines() {
            let cells: Vec<&str> = line.splitn(4, '\t').collect();
            if let [place, test, need, why] = cells[..] {
                let place = Path::new(place).file_stem().unwrap_or_default().to_string_lossy();
                // A test of a module says the module itself.
                let test = test.rsplit_once("::").map_or(test, |(_, name)| name);
                skips.0.entry(format!("{need}: {why}")).or_default().insert(format!("{place}::{test}"));
            }
        }
        skips
    }

    /// Tests that skipped something; one that gave two reasons is one.
    fn tests(&self) -> usize {
        self.0.values().flatten().collect::<BTreeSet<_>>().len()
    }
}

/// How many tests, and a line for each reason.
impl fmt::Display for Skips {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} tests were skipped, at least in part", self.tests())?;
        for (why, tests) in &self.0 {
            write!(f, "\n  {why} ({})", tests.iter().map(String::as_str).collect::<Vec<_>>().join(", "))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_counts_once_and_a_reason_names_all_its_tests() {
        let text = "tests/a.rs\tone\tmpi\tno moon\ntests/a.rs\tone\tmpi\tno moon\ntests/a.rs\ta::one\tetcd\tno sun\n\
                    tests/b.rs\ttwo\tmpi\tno moon\nhalf a li";
        let said = "2 tests were skipped, at least in part\n  etcd: no sun (a::one)\n  mpi: no moon (a::one, b::two)";
        assert_eq!(Skips::parse(text).to_string(), said);
    }

    #[test]
    fn nothing_skipped_is_said_too() {
        assert_eq!(Skips::default().to_string(), "0 tests were skipped, at least in part");
    }
}
