//! Packets of one rank that has been laid out.
//!
//! Every row's spans, instants and samples are a packet sequence of their own: the row's id is then a default nobody repeats,
//! names shrink to small numbers, and times are the distance to the packet before. A begin without arguments takes some 18
//! bytes, an end 13.

use std::io::{self, Write};

use rankscope_time::{ClockCursor, Instant, RankClock, ReferenceClock};
use rankscope_trace::{InstantScope, Trace};

use super::Tally;
use super::derived::Unit;
use super::interning::{Fresh, Interned, Table, Values, annotate, intern, introduce};
use super::layout::Row;
use super::opening::{HEADER_SEQUENCE, open_sequence};
use super::plan::Plan;
use super::schema::{self, counter, event, legacy, packet, track};
use crate::wire::Encoder;

/// What earlier ranks of the file have used up.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base {
    /// The first free packet sequence.
    pub(super) sequence: u32,
    /// The first free number for a track.
    pub(super) row: u32,
}

/// Encoded bytes are handed on at this size.
const FLUSH_BYTES: usize = 1 << 16;

/// Writes `plan` to `output`.
pub(super) fn encode(plan: &Plan<'_>, base: Base, output: &mut impl Write) -> io::Result<Tally> {
    let mut encoder = Encoder::default();
    for (at, row) in plan.rows.iter().enumerate() {
        describe(&mut encoder, base, at, row);
    }
    output.write_all(encoder.bytes())?;
    encoder.clear();

    let strings = plan.view.trace.strings.len();
    let mut sequences = Sequences {
        plan,
        trace: plan.view.trace,
        starts: Stamps::new(plan),
        ends: Stamps::new(plan),
        encoder,
        output,
        names: Interned::new(strings),
        categories: Interned::new(plan.view.trace.categories.len()),
        keys: Interned::new(strings),
        texts: Interned::new(strings),
        json: Interned::new(strings),
        fresh: Vec::new(),
        id: base.sequence,
        last_ns: 0,
        tally: Tally { loose_flow_points: plan.arrows.loose, ..Tally::default() },
    };
    for (at, row) in plan.rows.iter().enumerate() {
        sequences.row(base.row + at as u32, row)?;
    }
    sequences.flush(0)?;
    Ok(sequences.tally)
}

/// The descriptor of a row.
fn describe(encoder: &mut Encoder, base: Base, at: usize, row: &Row) {
    let number = |at: usize| u64::from(base.row) + at as u64;
    encoder.message(schema::PACKET, |body| {
        body.varint(packet::SEQUENCE_ID, HEADER_SEQUENCE.into());
        body.message(packet::TRACK_DESCRIPTOR, |descriptor| {
            descriptor.varint(track::UUID, number(at)).string(track::NAME, &row.name);
            if let Some(parent) = row.parent {
                descriptor.varint(track::PARENT_UUID, number(parent));
            }
            descriptor.varint(track::SIBLING_ORDER_RANK, number(at)).varint(track::CHILD_ORDERING, track::CHILDREN_EXPLICIT);
            descriptor.varint(track::SIBLING_MERGE, track::MERGE_NONE);
            if row.is_counter() {
                let unit = row.derived.as_ref().map(|derived| derived.unit);
                descriptor.message(track::COUNTER, |body| match unit.map(Unit::name) {
                    Some(Some(name)) => {
                        body.string(counter::UNIT_NAME, name);
                    }
                    Some(None) => {
                        body.varint(counter::UNIT, counter::BYTES);
                    }
                    None => {}
                });
            }
            descriptor.string(track::DESCRIPTION, &row.note.to_text());
        });
    });
}

/// The packet sequences of a rank, one after the other.
struct Sequences<'a, 'p, W> {
    plan: &'a Plan<'p>,
    trace: &'p Trace,
    /// Of starts and of moments; each in order of time, so that both find their way from one to the next.
    starts: Stamps<'p>,
    ends: Stamps<'p>,
    encoder: Encoder,
    output: &'a mut W,
    names: Interned,
    categories: Interned,
    keys: Interned,
    texts: Interned,
    json: Interned,
    /// What the packet under construction mentions for the first time.
    fresh: Vec<Fresh>,
    id: u32,
    last_ns: i64,
    tally: Tally,
}

