//! Records into what the recorder joins: work, calls, ties and changes of memory.
//!
//! One record is read by itself, in any order; what it belongs to is found out when all are there. A kernel or a copy brings the span that
//! it was launched in, and its call the range that the program named. Work is on the stream of HIP that its call was about. Where that is not
//! told it is on its queue: queues are numbered as they come, because a queue's handle is an address in some versions, and copies, which have
//! none, are on queue 0. Among streams, queues have numbers that no stream has. What the runtime does about scratch memory says no bytes, and is
//! drawn as overhead beside the work of its queue.

use std::collections::{HashMap, HashSet};
use std::ffi::c_int;
use std::sync::Arc;

use rankscope_devices::{ApiCalls, CallSort, stamp_ns};
use rankscope_record::Category;
use rankscope_record::recording::device::{
    CorrelationKind, DeviceItem, DeviceMemory, DeviceRecord, ExternalCorrelation, GraphLaunch, MemoryChange, MemoryKind,
    MemoryOwner,
};

use crate::abi::{
    Allocation, AllocationAfterAncestor, Copy, Dispatch, GraphCall, HipCall, HipCallAfterAncestor, Kind, RecordStart, Scratch,
    ScratchAfterAncestor, TRACING,
};
use crate::agents::Gpus;
use crate::counts::{Counts, OTHER_KINDS};
use crate::packed::Packed;
use crate::words;

/// Whom numbers are looked up with.
pub(crate) trait LookUp: Send + 'static {
    /// The symbol of a kernel.
    fn kernel(&self, kernel: u64) -> Option<String>;
    /// The stream of HIP that work of a call is on.
    fn stream(&self, call: u64) -> Option<u64>;
    /// A call of the HIP runtime.
    fn hip_call(&self, operation: c_int) -> Option<String>;
}

/// The queue of copies.
const COPIES: u64 = 0;
/// Streams of HIP have numbers below this.
const QUEUES_AMONG_STREAMS: u64 = 1 << 16;

/// What is decoded of a session.
pub(crate) struct Decoder<L> {
    look_up: L,
    gpus: Gpus,
    which: ApiCalls,
    /// What was decoded since it was last taken.
    items: Vec<DeviceItem>,
    names: HashSet<Arc<str>>,
    kernels: HashMap<u64, Arc<str>>,
    calls: HashMap<c_int, (Arc<str>, CallSort)>,
    queues: HashMap<(u32, u64), u64>,
    graphs: HashMap<u64, u64>,
    /// Whether streams are told.
    knows_streams: bool,
    last_tie: Option<ExternalCorrelation>,
    pub(crate) counts: Counts,
}

impl<L: LookUp> Decoder<L> {
    pub(crate) fn new(look_up: L, gpus: Gpus, which: ApiCalls, knows_streams: bool) -> Self {
        Self {
            look_up,
            gpus,
            which,
            items: Vec::new(),
            names: HashSet::new(),
            kernels: HashMap::new(),
            calls: HashMap::new(),
            queues: HashMap::new(),
            graphs: HashMap::new(),
            knows_streams,
            last_tie: None,
            counts: Counts::default(),
        }
    }

    /// A record.
    pub(crate) fn record(&mut self, packed: Packed<'_>) {
        let Packed { category, kind, record } = packed;
        self.counts.records += 1;
        if category != TRACING {
            return self.counts.unknown_kind(OTHER_KINDS);
        }
        let Some(kind) = Kind::of(kind) else { return self.counts.unknown_kind(kind) };
        let read = match (RecordStart::read(record), kind) {
            // Of one that says two things nothing is known.
            (Some(start), kind) if start.kind != kind as u32 => None,
            (None, _) => None,
            (_, Kind::Dispatch) => self.dispatch(record),
            (_, Kind::Copy) => self.copy(record),
            (Some(RecordStart { size, .. }), Kind::HipCall) => self.call(size, record),
            (Some(RecordStart { size, .. }), Kind::Memory) => self.memory(size, record),
            (Some(RecordStart { size, .. }), Kind::Scratch) => self.scratch(size, record),
            (_, Kind::GraphCall) => self.graph_call(record),
        };
        self.counts.short_records += u64::from(read.is_none());
    }

    /// What was decoded since the last time.
    pub(crate) fn take(&mut self) -> Vec<DeviceItem> {
        std::mem::take(&mut self.items)
    }

