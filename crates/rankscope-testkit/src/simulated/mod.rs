//! A causal simulator of training jobs: what is wrong with a job is planted, and what that costs is known.
//!
//! Every rank's host carries out a program in simulated time and runs ahead of its device; kernels start when they were launched,
//! their stream is free and the events they wait for have fired; a collective ends a transfer after its last rank has come. So a
//! [`Cause`] has the consequences that it would have: a slow data loader delays the launches of its rank, its kernels, and through
//! the next all-reduce every other rank. What it costs is the difference to the same job of the same seed without it.
//!
//! [`crate::Job`] is older and different: it has the shapes of traces, but its ranks have no reasons. Both are written by the same
//! writers in the same dialects.

mod author;
mod cause;
mod drawn;
mod layout;
mod machine;
mod meetings;
mod model;
mod network;
mod program;
mod recording;
mod schedule;
mod step;
mod truth;
mod writer;

use std::collections::VecDeque;
use std::io::{self, Write};

pub use cause::{Cause, CauseKind};
pub use layout::{Dimension, Layout};
pub use model::Part;
pub use truth::Truth;

use crate::dialect::Dialect;
use crate::job::NodeClock;
use machine::Machine;
use meetings::{End, Meetings};
use recording::Recording;

/// A job to be simulated. Fill the fields that matter, leave the rest to `Default`.
///
/// ```
/// use rankscope_testkit::simulated::{Cause, Job};
///
/// let job = Job { cause: Some(Cause::DataLoader { rank: 2, ns: 2_000_000, every: 1 }), ..Job::default() };
/// let worth_ns = job.truth().worth_ns_per_step();
/// assert!((1_900_000..2_100_000).contains(&worth_ns), "{worth_ns}");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Ranks, nodes, and parallel dimensions.
    pub layout: Layout,
    /// Training steps, all of them recorded.
    pub steps: u32,
    /// Layers of each stage.
    pub layers: u32,
    /// Batches that go through the stages in each step.
    pub microbatches: u32,
    /// What is copied to the device for each step.
    pub batch_bytes: u64,
    /// Whether the profiler recorded which event a stream waits for, which torch does on request.
    pub sync_events: bool,
    /// What each node's clock shows, by node; nodes beyond the end have a true clock.
    pub clocks: Vec<NodeClock>,
    /// What is wrong.
    pub cause: Option<Cause>,
    /// Where all chance comes from.
    pub seed: u64,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            layout: Layout { ranks: 8, tensor: 1, pipeline: 1, experts: false, gpus_per_node: 4 },
            steps: 8,
            layers: 2,
            microbatches: 1,
            batch_bytes: 64 << 10,
            sync_events: true,
            clocks: Vec::new(),
            cause: None,
            seed: 1,
        }
    }
}

/// A job that has run: traces of any number of its ranks cost one simulation.
pub struct Simulation<'a> {
    job: &'a Job,
    recordings: Vec<Recording>,
}

impl Job {
    /// Runs the job.
    pub fn run(&self) -> Simulation<'_> {
        Simulation { job: self, recordings: simulate(self) }
    }

    /// Writes the trace of `rank` as torch does, and returns how many events it holds.
    ///
    /// # Errors
    /// Only those of `out`.
    ///
    /// # Panics
    /// If the job has no such rank.
    pub fn rank_json(&self, rank: u32, out: &mut impl Write) -> io::Result<u64> {
        self.run().rank_json(rank, &Dialect::default(), out)
    }

    /// The traces of all ranks, ascending, as torch writes them.
    pub fn all_ranks(&self) -> Vec<Vec<u8>> {
        let run = self.run();
        let trace = |rank| {
            let mut bytes = Vec::new();
            run.rank_json(rank, &Dialect::default(), &mut bytes).expect("writing to memory cannot fail");
            bytes
        };
        (0..self.layout.ranks).map(trace).collect()
    }

    /// What is wrong, and what it costs.
    pub fn truth(&self) -> Truth {
        Truth::of(self)
    }

    /// The clock of the node a rank runs on.
    pub fn clock(&self, rank: u32) -> NodeClock {
        self.clocks.get(self.layout.node(rank) as usize).copied().unwrap_or_default()
    }
}

impl Simulation<'_> {
    /// Writes the trace of `rank` in `dialect`, and returns how many events it holds.
    ///
    /// # Errors
    /// Only those of `out`.
    ///
    /// # Panics
    /// If the job has no such rank.
    pub fn rank_json(&self, rank: u32, dialect: &Dialect, out: &mut impl Write) -> io::Result<u64> {
        writer::write(self.job, rank, &self.recordings[rank as usize], dialect, out)
    }
}

/// Runs all ranks until everything is over. In which order they take turns changes nothing: each stands still where it would need
/// to know more.
fn simulate(job: &Job) -> Vec<Recording> {
    let mut machines: Vec<Machine> = (0..job.layout.ranks).map(|rank| Machine::new(job, rank)).collect();
    let mut meetings = Meetings::new(job);
    let mut turns: VecDeque<u32> = (0..job.layout.ranks).collect();
    while let Some(rank) = turns.pop_front() {
        machines[rank as usize].advance(&mut meetings);
        for End { rank, node, end_ns } in meetings.ends.drain(..) {
            machines[rank as usize].end(node, end_ns);
            turns.push_back(rank);
        }
    }
    assert!(meetings.all_over() && machines.iter().all(Machine::is_over), "a rank waits for what never comes");
    machines.into_iter().map(|machine| machine.recording).collect()
}

#[cfg(test)]
mod tests;
