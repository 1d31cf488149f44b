//! An answer as Python holds it: a document of any kind, its tables, and the files it can be saved as.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use pyo3::exceptions::{PyKeyError, PyRuntimeError};
use pyo3::prelude::*;
use rankscope_document::{
    AlignmentDocument, CompareDocument, Document, FromTracesDocument, Rows, ValidationDocument, Value, WhatIfDocument,
};
use rankscope_job::AnyTable;
use rankscope_pipeline::{FittedLog, ReportRequest, beside_comparison, memory_default, write_workbook};
use rankscope_report::{Layout, Style};
use rankscope_run::write_file;

use super::failure::Failure;
use super::object::object;
use super::table::Table;
use super::tables::tables;
use super::work::{Watch, work};

/// What was answered.
pub(crate) enum Found {
    /// A report, and what was asked: its timeline is drawn from the traces.
    Report(Box<Document>, Box<ReportRequest>),
    /// What changed between runs.
    Compared(Box<CompareDocument>),
    /// Where the ranks' clocks are.
    Aligned(AlignmentDocument),
    /// What the traces alone say about that.
    FromTraces(FromTracesDocument),
    /// What cannot have happened.
    Validated(Box<ValidationDocument>),
    /// What a step would take.
    WhatIf(WhatIfDocument),
    /// The clock difference of two hosts.
    Fitted(FittedLog),
}

impl Found {
    fn value(&self) -> Value {
        match self {
            Self::Report(document, _) => Value::of(document),
            Self::Compared(document) => Value::of(document),
            Self::Aligned(document) => Value::of(document),
            Self::FromTraces(document) => Value::of(document),
            Self::Validated(document) => Value::of(document),
            Self::WhatIf(document) => Value::of(document),
            Self::Fitted(document) => Value::of(document),
        }
    }

    /// What the command prints of it for people, where that is drawn from the document alone.
    fn text(&self) -> Option<String> {
        let style = Style { color: false, width: COLUMNS };
        match self {
            Self::Report(document, _) => Some(rankscope_report::terminal(document, style)),
            Self::Compared(document) => Some(rankscope_report::comparison(document, style)),
            Self::Aligned(document) => Some(rankscope_report::alignment_terminal(document, style)),
            Self::WhatIf(document) => Some(rankscope_report::what_if_terminal(document, RANKED, style)),
            Self::FromTraces(_) | Self::Validated(_) | Self::Fitted(_) => None,
        }
    }

    fn json(&self, to: &mut dyn Write) -> std::io::Result<()> {
        match self {
            Self::Report(document, _) => rankscope_report::write_json(document, Layout::Pretty, to),
            Self::Compared(document) => rankscope_report::write_comparison(document, to),
            other => Ok(serde_json::to_writer_pretty(to, &other.value())?),
        }
    }
}

/// As wide as the command draws where it does not know better.
const COLUMNS: usize = 100;

/// Rows of a ranking that are drawn.
const RANKED: usize = 20;

/// An answer.
#[pyclass(frozen, module = "rankscope._native")]
pub(crate) struct Answer {
    found: Arc<Found>,
    tables: OnceLock<Vec<Rows>>,
}

impl Answer {
    pub(crate) fn of(found: Found) -> Self {
        Self { found: Arc::new(found), tables: OnceLock::new() }
    }

    fn tables(&self) -> &[Rows] {
        self.tables.get_or_init(|| tables(self.found.value()))
    }
}

#[pymethods]
impl Answer {
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = py.detach(|| self.found.value());
        object(py, &value)
    }

    fn text(&self, py: Python<'_>) -> Option<String> {
        py.detach(|| self.found.text())
    }

    /// The names of its tables, and how many rows each has.
    fn table_sizes(&self, py: Python<'_>) -> Vec<(String, usize)> {
        py.detach(|| self.tables().iter().map(|table| (table.name.clone(), table.rows.len())).collect())
    }

    fn table(&self, py: Python<'_>, name: &str) -> PyResult<Table> {
        let found = py.detach(|| self.tables().iter().find(|table| table.name == name).map(Table::of));
        match found {
            Some(table) => table.map_err(|error| PyRuntimeError::new_err(error.to_string())),
            None => Err(PyKeyError::new_err(name.to_owned())),
        }
    }

    /// Whether a report makes a table called `name` for whoever asks for it.
    #[staticmethod]
    fn is_made_on_request(name: &str) -> bool {
        AnyTable::of_name(name).is_some()
    }

    /// Writes it as the file that the suffix of `path` says, whole or not at all.
    fn save(&self, py: Python<'_>, path: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<()> {
        let found = Arc::clone(&self.found);
        work(py, progress, move |watch| saved(&found, &path, watch))
    }
}

fn saved(found: &Found, path: &Path, watch: &Watch) -> Result<(), Failure> {
    let suffix = path.extension().and_then(|suffix| suffix.to_str()).unwrap_or_default();
    if suffix == "txt"
        && let Some(text) = found.text()
    {
        return whole(path, |to| to.write_all(text.as_bytes()));
    }
    match (suffix, found) {
        ("json", found) => whole(path, |to| found.json(to)),
        ("html", Found::Report(document, _)) => page(path, rankscope_report::html(document)),
        ("html", Found::Compared(document)) => {
            page(path, rankscope_report::compare_html(document, &beside_comparison(path, document)))
        }
        ("xlsx", Found::Report(document, _)) => Ok(write_workbook(path, document, None)?),
        ("xlsx", Found::Compared(document)) => {
            let written = write_file(path, |file| {
                rankscope_xlsx::compare::write(document, file)
                    .map_err(|source| rankscope_pipeline::Error::Workbook { path: path.to_owned(), source })
            });
            Ok(written?)
        }
        ("pftrace", Found::Report(_, request)) => timeline(path, request, watch),
        _ => Err(Failure::usage(format!(
            "{}: this cannot be saved as such a file. A report is saved as .json, .html, .xlsx, .txt or .pftrace, a comparison as \
             .json, .html, .xlsx or .txt, anything else as .json",
            path.display()
        ))),
    }
}

fn whole(path: &Path, fill: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<(), Failure> {
    let io = |source| rankscope_pipeline::Error::Io { path: path.to_owned(), source };
    Ok(write_file(path, |file| fill(file).map_err(io))?)
}

fn page(path: &Path, html: Result<String, rankscope_report::Error>) -> Result<(), Failure> {
    let html = html.map_err(rankscope_pipeline::Error::Page)?;
    whole(path, |to| to.write_all(html.as_bytes()))
}

/// The traces are read again, with all that a timeline shows.
fn timeline(path: &Path, request: &ReportRequest, watch: &Watch) -> Result<(), Failure> {
    let mut request = request.clone();
    request.timeline = Some((rankscope_formats::ArgsPolicy::All, rankscope_pipeline::Keep::UpTo(memory_default())));
    let judged = rankscope_pipeline::report(&request, watch)?.judged;
    if let Some(folder) = judged.parts {
        return Err(rankscope_pipeline::Error::NoEvents { folder }.into());
    }
    Ok(write_file(path, |file| judged.write_timeline(file, watch))?)
}
