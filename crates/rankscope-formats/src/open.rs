//! From the bytes of a file to its traces, whatever the file turns out to be.
//!
//! The bytes decide, not the name: a `.json` may be gzip inside, an archive may hold a trace for every rank.

use std::io::{self, BufReader, Read, Seek, SeekFrom};

use rankscope_trace::Trace;

use crate::inflate::{Bytes, inflated};
use crate::{
    Archive, Error, Foreign, Format, NoEvents, ReadOptions, inspector, json, perfetto, recording, rocprof, unpack, wire, xspace,
};

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
pub fn read(input: impl Read + Seek + Send, options: &ReadOptions) -> Result<Vec<Member>, Error> {
    let mut members = Vec::new();
    read_each(input, options, &mut |member| members.push(member))?;
    Ok(members)
}

/// The same, handing over one trace after the other, so that of an archive's traces no more than one need be in memory.
///
/// # Errors
/// As [`read`]. What was handed over before stays good.
pub fn read_each(mut input: impl Read + Seek + Send, options: &ReadOptions, each: &mut dyn FnMut(Member)) -> Result<(), Error> {
    let mut head = [0; 8];
    let got = read_up_to(&mut input, &mut head)?;
    input.seek(SeekFrom::Start(0))?;
    match &head[..got] {
        [] => Err(Error::Empty),
        [b'P', b'K', 3 | 5, 4 | 6, ..] => read_members(|read| unpack::zip(input, read), Archive::Zip, options, each),
        head if *head == recording::LIVE_MAGIC => {
            let trace = recording::read_live(input, options);
            each(Member { label: options.label.clone(), trace });
            Ok(())
        }
        _ => read_stream(Box::new(input), Within::File, options, each),
    }
}

/// Where bytes that come one after the other come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Within {
    File,
    Archive,
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
fn read_stream(input: Bytes<'_>, within: Within, options: &ReadOptions, each: &mut dyn FnMut(Member)) -> Result<(), Error> {
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
    match within {
        Within::File if is_tar => return read_members(|read| unpack::tar(input, read), Archive::Tar, options, each),
        Within::Archive if is_tar => {
            return Err(Error::NotATrace { found: Foreign::ArchiveInside });
        }
        _ => {}
    }
    let traces = match format {
        format if format != Some(Format::Json) && is_recoded(&head) => Err(recoded(&head)),
        Some(Format::Json) if rocprof::is_head(&head) => rocprof::read_all(input, options),
        Some(Format::Json) if inspector::is_head(&head) => inspector::read_all(input, options),
        Some(Format::Json) => json::read(input, options).map(|trace| vec![trace]),
        Some(Format::XSpace) => xspace::read(input, options).map(|trace| vec![trace]),
        Some(Format::Perfetto) => perfetto::read_all(input, options),
        Some(Format::Recording) if head.starts_with(&recording::LIVE_MAGIC) => {
            Err(Error::NotATrace { found: Foreign::LiveInside })
        }
        Some(Format::Recording) => recording::packed::read(input, options).map(|trace| vec![trace]),
        None if head.starts_with(SQLITE_MAGIC) => Err(Error::NotATrace { found: Foreign::SqliteInside }),
        None => Err(not_a_trace(&head)),
    };
    let mut member = |trace| each(Member { label: options.label.clone(), trace });
    match traces {
        Ok(traces) => traces.into_iter().for_each(|mut trace| {
            damage.report(&mut trace.provenance.problems);
            member(Ok(trace));
        }),
        Err(error) => member(Err(error)),
    }
    Ok(())
}

/// Enough to tell every format, and binary from text.
const HEAD_BYTES: u64 = 4096;

/// What a SQLite database starts with.
pub const SQLITE_MAGIC: &[u8] = b"SQLite format 3\0";

/// Decompressed bytes are handed on in steps of this size.
const BUFFER_BYTES: usize = 128 << 10;

