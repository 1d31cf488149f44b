//! The trace of one process, from its records.
//!
//! Records refer to kernels, operations and agents by number. rocprofv3 describes those first; where a file has another order, its
//! records wait until it has ended.

use rankscope_trace::{
    ArgValue, CopyDirection, DeviceInfo, ProblemKind, SourceFormat, StrId, Trace, TrackId, TrackKey, TrackKind,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::record::{Agent, Dim, Handle, Message, Metadata, Operations, Record, Symbol};
use crate::ReadOptions;
use crate::activity::{Activities, Activity, Sort};

/// The lists of records that are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Kernels,
    Copies,
    Markers,
    Calls(Sort),
}

impl List {
    /// By the list's name.
    pub(super) fn of(key: &str) -> Option<Self> {
        Some(match key {
            "kernel_dispatch" => Self::Kernels,
            "memory_copy" => Self::Copies,
            "marker_api" => Self::Markers,
            "hip_api" => Self::Calls(Sort::RuntimeCall),
            "hsa_api" => Self::Calls(Sort::DriverCall),
            "rccl_api" => Self::Calls(Sort::LibraryCall),
            "memory_allocation" | "scratch_memory" | "rocdecode_api" | "rocjpeg_api" => Self::Calls(Sort::Other),
            _ => return None,
        })
    }
}

/// A description of what records refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Described {
    Process,
    Agents,
    Strings,
    Symbols,
}

/// Descriptions without which a record cannot be understood.
const DESCRIPTIONS: usize = 4;

#[derive(Debug)]
pub(super) struct Builder {
    activities: Activities,
    described: FxHashSet<Described>,
    waiting: Vec<(List, Record, u64)>,
    pid: i64,
    agents: FxHashMap<u64, Agent>,
    symbols: FxHashMap<u64, String>,
    kinds: Vec<Operations>,
    messages: FxHashMap<u64, String>,
}

impl Builder {
    pub(super) fn new(options: &ReadOptions) -> Self {
        Self {
            activities: Activities::new(SourceFormat::Rocprof, options),
            described: FxHashSet::default(),
            waiting: Vec::new(),
            pid: 0,
            agents: FxHashMap::default(),
            symbols: FxHashMap::default(),
            kinds: Vec::new(),
            messages: FxHashMap::default(),
        }
    }

    /// Whether no record has come up.
    pub(super) fn is_empty(&self) -> bool {
        self.activities.is_empty() && self.waiting.is_empty()
    }

    /// The number of the process.
    pub(super) fn pid(&self) -> i64 {
        self.pid
    }

    /// One description has been read to its end.
    pub(super) fn has(&mut self, what: Described) {
        self.described.insert(what);
    }

    pub(super) fn metadata(&mut self, metadata: Metadata, text: String) {
        self.pid = metadata.pid.unwrap_or(0);
        let about = &mut self.activities.trace().provenance;
        about.host = Some(metadata.node.hostname).filter(|host| !host.is_empty());
        about.header.push(("metadata".to_owned(), text));
    }

    pub(super) fn agent(&mut self, agent: Agent) {
        if let Some(index) = agent.device() {
            let info = DeviceInfo { index, name: agent.product().to_owned() };
            self.activities.trace().provenance.devices.push(info);
        }
        self.agents.insert(agent.id.handle, agent);
    }

    pub(super) fn symbol(&mut self, symbol: Symbol) {
        if let Some(id) = symbol.kernel_id {
            self.symbols.insert(id, symbol.name().to_owned());
        }
    }

    pub(super) fn operations(&mut self, operations: Operations) {
        self.kinds.push(operations);
    }

    pub(super) fn message(&mut self, message: Message) {
        self.messages.insert(message.key, message.value);
    }

    pub(super) fn problem(&mut self, kind: ProblemKind, offset: u64) {
        self.activities.problem(kind, offset);
    }

