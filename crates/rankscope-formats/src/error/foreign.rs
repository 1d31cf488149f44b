//! What was found where a trace was to be read, and why a trace gave no event. The lists are closed and hold facts, so that a
//! caller can tell the cases apart; the sentence, and what to do, is what they print.

use std::fmt;

use rankscope_recording::NotLive;
use rankscope_trace::{Problem, ProblemKind};

/// What bytes are that are no trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Foreign {
    /// Bytes that start like nothing known.
    #[error(
        "it starts with the bytes {}and is neither JSON, XSpace, Perfetto, a recording, a SQLite database, gzip, zstd, zip nor tar. Give the file the profiler wrote",
        hexadecimal(start)
    )]
    UnknownBytes {
        /// The first of them, up to 16.
        start: Vec<u8>,
    },
    /// Text, or broken JSON.
    #[error("it starts with `{start}`. Give a Kineto or Chrome JSON, XSpace or Perfetto trace")]
    OtherText {
        /// Its beginning, fit to be shown.
        start: String,
    },
    /// JSON of something else.
    #[error("JSON without `traceEvents`; its keys are: {}. Give the trace the profiler exported", keys.join(", "))]
    OtherJson {
        /// Its first keys.
        keys: Vec<String>,
    },
    /// A JSON of rocprofv3 that holds no records.
    #[error("rocprofv3's JSON without a kernel, copy, call or marker. Trace them, as with `rocprofv3 --sys-trace`")]
    RocprofOfNothing,
    /// Lines of NCCL's Inspector of which none is an operation.
    #[error(
        "lines of NCCL's Inspector without a collective or a message. Those below NCCL_INSPECTOR_DUMP_MIN_SIZE_BYTES are left out"
    )]
    InspectorOfNothing,
    /// A SQLite database of something else.
    #[error(
        "a SQLite database of neither ROCm's profilers (rocpd) nor Nsight Systems; its tables are: {}. Give what rocprofv3 or `nsys export --type sqlite` wrote",
        if tables.is_empty() { "none".to_owned() } else { tables.join(", ") }
    )]
    OtherDatabase {
        /// The first of its tables.
        tables: Vec<String>,
    },
    /// A database of a profiler that holds no kernels, copies, calls or ranges.
    #[error("a SQLite database of {profiler} without a kernel, copy, call or range. Trace them, and record again")]
    EmptyDatabase {
        /// The profiler.
        profiler: &'static str,
    },
    /// A SQLite database that cannot be read.
    #[error("a SQLite database that cannot be read: {reason}. Record or copy it again")]
    DamagedDatabase {
        /// What SQLite says.
        reason: String,
    },
    /// A SQLite database where its bytes come one after the other.
    #[error(
        "a SQLite database that is compressed, in an archive or no file at all. Unpack it and name the file: it needs random access"
    )]
    SqliteInside,
    /// A trace whose array of events is empty.
    #[error("its array of events is empty")]
    NothingInIt,
    /// A JSON list of something else.
    #[error("a JSON list whose first item is no object, and so no event")]
    OtherList,
    /// A trace that only names its processes and threads.
    #[error("it holds nothing but names of processes and threads (events of phase 'M')")]
    OnlyNames,
    /// A trace of nothing that rankscope reads.
    #[error("it holds nothing but {0}")]
    OnlyUnread(Unread),
    /// A file that does not start with a packet.
    #[error("its first bytes are not a packet of a Perfetto trace")]
    NoPackets,
    /// What is no live recording of this build's.
    #[error(transparent)]
    NotLive(NotLive),
    /// A live recording that cannot be read in any order.
    #[error("a live recording inside another file. Unpack it first: it needs random access")]
    LiveInside,
    /// What is no packed recording.
    #[error("it does not start as a packed recording does")]
    NotPacked,
    /// A packed recording of another version.
    #[error("a packed recording of version {version}; this build reads version {reads}")]
    PackedVersion {
        /// Its version.
        version: u32,
        /// The one that is read.
        reads: u32,
    },
    /// What is no file of snapshot pairs.
    #[error("not a file of snapshot pairs: byte {offset} does not begin a field")]
    NotSnapshotPairs {
        /// Where it stops being one.
        offset: usize,
    },
    /// An archive in an archive.
    #[error("an archive inside another archive. Unpack the outer one first")]
    ArchiveInside,
    /// An archive of other things.
    #[error("a {archive} archive without a member named like a trace (.json, .xplane.pb, .pftrace, .rkr)")]
    ArchiveOfOthers {
        /// What sort of archive.
        archive: Archive,
    },
    /// An archive that cannot be unpacked.
    #[error("a damaged archive: {reason}")]
    DamagedArchive {
        /// What the unpacker says.
        reason: String,
    },
    /// What is no regular file, and might never end.
    #[error("it is {what}; only regular files are read")]
    NotAFile {
        /// What it is: a directory, a pipe, a socket, a device.
        what: &'static str,
    },
}

