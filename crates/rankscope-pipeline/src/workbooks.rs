//! A report as Excel workbooks: which are asked for, and that each appears whole or not at all.

use std::path::{Path, PathBuf};

use rankscope_document::Document;
use rankscope_run::{Outputs, write_file};
use rankscope_xlsx::{NoTables, Options, aorta};

use crate::Error;

/// Which workbooks are written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Workbooks {
    /// One of every table, here.
    pub xlsx: Option<PathBuf>,
    /// The tree that aorta leaves.
    pub aorta: bool,
}

impl Workbooks {
    /// Whether any is written.
    pub fn any(&self) -> bool {
        self.xlsx.is_some() || self.aorta
    }

    /// Writes them; a tree goes into `folder`. `no_tables` says why `document` has no tables, if it has none.
    pub(crate) fn write(&self, document: &Document, no_tables: Option<NoTables>, folder: &Path) -> Result<Vec<PathBuf>, Error> {
        let mut written = Vec::new();
        if let Some(path) = &self.xlsx {
            write_workbook(path, document, no_tables)?;
            written.push(path.clone());
        }
        if self.aorta {
            let folder = folder.join(aorta::FOLDER);
            tree(document, &folder)?;
            written.push(folder);
        }
        Ok(written)
    }
}

/// Writes `document` as one workbook at `path`. `no_tables` says why it has no tables, if it has none.
///
/// # Errors
/// [`Error::Workbook`] for what cannot be written, and [`Error::Run`].
pub fn write_workbook(path: &Path, document: &Document, no_tables: Option<NoTables>) -> Result<(), Error> {
    let options = Options::default().with_no_tables(no_tables);
    write_file(path, |file| rankscope_xlsx::write(document, options, file).map_err(refused(path)))
}

fn refused(path: &Path) -> impl Fn(rankscope_xlsx::Error) -> Error {
    move |source| Error::Workbook { path: path.to_owned(), source }
}

/// Writes all workbooks below `folder`; they appear when the last one is complete.
fn tree(document: &Document, folder: &Path) -> Result<(), Error> {
    let mut outputs: Vec<(PathBuf, Outputs)> = Vec::new();
    for workbook in aorta::workbooks(document) {
        let (inner, name) = workbook.path();
        let place = inner.map_or_else(|| folder.to_owned(), |inner| folder.join(inner));
        let at = match outputs.iter().position(|(known, _)| *known == place) {
            Some(at) => at,
            None => {
                outputs.push((place.clone(), Outputs::into_directory(&place)?));
                outputs.len() - 1
            }
        };
        outputs[at].1.write(&name, |file| workbook.write(document, file).map_err(refused(&place.join(&name))))?;
    }
    for (_, outputs) in outputs {
        outputs.commit()?;
    }
    Ok(())
}
