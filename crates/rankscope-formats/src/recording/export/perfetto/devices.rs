//! Device work, which a recording tells by instants: slices on a track for each stream, under one for its device.

use std::io::Write;

use super::PROCESS_UUID;
use super::sequence::{Sequence, hash, uuid_of_async};
use crate::perfetto::schema::{counter, event as field, track};
use crate::perfetto::{memory_counter, note};
use crate::recording::{ArgView, Args, Arrow, DeviceWork, Event, MemoryPlace, What, WorkPlace};

impl<W: Write> Sequence<'_, '_, W> {
    /// Makes an instant that tells of device work that work: its begin is written, and its end is the event at hand. False where
    /// it tells of none.
    pub(super) fn device_work(&mut self, event: &Event, args: Args<'_>) -> bool {
        let Some(key) = self.device_work else { return false };
        let Some(work) = DeviceWork::of(args, |name| self.dictionary.names.same(name) == key) else { return false };
        let track = self.row(work.place);
        self.named(field::SLICE_BEGIN, event.name);
        self.event.varint(field::TRACK_UUID, track);
        self.args(args);
        self.place_args(&work);
        let arrow = uuid_of_async(work.correlation ^ LAUNCH);
        match work.arrow {
            Arrow::Starts => drop(self.event.fixed64(field::FLOW_IDS, arrow)),
            Arrow::Ends => drop(self.event.fixed64(field::TERMINATING_FLOW_IDS, arrow)),
            Arrow::None => {}
        }
        self.since_ns = Some(work.start_ns.max(0));
        self.packet();
        self.event.varint(field::TYPE, field::SLICE_END).varint(field::TRACK_UUID, track);
        self.since_ns = Some(work.end_ns.max(0));
        true
    }

    /// Puts an event of memory that is of a device on the thread that asked for it, and what is in use afterwards on the counters of its owner.
    /// Everything but the last of it is written, which is the event at hand.
    pub(super) fn device_memory(&mut self, what: &What, args: Args<'_>) {
        let What::Memory { device_type, device_index, .. } = *what else { return };
        let place = self.memory_place.and_then(|key| MemoryPlace::of(args, |name| self.dictionary.names.same(name) == key));
        let Some(MemoryPlace { at_ns, thread }) = place else { return };
        if let Some(tid) = thread {
            let row = self.row(WorkPlace::Thread { tid });
            self.event.varint(field::TRACK_UUID, row);
        }
        self.since_ns = Some(at_ns.max(0));
        let (kind, id) = (device_type.into(), device_index.into());
        for (key, what) in [("Total Allocated", "allocated"), ("Total Reserved", "reserved")] {
            let total = args.iter().find_map(|(name, value)| match value {
                ArgView::I64(total) if self.dictionary.names.text(name) == key => Some(total),
                _ => None,
            });
            let Some(total) = total else { continue };
            self.packet();
            let track = self.memory_counter(kind, id, what);
            self.event.varint(field::TYPE, field::COUNTER).varint(field::TRACK_UUID, track);
            self.event.varint(field::COUNTER_VALUE, total.cast_unsigned());
            self.since_ns = Some(at_ns.max(0));
        }
    }

    /// The track of a counter of memory, which is described the first time.
    fn memory_counter(&mut self, kind: i64, id: i64, what: &'static str) -> u64 {
        let name = memory_counter(kind, id, what);
        let uuid = uuid_of_async(hash(MEMORY, &name));
        if self.devices.insert(uuid) {
            self.describe(uuid, PROCESS_UUID, &name, |descriptor| {
                descriptor.message(track::COUNTER, |body| {
                    body.varint(counter::UNIT, counter::BYTES);
                });
                descriptor.string(track::DESCRIPTION, &note::derived());
            });
        }
        uuid
    }

    fn place_args(&mut self, work: &DeviceWork) {
        let mut put = |key: &'static str, number: u64| {
            let number = i64::try_from(number).map_or(ArgView::U64(number), ArgView::I64);
            self.dictionary.own_argument(&mut self.event, key, &number);
        };
        if let WorkPlace::Stream { device, stream } = work.place {
            put("device", device.into());
            put("stream", stream);
        }
        if work.correlation != 0 {
            put("correlation", work.correlation);
        }
    }

    /// The track of a row, which is described the first time.
    fn row(&mut self, place: WorkPlace) -> u64 {
        match place {
            WorkPlace::Thread { tid } => {
                let uuid = uuid_of_async(tid ^ CALLS);
                if self.devices.insert(uuid) {
                    self.describe(uuid, PROCESS_UUID, &format!("calls of thread {tid}"), |_| {});
                }
                uuid
            }
            WorkPlace::Stream { device, stream } => {
                let above = uuid_of_async(u64::from(device) ^ DEVICES);
                if self.devices.insert(above) {
                    self.describe(above, PROCESS_UUID, &format!("GPU {device}"), |descriptor| {
                        descriptor.string(track::DESCRIPTION, &note::device(device));
                    });
                }
                let uuid = uuid_of_async(above ^ stream.rotate_left(20));
                if self.devices.insert(uuid) {
                    let name = format!("stream {stream}");
                    self.describe(uuid, above, &name, |descriptor| {
                        descriptor.string(track::DESCRIPTION, &note::stream(stream, &name));
                    });
                }
                uuid
            }
        }
    }
}

// So that rows and arrows have other numbers than asynchronous spans.
const LAUNCH: u64 = 0x6c61_756e_6368 << 16;
const CALLS: u64 = 0x6361_6c6c_7300 << 16;
const DEVICES: u64 = 0x6465_7669_6365 << 16;
const MEMORY: u64 = 0x6d65_6d6f_7279 << 16;