/// Archives that are looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Archive {
    /// tar.
    Tar,
    /// zip.
    Zip,
}

impl fmt::Display for Archive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tar => "tar",
            Self::Zip => "zip",
        })
    }
}

/// What stands among the events of a JSON trace and is not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unread {
    /// Phases of events, in order.
    pub phases: Vec<u8>,
    /// Whether there are objects without a phase.
    pub without_phase: bool,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phases: Vec<String> = self.phases.iter().map(|phase| format!("'{}'", phase.escape_ascii())).collect();
        let of_phases = phases.split_last().map(|(last, others)| match others {
            [] => format!("events of phase {last}, which rankscope does not read"),
            _ => format!("events of phases {} and {last}, which rankscope does not read", others.join(", ")),
        });
        let no_events = self.without_phase.then(|| "objects without a phase (`ph`), which are not events".to_owned());
        f.write_str(&of_phases.into_iter().chain(no_events).collect::<Vec<_>>().join(", and "))
    }
}

/// What there is more of than is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Limit {
    /// Members of an archive.
    #[error("more than {most} members are named like traces; the rest are not read. Unpack it first")]
    Members {
        /// How many are read.
        most: usize,
    },
    /// The list of an archive's members.
    #[error("the archive's list of members is longer than {mib} MiB. Unpack it first")]
    MemberList {
        /// How long it may be.
        mib: u64,
    },
}

/// Why no event could be read of what is a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoEvents {
    /// The header of a JSON trace is cut short.
    #[error("the header breaks off before any event")]
    BrokenHeader,
    /// Somebody took a binary file for text, and wrote it again.
    #[error(
        "this file was re-encoded as text: bytes that are not UTF-8 were replaced by ef bf bd and are lost. Copy the original again, as binary"
    )]
    Recoded,
    /// An XSpace without an event.
    #[error("it holds none")]
    NothingInIt,
    /// A Perfetto trace without an event.
    #[error("none of its packets is an event")]
    NoEventPackets,
    /// A recording without an event.
    #[error("the recording is empty")]
    EmptyRecording,
    /// A live recording without a chunk that can be read.
    #[error("no chunk of the recording has a header that can be read")]
    NoReadableChunk,
    /// A recording that is damaged.
    #[error("{detail}")]
    DamagedRecording {
        /// What the first problem is.
        kind: ProblemKind,
        /// The same in words.
        detail: String,
    },
    /// A file that is damaged.
    #[error("{kind}{}{detail}", if detail.is_empty() { "" } else { ": " })]
    Damaged {
        /// What the first problem is.
        kind: ProblemKind,
        /// What more there is to say; may be empty.
        detail: String,
    },
}

impl NoEvents {
    pub(crate) fn damaged(by: &Problem) -> Self {
        Self::Damaged { kind: by.kind, detail: by.detail.clone() }
    }

    /// Of a recording with these problems.
    pub(crate) fn of_recording(first: Option<&Problem>) -> Self {
        first.map_or(Self::EmptyRecording, |first| Self::DamagedRecording { kind: first.kind, detail: first.detail.clone() })
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x} ")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_read_is_told_in_one_sentence() {
        let said = |phases: &[u8], without_phase| Unread { phases: phases.to_vec(), without_phase }.to_string();
        assert_eq!(said(b"P", false), "events of phase 'P', which rankscope does not read");
        assert_eq!(
            said(b"PRS", true),
            "events of phases 'P', 'R' and 'S', which rankscope does not read, and objects without a phase (`ph`), which are not events"
        );
        assert_eq!(said(b"", true), "objects without a phase (`ph`), which are not events");
    }
}