    /// Notes `count` records of a list that is not read.
    pub(super) fn left_out(&mut self, list: &str, count: u64, offset: u64) {
        if count > 0 {
            let problems = &mut self.activities.trace().provenance.problems;
            problems.add_detailed(ProblemKind::Unsupported, offset, count, format!("records of {list}"));
        }
    }

    /// Takes in a record of `list` that stands at `offset`.
    pub(super) fn record(&mut self, list: List, record: &Record, offset: u64) {
        if self.described.len() == DESCRIPTIONS {
            self.add(list, record, offset);
        } else {
            self.waiting.push((list, *record, offset));
        }
    }

    /// The finished trace.
    pub(super) fn finish(mut self) -> Trace {
        for (list, record, offset) in std::mem::take(&mut self.waiting) {
            self.add(list, &record, offset);
        }
        self.name_tracks();
        self.activities.finish()
    }

    fn add(&mut self, list: List, record: &Record, offset: u64) {
        match list {
            List::Kernels => self.kernel(record, offset),
            List::Copies => self.copy(record, offset),
            List::Markers => self.marker(record, offset),
            List::Calls(sort) => self.call(sort, record, offset),
        }
    }

    fn kernel(&mut self, record: &Record, offset: u64) {
        let info = &record.dispatch_info;
        let name = self.kernel_name(info.kernel_id, offset);
        // Releases before streams were recorded have queues alone.
        let track = self.stream(info.agent_id, record.stream_id.or(info.queue_id));
        let args = if self.activities.keeps_args() { self.kernel_args(record) } else { Vec::new() };
        self.push(Sort::Kernel, name, track, record, offset, &args);
    }

    fn copy(&mut self, record: &Record, offset: u64) {
        let name = self.operation(record, offset);
        let is_device = |agent: &Handle| self.agents.get(&agent.handle).is_some_and(|agent| agent.device().is_some());
        let (from, to) = (record.src_agent_id, record.dst_agent_id);
        let device = to.filter(is_device).or(from.filter(is_device));
        let told = CopyDirection::of_text(self.activities.trace().strings.text(name));
        let between = from.zip(to).is_some_and(|(from, to)| from.handle != to.handle);
        let direction = if told == CopyDirection::DeviceToDevice && between { CopyDirection::PeerToPeer } else { told };
        match device {
            Some(agent) => {
                let track = self.stream(Some(agent), record.stream_id);
                self.push(Sort::Copy(direction), name, track, record, offset, &[]);
            }
            // From host to host: no device works.
            None => {
                let track = self.thread(record);
                self.push(Sort::Other, name, track, record, offset, &[]);
            }
        }
    }

    /// A range or a mark with the text that the program gave it; other calls of ROCTx are calls.
    fn marker(&mut self, record: &Record, offset: u64) {
        let operation = self.operation(record, offset);
        let track = self.thread(record);
        let message = record.correlation_id.internal.and_then(|id| self.messages.get(&id));
        let Some(message) = message else { return self.push(Sort::Other, operation, track, record, offset, &[]) };
        let strings = &mut self.activities.trace().strings;
        let name = strings.intern(message);
        if strings.text(operation).contains("Mark") {
            self.activities.mark(name, track, time(record.start_timestamp), offset);
        } else {
            self.push(Sort::Range, name, track, record, offset, &[]);
        }
    }

    fn call(&mut self, sort: Sort, record: &Record, offset: u64) {
        let (name, track) = (self.operation(record, offset), self.thread(record));
        let size = record.allocation_size.filter(|_| self.activities.keeps_args());
        let args = size.map(|size| (self.activities.trace().strings.intern("size"), ArgValue::U64(size)));
        self.push(sort, name, track, record, offset, args.as_slice());
    }

    fn push(&mut self, sort: Sort, name: StrId, track: TrackId, record: &Record, offset: u64, args: &[(StrId, ArgValue)]) {
        let activity = Activity {
            sort,
            name,
            track,
            start_ns: time(record.start_timestamp),
            end_ns: time(record.end_timestamp),
            correlation: record.correlation_id.internal,
            external_id: record.correlation_id.external,
            bytes: record.bytes,
            offset,
        };
        self.activities.push(&activity, args);
    }

