//! The packets of one thread.
//!
//! A begin waits for the event behind it: Perfetto hangs arrows on begins, and recorders say them afterwards.

use std::io::Write;

use rustc_hash::{FxHashMap, FxHashSet};

use super::args::Dictionary;
use super::{COUNTERS_UUID, PROCESS_UUID};
use crate::Error;
use crate::perfetto::note;
use crate::perfetto::opening::open_sequence;
use crate::perfetto::schema::{self, clock, event as field, packet, track};
use crate::recording::export::about::About;
use crate::recording::export::names::{Names, needs_link};
use crate::recording::export::written::{Output, ThreadWritten, Written};
use crate::recording::{
    ArgView, Args, Category, CounterValue, DEVICE_WORK, Event, FlowStage, MEMORY_PLACE, NameId, RESUMED, Resumed, What,
    take_out,
};
use crate::wire::Encoder;

/// One sequence after the other.
pub(super) struct Sequence<'a, 'r, W> {
    pub(super) dictionary: Dictionary<'r>,
    external_id: Option<u32>,
    /// Whether spans say their own numbers.
    is_numbered: bool,
    /// The key of what async spans say about the time before their begin.
    resumed: Option<u32>,
    /// The key of what makes an instant device work.
    pub(super) device_work: Option<u32>,
    /// The key of when and where memory of a device was asked for.
    pub(super) memory_place: Option<u32>,
    /// Tracks of devices that have been described.
    pub(super) devices: FxHashSet<u64>,
    /// Slices that a flow starts from, with the async span it belongs to.
    firsts: FxHashMap<u64, u64>,
    output: Output<'a, Encoder, W>,
    id: u32,
    last_ns: i64,
    /// The body of an event that is not written yet, and whether it is a begin that waits for its arrows.
    pub(super) event: Encoder,
    event_ns: i64,
    /// When the event was, if that is earlier than where it stands.
    pub(super) since_ns: Option<i64>,
    waits: bool,
    /// The thread's track.
    thread: u64,
    /// Correlation ids of the open spans, the outermost first.
    open: Vec<u64>,
    /// Arrows that end in them: the span, the arrow.
    arrivals: Vec<(u64, u64)>,
    /// Spans of the thread that overlap others.
    overlapping: FxHashSet<u64>,
}

impl<'a, 'r, W: Write> Sequence<'a, 'r, W> {
    pub(super) fn new(about: &About, names: Names<'r>, output: Output<'a, Encoder, W>, firsts: FxHashMap<u64, u64>) -> Self {
        let external_id = names.find("External id");
        Self {
            external_id,
            is_numbered: about.is_kineto || external_id.is_some(),
            resumed: names.find(RESUMED),
            device_work: names.find(DEVICE_WORK),
            memory_place: names.find(MEMORY_PLACE),
            devices: FxHashSet::default(),
            firsts,
            dictionary: Dictionary::new(names),
            output,
            id: 0,
            last_ns: 0,
            event: Encoder::default(),
            event_ns: 0,
            since_ns: None,
            waits: false,
            thread: 0,
            open: Vec::new(),
            arrivals: Vec::new(),
            overlapping: FxHashSet::default(),
        }
    }

    /// Where packets that are of no thread go.
    pub(super) fn encoder(&mut self) -> &mut Encoder {
        &mut self.output.buffer
    }

    /// Opens the sequence of the thread on track `uuid`, of whose spans those `overlapping` do not nest.
    pub(super) fn start(&mut self, id: u32, uuid: u64, overlapping: FxHashSet<u64>) {
        (self.id, self.last_ns, self.thread, self.overlapping) = (id, 0, uuid, overlapping);
        self.open.clear();
        self.arrivals.clear();
        self.dictionary.forget();
        open_sequence(&mut self.output.buffer, id, uuid);
    }

    /// Closes the sequence.
    pub(super) fn end(&mut self) -> Result<(), Error> {
        self.settle();
        self.output.flush_if_full()
    }

    /// Completes the file.
    pub(super) fn finish(self, threads: Vec<ThreadWritten>) -> Result<Written, Error> {
        self.output.finish(threads)
    }

    /// What an event says about the time before it.
    #[inline]
    pub(super) fn resumed(&self, event: &Event, args: Args<'_>) -> Option<Resumed> {
        let (What::AsyncBegin { .. }, Some(key)) = (event.what, self.resumed) else { return None };
        Resumed::of(event, args, |name| self.dictionary.names.same(name) == key)
    }

