//! [`with_replay`]: a judged job, ready to be run again, for whoever asks what would be.

use rankscope_analyze::StepWindow;
use rankscope_execution::JobExecution;
use rankscope_execution::replay::{Replay, Scene};

use crate::Job;
use crate::nodes::Nodes;

/// What `ask` says of `job`, whose graph is `graph`, run again.
pub(crate) fn with_replay<T>(job: &Job, graph: &JobExecution<'_>, ask: impl FnOnce(&Replay<'_>) -> T) -> T {
    let windows: Vec<&[StepWindow]> = job.ranks.iter().map(|rank| rank.report.steps.as_slice()).collect();
    let known = Nodes::of(job);
    let nodes: Vec<Option<u32>> = (0..job.ranks.len()).map(|at| known.at(at)).collect();
    ask(&Replay::of(Scene { job: graph, collectives: &job.collectives, windows: &windows, nodes: &nodes }))
}