    fn dispatch(&mut self, record: &[u8]) -> Option<()> {
        let Dispatch { internal, external, start, end, agent, queue, kernel } = Dispatch::read(record)?;
        let Some(device) = self.gpus.number(agent) else { return self.without_device() };
        let name = self.kernel(kernel);
        let queue = self.queue(device, queue);
        let stream = self.stream(internal, queue);
        self.tie(CorrelationKind::Default, external, internal);
        self.keep(Category::KERNEL, name, (start, end), (device, stream), internal);
        Some(())
    }

    fn copy(&mut self, record: &[u8]) -> Option<()> {
        let Copy { direction, internal, external, start, end, to_agent, from_agent } = Copy::read(record)?;
        let (from, to) = (self.gpus.number(from_agent), self.gpus.number(to_agent));
        let Some(device) = to.or(from) else { return self.without_device() };
        let name = match (from, to) {
            (Some(from), Some(to)) if from != to => self.name(&words::peer_copy(from, to)),
            _ => self.name(words::copy(direction)),
        };
        self.tie(CorrelationKind::Default, external, internal);
        let stream = self.stream(internal, COPIES);
        self.keep(Category::GPU_MEMCPY, name, (start, end), (device, stream), internal);
        Some(())
    }

    /// The number of a queue.
    fn queue(&mut self, device: u32, queue: u64) -> u64 {
        let next = self.queues.keys().filter(|(of, _)| *of == device).count() as u64 + COPIES + 1;
        *self.queues.entry((device, queue)).or_insert(next)
    }

    fn memory(&mut self, size: u64, record: &[u8]) -> Option<()> {
        const ALLOCATE: i32 = 1;
        const ALLOCATE_PHYSICAL: i32 = 2;
        const FREE: i32 = 3;
        const FREE_PHYSICAL: i32 = 4;
        let AllocationAfterAncestor { operation, internal, thread, start, end, agent, address, bytes } =
            if size < ALLOCATION_AFTER_ANCESTOR_BYTES {
                Allocation::read(record)?.into()
            } else {
                AllocationAfterAncestor::read(record)?
            };
        // Memory is there when the call returns with it, and free for others from when it is given back.
        let (change, at) = match operation {
            ALLOCATE | ALLOCATE_PHYSICAL => (MemoryChange::Allocated, end),
            FREE | FREE_PHYSICAL => (MemoryChange::Freed, start),
            _ => {
                self.counts.other_memory_operations += 1;
                return Some(());
            }
        };
        let is_host = self.gpus.is_host(agent);
        let kind = match operation {
            ALLOCATE_PHYSICAL | FREE_PHYSICAL => MemoryKind::Physical,
            _ if is_host => MemoryKind::Pinned,
            _ => MemoryKind::Device,
        };
        let owner = if is_host { Some(MemoryOwner::HOST) } else { self.gpus.number(agent).and_then(MemoryOwner::hip) };
        self.items.push(DeviceItem::Memory(DeviceMemory {
            at_ns: stamp_ns(at),
            change,
            kind,
            owner,
            address,
            bytes,
            pool: None,
            stream: None,
            thread: Some(thread),
            correlation: internal,
        }));
        Some(())
    }

    /// Graphs are numbered as they come, because what tells them apart is an address.
    fn graph_call(&mut self, record: &[u8]) -> Option<()> {
        let GraphCall { internal, graph } = GraphCall::read(record)?;
        if graph != 0 {
            let next = self.graphs.len() as u64 + 1;
            let graph = *self.graphs.entry(graph).or_insert(next);
            self.items.push(DeviceItem::Graph(GraphLaunch { correlation: internal, graph }));
        }
        Some(())
    }

    fn scratch(&mut self, size: u64, record: &[u8]) -> Option<()> {
        let ScratchAfterAncestor { operation, internal, agent, queue, start, end } = if size < SCRATCH_AFTER_ANCESTOR_BYTES {
            Scratch::read(record)?.into()
        } else {
            ScratchAfterAncestor::read(record)?
        };
        let Some(name) = words::scratch(operation) else {
            self.counts.other_memory_operations += 1;
            return Some(());
        };
        let Some(device) = self.gpus.number(agent) else { return self.without_device() };
        let (name, queue) = (self.name(name), self.queue(device, queue));
        // The runtime's own thread does this, for no call's stream.
        let queue = if self.knows_streams { QUEUES_AMONG_STREAMS + queue } else { queue };
        self.keep(Category::OVERHEAD, name, (start, end), (device, queue), internal);
        Some(())
    }

