//! Device work joined to the host ops that caused it (recorder specification, sections 2.4, 2.7 and 3.3).
//!
//! Device libraries number every call into them; work on the device carries its call's number, and a record of its own ties that
//! number to the op that was open on the host. [`join()`] follows those numbers. Buffers come in any order, so ties are read
//! first and records second, and the result is sorted: whatever the order of buffers, the result is the same to the last bit.
//!
//! What is not here: any device library. A source decodes its buffers into [`DeviceItem`]s and brings their times onto the
//! recording's clock before it calls.

mod annotation;
mod join;
mod record;
#[cfg(test)]
mod tests;
mod ties;

pub use annotation::GpuAnnotation;
pub use join::{Activity, Dropped, Joined, Oddities, join};
pub use record::{CorrelationKind, DeviceItem, DeviceRecord, ExternalCorrelation, GraphNode, HostOp};
