//! [`Archive`]: every rank's trace as a file of its own, on its own clock, in a TAR with a manifest that relates the clocks.
//!
//! The manifest is Perfetto's `perfetto_manifest.json`, version 1 (perfetto.dev/docs/reference/perfetto-manifest), which trace
//! processor reads from release 58.2 on; an older one shows the ranks with their clocks as they were. It knows constant offsets
//! and no drift: what a clock drifts has to be taken out of the stamps before a trace goes in. The first trace's clock is the
//! archive's.

use std::io::{Read, Write};

use serde::Serialize;

use crate::Error;

/// An archive under construction.
pub struct Archive<W: Write> {
    tar: tar::Builder<W>,
    files: Vec<Entry>,
}

/// One trace of an archive; Perfetto's format, its events on the file's boot time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveMember {
    /// Its name in the archive.
    pub path: String,
    /// What its machine is called. Traces of one machine share its clocks, so clocks that differ want different names.
    pub machine: String,
    /// What is to be added to its stamps to be on the first trace's clock.
    pub to_first_ns: i64,
}

impl<W: Write> Archive<W> {
    /// An empty archive.
    pub fn new(output: W) -> Self {
        Self { tar: tar::Builder::new(output), files: Vec::new() }
    }

    /// Adds a trace, whose `len` bytes are in `bytes`.
    ///
    /// # Errors
    /// [`Error::Io`] where `bytes` ends early or the output fails.
    pub fn add(&mut self, member: ArchiveMember, len: u64, bytes: impl Read) -> Result<(), Error> {
        self.append(&member.path, len, bytes)?;
        enter(&mut self.files, member);
        Ok(())
    }

    /// Adds the manifest and completes the archive.
    ///
    /// # Errors
    /// [`Error::Io`] where the output fails.
    pub fn finish(mut self) -> Result<(), Error> {
        let files = std::mem::take(&mut self.files);
        let text = serde_json::to_vec_pretty(&Document::of(files)).map_err(std::io::Error::from)?;
        self.append(MANIFEST, text.len() as u64, text.as_slice())?;
        Ok(self.tar.into_inner()?.flush()?)
    }

    fn append(&mut self, path: &str, len: u64, bytes: impl Read) -> Result<(), Error> {
        let mut header = tar::Header::new_ustar();
        header.set_size(len);
        header.set_mode(0o644);
        let mut bytes = bytes.take(len);
        self.tar.append_data(&mut header, path, &mut bytes)?;
        // The header has promised more than came.
        if bytes.limit() > 0 { Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof).into()) } else { Ok(()) }
    }
}

/// The manifest of an archive of `members`, which somebody else puts together. It goes by the name [`MANIFEST`].
///
/// # Errors
/// [`Error::Io`] where it cannot be written down.
pub fn manifest(members: impl IntoIterator<Item = ArchiveMember>) -> Result<Vec<u8>, Error> {
    let mut files = Vec::new();
    members.into_iter().for_each(|member| enter(&mut files, member));
    Ok(serde_json::to_vec_pretty(&Document::of(files)).map_err(std::io::Error::from)?)
}

fn enter(files: &mut Vec<Entry>, member: ArchiveMember) {
    let clocks = files.first().map(|first| Clocks {
        clock: CLOCK,
        sync_to: Clock { file: Some(first.path.clone()), clock: CLOCK },
        offset_ns: member.to_first_ns,
    });
    files.push(Entry { path: member.path, machine: Machine { name: member.machine }, clocks });
}

impl Document {
    fn of(files: Vec<Entry>) -> Self {
        let trace_time = Clock { file: files.first().map(|file| file.path.clone()), clock: CLOCK };
        Self { perfetto_manifest: Manifest { version: 1, trace_time, files } }
    }
}

impl<W: Write> std::fmt::Debug for Archive<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Archive").field("files", &self.files).finish_non_exhaustive()
    }
}

/// The member that is no trace.
pub const MANIFEST: &str = "perfetto_manifest.json";

/// The clock that our Perfetto files have their events on.
const CLOCK: &str = "BOOTTIME";

#[derive(Serialize)]
struct Document {
    perfetto_manifest: Manifest,
}

#[derive(Serialize)]
struct Manifest {
    version: u32,
    trace_time: Clock,
    files: Vec<Entry>,
}

#[derive(Debug, Serialize)]
struct Entry {
    path: String,
    machine: Machine,
    #[serde(skip_serializing_if = "Option::is_none")]
    clocks: Option<Clocks>,
}

#[derive(Debug, Serialize)]
struct Machine {
    name: String,
}

#[derive(Debug, Serialize)]
struct Clocks {
    clock: &'static str,
    sync_to: Clock,
    offset_ns: i64,
}

#[derive(Debug, Serialize)]
struct Clock {
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    clock: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_relates_every_trace_to_the_first() {
        let mut bytes = Vec::new();
        let mut archive = Archive::new(&mut bytes);
        for (rank, to_first_ns) in [(0, 0), (1, -250)] {
            let member = ArchiveMember { path: format!("rank-{rank}.pftrace"), machine: format!("rank {rank}"), to_first_ns };
            archive.add(member, 3, &b"abc"[..]).unwrap();
        }
        archive.finish().unwrap();
        let mut tar = tar::Archive::new(&*bytes);
        let read = |entry: std::io::Result<tar::Entry<'_, &[u8]>>| {
            let mut entry = entry.unwrap();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            (entry.path().unwrap().display().to_string(), text)
        };
        let members: Vec<_> = tar.entries().unwrap().map(read).collect();
        assert_eq!(members[..2], [("rank-0.pftrace".into(), "abc".into()), ("rank-1.pftrace".into(), "abc".into())]);
        assert_eq!(members[2].0, "perfetto_manifest.json");
        let manifest: serde_json::Value = serde_json::from_str(&members[2].1).unwrap();
        let expected = serde_json::json!({"perfetto_manifest": {
            "version": 1,
            "trace_time": {"file": "rank-0.pftrace", "clock": "BOOTTIME"},
            "files": [
                {"path": "rank-0.pftrace", "machine": {"name": "rank 0"}},
                {"path": "rank-1.pftrace", "machine": {"name": "rank 1"}, "clocks": {
                    "clock": "BOOTTIME",
                    "sync_to": {"file": "rank-0.pftrace", "clock": "BOOTTIME"},
                    "offset_ns": -250,
                }},
            ],
        }});
        assert_eq!(manifest, expected);
    }

    #[test]
    fn a_trace_shorter_than_said_is_no_member() {
        let mut archive = Archive::new(Vec::new());
        let member = ArchiveMember { path: "a".into(), machine: "a".into(), to_first_ns: 0 };
        let error = archive.add(member, 4, &b"abc"[..]).unwrap_err();
        assert!(matches!(&error, Error::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof), "{error}");
        assert!(archive.files.is_empty(), "the manifest does not name it");
    }
}
