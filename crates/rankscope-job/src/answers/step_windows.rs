//! The stretches of a job that critical paths are told of: its steps, or where none is marked, what was recorded.

use std::collections::BTreeMap;

use rankscope_execution::{JobExecution, PathWindow};

use crate::{Job, JobRank};

/// One stretch on every rank that has it, on the job's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepWindows {
    /// The step; none where the trace marks none.
    pub(crate) step: Option<i64>,
    /// What the critical path is of.
    pub(crate) whole: PathWindow,
    /// By rank, its own part.
    pub(crate) ranks: Vec<PathWindow>,
}

impl StepWindows {
    /// The steps of `job` in order of their numbers; where no rank marks any, its recordings in order of time.
    pub(crate) fn of(job: &Job, graph: &JobExecution<'_>) -> Vec<Self> {
        let steps = steps(job, graph);
        if steps.is_empty() { recordings(job, graph) } else { steps }
    }
}

/// A rank's window, on the job's clock.
fn on_job_clock(graph: &JobExecution<'_>, rank: usize, (start_ns, end_ns): (i64, i64)) -> PathWindow {
    PathWindow { rank, start_ns: graph.on_job_clock(rank, start_ns), end_ns: graph.on_job_clock(rank, end_ns) }
}

/// Each step lasts as long as that of the rank that ends it last.
fn steps(job: &Job, graph: &JobExecution<'_>) -> Vec<StepWindows> {
    let mut steps: BTreeMap<i64, Vec<PathWindow>> = BTreeMap::new();
    for (rank, own) in job.ranks.iter().enumerate() {
        for step in own.report.steps.iter().filter(|step| job.only_step.is_none_or(|only| only == step.number)) {
            steps.entry(step.number).or_default().push(on_job_clock(graph, rank, (step.start_ns, step.end_ns)));
        }
    }
    let step = |(number, ranks): (i64, Vec<PathWindow>)| {
        let whole = PathWindow::last(ranks.iter().copied())?;
        Some(StepWindows { step: Some(number), whole, ranks })
    };
    steps.into_iter().filter_map(step).collect()
}

/// Each recording lasts from the first start to the last end on any rank. Where ranks made different numbers of recordings, all of
/// them are one.
fn recordings(job: &Job, graph: &JobExecution<'_>) -> Vec<StepWindows> {
    let count = job.ranks.first().map_or(0, |rank| rank.report.recorded_ns.len());
    let recorded = |rank: &JobRank, number: usize| rank.report.recorded_ns.get(number).copied();
    if job.ranks.iter().all(|rank| rank.report.recorded_ns.len() == count) {
        return (0..count).filter_map(|number| recording(job, graph, |rank| recorded(rank, number))).collect();
    }
    let all = |rank: &JobRank| {
        let windows = || rank.report.recorded_ns.iter();
        Some((windows().map(|own| own.0).min()?, windows().map(|own| own.1).max()?))
    };
    recording(job, graph, all).into_iter().collect()
}

fn recording(job: &Job, graph: &JobExecution<'_>, own: impl Fn(&JobRank) -> Option<(i64, i64)>) -> Option<StepWindows> {
    let ranks = job.ranks.iter().enumerate().filter_map(|(rank, known)| Some(on_job_clock(graph, rank, own(known)?)));
    let ranks: Vec<PathWindow> = ranks.filter(|window| window.start_ns < window.end_ns).collect();
    let last = PathWindow::last(ranks.iter().copied())?;
    let start_ns = ranks.iter().map(|window| window.start_ns).min()?;
    Some(StepWindows { step: None, whole: PathWindow { start_ns, ..last }, ranks })
}
