//! From the bytes of a file to its traces, whatever the file turns out to be.
//!
//! The bytes decide, not the name: a `.json` may be gzip inside, an archive may hold a trace for every rank. Members of an
//! archive that do not look like traces by their names are passed over.

use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::mpsc::{Receiver, sync_channel};

use rankscope_trace::Trace;

use crate::archive::MANIFEST;
use crate::inflate::{Bytes, inflated};
use crate::{Error, Format, ReadOptions, json, perfetto, recording, wire, xspace};

/// One trace of a file, or why it could not be read.
#[derive(Debug)]
pub struct Member {
    /// The file, and the archive member within it.
    pub label: String,
    /// What came out.
    pub trace: Result<Trace, Error>,
}

/// Reads every trace in `input`, which `options.label` names: one, or several where it is an archive or a combined timeline.
///
/// # Errors
/// What `input` fails with, [`Error::Empty`], and an archive without a trace. A single trace that cannot be read is reported in
/// its [`Member`].
pub fn read(mut input: impl Read + Seek + Send, options: &ReadOptions) -> Result<Vec<Member>, Error> {
    let mut head = [0; 8];
    let got = read_up_to(&mut input, &mut head)?;
    input.seek(SeekFrom::Start(0))?;
    match &head[..got] {
        [] => Err(Error::Empty),
        [b'P', b'K', 3 | 5, 4 | 6, ..] => read_zip(input, options),
        head if *head == recording::LIVE_MAGIC => {
            let trace = recording::read_live(input, options);
            Ok(vec![Member { label: options.label.clone(), trace }])
        }
        _ => read_stream(Box::new(input), options),
    }
}

fn read_up_to(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match input.read(&mut buffer[got..])? {
            0 => break,
            more => got += more,
        }
    }
    Ok(got)
}

/// Reads a file or archive member whose bytes come one after the other.
fn read_stream(input: Bytes<'_>, options: &ReadOptions) -> Result<Vec<Member>, Error> {
    let (mut input, damage) = inflated(input)?;
    let mut head = Vec::new();
    (&mut input).take(HEAD_BYTES).read_to_end(&mut head)?;
    if head.is_empty() {
        return Err(Error::Empty);
    }
    let format = format(&head);
    // A tar announces itself 257 bytes in.
    let is_tar = head.get(257..262) == Some(b"ustar");
    let input = BufReader::with_capacity(BUFFER_BYTES, head.as_slice().chain(input));
    if is_tar {
        return read_tar(input, options);
    }
    let traces = match format {
        Some(Format::Json) => json::read(input, options).map(|trace| vec![trace]),
        Some(Format::XSpace) => xspace::read(input, options).map(|trace| vec![trace]),
        Some(Format::Perfetto) => perfetto::read_all(input, options),
        Some(Format::Recording) if head.starts_with(&recording::LIVE_MAGIC) => Err(Error::NotATrace {
            found: "a live recording inside another file. Unpack it first: it is read from many places at once".into(),
        }),
        Some(Format::Recording) => recording::packed::read(input, options).map(|trace| vec![trace]),
        None => Err(not_a_trace(&head)),
    };
    let member = |trace| Member { label: options.label.clone(), trace };
    Ok(match traces {
        Ok(traces) => traces
            .into_iter()
            .map(|mut trace| {
                damage.report(&mut trace.provenance.problems);
                member(Ok(trace))
            })
            .collect(),
        Err(error) => vec![member(Err(error))],
    })
}

/// Enough to tell every format.
const HEAD_BYTES: u64 = 512;

/// Decompressed bytes are handed on in steps of this size.
const BUFFER_BYTES: usize = 128 << 10;

