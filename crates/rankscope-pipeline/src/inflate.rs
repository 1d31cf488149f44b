//! Small files that may be packed: the two bytes that gzip begins with tell more than a suffix. Traces are unpacked where they are read.

use std::path::Path;

use rankscope_run::{Error, SideFile, read_side, side_bytes};

/// The file at `path`, unpacked if it is gzip. Packed or not, it holds no more than a file of its `kind` may.
///
/// # Errors
/// Those of [`read_side`] and [`side_bytes`]; [`Inflated::Damaged`] for gzip that is none.
pub(crate) fn read_inflated(path: &Path, kind: SideFile) -> Result<Vec<u8>, Inflated> {
    let raw = read_side(path, kind).map_err(Inflated::Run)?;
    if !raw.starts_with(&[0x1f, 0x8b]) {
        return Ok(raw);
    }
    side_bytes(path, flate2::read::MultiGzDecoder::new(raw.as_slice()), kind).map_err(|error| match error {
        error @ Error::Io { .. } => Inflated::Damaged(error),
        error => Inflated::Run(error),
    })
}

/// Why a file cannot be had.
#[derive(Debug)]
pub(crate) enum Inflated {
    /// It cannot be read.
    Run(Error),
    /// It is gzip, and damaged.
    Damaged(Error),
}
