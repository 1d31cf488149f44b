//! What is said at the end of a run: where it lies, and what the report found, in short.

use std::path::Path;

use serde_json::{Value, json};

use super::outcome::Outcome;
use crate::output::{self, Format};
use rankscope_run::{SideFile, read_side};

/// A run that is over.
pub(super) struct Summary<'a> {
    pub(super) run: &'a Path,
    pub(super) run_id: &'a str,
    pub(super) outcome: Outcome,
    pub(super) traces: usize,
    pub(super) reported: Reported,
}

/// What became of the report.
pub(super) enum Reported {
    /// It is there, and found this.
    Found(Vec<String>),
    /// It could not be made.
    Failed(String),
    /// There was nothing to report on.
    NoTraces,
    /// Nobody asked for it.
    NotWanted,
    /// The job took the run directory away.
    Removed,
}

impl Reported {
    /// The findings of the report at `path`.
    pub(super) fn findings(path: &Path) -> Self {
        let document = match read_side(path, SideFile::Record) {
            Ok(bytes) => serde_json::from_slice::<Value>(&bytes).unwrap_or_default(),
            Err(error) => return Self::Failed(error.to_string()),
        };
        let notes = document["notes"].as_array().map(Vec::as_slice).unwrap_or_default();
        let found = notes.iter().filter(|note| note["level"] == "finding").filter_map(|note| note["text"].as_str());
        Self::Found(found.map(str::to_owned).collect())
    }

    fn problem(&self) -> Option<String> {
        match self {
            Self::Found(_) | Self::NotWanted => None,
            Self::Failed(why) => Some(format!("there is no report: {why}")),
            Self::NoTraces => Some(NO_TRACES.to_owned()),
            Self::Removed => Some(REMOVED.to_owned()),
        }
    }
}

const NO_TRACES: &str = "no traces were left in it: profile with torch.profiler or jax.profiler, record with rankscope-record, or \
                         name the files with --collect";

const REMOVED: &str = "its directory was removed while the job ran, so nothing is left of the run";

impl<'a> Summary<'a> {
    /// Of a run whose directory is gone.
    pub(super) fn of_removed(run: &'a Path, run_id: &'a str, outcome: Outcome) -> Self {
        Self { run, run_id, outcome, traces: 0, reported: Reported::Removed }
    }

    pub(super) fn say(&self, format: Format) {
        let page = self.run.join("report/report.html").display().to_string();
        // What could be aligned is also drawn.
        let timeline =
            Some(self.run.join("timeline.pftrace")).filter(|path| path.exists()).map(|path| path.display().to_string());
        let findings = match &self.reported {
            Reported::Found(findings) => Some(findings),
            _ => None,
        };
        if format == Format::Json {
            let document = json!({
                "run": self.run.display().to_string(),
                "run_id": self.run_id,
                "exit_code": self.outcome.code(),
                "traces": self.traces,
                "report": findings.map(|_| page),
                "timeline": findings.and(timeline),
                "findings": findings,
                "problem": self.reported.problem(),
            });
            // Nobody may be reading any more; the run is complete all the same.
            let _nobody_reads = output::answer(&document.to_string());
            return;
        }
        if matches!(self.reported, Reported::Removed) {
            return output::remark(&format!("rankscope: {}: {REMOVED}", self.run.display()));
        }
        let traces = if self.traces == 1 { "1 trace".to_owned() } else { format!("{} traces", self.traces) };
        output::remark(&format!("rankscope: the run is in {} ({traces})", self.run.display()));
        for finding in findings.into_iter().flatten().take(FINDINGS_MAX) {
            output::remark(&format!("  {finding}"));
        }
        match self.reported.problem() {
            Some(problem) => output::remark(&format!("  {problem}")),
            None if findings.is_some() => {
                output::remark(&format!("  report    {page}"));
                timeline
                    .into_iter()
                    .for_each(|path| output::remark(&format!("  timeline  {path}  (for https://ui.perfetto.dev)")));
            }
            None => {}
        }
    }
}

/// The rest is in the report.
const FINDINGS_MAX: usize = 5;
