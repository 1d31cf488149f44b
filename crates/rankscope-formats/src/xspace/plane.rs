//! One plane as it comes off the wire, before its names are known.
//!
//! Protobuf writes a plane's lines before the two tables that name its events and statistics. So events wait here in compact
//! columns, with the file's ids replaced by small dense numbers, until the plane ends; `settle` then moves them into the trace.

use rankscope_trace::{ArgValue, ProblemKind, Problems, StrId, Strings};
use rustc_hash::FxHashMap;

use super::schema::{entry, event, event_metadata, stat, stat_metadata};
use crate::wire::{Fields, Value, packed_varints};

/// The lines, events and tables of a plane.
#[derive(Debug, Default)]
pub(super) struct RawPlane {
    pub(super) id: i64,
    pub(super) name: StrId,
    pub(super) lines: Vec<RawLine>,
    pub(super) events: Vec<RawEvent>,
    /// Statistics of the events, back to back.
    pub(super) event_stats: Vec<RawStat>,
    /// Statistics of the plane itself.
    pub(super) stats: Vec<RawStat>,
    sort_ids: Dense,
    /// Event metadata, by dense number.
    pub(super) sorts: Vec<RawSort>,
    stat_ids: Dense,
    /// Stat metadata, by dense number.
    pub(super) stat_names: Vec<RawStatName>,
}

/// A line; its events end where the next line's begin.
#[derive(Debug, Default)]
pub(super) struct RawLine {
    pub(super) id: i64,
    pub(super) name: StrId,
    pub(super) label: StrId,
    pub(super) display_id: i64,
    pub(super) timestamp_ns: i64,
    pub(super) duration_ps: i64,
    pub(super) events_end: usize,
}

/// When an event was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// Picoseconds after its line's stamp.
    Offset(i64),
    /// So many times; the file does not say when.
    Occurrences(i64),
}

/// An event; its statistics end where the next event's begin.
#[derive(Debug)]
pub(super) struct RawEvent {
    pub(super) when: When,
    pub(super) duration_ps: i64,
    pub(super) at: u64,
    pub(super) sort: u32,
    pub(super) stats_end: usize,
}

/// A statistic. A `Ref` holds the dense number of the name it refers to.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawStat {
    pub(super) key: u32,
    pub(super) value: ArgValue,
}

/// An entry of the event metadata; unknown until the table has come.
#[derive(Debug, Default)]
pub(super) struct RawSort {
    pub(super) known: bool,
    pub(super) id: i64,
    pub(super) name: StrId,
    pub(super) label: StrId,
    pub(super) blob: Option<u32>,
    pub(super) children: Vec<i64>,
    pub(super) stats: Vec<RawStat>,
}

/// An entry of the stat metadata; unknown until the table has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RawStatName {
    pub(super) known: bool,
    pub(super) name: StrId,
    pub(super) description: StrId,
}

/// Where strings and bytes of a plane go.
pub(super) struct Store<'a> {
    pub(super) strings: &'a mut Strings,
    /// Values of statistics: the trace's own strings, or some that are dropped with the plane.
    pub(super) scratch: Option<&'a mut Strings>,
    /// Bytes are kept only where all arguments are.
    pub(super) blobs: Option<&'a mut Vec<Box<[u8]>>>,
    pub(super) problems: &'a mut Problems,
}

impl Store<'_> {
    /// The id of a name.
    pub(super) fn name(&mut self, bytes: &[u8], at: u64) -> StrId {
        let text = utf8(bytes, at, self.problems);
        self.strings.intern(&text)
    }

    fn value_text(&mut self, bytes: &[u8], at: u64) -> StrId {
        let text = utf8(bytes, at, self.problems);
        self.scratch.as_deref_mut().unwrap_or(self.strings).intern(&text)
    }

    fn blob(&mut self, bytes: &[u8]) -> Option<u32> {
        let blobs = self.blobs.as_deref_mut()?;
        blobs.push(bytes.into());
        u32::try_from(blobs.len() - 1).ok()
    }
}

