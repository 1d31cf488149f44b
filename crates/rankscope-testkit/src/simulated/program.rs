//! What a rank's host does, as a list of instructions. How long each takes is decided here; when it happens is not.

use super::layout::Dimension;

/// One thing that the host does.
#[derive(Clone, Debug)]
pub(super) enum Instruction {
    /// Something begins on the current thread, and lasts until it is closed.
    Open(Label),
    Close,
    /// The host works for so many nanoseconds.
    Spend(i64),
    /// A call that has a stream do something.
    Launch(Launch),
    /// What was launched on `stream` until now is given a name.
    Record {
        stream: Stream,
        event: u32,
    },
    /// What is launched on `stream` from now on waits for that.
    Wait {
        stream: Stream,
        event: u32,
    },
    /// The host waits until a stream has done everything.
    Synchronize(Stream),
    /// Another thread goes on; this one waits.
    Run(Thread),
    /// One end of the arrow between an operator and the node of its backward pass.
    Gradient {
        id: u64,
        finishes: bool,
    },
}

/// A call that has a stream do something.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launch {
    pub(super) stream: Stream,
    pub(super) work: Work,
    /// Of the call.
    pub(super) host_ns: i64,
    /// Of the work; of an exchange it is found once all have come.
    pub(super) device_ns: i64,
}

impl Launch {
    /// The call.
    pub(super) fn call(&self) -> &'static str {
        match self.work {
            Work::Kernel(_) => "cudaLaunchKernel",
            Work::Copy { .. } => "cudaMemcpyAsync",
            Work::Exchange(_) => "cudaLaunchKernelExC",
        }
    }

    /// Whether the call returns when the work is done: memory that is not pinned is copied while the host waits.
    pub(super) fn blocks(&self) -> bool {
        matches!(self.work, Work::Copy { pageable: true, .. })
    }
}

/// What a device does.
#[derive(Clone, Copy, Debug)]
pub(super) enum Work {
    Kernel(&'static str),
    Copy { to_device: bool, pageable: bool, bytes: u64 },
    Exchange(Exchange),
}

/// What ranks do together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Exchange {
    pub(super) operation: Operation,
    pub(super) dimension: Dimension,
    /// Of two bytes each.
    pub(super) elements: u64,
    /// How many of the group, or between the two, came before.
    pub(super) ordinal: u32,
    /// The other rank of a message.
    pub(super) peer: Option<u32>,
}

/// What an exchange does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Operation {
    AllReduce,
    AllToAll,
    Send,
    Recv,
}

impl Operation {
    /// `Collective name` in a trace.
    pub(super) fn recorded_name(self) -> &'static str {
        match self {
            Self::AllReduce => "allreduce",
            Self::AllToAll => "all_to_allv",
            Self::Send => "send",
            Self::Recv => "recv",
        }
    }

    /// Its operator.
    pub(super) fn operator(self) -> &'static str {
        match self {
            Self::AllReduce => "c10d::allreduce_",
            Self::AllToAll => "c10d::alltoall_base_",
            Self::Send => "c10d::send",
            Self::Recv => "c10d::recv_",
        }
    }

    /// Its kernel.
    pub(super) fn kernel(self) -> &'static str {
        match self {
            Self::AllReduce => "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            Self::AllToAll | Self::Send | Self::Recv => "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
        }
    }
}

/// What a host span is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Label {
    /// A Python function or a module; of several, which.
    Frame(&'static str, Option<u32>),
    /// An operator; one that has gradients has a number.
    Operator {
        name: &'static str,
        dims: &'static str,
        sequence: Option<u64>,
    },
    /// A node of the backward pass, by the number of its operator.
    Node {
        name: &'static str,
        sequence: u64,
    },
    Annotation(&'static str),
    Step(u32),
    /// The annotation around an exchange.
    Communication(Exchange),
    /// The operator that says what an exchange is.
    Params(Exchange),
}

/// A host thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thread {
    Main,
    Autograd,
}

impl Thread {
    pub(super) const ALL: [Self; 2] = [Self::Main, Self::Autograd];

    /// Its number within the process.
    pub(super) const fn number(self) -> u32 {
        match self {
            Self::Main => 0,
            Self::Autograd => 5,
        }
    }

    /// Its name.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Main => "python",
            Self::Autograd => "pt_autograd_0",
        }
    }
}

/// A stream of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Stream {
    Compute,
    Copy,
    Data,
    Tensor,
    Expert,
    FromPrevious,
    FromNext,
    ToPrevious,
    ToNext,
}

impl Stream {
    pub(super) const ALL: [Self; 9] = [
        Self::Compute,
        Self::Copy,
        Self::Data,
        Self::Tensor,
        Self::Expert,
        Self::FromPrevious,
        Self::FromNext,
        Self::ToPrevious,
        Self::ToNext,
    ];

    /// Its number in a trace.
    pub(super) const fn number(self) -> u32 {
        match self {
            Self::Compute => 7,
            Self::Copy => 21,
            Self::Data => 25,
            Self::Tensor => 29,
            Self::Expert => 33,
            Self::FromPrevious => 37,
            Self::FromNext => 41,
            Self::ToPrevious => 45,
            Self::ToNext => 49,
        }
    }
}
