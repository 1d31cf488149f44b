//! The tree of workbooks that aorta's scripts leave beside a run, under their names, so that what reads them goes on working.
//!
//! A rank has a workbook of TraceLens' sheets, without the column `rank`; the job has one of its collectives and two of the ranks'
//! times side by side. Figures are those of report.json: what TraceLens counts in another way is still counted in ours.

mod collectives;
mod timeline;

use std::io::Write;

use rankscope_document::{Document, Rank};

use crate::book::Book;
use crate::{Error, ROWS, job, tables};
pub use timeline::Mean;

/// The folder of the tree.
pub const FOLDER: &str = "tracelens_analysis";

/// One workbook of the tree.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Workbook<'a> {
    /// The report of one rank.
    Rank(&'a Rank),
    /// The collectives of all.
    Collectives,
    /// The times of all, and their mean.
    Timeline(Mean),
}

/// The workbooks of `document`.
pub fn workbooks(document: &Document) -> Vec<Workbook<'_>> {
    let job = [Workbook::Collectives, Workbook::Timeline(Mean::Arithmetic), Workbook::Timeline(Mean::Geometric)];
    document.ranks.iter().map(Workbook::Rank).chain(job).collect()
}

impl Workbook<'_> {
    /// Its path below [`FOLDER`]: the folder it is in, if any, and its name.
    pub fn path(&self) -> (Option<&'static str>, String) {
        match self {
            Self::Rank(rank) => (Some("individual_reports"), format!("perf_rank{}.xlsx", rank.rank)),
            Self::Collectives => (Some("collective_reports"), "collective_all_ranks.xlsx".to_owned()),
            Self::Timeline(mean) => (None, format!("gpu_timeline_summary_{}.xlsx", mean.name())),
        }
    }

    /// Writes it to `out`; it is of `document`.
    ///
    /// # Errors
    /// What `out` or the temporary files refuse.
    pub fn write(&self, document: &Document, out: impl Write + Send) -> Result<(), Error> {
        match self {
            Self::Rank(rank) => {
                let mut book = Book::begin("rankscope report", ROWS)?;
                book.add(job::gpu_timeline(std::iter::once(*rank), false))?;
                tables::add(&mut book, std::iter::once(*rank), false)?;
                tables::add_collectives_of(&mut book, rank.rank, document)?;
                book.save(out)
            }
            Self::Collectives => {
                let mut book = Book::begin("rankscope report", ROWS)?;
                collectives::add(&mut book, document)?;
                book.save(out)
            }
            Self::Timeline(mean) => timeline::write(document, *mean, out),
        }
    }
}
