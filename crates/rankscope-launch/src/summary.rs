//! What is said at the end of a run: why it failed, where it lies, what is missing, and what the report found, in this order and
//! in short.

use std::path::Path;

use rankscope_run::{Exit, FirstFailure, SideFile, read_side};
use serde_json::{Value, json};

use super::left::{self, Left};
use super::outcome::Outcome;
use crate::output::{self, Format};

/// A run that is over.
pub(super) struct Summary<'a> {
    pub(super) run: &'a Path,
    pub(super) run_id: &'a str,
    pub(super) outcome: &'a Outcome,
    pub(super) failed: Option<FirstFailure>,
    pub(super) left: Left,
    /// What ranks said of their traces.
    pub(super) notes: Vec<&'a str>,
    pub(super) reported: Reported,
}

/// What became of the report.
pub(super) enum Reported {
    /// It is there.
    Found(Found),
    /// It could not be made.
    Failed(String),
    /// There was nothing to report on.
    NoTraces,
    /// Nobody asked for it.
    NotWanted,
    /// The job took the run directory away.
    Removed,
}

/// What of a report is said here.
#[derive(Default)]
pub(super) struct Found {
    findings: Vec<String>,
    cautions: Vec<Caution>,
    left: Option<Left>,
}

/// What keeps the findings from being the whole truth.
struct Caution {
    kind: String,
    text: String,
}

/// Kinds that are said before any finding, in this order. A crash is told from the run itself.
const FIRST: [&str; 7] = ["same_bytes", "rank_by_order", "mixed_formats", "world_size", "time_range", "missing_rank", "window"];

impl Reported {
    /// What the report at `path` says.
    pub(super) fn read(path: &Path) -> Self {
        match read_side(path, SideFile::Record) {
            Ok(bytes) => Self::Found(Found::of(&serde_json::from_slice(&bytes).unwrap_or_default())),
            Err(error) => Self::Failed(error.to_string()),
        }
    }

    /// The ranks that it read, where there is one.
    pub(super) fn left(&self) -> Option<Left> {
        if let Self::Found(found) = self { found.left.clone() } else { None }
    }

    fn problem(&self, outcome: &Outcome) -> Option<String> {
        match self {
            Self::Found(_) | Self::NotWanted => None,
            Self::Failed(why) => Some(format!("there is no report: {why}")),
            // Who never profiled wants to know how; whose job failed wants to know why.
            Self::NoTraces if !outcome.started => None,
            Self::NoTraces if !outcome.exit.is_success() => Some("the job wrote no traces into it".to_owned()),
            Self::NoTraces => Some(NO_TRACES.to_owned()),
            Self::Removed => Some(REMOVED.to_owned()),
        }
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
            Some(Caution { kind: caution["kind"].as_str()?.to_owned(), text: caution["text"].as_str()?.to_owned() })
        };
        Self {
            findings: findings.map(str::to_owned).collect(),
            cautions: cautions.iter().filter_map(caution).collect(),
            left: Left::told(report),
        }
    }
}

const NO_TRACES: &str = "the job left no traces: profile with torch.profiler or jax.profiler, record with rankscope-record, or name the files with --collect";

const REMOVED: &str = "its directory was removed while the job ran, so the run is lost";

impl<'a> Summary<'a> {
    /// Of a run whose directory is gone.
    pub(super) fn of_removed(run: &'a Path, run_id: &'a str, outcome: &'a Outcome) -> Self {
        let left = Left { files: 0, world_size: None, missing: Vec::new() };
        Self { run, run_id, outcome, failed: None, left, notes: Vec::new(), reported: Reported::Removed }
    }

    pub(super) fn say(&self, format: Format) {
        if format == Format::Json {
            // Nobody may be reading any more; the run is complete all the same.
            let _nobody_reads = output::answer(&self.document().to_string());
            return;
        }
        if matches!(self.reported, Reported::Removed) {
            return output::remark(&format!("rankscope: {}: {REMOVED}", self.run.display()));
        }
        if let Some(failed) = &self.failed {
            output::remark(&format!("rankscope: {failed}"));
        }
        output::remark(&format!("rankscope: the run is in {} ({})", self.run.display(), self.left.sentence()));
        self.cautions().into_iter().for_each(|caution| output::remark(&format!("  {caution}")));
        for finding in self.findings().into_iter().flatten().take(FINDINGS_MAX) {
            output::remark(&format!("  {finding}"));
        }
        if let Some(problem) = self.reported.problem(self.outcome) {
            output::remark(&format!("  {problem}"));
        }
        if let Some(page) = self.page() {
            output::remark(&format!("  report    {page}"));
            self.timeline()
                .iter()
                .for_each(|path| output::remark(&format!("  timeline  {path}  (for https://ui.perfetto.dev)")));
        }
    }

    fn document(&self) -> Value {
        json!({
            "run": self.run.display().to_string(),
            "run_id": self.run_id,
            "exit_code": self.outcome.code(),
            "failed": self.failed.as_ref().map(failure),
            "traces": self.left.files,
            "world_size": self.left.world_size,
            "missing_ranks": self.left.missing,
            "report": self.page(),
            "timeline": self.page().and(self.timeline()),
            "cautions": self.cautions(),
            "findings": self.findings(),
            "problem": self.reported.problem(self.outcome),
        })
    }

    fn found(&self) -> Option<&Found> {
        if let Reported::Found(found) = &self.reported { Some(found) } else { None }
    }

    fn findings(&self) -> Option<&[String]> {
        self.found().map(|found| found.findings.as_slice())
    }

    fn page(&self) -> Option<String> {
        self.found().map(|_| self.run.join("report/report.html").display().to_string())
    }

    /// What could be aligned is also drawn.
    fn timeline(&self) -> Option<String> {
        Some(self.run.join("timeline.pftrace")).filter(|path| path.exists()).map(|path| path.display().to_string())
    }

    /// In the words of the report, else of what is known without it.
    fn cautions(&self) -> Vec<String> {
        let told = self.found().map(|found| found.cautions.as_slice()).unwrap_or_default();
        let of_kind = |kind: &str| told.iter().filter(|caution| caution.kind == kind).map(|it| it.text.clone()).collect();
        let mut cautions = Vec::new();
        for kind in FIRST {
            let texts: Vec<String> = of_kind(kind);
            let own = || match kind {
                "missing_rank" => self.missing().into_iter().collect(),
                "same_bytes" => self.notes.iter().map(|note| (*note).to_owned()).collect(),
                _ => Vec::new(),
            };
            cautions.extend(if texts.is_empty() { own() } else { texts });
        }
        cautions
    }

    fn missing(&self) -> Option<String> {
        let found = self.found().is_some() && !self.left.missing.is_empty();
        let whose = left::ranks(&self.left.missing);
        found.then(|| format!("There is no trace of {whose}, which may be the slow one: the other traces cannot rule it out."))
    }
}

fn failure(failed: &FirstFailure) -> Value {
    let (code, signal) = match failed.exit {
        Some(Exit::Code(code)) => (Some(code), None),
        Some(Exit::Signal(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    json!({
        "rank": failed.rank,
        "host": failed.host,
        "exit_code": code,
        "signal": signal,
        "after_step": failed.after_step,
        "message": failed.message,
    })
}

/// The rest is in the report.
const FINDINGS_MAX: usize = 5;
