//! Tables of memory, and of what is computed twice to save it, as `report --tables` writes them.

use serde::{Deserialize, Serialize};

/// All operators of one name that ran forward again during backward and launched device work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecomputeSummary {
    /// The operator; of work that no operator is around, the call that launched it.
    pub name: String,
    /// What sort of work it does.
    pub category: String,
    /// What shows it: `checkpoint_frame`, `checkpoint_node` or `sequence`.
    pub evidence: String,
    /// How many launched work.
    pub count: u64,
    /// Of how many an earlier operator outside backward has the same name and input shapes.
    pub matched: u64,
    /// Sum of the lengths of the work they launched themselves.
    pub kernel_ns: i64,
    /// That as a share of the sum of the lengths of all device work, 0 to 1.
    pub share: f64,
}

/// Memory of one device. What is not known is absent. Times are since the start of the trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemorySummary {
    /// The device: `cuda:0`, `cpu`.
    pub device: String,
    /// The most that was allocated.
    pub peak_allocated_bytes: Option<i64>,
    /// When.
    pub peak_at_ns: Option<i64>,
    /// The most that was reserved.
    pub peak_reserved_bytes: Option<i64>,
    /// Reserved and not allocated when most was allocated.
    pub fragmentation_at_peak_bytes: Option<i64>,
    /// The most that was reserved and not allocated.
    pub fragmentation_worst_bytes: Option<i64>,
    /// When.
    pub fragmentation_worst_at_ns: Option<i64>,
    /// Allocated before the first event.
    pub before_bytes: Option<i64>,
    /// Allocated after the last event.
    pub after_bytes: Option<i64>,
    /// How many allocations.
    pub allocations: u64,
    /// How much they allocated in all.
    pub allocated_bytes: i64,
    /// How many releases.
    pub frees: u64,
    /// How much they released in all.
    pub freed_bytes: i64,
    /// How many allocations were not released while it was recorded.
    pub kept: u64,
    /// How much they have.
    pub kept_bytes: i64,
    /// How many releases were of what was not allocated while it was recorded.
    pub frees_unknown: u64,
    /// How much they released.
    pub freed_unknown_bytes: i64,
    /// Allocations that failed for want of memory.
    pub failed: u64,
    /// Allocations at an address that was still allocated: a release was not recorded.
    pub address_reused: u64,
    /// Releases of fewer or more bytes than were allocated at that address.
    pub size_differs: u64,
    /// Totals that are not the total before with the bytes of the event.
    pub total_differs: u64,
    /// Totals below zero, which count as not recorded.
    pub total_negative: u64,
    /// Events without bytes or without an address, whose memory cannot be followed.
    pub unreadable: u64,
}

/// What of one category was allocated by one operator and alive when most was allocated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryHolder {
    /// The device.
    pub device: String,
    /// The operator; absent where none was running, and of what was allocated before the recording.
    pub name: Option<String>,
    /// Whether it was allocated before the recording.
    pub before_recording: bool,
    /// What it was for: `activation`, `gradient`, `optimizer_state`, `temporary` or `unknown`.
    pub category: String,
    /// How many allocations; absent of what was allocated before the recording.
    pub count: Option<u64>,
    /// How much they have.
    pub held_bytes: i64,
    /// That as a share of all that was allocated then, 0 to 1.
    pub share: f64,
}

/// One instant of one device's memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemoryPoint {
    /// The device.
    pub device: String,
    /// Since the start of the trace.
    pub at_ns: i64,
    /// What was allocated.
    pub allocated_bytes: i64,
    /// What was reserved.
    pub reserved_bytes: Option<i64>,
    /// What is allocated by category; these five add up to it. Absent where addresses do not fit the totals.
    pub activation_bytes: Option<i64>,
    /// As above.
    pub gradient_bytes: Option<i64>,
    /// As above.
    pub optimizer_state_bytes: Option<i64>,
    /// As above.
    pub temporary_bytes: Option<i64>,
    /// As above, with what was allocated before the recording.
    pub unknown_bytes: Option<i64>,
}
