//! [`join()`]: records linked to ops, work paired with the call that launched it.
//!
//! Numbers are looked up in hash tables, so the joins are linear; the sort that makes the result independent of the order of
//! buffers finds runs that are in order already. Times are never amended: what cannot be is counted as an oddity.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::RangeInclusive;

use super::annotation::{GpuAnnotation, annotations};
use super::ledger::{Ledger, MemoryEvent, MemoryOddities};
use super::memory::DeviceMemory;
use super::record::{CorrelationKind, DeviceItem, DeviceRecord, HostOp, Role};
use super::ties::Ties;

/// A record and whom it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    /// The record.
    pub record: DeviceRecord,
    /// The correlation id of the op it belongs to.
    pub op: Option<u64>,
    /// The correlation id of the innermost range of the program it belongs to.
    pub annotation: Option<u64>,
    /// The graph that its call launched, where its record says none.
    pub graph: Option<u64>,
}

/// Records that were left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Wholly before or after the window.
    pub out_of_window: u64,
    /// Without a start or an end: a library gives zero for what it could not read.
    pub zero_timestamp: u64,
}

/// What is kept although it is odd.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Work and waits that start before their call: the device's clock is off.
    pub early_starts: u64,
    /// Records that end before they start.
    pub reversed: u64,
    /// Work and waits whose call is not among the records.
    pub without_call: u64,
    /// Calls with the number of an earlier one, which keeps the work.
    pub repeated_calls: u64,
    /// Calls that are tied to several ops of one kind; the largest correlation id has them.
    pub disputed_calls: u64,
    /// Ties to ops nobody knows, or from annotations to ops that are none.
    pub unknown_ops: u64,
}

/// Device work with its links.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// All records that were kept, by start.
    pub activities: Vec<Activity>,
    /// Arrows from a call to its work and waits ("ac2g"), by their places in `activities`, by call. No end has two.
    pub pairs: Vec<(usize, usize)>,
    /// The program's ranges on the device ("gpu_user_annotation"), by start.
    pub annotations: Vec<GpuAnnotation>,
    /// What was left out.
    pub dropped: Dropped,
    /// What is odd.
    pub oddities: Oddities,
    /// Memory that was allocated and freed.
    pub memory: JoinedMemory,
}

/// Changes of memory, in order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JoinedMemory {
    /// Those that were kept.
    pub events: Vec<MemoryEvent>,
    /// What was left out, and stands in no total.
    pub dropped: Dropped,
    /// What is odd.
    pub oddities: MemoryOddities,
}

impl Joined {
    /// Each call that launched something, once, with the pairs it has: an arrow that starts once and ends in each of them.
    pub fn launches(&self) -> impl Iterator<Item = (&Activity, &[(usize, usize)])> {
        self.pairs.chunk_by(|a, b| a.0 == b.0).map(|pairs| (&self.activities[pairs[0].0], pairs))
    }

    fn take(&mut self, record: DeviceRecord, ties: &Ties, graphs: &HashMap<u64, u64>, window: &RangeInclusive<i64>) {
        let DeviceRecord { start_ns, end_ns, correlation, .. } = record;
        if start_ns == 0 || end_ns == 0 {
            self.dropped.zero_timestamp += 1;
        } else if start_ns > *window.end() || start_ns.max(end_ns) < *window.start() {
            self.dropped.out_of_window += 1;
        } else {
            self.oddities.reversed += u64::from(end_ns < start_ns);
            let op = ties.op(CorrelationKind::Default, correlation);
            let annotation = ties.op(CorrelationKind::UserAnnotation, correlation);
            let is_work = record.role() == Role::Work && record.graph.is_none();
            let graph = graphs.get(&correlation).copied().filter(|_| is_work);
            self.activities.push(Activity { record, op, annotation, graph });
        }
    }

