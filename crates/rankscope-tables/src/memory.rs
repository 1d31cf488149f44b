//! Memory of devices and of the host over time, from the `[memory]` events that torch's profiler leaves with `profile_memory`.
//!
//! Each event is an allocation (bytes above zero) or a release (below), and says what its device had allocated and reserved after it.
//! Totals are taken from there; which allocations are alive is told by addresses. What was allocated before the recording has no
//! event: it is known by its sum alone. Anything that does not fit together is counted, and no figure is made of it.

mod events;
mod live;
mod timeline;

use rankscope_trace::Trace;

use crate::Attribution;
pub use events::MemoryDevice;
use events::{Event, by_device, failed};
use live::{Allocation, Places, Replay};
pub use live::{Holder, MemoryCategory};
use serde::{Deserialize, Serialize};
pub use timeline::Point;

/// The memory of a rank's devices.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Memory {
    /// Each device with what happened, those with the highest peak first.
    pub devices: Vec<MemoryRow>,
    /// What each device's memory held when most was allocated, by device as in `devices`, the most first.
    pub peaks: Vec<PeakRow>,
    /// The course over time; none of several exports, between which nothing is known.
    pub timeline: Option<Vec<TimelineRow>>,
}

/// What happened to the memory of one device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryRow {
    /// The device.
    pub device: MemoryDevice,
    /// The most that was allocated, in bytes; none where no event says a total.
    pub peak_allocated: Option<i64>,
    /// When, in nanoseconds since the start of the trace.
    pub peak_at_ns: i64,
    /// The most that was reserved, in bytes; none where nothing ever was, as on the host.
    pub peak_reserved: Option<i64>,
    /// Reserved and not allocated when most was allocated, in bytes.
    pub fragmentation_at_peak: Option<i64>,
    /// The most that was reserved and not allocated, in bytes.
    pub fragmentation_worst: Option<i64>,
    /// When, in nanoseconds since the start of the trace.
    pub fragmentation_worst_at_ns: i64,
    /// Allocated before the first event, in bytes.
    pub before: Option<i64>,
    /// Allocated after the last event, in bytes.
    pub after: Option<i64>,
    /// How much was allocated, how often and in bytes.
    pub allocated: Sum,
    /// How much was released.
    pub freed: Sum,
    /// What was allocated and not released while it was recorded.
    pub kept: Sum,
    /// Releases of what was not allocated while it was recorded.
    pub freed_unknown: Sum,
    /// Allocations that failed.
    pub failed: u64,
    /// What doubts the figures.
    pub doubts: Doubts,
}

/// How many, and how many bytes in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// How many.
    pub count: u64,
    /// Bytes.
    pub bytes: i64,
}

impl Sum {
    fn add(&mut self, bytes: i64) {
        self.count += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn join(&mut self, later: Self) {
        self.count += later.count;
        self.bytes = self.bytes.saturating_add(later.bytes);
    }
}

/// Events that do not fit the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Doubts {
    /// Allocations at an address that was still allocated: a release was not recorded.
    pub address_reused: u64,
    /// Releases of fewer or more bytes than were allocated at that address.
    pub size_differs: u64,
    /// Totals that are not the total before with the event's bytes.
    pub total_differs: u64,
    /// Totals below zero, which are left out.
    pub total_negative: u64,
    /// Events without bytes or without an address, whose memory cannot be followed.
    pub unreadable: u64,
}

/// What of one category was allocated by one operator and alive when most was allocated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PeakRow {
    /// The device.
    pub device: MemoryDevice,
    /// Who allocated it.
    pub holder: Holder,
    /// What it was for, as far as the trace tells.
    pub category: MemoryCategory,
    /// How many allocations and how many bytes; the count is zero where only a sum is known.
    pub held: Sum,
}

/// One instant of one device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineRow {
    /// The device.
    pub device: MemoryDevice,
    /// What it had.
    pub point: Point,
}

