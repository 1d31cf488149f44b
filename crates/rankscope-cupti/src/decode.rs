//! Records into what the recorder joins: work, calls, waits, ties and changes of memory.
//!
//! One record is read by itself, in any order; what it belongs to is found out when all are there, because CUPTI hands over a tie before
//! or after the work it is about. The one thing that is carried from record to record is which device a context is on, which waits do
//! not say.
#![expect(unsafe_code, reason = "names of kernels are texts of CUPTI's")]

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rankscope_devices::{ApiCalls, stamp_ns, text};
use rankscope_record::Category;
use rankscope_record::recording::device::{
    CorrelationKind, DeviceItem, DeviceMemory, DeviceRecord, ExternalCorrelation, GraphNode, MemoryChange, MemoryKind,
    MemoryOwner, MemoryPool,
};

use crate::abi::{
    ApiCall, Domain, External, ExternalKind, Kernel, KernelInGraph, Kind, Memcpy, MemcpyInGraph, MemcpyPeer, MemcpyPeerInGraph,
    Memory, MemoryFromPool, Memset, MemsetInGraph, Overhead, Record, Synchronization,
};
use crate::calls::Calls;
use crate::counts::Counts;
use crate::layout::Layouts;
use crate::words;

/// What CUPTI says where a number does not apply.
const NO_STREAM: u32 = u32::MAX;

/// Waits that are kept for the first work of their context, whose records may come a flush later. One takes some hundred bytes.
const WAITS_MAX: usize = 1 << 16;

/// What is decoded of a session.
#[derive(Debug)]
pub(crate) struct Decoder {
    calls: Calls,
    which: ApiCalls,
    /// Where fields lie, for records whose fields were chosen.
    layouts: Option<&'static Layouts>,
    /// What was decoded since it was last taken.
    items: Vec<DeviceItem>,
    /// Waits of contexts whose device is not known yet.
    waits: Vec<(u32, DeviceRecord)>,
    devices: HashMap<u32, u32>,
    names: HashSet<Arc<str>>,
    pub(crate) counts: Counts,
}

impl Decoder {
    pub(crate) fn new(calls: Calls, which: ApiCalls) -> Self {
        Self {
            calls,
            which,
            layouts: None,
            items: Vec::new(),
            waits: Vec::new(),
            devices: HashMap::new(),
            names: HashSet::new(),
            counts: Counts::default(),
        }
    }

    /// The same for records whose fields lie where these say.
    pub(crate) fn with_layouts(self, layouts: Option<&'static Layouts>) -> Self {
        Self { layouts, ..self }
    }

    /// A record, with whatever else lies behind it up to the next one.
    ///
    /// # Safety
    /// It is one of CUPTI's, whose names are still there.
    pub(crate) unsafe fn record(&mut self, record: &[u8]) {
        self.counts.records += 1;
        let Some(kind) = Record::kind(record) else {
            self.counts.short_records += 1;
            return;
        };
        let Some(kind) = Kind::of(kind) else { return self.counts.unknown_kind(kind) };
        let layout = self.layouts.map(|layouts| layouts.of(kind).filter(|layout| layout.fits(record)));
        if let Some(None) = layout {
            // One of which nobody says how to read it is read as little as one that is too short.
            self.counts.short_records += 1;
            return;
        }
        let record = Record { bytes: record, layout: layout.flatten() };
        let read = match kind {
            // SAFETY: the caller says so.
            Kind::ConcurrentKernel => unsafe { self.kernel(record) },
            Kind::Memcpy => self.memcpy(record),
            Kind::MemcpyPeer => self.memcpy_peer(record),
            Kind::Memset => self.memset(record),
            Kind::Runtime => self.call(Domain::Runtime, record),
            Kind::Driver => self.call(Domain::Driver, record),
            Kind::Synchronization => self.wait(record),
            Kind::Overhead => self.overhead(record),
            Kind::ExternalCorrelation => self.tie(record),
            Kind::Memory => self.memory(record),
        };
        self.counts.short_records += u64::from(read.is_none());
    }

