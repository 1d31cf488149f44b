//! Files as the origin writes them, read; and our own, read and written again.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use rankscope_clock::files::{
    encode_offset, encode_offsets_header, encode_window, encode_windows_header, read_offsets, read_windows,
};

use super::row::Row;

/// G12.
pub(super) fn row() -> Result<Row> {
    let (windows_text, offsets_text) = (golden("probe_windows_node0.jsonl")?, golden("round_offsets.jsonl")?);
    let windows = read_windows("probe_windows_node0.jsonl", windows_text.as_bytes());
    let offsets = read_offsets(offsets_text.as_bytes());
    let lines = windows_text.lines().count() + offsets_text.lines().count();
    let read = windows.windows.len() + offsets.rows.len();
    let headers = usize::from(windows.header.is_some()) + usize::from(offsets.header.is_some());
    let damaged = windows.damaged.len() + offsets.damaged.len();
    let same = usize::from(windows_written_again()?) + usize::from(offsets_written_again()?);
    Ok(Row::new("G12", "the origin's windows and offsets; ours, written again", "every line read; ours the same byte for byte")
        .figure("lines", lines)
        .figure("read", read)
        .figure("headers", headers)
        .figure("damaged", damaged)
        .figure("ours_written_the_same", same)
        .holds(windows.foreign && read + headers == lines && damaged == 0 && same == 2))
}

fn windows_written_again() -> Result<bool> {
    let text = golden("windows-node1.jsonl")?;
    let file = read_windows("windows-node1.jsonl", text.as_bytes());
    let header = file.header.as_ref().map(encode_windows_header).unwrap_or_default();
    Ok(header + &file.windows.iter().map(encode_window).collect::<String>() == text)
}

fn offsets_written_again() -> Result<bool> {
    let text = golden("offsets.jsonl")?;
    let file = read_offsets(text.as_bytes());
    let header = file.header.as_ref().map(encode_offsets_header).unwrap_or_default();
    Ok(header + &file.rows.iter().map(encode_offset).collect::<String>() == text)
}

fn golden(name: &str) -> Result<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/rankscope-clock/tests/golden").join(name);
    fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))
}
