//! Tables of measured times: an object with `queries`, `contexts` and `milliseconds`, a row per length of queries.

use rankscope_dispatch::cost::TimeTable;
use serde::Deserialize;
use thiserror::Error;

use crate::MOST_BYTES;

/// Why bytes are no table of times. The fault is the file's.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TimeTableError {
    /// Longer than any table.
    #[error("{bytes} bytes; tables of times have at most {MOST_BYTES}")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// JSON of another shape, or none; the source has the line and the column.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Axes or times that cannot be interpolated.
    #[error(transparent)]
    Table(#[from] rankscope_dispatch::Error),
}

#[derive(Deserialize)]
struct Times {
    queries: Vec<u32>,
    contexts: Vec<u32>,
    milliseconds: Vec<Vec<f64>>,
}

/// Reads a table.
///
/// # Errors
/// [`TimeTableError`]: bytes that are no table, or one that cannot be interpolated.
pub fn read(bytes: &[u8]) -> Result<TimeTable, TimeTableError> {
    if bytes.len() > MOST_BYTES {
        return Err(TimeTableError::TooLong { bytes: bytes.len() });
    }
    let Times { queries, contexts, milliseconds } = serde_json::from_slice(bytes)?;
    Ok(TimeTable::new(queries, contexts, &milliseconds)?)
}