    fn pair(&mut self, calls: &HashMap<u64, usize>) {
        for (place, Activity { record, .. }) in self.activities.iter().enumerate() {
            if !matches!(record.role(), Role::Work | Role::Wait) {
                continue;
            }
            match calls.get(&record.correlation) {
                Some(&call) => {
                    self.oddities.early_starts += u64::from(record.start_ns < self.activities[call].record.start_ns);
                    self.pairs.push((call, place));
                }
                None => self.oddities.without_call += 1,
            }
        }
        self.pairs.sort_unstable();
    }

    /// Enters changes of memory in order of time; of one instant in that of their calls. Whoever does not say its thread is on its call's.
    fn remember(&mut self, mut changes: Vec<DeviceMemory>, calls: &HashMap<u64, usize>, ties: &Ties) {
        changes.sort_unstable_by_key(DeviceMemory::place);
        let mut ledger = Ledger::default();
        for change in &changes {
            let Some(mut event) = ledger.enter(change) else { continue };
            let call = calls.get(&event.correlation).map(|call| &self.activities[*call].record);
            event.thread = event.thread.or(call.map(|call| call.stream));
            event.op = ties.op(CorrelationKind::Default, event.correlation);
            self.memory.events.push(event);
        }
        self.memory.oddities = ledger.oddities;
    }

    /// Places of calls by their numbers. Of several the first, which encloses those that start with it: a call of the runtime
    /// has a call of the driver inside.
    fn calls(&mut self) -> HashMap<u64, usize> {
        let mut calls = HashMap::new();
        for (place, Activity { record, .. }) in self.activities.iter().enumerate() {
            if record.role() != Role::Call || record.correlation == 0 {
                continue;
            }
            match calls.entry(record.correlation) {
                Entry::Vacant(vacant) => drop(vacant.insert(place)),
                Entry::Occupied(_) => self.oddities.repeated_calls += 1,
            }
        }
        calls
    }
}

/// Graphs by the numbers of the calls that launched them. A call launches one; of several the largest, which no order of buffers changes.
fn graphs(buffers: &[Vec<DeviceItem>]) -> HashMap<u64, u64> {
    let mut graphs: HashMap<u64, u64> = HashMap::new();
    for item in buffers.iter().flatten() {
        if let DeviceItem::Graph(launch) = item
            && launch.correlation != 0
        {
            let graph = graphs.entry(launch.correlation).or_insert(launch.graph);
            *graph = (*graph).max(launch.graph);
        }
    }
    graphs
}

/// Joins what is in `buffers`, in whatever order, to `ops` by their correlation ids. Records without a moment in `window`
/// (nanoseconds since 1970) are dropped.
pub fn join(buffers: Vec<Vec<DeviceItem>>, ops: &HashMap<u64, HostOp>, window: &RangeInclusive<i64>) -> Joined {
    let ties = Ties::read(&buffers, ops);
    let mut joined = Joined::default();
    joined.oddities.unknown_ops = ties.unknown_ops;
    joined.oddities.disputed_calls = ties.disputed_calls;
    let graphs = graphs(&buffers);
    let mut changes = Vec::new();
    for item in buffers.into_iter().flatten() {
        match item {
            DeviceItem::Record(record) => joined.take(record, &ties, &graphs, window),
            DeviceItem::Memory(memory) if memory.at_ns == 0 => joined.memory.dropped.zero_timestamp += 1,
            DeviceItem::Memory(memory) if !window.contains(&memory.at_ns) => joined.memory.dropped.out_of_window += 1,
            DeviceItem::Memory(memory) => changes.push(memory),
            DeviceItem::Tie(_) | DeviceItem::Graph(_) => {}
        }
    }
    joined.activities.sort_unstable_by(|a, b| a.record.place().cmp(&b.record.place()));
    let calls = joined.calls();
    joined.pair(&calls);
    joined.remember(changes, &calls, &ties);
    joined.annotations = annotations(&joined.activities, ops);
    joined
}
