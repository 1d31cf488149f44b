//! Chrome's JSON trace format, in every dialect Kineto has written and a few others.
//!
//! A file is one object whose `traceEvents` is an array of events, or that array alone. What else the object holds (rank, base
//! time, process groups) may stand before or after the events. An event is `{"ph": "X", "cat", "name", "pid", "tid", "ts",
//! "dur", "args"}` with its keys in any order; `ts` and `dur` are microseconds with decimals or without, relative to
//! `baseTimeNanoseconds` if there is one.
//!
//! Reading: the text passes through in stretches of a megabyte, cut between events where the file's layout shows how (see
//! `layout`), each read by its own worker into a small trace, appended in order. While one batch is read the next one is
//! inflated. The JSON is scanned, not parsed: of an event's arguments only those that analysis asks for are looked at.
//!
//! Flows come in two forms: events of their own (`s`, `t`, `f`), whose end is bound to the next span of its thread unless it says
//! `"bp": "e"`, and spans that name a `bind_id` and whether a flow leads in or out. Asynchronous operations (`b`, `n`, `e`, in the
//! older form `S`, `T`, `p`, `F`) lie on a track of their own in each process; an id is the file's unless `id2` says that it is
//! the process's.
//!
//! Not kept: the arguments of `B`/`E` events and of other begins and ends, ids of asynchronous operations, categories of metadata
//! events, and unknown keys of events. Events of other phases (objects, memory dumps, samples) are counted and named.

mod args;
mod arguments;
mod builder;
mod chunk;
mod event;
mod finish;
mod head;
mod layout;
mod mask;
mod number;
mod piece;
mod ranks;
pub mod runs;
pub(crate) mod scan;
mod shape;
mod source;
mod text;
mod write;

#[cfg(test)]
mod tests;

use std::io::Read;

use rankscope_time::Rank;
use rankscope_trace::{Problem, ProblemKind, Problems, RankSource, SourceFormat, Trace};
use rayon::prelude::*;

use self::chunk::{Chunk, Reached};
use self::head::{Members, Walk};
use self::layout::Layout;
use self::piece::{Met, Pending, Piece};
use self::scan::skip_space;
use self::source::{Source, Stretch};
pub use self::write::write;
pub use crate::kineto::base_ns;
use crate::{Error, Foreign, NoEvents, ReadOptions};

/// The header is looked for in this many bytes at first, and the layout learnt from them.
const HEAD_BYTES: usize = 256 << 10;

/// A header longer than this is none.
const HEAD_BYTES_MAX: usize = 256 << 20;

/// What follows the events is kept up to this length.
const TAIL_BYTES_MAX: usize = 64 << 20;

/// Reads a trace from JSON text (already decompressed).
///
/// # Errors
/// [`Error::Empty`], [`Error::NotATrace`] for JSON that is something else, [`Error::NoEvents`], and what `input` fails with.
pub fn read(input: impl Read + Send, options: &ReadOptions) -> Result<Trace, Error> {
    // Within the pool, handing work over is cheap; from outside every batch would wake its threads anew.
    rayon::scope(|_| read_in_pool(input, options))
}

fn read_in_pool(input: impl Read + Send, options: &ReadOptions) -> Result<Trace, Error> {
    let mut source = Source::new(input);
    let mut gathered = Gathered::default();
    let bare = find_events(&mut source, &mut gathered)?;
    let layout = learn_layout(&mut source)?;
    gathered.first_item = source.buffer.get(skip_space(&source.buffer, 0)).copied();
    read_events(&mut source, layout.as_ref(), options, &mut gathered)?;
    gathered.read_tail(bare, source.position());
    let bytes = source.position();
    gathered.into_trace(bytes, options)
}

/// What has been read so far.
#[derive(Default)]
struct Gathered {
    trace: Trace,
    pending: Pending,
    members: Members,
    /// Text of an event that was cut by the end of its stretch, and where it starts.
    carry: Vec<u8>,
    carry_offset: u64,
    /// How many events were read.
    events: u32,
    /// What the first item of the array begins with.
    first_item: Option<u8>,
    /// What follows the array of events, and where it starts.
    tail: Option<(Vec<u8>, u64)>,
}