    fn kernel_args(&mut self, record: &Record) -> Vec<(StrId, ArgValue)> {
        let info = &record.dispatch_info;
        let strings = &mut self.activities.trace().strings;
        let mut args = Vec::with_capacity(4);
        let numbers = [("queue", info.queue_id.map(|queue| queue.handle)), ("dispatch", info.dispatch_id)];
        for (key, number) in numbers {
            if let Some(number) = number {
                args.push((strings.intern(key), ArgValue::U64(number)));
            }
        }
        let (grid, block) = (info.grid_size, info.workgroup_size);
        let blocks = Dim { x: blocks(grid.x, block.x), y: blocks(grid.y, block.y), z: blocks(grid.z, block.z) };
        for (key, Dim { x, y, z }) in [("grid", blocks), ("block", block)] {
            let text = strings.intern(&format!("[{x}, {y}, {z}]"));
            args.push((strings.intern(key), ArgValue::Json(text)));
        }
        args
    }

    fn kernel_name(&mut self, id: Option<u64>, offset: u64) -> StrId {
        let known = id.and_then(|id| self.symbols.get(&id)).filter(|name| !name.is_empty());
        match known {
            Some(name) => self.activities.trace().strings.intern(name),
            None => self.missing("kernel", id, offset),
        }
    }

    fn operation(&mut self, record: &Record, offset: u64) -> StrId {
        let at = |number: Option<u64>| number.and_then(|number| usize::try_from(number).ok());
        let kind = at(record.kind).and_then(|kind| self.kinds.get(kind));
        let name = kind.zip(at(record.operation)).and_then(|(kind, operation)| kind.operations.get(operation));
        match (name, kind) {
            (Some(name), _) => self.activities.trace().strings.intern(name),
            (None, Some(kind)) => {
                let kind = kind.kind.clone();
                self.missing(&kind, record.operation, offset)
            }
            (None, None) => self.missing("operation", record.operation, offset),
        }
    }

    /// A name for what the file does not name.
    fn missing(&mut self, what: &str, id: Option<u64>, offset: u64) -> StrId {
        let name = id.map_or_else(|| what.to_owned(), |id| format!("{what} {id}"));
        self.activities.trace().provenance.problems.add_detailed(ProblemKind::MissingInterned, offset, 1, name.clone());
        self.activities.trace().strings.intern(&name)
    }

    fn thread(&mut self, record: &Record) -> TrackId {
        self.activities.thread(self.pid, signed(record.thread_id.unwrap_or(0)))
    }

    fn stream(&mut self, agent: Option<Handle>, stream: Option<Handle>) -> TrackId {
        let handle = agent.map_or(0, |agent| agent.handle);
        let device = self.agents.get(&handle).and_then(Agent::device).unwrap_or(signed(handle));
        self.activities.stream(device, signed(stream.map_or(0, |stream| stream.handle)))
    }

    /// Devices are called as the products that they are.
    fn name_tracks(&mut self) {
        let devices: Vec<(i64, String)> =
            self.agents.values().filter_map(|agent| Some((agent.device()?, agent.product().to_owned()))).collect();
        let trace = self.activities.trace();
        for (index, name) in devices {
            if let Some(track) = trace.tracks.find(TrackKind::Device, None, TrackKey::Number(index)) {
                trace.tracks.get_mut(track).name = trace.strings.intern(&name);
            }
        }
    }
}

/// How many blocks of `block` items make a grid of `grid`; the grid itself where the block is not known.
fn blocks(grid: u64, block: u64) -> u64 {
    if block == 0 { grid } else { grid.div_ceil(block) }
}

/// A stamp; 0 is what is written where there is none.
fn time(stamp: Option<u64>) -> Option<i64> {
    stamp.filter(|stamp| *stamp != 0).and_then(|stamp| i64::try_from(stamp).ok())
}

/// A number for a track, of the same bits.
fn signed(number: u64) -> i64 {
    number.cast_signed()
}
