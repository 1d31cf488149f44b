//! Libraries that stand for vendors', made where there is a C compiler.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A library with one function that stands for a vendor's.
pub(crate) fn library(directory: &Path, name: &str, code: &str) -> Option<PathBuf> {
    let (source, file) = (directory.join(format!("{name}.c")), directory.join(format!("{name}.so")));
    fs::write(&source, code).unwrap();
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&file).arg(&source).status();
    match built {
        Ok(status) if status.success() => Some(file),
        _ => None,
    }
}
