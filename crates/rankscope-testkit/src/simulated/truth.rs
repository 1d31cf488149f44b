//! What is wrong, where, and what it costs: the same job is simulated without its cause.

use super::cause::{Cause, CauseKind};
use super::layout::{Dimension, Layout};
use super::network::Network;
use super::recording::Recording;
use super::{Job, simulate};

/// The truth about a [`Job`].
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// What is wrong, if anything.
    pub kind: Option<CauseKind>,
    /// The ranks that have it: all of them where it is the program's fault.
    pub ranks: Vec<u32>,
    /// Names under which the traces show it, the best one first: annotations, operators, kernels, functions.
    pub names: Vec<&'static str>,
    /// What a step takes, on average: from its begin on the first rank to that of the next one.
    pub step_ns: i64,
    /// What a step would take without the cause.
    pub clean_step_ns: i64,
}

impl Truth {
    pub(super) fn of(job: &Job) -> Self {
        let step_ns = step_ns(&simulate(job), job.steps);
        let clean_step_ns = match job.cause {
            None => step_ns,
            Some(_) => step_ns_of(&Job { cause: None, ..job.clone() }),
        };
        let kind = job.cause.as_ref().map(Cause::kind);
        let ranks = job.cause.as_ref().map_or_else(Vec::new, |cause| ranks(cause, &job.layout));
        Self {
            kind,
            ranks,
            names: job.cause.as_ref().map_or_else(Vec::new, |cause| names(cause, &job.layout)),
            step_ns,
            clean_step_ns,
        }
    }

    /// What the cause costs: nanoseconds a step.
    pub fn worth_ns_per_step(&self) -> i64 {
        self.step_ns - self.clean_step_ns
    }
}

fn step_ns_of(job: &Job) -> i64 {
    step_ns(&simulate(job), job.steps)
}

fn step_ns(recordings: &[Recording], steps: u32) -> i64 {
    let first = recordings.iter().filter_map(|one| one.steps().next()).map(|(start, _)| start).min();
    let last = recordings.iter().filter_map(|one| one.steps().last()).map(|(_, end)| end).max();
    first.zip(last).map_or(0, |(first, last)| (last - first) / i64::from(steps.max(1)))
}

/// The ranks that have it.
fn ranks(cause: &Cause, layout: &Layout) -> Vec<u32> {
    let all = 0..layout.ranks;
    match *cause {
        Cause::SlowKernel { rank, .. }
        | Cause::SlowHost { rank, .. }
        | Cause::LateReceiver { rank, .. }
        | Cause::UnevenDocuments { rank, .. }
        | Cause::DataLoader { rank, .. }
        | Cause::ThrottledCard { rank, .. }
        | Cause::UnevenExperts { rank, .. } => vec![rank],
        Cause::HeavyStage { stage, .. } => all.filter(|rank| layout.stage(*rank) == stage).collect(),
        Cause::SlowLink { .. } => {
            let network = Network::new(layout, Some(cause));
            let uses = |rank: &u32| {
                let groups = [Dimension::Data, Dimension::Tensor, Dimension::Pipeline].map(|of| layout.group(*rank, of));
                groups.iter().flatten().any(|other| network.is_slow(*rank, *other))
            };
            all.filter(uses).collect()
        }
        Cause::GarbageCollection { .. }
        | Cause::PageableCopies
        | Cause::Synchronization
        | Cause::TinyKernels { .. }
        | Cause::LateReduction
        | Cause::Recompute
        | Cause::FirstStep { .. } => all.collect(),
    }
}

/// The names under which traces show it.
fn names(cause: &Cause, layout: &Layout) -> Vec<&'static str> {
    use super::model::{ATTENTION_BACKWARD_OPERATOR, Part, TINY};
    match cause {
        Cause::SlowKernel { part, .. } => part.names(),
        Cause::UnevenDocuments { .. } => [Part::Attention.names(), vec![ATTENTION_BACKWARD_OPERATOR]].concat(),
        Cause::DataLoader { .. } => vec![
            "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
            "torch/utils/data/dataloader.py(734): __next__",
        ],
        Cause::GarbageCollection { .. } => vec!["<built-in function collect>", "train.py(38): collect_garbage"],
        Cause::PageableCopies => vec!["Memcpy HtoD (Pageable -> Device)", "aten::copy_", "aten::to", "cudaMemcpyAsync"],
        Cause::Synchronization => vec!["cudaStreamSynchronize", "aten::_local_scalar_dense", "aten::item"],
        Cause::TinyKernels { .. } => vec![TINY.0, TINY.1, "cudaLaunchKernel"],
        Cause::LateReduction => vec!["nccl:all_reduce", "allreduce", "mesh_dp"],
        Cause::Recompute => vec!["CheckpointFunctionBackward"],
        Cause::UnevenExperts { .. } => [Part::Up.names(), Part::Down.names()].concat(),
        Cause::FirstStep { .. } => vec!["Torch-Compiled Region: 0/0", "ProfilerStep#0"],
        Cause::SlowLink { .. } if layout.nodes() == layout.pipeline => vec![Dimension::Pipeline.description()],
        Cause::LateReceiver { .. } => vec!["all_reduce"],
        Cause::SlowLink { .. } => vec![Dimension::Data.description()],
        Cause::HeavyStage { .. } => vec!["nn.Module: Transformer_0", "mesh_pp"],
        Cause::SlowHost { .. } | Cause::ThrottledCard { .. } => Vec::new(),
    }
}
