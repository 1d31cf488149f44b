//! Columns of a block of events.
//!
//! Events stand in the order of their thread, one byte each in the first column; what else they have stands in the columns of
//! its sort. A span is its begin and its end, and both count their ticks from the event before them: lengths, nesting, ties and
//! spans of no length come back exactly, and a span that outlasts its block needs no second thought.

use super::super::varint::{put, put_signed, take, take_signed};
use super::super::{ArgView, Args, CounterValue, Event, FlowStage, I64s, NameId, What};

/// What an event is. Numbers are part of the format.
mod op {
    pub(super) const END: u8 = 0;
    pub(super) const BEGIN: u8 = 1;
    pub(super) const BEGIN_NUMBERED: u8 = 2;
    pub(super) const INSTANT: u8 = 3;
    pub(super) const COUNTER_I64: u8 = 4;
    pub(super) const COUNTER_F64: u8 = 5;
    pub(super) const FLOW_START: u8 = 6;
    pub(super) const FLOW_STEP: u8 = 7;
    pub(super) const FLOW_END: u8 = 8;
    pub(super) const ASYNC_BEGIN: u8 = 9;
    pub(super) const ASYNC_END: u8 = 10;
    pub(super) const MEMORY: u8 = 11;
    pub(super) const OUT_OF_MEMORY: u8 = 12;
    pub(super) const END_UNFINISHED: u8 = 13;
    /// The end of a span that is not the innermost.
    pub(super) const END_OUT_OF_ORDER: u8 = 15;
    /// No event: the next span's correlation id is not one more than the last.
    pub(super) const SKIP_IDS: u8 = 14;
    /// Added where arguments follow in their column.
    pub(super) const WITH_ARGS: u8 = 0x80;
}

/// The columns, by their number in the file.
const COLUMNS: usize = 6;
const OPS: usize = 0;
/// Ticks since the event before, of everything that is not the end of a span.
const TICKS: usize = 1;
/// Ticks since the event before, of ends.
const ENDS: usize = 2;
const NAMES: usize = 3;
/// Values of counters, ids of arrows, numbers in names, addresses and sizes of memory, spans above one that ends out of order.
const VALUES: usize = 4;
const ARGS: usize = 5;

/// The numbers that names have in the file, in the order of their first use.
#[derive(Debug, Default)]
pub(super) struct Numbering {
    numbers: Vec<u32>,
    used: Vec<NameId>,
}

impl Numbering {
    pub(super) fn new(names: usize) -> Self {
        Self { numbers: vec![0; names], used: Vec::new() }
    }

    /// The number of `name`; zero for none.
    #[inline]
    pub(super) fn of(&mut self, name: NameId) -> u32 {
        let Some(number) = self.numbers.get_mut(name.0 as usize).filter(|_| name.0 > 0) else { return 0 };
        if *number == 0 {
            self.used.push(name);
            *number = self.used.len() as u32;
        }
        *number
    }

    /// The names from the one with number `first` on.
    pub(super) fn from(&self, first: u32) -> &[NameId] {
        self.used.get(first as usize - 1..).unwrap_or_default()
    }
}

/// A block of events under construction.
#[derive(Debug, Default)]
pub(super) struct Block {
    columns: [Vec<u8>; COLUMNS],
    first_tick: u64,
    first_id: u64,
    tick: u64,
    next_id: u64,
    address: u64,
    events: u32,
}

