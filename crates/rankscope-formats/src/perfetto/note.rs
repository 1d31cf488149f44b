//! What a Perfetto track cannot say about ours, as JSON in the track's description.
//!
//! Perfetto knows processes, threads and named rows; we know ranks, devices, streams, and lanes that a row was split into. The
//! note makes a file of ours come back as it went in, and is legible to whoever asks the user interface about a track. Readers
//! ignore keys they do not know.

use rankscope_trace::CategoryKind;
use serde::{Deserialize, Serialize};

/// The layout of notes, in their key `rankscope`.
const LAYOUT: u32 = 1;

/// The note of one track.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Note {
    rankscope: u32,
    /// What the track is.
    pub(super) kind: RowKind,
    /// The number or name the source file gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) key: Option<Key>,
    /// Its name in the source file; for a counter, the counter's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) name: String,
    /// Its second name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) label: String,
    /// Where the source file wanted it among its siblings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sort: Option<i64>,
    /// Which lane of the track this is; the first is zero.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) lane: u32,
    /// Which series of a counter.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) series: String,
    /// On threads, streams and counters: the process or device they belong to, among [`Note::processes`] of the row above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) of: Option<u32>,
    /// On the row of a rank: its processes and devices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) processes: Vec<Note>,
    /// On the row of a rank, or a process: which of the traces in the file it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) group: Option<u32>,
    /// Beside `group`: what is true of all of the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) facts: Option<Facts>,
}

/// What a track is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum RowKind {
    /// All of a rank.
    Rank,
    /// Rows of one process or device.
    Group,
    /// What follows from the events of others: a counter, or spans.
    Derived,
    /// A host process.
    Process,
    /// A device.
    Device,
    /// A stand-in parent for tracks that had none, in files of before a rank had a row.
    Implied,
    /// A host thread.
    Thread,
    /// A stream of a device.
    Stream,
    /// One series of a counter.
    Counter,
}

/// A track's number or name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum Key {
    /// A pid, tid, device index or stream.
    Number(i64),
    /// Some profilers use words.
    Text(String),
}

/// What is true of a whole trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Facts {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) rank: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) world_size: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) host: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) backend: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) trace_id: Option<String>,
    /// Category and name of each sort of flow; a flow id holds the place in this list.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) flows: Vec<(String, String)>,
    /// Categories that mean something else than their Kineto namesakes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) kinds: Vec<(String, String)>,
}

impl Note {
    /// A note that only says what the track is.
    pub(super) fn of(kind: RowKind) -> Self {
        Self {
            rankscope: LAYOUT,
            kind,
            key: None,
            name: String::new(),
            label: String::new(),
            sort: None,
            lane: 0,
            series: String::new(),
            of: None,
            processes: Vec::new(),
            group: None,
            facts: None,
        }
    }

    /// The note in its written form.
    pub(super) fn to_text(&self) -> String {
        serde_json::to_string(self).expect("a note has string keys only and no failing serialiser")
    }
}

/// The note of a process that is the only one of its file.
pub(crate) fn lone_process(pid: u32, name: &str, rank: Option<u32>, world_size: Option<u32>, host: Option<&str>) -> String {
    let facts = Facts { rank, world_size, host: host.map(str::to_owned), ..Facts::default() };
    let (key, name) = (Some(Key::Number(pid.into())), name.to_owned());
    Note { key, name, group: Some(0), facts: Some(facts), ..Note::of(RowKind::Process) }.to_text()
}

/// The note of a device.
pub(crate) fn device(number: u32) -> String {
    Note { key: Some(Key::Number(number.into())), ..Note::of(RowKind::Device) }.to_text()
}

/// The note of a stream, below that of its device.
pub(crate) fn stream(number: u64, name: &str) -> String {
    let key = Some(Key::Number(i64::try_from(number).unwrap_or(i64::MAX)));
    Note { key, name: name.to_owned(), ..Note::of(RowKind::Stream) }.to_text()
}

/// The note of a counter that has one series.
pub(crate) fn counter(name: &str, series: &str) -> String {
    Note { name: name.to_owned(), series: series.to_owned(), ..Note::of(RowKind::Counter) }.to_text()
}

/// The note of a counter that follows from other events, and is none of its own when a file of ours is read back.
pub(crate) fn derived() -> String {
    Note::of(RowKind::Derived).to_text()
}

fn is_zero(lane: &u32) -> bool {
    *lane == 0
}

/// The kinds of category, by the name Kineto's newest releases would give them.
const KINDS: [(CategoryKind, &str); 13] = [
    (CategoryKind::CpuOp, "cpu_op"),
    (CategoryKind::UserAnnotation, "user_annotation"),
    (CategoryKind::GpuUserAnnotation, "gpu_user_annotation"),
    (CategoryKind::Kernel, "kernel"),
    (CategoryKind::Memcpy, "gpu_memcpy"),
    (CategoryKind::Memset, "gpu_memset"),
    (CategoryKind::Runtime, "cuda_runtime"),
    (CategoryKind::Driver, "cuda_driver"),
    (CategoryKind::PythonFunction, "python_function"),
    (CategoryKind::Overhead, "overhead"),
    (CategoryKind::Sync, "cuda_sync"),
    (CategoryKind::CollectiveComm, "collective_comm"),
    (CategoryKind::Other, "other"),
];

/// The name of `kind` in notes.
pub(super) fn kind_name(kind: CategoryKind) -> &'static str {
    KINDS.iter().find(|(known, _)| *known == kind).map_or("other", |(_, name)| name)
}

/// The kind that notes call `name`.
pub(super) fn kind_of(name: &str) -> CategoryKind {
    KINDS.iter().find(|(_, known)| *known == name).map_or(CategoryKind::Other, |(kind, _)| *kind)
}
