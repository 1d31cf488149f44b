//! What a device source hands over, decoded: records of work and of calls, ties between two numberings, and changes of memory.

use std::cmp::Reverse;
use std::sync::Arc;

use super::memory::DeviceMemory;
use crate::Category;

/// One thing in a buffer of a device library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceItem {
    /// Work, a wait, or a call.
    Record(DeviceRecord),
    /// A tie between a call and an op.
    Tie(ExternalCorrelation),
    /// Memory that was allocated or freed.
    Memory(DeviceMemory),
    /// A call that launched a graph.
    Graph(GraphLaunch),
}

/// Something that took time on a device, or in a call into its library.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceRecord {
    /// What it is: [`Category::KERNEL`], [`Category::CUDA_RUNTIME`] and their like.
    pub kind: Category,
    /// The kernel, the copy or the call.
    pub name: Arc<str>,
    /// When it started, in nanoseconds since 1970; zero if the library could not tell.
    pub start_ns: i64,
    /// When it ended; zero if the library could not tell.
    pub end_ns: i64,
    /// The device; for a call, the process.
    pub device: u32,
    /// The stream or queue; for a call, the thread.
    pub stream: u64,
    /// The library's number of the call behind it, or of the call itself; zero for none.
    pub correlation: u64,
    /// Its place in a graph, if a graph was launched.
    pub graph: Option<GraphNode>,
}

/// A node of a launched graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GraphNode {
    /// The graph.
    pub graph: u64,
    /// The node in it.
    pub node: u64,
}

/// Says which graph a call launched, where the records of its work do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphLaunch {
    /// The library's number of the call.
    pub correlation: u64,
    /// The graph.
    pub graph: u64,
}

/// Says which op was open when a call was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExternalCorrelation {
    /// Which stack of open ops it speaks of.
    pub kind: CorrelationKind,
    /// The correlation id of the op on top of it; zero for none.
    pub external_id: u64,
    /// The library's number of the call; zero for none.
    pub correlation: u64,
}

/// A stack of open ops. The program's own ranges have one to themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CorrelationKind {
    /// Ops.
    Default,
    /// Ranges the program names.
    UserAnnotation,
}

/// What has to be known of an op on the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostOp {
    /// Its name.
    pub name: Arc<str>,
    /// Whether the program named it.
    pub is_user_annotation: bool,
}

/// What a record is to the join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// A call on the host, which may launch work or wait for it.
    Call,
    /// Work on the device.
    Work,
    /// A wait on the device: caused by a call, but no work.
    Wait,
    /// Neither; it may belong to an op nevertheless.
    Aside,
}

impl DeviceRecord {
    /// Whether it is a call on the host.
    pub(crate) fn is_call(&self) -> bool {
        self.role() == Role::Call
    }

    pub(super) fn role(&self) -> Role {
        match self.kind {
            Category::CUDA_RUNTIME
            | Category::CUDA_DRIVER
            | Category::XPU_RUNTIME
            | Category::XPU_DRIVER
            | Category::PRIVATEUSE1_RUNTIME
            | Category::PRIVATEUSE1_DRIVER
            | Category::MTIA_RUNTIME
            | Category::GLOW_RUNTIME => Role::Call,
            Category::KERNEL | Category::GPU_MEMCPY | Category::GPU_MEMSET | Category::MTIA_CCP_EVENTS => Role::Work,
            Category::CUDA_SYNC | Category::XPU_SYNC => Role::Wait,
            _ => Role::Aside,
        }
    }

    /// Its place among others: by start, what encloses before what is enclosed. Every field counts, so that only equal records
    /// share a place.
    pub(super) fn place(&self) -> impl Ord {
        let Self { kind, name, start_ns, end_ns, device, stream, correlation, graph } = self;
        (start_ns, Reverse(end_ns), kind, device, stream, correlation, graph, name)
    }
}