impl<W: Write> Sequences<'_, '_, W> {
    fn row(&mut self, uuid: u32, row: &Row) -> io::Result<()> {
        if !row.spans.is_empty() {
            self.start(uuid);
            self.spans(row)?;
        }
        if !row.instants.is_empty() {
            self.start(uuid);
            for at in row.instants.clone() {
                self.instant(self.plan.instants[at]);
                self.flush(FLUSH_BYTES)?;
            }
        }
        if !row.samples.is_empty() {
            self.start(uuid);
            for at in row.samples.clone() {
                let sample = self.trace.counters[self.plan.samples[at] as usize];
                self.sample(sample.time_ns, sample.value);
                self.tally.samples += 1;
                self.flush(FLUSH_BYTES)?;
            }
        }
        if let Some(derived) = &row.derived {
            self.start(uuid);
            for (time_ns, value) in &derived.samples {
                self.sample(*time_ns, *value);
                self.flush(FLUSH_BYTES)?;
            }
        }
        Ok(())
    }

    /// Opens the next sequence.
    fn start(&mut self, uuid: u32) {
        open_sequence(&mut self.encoder, self.id, uuid.into());
        self.id += 1;
        self.last_ns = 0;
        for table in [&mut self.names, &mut self.categories, &mut self.keys, &mut self.texts, &mut self.json] {
            table.forget();
        }
    }

    /// Begins and ends in order of time; `open` is the stack of ends to come, on the rank's clock and on the file's.
    fn spans(&mut self, row: &Row) -> io::Result<()> {
        let spans = &self.trace.spans;
        let mut open: Vec<(i64, i64)> = Vec::new();
        for at in row.spans.clone() {
            let span = self.plan.spans[at];
            let start = spans.start_ns[span as usize];
            let end = start.saturating_add(spans.dur_ns[span as usize]);
            while let Some((_, ended)) = open.pop_if(|(ended, _)| *ended <= start) {
                self.end(ended);
            }
            self.begin(span);
            open.push((end, self.ends.file_ns(end)));
            self.flush(FLUSH_BYTES)?;
        }
        while let Some((_, ended)) = open.pop() {
            self.end(ended);
        }
        self.flush(FLUSH_BYTES)
    }

    fn begin(&mut self, span: u32) {
        let (trace, at) = (self.trace, span as usize);
        let at_ns = self.starts.file_ns(trace.spans.start_ns[at]);
        let ticks = self.ticks(at_ns);
        let name = intern(&mut self.names, &mut self.fresh, Table::Names, trace.spans.name[at]);
        let category = self.category(trace.spans.category[at]);
        let (touches, id) = (self.plan.arrows.of(span), self.id - 1);
        let Self { encoder, keys, texts, json, fresh, .. } = self;
        encoder.message(schema::PACKET, |body| {
            head(body, ticks, id);
            body.message(packet::TRACK_EVENT, |body| {
                body.varint(event::TYPE, event::SLICE_BEGIN).varint(event::NAME_IID, name);
                if category > 0 {
                    body.varint(event::CATEGORY_IIDS, category);
                }
                annotate(body, trace, &trace.spans.args, at, &mut Values { keys, texts, json, fresh });
                for touch in touches {
                    let field = if touch.ends { event::TERMINATING_FLOW_IDS } else { event::FLOW_IDS };
                    body.fixed64(field, touch.id);
                }
            });
            introduce(body, trace, fresh);
        });
        self.tally.spans += 1;
        self.tally.flow_points += touches.len() as u64;
    }

    fn end(&mut self, file_ns: i64) {
        let (ticks, id) = (self.ticks(file_ns), self.id - 1);
        self.encoder.message(schema::PACKET, |body| {
            head(body, ticks, id);
            body.message(packet::TRACK_EVENT, |body| {
                body.varint(event::TYPE, event::SLICE_END);
            });
        });
    }

