//! A snapshot of torch's memory allocator, as `rankscope report memory SNAPSHOT.pickle` writes it, schema 1. Keys are only ever added
//! within a schema number.

use serde::{Deserialize, Serialize};

/// What a snapshot says. What is not known is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MemorySnapshotDocument {
    /// Version of this layout: 1.
    pub schema: u32,
    /// Version of the program that wrote it.
    pub rankscope_version: String,
    /// The file.
    pub title: String,
    /// Each device.
    pub devices: Vec<SnapshotDeviceRow>,
    /// What is allocated at the end, by the stack that allocated it, the most first.
    pub live: Vec<SnapshotStackRow>,
    /// What was allocated at the highest point of the recorded events, likewise.
    pub peak: Vec<SnapshotStackRow>,
    /// Segments, the largest first.
    pub segments: Vec<SnapshotSegmentRow>,
    /// Allocations that failed.
    pub failed: Vec<SnapshotFailureRow>,
}

/// One device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotDeviceRow {
    /// The device: `cuda:0`.
    pub device: String,
    /// What its segments have.
    pub reserved_bytes: i64,
    /// In blocks that are allocated.
    pub allocated_bytes: i64,
    /// What was asked for of those.
    pub requested_bytes: i64,
    /// In blocks that were released and that a stream may still use.
    pub pending_bytes: i64,
    /// In blocks that nobody uses.
    pub inactive_bytes: i64,
    /// That as a share of what is reserved, 0 to 1.
    pub inactive_share: f64,
    /// The largest of those blocks.
    pub largest_inactive_bytes: i64,
    /// In segments that nobody uses at all: what `empty_cache` gives back.
    pub releasable_bytes: i64,
    /// Segments.
    pub segments: u64,
    /// Blocks.
    pub blocks: u64,
    /// Events recorded.
    pub events: Option<u64>,
    /// Requested before the first of them.
    pub start_bytes: Option<i64>,
    /// The most that was requested and not released within them.
    pub peak_bytes: Option<i64>,
    /// How long after the first event.
    pub peak_after_ns: Option<i64>,
    /// Allocations that failed within them.
    pub failed: u64,
}

/// One segment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotSegmentRow {
    /// Its device.
    pub device: String,
    /// Where it is, as hexadecimal digits.
    pub address: String,
    /// The stream it is for.
    pub stream: i64,
    /// `small` or `large`.
    pub kind: String,
    /// What it has.
    pub total_bytes: i64,
    /// In blocks that are allocated.
    pub allocated_bytes: i64,
    /// In blocks that nobody uses.
    pub inactive_bytes: i64,
    /// The largest of those.
    pub largest_inactive_bytes: i64,
    /// Blocks.
    pub blocks: u64,
}

/// What one stack allocated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotStackRow {
    /// The device.
    pub device: String,
    /// The innermost frame of the program itself; absent where no stack was recorded.
    pub frame: Option<String>,
    /// Whether it was allocated before the first event.
    pub before_recording: bool,
    /// How many allocations; absent of what was allocated before.
    pub count: Option<u64>,
    /// How much they have.
    pub held_bytes: i64,
    /// That as a share of all of the device, 0 to 1.
    pub share: f64,
    /// The frames, innermost first.
    pub stack: Option<String>,
}

/// An allocation that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SnapshotFailureRow {
    /// The device.
    pub device: String,
    /// What was asked for.
    pub requested_bytes: i64,
    /// What the device had left.
    pub device_free_bytes: Option<i64>,
}
