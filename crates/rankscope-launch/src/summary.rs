//! What is known of a run that is over: why it failed, where it lies, what is missing, and what the report found. Facts; whoever
//! prints them chooses the words.

use std::path::{Path, PathBuf};

use rankscope_run::{FirstFailure, ProfiledWindow, SideFile, read_side};
use serde_json::Value;

use crate::error::Error;
use crate::left::Left;
use crate::outcome::Outcome;
use crate::profile::ProfilePlan;

/// A run that is over.
#[derive(Debug)]
#[non_exhaustive]
pub struct Summary<'a> {
    /// Its directory.
    pub run: &'a Path,
    /// Its id.
    pub run_id: &'a str,
    /// How the job ended.
    pub outcome: &'a Outcome,
    /// What failed first, where the job ran and failed.
    pub failed: Option<FirstFailure>,
    /// Which traces there are.
    pub left: Left,
    /// What ranks said of their traces.
    pub notes: Vec<&'a str>,
    /// What became of steps that were to be profiled from outside.
    pub profiled: &'a [ProfiledWindow],
    /// Which were to be from the beginning.
    pub asked: Option<&'a ProfilePlan>,
    /// What became of the report.
    pub reported: Reported,
}

/// What became of the report.
#[derive(Debug)]
pub enum Reported {
    /// It is there.
    Found(Found),
    /// It could not be made.
    Failed(Error),
    /// There was nothing to report on.
    NoTraces,
    /// Nobody asked for it.
    NotWanted,
    /// The job took the run directory away.
    Removed,
}

/// What of a report belongs to the end of a run.
#[derive(Debug, Default)]
pub struct Found {
    /// Its findings, the strongest first.
    pub findings: Vec<String>,
    cautions: Vec<ReportCaution>,
    left: Option<Left>,
}

/// What the report says to keep its findings from being taken for the whole truth.
#[derive(Debug)]
struct ReportCaution {
    kind: String,
    text: String,
}

/// What keeps the findings from being the whole truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caution<'a> {
    /// In the words of the report, or of a rank.
    Told(&'a str),
    /// There is no trace of these ranks, and the report does not say so.
    MissingRanks(&'a [u32]),
}

/// Kinds that come before any finding, in this order. A crash is told from the run itself.
const FIRST: [&str; 7] = ["same_bytes", "rank_by_order", "mixed_formats", "world_size", "time_range", "missing_rank", "window"];

impl Reported {
    /// What the report at `path` says.
    pub(crate) fn read(path: &Path) -> Self {
        match read_side(path, SideFile::Record) {
            Ok(bytes) => Self::Found(Found::of(&serde_json::from_slice(&bytes).unwrap_or_default())),
            Err(error) => Self::Failed(Error::Report(error.to_string())),
        }
    }

    /// The ranks that it read, where there is one.
    pub(crate) fn left(&self) -> Option<Left> {
        if let Self::Found(found) = self { found.left.clone() } else { None }
    }
}

impl Found {
    fn of(report: &Value) -> Self {
        let notes = report["notes"].as_array().map(Vec::as_slice).unwrap_or_default();
        let cautions = report["cautions"].as_array().map(Vec::as_slice).unwrap_or_default();
        // That the job failed, and how, is said from the run itself.
        let is_crash = |text: &str| cautions.iter().any(|caution| caution["kind"] == "crash" && caution["text"] == text);
        let findings = notes.iter().filter(|note| note["level"] == "finding").filter_map(|note| note["text"].as_str());
        let findings = findings.filter(|text| !is_crash(text));
        let caution = |caution: &Value| {
            Some(ReportCaution { kind: caution["kind"].as_str()?.to_owned(), text: caution["text"].as_str()?.to_owned() })
        };
        Self {
            findings: findings.map(str::to_owned).collect(),
            cautions: cautions.iter().filter_map(caution).collect(),
            left: Left::told(report),
        }
    }
}

impl<'a> Summary<'a> {
    /// Of a run whose directory is gone.
    pub(crate) fn of_removed(run: &'a Path, run_id: &'a str, outcome: &'a Outcome) -> Self {
        let left = Left { files: 0, world_size: None, missing: Vec::new() };
        Self {
            run,
            run_id,
            outcome,
            failed: None,
            left,
            notes: Vec::new(),
            profiled: &[],
            asked: None,
            reported: Reported::Removed,
        }
    }

    /// The report's page, if there is a report.
    pub fn page(&self) -> Option<PathBuf> {
        self.found().map(|_| self.run.join("report/report.html"))
    }

    /// The timeline. What could be aligned is also drawn.
    pub fn timeline(&self) -> Option<PathBuf> {
        Some(self.run.join("timeline.pftrace")).filter(|path| path.exists())
    }

    /// What of the report belongs here, if there is a report.
    pub fn found(&self) -> Option<&Found> {
        if let Reported::Found(found) = &self.reported { Some(found) } else { None }
    }

    /// By the report, else by what is known without it.
    pub fn cautions(&self) -> Vec<Caution<'_>> {
        let told = self.found().map(|found| found.cautions.as_slice()).unwrap_or_default();
        let mut cautions = Vec::new();
        for kind in FIRST {
            let before = cautions.len();
            cautions.extend(told.iter().filter(|caution| caution.kind == kind).map(|caution| Caution::Told(&caution.text)));
            if cautions.len() == before {
                match kind {
                    "missing_rank" => cautions.extend(self.missing()),
                    "same_bytes" => cautions.extend(self.notes.iter().map(|note| Caution::Told(note))),
                    _ => {}
                }
            }
        }
        cautions
    }

    fn missing(&self) -> Option<Caution<'_>> {
        let found = self.found().is_some() && !self.left.missing.is_empty();
        found.then_some(Caution::MissingRanks(&self.left.missing))
    }
}
