//! [`DeviceSource`]: what a device's library tells goes into the recording as it comes, and is joined by whoever opens it.
//!
//! So a process that is killed leaves the work of its devices beside its spans, and nothing waits in memory for the end. What finds no
//! room is dropped and counted, as any other event of the thread that hands it over.

use std::sync::atomic::{AtomicU32, Ordering};

use rankscope_recording::device::{
    DEVICE_GRAPHS, DEVICE_MEMORY, DEVICE_RECORD, DEVICE_TIES, DeviceItem, DeviceMemory, DeviceRecord, DeviceTally,
    ExternalCorrelation, GraphLaunch, SourceId, TIES_MAX, graphs_list, memory_list, record_list, ties_list,
};
use rankscope_recording::{Category, ClockId, Cut, Kind, NameId};

use crate::lane::tally::Sort;
use crate::names::{Site, intern};
use crate::recorded::Recorded;
use crate::scope::Scope;
use crate::value::Value;
use crate::{anchors, control, lane, state};

/// A library of devices whose numbers of calls are its own.
///
/// ```
/// use rankscope_record::plugins::DeviceSource;
/// use rankscope_record::recording::ClockId;
/// use rankscope_record::recording::device::{DeviceItem, DeviceRecord};
/// use rankscope_record::{Category, Session, SessionOptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Session::start(SessionOptions::default())?;
/// let source = DeviceSource::new(ClockId::REALTIME);
/// let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_nanos() as i64;
/// source.hand_over(&[DeviceItem::Record(DeviceRecord {
///     kind: Category::KERNEL,
///     name: "gemm".into(),
///     start_ns: now - 2_000,
///     end_ns: now - 1_000,
///     device: 0,
///     stream: 7,
///     correlation: 1,
///     graph: None,
/// })]);
/// assert_eq!(source.tally().map(|tally| tally.activities), Some(1));
/// session.stop()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct DeviceSource {
    id: SourceId,
    clock: ClockId,
}

impl DeviceSource {
    /// One whose times are of `clock`, a clock of this host.
    pub fn new(clock: ClockId) -> Self {
        static LAST: AtomicU32 = AtomicU32::new(0);
        Self { id: SourceId(LAST.fetch_add(1, Ordering::Relaxed) + 1), clock }
    }

    /// Records what the library told, in whatever order it comes; on any thread, and as long as the session runs. Kinds that no session
    /// wants are left out.
    pub fn hand_over(&self, items: &[DeviceItem]) {
        let (mut ties, mut graphs) = (Vec::new(), Vec::new());
        for item in items {
            match item {
                DeviceItem::Record(record) => self.record(record),
                DeviceItem::Tie(tie) => ties.push(*tie),
                DeviceItem::Memory(memory) => self.memory(memory),
                DeviceItem::Graph(launch) => graphs.push(*launch),
            }
        }
        ties.chunks(TIES_MAX).for_each(|ties| self.ties(ties));
        graphs.chunks(TIES_MAX).for_each(|launches| self.graphs(launches));
    }

    fn record(&self, record: &DeviceRecord) {
        static RECORD: Site = Site::key(DEVICE_RECORD);
        let Some(epoch) = state::epoch_if_on(record.kind.alone().0) else { return };
        let name = intern(&record.name, record.kind, Scope::Function);
        instant(epoch, RECORD.id(), (name, &record_list(self.id, self.clock, record)));
    }

    fn ties(&self, ties: &[ExternalCorrelation]) {
        static TIES: Site = Site::key(DEVICE_TIES);
        let Some(epoch) = state::epoch_if_on(u32::MAX) else { return };
        instant(epoch, TIES.id(), (TIES.id(), &ties_list(self.id, ties)));
    }

    fn graphs(&self, launches: &[GraphLaunch]) {
        static GRAPHS: Site = Site::key(DEVICE_GRAPHS);
        let Some(epoch) = state::epoch_if_on(u32::MAX) else { return };
        instant(epoch, GRAPHS.id(), (GRAPHS.id(), &graphs_list(self.id, launches)));
    }

    /// Changes of memory are recorded by sessions that record those of the program.
    fn memory(&self, memory: &DeviceMemory) {
        static MEMORY: Site = Site::key(DEVICE_MEMORY);
        let Some(epoch) = state::epoch_if_on(Category::CPU_INSTANT_EVENT.alone().0) else { return };
        instant(epoch, MEMORY.id(), (MEMORY.id(), &memory_list(self.id, self.clock, memory)));
    }

    /// What the recording that runs makes of all that was handed over; none where none runs, or nothing was. It reads the recording, so
    /// it is for the end.
    pub fn tally(&self) -> Option<DeviceTally> {
        let lease = control::lock().current.clone()?;
        // Times behind the last reading of both clocks would be less exact.
        let now = anchors::take(lease.store().test_clock.as_ref());
        lease.store().system(|system| system.anchors(&now));
        let recording = Recorded::new(lease, Cut::everything()).open().ok()?;
        recording.device_tally(self.id).cloned()
    }
}

/// Records the event called `name` that has one list.
fn instant(epoch: u32, name: NameId, (key, list): (NameId, &[i64])) {
    lane::with(|lane| lane.event(epoch, Sort::Instant, (Kind::Instant, name.0), &[], &[(key, Value::I64s(list))]));
}
