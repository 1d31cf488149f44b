//! The floor under every reader of compressed traces: inflating them, and doing nothing with the result.

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use flate2::read::MultiGzDecoder;

use super::inputs::Input;

/// Bytes of the input after decompression, and the seconds one thread takes to inflate them where a gzip of them exists.
pub(crate) fn cost(input: &Input) -> Result<(u64, Option<f64>)> {
    let compressed = match &input.gzip {
        Some(gzip) => vec![gzip.clone()],
        None => files(&input.path)?.into_iter().filter(|file| is_gzip(file)).collect(),
    };
    if compressed.is_empty() {
        return Ok((sizes(&files(&input.path)?)?, None));
    }
    let mut bytes = 0;
    let mut seconds = f64::INFINITY;
    // The first pass brings the files into the page cache; the better of two is the floor.
    for _ in 0..2 {
        let begun = Instant::now();
        bytes = compressed.iter().map(|file| inflate(file)).sum::<Result<u64>>()?;
        seconds = seconds.min(begun.elapsed().as_secs_f64());
    }
    Ok((bytes, Some(seconds)))
}

fn inflate(file: &Path) -> Result<u64> {
    let open = || format!("failed to inflate {}", file.display());
    let mut decoder = MultiGzDecoder::new(BufReader::with_capacity(BUFFER, File::open(file).with_context(open)?));
    let mut buffer = vec![0; BUFFER];
    let mut bytes = 0;
    loop {
        match decoder.read(&mut buffer).with_context(open)? {
            0 => return Ok(bytes),
            read => bytes += read as u64,
        }
    }
}

/// The file itself, or the files of a directory.
fn files(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let list = || format!("failed to list {}", path.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(path).with_context(list)? {
        files.push(entry.with_context(list)?.path());
    }
    files.sort();
    Ok(files)
}

fn sizes(files: &[PathBuf]) -> Result<u64> {
    let size = |file: &PathBuf| fs::metadata(file).with_context(|| format!("failed to look at {}", file.display()));
    files.iter().map(|file| Ok(size(file)?.len())).sum()
}

fn is_gzip(file: &Path) -> bool {
    file.extension().is_some_and(|suffix| suffix == "gz")
}

/// Large enough that system calls and calls into the decoder cost nothing, small enough for the second-level cache.
const BUFFER: usize = 256 << 10;
