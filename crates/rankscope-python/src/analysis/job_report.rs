//! `rankscope.report`: the command's options as they are, and its files where a folder is given.

use std::path::PathBuf;

use pyo3::prelude::*;
use rankscope_config::size_by_letter;
use rankscope_formats::ArgsPolicy;
use rankscope_job::{Cards, ChosenTables, TableChoice};
use rankscope_pipeline::{Keep, Places, ReportRequest, Shown, Workbooks, memory_default, run_directory};
use rankscope_run::{SideFile, read_side_text};
use rankscope_time::Rank;

use super::answer::{Answer, Found};
use super::failure::Failure;
use super::options::{JobOptions, natural};
use super::work::{Watch, work};

/// What is asked of a report.
#[derive(Debug, FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct ReportOptions {
    job: JobOptions,
    out: Option<PathBuf>,
    step: Option<i64>,
    rank: Option<i64>,
    tables: Vec<String>,
    cards: Option<PathBuf>,
    xlsx: Option<PathBuf>,
    layout: Option<String>,
    no_answers: bool,
    no_timeline: bool,
    slim: bool,
    memory: Option<String>,
}

impl ReportOptions {
    fn request(&self) -> Result<ReportRequest, Failure> {
        let mut job = self.job.request()?;
        job.mapping.rules = job.mapping.rules.with_answers(!self.no_answers);
        let mut request = ReportRequest::of(job);
        request.tables = self.chosen()?;
        request.shown = Shown { step: self.step, rank: self.rank.map(|rank| natural("--rank", rank)).transpose()?.map(Rank) };
        request.cards = self.known_cards()?;
        request.workbooks = Workbooks { xlsx: self.xlsx.clone(), aorta: self.is_aorta()? };
        request.timeline = (self.out.is_some() && !self.no_timeline).then_some((self.policy()?, self.keep()?));
        Ok(request)
    }

    fn chosen(&self) -> Result<ChosenTables, Failure> {
        let choices: Result<Vec<TableChoice>, _> = self.tables.iter().map(|name| name.parse()).collect();
        let choices = choices.map_err(|unknown| Failure::usage(format!("--tables: {unknown}")))?;
        let conflict =
            [("--step", self.step.is_some()), ("--gpu-only", self.job.gpu_only())].into_iter().find(|(_, given)| *given);
        match conflict {
            Some((option, _)) if !choices.is_empty() => Err(Failure::usage(format!("--tables cannot be used with {option}"))),
            _ => Ok(ChosenTables::of(&choices)),
        }
    }

    fn known_cards(&self) -> Result<Option<Cards>, Failure> {
        let Some(path) = &self.cards else { return Ok(None) };
        let text = read_side_text(path, SideFile::Config)?;
        let cards = Cards::parse(&text).map_err(|why| Failure::input(format!("{}: {why}", path.display())))?;
        Ok(Some(cards.over(Cards::known())))
    }

    fn is_aorta(&self) -> Result<bool, Failure> {
        match self.layout.as_deref() {
            None => Ok(false),
            Some("aorta") => Ok(true),
            Some(other) => Err(Failure::usage(format!("--layout {other}: the layout is aorta"))),
        }
    }

    fn policy(&self) -> Result<ArgsPolicy, Failure> {
        match self.slim {
            true if self.no_timeline => Err(Failure::usage("--slim cannot be used with --no-timeline")),
            true => Ok(ArgsPolicy::Analysis),
            false => Ok(ArgsPolicy::All),
        }
    }

    fn keep(&self) -> Result<Keep, Failure> {
        let size = self.memory.as_deref().map(size_by_letter).transpose();
        let size = size.map_err(|why| Failure::usage(format!("--memory: {why}")))?;
        Ok(Keep::UpTo(size.unwrap_or_else(memory_default)))
    }
}

/// Reports on one run.
#[pyfunction]
pub(crate) fn report(py: Python<'_>, options: ReportOptions, progress: Option<Py<PyAny>>) -> PyResult<Answer> {
    work(py, progress, move |watch| reported(&options, watch)).map(Answer::of)
}

fn reported(options: &ReportOptions, watch: &Watch) -> Result<Found, Failure> {
    let request = options.request()?;
    let mut reported = rankscope_pipeline::report(&request, watch)?;
    let in_run = run_directory(&request.job.paths).map(|run| run.join("report"));
    let folder = options.out.clone().or(in_run).unwrap_or_else(|| PathBuf::from("rankscope-report"));
    let places = options.out.as_deref().map(Places::beside);
    reported.write(places.as_ref(), &folder, request.timeline.is_some(), watch)?;
    Ok(Found::Report(Box::new(reported.document), Box::new(request)))
}
