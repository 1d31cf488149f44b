//! [`Facts`]: what is known of a job beside its traces, by whoever ran it and measured its clocks.

use std::collections::BTreeMap;

use rankscope_align::NodeClock;

use crate::gpus::HostGpus;

/// What a run directory and the agents' files say of a job.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Facts {
    /// Ranks in the job.
    pub world_size: Option<u32>,
    /// What failed first, where the job failed.
    pub failure: Option<Failure>,
    /// The node of each rank.
    pub nodes: BTreeMap<u32, u32>,
    /// The clocks that agents measured.
    pub clocks: Option<KnownClocks>,
    /// What slowed the GPUs of its hosts, where counters were sampled beside it.
    pub gpus: Vec<HostGpus>,
}

/// What failed first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The rank, where it was one.
    pub rank: Option<u32>,
    /// What happened, as part of a sentence.
    pub text: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str(&self.text)
    }
}

/// The clocks of the nodes of a run.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct KnownClocks {
    /// One a node that was placed.
    pub nodes: Vec<NodeClock>,
    /// Names of their hosts, where files tell.
    pub hosts: BTreeMap<u32, String>,
    /// The node whose clock is the reference.
    pub reference: u32,
    /// What was odd.
    pub notes: Vec<String>,
}
