//! The report as one Excel workbook: a dashboard first, then a sheet a table.
//!
//! It draws what the [`Document`] has. Units are converted, and parts of a total that the sheet states are put in percent; nothing
//! else is computed. What the document lacks gives no sheet. Names of sheets and columns are TraceLens' where they mean the same.
//! A sheet is a list of columns (`tables`, `job`); `book` writes it as a real table, row by row through a temporary file. The same
//! document gives the same bytes.

mod book;
mod column;
mod error;
mod job;
mod style;
mod summary;
mod tables;

use std::io::Write;

use rankscope_document::Document;

use book::Book;
pub use error::Error;

/// Data rows of one sheet: what Excel takes, less the header.
const ROWS: usize = 1_048_575;

/// Writes `document` as a workbook to `out`, from its beginning to its end.
///
/// # Errors
/// What `out` or the temporary files refuse.
pub fn write(document: &Document, out: impl Write + Send) -> Result<(), Error> {
    write_split(document, ROWS, out)
}

/// The same, with at most `rows` rows on a sheet. Public for tests only: no test writes a million rows.
#[doc(hidden)]
pub fn write_split(document: &Document, rows: usize, out: impl Write + Send) -> Result<(), Error> {
    let mut book = Book::begin(rows)?;
    if document.is_training() {
        job::add(&mut book, document)?;
    }
    tables::add(&mut book, document)?;
    summary::write(&mut book, document)?;
    book.save(out)
}
