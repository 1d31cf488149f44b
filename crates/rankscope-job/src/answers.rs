//! [`Answers`]: why ranks are late and what would help, out of the execution graphs of a judged job.
//!
//! One module an answer; this one ties the ranks' graphs together and says why there is no answer where there is none.

mod advice;
mod blame;
mod budgets;
mod by_rank;
mod comings;
mod critical_path;
mod links;
mod path_trace;
mod slowed;
mod step_windows;
mod steps;

use rankscope_analyze::Job as Analysis;
use rankscope_document::{Advice, Blame, BlameGroup, Budget, CriticalPath, Document};
use rankscope_execution::{Execution, JobExecution};
use rankscope_time::Rank;

use self::steps::Steps;
use crate::Job;
use crate::judge::JobRank;

/// What answers lack where clocks contradict each other.
const CONTRADICTORY: &str = "The ranks' timestamps contradict causality with any clock offsets: who came last, for how long others waited and what \
                             advice is worth cannot be told between ranks of different clocks. How long each rank worked on what still holds.";

/// The answers, as the document has them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    budgets: Vec<Budget>,
    blame: Vec<Blame>,
    blame_groups: Vec<BlameGroup>,
    critical_path: Vec<CriticalPath>,
    advice: Vec<Advice>,
    unanswered: Vec<String>,
}

impl Answers {
    /// The answers about `job`, which must have its collectives still.
    pub(crate) fn of(job: &Job, analysis: &Analysis) -> Self {
        let steps = Steps::of(job);
        let costs = budgets::budgets(job, analysis, &steps);
        let mut answers = Self::default();
        let Some(graph) = job.execution() else {
            answers.unanswered = critical_path::why_none(job).into_iter().collect();
            return Self { budgets: costs.rows, ..answers };
        };
        let judged = blame::blame(job, analysis, &graph, &steps);
        let (paths, critical_path, unanswered) = critical_path::critical_path(job, &graph);
        answers.unanswered = unanswered;
        answers.unanswered.extend(job.clocks_contradict().then(|| CONTRADICTORY.to_owned()));
        answers.unanswered.extend(blame::unanswered(job, &judged));
        match (job.only_step, advice::why_none(job)) {
            (Some(_), _) => answers.unanswered.push(advice::OF_ONE_STEP.to_owned()),
            (None, Some(why)) => answers.unanswered.push(why),
            (None, None) => {
                let has_steps = job.ranks.iter().any(|rank| !rank.report.steps.is_empty());
                answers.unanswered.extend((!has_steps).then(|| advice::WITHOUT_STEPS.to_owned()));
                answers.unanswered.extend(advice::lacks_ranks(job, &costs));
                let links = links::links(job, analysis);
                let found = advice::Found { graph: &graph, paths: &paths, judged: &judged, costs: &costs, links: &links };
                answers.advice = advice::advice(job, &found);
                let step_ns = mean_length_ns(&critical_path);
                answers.unanswered.extend(links.unanswered(&costs, step_ns, job.ranks.len(), steps.numbers.len()));
            }
        }
        (answers.blame, answers.blame_groups) = (judged.rows, judged.groups);
        Self { budgets: costs.rows, critical_path, ..answers }
    }

    /// Puts them into `document`.
    pub(crate) fn into_document(self, document: &mut Document) {
        let Self { budgets, blame, blame_groups, critical_path, advice, unanswered } = self;
        *document = Document { budgets, blame, blame_groups, critical_path, advice, unanswered, ..std::mem::take(document) };
    }
}

/// What steps take, on average.
fn mean_length_ns(paths: &[CriticalPath]) -> i64 {
    paths.iter().map(|path| path.length_ns).fold(0, i64::saturating_add) / paths.len().max(1) as i64
}

impl Job {
    /// The ranks of which work of devices is recorded and no launch of any.
    pub(crate) fn without_launches(&self) -> Vec<Rank> {
        let lacks = |rank: &&JobRank| rank.execution.as_deref().is_some_and(Execution::lacks_launches);
        self.ranks.iter().filter(lacks).map(|rank| rank.rank).collect()
    }

    /// How many collectives some of their ranks did not record.
    pub(crate) fn lacking_ranks(&self) -> usize {
        self.matched.instances.iter().filter(|instance| !instance.complete && !instance.absent.is_empty()).count()
    }

    /// The execution graph of the job, where its parts hold those of all ranks, they are comparable, and any of them shows more than
    /// collectives.
    pub fn execution(&self) -> Option<JobExecution<'_>> {
        let ranks = self.ranks.iter().map(|rank| rank.execution.as_deref()).collect::<Option<Vec<_>>>()?;
        if ranks.iter().all(|rank| rank.is_empty()) {
            return None;
        }
        let maps = self.clocks.ranks.iter().map(|rank| &rank.map).collect();
        self.doubts.is_empty().then(|| JobExecution::new(ranks, maps, &self.collectives, &self.matched))
    }
}
