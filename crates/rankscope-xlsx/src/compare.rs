//! A comparison as Excel workbooks: one with the answer first, or the workbooks that aorta's scripts leave.
//!
//! Both draw what the [`CompareDocument`] has. The signs of one sheet are the signs of all of its workbook, and every sheet with
//! differences says which they are. Colours go by the word of the verdict alone, never by what else is in a column.

pub mod aorta;
mod beside;
mod charts;
mod every;
mod evidence;
mod summary;
pub mod tracelens;

use std::io::Write;

use rankscope_document::{CompareDocument, Comparison, Convention};

use crate::book::{Besides, Book, Sheet};
use crate::{Error, ROWS};

/// What a sheet with differences says of its signs.
pub(crate) fn signs(convention: &Convention) -> &'static str {
    match convention {
        Convention::Aorta => {
            "aorta's signs: percent_change is positive where the test is better; diff is test minus base, so a negative time is faster"
        }
        _ => "Signs: test minus base. A positive time takes longer in the test; status says whether that is certain",
    }
}

/// The same in a cell of a row.
pub(crate) fn sign(convention: &Convention) -> &'static str {
    match convention {
        Convention::Aorta => "percent_change > 0: test is better",
        _ => "test - base; > 0: more in the test",
    }
}

/// Writes `document` as one workbook to `out`, from its beginning to its end.
///
/// # Errors
/// What `out` or the temporary files refuse.
pub fn write(document: &CompareDocument, out: impl Write + Send) -> Result<(), Error> {
    let mut book = Book::begin("rankscope compare", ROWS)?;
    book.begin_summary()?;
    let pairs: Vec<&Comparison> = pairs(document).collect();
    evidence::add(&mut book, &pairs)?;
    for beside in &document.side_by_side {
        let several = (document.side_by_side.len() > 1).then_some(beside.test.as_str());
        let named = |name: &str| several.map_or_else(|| name.to_owned(), |test| format!("{name} {test}"));
        add(&mut book, named("ranks"), beside::by_rank(beside), &beside.convention)?;
        add(&mut book, named("collectives"), beside::collectives(beside), &beside.convention)?;
    }
    every::add_ranking(&mut book, document)?;
    evidence::add_definitions(&mut book)?;
    summary::write(&mut book, document)?;
    book.save(out)
}

/// Every test beside the base.
fn pairs(document: &CompareDocument) -> impl Iterator<Item = &Comparison> {
    std::iter::once(&document.first).chain(&document.others)
}

/// Adds `sheet` as `name`, with what its signs are.
fn add<R>(book: &mut Book, name: String, mut sheet: Sheet<'_, R>, convention: &Convention) -> Result<(), Error> {
    sheet.name = name;
    book.add_with(sheet, Besides { signs: Some(signs(convention)), ..Besides::default() })
}
