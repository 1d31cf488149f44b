//! What is worth a line while a job runs, and who hears it. None of it keeps the job from running or changes how it ends.

use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::Error;
use crate::summary::Summary;

/// Something of ours that failed and is left out, or that the user should do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Notice {
    /// There is no run directory.
    #[error("the job runs, but nothing can be kept of this run: {0}")]
    NothingKept(#[source] Error),
    /// The command does not start.
    #[error("{program}: {reason}")]
    NotStarted {
        /// Its first word.
        program: String,
        /// What the system says.
        reason: String,
    },
    /// There is no agent, or it ended early.
    #[error("clocks are not measured: {0}")]
    NoClocks(String),
    /// The agent could not be started.
    #[error("clocks are not measured: {0}")]
    NoAgent(#[source] Error),
    /// Each node would make a directory of its own.
    #[error("no job name is known that all nodes share; give each the same --name or --out")]
    NoSharedName,
    /// The directory of a run whose command did not start stays.
    #[error("an empty run directory could not be removed: {0}")]
    NotDiscarded(String),
    /// The Python hooks could not be written.
    #[error("profiles are not collected: {path}: {reason}", path = .path.display())]
    NoHooks {
        /// The run directory.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// What was given with `--collect` is no pattern.
    #[error("--collect {pattern}: {reason}; it collects nothing")]
    BadPattern {
        /// As given.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The job put something else where the run's traces were.
    #[error("{path} is no longer a folder of the run, so --collect copies nothing", path = .path.display())]
    RawReplaced {
        /// The folder of traces.
        path: PathBuf,
    },
    /// A file that matches stays where it is.
    #[error("{path} is not collected: {reason}", path = .path.display())]
    NotCollected {
        /// The file.
        path: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// Something could not be recorded in the run directory.
    #[error("{what}: {reason}")]
    NotRecorded {
        /// What.
        what: &'static str,
        /// Why.
        #[source]
        reason: rankscope_run::Error,
    },
    /// The node's traces are mapped.
    #[error("this node's parts are in {}; when all nodes are done: rankscope merge {}", own.display(), all.display())]
    Mapped {
        /// Their folder.
        own: PathBuf,
        /// That of all nodes.
        all: PathBuf,
    },
    /// The node's traces are not mapped.
    #[error("the traces are not mapped: {reason}")]
    NotMapped {
        /// Why.
        #[source]
        reason: Error,
    },
    /// Another node did not come to its end in time, or writes elsewhere.
    #[error(
        "node {node} has not written into {run}; if its disk is another, copy its raw/ and clock/ there",
        run = .run.display()
    )]
    NodeMissing {
        /// Its number.
        node: u32,
        /// The run directory.
        run: PathBuf,
    },
    /// Steps that were asked for while the job runs are profiled.
    #[error("{steps} steps from step {first_step} on are profiled on {ranks} ranks")]
    Profiled {
        /// The first.
        first_step: u64,
        /// How many steps.
        steps: u32,
        /// How many ranks left a trace of them.
        ranks: usize,
    },
    /// They are not.
    #[error("the job is not profiled: {0}")]
    NotProfiled(String),
    /// There is no thread to complete the run with.
    #[error("{run} could not be completed: {reason}", run = .run.display())]
    NotCompleted {
        /// The run directory.
        run: PathBuf,
        /// What the system says.
        reason: String,
    },
    /// A rank of the job became late, its steps slow, or nothing moves; or that is over.
    #[error("{0}")]
    Alarm(String),
    /// The last moments of the run were kept, because something happened.
    #[error("kept what came before ({because}): {summary} It is in {}", folder.display())]
    Incident {
        /// What happened.
        because: String,
        /// What its report says first.
        summary: String,
        /// The run directory that it is.
        folder: PathBuf,
    },
    /// They were not.
    #[error("what came before could not be kept: {0}")]
    NoIncident(#[source] Error),
    /// This node, which shares no directory with the one that leads, kept its own end.
    #[error("kept what came before on this node ({because}) in {}", folder.display())]
    KeptHere {
        /// What happened.
        because: String,
        /// Where it lies.
        folder: PathBuf,
    },
    /// What this node noticed has had the leader keep what came before.
    #[error("the first node kept what came before ({because}) in {host}:{}", folder.display())]
    KeptThere {
        /// What happened.
        because: String,
        /// The leader's host.
        host: String,
        /// Where it lies there.
        folder: PathBuf,
    },
    /// It has not.
    #[error("what came before ({because}) is not kept by the first node: {why}")]
    NotKeptThere {
        /// What happened.
        because: String,
        /// Why not.
        why: String,
    },
    /// What a node passes on of its live pages, or of those of its group, is no such thing. It is said of the first one.
    #[error(
        "what node {node} passes on of the live pages of its ranks is not understood and is left out. Give all nodes the same version of rankscope"
    )]
    PagesNotUnderstood {
        /// The node.
        node: u32,
    },
    /// It did not get to the leader.
    #[error("what came before on this node did not get to the one that leads: {0}")]
    NotSent(String),
    /// The part of a node is not, or not all, in the incident.
    #[error("of what came before, not all of node {node} is there: {why}{}", lies(host.as_deref(), folder.as_deref()))]
    PartLacks {
        /// The node.
        node: u32,
        /// Its host, if it said so.
        host: Option<String>,
        /// Where its own copy lies.
        folder: Option<PathBuf>,
        /// Why.
        why: String,
    },
    /// None of other nodes was collected.
    #[error("what came before on other nodes is not collected: {0}")]
    NoParts(String),
    /// Counters of this node are not sampled, or not to the end.
    #[error("counters are not sampled: {0}")]
    NoCounters(String),
    /// Nobody watches whether the job makes progress.
    #[error("the job is not watched: {0}")]
    NotWatched(String),
    /// The job makes no progress, and this is why.
    #[error(
        "nothing was printed or recorded for {}: {summary} The evidence is in {}",
        told(*after), folder.display()
    )]
    StandsStill {
        /// For how long.
        after: Duration,
        /// Why, in sentences.
        summary: String,
        /// Where the evidence is.
        folder: PathBuf,
    },
    /// The job makes no progress, and nobody can tell why.
    #[error("nothing was printed or recorded for {}, and why cannot be told: {reason}", told(*after))]
    NotJudged {
        /// For how long.
        after: Duration,
        /// What went wrong.
        #[source]
        reason: Error,
    },
    /// NCCL gave a process of the job up.
    #[error("NCCL gave up {who}")]
    GivenUp {
        /// Which one, as far as NCCL says.
        who: String,
    },
    /// What that does to the job.
    #[error("{summary}")]
    WhyGivenUp {
        /// In sentences.
        summary: String,
    },
    /// Completing the run was cut short.
    #[error("completing the run {why}; run `rankscope report {run}` to continue", run = .run.display())]
    CutShort {
        /// The run directory.
        run: PathBuf,
        /// By whom or what.
        why: CutShort,
    },
}

/// `; it lies in b:/run/incidents/20261128-101500`.
fn lies(host: Option<&str>, folder: Option<&Path>) -> String {
    folder.map(|folder| format!("; it lies in {}:{}", host.unwrap_or("its host"), folder.display())).unwrap_or_default()
}

/// `300 s`, `0.5 s`.
fn told(duration: Duration) -> String {
    format!("{} s", duration.as_secs_f64())
}

/// What cuts the completion of a run short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CutShort {
    /// A signal.
    #[error("was interrupted")]
    Signal,
    /// The limit.
    #[error("took too long (--finish-within)")]
    Limit,
}

/// Whoever started the run, and prints.
pub trait Observer: Send + Sync {
    /// Hears a line's worth.
    fn notice(&self, notice: &Notice);

    /// Hears how a run that has a directory ended. Where completing it is cut short, never called.
    fn over(&self, summary: &Summary<'_>);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Whoever does not listen.
    pub(crate) struct Deaf;

    impl Observer for Deaf {
        fn notice(&self, _notice: &Notice) {}

        fn over(&self, _summary: &Summary<'_>) {}
    }
}
