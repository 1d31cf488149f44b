//! What single records say.

use super::super::event::{CounterValue, Event, FlowStage, What};
use super::super::records::Record;
use super::super::word::Kind;

/// The correlation id of a span that begins.
pub(super) fn id_of(event: &Event) -> u64 {
    match event.what {
        What::Begin { id, .. } => id,
        _ => UNKNOWN,
    }
}

/// No span has this correlation id.
pub(super) const UNKNOWN: u64 = 0;

/// What a record with ticks says. Every begin of a span takes the next correlation id of its thread.
#[inline]
pub(super) fn what(record: &Record<'_>, next_id: &mut u64) -> What {
    let word = |at: usize| record.payload.get(at).copied().unwrap_or_default();
    let mut begin = |number| {
        let id = *next_id;
        *next_id = next_id.wrapping_add(1);
        What::Begin { id, number }
    };
    match record.kind {
        Kind::Begin => begin(None),
        Kind::BeginNumbered => begin(Some(word(0) as i64)),
        Kind::End => What::End { unfinished: false, above: 0 },
        Kind::CounterI64 => What::Counter(CounterValue::I64(word(0) as i64)),
        Kind::CounterF64 => What::Counter(CounterValue::F64(f64::from_bits(word(0)))),
        Kind::FlowStart => What::Flow { id: word(0), stage: FlowStage::Start },
        Kind::FlowStep => What::Flow { id: word(0), stage: FlowStage::Step },
        Kind::FlowEnd => What::Flow { id: word(0), stage: FlowStage::End },
        Kind::AsyncBegin => What::AsyncBegin { id: word(0) },
        Kind::AsyncEnd => What::AsyncEnd { id: word(0) },
        Kind::Memory | Kind::OutOfMemory => {
            let device = record.head.name().0;
            What::Memory {
                address: word(0),
                bytes: word(1) as i64,
                device_type: (device >> DEVICE_INDEX_BITS) as u8,
                device_index: (device & ((1 << DEVICE_INDEX_BITS) - 1)) as i16 - 1,
                out_of_memory: record.kind == Kind::OutOfMemory,
            }
        }
        // No other kind has ticks.
        _ => What::Instant,
    }
}

/// The category of memory events, `cpu_instant_event`.
pub(super) const MEMORY_CATEGORY: u8 = 9;

/// Bits of a memory record's name field that hold the index of the device, one up.
pub(crate) const DEVICE_INDEX_BITS: u32 = 12;
