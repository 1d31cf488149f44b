//! What torch's CUDA allocator wrote about itself (`torch.cuda.memory._dump_snapshot`): its segments with their blocks, and the last
//! allocations and releases.
//!
//! Bytes of segments and blocks are what the allocator handed out, which it rounds up; events say what was asked for. So the course
//! of memory is in requested bytes. Where it starts is not recorded: it is what the blocks hold at the end, less what the events
//! changed. Where that is below zero, the events and the blocks are not of one time, and no peak is told.

mod blocks;
mod course;
mod stacks;

use std::fmt;

use rankscope_pickle::{Kind, Pickle, Value};

pub use blocks::{SnapshotDevice, SnapshotSegment};
pub use course::SnapshotPeak;
pub use stacks::StackHeld;
use stacks::Stacks;

/// A memory snapshot, summed up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    /// Devices that have memory or events, in order.
    pub devices: Vec<SnapshotDevice>,
    /// Segments, the largest first.
    pub segments: Vec<SnapshotSegment>,
    /// What is allocated at the end, by the stack that allocated it, the most first.
    pub live: Vec<StackHeld>,
    /// The highest point of each device within the recorded events.
    pub peaks: Vec<SnapshotPeak>,
    /// Allocations that failed, by device.
    pub failed: Vec<FailedAllocation>,
}

/// An allocation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedAllocation {
    /// The device.
    pub device: i64,
    /// What was asked for, in bytes.
    pub requested: i64,
    /// What the device had left, in bytes, where it is said.
    pub device_free: Option<i64>,
}

/// Why a pickle is no memory snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SnapshotError {
    /// It is a pickle of something else.
    NotASnapshot,
    /// A part of it is not what torch writes.
    Damaged {
        /// Which.
        what: &'static str,
        /// The place in its list.
        at: usize,
    },
    /// One part of it stands in more places than the file is long.
    TooMuch,
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotASnapshot => {
                to.write_str("not a memory snapshot: torch.cuda.memory._dump_snapshot writes a dict with \"segments\"")
            }
            Self::Damaged { what, at } => write!(to, "{what} {at} of the memory snapshot is not what torch writes"),
            Self::TooMuch => to.write_str("the memory snapshot repeats its parts without end"),
        }
    }
}

impl std::error::Error for SnapshotError {}

impl Snapshot {
    /// What `pickle` says of memory.
    ///
    /// # Errors
    /// If it is of something else, or damaged.
    pub fn of(pickle: &Pickle<'_>) -> Result<Self, SnapshotError> {
        let root = pickle.root();
        let segments = root.get("segments").filter(|segments| matches!(segments.container(), Some((_, Kind::List))));
        let segments = segments.ok_or(SnapshotError::NotASnapshot)?;
        // Lists of stacks are looked at once, and what torch writes has every other list and dict in one place.
        let mut steps = Steps { left: pickle.places() };
        let mut stacks = Stacks::default();
        let blocks = blocks::Blocks::of(segments, &mut stacks, &mut steps)?;
        let mut snapshot = Self { live: blocks.live(&stacks), segments: blocks.segments, ..Self::default() };
        for (device, events) in (0..).zip(root.get("device_traces").into_iter().flat_map(Value::items)) {
            let own = blocks.devices.iter().find(|own| own.device == device);
            let course = course::Course::of(device, events, own, &mut stacks, &mut steps)?;
            snapshot.failed.extend(course.failed);
            snapshot.peaks.extend(course.peak);
        }
        snapshot.devices = blocks.devices;
        snapshot.segments.sort_by_key(|segment| (std::cmp::Reverse(segment.total), segment.device, segment.address));
        Ok(snapshot)
    }
}

/// How many parts may still be looked at: a pickle can hold one list in many places.
struct Steps {
    left: usize,
}

impl Steps {
    fn take(&mut self) -> Result<(), SnapshotError> {
        self.left = self.left.checked_sub(1).ok_or(SnapshotError::TooMuch)?;
        Ok(())
    }
}

/// The number under `key` of what is number `at` of `what`.
fn number(value: Value<'_>, key: &str, what: &'static str, at: usize) -> Result<i64, SnapshotError> {
    value.get(key).and_then(Value::as_i64).ok_or(SnapshotError::Damaged { what, at })
}

/// The text under `key` of what is number `at` of `what`.
fn text<'p>(value: Value<'p>, key: &str, what: &'static str, at: usize) -> Result<&'p str, SnapshotError> {
    value.get(key).and_then(Value::as_str).ok_or(SnapshotError::Damaged { what, at })
}

#[cfg(test)]
mod tests;
