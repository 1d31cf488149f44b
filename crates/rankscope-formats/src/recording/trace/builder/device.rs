//! Device work, which a recording tells by instants: spans on the streams of devices, calls on the threads that made them, as changes of
//! devices' memory are.

use rankscope_trace::{ArgValue, CategoryKind, FlowPhase, FlowPoint, TrackId, TrackKey, TrackKind};

use super::super::super::{Args, Arrow, DEVICE_WORK, DeviceWork, Event, MEMORY_PLACE, MemoryPlace, WorkPlace};
use super::Builder;
use super::arguments::put;
use crate::{ArgsPolicy, Scope};

impl Builder<'_> {
    /// Files an instant that tells of device work as that work. False where it tells of none.
    pub(super) fn device_work(&mut self, event: &Event, args: Args<'_>) -> bool {
        let Some(work) = DeviceWork::of(args, |key| self.text(key) == DEVICE_WORK) else { return false };
        let name = self.look_up(event.name);
        if !name.kept {
            return true;
        }
        self.args.clear();
        if self.wants_args(name) {
            let key = self.trace.strings.intern(DEVICE_WORK);
            self.take_args_except(&[key], args);
            self.place_args(&work);
        }
        let track = self.place(work.place);
        self.span(work.start_ns, work.end_ns, name.text, track, name, 0);
        self.arrow(&work, track);
        true
    }

    /// The arguments of an event of memory; of a device's memory, when and where it was asked for as well.
    pub(super) fn take_memory_args(&mut self, args: Args<'_>) -> Option<(i64, TrackId)> {
        let place = MemoryPlace::of(args, |key| self.text(key) == MEMORY_PLACE);
        let Some(MemoryPlace { at_ns, thread }) = place else {
            self.take_args(args);
            return None;
        };
        let key = self.trace.strings.intern(MEMORY_PLACE);
        self.take_args_except(&[key], args);
        // What nobody knows the thread of is the process's.
        Some((at_ns, thread.map_or(self.process, |tid| self.place(WorkPlace::Thread { tid }))))
    }

    /// Where it ran, as arguments that those who read traces of PyTorch look for.
    fn place_args(&mut self, work: &DeviceWork) {
        let number = |number: u64| i64::try_from(number).map_or(ArgValue::U64(number), ArgValue::I64);
        if let WorkPlace::Stream { device, stream } = work.place {
            for (key, value) in [("device", number(device.into())), ("stream", number(stream))] {
                put(&mut self.args, self.trace.strings.intern(key), value);
            }
        }
        if work.correlation != 0 {
            put(&mut self.args, self.trace.strings.intern("correlation"), number(work.correlation));
        }
    }

    fn place(&mut self, place: WorkPlace) -> TrackId {
        let key = |number: u64| TrackKey::Number(i64::try_from(number).unwrap_or(i64::MAX));
        let tracks = &mut self.trace.tracks;
        match place {
            WorkPlace::Thread { tid } => tracks.find_or_add(TrackKind::Thread, Some(self.process), key(tid)),
            WorkPlace::Stream { device, stream } => {
                let device = tracks.find_or_add(TrackKind::Device, None, key(device.into()));
                tracks.find(TrackKind::Stream, Some(device), key(stream)).unwrap_or_else(|| {
                    let track = tracks.find_or_add(TrackKind::Stream, Some(device), key(stream));
                    tracks.get_mut(track).name = self.trace.strings.intern(&format!("stream {stream}"));
                    track
                })
            }
        }
    }

    fn arrow(&mut self, work: &DeviceWork, track: TrackId) {
        let phase = match work.arrow {
            Arrow::Starts => FlowPhase::Start,
            Arrow::Ends => FlowPhase::End,
            Arrow::None => return,
        };
        if self.options.scope != Scope::All || self.options.args != ArgsPolicy::All {
            return;
        }
        let category = self.trace.category(LAUNCH, CategoryKind::of_kineto(LAUNCH));
        let name = self.trace.strings.intern(LAUNCH);
        self.trace.flows.push(FlowPoint { id: work.correlation, category, name, phase, track, time_ns: work.start_ns });
    }
}

/// What Kineto calls arrows from calls to their work.
const LAUNCH: &str = "ac2g";
