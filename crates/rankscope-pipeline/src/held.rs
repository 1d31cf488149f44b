//! Traces kept in memory for a second pass, as long as they fit a budget; beyond it they are read again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rankscope_align::settle_tracers;
use rankscope_formats::Member;
use rankscope_job::{Export, Fingerprint, Place};
use rankscope_run::{InputFile, identity};
use rankscope_trace::Trace;
use rayon::prelude::*;

use crate::Error;
use crate::division::memory_with_arguments;
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

/// Whether the traces of `files`, with all of their arguments, probably fit into `memory_bytes`: by the sizes of the files, and what traces
/// of such sizes take. Of a file that tells no size they do not.
pub fn probably_fit(files: &[InputFile], memory_bytes: u64) -> bool {
    let of_file = |file: &InputFile| Some(memory_with_arguments(&file.path, identity(&file.path).ok()?.bytes));
    let all: Option<u64> = files.iter().map(of_file).try_fold(0u64, |all, own| Some(all.saturating_add(own?)));
    all.is_some_and(|all| all <= memory_bytes)
}

/// Taken for the memory of a machine that does not tell.
const MEMORY_UNKNOWN_BYTES: u64 = 8 << 30;

/// Traces by their places.
type Traces = BTreeMap<Place, Arc<Trace>>;

/// The traces of a job: those in memory, and the files of the others.
#[derive(Debug)]
pub struct Held {
    files: Vec<InputFile>,
    reading: Reading,
    budget_bytes: u64,
    used_bytes: AtomicU64,
    kept: Mutex<Kept>,
}

/// What is in memory.
#[derive(Debug, Default)]
struct Kept {
    traces: Traces,
    /// Those of ranks with several exports, once anybody asked for them, at the places of their first ones.
    joined: Traces,
    /// First places of ranks whose traces were handed over to be joined.
    handed_over: BTreeSet<Place>,
    /// Numbers of files of which something is not in memory as it was read.
    incomplete: BTreeSet<u32>,
}

impl Held {
    pub(crate) fn new(files: Vec<InputFile>, reading: Reading, keep: Keep) -> Self {
        let budget_bytes = if let Keep::UpTo(bytes) = keep { bytes } else { 0 };
        Self { files, reading, budget_bytes, used_bytes: AtomicU64::new(0), kept: Mutex::default() }
    }

    /// Keeps the trace at `place`, if there is room.
    pub(crate) fn keep(&self, place: Place, trace: Trace) {
        let bytes = trace.heap_bytes();
        let fits = |used: u64| used.checked_add(bytes).filter(|used| *used <= self.budget_bytes);
        if self.used_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok() {
            self.lock().traces.insert(place, Arc::new(trace));
        } else {
            self.lacks(place);
        }
    }

    /// What is at `place` is not in memory, or not as it was read.
    pub(crate) fn lacks(&self, place: Place) {
        self.lock().incomplete.insert(place.file);
    }

    /// Takes the traces of the file of this number out of memory, in order, if all that is in the file is there as it was read.
    pub(crate) fn take_as_read(&self, number: usize) -> Option<Vec<Member>> {
        let file = u32::try_from(number).ok()?;
        let mut kept = self.lock();
        if kept.incomplete.contains(&file) {
            return None;
        }
        let all = Place { file, member: 0 }..=Place { file, member: u32::MAX };
        let places: Vec<Place> = kept.traces.range(all).map(|(place, _)| *place).collect();
        let traces: Vec<Arc<Trace>> = places.iter().filter_map(|place| kept.traces.remove(place)).collect();
        let member = |trace: Arc<Trace>| {
            let trace = Arc::unwrap_or_clone(trace);
            Member { label: trace.provenance.file.clone(), trace: Ok(trace) }
        };
        (!traces.is_empty()).then(|| traces.into_iter().map(member).collect())
    }

    /// How many are in memory.
    pub fn count(&self) -> usize {
        let kept = self.lock();
        kept.traces.len() + kept.joined.len()
    }

