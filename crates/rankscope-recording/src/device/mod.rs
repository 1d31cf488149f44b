//! Device work: what ran on devices, as their own profilers tell it, joined to the host ops that caused it.
//!
//! Device libraries number every call into them; work on the device carries its call's number, and a record of its own ties that
//! number to the op that was open on the host. A source records what its library hands over as it comes (`handed`), so that it
//! outlives the process, in whatever order it comes. Whoever opens a recording joins it: [`join()`] follows the numbers, ties first and
//! records second, and sorts, so that the order in which things were handed over changes nothing. What comes out is told by instants
//! of a thread of its own ([`DeviceWork`], [`DEVICE_STREAM`]); those of the source are not shown any more. Memory that was allocated or freed is
//! handed over in the same way, entered into a ledger in order of time, and told by events of memory on that thread ([`MemoryPlace`]).
//!
//! What is not here: any device library. A source decodes its buffers into [`DeviceItem`]s.

mod annotation;
mod clock;
mod handed;
mod join;
mod ledger;
mod memory;
mod place;
mod record;
mod shown;
#[cfg(test)]
mod tests;
mod ties;
mod words;
mod work;

pub use annotation::GpuAnnotation;
pub use handed::{
    DEVICE_GRAPHS, DEVICE_MEMORY, DEVICE_RECORD, DEVICE_TIES, SourceId, TIES_MAX, graphs_list, memory_list, record_list,
    ties_list,
};
pub use join::{Activity, Dropped, Joined, JoinedMemory, Oddities, join};
pub use ledger::{MemoryEvent, MemoryOddities, MemoryTotals};
pub use memory::{ALLOCATION_MAX_BYTES, DeviceMemory, MemoryChange, MemoryKind, MemoryOwner, MemoryPool};
pub use place::{MEMORY_KIND, MEMORY_PLACE, MemoryPlace};
pub use record::{CorrelationKind, DeviceItem, DeviceRecord, ExternalCorrelation, GraphLaunch, GraphNode, HostOp};
pub use shown::{DEVICE_STREAM, DeviceTally, MemoryTally};
pub(crate) use shown::{Shown, show};
pub use work::{Arrow, DEVICE_WORK, DeviceWork, WorkPlace};
