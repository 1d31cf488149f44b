//! The tables of operators and kernels: blocks that only tabulated parts have.
//!
//! Tables are of many shapes, and gain new ones with every version. They are one document of JSON, cut into blocks; a reader passes over
//! tables that it does not know, and those that a file does not have are empty.

use rankscope_tables::RankTables;

use super::kinds;
use crate::error::Error;
use crate::{Reader, Writer};

/// What a block holds of the document.
const PIECE_BYTES: usize = 4 << 20;

/// What a document may have.
const TABLES_BYTES_MAX: usize = 512 << 20;

pub(super) fn write(writer: &mut Writer, tables: &RankTables) -> Result<(), Error> {
    let text = serde_json::to_string(tables).map_err(|_| Error::Unwritable { what: "a table has a row that is no JSON" })?;
    if text.len() > TABLES_BYTES_MAX {
        return Err(Error::TooLarge { kind: kinds::TABLES, bytes: text.len() });
    }
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let end = (0..=rest.len().min(PIECE_BYTES)).rev().find(|at| rest.is_char_boundary(*at)).unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        writer.block(kinds::TABLES, |columns| columns.strings([piece]))?;
        rest = after;
    }
    Ok(())
}

/// The tables; none where the part was made without.
pub(super) fn read(reader: &Reader<'_>) -> Result<Option<RankTables>, Error> {
    let mut text = String::new();
    for block in reader.blocks(kinds::TABLES) {
        let block = block?;
        let mut columns = block.columns();
        columns.texts()?.iter().for_each(|piece| text.push_str(piece));
        columns.end()?;
        if text.len() > TABLES_BYTES_MAX {
            return Err(Error::TooLarge { kind: kinds::TABLES, bytes: text.len() });
        }
    }
    if text.is_empty() {
        return Ok(None);
    }
    let misfit = |_| Error::Misfit { kind: kinds::TABLES, what: "its tables are not what a part has" };
    serde_json::from_str(&text).map(Some).map_err(misfit)
}
