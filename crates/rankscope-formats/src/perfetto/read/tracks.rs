//! Track descriptors: what each track is, and which trace of the file it belongs to.

use rankscope_trace::{CategoryKind, StrId, Strings, Track, TrackId, TrackKey, TrackKind, Tracks};
use rustc_hash::FxHashMap;

use super::rows::RowId;
use crate::perfetto::note::{Facts, Key, Note, RowKind, kind_of};
use crate::perfetto::schema::{counter, process, thread, track};
use crate::wire::{Fields, Malformed};

/// Parents further up than this are not looked for: a chain this long is a circle.
const PARENTS_MAX: usize = 16;

/// Every track a file has described, by its number.
#[derive(Debug, Default)]
pub(super) struct Descriptors {
    by_uuid: FxHashMap<u64, Described>,
    /// Process tracks by pid.
    processes: FxHashMap<i64, u64>,
    /// What the notes say of whole traces.
    pub(super) facts: FxHashMap<u32, Facts>,
    /// Categories that mean something else than their Kineto namesakes.
    pub(super) kinds: FxHashMap<String, CategoryKind>,
}

/// What a descriptor says.
#[derive(Debug)]
pub(super) struct Described {
    parent: Option<u64>,
    pub(super) what: What,
    name: String,
    pub(super) note: Option<Note>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum What {
    Process { pid: i64 },
    Thread { pid: i64, tid: i64 },
    Counter { incremental: bool, multiplier: f64 },
    Plain,
}

impl Descriptors {
    /// Takes a `TrackDescriptor` in.
    pub(super) fn describe(&mut self, message: &[u8]) -> Result<(), Malformed> {
        let mut uuid = 0;
        let mut described = Described { parent: None, what: What::Plain, name: String::new(), note: None };
        for field in Fields::of(message) {
            let (number, value) = field?;
            let text = || String::from_utf8_lossy(value.bytes()).into_owned();
            match number {
                track::UUID => uuid = value.u64(),
                track::PARENT_UUID => described.parent = Some(value.u64()),
                track::NAME | track::STATIC_NAME | track::ATRACE_NAME => described.name = text(),
                track::PROCESS => described.process(value.bytes())?,
                track::THREAD => {
                    let (pid, tid, name) = thread_of(value.bytes())?;
                    described.what = What::Thread { pid, tid };
                    described.rename(name);
                }
                track::COUNTER => described.counter(value.bytes())?,
                track::DESCRIPTION => described.note = serde_json::from_slice(value.bytes()).ok(),
                _ => {}
            }
        }
        if let What::Process { pid } = described.what {
            self.processes.insert(pid, uuid);
        }
        if let Some(Note { group: Some(group), facts: Some(facts), .. }) = &described.note {
            self.kinds.extend(facts.kinds.iter().map(|(name, kind)| (name.clone(), kind_of(kind))));
            self.facts.insert(*group, facts.clone());
        }
        self.by_uuid.insert(uuid, described);
        Ok(())
    }

    /// What is known of track `uuid`.
    pub(super) fn get(&self, uuid: u64) -> Option<&Described> {
        self.by_uuid.get(&uuid)
    }

    /// Which trace of a file of ours track `uuid` belongs to.
    pub(super) fn group(&self, uuid: u64) -> Option<u32> {
        self.chain(uuid).find_map(|described| described.note.as_ref()?.group)
    }

    /// Whether track `uuid` only shows what follows from the events of others.
    pub(super) fn is_derived(&self, uuid: u64) -> bool {
        let note = self.get(uuid).and_then(|described| described.note.as_ref());
        note.is_some_and(|note| matches!(note.kind, RowKind::Rank | RowKind::Group | RowKind::Derived))
    }

    /// The track and its parents.
    fn chain(&self, uuid: u64) -> impl Iterator<Item = &Described> {
        let first = self.get(uuid);
        std::iter::successors(first, |described| self.get(described.parent?)).take(PARENTS_MAX)
    }
}

impl Described {
    fn process(&mut self, message: &[u8]) -> Result<(), Malformed> {
        let mut pid = 0;
        for field in Fields::of(message) {
            match field? {
                (process::PID, value) => pid = i64::from(value.u64() as i32),
                (process::NAME, value) => self.rename(String::from_utf8_lossy(value.bytes()).into_owned()),
                _ => {}
            }
        }
        self.what = What::Process { pid };
        Ok(())
    }

    fn counter(&mut self, message: &[u8]) -> Result<(), Malformed> {
        let (mut incremental, mut multiplier) = (false, 1);
        for field in Fields::of(message) {
            match field? {
                (counter::IS_INCREMENTAL, value) => incremental = value.u64() != 0,
                (counter::UNIT_MULTIPLIER, value) => multiplier = value.i64(),
                _ => {}
            }
        }
        self.what = What::Counter { incremental, multiplier: multiplier as f64 };
        Ok(())
    }

