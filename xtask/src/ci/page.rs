//! The pages' scripts under Node and in Chromium, with pages of real jobs made by the product from files of this project.
//!
//! Neither program is needed to build anything; the tests say which one is missing, and are counted.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::check;
use crate::cargo::{self, Metadata};

/// What the product draws: the page, the verb, its inputs and the option that takes the page.
const PAGES: [(&str, &[&str]); 5] = [
    ("clock.html", &["clock", "show", "crates/rankscope-clock/tests/golden/offsets.jsonl", "--html"]),
    ("plan.html", &["dispatch", "plan", "examples/dispatch/batch.json", "--html"]),
    ("validation.html", &["validate", "fixtures/torch-gloo-4ranks", "--html"]),
    ("torch", &["report", "fixtures/torch-gloo-4ranks", "--out"]),
    ("jax", &["report", "fixtures/jax-cpu-2procs", "--out"]),
];

pub(super) fn run() -> Result<()> {
    let Metadata { target_directory, .. } = cargo::metadata()?;
    let pages = target_directory.join("ci-pages");
    draw(&cargo::debug_binary(&target_directory)?, &pages)?;
    // With everything else, as the tests before: of one package by itself other features are asked for, and all of it is built again.
    let test = [&["test", "--test", "page"], &cargo::EVERYTHING[..]].concat();
    let mut command = cargo::command(test);
    command.env("RANKSCOPE_PAGES", &pages);
    if let Some(modules) = node_modules(&target_directory.join("ci-npm")) {
        command.env("RANKSCOPE_NODE_MODULES", modules);
    }
    check(&mut command)
}

/// What npm brings for the tests; without npm or its registry none, which the tests then say.
fn node_modules(folder: &Path) -> Option<PathBuf> {
    fs::create_dir_all(folder).ok()?;
    let mut command = Command::new("npm");
    let command = command.args(["install", "--no-save", "--no-audit", "--no-fund", "--prefix"]).arg(folder).args(NPM);
    command.stdout(std::process::Stdio::null()).status().ok()?.success().then(|| folder.join("node_modules"))
}

/// Checkers of types and of access, in the versions that the tests were written with.
const NPM: [&str; 2] = ["typescript@7.0.2", "axe-core@4.14.1"];

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
