//! The order of work in a step, the same on every rank: the phases and the collective each one ends with.

use crate::Job;

/// What a collective does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CollectiveKind {
    /// Everybody gets the sum.
    AllReduce,
    /// Everybody gets everybody's part.
    AllGather,
    /// Everybody gets a part of the sum.
    ReduceScatter,
    /// Everybody gets what one has.
    Broadcast,
    /// Everybody sends a part to everybody.
    AllToAll,
}

impl CollectiveKind {
    /// The name torch records in `Collective name`.
    pub fn recorded_name(self) -> &'static str {
        match self {
            Self::AllReduce => "allreduce",
            Self::AllGather => "_allgather_base",
            Self::ReduceScatter => "_reduce_scatter_base",
            Self::Broadcast => "broadcast",
            Self::AllToAll => "all_to_all",
        }
    }

    /// The name of its annotation.
    pub(crate) fn annotation(self) -> &'static str {
        match self {
            Self::AllReduce => "nccl:all_reduce",
            Self::AllGather => "nccl:_all_gather_base",
            Self::ReduceScatter => "nccl:_reduce_scatter_base",
            Self::Broadcast => "nccl:broadcast",
            Self::AllToAll => "nccl:all_to_all",
        }
    }

    /// The name of its kernel. All-to-all is made of sends and receives.
    pub(crate) fn kernel(self) -> &'static str {
        match self {
            Self::AllReduce => "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            Self::AllGather => "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            Self::ReduceScatter => "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            Self::Broadcast => "ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            Self::AllToAll => "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
        }
    }
}

/// A stretch of a step. All phases of one rank run in order.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Phase {
    Forward { layer: u32 },
    Backward { layer: u32 },
    Optimizer,
}

/// What a phase's collective moves, and among whom.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    pub(crate) kind: CollectiveKind,
    /// Elements this rank puts in and gets out, of two bytes each.
    pub(crate) in_elements: u64,
    pub(crate) out_elements: u64,
    pub(crate) scope: Scope,
    /// Time on the wire once everybody is there.
    pub(crate) transfer_ns: i64,
    /// Belongs to the larger half, whose ends are noisy.
    pub(crate) large: bool,
}

/// The ranks that take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    World,
    TensorGroup,
}

/// The phases of one step.
pub(crate) fn phases(job: &Job) -> impl Iterator<Item = Phase> {
    let layers = job.layers;
    let forward = (0..layers).map(|layer| Phase::Forward { layer });
    let backward = (0..layers).rev().map(|layer| Phase::Backward { layer });
    forward.chain(backward).chain([Phase::Optimizer])
}

/// The collective `phase` ends with.
pub(crate) fn exchange(job: &Job, phase: Phase) -> Option<Exchange> {
    match phase {
        Phase::Forward { layer } => {
            let ranks = job.group_size?;
            Some(sized(CollectiveKind::AllReduce, layer, ranks, Scope::TensorGroup))
        }
        Phase::Backward { layer } => Some(sized(KINDS[layer as usize % KINDS.len()], layer, job.ranks, Scope::World)),
        Phase::Optimizer => None,
    }
}

/// Ranks that take part in `rank`'s collectives of `scope`.
pub(crate) fn members(job: &Job, rank: u32, scope: Scope) -> std::ops::Range<u32> {
    match (scope, job.group_size) {
        (Scope::TensorGroup, Some(size)) if size > 0 => {
            let first = rank - rank % size;
            first..(first + size).min(job.ranks)
        }
        _ => 0..job.ranks,
    }
}

fn sized(kind: CollectiveKind, layer: u32, ranks: u32, scope: Scope) -> Exchange {
    let ranks = u64::from(ranks.max(1));
    let part = 1024_u64 << (layer % SIZES);
    let (in_elements, out_elements) = match kind {
        CollectiveKind::AllGather => (part, part * ranks),
        CollectiveKind::ReduceScatter => (part * ranks, part),
        CollectiveKind::AllReduce | CollectiveKind::Broadcast | CollectiveKind::AllToAll => (part * ranks, part * ranks),
    };
    let bytes = 2 * in_elements.max(out_elements);
    let large = layer % SIZES >= SIZES / 2;
    Exchange { kind, in_elements, out_elements, scope, transfer_ns: 5_000 + (bytes / BYTES_PER_NS) as i64, large }
}

/// All of them, so that five layers show every kind.
const KINDS: [CollectiveKind; 5] = [
    CollectiveKind::AllReduce,
    CollectiveKind::ReduceScatter,
    CollectiveKind::AllGather,
    CollectiveKind::AllToAll,
    CollectiveKind::Broadcast,
];

/// Message sizes in use, each twice the one before. Coprime with the kinds, so that every pair of kind and size comes up.
const SIZES: u32 = 8;

/// Speed of the pretended network, in bytes per nanosecond: 10 GB/s.
const BYTES_PER_NS: u64 = 10;
