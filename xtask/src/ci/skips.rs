//! Tests that passed because they could not run here, gathered from the file they leave it in.
//!
//! Test runners hide what passing tests print; `rankscope_testkit::skipped` therefore also writes a line to the file that
//! `RANKSCOPE_SKIPS` names. Each stage of CI gets a new one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::cargo;

/// Where the tests of a stage leave their word.
pub(super) fn file() -> PathBuf {
    // Beside what cargo keeps, in the folder every machine has.
    cargo::root().join("target").join("ci-skips.tsv")
}

/// Forgets what an earlier stage left.
pub(super) fn clear() -> Result<()> {
    let path = file();
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(error).context(format!("failed to clear {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Reasons, each with the tests that gave it.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Skips(BTreeMap<String, BTreeSet<String>>);

impl Skips {
    /// What the tests of this stage left.
    pub(super) fn read() -> Self {
        Self::parse(&fs::read_to_string(file()).unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let mut skips = Self::default();
        for line in text.lines() {
            let mut cells = line.splitn(3, '\t');
            if let (Some(place), Some(test), Some(why)) = (cells.next(), cells.next(), cells.next()) {
                let place = Path::new(place).file_stem().unwrap_or_default().to_string_lossy();
                skips.0.entry(why.to_owned()).or_default().insert(format!("{place}::{test}"));
            }
        }
        skips
    }

    /// Tests that skipped something; one that gave two reasons is one.
    pub(super) fn tests(&self) -> usize {
        self.0.values().flatten().collect::<BTreeSet<_>>().len()
    }

    /// One line a reason.
    pub(super) fn print(&self) {
        if self.tests() > 0 {
            println!("{} tests passed because they were skipped, at least in part:", self.tests());
        }
        for (why, tests) in &self.0 {
            println!("  {why}: {}", tests.iter().map(String::as_str).collect::<Vec<_>>().join(", "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_counts_once_and_a_reason_names_all_its_tests() {
        let text =
            "tests/a.rs\tone\tno moon\ntests/a.rs\tone\tno moon\ntests/a.rs\tone\tno sun\ntests/b.rs\ttwo\tno moon\nhalf a li";
        let skips = Skips::parse(text);
        assert_eq!(skips.tests(), 2);
        assert_eq!(skips.0["no moon"].iter().collect::<Vec<_>>(), ["a::one", "b::two"]);
    }
}
