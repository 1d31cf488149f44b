//! The recorded allocations and releases of one device: how much was allocated when, at the most, and by whom.

use rankscope_pickle::Value;
use rustc_hash::FxHashMap;

use super::stacks::{StackHeld, StackId, Stacks, sort};
use super::{FailedAllocation, SnapshotDevice, SnapshotError, Steps, number, text};

/// The highest point of one device within the recorded events, in requested bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct SnapshotPeak {
    /// The device.
    pub device: i64,
    /// Events recorded.
    pub events: u64,
    /// What was allocated before the first of them.
    pub start: i64,
    /// The most that was allocated.
    pub most: i64,
    /// What is allocated after the last.
    pub end: i64,
    /// How long after the first event the peak was reached, in nanoseconds; none where the events have no times.
    pub after_ns: Option<i64>,
    /// What held it, the most first; the rows add up to `most`.
    pub held: Vec<StackHeld>,
    /// Releases of what was allocated before the first event.
    pub freed_unknown: u64,
}

/// What the events of one device tell.
pub(super) struct Course {
    pub(super) failed: Vec<FailedAllocation>,
    pub(super) peak: Option<SnapshotPeak>,
}

/// An allocation or a release, in order.
struct Change {
    address: u64,
    /// Below zero for a release.
    bytes: i64,
    time_us: Option<i64>,
    stack: Option<StackId>,
}

impl Course {
    pub(super) fn of(
        device: i64,
        events: Value<'_>,
        own: Option<&SnapshotDevice>,
        stacks: &mut Stacks,
        steps: &mut Steps,
    ) -> Result<Self, SnapshotError> {
        let (mut changes, mut failed) = (Vec::new(), Vec::new());
        for (at, event) in events.items().enumerate() {
            const WHAT: &str = "event";
            steps.take()?;
            let action = text(event, "action", WHAT, at)?;
            let bytes = || number(event, "size", WHAT, at);
            let change = |bytes: i64, stack| -> Result<Change, SnapshotError> {
                let address = event.get("addr").and_then(Value::as_u64).ok_or(SnapshotError::Damaged { what: WHAT, at })?;
                Ok(Change { address, bytes, time_us: event.get("time_us").and_then(Value::as_i64), stack })
            };
            match action {
                "alloc" => changes.push(change(bytes()?.max(0), stacks.of(event, steps)?)?),
                // It is the allocator's again when no stream uses it any more, but nobody's from here on.
                "free_requested" => changes.push(change(bytes()?.max(0).saturating_neg(), None)?),
                "oom" => {
                    let device_free = event.get("device_free").and_then(Value::as_i64);
                    failed.push(FailedAllocation { device, requested: bytes()?, device_free });
                }
                _ => {}
            }
        }
        let end = own.map_or(0, |own| own.requested);
        Ok(Self { failed, peak: peak(device, events.items().len() as u64, &changes, end, stacks) })
    }
}

fn peak(device: i64, events: u64, changes: &[Change], end: i64, stacks: &Stacks) -> Option<SnapshotPeak> {
    let first = changes.first()?;
    let sum = changes.iter().fold(0_i64, |sum, change| sum.saturating_add(change.bytes));
    let start = end.checked_sub(sum).filter(|start| *start >= 0)?;
    let (mut level, mut most, mut most_at) = (start, start, None);
    for (at, change) in changes.iter().enumerate() {
        level = level.saturating_add(change.bytes);
        if level > most {
            (most, most_at) = (level, Some(at));
        }
    }
    let mut alive: FxHashMap<u64, (i64, Option<StackId>)> = FxHashMap::default();
    let mut freed_unknown = 0;
    let upto = most_at.map_or(0, |at| at + 1);
    for (at, change) in changes.iter().enumerate() {
        if at == upto {
            break;
        }
        if change.bytes > 0 {
            alive.insert(change.address, (change.bytes, change.stack));
        } else if alive.remove(&change.address).is_none() {
            freed_unknown += 1;
        }
    }
    let mut sums: FxHashMap<Option<StackId>, (u64, i64)> = FxHashMap::default();
    for (bytes, stack) in alive.values() {
        let sum = sums.entry(*stack).or_default();
        *sum = (sum.0 + 1, sum.1.saturating_add(*bytes));
    }
    let known = sums.values().fold(0_i64, |sum, (_, bytes)| sum.saturating_add(*bytes));
    let rest = most.checked_sub(known).filter(|rest| *rest >= 0)?;
    let mut held = stacks.rows(device, &sums);
    if rest > 0 {
        held.push(StackHeld { device, frame: None, stack: None, before_recording: true, count: None, bytes: rest });
        sort(&mut held);
    }
    let reached = most_at.map_or(first.time_us, |at| changes[at].time_us);
    let after_ns = first.time_us.zip(reached).and_then(|(first, reached)| reached.checked_sub(first)?.checked_mul(1_000));
    Some(SnapshotPeak { device, events, start, most, end, after_ns, held, freed_unknown })
}
