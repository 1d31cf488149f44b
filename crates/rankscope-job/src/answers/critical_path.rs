//! The critical path of each step, for the document, and what of it cannot be told.

use std::collections::BTreeMap;

use rankscope_analyze::{Side, Waiting};
use rankscope_document::{CriticalPath, Link, PathShare, Slack};
use rankscope_execution::{JobExecution, Meeting, Path, PathClass, PathEnd, critical_paths, scarcest};
use rankscope_time::Rank;

use super::step_windows::StepWindows;
use crate::Job;
use crate::nodes::Nodes;
use crate::words::{list, percent, time};

/// Parts of a path, and operators beside it, that are listed.
const LISTED: usize = 20;

/// Of a path, this part of what is not known is worth a word.
const WORTH_A_WORD: f64 = 0.01;

/// The critical paths of all steps, as rows, too, and sentences about what they lack.
pub(super) fn critical_path(job: &Job, graph: &JobExecution<'_>) -> (Vec<Path>, Vec<CriticalPath>, Vec<String>) {
    let steps = StepWindows::of(job, graph);
    let windows: Vec<_> = steps.iter().map(|step| step.whole).collect();
    let links = Links { job, graph, nodes: Nodes::of(job) };
    let paths = critical_paths(graph, &windows);
    let found: Vec<CriticalPath> = steps.iter().zip(&paths).map(|(step, path)| links.document(step, path)).collect();
    let lacks = lacks(job, &found, &paths);
    (paths, found, lacks)
}

/// Why there is no path of a `job` without a graph, where graphs were made.
pub(super) fn why_none(job: &Job) -> Option<String> {
    let graphs = || job.ranks.iter().map(|rank| rank.execution.as_deref());
    let why = match () {
        () if graphs().all(|graph| graph.is_none()) => return None,
        () if !job.is_comparable() => "ranks are not compared",
        () if graphs().any(|graph| graph.is_none()) => "some parts were made without what answers are made of",
        () => "the traces show nothing but collectives",
    };
    Some(format!("The critical path cannot be told: {why}."))
}

/// Between which ranks a path communicates.
struct Links<'j, 'a> {
    job: &'j Job,
    graph: &'j JobExecution<'a>,
    nodes: Nodes,
}

impl Links<'_, '_> {
    fn document(&self, step: &StepWindows, path: &Path) -> CriticalPath {
        let rank = |index: u32| self.job.ranks[index as usize].rank.0;
        let sums = path.sums(self.graph);
        let class = |class: PathClass| (class.name().to_owned(), sums.by_class.get(&class).copied().unwrap_or(0));
        let share = |share: &rankscope_execution::PathShare<'_>| PathShare {
            name: share.name.to_owned(),
            kernel: share.kernel.unwrap_or_default().to_owned(),
            class: share.class.name().to_owned(),
            rank: rank(share.rank),
            ns: share.ns,
            count: share.count,
        };
        let slack = |slack: rankscope_execution::LeastSlack<'_>| Slack {
            name: slack.name.to_owned(),
            rank: rank(slack.rank),
            least_ns: slack.least_ns,
            ns: slack.ns,
        };
        CriticalPath {
            step: step.step,
            rank: rank(step.whole.rank as u32),
            length_ns: path.window.length_ns(),
            by_class: PathClass::ALL.map(class).into(),
            by_rank: sums.by_rank.iter().map(|(index, ns)| (rank(*index), *ns)).collect(),
            by_link: self.by_link(path),
            hops: path.hops,
            top: sums.shares.iter().take(LISTED).map(share).collect(),
            slack: scarcest(self.graph, path, &step.ranks, LISTED).into_iter().map(slack).collect(),
        }
    }

    /// Communication on `path` by link.
    fn by_link(&self, path: &Path) -> BTreeMap<String, i64> {
        let mut sums = BTreeMap::new();
        for segment in path.segments.iter().filter(|segment| segment.class == PathClass::Communication) {
            let link = segment.meeting.map_or(Link::Unknown, |meeting| self.link(self.graph.get(meeting)));
            *sums.entry(link.to_string()).or_default() += segment.ns();
        }
        sums
    }

    /// How far the ranks of a collective reach; of a message its two ends.
    fn link(&self, meeting: &Meeting) -> Link {
        let group = &self.job.matched.groups[meeting.group].ranks;
        if meeting.waiting == Waiting::Pairwise || group.len() < 2 {
            return self.nodes.link(meeting.participants.iter().map(|one| self.job.ranks[one.rank as usize].rank));
        }
        self.nodes.link(group.iter().copied())
    }
}

