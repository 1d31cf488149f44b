//! Everything that is not a span on one thread: moments, values, arrows, asynchronous spans, memory. Their category is the one
//! that their name was interned with.

use std::cell::Cell;
use std::mem;
use std::sync::atomic::{AtomicU64, Ordering};

use rankscope_recording::{FlowStage, Kind, NOTED, NameId, Noted};

use crate::lane;
use crate::lane::tally::Sort;
use crate::names::{self, Site};
use crate::state;
use crate::value::Value;
use rankscope_recording::Category;

/// Records a moment.
#[inline]
pub fn instant(name: NameId, args: &[(NameId, Value<'_>)]) {
    if let Some(epoch) = state::epoch_if_on(names::category_bit(name)) {
        lane::with(|lane| lane.event(epoch, Sort::Instant, (Kind::Instant, name.0), &[], args));
    }
}

/// Notes a span that is over: it was from `start_tick` to `end_tick`, on whatever threads. Ticks are those of
/// [`ticks`](crate::ticks()). For who watches something from several threads and knows only in the end what it was; a span that is
/// open when the process dies is not in the recording. Nothing is recorded where it ends before it starts.
///
/// ```
/// use rankscope_record::{Category, Scope, Session, SessionOptions, Value, intern, intern_key, noted, ticks};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let session = Session::start(SessionOptions::default())?;
/// let name = intern("transfer", Category::USER_ANNOTATION, Scope::UserScope);
/// let start_tick = ticks();
/// // ... somebody else says that it is done ...
/// noted(name, start_tick, ticks(), &[(intern_key("bytes"), Value::I64(4096))]);
/// assert_eq!(session.stop()?.report.events(), 1);
/// # Ok(())
/// # }
/// ```
pub fn noted(name: NameId, start_tick: u64, end_tick: u64, args: &[(NameId, Value<'_>)]) {
    static KEY: Site = Site::key(NOTED);
    if start_tick > end_tick {
        return;
    }
    let list = Noted { start_tick, end_tick }.to_list();
    let mut all = Vec::with_capacity(1 + args.len());
    all.push((KEY.id(), Value::I64s(&list)));
    all.extend_from_slice(args);
    instant(name, &all);
}

/// Records a whole number.
#[inline]
pub fn counter_i64(name: NameId, value: i64) {
    if let Some(epoch) = state::epoch_if_on(names::category_bit(name)) {
        lane::with(|lane| lane.event(epoch, Sort::Counter, (Kind::CounterI64, name.0), &[value as u64], &[]));
    }
}

/// Records a number.
#[inline]
pub fn counter_f64(name: NameId, value: f64) {
    if let Some(epoch) = state::epoch_if_on(names::category_bit(name)) {
        lane::with(|lane| lane.event(epoch, Sort::Counter, (Kind::CounterF64, name.0), &[value.to_bits()], &[]));
    }
}

/// Records a point of the arrow `id`, in the innermost span that is open.
#[inline]
pub fn flow(name: NameId, id: u64, stage: FlowStage) {
    let kind = match stage {
        FlowStage::Start => Kind::FlowStart,
        FlowStage::Step => Kind::FlowStep,
        FlowStage::End => Kind::FlowEnd,
    };
    if let Some(epoch) = state::epoch_if_on(names::category_bit(name)) {
        lane::with(|lane| lane.event(epoch, Sort::Flow, (kind, name.0), &[id], &[]));
    }
}

/// A span that may end on another thread. Its end is recorded when this is dropped.
#[must_use = "the span ends when this is dropped"]
#[derive(Debug)]
pub struct AsyncSpan {
    epoch: u32,
    name: NameId,
    id: u64,
}

/// Begins a span that may end on another thread.
pub fn begin_async(name: NameId, args: &[(NameId, Value<'_>)]) -> AsyncSpan {
    if state::epoch_if_on(names::category_bit(name)).is_none() {
        return AsyncSpan { epoch: 0, name, id: 0 };
    }
    begin_async_as(next_async_id(), name, args)
}

/// As [`begin_async`], with an id from [`next_async_id`].
pub(crate) fn begin_async_as(id: u64, name: NameId, args: &[(NameId, Value<'_>)]) -> AsyncSpan {
    let Some(epoch) = state::epoch_if_on(names::category_bit(name)) else { return AsyncSpan { epoch: 0, name, id } };
    let is_recorded = lane::with(|lane| lane.event(epoch, Sort::Async, (Kind::AsyncBegin, name.0), &[id], args));
    AsyncSpan { epoch: if is_recorded { epoch } else { 0 }, name, id }
}

impl AsyncSpan {
    /// What ties its two ends together.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Ends it now, with arguments.
    pub fn end(self, args: &[(NameId, Value<'_>)]) {
        self.record_end(args);
        mem::forget(self);
    }

    fn record_end(&self, args: &[(NameId, Value<'_>)]) {
        if self.epoch != 0 {
            lane::with(|lane| lane.event(self.epoch, Sort::Async, (Kind::AsyncEnd, self.name.0), &[self.id], args));
        }
    }
}

impl Drop for AsyncSpan {
    fn drop(&mut self) {
        self.record_end(&[]);
    }
}

/// Unique in the process: 24 bits of a number that each thread draws once, 40 of its own count.
pub(crate) fn next_async_id() -> u64 {
    static THREADS: AtomicU64 = AtomicU64::new(1);
    thread_local!(static NEXT: Cell<u64> = const { Cell::new(0) });
    if NEXT.get() == 0 {
        NEXT.set(THREADS.fetch_add(1, Ordering::Relaxed) << 40);
    }
    NEXT.replace(NEXT.get() + 1)
}

/// Memory taken or given back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryEvent {
    /// Address of the block.
    pub address: u64,
    /// Its bytes; negative when given back.
    pub bytes: i64,
    /// Kind of device, as torch numbers them: 0 host, 1 CUDA. Up to 63.
    pub device_type: u8,
    /// Which of them, −1 for the host. Up to 4094.
    pub device_index: i16,
    /// The memory was not there.
    pub out_of_memory: bool,
    /// Bytes taken in all, if the allocator knows.
    pub total_allocated: Option<i64>,
    /// Bytes the allocator holds in all, if it knows.
    pub total_reserved: Option<i64>,
}

/// Records memory taken or given back.
#[inline]
pub fn memory(event: &MemoryEvent) {
    let Some(epoch) = state::epoch_if_on(Category::CPU_INSTANT_EVENT.alone().0) else { return };
    static ALLOCATED: Site = Site::key("Total Allocated");
    static RESERVED: Site = Site::key("Total Reserved");
    let kind = if event.out_of_memory { Kind::OutOfMemory } else { Kind::Memory };
    let device = u32::from(event.device_type & 63) << 12 | (i32::from(event.device_index) + 1).clamp(0, 4095) as u32;
    let totals = [(&ALLOCATED, event.total_allocated), (&RESERVED, event.total_reserved)];
    let mut args = [(NameId(0), Value::I64(0)); 2];
    let mut known = 0;
    for (key, total) in totals {
        if let Some(total) = total {
            args[known] = (key.id(), Value::I64(total));
            known += 1;
        }
    }
    let payload = [event.address, event.bytes as u64];
    lane::with(|lane| lane.event(epoch, Sort::Memory, (kind, device), &payload, &args[..known]));
}
