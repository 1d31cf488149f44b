//! Traces kept in memory for a second pass, as long as they fit a budget; beyond it they are read again.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rankscope_align::settle_tracers;
use rankscope_job::Place;
use rankscope_run::InputFile;
use rankscope_trace::Trace;

use crate::facts::SideReadings;
use crate::read::{Reading, read_members};

/// Which traces are kept beside their parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// None.
    Nothing,
    /// As many as fit into so many bytes; the others are read a second time where they are wanted.
    UpTo(u64),
}

/// A quarter of the machine's memory, in bytes; what a process may use by its control group where that is less.
pub fn memory_default() -> u64 {
    let total = || {
        let text = std::fs::read_to_string("/proc/meminfo").ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    };
    let limit = || std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok()?.trim().parse::<u64>().ok();
    let all = total().into_iter().chain(limit()).min().unwrap_or(MEMORY_UNKNOWN_BYTES);
    all / 4
}

/// Taken for the memory of a machine that does not tell.
const MEMORY_UNKNOWN_BYTES: u64 = 8 << 30;

/// The traces of a job: those in memory, and the files of the others.
#[derive(Debug)]
pub struct Held {
    files: Vec<InputFile>,
    reading: Reading,
    budget_bytes: u64,
    used_bytes: AtomicU64,
    traces: Mutex<BTreeMap<Place, Arc<Trace>>>,
}

impl Held {
    pub(crate) fn new(files: Vec<InputFile>, reading: Reading, keep: Keep) -> Self {
        let budget_bytes = if let Keep::UpTo(bytes) = keep { bytes } else { 0 };
        Self { files, reading, budget_bytes, used_bytes: AtomicU64::new(0), traces: Mutex::default() }
    }

    /// Keeps the trace at `place`, if there is room.
    pub(crate) fn keep(&self, place: Place, trace: Trace) {
        let bytes = trace.heap_bytes();
        let fits = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.budget_bytes);
        if self.used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok() {
            self.lock().insert(place, Arc::new(trace));
        }
    }

    /// How many are in memory.
    pub fn count(&self) -> usize {
        self.lock().len()
    }

    /// The traces at `places`, read again where they were not kept. Tracers' clocks are put on the host's, as they were for the
    /// parts. What cannot be read any more is left out.
    pub(crate) fn get(&self, places: &[Place], readings: &SideReadings) -> BTreeMap<Place, Arc<Trace>> {
        let mut found: BTreeMap<Place, Arc<Trace>> = BTreeMap::new();
        let mut wanted: BTreeMap<u32, Vec<Place>> = BTreeMap::new();
        let known = self.lock();
        for place in places {
            match known.get(place) {
                Some(trace) => {
                    found.insert(*place, Arc::clone(trace));
                }
                None => wanted.entry(place.file).or_default().push(*place),
            }
        }
        drop(known);
        for (number, places) in wanted {
            let Some(file) = self.files.get(number as usize) else { continue };
            let mut member = 0;
            read_members(file, self.reading, |read| {
                let place = Place { file: number, member };
                member += 1;
                if let (true, Ok(mut trace)) = (places.contains(&place), read.trace) {
                    readings.attach(&mut trace);
                    settle_tracers(&mut trace);
                    found.insert(place, Arc::new(trace));
                }
            });
        }
        found
    }

    /// Keeps `joined` in the place of the traces at `places` that it was made of, if all of those were kept.
    pub(crate) fn replace(&self, places: &[Place], joined: &Arc<Trace>) {
        let mut known = self.lock();
        if places.iter().all(|place| known.contains_key(place)) {
            places.iter().for_each(|place| {
                known.insert(*place, Arc::clone(joined));
            });
        }
    }

    /// Lets go of the traces at `places`, which nobody will ask for again.
    pub(crate) fn release(&self, places: &[Place]) {
        let mut known = self.lock();
        places.iter().for_each(|place| {
            known.remove(place);
        });
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Place, Arc<Trace>>> {
        self.traces.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
