//! Where events lie: processes and their threads, devices and their streams.
//!
//! Tracks form a tree of depth two. A track is found by its parent and key, so that device 0 and a process with pid 0 stay
//! apart even where a file gives both the same number.

use rustc_hash::FxHashMap;

use crate::{ArgColumn, StrId, Strings};

/// A track of one trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TrackId(pub u32);

/// What a track stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrackKind {
    /// A host process; parent of threads.
    Process,
    /// A thread of a process.
    Thread,
    /// A device; parent of streams.
    Device,
    /// A stream, queue or engine of a device.
    Stream,
}

/// The number or name a file gives a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TrackKey {
    /// A pid, tid, device index, stream or line id.
    Number(i64),
    /// Some profilers use words.
    Text(StrId),
}

/// One track.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// What it stands for.
    pub kind: TrackKind,
    /// The process or device it belongs to; none for those themselves.
    pub parent: Option<TrackId>,
    /// Its number or name in the file.
    pub key: TrackKey,
    /// The name to show; empty when the file gives none.
    pub name: StrId,
    /// A second, shorter or longer, name (XSpace display name, Chrome process labels).
    pub label: StrId,
    /// Where the file wants it among its siblings.
    pub sort_index: Option<i64>,
    /// The stamp the file counts this track's events from (XSpace lines). Zero where stamps are absolute.
    pub origin_ns: i64,
}

impl Track {
    /// The key of the track that holds a process's asynchronous spans: they belong to no thread, and need not nest.
    pub const ASYNC: &str = "async";

    /// The key of the track that holds the asynchronous spans of a process that are called `name`, where a file keeps names apart.
    pub fn async_of(name: &str) -> String {
        format!("{} of {name}", Self::ASYNC)
    }

    /// The key of the track beside thread `number` that holds its spans that overlap others: they need not nest either.
    pub fn async_beside(number: i64) -> String {
        format!("{} {number}", Self::ASYNC)
    }

    /// Whether the spans of this track are asynchronous, and need not nest.
    pub fn is_async(&self, strings: &Strings) -> bool {
        let is_key = |key: &str| key.strip_prefix(Self::ASYNC).is_some_and(|rest| rest.is_empty() || rest.starts_with(' '));
        matches!(self.key, TrackKey::Text(key) if self.kind == TrackKind::Thread && is_key(strings.text(key)))
    }
}

/// All tracks of a trace.
#[derive(Clone, Debug, Default)]
pub struct Tracks {
    list: Vec<Track>,
    index: FxHashMap<(TrackKind, Option<TrackId>, TrackKey), TrackId>,
    /// Arguments of the tracks themselves (XSpace plane and line statistics), one row a track, or no rows at all.
    pub args: ArgColumn,
}

impl Tracks {
    /// The track with this parent and key, made if there is none yet.
    ///
    /// # Panics
    /// After four billion tracks.
    pub fn find_or_add(&mut self, kind: TrackKind, parent: Option<TrackId>, key: TrackKey) -> TrackId {
        *self.index.entry((kind, parent, key)).or_insert_with(|| {
            let id = TrackId(u32::try_from(self.list.len()).expect("memory ends before four billion tracks"));
            let (name, label) = (StrId::EMPTY, StrId::EMPTY);
            self.list.push(Track { kind, parent, key, name, label, sort_index: None, origin_ns: 0 });
            id
        })
    }

    /// A new track even where one of the same key exists: some files hold two lines of one id.
    pub fn add(&mut self, track: Track) -> TrackId {
        let id = TrackId(u32::try_from(self.list.len()).expect("memory ends before four billion tracks"));
        self.index.entry((track.kind, track.parent, track.key)).or_insert(id);
        self.list.push(track);
        id
    }

    /// The track with this parent and key.
    pub fn find(&self, kind: TrackKind, parent: Option<TrackId>, key: TrackKey) -> Option<TrackId> {
        self.index.get(&(kind, parent, key)).copied()
    }

    /// The track behind `id`.
    ///
    /// # Panics
    /// For an id of another trace.
    pub fn get(&self, id: TrackId) -> &Track {
        &self.list[id.0 as usize]
    }

    /// The track behind `id`, to be named.
    ///
    /// # Panics
    /// For an id of another trace.
    pub fn get_mut(&mut self, id: TrackId) -> &mut Track {
        &mut self.list[id.0 as usize]
    }

    /// Every track with its id, parents before their children.
    pub fn iter(&self) -> impl Iterator<Item = (TrackId, &Track)> {
        self.list.iter().enumerate().map(|(index, track)| (TrackId(index as u32), track))
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (TrackId, &mut Track)> {
        self.list.iter_mut().enumerate().map(|(index, track)| (TrackId(index as u32), track))
    }

    /// How many tracks there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is no track.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}