    /// Where work of a call is drawn that ran on this queue.
    fn stream(&mut self, call: u64, queue: u64) -> u64 {
        if !self.knows_streams {
            return queue;
        }
        self.look_up.stream(call).unwrap_or_else(|| {
            self.counts.work_without_stream += 1;
            QUEUES_AMONG_STREAMS + queue
        })
    }

    fn call(&mut self, size: u64, record: &[u8]) -> Option<()> {
        let HipCallAfterAncestor { operation, internal, external, start, end, thread } =
            if size < AFTER_ANCESTOR_BYTES { HipCall::read(record)?.into() } else { HipCallAfterAncestor::read(record)? };
        let (name, sort) = self.called(operation);
        if sort == CallSort::Launch {
            self.tie(CorrelationKind::UserAnnotation, external, internal);
        }
        if self.which.records(sort) {
            self.keep(Category::CUDA_RUNTIME, name, (start, end), (std::process::id(), thread), internal);
        }
        Some(())
    }

    fn without_device(&mut self) -> Option<()> {
        self.counts.work_without_device += 1;
        Some(())
    }

    /// A tie, unless it is the one before: kernels of a graph have one call and one span.
    fn tie(&mut self, kind: CorrelationKind, external_id: u64, correlation: u64) {
        let tie = ExternalCorrelation { kind, external_id, correlation };
        if external_id != 0 && self.last_tie.as_ref() != Some(&tie) {
            self.last_tie = Some(tie);
            self.items.push(DeviceItem::Tie(tie));
        }
    }

    fn keep(
        &mut self,
        kind: Category,
        name: Arc<str>,
        (start, end): (u64, u64),
        (device, stream): (u32, u64),
        correlation: u64,
    ) {
        let (start_ns, end_ns) = (stamp_ns(start), stamp_ns(end));
        self.items.push(DeviceItem::Record(DeviceRecord {
            kind,
            name,
            start_ns,
            end_ns,
            device,
            stream,
            correlation,
            graph: None,
        }));
    }

    /// What a kernel is called. One that has no name yet is asked for again: its symbol may be told of while it waits here.
    fn kernel(&mut self, kernel: u64) -> Arc<str> {
        if let Some(known) = self.kernels.get(&kernel) {
            return known.clone();
        }
        let Some(symbol) = self.look_up.kernel(kernel) else {
            self.counts.kernels_without_name += 1;
            return self.name("(kernel without a name)");
        };
        let name = self.name(words::kernel(&symbol));
        self.kernels.insert(kernel, name.clone());
        name
    }

    /// What a call is called. A call that the library has no name for goes by its number.
    fn called(&mut self, operation: c_int) -> (Arc<str>, CallSort) {
        if let Some(known) = self.calls.get(&operation) {
            return known.clone();
        }
        let name = self.look_up.hip_call(operation).unwrap_or_else(|| format!("call {operation}"));
        let call = (self.name(&name), CallSort::of(&name));
        self.calls.insert(operation, call.clone());
        call
    }

    /// A name, each text once.
    fn name(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.names.get(text) {
            return known.clone();
        }
        let name: Arc<str> = text.into();
        self.names.insert(name.clone());
        name
    }
}

/// How long a call's record is, since its correlation has an ancestor; and those of memory and of scratch memory.
const AFTER_ANCESTOR_BYTES: u64 = 64;
const ALLOCATION_AFTER_ANCESTOR_BYTES: u64 = 88;
const SCRATCH_AFTER_ANCESTOR_BYTES: u64 = 88;

impl From<Allocation> for AllocationAfterAncestor {
    fn from(it: Allocation) -> Self {
        let Allocation { operation, internal, thread, start, end, agent, address, bytes } = it;
        Self { operation, internal, thread, start, end, agent, address, bytes }
    }
}

impl From<Scratch> for ScratchAfterAncestor {
    fn from(it: Scratch) -> Self {
        let Scratch { operation, internal, agent, queue, start, end } = it;
        Self { operation, internal, agent, queue, start, end }
    }
}

impl From<HipCall> for HipCallAfterAncestor {
    fn from(call: HipCall) -> Self {
        let HipCall { operation, internal, external, start, end, thread } = call;
        Self { operation, internal, external, start, end, thread }
    }
}