    /// Adds an event of the thread, with its time and, for work that was taken up again, when that was created. `counters` are
    /// those whose tracks have been described.
    pub(super) fn event(
        &mut self,
        event: &Event,
        (ns, since_ns): (i64, Option<i64>),
        args: Args<'_>,
        counters: &mut FxHashSet<u32>,
    ) -> Result<(), Error> {
        if let What::Flow { id, stage } = event.what {
            self.flow(event.name, id, stage, ns);
            return Ok(());
        }
        self.settle();
        self.event_ns = ns;
        match event.what {
            What::Begin { id, number } => self.begin(event.name, id, number, args),
            What::End { unfinished, above } => self.close(args, unfinished, above),
            What::Instant if self.device_work(event, args) => {}
            What::Instant => {
                self.named(field::INSTANT, event.name);
                self.args(args);
            }
            What::Counter(value) => self.counter(event.name, value, counters),
            What::AsyncBegin { id } => {
                let uuid = uuid_of_async(id);
                self.describe(uuid, PROCESS_UUID, self.dictionary.names.text(event.name), |_| {});
                self.named(field::SLICE_BEGIN, event.name);
                self.event.varint(field::TRACK_UUID, uuid);
                self.args(args);
                if since_ns.is_some() {
                    self.since_ns = since_ns;
                    self.event.fixed64(field::FLOW_IDS, self.arrow(event.name, id));
                }
            }
            What::AsyncEnd { id } => {
                self.event.varint(field::TYPE, field::SLICE_END).varint(field::TRACK_UUID, uuid_of_async(id));
                self.args(args);
            }
            What::Memory { .. } => self.memory(&event.what, args),
            What::Flow { .. } => {}
        }
        if !self.waits {
            self.packet();
        }
        self.output.flush_if_full()
    }

    fn begin(&mut self, name: NameId, id: u64, number: Option<i64>, args: Args<'_>) {
        let is_overlapping = self.overlapping.contains(&id);
        if is_overlapping {
            self.describe(uuid_of_overlapping(id), self.thread, self.dictionary.names.text(name), |_| {});
        }
        match number {
            None => self.named(field::SLICE_BEGIN, name),
            Some(number) => {
                let category = self.dictionary.category(self.dictionary.names.category(name));
                let name = format!("{}#{number}", self.dictionary.names.text(name));
                self.event.varint(field::TYPE, field::SLICE_BEGIN).string(field::NAME, &name);
                self.event.varint(field::CATEGORY_IIDS, category);
            }
        }
        let mut linked = id == 0 || needs_link(self.dictionary.names.category(name));
        for (key, value) in args.iter() {
            linked |= self.external_id == Some(self.dictionary.names.same(key));
            self.dictionary.argument(&mut self.event, key, &value);
        }
        if self.is_numbered && !linked {
            self.dictionary.own_argument(&mut self.event, "External id", &ArgView::U64(id));
        }
        if is_overlapping {
            self.event.varint(field::TRACK_UUID, uuid_of_overlapping(id));
            self.dictionary.own_argument(&mut self.event, "misnested", &ArgView::Bool(true));
        }
        if let Some(work) = self.firsts.get(&id) {
            self.event.fixed64(field::FLOW_IDS, self.arrow(name, *work));
        }
        self.open.push(id);
        self.waits = true;
    }

    fn close(&mut self, args: Args<'_>, unfinished: bool, above: u32) {
        self.event.varint(field::TYPE, field::SLICE_END);
        let id = take_out(&mut self.open, above);
        if let Some(id) = id.filter(|id| self.overlapping.contains(id)) {
            self.event.varint(field::TRACK_UUID, uuid_of_overlapping(id));
        }
        self.args(args);
        if unfinished {
            self.dictionary.own_argument(&mut self.event, "finished", &ArgView::Bool(false));
        }
        for (_, arrow) in self.arrivals.extract_if(.., |(span, _)| Some(*span) == id) {
            self.event.fixed64(field::TERMINATING_FLOW_IDS, arrow);
        }
    }

    fn flow(&mut self, name: NameId, id: u64, stage: FlowStage, ns: i64) {
        let arrow = self.arrow(name, id);
        match stage {
            FlowStage::End if !self.open.is_empty() => {
                self.arrivals.extend(self.open.last().map(|innermost| (*innermost, arrow)));
            }
            FlowStage::Start | FlowStage::Step if self.waits => {
                self.event.fixed64(field::FLOW_IDS, arrow);
            }
            _ => {
                self.settle();
                self.event_ns = ns;
                self.named(field::INSTANT, name);
                let ends = stage == FlowStage::End;
                self.event.fixed64(if ends { field::TERMINATING_FLOW_IDS } else { field::FLOW_IDS }, arrow);
                self.packet();
            }
        }
    }

    /// An arrow's number in the file: arrows of two names may have the same number in the recording.
    fn arrow(&self, name: NameId, id: u64) -> u64 {
        id ^ hash(0, self.dictionary.names.text(name))
    }