    /// The traces that `exports` name, those that were not kept read again, each file once however many of them it holds. Tracers'
    /// clocks are put on the host's, as they were for the parts.
    ///
    /// Each item is a rank's exports. Where there are several of them, and all were kept, they are handed over, so that joining
    /// them copies nothing; [`replace`](Self::replace) keeps what they are joined to.
    ///
    /// # Errors
    /// [`Error::Changed`] for an export that is gone, or that holds other spans than its part was made of.
    pub(crate) fn get<'e>(&self, ranks: impl Iterator<Item = &'e [Export]>, readings: &SideReadings) -> Result<Traces, Error> {
        let mut found = Traces::new();
        let mut wanted: BTreeMap<u32, Vec<&Export>> = BTreeMap::new();
        let mut kept = self.lock();
        for exports in ranks {
            if kept.hand_over(exports, &mut found) {
                continue;
            }
            for export in exports {
                match kept.traces.get(&export.place) {
                    Some(trace) => {
                        found.insert(export.place, Arc::clone(trace));
                    }
                    None => wanted.entry(export.place.file).or_default().push(export),
                }
            }
        }
        drop(kept);
        let again = |(number, exports): (u32, Vec<&Export>)| self.read_again(number, &exports, readings);
        found.extend(wanted.into_par_iter().map(again).collect::<Result<Vec<_>, _>>()?.into_iter().flatten());
        Ok(found)
    }

    /// The traces of `exports`, all of the file of this number.
    fn read_again(&self, number: u32, exports: &[&Export], readings: &SideReadings) -> Result<Traces, Error> {
        let mut found = Traces::new();
        let mut member = 0;
        if let Some(file) = self.files.get(number as usize) {
            read_members(file, self.reading, |read| {
                let place = Place { file: number, member };
                member += 1;
                let wanted = exports.iter().find(|export| export.place == place);
                let (Some(export), Ok(mut trace)) = (wanted, read.trace) else { return };
                readings.attach(&mut trace);
                settle_tracers(&mut trace);
                if Fingerprint::of(&trace) == export.fingerprint {
                    found.insert(place, Arc::new(trace));
                }
            });
        }
        match exports.iter().find(|export| !found.contains_key(&export.place)) {
            Some(changed) => Err(Error::Changed { file: changed.file.clone() }),
            None => Ok(found),
        }
    }

    /// The trace that `exports` were joined to, if it was kept.
    pub(crate) fn joined(&self, exports: &[Export]) -> Option<Arc<Trace>> {
        self.lock().joined.get(&exports.first()?.place).map(Arc::clone)
    }

    /// Keeps `joined` for the traces of `exports` that it was made of, if those were handed over.
    pub(crate) fn replace(&self, exports: &[Export], joined: &Arc<Trace>) {
        let kept = &mut *self.lock();
        if let Some(first) = exports.first()
            && kept.handed_over.remove(&first.place)
        {
            kept.joined.insert(first.place, Arc::clone(joined));
        }
    }

    /// Lets go of the traces of `exports`, which nobody will ask for again.
    pub(crate) fn release(&self, exports: &[Export]) {
        let mut kept = self.lock();
        for export in exports {
            kept.incomplete.insert(export.place.file);
            kept.traces.remove(&export.place);
            kept.joined.remove(&export.place);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Kept {
    /// Moves the traces of `exports` to `found`, if there are several and all of them are kept.
    fn hand_over(&mut self, exports: &[Export], found: &mut Traces) -> bool {
        let [first, _, ..] = exports else { return false };
        let all = exports.iter().all(|export| self.traces.contains_key(&export.place));
        if all {
            let own = exports.iter().filter_map(|export| self.traces.remove_entry(&export.place));
            found.extend(own);
            self.handed_over.insert(first.place);
            self.incomplete.extend(exports.iter().map(|export| export.place.file));
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use rankscope_formats::{ArgsPolicy, Scope};

    use super::*;

    /// Traces at so many places of one file, and their exports.
    fn held(kept: u32, exports: u32) -> (Held, Vec<Export>) {
        let held = Held::new(Vec::new(), Reading { args: ArgsPolicy::Analysis, scope: Scope::All }, Keep::UpTo(u64::MAX));
        let place = |member| Place { file: 0, member };
        (0..kept).for_each(|member| held.keep(place(member), Trace::default()));
        let fingerprint = Fingerprint::of(&Trace::default());
        let export = |member| Export { file: "rank0.json".into(), place: place(member), spans: 0, fingerprint };
        (held, (0..exports).map(export).collect())
    }

    fn get(held: &Held, exports: &[Export]) -> Result<Traces, Error> {
        held.get(std::iter::once(exports), &SideReadings::default())
    }

    #[test]
    fn traces_to_be_joined_are_nobody_elses() {
        let (held, exports) = held(3, 3);
        let found = get(&held, &exports).expect("all are kept");
        assert!(found.len() == 3 && found.values().all(|trace| Arc::strong_count(trace) == 1));
        assert_eq!(held.count(), 0);
        held.replace(&exports, &Arc::new(Trace::default()));
        assert!(held.count() == 1 && held.joined(&exports).is_some());
        held.release(&exports);
        assert_eq!(held.count(), 0);
    }

    #[test]
    fn the_only_export_of_a_rank_stays_for_others_to_ask_for() {
        let (held, exports) = held(1, 1);
        for _ in 0..2 {
            assert_eq!(get(&held, &exports).expect("it is kept").len(), 1);
        }
        assert_eq!(held.count(), 1);
    }

    #[test]
    fn where_an_export_is_missing_the_others_stay() {
        let (held, exports) = held(2, 3);
        assert!(matches!(get(&held, &exports), Err(Error::Changed { .. })));
        assert_eq!(held.count(), 2);
    }
}
