//! The `[memory]` events of a trace, by device and in order of time.

use std::collections::BTreeMap;
use std::fmt;

use rankscope_trace::{ArgValue, StrId, Trace, TrackId};
use serde::{Deserialize, Serialize};

/// A device as torch numbers them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MemoryDevice {
    /// Its type: torch's number for it.
    kind: i64,
    /// Which one of its type; below zero where there is but one.
    index: i64,
}

/// Torch's names of the types, by number.
const KINDS: [&str; 21] = [
    "cpu",
    "cuda",
    "mkldnn",
    "opengl",
    "opencl",
    "ideep",
    "hip",
    "fpga",
    "maia",
    "xla",
    "vulkan",
    "metal",
    "xpu",
    "mps",
    "meta",
    "hpu",
    "ve",
    "lazy",
    "ipu",
    "mtia",
    "privateuseone",
];

/// As torch writes it: `cuda:0`, `cpu`.
impl fmt::Display for MemoryDevice {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match usize::try_from(self.kind).ok().and_then(|kind| KINDS.get(kind)) {
            Some(kind) => to.write_str(kind)?,
            None => write!(to, "type {}", self.kind)?,
        }
        if self.index >= 0 { write!(to, ":{}", self.index) } else { Ok(()) }
    }
}

impl MemoryDevice {
    /// The one with these numbers.
    pub fn new(kind: i64, index: i64) -> Self {
        // Of the host there is but one, whatever older releases number it.
        Self { kind, index: if kind == 0 { -1 } else { index.max(-1) } }
    }
}

/// An allocation or a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Event {
    pub(super) at_ns: i64,
    /// The thread.
    pub(super) track: TrackId,
    /// Above zero for an allocation, below for a release; none where it is not said.
    pub(super) bytes: Option<i64>,
    pub(super) address: Option<u64>,
    /// The device's totals after it.
    pub(super) allocated: Option<i64>,
    pub(super) reserved: Option<i64>,
}

/// How many allocations failed, by device: the profiler leaves an event of another name for each.
pub(super) fn failed(trace: &Trace) -> BTreeMap<MemoryDevice, u64> {
    let mut failed = BTreeMap::new();
    let Some(name) = trace.strings.find("[OutOfMemory]") else { return failed };
    let [kind, index] = ["Device Type", "Device Id"].map(|key| trace.strings.find(key));
    for (at, _) in trace.instants.iter().enumerate().filter(|(_, mark)| mark.name == name) {
        let number = |key: Option<StrId>| signed(trace.instant_args.value(at, key?)?);
        if let Some(kind) = number(kind) {
            *failed.entry(MemoryDevice::new(kind, number(index).unwrap_or(-1))).or_default() += 1;
        }
    }
    failed
}

/// The events of each device, in order of time; those of one instant in the order of the file. What a device's library told has a kind of memory,
/// and is of the driver's memory, out of which an allocator has its own: where both are told of a device, the allocator's are taken.
pub(super) fn by_device(trace: &Trace) -> BTreeMap<MemoryDevice, Vec<Event>> {
    let mut devices: BTreeMap<MemoryDevice, Vec<Event>> = BTreeMap::new();
    let Some(name) = trace.strings.find("[memory]") else { return devices };
    let key = |key: &str| trace.strings.find(key);
    let [kind, index, bytes, address] = ["Device Type", "Device Id", "Bytes", "Addr"].map(key);
    let [allocated, reserved, driver] = ["Total Allocated", "Total Reserved", "Memory Kind"].map(key);
    let mut of_drivers: BTreeMap<MemoryDevice, Vec<Event>> = BTreeMap::new();
    for (at, mark) in trace.instants.iter().enumerate().filter(|(_, mark)| mark.name == name) {
        let number = |key: Option<StrId>| signed(trace.instant_args.value(at, key?)?);
        // An event that names no device says nothing of any.
        let Some(kind) = number(kind) else { continue };
        let event = Event {
            at_ns: mark.time_ns,
            track: mark.track,
            bytes: number(bytes),
            address: address.and_then(|key| unsigned(trace.instant_args.value(at, key)?)),
            allocated: number(allocated),
            reserved: number(reserved),
        };
        let is_drivers = driver.is_some_and(|key| trace.instant_args.value(at, key).is_some());
        let to = if is_drivers { &mut of_drivers } else { &mut devices };
        to.entry(MemoryDevice::new(kind, number(index).unwrap_or(-1))).or_default().push(event);
    }
    for (device, events) in of_drivers {
        devices.entry(device).or_insert(events);
    }
    devices.values_mut().for_each(|events| events.sort_by_key(|event| event.at_ns));
    devices
}

fn signed(value: ArgValue) -> Option<i64> {
    match value {
        ArgValue::I64(value) => Some(value),
        ArgValue::U64(value) => i64::try_from(value).ok(),
        _ => None,
    }
}

/// An address, which some releases write as a signed number.
fn unsigned(value: ArgValue) -> Option<u64> {
    match value {
        ArgValue::I64(value) => Some(value.cast_unsigned()),
        ArgValue::U64(value) => Some(value),
        _ => None,
    }
}