    fn instant(&mut self, at: u32) {
        let (trace, at) = (self.trace, at as usize);
        let mark = trace.instants[at];
        let at_ns = self.starts.file_ns(mark.time_ns);
        let ticks = self.ticks(at_ns);
        let name = intern(&mut self.names, &mut self.fresh, Table::Names, mark.name);
        let category = self.category(mark.category);
        let id = self.id - 1;
        let Self { encoder, keys, texts, json, fresh, .. } = self;
        encoder.message(schema::PACKET, |body| {
            head(body, ticks, id);
            body.message(packet::TRACK_EVENT, |body| {
                body.varint(event::TYPE, event::INSTANT).varint(event::NAME_IID, name);
                if category > 0 {
                    body.varint(event::CATEGORY_IIDS, category);
                }
                let scope = match mark.scope {
                    InstantScope::Thread => None,
                    InstantScope::Process => Some(legacy::SCOPE_PROCESS),
                    InstantScope::Global => Some(legacy::SCOPE_GLOBAL),
                };
                if let Some(scope) = scope {
                    body.message(event::LEGACY_EVENT, |body| {
                        body.varint(legacy::INSTANT_SCOPE, scope);
                    });
                }
                annotate(body, trace, &trace.instant_args, at, &mut Values { keys, texts, json, fresh });
            });
            introduce(body, trace, fresh);
        });
        self.tally.instants += 1;
    }

    fn sample(&mut self, time_ns: i64, value: f64) {
        let at_ns = self.starts.file_ns(time_ns);
        let (ticks, id) = (self.ticks(at_ns), self.id - 1);
        self.encoder.message(schema::PACKET, |body| {
            head(body, ticks, id);
            body.message(packet::TRACK_EVENT, |body| {
                body.varint(event::TYPE, event::COUNTER).double(event::DOUBLE_COUNTER_VALUE, value);
            });
        });
    }

    /// The iid of a category in the running sequence; zero for one without a name.
    fn category(&mut self, category: u16) -> u64 {
        match self.trace.categories.get(usize::from(category)) {
            Some(known) if !known.name.is_empty() => {
                let (iid, new) = self.categories.iid(category.into());
                if new {
                    self.fresh.push(Fresh { table: Table::Categories, iid, text: Some(known.name) });
                }
                iid
            }
            _ => 0,
        }
    }

    fn ticks(&mut self, file_ns: i64) -> u64 {
        let ticks = file_ns.saturating_sub(self.last_ns).max(0);
        self.last_ns += ticks;
        ticks as u64
    }

    fn flush(&mut self, from: usize) -> io::Result<()> {
        if self.encoder.bytes().len() >= from {
            self.output.write_all(self.encoder.bytes())?;
            self.encoder.clear();
        }
        Ok(())
    }
}

/// Stamps on their way from the rank's clock to the file's.
enum Stamps<'p> {
    AsTheyAre,
    Mapped(ClockCursor<'p, RankClock, ReferenceClock>),
}

impl<'p> Stamps<'p> {
    fn new(plan: &Plan<'p>) -> Self {
        let map = plan.view.map;
        if map.is_identity() { Self::AsTheyAre } else { Self::Mapped(map.cursor()) }
    }

    /// A moment of the rank's clock on the file's. Perfetto knows no time before its clock's epoch.
    fn file_ns(&mut self, rank_ns: i64) -> i64 {
        match self {
            Self::AsTheyAre => rank_ns.max(0),
            Self::Mapped(cursor) => cursor.map(Instant::from_nanos_since_epoch(rank_ns)).nanos_since_epoch().max(0),
        }
    }
}

fn head(body: &mut Encoder, ticks: u64, sequence: u32) {
    body.varint(packet::TIMESTAMP, ticks).varint(packet::SEQUENCE_ID, sequence.into());
    body.varint(packet::SEQUENCE_FLAGS, packet::NEEDS_STATE);
}
