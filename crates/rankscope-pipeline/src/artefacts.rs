//! The files of a report: where they go, and that they appear whole or not at all.

use std::io::Write;
use std::path::{Path, PathBuf};

use rankscope_document::Document;
use rankscope_report::Layout;
use rankscope_run::Outputs;

use crate::request::Judged;
use crate::{Error, Progress};

/// Where files go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    report: PathBuf,
    timeline: PathBuf,
}

impl Places {
    /// All into `folder`.
    pub fn beside(folder: &Path) -> Self {
        Self { report: folder.to_owned(), timeline: folder.to_owned() }
    }

    /// Into the run directory `run`.
    pub fn in_run(run: &Path) -> Self {
        Self { report: run.join("report"), timeline: run.to_owned() }
    }
}

/// Writes report.json and report.html, and timeline.pftrace of what is `drawn`. Returns their paths.
///
/// # Errors
/// [`Error::Run`] for what the file system refuses, and what drawing fails with. What was there before stays then.
pub fn write_report(
    places: &Places,
    document: &Document,
    drawn: Option<&Judged>,
    progress: &dyn Progress,
) -> Result<Vec<PathBuf>, Error> {
    let (texts, timeline) = rayon::join(|| texts(places, document), || timeline(places, drawn, progress));
    committed(texts?, timeline?)
}

/// Gives all files their names, and returns their paths.
pub(crate) fn committed(texts: Outputs, timeline: Outputs) -> Result<Vec<PathBuf>, Error> {
    let mut written = texts.commit()?;
    written.extend(timeline.commit()?);
    Ok(written)
}

/// What of a report is made of its document.
pub(crate) fn texts(places: &Places, document: &Document) -> Result<Outputs, Error> {
    let mut outputs = Outputs::into_directory(&places.report)?;
    let refused = |name: &str| {
        let path = places.report.join(name);
        move |source| Error::Io { path, source }
    };
    let html = rankscope_report::html(document)?;
    outputs.write("report.html", |file| file.write_all(html.as_bytes()).map_err(refused("report.html")))?;
    drop(html);
    let json = |file: &mut dyn Write| rankscope_report::write_json(document, Layout::Pretty, file);
    outputs.write("report.json", |file| json(file).map_err(refused("report.json")))?;
    Ok(outputs)
}

/// What of it is made of its events.
pub(crate) fn timeline(places: &Places, drawn: Option<&Judged>, progress: &dyn Progress) -> Result<Outputs, Error> {
    let mut outputs = Outputs::into_directory(&places.timeline)?;
    if let Some(judged) = drawn {
        outputs.write("timeline.pftrace", |file| judged.write_timeline(file, progress))?;
    }
    Ok(outputs)
}
