//! The options of a gate: where its policy is, what is written for a CI, and how the process ends.

use std::ffi::OsString;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use rankscope_cli::ExitCode;
use rankscope_cli::called;
use rankscope_cli::output;
use rankscope_compare::{Policy, Settings, Side, draft};
use rankscope_document::{CompareDocument, OnInconclusive};
use rankscope_run::{SideFile, read_side_text};

use super::written::write_text;

/// What a gate is told.
#[derive(Debug, clap::Args)]
pub(crate) struct GateArgs {
    /// Hold the change against the policy in this TOML file; the exit code is 3 if it fails
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
    /// Write what the gate says as JUnit's XML
    #[arg(long, value_name = "FILE", requires = "policy")]
    junit: Option<PathBuf>,
    /// Write the comparison as Markdown, for a pull request
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Write a policy to begin with, from one or more runs of the base
    #[arg(long, value_name = "FILE", conflicts_with_all = ["policy", "junit", "markdown"])]
    pub(crate) init_policy: Option<PathBuf>,
    /// With --init-policy: replace the file if it exists
    #[arg(long, requires = "init_policy")]
    pub(crate) force: bool,
}

/// Why there is no policy.
pub(crate) enum Refused {
    /// The file is none.
    Policy(String),
    /// It cannot be read.
    File(rankscope_run::Error),
}

impl GateArgs {
    /// Whether anything of it is asked for.
    pub(crate) fn is_asked(&self) -> bool {
        self.policy.is_some() || self.init_policy.is_some() || self.markdown.is_some()
    }

    /// The policy and the name of its file, if one was named.
    pub(crate) fn policy(&self) -> Result<Option<(Policy, String)>, Refused> {
        let Some(path) = &self.policy else { return Ok(None) };
        let text = read_side_text(path, SideFile::Config).map_err(Refused::File)?;
        let policy = Policy::parse(&text).map_err(|why| Refused::Policy(format!("{}: {why}", path.display())))?;
        Ok(Some((policy, path.display().to_string())))
    }

    /// Writes what a CI shows.
    pub(crate) fn write(&self, document: &CompareDocument) -> Result<()> {
        if let Some(path) = &self.junit {
            write_text(path, &rankscope_report::junit(document)?)?;
        }
        if let Some(path) = &self.markdown {
            let command_line =
                output::command_line([OsString::from("rankscope")].into_iter().chain(called::words().iter().skip(1).cloned()));
            write_text(path, &rankscope_report::markdown(document, &command_line))?;
        }
        Ok(())
    }
}

/// Writes a policy by the runs of all of `sides`, which are runs of one configuration.
pub(crate) fn begin(file: &Path, force: bool, sides: &[Side], settings: &Settings) -> Result<ExitCode> {
    let base = Side::new(sides.first().map_or("", Side::label), sides.iter().flat_map(Side::runs).cloned().collect());
    let text = draft(&base, settings);
    if force {
        write_text(file, &text)?;
    } else {
        let mut to = match File::create_new(file) {
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                return Ok(output::misused(&format!("{}: exists already; --force replaces it", file.display())));
            }
            created => created.with_context(|| file.display().to_string())?,
        };
        to.write_all(text.as_bytes()).with_context(|| file.display().to_string())?;
    }
    output::remark(&format!(
        "written: {}. Read it and change what does not fit; then rankscope compare BASE TEST --policy {0}",
        file.display()
    ));
    Ok(ExitCode::SUCCESS)
}

/// A check said no.
const REFUSED: u8 = 3;

/// How the process ends by what the gate says, which is also said on stderr where it is not plainly a pass.
pub(crate) fn exit_code(document: &CompareDocument) -> ExitCode {
    let Some(gate) = &document.gate else { return ExitCode::SUCCESS };
    if !gate.passed {
        output::remark(&format!("rankscope: the gate failed: {}", names(&gate.failed)));
        return ExitCode::from(REFUSED);
    }
    if !gate.undecided.is_empty() && gate.on_inconclusive != OnInconclusive::Pass {
        output::remark(&format!("rankscope: the gate passed, but the evidence does not decide {}", names(&gate.undecided)));
    }
    ExitCode::SUCCESS
}

/// Metrics that are named in a line.
const NAMED: usize = 5;

fn names(checks: &[rankscope_document::GateCheck]) -> String {
    let mut names: Vec<&str> = checks.iter().take(NAMED).map(|check| check.metric.as_str()).collect();
    let more = format!("{} more", checks.len().saturating_sub(NAMED));
    if checks.len() > NAMED {
        names.push(&more);
    }
    names.join(", ")
}