/// The memory of `trace`; empty where the reader kept no arguments, or memory was not recorded.
pub fn memory(trace: &Trace, attribution: &Attribution) -> Memory {
    let start_ns = trace.bounds_ns().map_or(0, |(start_ns, _)| start_ns);
    let (mut memory, mut timeline) = (Memory::default(), Vec::new());
    let (mut devices, failed) = (by_device(trace), failed(trace));
    for device in failed.keys() {
        devices.entry(*device).or_default();
    }
    if devices.is_empty() {
        return Memory { timeline: Some(Vec::new()), ..memory };
    }
    let places = Places::of(trace, attribution);
    let mut devices: Vec<Followed> =
        devices.into_iter().map(|(device, events)| followed(&places, start_ns, device, &events)).collect();
    devices.sort_by_key(|one| (std::cmp::Reverse(one.row.peak_allocated), one.row.device));
    for one in devices {
        let failed = failed.get(&one.row.device).copied().unwrap_or(0);
        memory.devices.push(MemoryRow { failed, ..one.row });
        memory.peaks.extend(one.peak);
        timeline.extend(one.timeline);
    }
    memory.timeline = Some(timeline);
    memory
}

/// What there is to say of one device.
struct Followed {
    row: MemoryRow,
    peak: Vec<PeakRow>,
    timeline: Vec<TimelineRow>,
}

fn followed(places: &Places<'_>, start_ns: i64, device: MemoryDevice, events: &[Event]) -> Followed {
    let allocations = Replay::of(places, events);
    let totals = Totals::of(events);
    let since_start = |at_ns: i64| at_ns.saturating_sub(start_ns);
    let mut row = MemoryRow {
        device,
        peak_allocated: totals.peak.map(|peak| peak.bytes),
        peak_at_ns: totals.peak.map_or(0, |peak| since_start(peak.at_ns)),
        peak_reserved: totals.reserved,
        fragmentation_at_peak: totals.peak.filter(|_| totals.reserved.is_some()).and_then(|peak| peak.free),
        fragmentation_worst: totals.worst.filter(|_| totals.reserved.is_some()).map(|worst| worst.bytes),
        fragmentation_worst_at_ns: totals
            .worst
            .filter(|_| totals.reserved.is_some())
            .map_or(0, |worst| since_start(worst.at_ns)),
        before: totals.before,
        after: totals.after,
        allocated: Sum::default(),
        freed: Sum::default(),
        kept: Sum::default(),
        freed_unknown: allocations.freed_unknown,
        failed: 0,
        doubts: Doubts { total_differs: totals.differs, total_negative: totals.negative, ..allocations.doubts },
    };
    for bytes in events.iter().filter_map(|event| event.bytes) {
        match bytes {
            0 => {}
            1.. => row.allocated.add(bytes),
            _ => row.freed.add(bytes.saturating_neg()),
        }
    }
    allocations.all.iter().filter(|one| one.freed_at.is_none()).for_each(|one| row.kept.add(one.bytes));
    let peak = totals.peak.map(|peak| held(device, &allocations.all, peak)).unwrap_or_default();
    let timeline = timeline::points(events, &allocations.all, start_ns);
    Followed { row, peak, timeline: timeline.into_iter().map(|point| TimelineRow { device, point }).collect() }
}

/// A total, and when.
#[derive(Clone, Copy)]
struct Total {
    /// The event after which it was; none before the first.
    event: Option<usize>,
    at_ns: i64,
    bytes: i64,
    /// Reserved beside it.
    free: Option<i64>,
}

/// What the totals of the events say.
#[derive(Default)]
struct Totals {
    before: Option<i64>,
    after: Option<i64>,
    peak: Option<Total>,
    reserved: Option<i64>,
    worst: Option<Total>,
    differs: u64,
    negative: u64,
}

