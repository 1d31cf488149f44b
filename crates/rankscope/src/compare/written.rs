//! What `rankscope compare` leaves: a folder with the document and the page, and workbooks.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::ValueEnum;
use rankscope_compare::Side;
use rankscope_document::{CompareDocument, Document, SideBySide};
use rankscope_pipeline::beside_comparison;
use rankscope_run::{Outputs, write_file};
use rankscope_xlsx::compare::aorta::{FOR_ALL, Workbook, write_for_all};
use rankscope_xlsx::compare::tracelens;

/// Which files are written.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct WrittenArgs {
    /// Write compare.json and compare.html into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Also write the comparison as an Excel workbook
    #[arg(long, value_name = "FILE")]
    xlsx: Option<PathBuf>,
    /// Also write the workbooks that other tools' scripts expect, into --out
    #[arg(long, value_name = "TOOL", requires = "out")]
    layout: Option<Tree>,
    /// Also write TraceLens' comparison of each test into this folder, of several ranks into rank0 and so on: sheets _intersect,
    /// _only_baseline, _only_variant
    #[arg(long, value_name = "DIR")]
    tracelens: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tree {
    /// gpu_timeline_comparison.xlsx, collective_comparison.xlsx, final_analysis_report.xlsx and the others that aorta leaves; of several
    /// tests a folder for each, and final_analysis_report_for_all.xlsx
    Aorta,
}

impl WrittenArgs {
    /// Writes them, each whole or not at all. Returns what was written.
    pub(super) fn write(&self, document: &CompareDocument, sides: &[Side]) -> Result<Vec<PathBuf>> {
        let mut written = Vec::new();
        if let Some(path) = &self.xlsx {
            write_file(path, |file| rankscope_xlsx::compare::write(document, file).map_err(anyhow::Error::from))
                .with_context(|| format!("write {}", path.display()))?;
            written.push(path.clone());
        }
        if let Some(folder) = &self.tracelens {
            written.extend(of_tracelens(sides, folder).with_context(|| format!("write {}", folder.display()))?);
        }
        let Some(folder) = &self.out else { return Ok(written) };
        written.extend(page(document, folder).with_context(|| format!("write {}", folder.display()))?);
        if let Some(Tree::Aorta) = self.layout {
            written.extend(workbooks(document, sides, folder).with_context(|| format!("write {}", folder.display()))?);
        }
        Ok(written)
    }
}

fn page(document: &CompareDocument, folder: &Path) -> Result<Vec<PathBuf>> {
    // Once the folder is there: ways lead from it.
    let mut outputs = Outputs::into_directory(folder)?;
    let beside = beside_comparison(&folder.join("compare.html"), document);
    let html = rankscope_report::compare_html(document, &beside)?;
    outputs.write("compare.json", |file| -> Result<()> { Ok(rankscope_report::write_comparison(document, file)?) })?;
    outputs.write("compare.html", |file| -> Result<()> { Ok(file.write_all(html.as_bytes())?) })?;
    Ok(outputs.commit()?)
}

/// The workbooks of one test go into `folder`; those of several go into folders by their labels, and one of all beside them.
fn workbooks(document: &CompareDocument, sides: &[Side], folder: &Path) -> Result<Vec<PathBuf>> {
    let Some((base, tests)) = sides.split_first() else { return Ok(Vec::new()) };
    let mut written = Vec::new();
    for (beside, test) in document.side_by_side.iter().zip(tests) {
        let folder = if tests.len() > 1 { folder.join(file_name(test.label())) } else { folder.to_owned() };
        if let (Some(base), Some(test)) = (base.documents().next(), test.documents().next()) {
            written.extend(of_pair(beside, [base, test], &folder)?);
        }
    }
    if tests.len() > 1 {
        let mut outputs = Outputs::into_directory(folder)?;
        outputs.write(FOR_ALL, |file| write_for_all(document, file).map_err(anyhow::Error::from))?;
        written.extend(outputs.commit()?);
    }
    Ok(written)
}

fn of_pair(beside: &SideBySide, documents: [&Document; 2], folder: &Path) -> Result<Vec<PathBuf>> {
    let mut outputs = Outputs::into_directory(folder)?;
    for workbook in Workbook::ALL {
        outputs.write(workbook.name(), |file| workbook.write(beside, documents, file).map_err(anyhow::Error::from))?;
    }
    Ok(outputs.commit()?)
}

/// A workbook for each rank of each test: `compare_BASE_vs_TEST.xlsx`. Where there are several ranks, each has a folder.
fn of_tracelens(sides: &[Side], folder: &Path) -> Result<Vec<PathBuf>> {
    let Some((base, tests)) = sides.split_first() else { return Ok(Vec::new()) };
    let mut of_ranks: BTreeMap<u32, Vec<(&Side, [&Document; 2])>> = BTreeMap::new();
    for test in tests {
        let (Some(of_base), Some(of_test)) = (base.documents().next(), test.documents().next()) else { continue };
        for rank in tracelens::ranks([of_base, of_test]) {
            of_ranks.entry(rank).or_default().push((test, [of_base, of_test]));
        }
    }
    let mut written = Vec::new();
    let is_one = of_ranks.len() == 1;
    for (rank, tests) in of_ranks {
        let folder = if is_one { folder.to_owned() } else { folder.join(format!("rank{rank}")) };
        let mut outputs = Outputs::into_directory(&folder)?;
        for (test, documents) in tests {
            let name = format!("compare_{}_vs_{}.xlsx", file_name(base.label()), file_name(test.label()));
            let tags = [base.label(), test.label()];
            outputs.write(&name, |file| tracelens::write(documents, rank, tags, file).map_err(anyhow::Error::from))?;
        }
        written.extend(outputs.commit()?);
    }
    Ok(if written.len() > NAMED { vec![folder.to_owned()] } else { written })
}

/// Of more workbooks of ranks than this the folder is named, not each.
const NAMED: usize = 32;

/// `label` as the name of a folder. Labels are parts of paths, so they differ, but may have separators.
fn file_name(label: &str) -> String {
    let plain: String = label.chars().map(|c| if c.is_alphanumeric() || "-_.".contains(c) { c } else { '_' }).collect();
    if plain.trim_matches('.').is_empty() { format!("side_{plain}") } else { plain }
}

/// `text` as the file at `path`, whole or not at all.
pub(crate) fn write_text(path: &Path, text: &str) -> Result<()> {
    write_file(path, |to| to.write_all(text.as_bytes()).with_context(|| path.display().to_string()))
}
