//! The processes of a report, a trace each.

use std::collections::BTreeMap;

use rankscope_formats::ReadOptions;
use rankscope_formats::activity::Activities;
use rankscope_time::Rank;
use rankscope_trace::{DeviceInfo, ProblemKind, Problems, RankSource, SourceFormat, Trace, TrackKey, TrackKind};
use rustc_hash::FxHashMap;

/// The bits of a global id that number a thread; those above name the process.
const THREAD_BITS: u32 = 24;

/// The number of a process or thread in its part of a global id.
const NUMBER: i64 = (1 << THREAD_BITS) - 1;

/// What is known of the devices of the host.
#[derive(Debug, Default)]
pub(super) struct Gpus {
    /// Their names, by the number that nsys gives them.
    pub(super) named: FxHashMap<i64, String>,
    /// That number, by the process (if it is said) and the number that CUDA has for the device in it.
    pub(super) of_cuda: FxHashMap<(Option<i64>, i64), i64>,
}

impl Gpus {
    /// The name of the device that process `pid` knows as `cuda`.
    fn name(&self, pid: i64, cuda: i64) -> Option<&str> {
        let listed = self.of_cuda.get(&(Some(pid), cuda)).or_else(|| self.of_cuda.get(&(None, cuda)));
        self.named.get(listed.unwrap_or(&cuda)).map(String::as_str)
    }
}

#[derive(Debug)]
pub(super) struct Processes {
    options: ReadOptions,
    /// By the upper bits of their global ids.
    all: BTreeMap<i64, Activities>,
    /// The first that came up: rows that name none are of it.
    first: Option<i64>,
    part: String,
    base_ns: i64,
    host: Option<String>,
    gpus: Gpus,
    /// Of processes that have one under MPI.
    ranks: FxHashMap<i64, Rank>,
}

/// The number of the process, from the upper bits of a global id.
pub(super) fn pid(process: i64) -> i64 {
    process & NUMBER
}

/// The number of the thread, from a global id.
pub(super) fn tid(global: Option<i64>) -> i64 {
    global.map_or(0, |global| global & NUMBER)
}

impl Processes {
    pub(super) fn new(options: &ReadOptions) -> Self {
        Self {
            options: options.clone(),
            all: BTreeMap::new(),
            first: None,
            part: String::new(),
            base_ns: 0,
            host: None,
            gpus: Gpus::default(),
            ranks: FxHashMap::default(),
        }
    }

    pub(super) fn set_base(&mut self, base_ns: i64) {
        self.base_ns = base_ns;
    }

    pub(super) fn set_host(&mut self, host: Option<String>) {
        self.host = host;
    }

    /// The process of the thread with this global id is `rank`.
    pub(super) fn set_rank(&mut self, global: i64, rank: Rank) {
        self.ranks.insert(global >> THREAD_BITS, rank);
    }

    pub(super) fn set_gpus(&mut self, gpus: Gpus) {
        self.gpus = gpus;
    }

    /// From here on, rows come from the table `part`.
    pub(super) fn set_part(&mut self, part: &str) {
        part.clone_into(&mut self.part);
        self.all.values_mut().for_each(|process| process.set_part(part));
    }

    /// A stamp of the file as a time of day.
    pub(super) fn time(&self, stamp: Option<i64>) -> Option<i64> {
        stamp?.checked_add(self.base_ns)
    }

    /// The process that a global id names, with its number.
    pub(super) fn of(&mut self, global: Option<i64>) -> (&mut Activities, i64) {
        let process = global.map(|global| global >> THREAD_BITS).or(self.first).unwrap_or(0);
        self.first.get_or_insert(process);
        let activities = self.all.entry(process).or_insert_with(|| {
            let mut activities = Activities::new(SourceFormat::Nsys, &self.options);
            activities.set_part(&self.part);
            activities
        });
        (activities, pid(process))
    }

    /// The traces: of those that did device work, or of all where none did.
    pub(super) fn finish(self, mut problems: Problems, names: &FxHashMap<i64, String>) -> Vec<Trace> {
        let Self { options, all, base_ns, host, gpus, ranks, .. } = self;
        let filled = all.into_iter().filter(|(_, activities)| !activities.is_empty());
        let mut traces: Vec<(i64, Trace)> = filled.map(|(process, activities)| (process, activities.finish())).collect();
        let works = |trace: &Trace| trace.spans.ids().any(|span| trace.kind(span).is_device_work());
        if traces.iter().any(|(_, trace)| works(trace)) {
            traces.retain(|(process, trace)| {
                let keeps = works(trace);
                if !keeps {
                    let detail = format!("process {}, which did no device work", pid(*process));
                    problems.add_detailed(ProblemKind::Unsupported, 0, 1, detail);
                }
                keeps
            });
        }
        let several = traces.len() > 1;
        for (process, trace) in &mut traces {
            let about = &mut trace.provenance;
            about.clock_base_ns = (base_ns != 0).then_some(base_ns);
            about.host.clone_from(&host);
            about.rank = ranks.get(process).map(|rank| (*rank, RankSource::Header));
            if several {
                about.file = format!("{}:pid{}", options.label, pid(*process));
            }
            name_devices(trace, pid(*process), &gpus);
            name_threads(trace, *process, names);
        }
        if let Some((_, first)) = traces.first_mut() {
            first.provenance.problems.merge(problems);
        }
        traces.into_iter().map(|(_, trace)| trace).collect()
    }
}

/// The devices that the process worked on, by their names.
fn name_devices(trace: &mut Trace, pid: i64, gpus: &Gpus) {
    let number = |key| if let TrackKey::Number(number) = key { Some(number) } else { None };
    let devices = trace.tracks.iter().filter(|(_, track)| track.kind == TrackKind::Device);
    let devices: Vec<_> = devices.filter_map(|(id, track)| Some((id, number(track.key)?))).collect();
    for (id, index) in devices {
        if let Some(name) = gpus.name(pid, index) {
            trace.provenance.devices.push(DeviceInfo { index, name: name.to_owned() });
            trace.tracks.get_mut(id).name = trace.strings.intern(name);
        }
    }
}

fn name_threads(trace: &mut Trace, process: i64, names: &FxHashMap<i64, String>) {
    for (global, name) in names.iter().filter(|(global, _)| **global >> THREAD_BITS == process) {
        let host = trace.tracks.find(TrackKind::Process, None, TrackKey::Number(pid(process)));
        let thread = trace.tracks.find(TrackKind::Thread, host, TrackKey::Number(tid(Some(*global))));
        if let Some(thread) = thread {
            trace.tracks.get_mut(thread).name = trace.strings.intern(name);
        }
    }
}
