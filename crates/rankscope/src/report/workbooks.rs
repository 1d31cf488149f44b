//! `rankscope report --xlsx` and `--layout`: the report as Excel workbooks.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::ValueEnum;
use rankscope_document::Document;
use rankscope_run::{Outputs, write_file};
use rankscope_xlsx::{NoTables, Options, aorta};

use crate::output;

/// Which workbooks are written.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct WorkbookArgs {
    /// Also write the report as an Excel workbook, with every table on a sheet of its own
    #[arg(long, value_name = "FILE")]
    xlsx: Option<PathBuf>,
    /// Also write the folder of workbooks that other tools' scripts expect, into --out
    #[arg(long, value_name = "TOOL")]
    layout: Option<Tree>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tree {
    /// tracelens_analysis, as aorta leaves it: a workbook of TraceLens' sheets for each rank, one of collectives, two of the ranks'
    /// times
    Aorta,
}

impl WorkbookArgs {
    /// Whether any is written.
    pub(super) fn any(&self) -> bool {
        self.xlsx.is_some() || self.layout.is_some()
    }

    /// Writes them; a tree goes into `folder`. `no_tables` says why `document` has no tables, if it has none. Returns what was written.
    pub(super) fn write(&self, document: &Document, no_tables: Option<NoTables>, folder: &Path) -> Result<Vec<PathBuf>> {
        let mut written = Vec::new();
        if let Some(path) = &self.xlsx {
            let options = Options { no_tables, ..Options::default() };
            write_file(path, |file| rankscope_xlsx::write(document, options, file).map_err(anyhow::Error::from))
                .with_context(|| format!("write {}", path.display()))?;
            written.push(path.clone());
        }
        if let Some(Tree::Aorta) = self.layout {
            let folder = folder.join(aorta::FOLDER);
            tree(document, &folder).with_context(|| format!("write {}", folder.display()))?;
            if let Some(why) = no_tables {
                output::remark(&why.to_string());
            }
            written.push(folder);
        }
        Ok(written)
    }
}

/// Writes all workbooks below `folder`; they appear when the last one is complete.
fn tree(document: &Document, folder: &Path) -> Result<()> {
    let mut outputs: Vec<(Option<&str>, Outputs)> = Vec::new();
    for workbook in aorta::workbooks(document) {
        let (inner, name) = workbook.path();
        let at = match outputs.iter().position(|(known, _)| *known == inner) {
            Some(at) => at,
            None => {
                let folder = inner.map_or_else(|| folder.to_owned(), |inner| folder.join(inner));
                outputs.push((inner, Outputs::into_directory(&folder)?));
                outputs.len() - 1
            }
        };
        outputs[at].1.write(&name, |file| workbook.write(document, file).map_err(anyhow::Error::from))?;
    }
    for (_, outputs) in outputs {
        outputs.commit()?;
    }
    Ok(())
}
