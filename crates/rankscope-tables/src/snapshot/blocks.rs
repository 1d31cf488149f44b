//! Segments, which the allocator has from the driver, and the blocks it cut them into.

use rankscope_pickle::Value;
use rustc_hash::FxHashMap;

use super::stacks::{StackHeld, StackId, Stacks};
use super::{SnapshotError, Steps, number, text};

/// What one device has. All in bytes but the counts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SnapshotDevice {
    /// Its number.
    pub device: i64,
    /// Segments.
    pub segments: u64,
    /// Blocks.
    pub blocks: u64,
    /// What the segments have.
    pub reserved: i64,
    /// In blocks that are allocated.
    pub allocated: i64,
    /// What was asked for of those.
    pub requested: i64,
    /// In blocks that were released and that a stream may still use.
    pub pending: i64,
    /// In blocks that nobody uses.
    pub inactive: i64,
    /// The largest of those: the largest allocation that needs nothing from the driver.
    pub largest_inactive: i64,
    /// In segments that nobody uses at all: what `empty_cache` gives back.
    pub releasable: i64,
}

/// One segment. All in bytes but the counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotSegment {
    /// Its device.
    pub device: i64,
    /// Where it is.
    pub address: u64,
    /// The stream it is for.
    pub stream: i64,
    /// `small` or `large`.
    pub kind: String,
    /// What it has.
    pub total: i64,
    /// In blocks that are allocated.
    pub allocated: i64,
    /// In blocks that nobody uses.
    pub inactive: i64,
    /// The largest of those.
    pub largest_inactive: i64,
    /// Blocks.
    pub blocks: u64,
}

/// All segments, summed up.
#[derive(Default)]
pub(super) struct Blocks {
    pub(super) devices: Vec<SnapshotDevice>,
    pub(super) segments: Vec<SnapshotSegment>,
    live: FxHashMap<i64, FxHashMap<Option<StackId>, (u64, i64)>>,
}

impl Blocks {
    pub(super) fn of(segments: Value<'_>, stacks: &mut Stacks, steps: &mut Steps) -> Result<Self, SnapshotError> {
        let mut blocks = Self::default();
        for (at, segment) in segments.items().enumerate() {
            blocks.add(at, segment, stacks, steps)?;
        }
        blocks.devices.sort_by_key(|device| device.device);
        Ok(blocks)
    }

    fn add(&mut self, at: usize, segment: Value<'_>, stacks: &mut Stacks, steps: &mut Steps) -> Result<(), SnapshotError> {
        const WHAT: &str = "segment";
        steps.take()?;
        let device = number(segment, "device", WHAT, at)?;
        let mut own = SnapshotSegment {
            device,
            address: segment.get("address").and_then(Value::as_u64).ok_or(SnapshotError::Damaged { what: WHAT, at })?,
            stream: number(segment, "stream", WHAT, at)?,
            kind: text(segment, "segment_type", WHAT, at)?.to_owned(),
            total: size(segment, "total_size", WHAT, at)?,
            allocated: 0,
            inactive: 0,
            largest_inactive: 0,
            blocks: 0,
        };
        let (mut requested, mut pending) = (0_i64, 0_i64);
        for (at, block) in segment.get("blocks").into_iter().flat_map(Value::items).enumerate() {
            steps.take()?;
            own.blocks += 1;
            let bytes = size(block, "size", "block", at)?;
            match text(block, "state", "block", at)? {
                "active_allocated" => {
                    own.allocated = own.allocated.saturating_add(bytes);
                    // Older releases do not say it.
                    let asked = block.get("requested_size").and_then(Value::as_i64).filter(|asked| (0..=bytes).contains(asked));
                    requested = requested.saturating_add(asked.unwrap_or(bytes));
                    let sums = self.live.entry(device).or_default();
                    let sum = sums.entry(stacks.of(block, steps)?).or_default();
                    *sum = (sum.0 + 1, sum.1.saturating_add(bytes));
                }
                "inactive" => {
                    own.inactive = own.inactive.saturating_add(bytes);
                    own.largest_inactive = own.largest_inactive.max(bytes);
                }
                _ => pending = pending.saturating_add(bytes),
            }
        }
        let place = self.devices.iter().position(|known| known.device == device).unwrap_or_else(|| {
            self.devices.push(SnapshotDevice { device, ..SnapshotDevice::default() });
            self.devices.len() - 1
        });
        let whole = &mut self.devices[place];
        whole.segments += 1;
        whole.blocks += own.blocks;
        let sums = [
            (&mut whole.reserved, own.total),
            (&mut whole.allocated, own.allocated),
            (&mut whole.requested, requested),
            (&mut whole.pending, pending),
            (&mut whole.inactive, own.inactive),
            (&mut whole.releasable, if own.allocated == 0 && pending == 0 { own.total } else { 0 }),
        ];
        sums.into_iter().for_each(|(sum, more)| *sum = sum.saturating_add(more));
        whole.largest_inactive = whole.largest_inactive.max(own.largest_inactive);
        self.segments.push(own);
        Ok(())
    }

    pub(super) fn live(&self, stacks: &Stacks) -> Vec<StackHeld> {
        self.devices.iter().filter_map(|own| Some(stacks.rows(own.device, self.live.get(&own.device)?))).flatten().collect()
    }
}

/// A size, which is not below zero.
fn size(value: Value<'_>, key: &str, what: &'static str, at: usize) -> Result<i64, SnapshotError> {
    number(value, key, what, at).and_then(|bytes| if bytes < 0 { Err(SnapshotError::Damaged { what, at }) } else { Ok(bytes) })
}
