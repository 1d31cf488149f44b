//! The pages' scripts under Node and in Chromium, with pages of real jobs made by the product from files of this project.
//!
//! Neither program is needed to build anything; the tests say which one is missing, and are counted.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::check;
use crate::cargo::{self, Metadata};

/// What the product draws: the page, the verb, its inputs and the option that takes the page.
const PAGES: [(&str, &[&str]); 4] = [
    ("clock.html", &["clock", "show", "crates/rankscope-clock/tests/golden/offsets.jsonl", "--html"]),
    ("plan.html", &["dispatch", "plan", "examples/dispatch/batch.json", "--html"]),
    ("torch", &["report", "fixtures/torch-gloo-4ranks", "--out"]),
    ("jax", &["report", "fixtures/jax-cpu-2procs", "--out"]),
];

pub(super) fn run() -> Result<()> {
    let Metadata { target_directory, .. } = cargo::metadata()?;
    let pages = target_directory.join("ci-pages");
    draw(&cargo::debug_binary(&target_directory)?, &pages)?;
    // With everything else, as the tests before: of one package by itself other features are asked for, and all of it is built again.
    let test = [&["test", "--test", "page"], &cargo::EVERYTHING[..]].concat();
    check(cargo::command(test).env("RANKSCOPE_PAGES", &pages))
}

/// A page of every kind into `pages`.
fn draw(product: &Path, pages: &Path) -> Result<()> {
    fs::create_dir_all(pages).with_context(|| format!("failed to create {}", pages.display()))?;
    for (name, arguments) in PAGES {
        let mut command = Command::new(product);
        let command = command.current_dir(cargo::root()).args(arguments).arg(pages.join(name));
        check(command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null()))?;
        let report = pages.join(name).join("report.html");
        if report.exists() {
            let page = pages.join(format!("{name}.html"));
            fs::rename(&report, &page).with_context(|| format!("failed to move {}", report.display()))?;
        }
    }
    Ok(())
}
