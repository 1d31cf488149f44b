//! The report as Excel workbooks: one with a dashboard first and a sheet a table, or the tree of workbooks that aorta leaves.
//!
//! It draws what the [`Document`] has. Units are converted, parts of a total are put in percent, and the dashboard adds up what ranks
//! have in common; nothing else is computed. Names of sheets and columns are TraceLens' where they mean the same (`tables/known.rs`);
//! every other table, one that this crate has never heard of among them, gets a sheet by its keys. `book` writes a sheet as a real
//! table, row by row through a temporary file. The same document gives the same bytes.
//!
//! ```
//! use rankscope_document::Document;
//! use rankscope_xlsx::{NoTables, Options, write};
//!
//! let document = Document { schema: 1, title: "a job".to_owned(), ..Document::default() };
//! let mut workbook = std::io::Cursor::new(Vec::new());
//! write(&document, Options::default().with_no_tables(Some(NoTables::OneStep)), &mut workbook)?;
//! assert!(workbook.into_inner().starts_with(b"PK")); // a zip, as every workbook is
//! # Ok::<(), rankscope_xlsx::Error>(())
//! ```

pub mod aorta;
mod book;
mod column;
pub mod compare;
mod error;
mod job;
mod names;
mod put;
mod style;
mod summary;
mod tables;

use std::fmt;
use std::io::Write;

use rankscope_document::Document;

use book::Book;
pub use error::Error;

/// Data rows of one sheet: what Excel takes, less the header.
const ROWS: usize = 1_048_575;

/// Why a document has no tables of operators and kernels; the workbook says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoTables {
    /// It is of parts that were made without.
    Parts,
    /// Operators were not read.
    DeviceOnly,
    /// It is of one step, and tables are of whole traces.
    OneStep,
}

impl fmt::Display for NoTables {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(match self {
            Self::Parts => {
                "There are no tables of operators and kernels: the parts were made without. Map the traces again with \
                 `rankscope map --tables`, or give the traces instead of the parts."
            }
            Self::DeviceOnly => "There are no tables of operators and kernels: --gpu-only leaves operators out.",
            Self::OneStep => {
                "There are no tables of operators and kernels: they are of whole traces, and --step picks one step."
            }
        })
    }
}

/// How a workbook is written.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Why there are no tables, if there are none.
    pub no_tables: Option<NoTables>,
    /// Data rows that a sheet takes at most; Excel takes no more than is the default.
    pub rows: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { no_tables: None, rows: ROWS }
    }
}

impl Options {
    /// The same where there are no tables, for a reason that the workbook says.
    #[must_use]
    pub fn with_no_tables(self, no_tables: Option<NoTables>) -> Self {
        Self { no_tables, ..self }
    }

    /// The same with at most `rows` rows of data a sheet.
    #[must_use]
    pub fn with_rows(self, rows: usize) -> Self {
        Self { rows, ..self }
    }
}

/// Writes `document` as a workbook to `out`, from its beginning to its end.
///
/// # Errors
/// What `out` or the temporary files refuse.
pub fn write(document: &Document, options: Options, out: impl Write + Send) -> Result<(), Error> {
    let mut book = Book::begin("rankscope report", options.rows.min(ROWS))?;
    book.begin_summary()?;
    if document.is_training() {
        job::add(&mut book, document)?;
    }
    tables::add(&mut book, document.ranks.iter(), true)?;
    tables::add_of_job(&mut book, document, &tables::OF_JOB)?;
    let has_none = document.ranks.iter().all(|rank| rank.tables.is_none());
    summary::write(&mut book, document, options.no_tables.filter(|_| has_none))?;
    book.save(out)
}
