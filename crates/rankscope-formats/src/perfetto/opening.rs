//! What every packet sequence of ours begins with, and what ties the file's clock to real time.

use super::schema::{self, clock, event, packet, snapshot};
use crate::wire::Encoder;

/// The sequence of packets that belong to no row.
pub(crate) const HEADER_SEQUENCE: u32 = 1;

/// Opens sequence `id`, of events on track `uuid`. Its clock counts nanoseconds since the packet before; the first packet
/// counts from the epoch. All sequences state the same snapshot, zero, because the engine wants the trace's own clock never to
/// step back.
pub(crate) fn open_sequence(encoder: &mut Encoder, id: u32, uuid: u64) {
    encoder.message(schema::PACKET, |body| {
        body.varint(packet::SEQUENCE_ID, id.into()).varint(packet::SEQUENCE_FLAGS, packet::STATE_CLEARED);
        body.message(packet::CLOCK_SNAPSHOT, |readings| {
            readings.message(snapshot::CLOCKS, |reading| {
                reading.varint(clock::ID, clock::FIRST_OF_SEQUENCE).varint(clock::TIMESTAMP, 0);
                reading.varint(clock::IS_INCREMENTAL, 1);
            });
            readings.message(snapshot::CLOCKS, |reading| {
                reading.varint(clock::ID, clock::BOOTTIME).varint(clock::TIMESTAMP, 0);
            });
        });
        body.message(packet::DEFAULTS, |defaults| {
            defaults.varint(packet::TIMESTAMP_CLOCK_ID, clock::FIRST_OF_SEQUENCE);
            defaults.message(packet::TRACK_EVENT, |of_events| {
                of_events.varint(event::TRACK_UUID, uuid);
            });
        });
    });
}

/// States that boot time, the trace's own clock, is real time in this file. Comes last, behind the zeros of the sequences.
pub(crate) fn tie_to_real_time(encoder: &mut Encoder, unix_ns: u64) {
    encoder.message(schema::PACKET, |body| {
        body.varint(packet::SEQUENCE_ID, HEADER_SEQUENCE.into());
        body.message(packet::CLOCK_SNAPSHOT, |readings| {
            for id in [clock::REALTIME, clock::BOOTTIME] {
                readings.message(snapshot::CLOCKS, |reading| {
                    reading.varint(clock::ID, id).varint(clock::TIMESTAMP, unix_ns);
                });
            }
        });
    });
}