/// Brings `source` to the first event. Returns whether the file is a bare list.
fn find_events<R: Read>(source: &mut Source<R>, gathered: &mut Gathered) -> Result<bool, Error> {
    let mut wanted = HEAD_BYTES;
    loop {
        source.fill(wanted)?;
        if source.buffer.is_empty() {
            return Err(Error::Empty);
        }
        let start = if source.buffer.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let first = skip_space(&source.buffer, start);
        match source.buffer.get(first) {
            Some(b'[') => {
                source.consume(first + 1);
                return Ok(true);
            }
            Some(b'{') => {}
            _ => return Err(not_a_trace(&source.buffer, &[])),
        }
        gathered.members.clear();
        let stopped = match head::walk(&source.buffer, first + 1, &mut gathered.members) {
            Walk::Events(at) => {
                source.consume(at);
                return Ok(false);
            }
            Walk::Closed(_) => return Err(not_a_trace(&source.buffer, &gathered.members)),
            Walk::CutShort(_) if !source.ended && wanted < HEAD_BYTES_MAX => {
                wanted *= 2;
                continue;
            }
            Walk::CutShort(at) | Walk::Malformed(at) => at,
        };
        return skip_damaged_head(source, gathered, stopped);
    }
}

/// The header cannot be read beyond `at`: the events may still be found by their key.
fn skip_damaged_head<R: Read>(source: &mut Source<R>, gathered: &mut Gathered, at: usize) -> Result<bool, Error> {
    const KEY: &[u8] = b"\"traceEvents\"";
    let events = memchr::memmem::find_iter(&source.buffer[at..], KEY).find_map(|found| {
        let colon = skip_space(&source.buffer, at + found + KEY.len());
        let bracket = skip_space(&source.buffer, colon + 1);
        (source.buffer.get(colon) == Some(&b':') && source.buffer.get(bracket) == Some(&b'[')).then_some(bracket + 1)
    });
    match events {
        Some(events) => {
            let detail = "in the header".to_owned();
            gathered.trace.provenance.problems.add_detailed(ProblemKind::MalformedEvent, at as u64, 1, detail);
            source.consume(events);
            Ok(false)
        }
        None if gathered.members.is_empty() => Err(not_a_trace(&source.buffer, &[])),
        None => Err(Error::NoEvents { offset: at as u64, reason: NoEvents::BrokenHeader }),
    }
}

fn not_a_trace(text: &[u8], members: &[(String, String)]) -> Error {
    let keys: Vec<String> = members.iter().map(|(key, _)| key.clone()).take(6).collect();
    let found = if !keys.is_empty() {
        Foreign::OtherJson { keys }
    } else {
        let start = String::from_utf8_lossy(&text[..text.len().min(40)]).chars().map(printable).collect();
        Foreign::OtherText { start }
    };
    Error::NotATrace { found }
}

fn printable(c: char) -> char {
    if c.is_control() { '\u{b7}' } else { c }
}

fn learn_layout<R: Read>(source: &mut Source<R>) -> Result<Option<Layout>, Error> {
    let mut wanted = HEAD_BYTES;
    loop {
        source.fill(wanted)?;
        let layout = Layout::learn(&source.buffer, 0);
        // A first event of more than four megabytes is none.
        if layout.is_some() || source.ended || wanted > 16 * HEAD_BYTES || skip_space(&source.buffer, 0) + 4096 < wanted / 2 {
            return Ok(layout);
        }
        wanted *= 2;
    }
}

/// Reads batch after batch: one is parsed while the next is read and inflated.
fn read_events<R: Read + Send>(
    source: &mut Source<R>,
    layout: Option<&Layout>,
    options: &ReadOptions,
    gathered: &mut Gathered,
) -> Result<(), Error> {
    let size = if layout.is_some() { 2 * rayon::current_num_threads() } else { 1 };
    let mut batch = next_batch(source, layout, size)?;
    while !batch.is_empty() {
        let (next, ()) = rayon::join(|| next_batch(source, layout, size), || gathered.absorb_batch(&batch, layout, options));
        source.recycle(batch.drain(..).map(|stretch| stretch.text));
        batch = next?;
    }
    Ok(())
}

fn next_batch<R: Read>(source: &mut Source<R>, layout: Option<&Layout>, size: usize) -> Result<Vec<Stretch>, Error> {
    let mut batch = Vec::with_capacity(size);
    while batch.len() < size {
        match source.next(layout)? {
            Some(stretch) => batch.push(stretch),
            None => break,
        }
    }
    Ok(batch)
}

impl Gathered {
    fn absorb_batch(&mut self, batch: &[Stretch], layout: Option<&Layout>, options: &ReadOptions) {
        if layout.is_none() {
            return batch.iter().for_each(|stretch| self.absorb(stretch, None, layout, options));
        }
        let read = |stretch: &Stretch| {
            let Stretch { text, offset, last } = stretch;
            Chunk { text, offset: *offset, layout, last: *last }.read(options)
        };
        let pieces: Vec<_> = batch.par_iter().map(read).collect();
        for (stretch, piece) in batch.iter().zip(pieces) {
            self.absorb(stretch, Some(piece), layout, options);
        }
    }

