//! What is built by itself, and yet shares what the rest of the workspace has compiled.
//!
//! Cargo compiles a crate once for each set of its features, and all that depends on it as well. `cargo xtask` and the Python package
//! are built each by itself, by cargo's and by pip's rules; that is free only while they ask for the features that every crate
//! they share has elsewhere. A feature they lack costs no error, only minutes, so it is looked for here, and named.

use std::collections::BTreeMap;
use std::process::Stdio;

use anyhow::{Context, Result, bail};

use crate::cargo::{self, EVERYTHING};

/// What is built by itself: how it is selected, and the manifest that asks for features.
const ALONE: [(&[&str], &str); 2] = [
    (&["--package", "xtask"], "xtask/Cargo.toml"),
    (&["--package", "rankscope-python", "--features", "as-tested"], "crates/rankscope-python/Cargo.toml"),
];

/// A crate in one version, with the sets of features it is compiled with.
type Crates = BTreeMap<String, Vec<String>>;

/// Names every crate that is compiled once more because of its features.
pub(crate) fn run() -> Result<()> {
    let everywhere = crates(&[&EVERYTHING[..], &["--edges", "normal,build,dev"]].concat())?;
    let mut lacking = Vec::new();
    for (selection, manifest) in ALONE {
        let alone = crates(&[selection, &["--locked", "--edges", "normal,build"]].concat())?;
        lacking.extend(compiled_again(&alone, &everywhere).map(|what| format!("{manifest}: {what}")));
    }
    for line in &lacking {
        eprintln!("{line}");
    }
    if !lacking.is_empty() {
        bail!("{} crates would be compiled a second time; ask for their features there", lacking.len());
    }
    Ok(())
}

fn compiled_again<'a>(alone: &'a Crates, everywhere: &'a Crates) -> impl Iterator<Item = String> + 'a {
    alone.iter().flat_map(|(name, sets)| {
        let known = everywhere.get(name).map_or(&[][..], Vec::as_slice);
        // What nobody else has is compiled once in any case; the package itself is.
        let again = sets.iter().filter(move |set| !known.is_empty() && !known.contains(set));
        again.map(move |set| format!("{name} has the features {set:?} here and {known:?} elsewhere"))
    })
}

fn crates(selection: &[&str]) -> Result<Crates> {
    let tree = ["tree", "--prefix", "none", "--format", "{p}\t{f}"];
    let output = cargo::command([&tree[..], selection].concat()).stderr(Stdio::inherit()).output();
    let output = output.context("failed to start cargo tree")?;
    if !output.status.success() {
        bail!("cargo tree failed ({})", output.status);
    }
    let text = String::from_utf8(output.stdout).context("failed to understand cargo tree")?;
    Ok(parse(&text))
}

/// Of lines of a crate and its features, all crates but the one that was asked about, whose own features are no cost.
fn parse(tree: &str) -> Crates {
    let mut crates = Crates::new();
    // Cargo marks what it has listed before.
    let lines = tree.lines().map(|line| line.trim_end_matches(" (*)"));
    for (name, features) in lines.filter_map(|line| line.split_once('\t')) {
        let sets = crates.entry(name.to_owned()).or_default();
        if !sets.iter().any(|set| set == features) {
            sets.push(features.to_owned());
        }
    }
    crates.retain(|name, _| !name.starts_with("rankscope-python "));
    crates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_with_fewer_features_is_named_and_one_that_is_nowhere_else_is_not() {
        let everywhere = parse("log v1\tstd\nsyn v2\tfull\nsyn v2\tfull,fold\nsyn v2\tfull (*)\n");
        let alone = parse("log v1\t\nsyn v2\tfull\nonly v1\tmuch\nrankscope-python v0 (/p)\tas-tested\n");
        let named: Vec<String> = compiled_again(&alone, &everywhere).collect();
        assert_eq!(named, [r#"log v1 has the features "" here and ["std"] elsewhere"#]);
    }
}