impl Block {
    /// Whether it should be closed.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.events >= MAX_EVENTS || self.columns[ARGS].len() + self.columns[VALUES].len() >= FULL_BYTES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.events == 0
    }

    /// Adds an event.
    #[inline]
    pub(super) fn push(&mut self, event: &Event, args: Args<'_>, names: &mut Numbering) {
        if self.events == 0 {
            self.first_tick = event.tick;
            self.tick = event.tick;
            self.address = 0;
            self.first_id = self.next_id;
        }
        self.events += 1;
        let with_args = if args.is_empty() { 0 } else { op::WITH_ARGS };
        let op = self.op(event);
        let after = event.tick.saturating_sub(self.tick);
        self.tick = self.tick.max(event.tick);
        let is_end = matches!(event.what, What::End { .. });
        put(&mut self.columns[if is_end { ENDS } else { TICKS }], after);
        if !is_end && !matches!(event.what, What::Memory { .. }) {
            put(&mut self.columns[NAMES], u64::from(names.of(event.name)));
        }
        self.columns[OPS].push(op | with_args);
        if with_args != 0 {
            put_args(&mut self.columns[ARGS], args, names);
        }
    }

    /// The event's number, after its values have gone into their column.
    #[inline]
    fn op(&mut self, event: &Event) -> u8 {
        match event.what {
            What::End { unfinished: false, above: 0 } => op::END,
            What::End { unfinished: true, above: 0 } => op::END_UNFINISHED,
            What::End { unfinished, above } => {
                put(&mut self.columns[VALUES], u64::from(above) << 1 | u64::from(unfinished));
                op::END_OUT_OF_ORDER
            }
            What::Begin { id, number } => {
                self.skip_ids(id);
                let Some(number) = number else { return op::BEGIN };
                put_signed(&mut self.columns[VALUES], number);
                op::BEGIN_NUMBERED
            }
            What::Instant => op::INSTANT,
            What::Counter(CounterValue::I64(value)) => {
                put_signed(&mut self.columns[VALUES], value);
                op::COUNTER_I64
            }
            What::Counter(CounterValue::F64(value)) => {
                self.columns[VALUES].extend(value.to_bits().to_le_bytes());
                op::COUNTER_F64
            }
            What::Flow { id, stage } => {
                put(&mut self.columns[VALUES], id);
                match stage {
                    FlowStage::Start => op::FLOW_START,
                    FlowStage::Step => op::FLOW_STEP,
                    FlowStage::End => op::FLOW_END,
                }
            }
            What::AsyncBegin { id } => {
                put(&mut self.columns[VALUES], id);
                op::ASYNC_BEGIN
            }
            What::AsyncEnd { id } => {
                put(&mut self.columns[VALUES], id);
                op::ASYNC_END
            }
            What::Memory { address, bytes, device_type, device_index, out_of_memory } => {
                let values = &mut self.columns[VALUES];
                put_signed(values, address.wrapping_sub(self.address) as i64);
                self.address = address;
                put_signed(values, bytes);
                values.push(device_type);
                put_signed(values, device_index.into());
                if out_of_memory { op::OUT_OF_MEMORY } else { op::MEMORY }
            }
        }
    }

    #[inline]
    fn skip_ids(&mut self, id: u64) {
        if id != self.next_id {
            self.columns[OPS].push(op::SKIP_IDS);
            put_signed(&mut self.columns[VALUES], id.wrapping_sub(self.next_id) as i64);
        }
        self.next_id = id.wrapping_add(1);
    }

    /// Writes it to `to` as block number `sequence` of `stream`, and starts the next one.
    pub(super) fn close(&mut self, stream: u32, sequence: u32, to: &mut Vec<u8>) {
        to.clear();
        for number in [stream.into(), sequence.into(), self.first_tick, self.first_id, self.events.into(), COLUMNS as u64] {
            put(to, number);
        }
        for (number, column) in self.columns.iter().enumerate() {
            put(to, number as u64);
            put(to, column.len() as u64);
        }
        for column in &mut self.columns {
            to.append(column);
        }
        self.events = 0;
    }
}

/// Blocks of this many events compress as well as longer ones, and little is lost with one.
const MAX_EVENTS: u32 = 32_768;
/// Arguments and values beyond this close a block.
const FULL_BYTES: usize = 1 << 20;