    /// Takes in the next stretch in order: as it was read ahead of its turn, or anew where an event began before it.
    fn absorb(&mut self, stretch: &Stretch, ahead: Option<(Piece, Reached)>, layout: Option<&Layout>, options: &ReadOptions) {
        if let Some((tail, _)) = &mut self.tail {
            if tail.len() < TAIL_BYTES_MAX {
                tail.extend_from_slice(&stretch.text);
            }
            return;
        }
        if let Some((piece, reached)) = ahead.filter(|_| self.carry.is_empty()) {
            return self.settle(piece, reached, &stretch.text, stretch.offset);
        }
        let read = |text, offset| Chunk { text, offset, layout, last: stretch.last }.read(options);
        if self.carry.is_empty() {
            let (piece, reached) = read(&stretch.text, stretch.offset);
            return self.settle(piece, reached, &stretch.text, stretch.offset);
        }
        let (mut text, offset) = (std::mem::take(&mut self.carry), self.carry_offset);
        text.extend_from_slice(&stretch.text);
        let (piece, reached) = read(&text, offset);
        self.settle(piece, reached, &text, offset);
    }

    fn settle(&mut self, piece: Piece, reached: Reached, text: &[u8], offset: u64) {
        let Piece { mut trace, pending, events } = piece;
        trace.spans.place.iter_mut().for_each(|place| *place = place.saturating_add(self.events));
        self.events = self.events.saturating_add(events);
        let remap = self.trace.append(trace);
        self.pending.take_over(pending, &remap);
        match reached {
            Reached::Rest(at) => {
                self.carry = text[at..].to_vec();
                self.carry_offset = offset + at as u64;
            }
            Reached::ArrayEnd(at) => self.tail = Some((text[at..].to_vec(), offset + at as u64)),
        }
    }

    /// Reads the members after the events, or notes that the file ends too early.
    fn read_tail(&mut self, bare: bool, end: u64) {
        let problems = &mut self.trace.provenance.problems;
        let Some((tail, offset)) = self.tail.take() else {
            // A bare list may lack its closing bracket: the format allows it.
            if !bare && problems.count(ProblemKind::Truncated) == 0 {
                problems.add_detailed(ProblemKind::Truncated, end, 1, "the events have no end".into());
            }
            return;
        };
        let closed = if bare { Walk::Closed(0) } else { head::walk(&tail, 0, &mut self.members) };
        match closed {
            Walk::Closed(at) => {
                let rest = skip_space(&tail, at);
                if rest < tail.len() {
                    problems.add(ProblemKind::TrailingData, offset + rest as u64);
                }
            }
            Walk::CutShort(at) => {
                problems.add_detailed(ProblemKind::Truncated, offset + at as u64, 1, "after the events".into())
            }
            Walk::Malformed(at) | Walk::Events(at) => problems.add(ProblemKind::TrailingData, offset + at as u64),
        }
    }

    fn into_trace(mut self, bytes: u64, options: &ReadOptions) -> Result<Trace, Error> {
        let provenance = &mut self.trace.provenance;
        provenance.file = options.label.clone();
        provenance.format = SourceFormat::Kineto;
        provenance.bytes = bytes;
        head::interpret(self.members, provenance);
        if provenance.rank.is_none() {
            provenance.rank = self.pending.rank.map(|rank| (Rank(rank), RankSource::Events));
        }
        let met = std::mem::take(&mut self.pending.met);
        met.report(&mut provenance.problems);
        // What was passed over may be one event or two: after that no number is certain.
        let passed_over = [ProblemKind::MalformedEvent, ProblemKind::TooLong];
        if passed_over.iter().any(|kind| self.trace.provenance.problems.count(*kind) > 0) {
            self.trace.spans.place = Vec::new();
        }
        finish::finish(&mut self.trace, self.pending);
        // A trace without what was asked for is a trace all the same.
        if self.trace.events() == 0 && met.passed_over == 0 {
            return Err(no_events(&met, self.first_item, self.trace.provenance.problems));
        }
        Ok(self.trace)
    }
}

/// Why there is no event in a file that was read: it is damaged, or whole and something else.
fn no_events(met: &Met, first_item: Option<u8>, problems: Problems) -> Error {
    let found = match met.unread() {
        Some(unread) => Foreign::OnlyUnread(unread),
        None if met.namings > 0 => Foreign::OnlyNames,
        None if first_item.is_some_and(|first| first != b'{' && first != b']') => Foreign::OtherList,
        None => Foreign::NothingInIt,
    };
    let is_damage = |problem: &&Problem| problem.kind != ProblemKind::Unsupported;
    match problems.iter().find(is_damage) {
        Some(damage) if met.unread.is_empty() && first_item.is_none_or(|first| first == b'{') => {
            Error::NoEvents { offset: damage.offset, reason: NoEvents::damaged(damage) }
        }
        _ => Error::NotATrace { found },
    }
}