    /// What was decoded since the last time.
    pub(crate) fn take(&mut self) -> Vec<DeviceItem> {
        let devices = &self.devices;
        let items = &mut self.items;
        self.waits.retain(|(context, wait)| match devices.get(context) {
            Some(device) => {
                items.push(DeviceItem::Record(DeviceRecord { device: *device, ..wait.clone() }));
                false
            }
            None => true,
        });
        std::mem::take(items)
    }

    /// What became of records, once nothing more comes.
    pub(crate) fn finish(mut self) -> Counts {
        self.counts.waits_without_device += self.waits.len() as u64;
        self.counts
    }

    /// # Safety
    /// As [`Self::record`].
    unsafe fn kernel(&mut self, record: Record<'_>) -> Option<()> {
        let Kernel { start, end, device_id, context_id, stream_id, correlation_id, name } = Kernel::read(record)?;
        let graph = KernelInGraph::read(record).and_then(|it| graph_node(it.graph_id, it.graph_node_id));
        // SAFETY: a kernel's name lasts as long as its module is loaded, which the caller vouches for.
        let name = unsafe { text(name as usize as *const _) };
        let name = self.name(name.as_deref().unwrap_or("(kernel without a name)"));
        let device = self.on(context_id, device_id);
        self.keep(work(Category::KERNEL, name, (start, end), (device, stream_id), correlation_id, graph));
        Some(())
    }

    fn memcpy(&mut self, record: Record<'_>) -> Option<()> {
        let Memcpy { copy_kind, src_kind, dst_kind, start, end, device_id, context_id, stream_id, correlation_id } =
            Memcpy::read(record)?;
        let graph = MemcpyInGraph::read(record).and_then(|it| graph_node(it.graph_id, it.graph_node_id));
        let name = self.name(&words::copy(copy_kind, src_kind, dst_kind));
        let device = self.on(context_id, device_id);
        self.keep(work(Category::GPU_MEMCPY, name, (start, end), (device, stream_id), correlation_id, graph));
        Some(())
    }

    fn memcpy_peer(&mut self, record: Record<'_>) -> Option<()> {
        let MemcpyPeer { start, end, device_id, context_id, stream_id, src_device_id, dst_device_id, correlation_id } =
            MemcpyPeer::read(record)?;
        let graph = MemcpyPeerInGraph::read(record).and_then(|it| graph_node(it.graph_id, it.graph_node_id));
        let name = self.name(&words::peer_copy(src_device_id, dst_device_id));
        let device = self.on(context_id, device_id);
        self.keep(work(Category::GPU_MEMCPY, name, (start, end), (device, stream_id), correlation_id, graph));
        Some(())
    }

    fn memset(&mut self, record: Record<'_>) -> Option<()> {
        let Memset { start, end, device_id, context_id, stream_id, correlation_id, memory_kind } = Memset::read(record)?;
        let graph = MemsetInGraph::read(record).and_then(|it| graph_node(it.graph_id, it.graph_node_id));
        let name = self.name(&words::fill(memory_kind));
        let device = self.on(context_id, device_id);
        self.keep(work(Category::GPU_MEMSET, name, (start, end), (device, stream_id), correlation_id, graph));
        Some(())
    }

    fn call(&mut self, domain: Domain, record: Record<'_>) -> Option<()> {
        let ApiCall { cbid, start, end, thread_id, correlation_id } = ApiCall::read(record)?;
        let Some(name) = self.calls.name(self.which, domain, cbid) else { return Some(()) };
        let kind = match domain {
            Domain::Runtime => Category::CUDA_RUNTIME,
            Domain::Driver => Category::CUDA_DRIVER,
        };
        self.keep(work(kind, name, (start, end), (std::process::id(), thread_id), correlation_id, None));
        Some(())
    }

    fn wait(&mut self, record: Record<'_>) -> Option<()> {
        let Synchronization { sort, start, end, correlation_id, context_id, stream_id } = Synchronization::read(record)?;
        if stream_id == NO_STREAM {
            self.counts.waits_without_stream += 1;
        } else if self.waits.len() == WAITS_MAX {
            self.counts.waits_without_device += 1;
        } else {
            let name = self.name(words::wait(sort));
            let wait = work(Category::CUDA_SYNC, name, (start, end), (0, stream_id), correlation_id, None);
            self.waits.push((context_id, wait));
        }
        Some(())
    }