    fn rename(&mut self, name: String) {
        if !name.is_empty() {
            self.name = name;
        }
    }
}

/// Pid, tid and name of a `ThreadDescriptor`.
pub(super) fn thread_of(message: &[u8]) -> Result<(i64, i64, String), Malformed> {
    let (mut pid, mut tid, mut name) = (0, 0, String::new());
    for field in Fields::of(message) {
        match field? {
            (thread::PID, value) => pid = i64::from(value.u64() as i32),
            (thread::TID, value) => tid = value.i64(),
            (thread::NAME, value) => name = String::from_utf8_lossy(value.bytes()).into_owned(),
            _ => {}
        }
    }
    Ok((pid, tid, name))
}

/// Makes the tracks of one trace out of descriptors.
pub(super) struct TrackMaker<'a> {
    pub(super) descriptors: &'a Descriptors,
    pub(super) tracks: &'a mut Tracks,
    pub(super) strings: &'a mut Strings,
    /// Rows that are no process and no thread, which have no number to be found by.
    plain: FxHashMap<u64, TrackId>,
}

impl<'a> TrackMaker<'a> {
    pub(super) fn new(descriptors: &'a Descriptors, tracks: &'a mut Tracks, strings: &'a mut Strings) -> Self {
        Self { descriptors, tracks, strings, plain: FxHashMap::default() }
    }

    /// The track that `row` shows; for a counter, the one it belongs to.
    pub(super) fn track(&mut self, row: RowId) -> TrackId {
        match row {
            RowId::Track(uuid) => self.described(uuid),
            RowId::Thread { pid, tid } => self.thread(pid, tid, ""),
            RowId::GpuCounter { gpu, .. } => self.tracks.find_or_add(TrackKind::Device, None, TrackKey::Number(gpu)),
            RowId::Queue { gpu, queue } => {
                let device = self.tracks.find_or_add(TrackKind::Device, None, TrackKey::Number(gpu));
                let (number, name) = queue_name(self.strings.text(queue));
                let name = name.to_owned();
                let key = number.map_or(TrackKey::Text(queue), TrackKey::Number);
                let stream = self.tracks.find_or_add(TrackKind::Stream, Some(device), key);
                self.name(stream, &name);
                stream
            }
        }
    }

    /// Name and series of the counter that `row` shows.
    pub(super) fn counter_name(&mut self, row: RowId) -> (StrId, StrId) {
        match row {
            RowId::GpuCounter { name, .. } => (name, StrId::EMPTY),
            RowId::Track(uuid) => match self.descriptors.get(uuid) {
                Some(Described { note: Some(note), .. }) => {
                    (self.strings.intern(&note.name), self.strings.intern(&note.series))
                }
                Some(described) => (self.strings.intern(&described.name), StrId::EMPTY),
                None => (StrId::EMPTY, StrId::EMPTY),
            },
            _ => (StrId::EMPTY, StrId::EMPTY),
        }
    }

    fn described(&mut self, uuid: u64) -> TrackId {
        let descriptors = self.descriptors;
        let Some(described) = descriptors.get(uuid) else { return self.plain(uuid, None, "") };
        if let Some(note) = &described.note {
            return self.noted(described, note);
        }
        match described.what {
            What::Process { pid } => self.process(pid, &described.name),
            What::Thread { pid, tid } => self.thread(pid, tid, &described.name),
            What::Counter { .. } => self.owner(described.parent, uuid),
            What::Plain => {
                let parent = described.parent.and_then(|parent| self.process_above(parent));
                if descriptors.chain(uuid).any(|described| described.note.is_some()) {
                    return self.async_of(uuid, parent, &described.name);
                }
                self.plain(uuid, parent, &described.name)
            }
        }
    }

    /// A track of a file of ours.
    fn noted(&mut self, described: &Described, note: &Note) -> TrackId {
        let kind = match note.kind {
            RowKind::Process | RowKind::Implied | RowKind::Rank | RowKind::Group | RowKind::Derived => TrackKind::Process,
            RowKind::Device => TrackKind::Device,
            RowKind::Thread => TrackKind::Thread,
            RowKind::Stream => TrackKind::Stream,
            RowKind::Counter => return self.stated(described, note).unwrap_or_else(|| self.owner(described.parent, 0)),
        };
        let key = match &note.key {
            Some(Key::Number(number)) => TrackKey::Number(*number),
            Some(Key::Text(text)) => TrackKey::Text(self.strings.intern(text)),
            None => TrackKey::Text(StrId::EMPTY),
        };
        let under_process = matches!(kind, TrackKind::Thread | TrackKind::Stream);
        let above = described.parent.filter(|_| under_process);
        let parent = above.and_then(|above| self.stated(described, note).or_else(|| self.process_above(above)));
        let id = self.tracks.find_or_add(kind, parent, key);
        let (name, label) = (self.strings.intern(&note.name), self.strings.intern(&note.label));
        let track = self.tracks.get_mut(id);
        (track.name, track.label, track.sort_index) = (name, label, note.sort);
        id
    }

