//! Perfetto's own engine, asked about a file.

use std::path::{Path, PathBuf};
use std::process::Command;

use rankscope_testkit::{Need, given, skip};

/// The folder of the engine, where there is one.
pub(crate) fn engine() -> Option<PathBuf> {
    let folder = given(Need::Perfetto)?;
    let missing = if !folder.join("trace_processor.wasm").is_file() {
        "there is no trace_processor.wasm in the folder RANKSCOPE_TRACE_PROCESSOR names"
    } else if Command::new("node").arg("--version").output().is_err() {
        "node is not installed"
    } else {
        return Some(folder);
    };
    skip(Need::Perfetto, missing);
    None
}

/// The rows that answer each query.
pub(crate) fn ask(engine: &Path, file: &Path, queries: &[&str]) -> Vec<Vec<Vec<String>>> {
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/perfetto_engine.cjs");
    let output = Command::new("node").arg(driver).arg(engine).arg(file).args(queries).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let answers = String::from_utf8(output.stdout).unwrap();
    let rows = |line: &str| serde_json::from_str::<Vec<Vec<Option<String>>>>(line).unwrap();
    let text = |row: Vec<Option<String>>| row.into_iter().map(Option::unwrap_or_default).collect();
    answers.lines().map(|line| rows(line).into_iter().map(text).collect()).collect()
}

/// Where a test may write.
pub(crate) fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}
