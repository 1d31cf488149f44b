//! `rankscope report memory SNAPSHOT.pickle`: what torch's memory allocator wrote about itself.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_job::{AnyTable, Table, memory_snapshot};
use rankscope_run::{SideFile, read_side};

use crate::report::named::Named;

/// Rows printed of each list.
const TOP_DEFAULT: usize = 10;

/// The snapshot that is meant: a pickle by its name, alone, and no other table named before it.
pub(super) fn named_snapshot(paths: &[PathBuf], named: Option<Named>) -> Option<&Path> {
    let [path] = paths else { return None };
    let is_pickle = path.extension().is_some_and(|suffix| suffix == "pickle" || suffix == "pkl");
    Some(path.as_path()).filter(|_| is_pickle && named.is_none_or(|named| named.table() == AnyTable::OfRanks(Table::Memory)))
}

/// Prints the snapshot at `path`.
pub(super) fn print(path: &Path, top: Option<usize>, format: Format) -> Result<ExitCode> {
    let bytes = read_side(path, SideFile::MemorySnapshot)?;
    let document = memory_snapshot(&bytes, &path.display().to_string()).with_context(|| path.display().to_string())?;
    match format {
        Format::Json => output::answer(&serde_json::to_string_pretty(&document)?)?,
        Format::Table => {
            output::answer(&rankscope_report::snapshot_terminal(&document, top.unwrap_or(TOP_DEFAULT), output::style()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