/// The format that `head` starts like.
fn format(head: &[u8]) -> Option<Format> {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{' | b'[') if !is_list_of_packets(head) => Some(Format::Json),
        _ if head.starts_with(&recording::LIVE_MAGIC) || head.starts_with(&recording::packed::MAGIC) => Some(Format::Recording),
        _ => protobuf_format(head),
    }
}

/// Whether `head`, which looks like a line feed and a bracket, is field 1 of a message and a length of 123 or 91. In JSON an object goes on
/// with a name or its end, and a list of events with an event or its end.
fn is_list_of_packets(head: &[u8]) -> bool {
    let [b'\n', bracket @ (b'{' | b'['), rest @ ..] = head else { return false };
    let next = rest.iter().find(|byte| !byte.is_ascii_whitespace());
    match bracket {
        b'{' => !matches!(next, None | Some(b'"' | b'}')),
        _ => !matches!(next, None | Some(b'{' | b'[' | b']' | b'"')),
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

/// U+FFFD, which stands for bytes that were no text.
const REPLACEMENT: &[u8] = b"\xef\xbf\xbd";

/// Replacements in a head that binary data cannot hold by chance, all else being text.
const REPLACEMENTS_MIN: usize = 4;

/// Whether somebody took the binary file that starts with `head` for text, and wrote it again as UTF-8.
fn is_recoded(head: &[u8]) -> bool {
    let is_text = match std::str::from_utf8(head) {
        Ok(_) => true,
        // A character may be cut by the end of the head.
        Err(error) => error.error_len().is_none(),
    };
    is_text && memchr::memmem::find_iter(head, REPLACEMENT).count() >= REPLACEMENTS_MIN
}

fn recoded(head: &[u8]) -> Error {
    let offset = memchr::memmem::find(head, REPLACEMENT).unwrap_or(0) as u64;
    Error::NoEvents { offset, reason: NoEvents::Recoded }
}

fn not_a_trace(head: &[u8]) -> Error {
    Error::NotATrace { found: Foreign::UnknownBytes { start: head[..head.len().min(16)].to_vec() } }
}

/// Hands over what the members of an archive hold.
fn read_members(
    unpack: impl FnOnce(&mut dyn FnMut(&str, Result<unpack::Bytes<'_>, Error>)) -> Result<(), Error>,
    archive: Archive,
    options: &ReadOptions,
    each: &mut dyn FnMut(Member),
) -> Result<(), Error> {
    let mut members = 0;
    unpack(&mut |name, bytes| {
        members += 1;
        let options = ReadOptions { label: format!("{}:{name}", options.label), ..options.clone() };
        let read = bytes.and_then(|bytes| read_stream(Box::new(bytes), Within::Archive, &options, each));
        if let Err(error) = read {
            each(Member { label: options.label, trace: Err(error) });
        }
    })?;
    if members == 0 {
        return Err(Error::NotATrace { found: Foreign::ArchiveOfOthers { archive } });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    const XSPACE: &[u8] = include_bytes!("../../../fixtures/jax-cpu-2procs/process0.xplane.pb");

    /// The length of a first packet may be the code of a bracket, and its tag that of a line feed.
    #[test]
    fn a_packet_as_long_as_a_bracket_is_no_json() {
        for length in 1..=127_u8 {
            let packets = [&[0x0a, length, 0x40, 0x90, 0x4e, 0x52][..], &[0; 127]].concat();
            assert_eq!(format(&packets), Some(Format::Perfetto), "{length}");
        }
        for json in ["\n{\n  \"traceEvents\": []}", "\n{}", "\n[]", "\n[\n{\"ph\": \"X\"}]", "\n{", "\r\n {\"a\": 1}"] {
            assert_eq!(format(json.as_bytes()), Some(Format::Json), "{json:?}");
        }
    }

    fn said(bytes: Vec<u8>) -> String {
        match read(Cursor::new(bytes), &ReadOptions::default()).map(|mut members| members.remove(0).trace) {
            Ok(Ok(_)) => String::new(),
            Ok(Err(error)) | Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_binary_trace_that_was_taken_for_text_is_told() {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        io::Write::write_all(&mut gzip, XSPACE).unwrap();
        for bytes in [XSPACE.to_vec(), gzip.finish().unwrap()] {
            assert_eq!(said(bytes.clone()), "");
            let recoded = String::from_utf8_lossy(&bytes).into_owned().into_bytes();
            assert!(said(recoded).contains("re-encoded as text"));
        }
    }

    #[test]
    fn a_database_among_bytes_is_named() {
        let database = [SQLITE_MAGIC, &[0; 84]].concat();
        assert!(said(database).contains("a SQLite database that is compressed"));
    }

    #[test]
    fn text_with_a_replacement_character_is_no_recoding() {
        let text = "[{\"ph\": \"X\", \"name\": \"\u{fffd}\u{fffd}\u{fffd}\u{fffd}\", \"ts\": 1, \"dur\": 1}]";
        assert_eq!(said(text.as_bytes().to_vec()), "");
    }
}