/// `bytes` as text, with U+FFFD for what is none.
pub(super) fn utf8<'a>(bytes: &'a [u8], at: u64, problems: &mut Problems) -> std::borrow::Cow<'a, str> {
    match simdutf8::basic::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => {
            problems.add(ProblemKind::InvalidUtf8, at);
            String::from_utf8_lossy(bytes)
        }
    }
}

impl RawPlane {
    /// Takes in the event `message`, which starts at `at` in the file.
    pub(super) fn add_event(&mut self, message: &[u8], at: u64, store: &mut Store<'_>) {
        let stats_start = self.event_stats.len();
        let (mut when, mut duration_ps, mut sort_id) = (When::Offset(0), 0, 0);
        for field in Fields::of(message) {
            match field {
                Ok((event::METADATA_ID, Value::Varint(id))) => sort_id = id as i64,
                Ok((event::OFFSET_PS, Value::Varint(ps))) => when = When::Offset(ps as i64),
                Ok((event::NUM_OCCURRENCES, Value::Varint(times))) => when = When::Occurrences(times as i64),
                Ok((event::DURATION_PS, Value::Varint(ps))) => duration_ps = ps as i64,
                Ok((event::STATS, Value::Bytes(message))) => {
                    let stat = raw_stat(message, at, &mut self.stat_ids, store);
                    self.event_stats.extend(stat);
                }
                Ok(_) => store.problems.add(ProblemKind::Unsupported, at),
                Err(_) => {
                    self.event_stats.truncate(stats_start);
                    return store.problems.add(ProblemKind::MalformedEvent, at);
                }
            }
        }
        let sort = self.sort_ids.number(sort_id);
        self.events.push(RawEvent { when, duration_ps, at, sort, stats_end: self.event_stats.len() });
    }

    /// Takes in a statistic of the plane itself.
    pub(super) fn add_stat(&mut self, message: &[u8], at: u64, store: &mut Store<'_>) {
        self.stats.extend(raw_stat(message, at, &mut self.stat_ids, store));
    }

    /// Takes in an entry of the event metadata.
    pub(super) fn add_sort(&mut self, message: &[u8], at: u64, store: &mut Store<'_>) {
        let Some((key, message)) = map_entry(message, at, store.problems) else { return };
        let mut sort = RawSort { known: true, id: key, ..RawSort::default() };
        for field in Fields::of(message) {
            match field {
                Ok((event_metadata::ID, _)) => {}
                Ok((event_metadata::NAME, Value::Bytes(name))) => sort.name = store.name(name, at),
                Ok((event_metadata::DISPLAY_NAME, Value::Bytes(name))) => sort.label = store.name(name, at),
                Ok((event_metadata::METADATA, Value::Bytes(bytes))) => sort.blob = store.blob(bytes),
                Ok((event_metadata::STATS, Value::Bytes(message))) => {
                    sort.stats.extend(raw_stat(message, at, &mut self.stat_ids, store));
                }
                Ok((event_metadata::CHILD_ID, Value::Bytes(ids))) => {
                    sort.children.extend(packed_varints(ids).map(|id| id as i64))
                }
                Ok((event_metadata::CHILD_ID, id)) => sort.children.push(id.i64()),
                Ok(_) => store.problems.add(ProblemKind::Unsupported, at),
                Err(_) => store.problems.add(ProblemKind::MalformedEvent, at),
            }
        }
        let number = self.sort_ids.number(key) as usize;
        put(&mut self.sorts, number, sort);
    }

