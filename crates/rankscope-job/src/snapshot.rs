//! A snapshot of torch's memory allocator as its document has it. Translates; sums up nothing.

use rankscope_document::{MemorySnapshotDocument, SnapshotDeviceRow, SnapshotFailureRow, SnapshotSegmentRow, SnapshotStackRow};
use rankscope_tables::{Snapshot, SnapshotDevice, SnapshotError, SnapshotSegment, StackHeld};

/// Why there is no document of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotFault {
    /// The file is no pickle of plain data.
    #[error(transparent)]
    Pickle(#[from] rankscope_pickle::Error),
    /// The pickle is no snapshot.
    #[error(transparent)]
    Snapshot(#[from] SnapshotError),
}

/// The document of the snapshot that `bytes` are, which is called `title`.
///
/// # Errors
/// If they are no snapshot, or a damaged one.
pub fn memory_snapshot(bytes: &[u8], title: &str) -> Result<MemorySnapshotDocument, SnapshotFault> {
    let snapshot = Snapshot::of(&rankscope_pickle::read(bytes)?)?;
    let share =
        |part: i64, whole: Option<i64>| whole.filter(|whole| *whole > 0).map_or(0.0, |whole| part as f64 / whole as f64);
    let held = |row: &StackHeld, whole: Option<i64>| SnapshotStackRow {
        device: name(row.device),
        frame: row.frame.clone(),
        before_recording: row.before_recording,
        count: row.count,
        held_bytes: row.bytes,
        share: share(row.bytes, whole),
        stack: row.stack.clone(),
    };
    let allocated = |device: i64| snapshot.devices.iter().find(|own| own.device == device).map(|own| own.allocated);
    Ok(MemorySnapshotDocument {
        schema: 1,
        rankscope_version: env!("CARGO_PKG_VERSION").to_owned(),
        title: title.to_owned(),
        devices: snapshot.devices.iter().map(|own| device(&snapshot, own)).collect(),
        live: snapshot.live.iter().map(|row| held(row, allocated(row.device))).collect(),
        peak: snapshot.peaks.iter().flat_map(|peak| peak.held.iter().map(|row| held(row, Some(peak.most)))).collect(),
        segments: snapshot.segments.iter().map(segment).collect(),
        failed: snapshot
            .failed
            .iter()
            .map(|one| SnapshotFailureRow {
                device: name(one.device),
                requested_bytes: one.requested,
                device_free_bytes: one.device_free,
            })
            .collect(),
    })
}

/// As torch calls it; only its CUDA allocator writes snapshots, under ROCm, too.
fn name(device: i64) -> String {
    format!("cuda:{device}")
}

fn device(snapshot: &Snapshot, own: &SnapshotDevice) -> SnapshotDeviceRow {
    let peak = snapshot.peaks.iter().find(|peak| peak.device == own.device);
    SnapshotDeviceRow {
        device: name(own.device),
        reserved_bytes: own.reserved,
        allocated_bytes: own.allocated,
        requested_bytes: own.requested,
        pending_bytes: own.pending,
        inactive_bytes: own.inactive,
        inactive_share: if own.reserved > 0 { own.inactive as f64 / own.reserved as f64 } else { 0.0 },
        largest_inactive_bytes: own.largest_inactive,
        releasable_bytes: own.releasable,
        segments: own.segments,
        blocks: own.blocks,
        events: peak.map(|peak| peak.events),
        start_bytes: peak.map(|peak| peak.start),
        peak_bytes: peak.map(|peak| peak.most),
        peak_after_ns: peak.and_then(|peak| peak.after_ns),
        failed: snapshot.failed.iter().filter(|one| one.device == own.device).count() as u64,
    }
}

fn segment(own: &SnapshotSegment) -> SnapshotSegmentRow {
    SnapshotSegmentRow {
        device: name(own.device),
        address: format!("{:#x}", own.address),
        stream: own.stream,
        kind: own.kind.clone(),
        total_bytes: own.total,
        allocated_bytes: own.allocated,
        inactive_bytes: own.inactive,
        largest_inactive_bytes: own.largest_inactive,
        blocks: own.blocks,
    }
}