fn put_args(to: &mut Vec<u8>, args: Args<'_>, names: &mut Numbering) {
    put(to, args.iter().count() as u64);
    for (key, value) in args {
        put(to, u64::from(names.of(key)));
        match value {
            ArgView::I64(value) => {
                to.push(0);
                put_signed(to, value);
            }
            ArgView::U64(value) => {
                to.push(1);
                put(to, value);
            }
            ArgView::F64(value) => {
                to.push(2);
                to.extend(value.to_bits().to_le_bytes());
            }
            ArgView::Bool(value) => to.push(3 + u8::from(value)),
            ArgView::Name(name) => {
                to.push(5);
                put(to, u64::from(names.of(name)));
            }
            ArgView::Text(text) => put_bytes(to, 6, text.as_bytes()),
            ArgView::Bytes(bytes) => put_bytes(to, 7, &bytes),
            ArgView::I64s(list) => put_bytes(to, 8, list.bytes()),
            ArgView::Json(text) => put_bytes(to, 9, text.as_bytes()),
            ArgView::Cut { true_len } => {
                to.push(10);
                put(to, true_len);
            }
        }
    }
}

fn put_bytes(to: &mut Vec<u8>, sort: u8, bytes: &[u8]) {
    to.push(sort);
    put(to, bytes.len() as u64);
    to.extend_from_slice(bytes);
}

/// A block of events, read.
#[derive(Debug)]
pub(super) struct Events<'a> {
    pub(super) stream: u32,
    pub(super) sequence: u32,
    columns: [&'a [u8]; COLUMNS],
    tick: u64,
    next_id: u64,
    address: u64,
    /// Events that are yet to come.
    left: u32,
    /// The arguments of the last event, as a live file has them.
    words: Vec<u64>,
}

impl<'a> Events<'a> {
    /// Takes the columns apart.
    pub(super) fn of(mut bytes: &'a [u8]) -> Option<Self> {
        let bytes = &mut bytes;
        let mut small = || take(bytes).and_then(|number| u32::try_from(number).ok());
        let (stream, sequence) = (small()?, small()?);
        let (tick, next_id, left, count) = (take(bytes)?, take(bytes)?, take(bytes)?, take(bytes)?);
        let left = u32::try_from(left).ok().filter(|left| *left <= MAX_EVENTS)?;
        // Each takes two bytes here.
        let mut lengths = Vec::with_capacity(usize::try_from(count).ok().filter(|count| *count <= bytes.len() / 2)?);
        for _ in 0..count {
            lengths.push((take(bytes)?, usize::try_from(take(bytes)?).ok()?));
        }
        let mut columns: [&[u8]; COLUMNS] = [&[]; COLUMNS];
        for (number, len) in lengths {
            let (column, rest) = bytes.split_at_checked(len)?;
            *bytes = rest;
            // A column of a later version is passed over.
            if let Some(known) = usize::try_from(number).ok().and_then(|number| columns.get_mut(number)) {
                *known = column;
            }
        }
        Some(Self { stream, sequence, columns, tick, next_id, address: 0, left, words: Vec::new() })
    }

