//! The memory profile: a history of allocations, apart from the op profiler (recorder specification, section 1.4.8).
//!
//! It is a session of its own that takes memory events only, so it runs beside whatever else records. The history is JSON:
//! `{"version":1,"from_ns","to_ns","events":[{"ts_ns","tid","action","addr","bytes","device_type","device_index",
//! "total_allocated","total_reserved"}]}`, in order of time, `action` being `alloc`, `free` or `oom`, `bytes` never negative,
//! and totals there if the allocator told them.

use std::io;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rankscope_recording::{ArgView, Args, What};
use serde::Serialize;
use serde::ser::Serializer;

use super::KinetoError;
use crate::export::write_whole;
use crate::recorded::Recorded;
use crate::session::{Session, SessionOptions};
use rankscope_recording::Category;

enum Profile {
    None,
    Running(Session),
    Stopped(Recorded),
}

static PROFILE: Mutex<Profile> = Mutex::new(Profile::None);

fn lock() -> MutexGuard<'static, Profile> {
    PROFILE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the memory profile; what an earlier one left is forgotten.
///
/// # Errors
/// [`KinetoError::MemoryProfileRunning`], or what starting a session says.
pub fn start_memory_profile() -> Result<(), KinetoError> {
    let mut profile = lock();
    if matches!(*profile, Profile::Running(_)) {
        return Err(KinetoError::MemoryProfileRunning);
    }
    let categories = Category::CPU_INSTANT_EVENT.alone();
    *profile = Profile::Running(Session::start(SessionOptions { categories, ..SessionOptions::default() })?);
    Ok(())
}

/// Stops the memory profile; its history is kept until the next one starts.
///
/// # Errors
/// [`KinetoError::NoMemoryProfile`] if none runs, or what stopping the session says.
pub fn stop_memory_profile() -> Result<(), KinetoError> {
    let mut profile = lock();
    let Profile::Running(session) = &*profile else {
        return Err(KinetoError::NoMemoryProfile { call: "stop the memory profile" });
    };
    let session = session.clone();
    *profile = Profile::None;
    *profile = Profile::Stopped(session.stop()?.recorded);
    Ok(())
}

/// Writes the history to a file, which appears whole or not at all; while the profile runs, its history so far.
///
/// # Errors
/// [`KinetoError::NoMemoryProfile`] if none was started, or what reading and writing say.
pub fn export_memory_profile(path: &Path) -> Result<(), KinetoError> {
    let recorded = match &*lock() {
        Profile::None => return Err(KinetoError::NoMemoryProfile { call: "export the memory profile" }),
        Profile::Running(session) => session.snapshot()?,
        Profile::Stopped(recorded) => recorded.clone(),
    };
    let history = History::read(&recorded)?;
    Ok(write_whole(path, |output| Ok(serde_json::to_writer(output, &history).map_err(io::Error::from)?))?)
}

#[derive(Serialize)]
struct History {
    version: u32,
    from_ns: i64,
    to_ns: i64,
    events: Vec<Allocation>,
}

#[derive(Serialize)]
struct Allocation {
    ts_ns: i64,
    tid: u64,
    action: Action,
    #[serde(serialize_with = "as_hex")]
    addr: u64,
    bytes: u64,
    device_type: u8,
    device_index: i16,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_allocated: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_reserved: Option<i64>,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Alloc,
    Free,
    Oom,
}

/// Readers of JSON keep 53 bits of a number; addresses have more.
fn as_hex<S: Serializer>(address: &u64, to: S) -> Result<S::Ok, S::Error> {
    to.collect_str(&format_args!("{address:#x}"))
}

impl History {
    fn read(recorded: &Recorded) -> Result<Self, KinetoError> {
        let (recording, cut) = (recorded.open()?, recorded.cut());
        let key = |text: &str| recording.names().iter().position(|name| &*name.text == text);
        let keys = [key("Total Allocated"), key("Total Reserved")];
        let mut events = Vec::new();
        for thread in recording.threads() {
            let mut ticks = recording.ticks().cursor();
            let mut replay = recording.replay(thread, cut);
            while let Some((event, args)) = replay.next() {
                if let What::Memory { address, bytes, device_type, device_index, out_of_memory } = event.what {
                    let action = match (out_of_memory, bytes < 0) {
                        (true, _) => Action::Oom,
                        (false, true) => Action::Free,
                        (false, false) => Action::Alloc,
                    };
                    let [total_allocated, total_reserved] = keys.map(|key| number(args, key?));
                    let (ts_ns, tid, addr, bytes) = (ticks.ns(event.tick), thread.tid, address, bytes.unsigned_abs());
                    events.push(Allocation {
                        ts_ns,
                        tid,
                        action,
                        addr,
                        bytes,
                        device_type,
                        device_index,
                        total_allocated,
                        total_reserved,
                    });
                }
            }
        }
        events.sort_by_key(|event| event.ts_ns);
        let ns = |tick| recording.ticks().ns(tick);
        Ok(Self { version: 1, from_ns: ns(cut.from_tick), to_ns: ns(cut.to_tick), events })
    }
}

fn number(args: Args<'_>, wanted: usize) -> Option<i64> {
    args.iter().filter(|(key, _)| key.0 as usize == wanted).find_map(|(_, value)| match value {
        ArgView::I64(value) => Some(value),
        ArgView::U64(value) => i64::try_from(value).ok(),
        _ => None,
    })
}
