//! Device work, which a recording tells by instants, where Kineto puts it: a device is a process and a stream a thread of it.

use std::io::Write;

use super::events::{Title, arrow};
use super::{Writer, text};
use crate::recording::{Args, Arrow, DeviceWork, Event, FlowStage, MemoryPlace, What, WorkPlace};

impl<W: Write> Writer<'_, '_, W> {
    /// Writes an instant that tells of device work as that work. False where it tells of none.
    pub(super) fn device_work(&mut self, event: &Event, args: Args<'_>) -> bool {
        let Some(key) = self.device_work else { return false };
        let Some(work) = DeviceWork::of(args, |name| self.names.same(name) == key) else { return false };
        let own_place = self.place.clone();
        self.go_to(work.place);
        self.last_ns = self.last_ns.max(work.end_ns);
        let title = Title { category: self.names.category(event.name), name: event.name, number: None };
        self.begin("X", title, work.start_ns);
        let to = &mut self.output.buffer;
        to.extend_from_slice(b", \"dur\": ");
        text::micros(to, work.end_ns.saturating_sub(work.start_ns));
        self.args(args, |to| place_args(to, &work));
        self.close();
        self.launch(&work);
        self.place = own_place;
        true
    }

    /// Writes an event of memory: of a device's, on the thread that asked for it. Where nobody knows that, on the process's row of zero.
    pub(super) fn memory_in_place(&mut self, what: &What, ns: i64, args: Args<'_>) {
        let place = self.memory_place.and_then(|key| MemoryPlace::of(args, |name| self.names.same(name) == key));
        let Some(MemoryPlace { at_ns, thread }) = place else { return self.memory(what, ns, args) };
        let own_place = self.place.clone();
        self.stand_on(thread.unwrap_or(0));
        self.memory(what, at_ns, args);
        self.place = own_place;
    }

    /// Makes the work's row the place of the events to come; a stream is named the first time.
    fn go_to(&mut self, place: WorkPlace) {
        match place {
            WorkPlace::Thread { tid } => self.stand_on(tid),
            WorkPlace::Stream { device, stream } => {
                self.name_stream(device, stream);
                self.stand_in(device, stream);
            }
        }
    }

    /// Names a stream, and the first one's device, when they first appear.
    fn name_stream(&mut self, device: u32, stream: u64) {
        let is_first = self.streams.range((device, 0)..=(device, u64::MAX)).next().is_none();
        if !self.streams.insert((device, stream)) {
            return;
        }
        let (mut pid, mut tid) = (Vec::new(), Vec::new());
        text::unsigned(&mut pid, device.into());
        text::unsigned(&mut tid, stream);
        if is_first {
            self.naming("process_name", &pid, b"0", "name", format!("\"GPU {device}\"").as_bytes());
        }
        self.naming("thread_name", &pid, &tid, "name", format!("\"stream {stream}\"").as_bytes());
    }

    /// An end of the arrow from a call to its work.
    fn launch(&mut self, work: &DeviceWork) {
        let stage = match work.arrow {
            Arrow::Starts => FlowStage::Start,
            Arrow::Ends => FlowStage::End,
            Arrow::None => return,
        };
        let Self { output, place, base_ns, .. } = self;
        arrow(&mut output.buffer, b"\"ac2g\"", work.correlation, stage, place, work.start_ns.saturating_sub(*base_ns));
    }
}

fn place_args(to: &mut Vec<u8>, work: &DeviceWork) {
    let mut put = |key: &[u8], number: u64| {
        to.extend_from_slice(key);
        text::unsigned(to, number);
        to.extend_from_slice(b", ");
    };
    if let WorkPlace::Stream { device, stream } = work.place {
        put(b"\"device\": ", device.into());
        put(b"\"stream\": ", stream);
    }
    if work.correlation != 0 {
        put(b"\"correlation\": ", work.correlation);
    }
}
