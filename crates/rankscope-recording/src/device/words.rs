//! [`Words`]: device work as words of a recording, as a thread would have written them that knew all of it beforehand.

use std::collections::HashMap;
use std::sync::Arc;

use super::join::Activity;
use super::ledger::MemoryEvent;
use super::place::{MEMORY_KIND, MEMORY_PLACE, MemoryPlace};
use super::work::{Arrow, DEVICE_WORK, DeviceWork, WorkPlace};
use crate::Category;
use crate::args::{ArgView, I64s};
use crate::author::device_field;
use crate::chunk::CHUNK_WORDS;
use crate::live::Chunks;
use crate::open::Recording;
use crate::system::Name;
use crate::word::{DELTA_BITS, Kind, NameId, Word};

/// Words as of a chunk, without a header.
#[derive(Debug, Default)]
pub(crate) struct ShownChunk {
    pub(crate) base_tick: u64,
    pub(crate) words: Vec<u64>,
}

/// Numbers of names, by text and category.
pub(super) type Known = HashMap<(Arc<str>, Category), NameId>;

/// Words that tell of device work.
pub(super) struct Words<'r, C> {
    recording: &'r Recording<C>,
    /// No work is shown behind this.
    last_tick: u64,
    first_tick: u64,
    known: Known,
    names: Vec<Name>,
    keys: [NameId; 4],
    /// Of changes of memory; none before the first of them.
    memory_keys: Option<[NameId; 7]>,
    chunks: Vec<ShownChunk>,
    base_tick: u64,
    /// That of the work before; ticks of a thread never fall.
    tick: u64,
}

impl<'r, C: Chunks> Words<'r, C> {
    /// Words of work that was handed over until `last_tick`, whose names are `known`.
    pub(super) fn new(recording: &'r Recording<C>, last_tick: u64, known: Known) -> Self {
        let first_tick = recording.sessions().iter().map(|session| session.start_tick).min().unwrap_or(0);
        let mut words = Self {
            recording,
            last_tick,
            first_tick: first_tick.min(last_tick),
            known,
            names: Vec::new(),
            keys: [NameId::default(); 4],
            memory_keys: None,
            chunks: Vec::new(),
            base_tick: 0,
            tick: 0,
        };
        words.keys =
            [DEVICE_WORK, "External id", "graph id", "graph node id"].map(|key| words.name(key.into(), Category::CPU_OP));
        words
    }

    /// Names that the recording lacks, and the words.
    pub(super) fn finish(self) -> (Vec<Name>, Vec<ShownChunk>) {
        (self.names, self.chunks)
    }

    /// The number of a name, which the recording gets if it lacks it. No name where there is no number left.
    fn name(&mut self, text: Arc<str>, category: Category) -> NameId {
        let own = self.recording.names().len();
        let next = NameId(u32::try_from(own + self.names.len()).unwrap_or(u32::MAX));
        *self.known.entry((text, category)).or_insert_with_key(|(text, category)| {
            if next.0 > NameId::MAX {
                return NameId::default();
            }
            self.names.push(Name { text: (&**text).into(), category: category.number(), scope: 0 });
            next
        })
    }

    pub(super) fn put(&mut self, activity: &Activity, arrow: Arrow) {
        let name = self.name(activity.record.name.clone(), activity.record.kind);
        if name == NameId::default() {
            return;
        }
        let args = self.args(activity, arrow);
        self.event(activity.record.start_ns, (Kind::Instant, name.0), &[], &args);
    }

    pub(super) fn put_memory(&mut self, event: &MemoryEvent) {
        let args = self.memory_args(event);
        let owner = device_field((event.owner.device_type(), event.owner.device_index()));
        self.event(event.at_ns, (Kind::Memory, owner), &[event.address, event.bytes.cast_unsigned()], &args);
    }

    fn event(&mut self, at_ns: i64, (kind, name): (Kind, u32), payload: &[u64], args: &[u64]) {
        let tick = self.recording.ticks().tick(at_ns).clamp(self.first_tick, self.last_tick).max(self.tick);
        self.tick = tick;
        let room = CHUNK_WORDS - payload.len() - args.len() - 3;
        if self.chunks.last().is_none_or(|chunk| chunk.words.len() > room) {
            self.chunks.push(ShownChunk { base_tick: tick, words: Vec::new() });
            self.base_tick = tick;
        }
        let Some(chunk) = self.chunks.last_mut() else { return };
        if (tick - self.base_tick) >> DELTA_BITS != 0 {
            chunk.words.extend([Word::new(Kind::Rebase, 0, 0).0, tick]);
            self.base_tick = tick;
        }
        chunk.words.push(Word::new(kind, name, tick - self.base_tick).0);
        chunk.words.extend(payload);
        chunk.words.extend(args);
    }

    fn args(&self, activity: &Activity, arrow: Arrow) -> Vec<u64> {
        let [work, op, graph, node] = self.keys;
        let record = &activity.record;
        let (start_ns, end_ns) = (record.start_ns, record.end_ns.max(record.start_ns));
        let place = if record.is_call() {
            WorkPlace::Thread { tid: record.stream }
        } else {
            WorkPlace::Stream { device: record.device, stream: record.stream }
        };
        let list = DeviceWork { start_ns, end_ns, place, correlation: record.correlation, arrow }.to_list();
        let mut words = Vec::with_capacity(16);
        ArgView::I64s(I64s::of(&I64s::pack(&list))).put(work, &mut words);
        let mut number = |key, number| unsigned(number).put(key, &mut words);
        if let Some(id) = activity.op.or(activity.annotation) {
            number(op, id);
        }
        match (record.graph, activity.graph) {
            (Some(of), _) => {
                number(graph, of.graph);
                number(node, of.node);
            }
            (None, Some(of)) => number(graph, of),
            (None, None) => {}
        }
        words
    }

    /// Named with the first change of memory, so that a recording without any has no names of theirs.
    fn memory_keys(&mut self) -> [NameId; 7] {
        if let Some(keys) = self.memory_keys {
            return keys;
        }
        let keys = [MEMORY_PLACE, "Total Allocated", "Total Reserved", MEMORY_KIND, "External id", "stream", "correlation"];
        let keys = keys.map(|key| self.name(key.into(), Category::CPU_OP));
        self.memory_keys = Some(keys);
        keys
    }

    fn memory_args(&mut self, event: &MemoryEvent) -> Vec<u64> {
        let [place, allocated, reserved, kind, op, stream, correlation] = self.memory_keys();
        let mut words = Vec::with_capacity(20);
        let list = MemoryPlace { at_ns: event.at_ns, thread: event.thread }.to_list();
        ArgView::I64s(I64s::of(&I64s::pack(&list))).put(place, &mut words);
        if let Some(totals) = event.totals {
            ArgView::I64(totals.allocated_bytes).put(allocated, &mut words);
            ArgView::I64(totals.reserved_bytes).put(reserved, &mut words);
        }
        ArgView::Text(event.kind.name().into()).put(kind, &mut words);
        let call = Some(event.correlation).filter(|number| *number != 0);
        for (key, number) in [(op, event.op), (stream, event.stream), (correlation, call)] {
            if let Some(number) = number {
                unsigned(number).put(key, &mut words);
            }
        }
        words
    }
}

fn unsigned(number: u64) -> ArgView<'static> {
    i64::try_from(number).map_or(ArgView::U64(number), ArgView::I64)
}
