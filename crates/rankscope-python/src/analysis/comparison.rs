//! `rankscope.compare`: sides by their paths, as the command takes them.

use std::path::PathBuf;

use pyo3::prelude::*;
use rankscope_compare::{Policy, RunSpread, Settings, compare as compared, gate};
use rankscope_document::Convention;
use rankscope_pipeline::{read_sides, sides};
use rankscope_run::{SideFile, read_side_text};

use super::answer::{Answer, Found};
use super::failure::Failure;
use super::options::JobOptions;
use super::work::{Watch, work};

/// What is asked of a comparison; the paths of its job are not looked at.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct CompareOptions {
    job: JobOptions,
    sides: Vec<PathBuf>,
    repeat: Vec<String>,
    run_spread: Option<f64>,
    convention: String,
    margin: f64,
    policy: Option<PathBuf>,
}

impl CompareOptions {
    fn settings(&self) -> Result<Settings, Failure> {
        let convention = match self.convention.as_str() {
            "rankscope" => Convention::Rankscope,
            "aorta" => Convention::Aorta,
            other => return Err(Failure::usage(format!("--convention {other}: the conventions are rankscope and aorta"))),
        };
        if self.run_spread.is_some_and(|spread| !spread.is_finite() || spread < 0.0) {
            return Err(Failure::usage("--run-spread is a share of at least 0, such as 0.003 for 0.3 %"));
        }
        Ok(Settings::default()
            .with_time_margin(self.margin)
            .with_run_spread(self.run_spread.map(RunSpread::stated))
            .with_convention(convention))
    }

    fn policy(&self) -> Result<Option<(Policy, String)>, Failure> {
        let Some(path) = &self.policy else { return Ok(None) };
        let text = read_side_text(path, SideFile::Config)?;
        let policy = Policy::parse(&text).map_err(|why| Failure::usage(format!("{}: {why}", path.display())))?;
        Ok(Some((policy, path.display().to_string())))
    }
}

/// Compares runs.
#[pyfunction]
pub(crate) fn compare(py: Python<'_>, options: CompareOptions, progress: Option<Py<PyAny>>) -> PyResult<Answer> {
    work(py, progress, move |watch| answered(&options, watch)).map(Answer::of)
}

fn answered(options: &CompareOptions, watch: &Watch) -> Result<Found, Failure> {
    if options.sides.len() < 2 {
        return Err(Failure::usage("compare takes a BASE and a TEST, or one or more of them with --init-policy"));
    }
    let settings = options.settings()?;
    let requested = sides(&options.sides, &options.repeat).map_err(|why| Failure::usage(why.to_string()))?;
    let policy = options.policy()?;
    let sides = read_sides(&requested, &options.job.request()?, watch)?;
    let mut document = compared(&sides, &settings);
    document.gate = policy.map(|(policy, file)| gate(&sides, &policy, &file, &settings));
    Ok(Found::Compared(Box::new(document)))
}