    /// The next event and its arguments; `Err` where the columns do not hold what they should.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Result<(Event, Args<'_>), Malformed>> {
        self.left = self.left.checked_sub(1)?;
        Some(match self.event() {
            Some(event) => Ok((event, Args::of(&self.words))),
            None => {
                self.left = 0;
                Err(Malformed)
            }
        })
    }

    #[inline]
    fn event(&mut self) -> Option<Event> {
        let mut op = self.byte(OPS)?;
        while op == op::SKIP_IDS {
            self.next_id = self.next_id.wrapping_add(take_signed(&mut self.columns[VALUES])? as u64);
            op = self.byte(OPS)?;
        }
        self.words.clear();
        let with_args = op & op::WITH_ARGS != 0;
        let op = op & !op::WITH_ARGS;
        let is_end = matches!(op, op::END | op::END_UNFINISHED | op::END_OUT_OF_ORDER);
        let is_memory = op == op::MEMORY || op == op::OUT_OF_MEMORY;
        let after = take(&mut self.columns[if is_end { ENDS } else { TICKS }])?;
        self.tick = self.tick.saturating_add(after);
        let name = if is_end || is_memory { NameId::default() } else { self.name(NAMES)? };
        let what = self.what(op)?;
        if with_args {
            self.take_args()?;
        }
        Some(Event { tick: self.tick, name, what })
    }

    #[inline]
    fn what(&mut self, op: u8) -> Option<What> {
        let values = &mut self.columns[VALUES];
        Some(match op {
            op::END => What::End { unfinished: false, above: 0 },
            op::END_UNFINISHED => What::End { unfinished: true, above: 0 },
            op::END_OUT_OF_ORDER => {
                let value = take(values)?;
                What::End { unfinished: value & 1 != 0, above: u32::try_from(value >> 1).ok()? }
            }
            op::BEGIN | op::BEGIN_NUMBERED => {
                let id = self.next_id;
                self.next_id = id.wrapping_add(1);
                let number = if op == op::BEGIN { None } else { Some(take_signed(values)?) };
                What::Begin { id, number }
            }
            op::INSTANT => What::Instant,
            op::COUNTER_I64 => What::Counter(CounterValue::I64(take_signed(values)?)),
            op::COUNTER_F64 => What::Counter(CounterValue::F64(take_f64(values)?)),
            op::FLOW_START => What::Flow { id: take(values)?, stage: FlowStage::Start },
            op::FLOW_STEP => What::Flow { id: take(values)?, stage: FlowStage::Step },
            op::FLOW_END => What::Flow { id: take(values)?, stage: FlowStage::End },
            op::ASYNC_BEGIN => What::AsyncBegin { id: take(values)? },
            op::ASYNC_END => What::AsyncEnd { id: take(values)? },
            op::MEMORY | op::OUT_OF_MEMORY => {
                let address = self.address.wrapping_add(take_signed(values)? as u64);
                self.address = address;
                let bytes = take_signed(values)?;
                let (device_type, rest) = values.split_first()?;
                *values = rest;
                let device_index = i16::try_from(take_signed(values)?).ok()?;
                What::Memory { address, bytes, device_type: *device_type, device_index, out_of_memory: op == op::OUT_OF_MEMORY }
            }
            _ => return None,
        })
    }

    fn take_args(&mut self) -> Option<()> {
        let count = take(&mut self.columns[ARGS])?;
        for _ in 0..count {
            let key = self.name(ARGS)?;
            let sort = self.byte(ARGS)?;
            let column = &mut self.columns[ARGS];
            let value = match sort {
                0 => ArgView::I64(take_signed(column)?),
                1 => ArgView::U64(take(column)?),
                2 => ArgView::F64(take_f64(column)?),
                3 => ArgView::Bool(false),
                4 => ArgView::Bool(true),
                5 => ArgView::Name(self.name(ARGS)?),
                6 => ArgView::Text(String::from_utf8_lossy(take_bytes(column)?)),
                7 => ArgView::Bytes(take_bytes(column)?.into()),
                8 => ArgView::I64s(I64s::of(take_bytes(column)?)),
                9 => ArgView::Json(String::from_utf8_lossy(take_bytes(column)?)),
                10 => ArgView::Cut { true_len: take(column)? },
                _ => return None,
            };
            value.put(key, &mut self.words);
        }
        Some(())
    }

    #[inline]
    fn byte(&mut self, column: usize) -> Option<u8> {
        let (byte, rest) = self.columns[column].split_first()?;
        self.columns[column] = rest;
        Some(*byte)
    }

    #[inline]
    fn name(&mut self, column: usize) -> Option<NameId> {
        let number = take(&mut self.columns[column])?;
        u32::try_from(number).ok().filter(|number| *number <= NameId::MAX).map(NameId)
    }
}

/// The columns of a block contradict each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Malformed;

fn take_f64(from: &mut &[u8]) -> Option<f64> {
    let (bits, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(f64::from_bits(u64::from_le_bytes(*bits)))
}

/// Bytes behind their length.
pub(super) fn take_bytes<'a>(from: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = usize::try_from(take(from)?).ok()?;
    let (bytes, rest) = from.split_at_checked(len)?;
    *from = rest;
    Some(bytes)
}