impl Totals {
    fn of(events: &[Event]) -> Self {
        let mut totals = Self::default();
        let mut last: Option<i64> = None;
        for (at, event) in events.iter().enumerate() {
            totals.negative += u64::from(event.allocated.is_some_and(|bytes| bytes < 0));
            let Some(allocated) = event.allocated.filter(|bytes| *bytes >= 0) else {
                last = None;
                continue;
            };
            let before = event.bytes.and_then(|bytes| allocated.checked_sub(bytes));
            totals.differs += u64::from(last.is_some_and(|last| before.is_some_and(|before| before != last)));
            if at == 0
                && let Some(before) = before.filter(|before| *before >= 0)
            {
                totals.before = Some(before);
                totals.peak = Some(Total { event: None, at_ns: event.at_ns, bytes: before, free: None });
            }
            let free = event.reserved.and_then(|reserved| reserved.checked_sub(allocated)).filter(|free| *free >= 0);
            let total = |bytes| Total { event: Some(at), at_ns: event.at_ns, bytes, free };
            if totals.peak.is_none_or(|peak| allocated > peak.bytes) {
                totals.peak = Some(total(allocated));
            }
            if let Some(free) = free
                && totals.worst.is_none_or(|worst| free > worst.bytes)
            {
                totals.worst = Some(total(free));
            }
            let reserved = event.reserved.filter(|reserved| *reserved > 0);
            totals.reserved = totals.reserved.max(reserved);
            totals.after = Some(allocated);
            last = Some(allocated);
        }
        totals
    }
}

/// What held `peak`, which the rows add up to. None where what is known to be alive is more than that: then addresses tell nothing.
fn held(device: MemoryDevice, allocations: &[Allocation], peak: Total) -> Vec<PeakRow> {
    let mut rows: Vec<PeakRow> = Vec::new();
    let mut known = 0_i64;
    let alive = allocations.iter().filter(|one| peak.event.is_some_and(|event| one.is_alive_after(event)));
    for one in alive {
        known = known.saturating_add(one.bytes);
        let at = rows.iter().position(|row| row.holder == one.holder && row.category == one.category).unwrap_or_else(|| {
            rows.push(PeakRow { device, holder: one.holder.clone(), category: one.category, held: Sum::default() });
            rows.len() - 1
        });
        rows[at].held.add(one.bytes);
    }
    if known > peak.bytes {
        return Vec::new();
    }
    let rest = peak.bytes - known;
    if rest > 0 {
        let held = Sum { count: 0, bytes: rest };
        rows.push(PeakRow { device, holder: Holder::BeforeRecording, category: MemoryCategory::Unknown, held });
    }
    sort_held(&mut rows);
    rows
}

fn sort_held(rows: &mut [PeakRow]) {
    rows.sort_by(|a, b| (b.held.bytes, &a.holder, a.category).cmp(&(a.held.bytes, &b.holder, b.category)));
}

impl Memory {
    /// Adds that of a later export of the same rank: peaks are the higher ones, since what was allocated is the same memory.
    pub(crate) fn join(&mut self, later: Self) {
        self.timeline = None;
        let mut peaks = later.peaks;
        for row in later.devices {
            let Some(own) = self.devices.iter_mut().find(|own| own.device == row.device) else {
                self.peaks.extend(peaks.extract_if(.., |held| held.device == row.device));
                self.devices.push(row);
                continue;
            };
            if row.peak_allocated > own.peak_allocated {
                self.peaks.retain(|held| held.device != row.device);
                self.peaks.extend(peaks.extract_if(.., |held| held.device == row.device));
            }
            own.join(row);
        }
        self.devices.sort_by_key(|row| (std::cmp::Reverse(row.peak_allocated), row.device));
    }
}

impl MemoryRow {
    fn join(&mut self, later: Self) {
        if later.peak_allocated > self.peak_allocated {
            (self.peak_allocated, self.peak_at_ns) = (later.peak_allocated, later.peak_at_ns);
            self.fragmentation_at_peak = later.fragmentation_at_peak;
        }
        if later.fragmentation_worst > self.fragmentation_worst {
            self.fragmentation_worst = later.fragmentation_worst;
            self.fragmentation_worst_at_ns = later.fragmentation_worst_at_ns;
        }
        self.peak_reserved = self.peak_reserved.max(later.peak_reserved);
        self.after = later.after;
        self.allocated.join(later.allocated);
        self.freed.join(later.freed);
        self.kept.join(later.kept);
        self.freed_unknown.join(later.freed_unknown);
        self.failed += later.failed;
        let (own, later) = (&mut self.doubts, later.doubts);
        own.address_reused += later.address_reused;
        own.size_differs += later.size_differs;
        own.total_differs += later.total_differs;
        own.total_negative += later.total_negative;
        own.unreadable += later.unreadable;
    }
}

#[cfg(test)]
#[path = "memory/tests.rs"]
mod tests;