/// What the paths lack, and why.
fn lacks(job: &Job, found: &[CriticalPath], paths: &[Path]) -> Vec<String> {
    let mut said = Vec::new();
    if found.is_empty() {
        said.push("The critical path cannot be told: no step and no recording has any length.".to_owned());
        return said;
    }
    if found.iter().all(|path| path.step.is_none()) {
        said.push("No rank marks steps, so the critical path is that of the whole recording.".to_owned());
    }
    if job.ranks.iter().all(|rank| rank.report.side == Side::Host) {
        said.push("No device work is recorded, so the critical path is that of the hosts.".to_owned());
    }
    if !job.completeness.missing.is_empty() {
        let missing = list(&job.completeness.missing);
        said.push(format!(
            "The critical path cannot go through ranks without a trace ({missing}): waiting for them counts as communication."
        ));
    }
    let lacking = job.lacking_ranks();
    if lacking > 0 {
        said.push(format!("The critical path cannot go through what some ranks did not record: of {lacking} collectives, waiting for such ranks counts as communication."));
    }
    said.extend(unknown(job, found, paths));
    said.extend(clocks(found));
    said
}

/// How much is not known, and where that begins.
fn unknown(job: &Job, found: &[CriticalPath], paths: &[Path]) -> Vec<String> {
    let step = |path: &CriticalPath| path.step.map_or("the recording".to_owned(), |step| format!("step {step}"));
    let mut said = Vec::new();
    let cycles = || found.iter().zip(paths).filter(|(_, path)| matches!(path.end, PathEnd::Cycle(_)));
    if let Some((first, _)) = cycles().next() {
        let count = cycles().count();
        said.push(format!("The order of collectives contradicts itself in {count} of {} critical paths (first in {}): what lies before is not known.", paths.len(), step(first)));
    }
    if let Some((ns, share)) = share_of(found, PathClass::Unknown).filter(|(_, share)| *share >= WORTH_A_WORD) {
        let mut ranks: Vec<Rank> = Vec::new();
        for path in paths {
            if let PathEnd::NothingKnown(rank) = path.end {
                ranks.push(job.ranks[rank as usize].rank);
            }
        }
        ranks.sort_unstable();
        ranks.dedup();
        let on = match ranks.len() {
            0 => String::new(),
            1 => format!(" on rank {}", ranks[0]),
            _ => format!(" on ranks {}", list(&ranks)),
        };
        said.push(format!(
            "{} of the critical paths ({}) lies before their first recorded work{on}: what that waited for is not recorded.",
            percent(share),
            time(ns)
        ));
    }
    said
}

/// What the clocks put the wrong way round.
fn clocks(found: &[CriticalPath]) -> Option<String> {
    let (ns, share) = share_of(found, PathClass::Clock).filter(|(_, share)| *share >= WORTH_A_WORD)?;
    Some(format!(
        "{} of the critical paths ({}) cannot be told: by their clocks ranks left collectives before the last rank came.",
        percent(share),
        time(ns)
    ))
}

/// How much of all paths is of `class`, and which share that is.
fn share_of(found: &[CriticalPath], class: PathClass) -> Option<(i64, f64)> {
    let ns: i64 = found.iter().filter_map(|path| path.by_class.get(class.name())).sum();
    let length_ns: i64 = found.iter().map(|path| path.length_ns).sum();
    (ns > 0 && length_ns > 0).then(|| (ns, ns as f64 / length_ns as f64))
}