    fn overhead(&mut self, record: Record<'_>) -> Option<()> {
        let Overhead { sort, start, end } = Overhead::read(record)?;
        self.counts.overhead(words::overhead(sort), end.saturating_sub(start));
        Some(())
    }

    fn tie(&mut self, record: Record<'_>) -> Option<()> {
        let External { external_kind, external_id, correlation_id } = External::read(record)?;
        let kind = match ExternalKind::of(external_kind) {
            Some(ExternalKind::Spans) => CorrelationKind::Default,
            Some(ExternalKind::Annotations) => CorrelationKind::UserAnnotation,
            None => {
                self.counts.foreign_ties += 1;
                return Some(());
            }
        };
        self.items.push(DeviceItem::Tie(ExternalCorrelation { kind, external_id, correlation: correlation_id.into() }));
        Some(())
    }

    fn memory(&mut self, record: Record<'_>) -> Option<()> {
        const ALLOCATION: u32 = 1;
        const RELEASE: u32 = 2;
        let Memory { operation, memory_kind, correlation_id, address, bytes, timestamp, device_id, stream_id } =
            Memory::read(record)?;
        let change = match operation {
            ALLOCATION => MemoryChange::Allocated,
            RELEASE => MemoryChange::Freed,
            _ => {
                self.counts.other_memory_operations += 1;
                return Some(());
            }
        };
        let kind = kind_of_memory(memory_kind);
        let owner = match kind {
            MemoryKind::Pageable | MemoryKind::Pinned => Some(MemoryOwner::HOST),
            _ => MemoryOwner::cuda(device_id),
        };
        self.items.push(DeviceItem::Memory(DeviceMemory {
            at_ns: stamp_ns(timestamp),
            change,
            kind,
            owner,
            address,
            bytes,
            pool: MemoryFromPool::read(record).and_then(pool),
            stream: (stream_id != NO_STREAM).then_some(stream_id.into()),
            // Its call is on one.
            thread: None,
            correlation: correlation_id.into(),
        }));
        Some(())
    }

    /// Notes on which device a context is.
    fn on(&mut self, context: u32, device: u32) -> u32 {
        self.devices.insert(context, device);
        device
    }

    fn keep(&mut self, record: DeviceRecord) {
        self.items.push(DeviceItem::Record(record));
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

fn work(
    kind: Category,
    name: Arc<str>,
    (start, end): (u64, u64),
    (device, stream): (u32, u32),
    correlation: u32,
    graph: Option<GraphNode>,
) -> DeviceRecord {
    DeviceRecord {
        kind,
        name,
        start_ns: stamp_ns(start),
        end_ns: stamp_ns(end),
        device,
        stream: stream.into(),
        correlation: correlation.into(),
        graph,
    }
}

/// By CUPTI's number.
fn kind_of_memory(number: u32) -> MemoryKind {
    match number {
        1 => MemoryKind::Pageable,
        2 => MemoryKind::Pinned,
        3 => MemoryKind::Device,
        4 => MemoryKind::Array,
        5 => MemoryKind::Managed,
        6 => MemoryKind::DeviceStatic,
        7 => MemoryKind::ManagedStatic,
        _ => MemoryKind::Unknown,
    }
}

/// The pool that memory is of, if it is of one; that of another process says no size.
fn pool(from: MemoryFromPool) -> Option<MemoryPool> {
    const LOCAL: u32 = 1;
    const IMPORTED: u32 = 2;
    let MemoryFromPool { pool_type, pool_address: address, pool_size } = from;
    match pool_type {
        LOCAL => Some(MemoryPool { address, bytes: pool_size }),
        IMPORTED => Some(MemoryPool { address, bytes: 0 }),
        _ => None,
    }
}

fn graph_node(graph: u32, node: u64) -> Option<GraphNode> {
    (graph != 0).then_some(GraphNode { graph: graph.into(), node })
}

#[cfg(test)]
mod tests;
