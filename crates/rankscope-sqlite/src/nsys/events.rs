//! [`Events`]: which call recorded the event that a wait is for, and on which stream.
//!
//! Records of events have no time of their own, but the number of their call, which rises with time within a process. A wait is for the
//! last record of its event before it; newer reports say by a number of its own which that was. A wait whose record is not in the report
//! names nothing.

use rankscope_trace::Awaited;
use rustc_hash::FxHashMap;

use crate::database::Row;

/// Columns of `CUPTI_ACTIVITY_KIND_CUDA_EVENT`.
pub(super) const COLUMNS: [&str; 6] = ["globalPid", "contextId", "streamId", "correlationId", "eventId", "eventSyncId"];

/// An event of a context of a process, or what one record of it is numbered by.
type Key = (Option<i64>, Option<i64>, i64);

/// All records of events.
#[derive(Debug, Default)]
pub(super) struct Events {
    /// By event: number of the call and stream, ascending once all are in.
    of_event: FxHashMap<Key, Vec<(u64, Option<u32>)>>,
    /// By the number of the record itself.
    of_record: FxHashMap<Key, (u64, Option<u32>)>,
}

impl Events {
    /// Adds a row of [`COLUMNS`].
    pub(super) fn add(&mut self, row: &Row<'_>) {
        let Some(call) = row.id(3).filter(|call| *call != 0) else { return };
        let (process, context) = (row.integer(0), row.integer(1));
        let record = (call, row.size(2).and_then(|stream| u32::try_from(stream).ok()));
        if let Some(event) = row.integer(4) {
            self.of_event.entry((process, context, event)).or_default().push(record);
        }
        if let Some(number) = row.integer(5).filter(|number| *number != 0) {
            self.of_record.insert((process, context, number), record);
        }
    }

    /// All are in.
    pub(super) fn sort(&mut self) {
        self.of_event.values_mut().for_each(|records| records.sort_unstable());
    }

    /// What call `call` waits for, by the event and by the number of its record.
    pub(super) fn awaited(&self, (process, context): (Option<i64>, Option<i64>), call: u64, by: [Option<i64>; 2]) -> Awaited {
        let [event, number] = by;
        let numbered = number.and_then(|number| self.of_record.get(&(process, context, number)));
        let last = || {
            let records = self.of_event.get(&(process, context, event?))?;
            records[..records.partition_point(|(record, _)| *record < call)].last()
        };
        let found = numbered.or_else(last);
        found.map_or_else(Awaited::default, |(call, stream)| Awaited { stream: *stream, recorded_by: Some(*call) })
    }
}