    /// Takes in an entry of the stat metadata.
    pub(super) fn add_stat_name(&mut self, message: &[u8], at: u64, store: &mut Store<'_>) {
        let Some((key, message)) = map_entry(message, at, store.problems) else { return };
        let mut stat = RawStatName { known: true, ..RawStatName::default() };
        for field in Fields::of(message) {
            match field {
                Ok((stat_metadata::ID, _)) => {}
                Ok((stat_metadata::NAME, Value::Bytes(name))) => stat.name = store.name(name, at),
                Ok((stat_metadata::DESCRIPTION, Value::Bytes(text))) => stat.description = store.name(text, at),
                Ok(_) => store.problems.add(ProblemKind::Unsupported, at),
                Err(_) => store.problems.add(ProblemKind::MalformedEvent, at),
            }
        }
        let number = self.stat_ids.number(key) as usize;
        put(&mut self.stat_names, number, stat);
    }

    /// Ends the tables: ids that were used but never described get an entry that says so.
    pub(super) fn close(&mut self) {
        self.sorts.resize_with(self.sort_ids.ids.len(), RawSort::default);
        for (sort, id) in self.sorts.iter_mut().zip(&self.sort_ids.ids) {
            sort.id = *id;
        }
        self.stat_names.resize(self.stat_ids.ids.len(), RawStatName::default());
    }
}

fn put<T: Default>(table: &mut Vec<T>, number: usize, value: T) {
    if table.len() <= number {
        table.resize_with(number + 1, T::default);
    }
    table[number] = value;
}

/// Key and value of a map entry; a key of zero is not written.
fn map_entry<'a>(message: &'a [u8], at: u64, problems: &mut Problems) -> Option<(i64, &'a [u8])> {
    let (mut key, mut value) = (0, &[][..]);
    for field in Fields::of(message) {
        match field {
            Ok((entry::KEY, id)) => key = id.i64(),
            Ok((entry::VALUE, message)) => value = message.bytes(),
            Ok(_) => problems.add(ProblemKind::Unsupported, at),
            Err(_) => {
                problems.add(ProblemKind::MalformedEvent, at);
                return None;
            }
        }
    }
    Some((key, value))
}

fn raw_stat(message: &[u8], at: u64, ids: &mut Dense, store: &mut Store<'_>) -> Option<RawStat> {
    let (mut id, mut value) = (0, ArgValue::Null);
    for field in Fields::of(message) {
        value = match field {
            Ok((stat::METADATA_ID, key)) => {
                id = key.i64();
                continue;
            }
            Ok((stat::DOUBLE, number @ Value::Fixed64(_))) => ArgValue::F64(number.f64()),
            Ok((stat::UINT64, Value::Varint(number))) => ArgValue::U64(number),
            Ok((stat::INT64, Value::Varint(number))) => ArgValue::I64(number as i64),
            Ok((stat::STR, Value::Bytes(text))) => ArgValue::Text(store.value_text(text, at)),
            Ok((stat::BYTES, Value::Bytes(bytes))) => store.blob(bytes).map_or(ArgValue::Null, ArgValue::Blob),
            Ok((stat::REF, Value::Varint(name))) => ArgValue::Ref(StrId(ids.number(name as i64))),
            Ok(_) => {
                store.problems.add(ProblemKind::Unsupported, at);
                continue;
            }
            Err(_) => {
                store.problems.add(ProblemKind::MalformedEvent, at);
                return None;
            }
        };
    }
    Some(RawStat { key: ids.number(id), value })
}

/// Numbers the ids of a file from zero, in order of first appearance. Real ids are small, so most are found by index.
#[derive(Debug, Default)]
struct Dense {
    small: Vec<u32>,
    large: FxHashMap<i64, u32>,
    ids: Vec<i64>,
}

impl Dense {
    fn number(&mut self, id: i64) -> u32 {
        let next = self.ids.len() as u32;
        let known = match usize::try_from(id) {
            Ok(index) if index < SMALL => {
                if self.small.len() <= index {
                    self.small.resize(index + 1, u32::MAX);
                }
                &mut self.small[index]
            }
            _ => self.large.entry(id).or_insert(u32::MAX),
        };
        if *known == u32::MAX {
            *known = next;
            self.ids.push(id);
        }
        *known
    }
}

/// A quarter of a megabyte at most, for a table no profiler has been seen to outgrow.
const SMALL: usize = 1 << 16;
