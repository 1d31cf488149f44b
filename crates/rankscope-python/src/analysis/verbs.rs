//! `rankscope.align`, `rankscope.validate` and `rankscope.what_if`.

use std::path::PathBuf;

use pyo3::prelude::*;
use rankscope_analyze::ClassMode;
use rankscope_formats::ArgsPolicy;
use rankscope_job::{
    Changes, ClockChoice, Evidence, Rules, Validated, WhatIfError, alignment, from_traces, validation_document,
};
use rankscope_pipeline::{Keep, clock_folder, judged, memory_default};
use rankscope_run::Outputs;

use super::answer::{Answer, Found};
use super::failure::Failure;
use super::options::JobOptions;
use super::work::{Watch, work};

/// Puts the ranks on one clock; what was done is the answer, and in `out` with a timeline where a folder is given.
#[pyfunction]
pub(crate) fn align(
    py: Python<'_>,
    options: JobOptions,
    out: Option<PathBuf>,
    no_timeline: bool,
    progress: Option<Py<PyAny>>,
) -> PyResult<Answer> {
    work(py, progress, move |watch| aligned(&options, out, no_timeline, watch)).map(Answer::of)
}

fn aligned(options: &JobOptions, out: Option<PathBuf>, no_timeline: bool, watch: &Watch) -> Result<Found, Failure> {
    let mut request = options.request()?;
    let draws = out.is_some() && !no_timeline;
    if draws {
        (request.mapping.reading.args, request.mapping.keep) = (ArgsPolicy::All, Keep::UpTo(memory_default()));
    }
    let judged = judged(&request, watch)?;
    let document = alignment(judged.title.clone(), &judged.job);
    if let Some(folder) = out {
        let mut outputs = Outputs::into_directory(&folder)?;
        let path = folder.join("alignment.json");
        let io = |error: serde_json::Error| rankscope_pipeline::Error::Io { path, source: error.into() };
        outputs.write("alignment.json", |file| serde_json::to_writer_pretty(file, &document).map_err(io))?;
        if draws && judged.parts.is_none() {
            outputs.write("timeline.pftrace", |file| judged.write_timeline(file, watch))?;
        }
        outputs.commit()?;
    }
    match options.choice()? {
        ClockChoice::FromTraces => Ok(Found::FromTraces(from_traces(&judged.job))),
        _ => Ok(Found::Aligned(document)),
    }
}

/// Checks what the traces show.
#[pyfunction]
pub(crate) fn validate(
    py: Python<'_>,
    options: JobOptions,
    align: Option<String>,
    comm_pattern: Vec<String>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Answer> {
    work(py, progress, move |watch| validated(&options, align.as_deref(), comm_pattern, watch)).map(Answer::of)
}

fn validated(options: &JobOptions, align: Option<&str>, patterns: Vec<String>, watch: &Watch) -> Result<Found, Failure> {
    let mut request = options.request()?;
    let clocks = match align {
        Some("none") => ClockChoice::AsRecorded,
        Some("from-traces") => ClockChoice::FromTraces,
        Some("best") => ClockChoice::Best,
        None if clock_folder(&request.paths, options.clocks())?.is_none() => ClockChoice::AsRecorded,
        None => ClockChoice::Best,
        Some(other) => return Err(Failure::usage(format!("--align {other}: the choices are none, from-traces and best"))),
    };
    request.judging = request.judging.with_clocks(clocks);
    request.mapping.rules = Rules::new(ClassMode::Default, patterns, false).with_checks(true);
    let judged = judged(&request, watch)?;
    let title = judged.title;
    let validated = Validated::of(Evidence::of(judged.job));
    Ok(Found::Validated(Box::new(validation_document(&validated, title))))
}

/// Runs the recorded job again with changes.
#[pyfunction]
pub(crate) fn what_if(
    py: Python<'_>,
    options: JobOptions,
    changes: Vec<String>,
    top: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Answer> {
    work(py, progress, move |watch| replayed(&options, &changes, top, watch)).map(Answer::of)
}

fn replayed(options: &JobOptions, changes: &[String], top: usize, watch: &Watch) -> Result<Found, Failure> {
    let changes = Changes::parse(changes).map_err(|error| Failure::usage(error.to_string()))?;
    let mut request = options.request()?;
    request.mapping.rules = request.mapping.rules.with_answers(true);
    let judged = judged(&request, watch)?;
    match rankscope_job::what_if(&judged.job, &judged.title, &changes) {
        Ok(mut document) => {
            document.ranking.truncate(top);
            Ok(Found::WhatIf(document))
        }
        Err(error @ WhatIfError::Target(_)) => Err(Failure::usage(error.to_string())),
        Err(error) => Err(Failure::other(&error)),
    }
}
