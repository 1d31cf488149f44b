//! `TracePacket`: its fields, as far as a trace is made of them.

use crate::perfetto::schema::packet;
use crate::wire::{Fields, Malformed};

/// A packet's fields.
#[derive(Default)]
pub(super) struct Packet<'a> {
    pub(super) timestamp: Option<u64>,
    pub(super) clock: Option<u64>,
    pub(super) sequence: u32,
    pub(super) flags: u64,
    pub(super) dropped: bool,
    pub(super) defaults: Option<&'a [u8]>,
    pub(super) interned: Option<&'a [u8]>,
    pub(super) snapshot: Option<&'a [u8]>,
    pub(super) descriptor: Option<&'a [u8]>,
    pub(super) thread: Option<&'a [u8]>,
    pub(super) event: Option<&'a [u8]>,
    pub(super) stage: Option<&'a [u8]>,
    pub(super) gpu_counters: Option<&'a [u8]>,
    pub(super) stats: Option<&'a [u8]>,
    pub(super) deflated: Option<&'a [u8]>,
    pub(super) zstd: Option<&'a [u8]>,
}

impl<'a> Packet<'a> {
    /// Takes a packet apart.
    pub(super) fn parse(message: &'a [u8]) -> Result<Self, Malformed> {
        let mut of = Self::default();
        for field in Fields::of(message) {
            let (number, value) = field?;
            match number {
                packet::TIMESTAMP => of.timestamp = Some(value.u64()),
                packet::TIMESTAMP_CLOCK_ID => of.clock = Some(value.u64()),
                packet::SEQUENCE_ID => of.sequence = value.u64() as u32,
                packet::SEQUENCE_FLAGS => of.flags |= value.u64(),
                packet::OLD_STATE_CLEARED if value.u64() != 0 => of.flags |= packet::STATE_CLEARED,
                packet::PREVIOUS_DROPPED => of.dropped = value.u64() != 0,
                packet::DEFAULTS => of.defaults = Some(value.bytes()),
                packet::INTERNED_DATA => of.interned = Some(value.bytes()),
                packet::CLOCK_SNAPSHOT => of.snapshot = Some(value.bytes()),
                packet::TRACK_DESCRIPTOR => of.descriptor = Some(value.bytes()),
                packet::THREAD_DESCRIPTOR => of.thread = Some(value.bytes()),
                packet::TRACK_EVENT => of.event = Some(value.bytes()),
                packet::GPU_RENDER_STAGE_EVENT => of.stage = Some(value.bytes()),
                packet::GPU_COUNTER_EVENT => of.gpu_counters = Some(value.bytes()),
                packet::TRACE_STATS => of.stats = Some(value.bytes()),
                packet::COMPRESSED => of.deflated = Some(value.bytes()),
                packet::ZSTD_COMPRESSED => of.zstd = Some(value.bytes()),
                _ => {}
            }
        }
        Ok(of)
    }
}