    /// The process or device that `note` says the track belongs to, among those of its rank.
    fn stated(&mut self, described: &Described, note: &Note) -> Option<TrackId> {
        let descriptors = self.descriptors;
        let mut above = descriptors.chain(described.parent?).filter_map(|described| described.note.as_ref());
        let process = above.find(|note| note.kind == RowKind::Rank)?.processes.get(note.of? as usize)?;
        // No process holds another, and a file that says so would be followed for ever.
        matches!(process.kind, RowKind::Process | RowKind::Device).then(|| self.noted(described, process))
    }

    /// The process or device that `uuid` is or lies in; none for a stand-in.
    fn process_above(&mut self, uuid: u64) -> Option<TrackId> {
        let descriptors = self.descriptors;
        let found = descriptors.chain(uuid).find(|described| !matches!(described.what, What::Plain | What::Counter { .. }))?;
        match (&found.note, found.what) {
            (Some(Note { kind: RowKind::Implied, .. }), _) => None,
            (Some(note), What::Process { .. }) => Some(self.noted(found, note)),
            (_, What::Process { pid } | What::Thread { pid, .. }) => Some(self.process_of(pid)),
            _ => None,
        }
    }

    fn owner(&mut self, parent: Option<u64>, uuid: u64) -> TrackId {
        let known = parent.filter(|parent| *parent != uuid).and_then(|parent| Some((parent, self.descriptors.get(parent)?)));
        match known {
            // A counter's parent that is itself a counter would go round in circles.
            Some((parent, described)) if !matches!(described.what, What::Counter { .. }) => self.described(parent),
            _ => self.tracks.find_or_add(TrackKind::Process, None, TrackKey::Text(StrId::EMPTY)),
        }
    }

    /// torch puts synchronisation on processes called after the device they belong to.
    fn process(&mut self, pid: i64, name: &str) -> TrackId {
        let kind = if name == format!("GPU {pid}") { TrackKind::Device } else { TrackKind::Process };
        let id = self.tracks.find_or_add(kind, None, TrackKey::Number(pid));
        self.name(id, name);
        id
    }

    fn process_of(&mut self, pid: i64) -> TrackId {
        let described = self.descriptors.processes.get(&pid).and_then(|uuid| self.descriptors.get(*uuid));
        let name = described.map_or("", |described| &described.name);
        self.process(pid, name)
    }

    fn thread(&mut self, pid: i64, tid: i64, name: &str) -> TrackId {
        let process = self.process_of(pid);
        let on_device = self.tracks.get(process).kind == TrackKind::Device;
        let kind = if on_device { TrackKind::Stream } else { TrackKind::Thread };
        let id = self.tracks.find_or_add(kind, Some(process), TrackKey::Number(tid));
        self.name(id, name);
        id
    }

    fn plain(&mut self, uuid: u64, parent: Option<TrackId>, name: &str) -> TrackId {
        let key = if name.is_empty() { TrackKey::Number(uuid as i64) } else { TrackKey::Text(self.strings.intern(name)) };
        self.lone(uuid, parent, key, name)
    }

    /// The recorder gives each asynchronous span, and each that overlaps others, a row of its own, and only those lack a note.
    fn async_of(&mut self, uuid: u64, parent: Option<TrackId>, name: &str) -> TrackId {
        let key = TrackKey::Text(self.strings.intern(&Track::async_of(name)));
        self.lone(uuid, parent, key, name)
    }

    fn lone(&mut self, uuid: u64, parent: Option<TrackId>, key: TrackKey, name: &str) -> TrackId {
        let (tracks, name) = (&mut self.tracks, self.strings.intern(name));
        *self.plain.entry(uuid).or_insert_with(|| {
            let label = StrId::EMPTY;
            tracks.add(Track { kind: TrackKind::Thread, parent, key, name, label, sort_index: None, origin_ns: 0 })
        })
    }

    fn name(&mut self, id: TrackId, name: &str) {
        if !name.is_empty() {
            self.tracks.get_mut(id).name = self.strings.intern(name);
        }
    }
}

/// Number and name of a hardware queue. torch puts the number before the name, to have the queues sorted: `[007] stream 7`.
/// Others have it at the end, if at all: `Channel #7`.
fn queue_name(text: &str) -> (Option<i64>, &str) {
    if let Some((number, name)) = text.strip_prefix('[').and_then(|rest| rest.split_once("] "))
        && let Ok(number) = number.parse()
    {
        return (Some(number), name);
    }
    let start = text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
    (text[start..].parse().ok(), text)
}
