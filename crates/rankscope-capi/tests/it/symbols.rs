//! What the shared library exports is what it promises, and nothing else: a symbol that is gone breaks programs, and one that is
//! not meant to be there may be taken for those of others.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use rankscope_testkit::{Need, skip};

use crate::built::{library, own, succeeded};

/// Those that programs may rely on.
pub(crate) fn listed() -> BTreeSet<String> {
    fs::read_to_string(own("tests/symbols.txt")).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn exported_symbols_are_those_of_the_list() {
    if Command::new("nm").arg("--version").output().is_err() {
        skip(Need::Compiler, "nm is not installed");
        return;
    }
    let output =
        succeeded(Command::new("nm").args(["-D", "--defined-only", "--format=posix"]).arg(library("librankscope_capi.so")));
    let found: BTreeSet<String> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .map(|symbol| symbol.split('@').next().unwrap_or(symbol).to_owned())
        .collect();
    assert_eq!(found, listed(), "a symbol that goes needs another RANKSCOPE_ABI_VERSION; one that comes belongs on the list");
}
