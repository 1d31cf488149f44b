//! The scripts of each page as one text, made of the modules under `web/js` whenever the crate is built, and the style sheets, all without
//! what only their readers need.
//!
//! It needs nothing but Rust: who changes a module needs no Node, and who builds the product needs no npm.

#![expect(clippy::print_stdout, reason = "this is how a build script speaks to cargo")]

mod bundle;
mod style;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Each page begins with the module of its name.
const PAGES: [&str; 6] = ["report", "clock", "dispatch", "compare", "history", "validation"];

/// Style sheets under `web`.
const SHEETS: [&str; 4] = ["report", "house", "answers", "series"];

fn main() {
    println!("cargo::rerun-if-changed=web");
    println!("cargo::rerun-if-changed=build");
    if let Err(error) = scripts().and_then(|()| styles()) {
        println!("cargo::error={error}");
    }
}

fn styles() -> Result<(), String> {
    let folder = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("web");
    let out = PathBuf::from(variable("OUT_DIR")?);
    for name in SHEETS.map(|name| format!("{name}.css")) {
        let sheet = fs::read_to_string(folder.join(&name)).map_err(|error| format!("web/{name}: {error}"))?;
        fs::write(out.join(&name), style::squeezed(&sheet)).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn scripts() -> Result<(), String> {
    let folder = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("web/js");
    let out = PathBuf::from(variable("OUT_DIR")?);
    let mut reached = BTreeSet::new();
    for page in PAGES {
        let read = |module: &str| fs::read_to_string(folder.join(module));
        let bundle = bundle::bundle(&format!("{page}.js"), read).map_err(|error| format!("web/js: {error}"))?;
        fs::write(out.join(format!("{page}.js")), bundle.script).map_err(|error| error.to_string())?;
        reached.extend(bundle.modules);
    }
    let all = files(&folder, "").map_err(|error| format!("web/js: {error}"))?;
    match all.difference(&reached).next() {
        Some(unused) => Err(format!("web/js/{unused}: no page needs this module; import or remove it")),
        None => Ok(()),
    }
}

fn variable(name: &str) -> Result<String, String> {
    std::env::var(name).map_err(|error| format!("{name}: {error}"))
}

/// Every file of the folder, by its path from there.
fn files(folder: &Path, prefix: &str) -> io::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().display());
        if entry.file_type()?.is_dir() {
            found.extend(files(&entry.path(), &format!("{name}/"))?);
        } else {
            found.insert(name);
        }
    }
    Ok(found)
}