/// The format that `head` starts like.
fn format(head: &[u8]) -> Option<Format> {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{' | b'[') => Some(Format::Json),
        _ if head.starts_with(&recording::LIVE_MAGIC) || head.starts_with(&recording::packed::MAGIC) => Some(Format::Recording),
        _ => protobuf_format(head),
    }
}

/// Both protobuf formats are lists of field 1. A plane of an XSpace starts with its id (a number), its name (a text) or a line;
/// a Perfetto packet has other types in those fields.
fn protobuf_format(head: &[u8]) -> Option<Format> {
    let mut stream = wire::Stream::new(head);
    let tag = stream.tag().ok()??;
    if tag.wire != 2 || tag.field > 4 {
        return None;
    }
    if tag.field > 1 {
        return Some(Format::XSpace);
    }
    stream.varint().ok()??;
    let first = stream.tag().ok()?.map(|tag| (tag.field, tag.wire));
    let is_text = |bytes: &[u8]| bytes.iter().all(|byte| byte.is_ascii_graphic() || *byte == b' ');
    Some(match first {
        None | Some((1, 0) | (3, 2)) => Format::XSpace,
        Some((2, 2)) => {
            let len = stream.varint().ok()??.min(8) as usize;
            let name = &head[stream.offset() as usize..];
            if is_text(&name[..len.min(name.len())]) { Format::XSpace } else { Format::Perfetto }
        }
        Some(_) => Format::Perfetto,
    })
}

fn not_a_trace(head: &[u8]) -> Error {
    let start: String = head.iter().take(16).map(|byte| format!("{byte:02x} ")).collect();
    Error::NotATrace {
        found: format!(
            "it starts with the bytes {}and is neither JSON, XSpace, Perfetto, a recording, gzip, zstd, zip nor tar. Give the file the profiler wrote",
            start
        ),
    }
}

fn read_zip(input: impl Read + Seek, options: &ReadOptions) -> Result<Vec<Member>, Error> {
    let mut archive = zip::ZipArchive::new(input).map_err(|error| damaged_archive(&error))?;
    let mut members = Vec::new();
    for index in 0..archive.len() {
        let mut file = match archive.by_index(index) {
            Ok(file) => file,
            Err(error) => {
                let label = format!("{}:member {index}", options.label);
                members.push(Member { label, trace: Err(damaged_archive(&error)) });
                continue;
            }
        };
        let name = file.name().map_or_else(|_| format!("member {index}"), |name| name.into_owned());
        read_member(&name, &mut file, options, &mut members);
    }
    some_member(members, "zip")
}

fn read_tar(input: impl Read, options: &ReadOptions) -> Result<Vec<Member>, Error> {
    let mut archive = tar::Archive::new(input);
    let mut members = Vec::new();
    for entry in archive.entries()? {
        match entry {
            Ok(mut entry) => {
                let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
                read_member(&name, &mut entry, options, &mut members);
            }
            Err(error) => {
                // Nothing behind a damaged header can be found.
                let label = format!("{}:member {}", options.label, members.len());
                members.push(Member { label, trace: Err(damaged_archive(&error)) });
                break;
            }
        }
    }
    some_member(members, "tar")
}

fn read_member(name: &str, bytes: &mut impl Read, options: &ReadOptions, members: &mut Vec<Member>) {
    if Format::of_name(name).is_none() || name == MANIFEST {
        return;
    }
    let options = ReadOptions { label: format!("{}:{name}", options.label), ..options.clone() };
    match pumped(bytes, |input| read_stream(input, &options)) {
        Ok(more) => members.extend(more),
        Err(error) => members.push(Member { label: options.label, trace: Err(error) }),
    }
}

/// Hands `bytes` to `read` on another thread. An archive's stream is tied to its thread, and the readers want one that is not.
fn pumped<T: Send>(bytes: &mut impl Read, read: impl FnOnce(Bytes<'_>) -> Result<T, Error> + Send) -> Result<T, Error> {
    let (sender, receiver) = sync_channel(2);
    std::thread::scope(|scope| {
        let reader = scope.spawn(move || read(Box::new(Pumped { receiver, current: io::Cursor::default() })));
        loop {
            let mut block = Vec::new();
            let block = match (&mut *bytes).take(BUFFER_BYTES as u64).read_to_end(&mut block) {
                Ok(0) => break,
                Ok(_) => Ok(block),
                Err(error) => Err(error),
            };
            let failed = block.is_err();
            // A reader that has seen enough no longer listens.
            if sender.send(block).is_err() || failed {
                break;
            }
        }
        drop(sender);
        reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// The receiving end of [`pumped`].
struct Pumped {
    receiver: Receiver<io::Result<Vec<u8>>>,
    current: io::Cursor<Vec<u8>>,
}

impl Read for Pumped {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.current.read(buffer)?;
        if read > 0 || buffer.is_empty() {
            return Ok(read);
        }
        match self.receiver.recv() {
            Ok(block) => {
                self.current = io::Cursor::new(block?);
                self.current.read(buffer)
            }
            Err(_) => Ok(0),
        }
    }
}

fn some_member(members: Vec<Member>, archive: &str) -> Result<Vec<Member>, Error> {
    if members.is_empty() {
        let found = format!("a {archive} archive without a member named like a trace (.json, .xplane.pb, .pftrace, .rkr)");
        return Err(Error::NotATrace { found });
    }
    Ok(members)
}

fn damaged_archive(error: &dyn std::error::Error) -> Error {
    Error::NotATrace { found: format!("a damaged archive: {error}") }
}
