//! `rankscope compare --history`: a folder of runs followed over time, or what its runs tell a comparison about their spread.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::Result;
use rankscope_cli::ExitCode;
use rankscope_cli::job::Bar;
use rankscope_cli::output::{self, Format};
use rankscope_compare::{RunSpread, Settings, history, run_spreads as spreads_of};
use rankscope_pipeline::{PastRuns, Request, beside_history, read_history};

use super::written::write_text;

/// What is asked of a history.
#[derive(Debug, clap::Args)]
pub(crate) struct HistoryArgs {
    /// A folder of past runs: run directories, saved report.json files, folders of traces or parts. With BASE and TEST it tells how much runs differ
    #[arg(long, value_name = "DIR")]
    history: Option<PathBuf>,
    /// With --history alone: write it as one page
    #[arg(long, value_name = "FILE", requires = "history", conflicts_with = "sides")]
    html: Option<PathBuf>,
}

impl HistoryArgs {
    /// The folder of past runs.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.history.as_deref()
    }

    /// Prints the history of `folder`, and writes its page.
    pub(crate) fn show(&self, folder: &Path, like: &Request, settings: &Settings, format: Format) -> Result<ExitCode> {
        let PastRuns { runs, notes } = read_history(folder, &[], like, &Bar::default())?;
        let mut document = history(&folder.display().to_string(), runs, settings);
        document.notes.extend(notes);
        match format {
            Format::Json => output::answer_by(|to| rankscope_report::write_history(&document, to))?,
            Format::Table => output::answer(&rankscope_report::history(&document, output::style()))?,
        }
        if let Some(path) = &self.html {
            write_text(path, &rankscope_report::history_html(&document, &beside_history(path, &document))?)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// How much runs of `folder` differ in each metric since its last change of level, without the runs at `tests`: what is judged may not
/// widen what it is judged by.
pub(crate) fn run_spreads(folder: &Path, tests: &[PathBuf], like: &Request) -> Result<BTreeMap<String, RunSpread>> {
    let PastRuns { runs, notes } = read_history(folder, tests, like, &Bar::default())?;
    for note in notes {
        output::remark(&format!("rankscope: --history {}: {}", folder.display(), note.text));
    }
    let document = history(&folder.display().to_string(), runs, &Settings::default());
    let spreads = spreads_of(&document);
    match spreads.get("step_ns") {
        Some(RunSpread { relative, runs: Some(runs), .. }) => output::remark(&format!(
            "the step time of {runs} runs in {} since its last change of level differs by {:.2} % (standard deviation)",
            folder.display(),
            relative * 100.0
        )),
        _ => {
            output::remark(&format!("rankscope: --history {}: fewer than two runs tell how much runs differ", folder.display()))
        }
    }
    Ok(spreads)
}
