//! The pure crates, checked for a target without files, sockets, clocks or threads.
//!
//! A text search finds what a crate mentions; that it compiles for a browser shows that none of its dependencies needs an
//! operating system to be built either. It shows nothing about what a dependency does there when it is called.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::ci::{Outcome, cargo};
use crate::deps::{NATIVE, PURE};

const TARGET: &str = "wasm32-unknown-unknown";

/// Checks the crates, if the target is here or can be had.
pub(crate) fn run() -> Result<Outcome> {
    if !is_installed() && !install() {
        let add = format!("rustup target add {TARGET}");
        return Ok(Outcome::Skipped(format!("{TARGET} is not installed, and `{add}` failed; run it where there is a network")));
    }
    let packages: Vec<&str> = portable().flat_map(|name| ["--package", name]).collect();
    cargo(&[&["check", "--target", TARGET, "--locked"], &packages[..]].concat())?;
    println!("for {TARGET}: {}", portable().collect::<Vec<_>>().join(", "));
    for (name, why) in NATIVE {
        println!("not {name}: {why}");
    }
    Ok(Outcome::Passed)
}

fn portable() -> impl Iterator<Item = &'static str> {
    PURE.iter().copied().filter(|name| NATIVE.iter().all(|(native, _)| native != name))
}

/// Whether the standard library of the target lies where the compiler looks for it.
fn is_installed() -> bool {
    let asked = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    asked.is_ok_and(|output| PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

fn install() -> bool {
    Command::new("rustup").args(["target", "add", TARGET]).status().is_ok_and(|status| status.success())
}
