//! The tables of memory as the document has them.

use rankscope_document::{MemoryHolder, MemoryPoint, MemorySummary};
use rankscope_tables::{Holder, Memory, MemoryRow, PeakRow, TimelineRow};

use super::share;

pub(super) fn devices(memory: &Memory) -> Vec<MemorySummary> {
    memory.devices.iter().map(device).collect()
}

fn device(row: &MemoryRow) -> MemorySummary {
    MemorySummary {
        device: row.device.to_string(),
        peak_allocated_bytes: row.peak_allocated,
        peak_at_ns: row.peak_allocated.map(|_| row.peak_at_ns),
        peak_reserved_bytes: row.peak_reserved,
        fragmentation_at_peak_bytes: row.fragmentation_at_peak,
        fragmentation_worst_bytes: row.fragmentation_worst,
        fragmentation_worst_at_ns: row.fragmentation_worst.map(|_| row.fragmentation_worst_at_ns),
        before_bytes: row.before,
        after_bytes: row.after,
        allocations: row.allocated.count,
        allocated_bytes: row.allocated.bytes,
        frees: row.freed.count,
        freed_bytes: row.freed.bytes,
        kept: row.kept.count,
        kept_bytes: row.kept.bytes,
        frees_unknown: row.freed_unknown.count,
        freed_unknown_bytes: row.freed_unknown.bytes,
        failed: row.failed,
        address_reused: row.doubts.address_reused,
        size_differs: row.doubts.size_differs,
        total_differs: row.doubts.total_differs,
        total_negative: row.doubts.total_negative,
        unreadable: row.doubts.unreadable,
    }
}

pub(super) fn holders(memory: &Memory) -> Vec<MemoryHolder> {
    let peak = |row: &PeakRow| memory.devices.iter().find(|own| own.device == row.device)?.peak_allocated;
    let holder = |row: &PeakRow| MemoryHolder {
        device: row.device.to_string(),
        name: match &row.holder {
            Holder::Operator(name) => Some(name.clone()),
            Holder::NoOperator | Holder::BeforeRecording => None,
        },
        before_recording: row.holder == Holder::BeforeRecording,
        category: row.category.name().to_owned(),
        count: (row.holder != Holder::BeforeRecording).then_some(row.held.count),
        held_bytes: row.held.bytes,
        share: share(row.held.bytes, peak(row).unwrap_or(0)),
    };
    memory.peaks.iter().map(holder).collect()
}

pub(super) fn points(memory: &Memory) -> Option<Vec<MemoryPoint>> {
    let point = |TimelineRow { device, point }: &TimelineRow| {
        let [activation_bytes, gradient_bytes, optimizer_state_bytes, temporary_bytes, unknown_bytes] =
            point.by_category.map_or([None; 5], |bytes| bytes.map(Some));
        MemoryPoint {
            device: device.to_string(),
            at_ns: point.at_ns,
            allocated_bytes: point.allocated,
            reserved_bytes: point.reserved,
            activation_bytes,
            gradient_bytes,
            optimizer_state_bytes,
            temporary_bytes,
            unknown_bytes,
        }
    };
    memory.timeline.as_ref().map(|rows| rows.iter().map(point).collect())
}