    fn counter(&mut self, name: NameId, value: CounterValue, described: &mut FxHashSet<u32>) {
        let same = self.dictionary.names.same(name);
        let uuid = COUNTERS_UUID + u64::from(same);
        if described.insert(same) {
            let text = self.dictionary.names.text(name);
            self.describe(uuid, PROCESS_UUID, text, |descriptor| {
                descriptor.message(track::COUNTER, |_| {}).string(track::DESCRIPTION, &note::counter(text, "value"));
            });
        }
        self.event.varint(field::TYPE, field::COUNTER).varint(field::TRACK_UUID, uuid);
        match value {
            CounterValue::I64(value) => self.event.varint(field::COUNTER_VALUE, value as u64),
            CounterValue::F64(value) => self.event.double(field::DOUBLE_COUNTER_VALUE, value),
        };
    }

    fn memory(&mut self, what: &What, args: Args<'_>) {
        let What::Memory { address, bytes, device_type, device_index, out_of_memory } = *what else { return };
        let name = self.dictionary.own(if out_of_memory { "[OutOfMemory]" } else { "[memory]" });
        let name = self.dictionary.own_name(name);
        let category = self.dictionary.category(Category::CPU_INSTANT_EVENT.number());
        self.event.varint(field::TYPE, field::INSTANT).varint(field::NAME_IID, name).varint(field::CATEGORY_IIDS, category);
        for (key, value) in [
            ("Addr", ArgView::U64(address)),
            ("Bytes", ArgView::I64(bytes)),
            ("Device Type", ArgView::I64(device_type.into())),
            ("Device Id", ArgView::I64(device_index.into())),
        ] {
            self.dictionary.own_argument(&mut self.event, key, &value);
        }
        self.args(args);
        self.device_memory(what, args);
    }

    /// Type, name and category of an event.
    pub(super) fn named(&mut self, kind: u64, name: NameId) {
        let category = self.dictionary.category(self.dictionary.names.category(name));
        let name = self.dictionary.name(name);
        self.event.varint(field::TYPE, kind).varint(field::NAME_IID, name).varint(field::CATEGORY_IIDS, category);
    }

    pub(super) fn args(&mut self, args: Args<'_>) {
        for (key, value) in args.iter() {
            let same = Some(self.dictionary.names.same(key));
            if [self.resumed, self.device_work, self.memory_place].contains(&same) {
                continue;
            }
            self.dictionary.argument(&mut self.event, key, &value);
        }
    }

    pub(super) fn describe(&mut self, uuid: u64, parent: u64, name: &str, rest: impl FnOnce(&mut Encoder)) {
        let id = self.id;
        self.output.buffer.message(schema::PACKET, |body| {
            body.varint(packet::SEQUENCE_ID, id.into());
            body.message(packet::TRACK_DESCRIPTOR, |descriptor| {
                descriptor.varint(track::UUID, uuid).varint(track::PARENT_UUID, parent).string(track::NAME, name);
                rest(descriptor);
            });
        });
    }

    /// Writes a begin that waits.
    fn settle(&mut self) {
        if std::mem::take(&mut self.waits) {
            self.packet();
        }
    }

    /// Writes the event.
    #[inline]
    pub(super) fn packet(&mut self) {
        let since_ns = self.since_ns.take();
        let time = since_ns.unwrap_or_else(|| {
            let ticks = self.event_ns.saturating_sub(self.last_ns).max(0);
            self.last_ns += ticks;
            ticks
        });
        let Self { dictionary, event, id, .. } = self;
        self.output.buffer.message(schema::PACKET, |body| {
            body.varint(packet::TIMESTAMP, time as u64).varint(packet::SEQUENCE_ID, (*id).into());
            if since_ns.is_some() {
                // The sequence's own clock never goes back.
                body.varint(packet::TIMESTAMP_CLOCK_ID, clock::BOOTTIME);
            }
            body.varint(packet::SEQUENCE_FLAGS, packet::NEEDS_STATE).bytes_field(packet::TRACK_EVENT, event.bytes());
            dictionary.introduce(body);
        });
        event.clear();
    }
}

/// Far from all other tracks, whatever numbers the recorder gives.
pub(super) fn uuid_of_async(id: u64) -> u64 {
    let mixed = (id ^ id >> 31).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ mixed >> 29) | 1 << 63
}

/// Spans and asynchronous spans may have the same numbers.
fn uuid_of_overlapping(id: u64) -> u64 {
    uuid_of_async(!id)
}

/// A number for `text` among those of one `seed`.
pub(super) fn hash(seed: u64, text: &str) -> u64 {
    text.bytes().fold(seed, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
