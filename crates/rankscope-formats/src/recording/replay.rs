//! [`Replay`]: the events of one thread, in the order it recorded them, as far as a cut holds them.
//!
//! A span is in a cut if it overlaps it. Those that begin before it are put aside until it is known that they reach into it;
//! those that are open where it ends are ended there and marked. The same is done at a hole (a chunk that is damaged, or that a
//! ring has let go of): an end does not say which span it ends, so nothing behind a hole can be tied to a span before it.
//! All spans open there end, unfinished, at the last tick before it, and ends behind it that have no begin are skipped.

use super::CHUNK_WORDS;
use super::args::Args;
use super::event::{CounterValue, Event, FlowStage, What};
use super::live::Chunks;
use super::open::{Piece, Recording};
use super::records::{Record, Stop, args_end, record};
use super::session::{Cut, Mask};
use super::word::{Kind, NameId};

/// Walks the events of a thread.
pub struct Replay<'r, C> {
    recording: &'r Recording<C>,
    cut: Cut,
    mask: Mask,
    pieces: &'r [Piece],
    /// The chunk at hand: its words, and how far they go and have been read.
    words: Vec<u64>,
    chunk: u32,
    at: usize,
    end: usize,
    /// The place the next piece must have for nothing to be missing.
    expected: Option<u32>,
    /// Part of the chunk at hand could not be read.
    broken: bool,
    base_tick: u64,
    next_id: u64,
    tick: u64,
    /// For every open span, the outermost first, whether its begin was handed out.
    open: Vec<bool>,
    held: Held,
    phase: Phase,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Before the cut: begins are held.
    Before,
    /// Held begins are handed out from this one on.
    Releasing(usize),
    /// Within the cut.
    Within,
    /// Open spans are ended at `tick`; whether more may follow.
    Closing {
        tick: u64,
        more: bool,
    },
    Done,
}

/// Spans that began before the cut and are still open, with their arguments.
#[derive(Debug, Default)]
struct Held {
    /// The begin, whether its category was on, and where its arguments end.
    begins: Vec<(Event, bool, usize)>,
    args: Vec<u64>,
}

impl Held {
    fn args(&self, at: usize) -> std::ops::Range<usize> {
        let start = if at == 0 { 0 } else { self.begins[at - 1].2 };
        start..self.begins[at].2
    }

    fn pop(&mut self) {
        self.begins.pop();
        self.args.truncate(self.begins.last().map_or(0, |begin| begin.2));
    }

    fn clear(&mut self) {
        self.begins.clear();
        self.args.clear();
    }
}

/// Where the arguments of an event lie.
enum Source {
    Chunk(usize, usize),
    Held(usize),
    Nowhere,
}

/// What a record means to a replay.
enum Read {
    Event(Event),
    /// Nothing, or bookkeeping that is done.
    Nothing,
    /// The piece is over.
    Over,
}

impl<'r, C: Chunks> Replay<'r, C> {
    pub(super) fn new(recording: &'r Recording<C>, pieces: &'r [Piece], cut: Cut) -> Self {
        let phase = if cut.from_tick > cut.to_tick {
            Phase::Done
        } else if cut.from_tick == 0 {
            Phase::Within
        } else {
            Phase::Before
        };
        Self {
            recording,
            mask: Mask::new(&cut.changes),
            cut,
            pieces,
            words: vec![0; if pieces.is_empty() { 0 } else { CHUNK_WORDS }],
            chunk: 0,
            at: 0,
            end: 0,
            expected: None,
            broken: false,
            base_tick: 0,
            next_id: 0,
            tick: 0,
            open: Vec::new(),
            held: Held::default(),
            phase,
        }
    }

    /// The next event and its arguments. Their ticks never fall, but for those that end a span at a hole or at the cut.
    #[expect(clippy::should_implement_trait, reason = "arguments are lent, which no iterator can do")]
    #[inline]
    pub fn next(&mut self) -> Option<(Event, Args<'_>)> {
        let (event, source) = self.step()?;
        let args = match source {
            Source::Chunk(from, to) => Args::of(&self.words[from..to]),
            Source::Held(at) => Args::of(&self.held.args[self.held.args(at)]),
            Source::Nowhere => Args::NONE,
        };
        Some((event, args))
    }

    fn step(&mut self) -> Option<(Event, Source)> {
        loop {
            match self.phase {
                Phase::Within => {
                    if let Some(found) = self.within() {
                        return Some(found);
                    }
                }
                Phase::Before => self.before(),
                Phase::Releasing(at) if at < self.held.begins.len() => {
                    self.phase = Phase::Releasing(at + 1);
                    let (event, counts, _) = self.held.begins[at];
                    self.open.push(counts);
                    if counts {
                        return Some((event, Source::Held(at)));
                    }
                }
                Phase::Releasing(_) => {
                    self.held.clear();
                    self.phase = Phase::Within;
                }
                Phase::Closing { tick, more } => match self.open.pop() {
                    Some(true) => {
                        let what = What::End { unfinished: true };
                        return Some((Event { tick, name: NameId::default(), what }, Source::Nowhere));
                    }
                    Some(false) => {}
                    None if more => self.phase = Phase::Within,
                    None => self.phase = Phase::Done,
                },
                Phase::Done => return None,
            }
        }
    }

    /// Hands out the next event of the cut, or changes the phase and hands out none.
    #[inline]
    fn within(&mut self) -> Option<(Event, Source)> {
        loop {
            match self.read() {
                Read::Event(event) if event.tick > self.cut.to_tick => {
                    self.phase = Phase::Closing { tick: self.cut.to_tick, more: false };
                    return None;
                }
                Read::Event(event) => {
                    let args = self.at;
                    self.at = args_end(&self.words[..self.end], args);
                    if self.counts(&event) {
                        return Some((event, Source::Chunk(args, self.at)));
                    }
                }
                Read::Nothing => {}
                Read::Over => {
                    if !self.turn() {
                        return None;
                    }
                }
            }
        }
    }

    /// Whether an event within the cut is handed out. Keeps the stack of open spans.
    #[inline]
    fn counts(&mut self, event: &Event) -> bool {
        match event.what {
            What::Begin { .. } => {
                let counts = self.is_on(event);
                self.open.push(counts);
                counts
            }
            // An end without a begin: the begin is lost.
            What::End { .. } => self.open.pop().unwrap_or(false),
            _ => self.is_on(event),
        }
    }

    #[inline]
    fn is_on(&mut self, event: &Event) -> bool {
        let recording = self.recording;
        self.mask.is_on(&self.cut.changes, event.tick, || match event.what {
            What::Memory { .. } => MEMORY_CATEGORY,
            _ => recording.category(event.name),
        })
    }

    /// Takes one record before the cut, or finds that the cut has begun.
    fn before(&mut self) {
        let from = self.at;
        let (tick, next_id) = (self.tick, self.next_id);
        match self.read() {
            Read::Event(event) if event.tick >= self.cut.from_tick => {
                // Read it again when those held are out.
                (self.at, self.tick, self.next_id) = (from, tick, next_id);
                self.phase = Phase::Releasing(0);
            }
            Read::Event(event) => {
                let args = self.at;
                self.at = args_end(&self.words[..self.end], args);
                match event.what {
                    What::Begin { .. } => {
                        let counts = self.is_on(&event);
                        self.held.args.extend_from_slice(&self.words[args..self.at]);
                        self.held.begins.push((event, counts, self.held.args.len()));
                    }
                    What::End { .. } => self.held.pop(),
                    _ => {}
                }
            }
            Read::Nothing => {}
            Read::Over => {
                self.turn();
            }
        }
    }

    /// Reads the record at hand and goes behind it; its arguments are not looked at.
    #[inline]
    fn read(&mut self) -> Read {
        let (record, next) = match record(&self.words[..self.end], self.at) {
            Ok(found) => found,
            Err(Stop::End) => {
                self.at = self.end;
                return Read::Over;
            }
            Err(Stop::Unreadable) => return self.give_up(),
        };
        // Nothing that has a name is recorded without one: this is an end with a false bit, or no head at all. Taken for an
        // event, it would be one more than was written.
        if record.kind.is_named() && record.head.name() == NameId::default() {
            return self.give_up();
        }
        self.at = next;
        if !record.kind.has_ticks() {
            return match record.kind {
                Kind::Rebase => {
                    self.base_tick = record.payload[0];
                    Read::Nothing
                }
                Kind::Switch => {
                    self.at = self.end;
                    Read::Over
                }
                _ => Read::Nothing,
            };
        }
        let what = what(&record, &mut self.next_id);
        self.tick = self.tick.max(self.base_tick.saturating_add(record.head.value()));
        let name = if record.kind.is_named() { record.head.name() } else { NameId::default() };
        Read::Event(Event { tick: self.tick, name, what })
    }

    /// The rest of the piece cannot be told apart.
    fn give_up(&mut self) -> Read {
        self.broken = true;
        self.recording.note_cut(self.chunk);
        self.at = self.end;
        Read::Over
    }

    /// Goes on to the next piece; false if the phase changed instead.
    fn turn(&mut self) -> bool {
        let gap = |piece: &Piece| self.expected.is_some_and(|expected| expected != piece.sequence);
        if self.broken || self.pieces.first().is_some_and(gap) {
            (self.broken, self.expected) = (false, None);
            self.held.clear();
            if !self.open.is_empty() {
                self.phase = Phase::Closing { tick: self.tick, more: true };
                return false;
            }
        }
        let Some((piece, rest)) = self.pieces.split_first() else {
            self.finish();
            return false;
        };
        self.pieces = rest;
        self.enter(piece);
        true
    }

    fn enter(&mut self, piece: &Piece) {
        let loaded = self.recording.load(piece, &mut self.words);
        self.broken = loaded.is_none();
        self.end = loaded.unwrap_or(0);
        self.at = piece.at.min(self.end);
        self.chunk = piece.chunk;
        self.base_tick = piece.base_tick;
        self.next_id = piece.first_id;
        self.expected = Some(piece.sequence.wrapping_add(1));
    }

    /// The recording is over. Spans that are open last to its last known tick, or to the end of the cut.
    fn finish(&mut self) {
        let tick = self.recording.last_tick().max(self.tick).min(self.cut.to_tick);
        self.phase = match self.phase {
            Phase::Before if tick >= self.cut.from_tick => Phase::Releasing(0),
            Phase::Before => Phase::Done,
            _ => Phase::Closing { tick, more: false },
        };
    }
}

/// What a record with ticks says. Every begin of a span takes the next correlation id of its thread.
#[inline]
fn what(record: &Record<'_>, next_id: &mut u64) -> What {
    let word = |at: usize| record.payload.get(at).copied().unwrap_or_default();
    let mut begin = |number| {
        let id = *next_id;
        *next_id = next_id.wrapping_add(1);
        What::Begin { id, number }
    };
    match record.kind {
        Kind::Begin => begin(None),
        Kind::BeginNumbered => begin(Some(word(0) as i64)),
        Kind::End => What::End { unfinished: false },
        Kind::CounterI64 => What::Counter(CounterValue::I64(word(0) as i64)),
        Kind::CounterF64 => What::Counter(CounterValue::F64(f64::from_bits(word(0)))),
        Kind::FlowStart => What::Flow { id: word(0), stage: FlowStage::Start },
        Kind::FlowStep => What::Flow { id: word(0), stage: FlowStage::Step },
        Kind::FlowEnd => What::Flow { id: word(0), stage: FlowStage::End },
        Kind::AsyncBegin => What::AsyncBegin { id: word(0) },
        Kind::AsyncEnd => What::AsyncEnd { id: word(0) },
        Kind::Memory | Kind::OutOfMemory => {
            let device = record.head.name().0;
            What::Memory {
                address: word(0),
                bytes: word(1) as i64,
                device_type: (device >> DEVICE_INDEX_BITS) as u8,
                device_index: (device & ((1 << DEVICE_INDEX_BITS) - 1)) as i16 - 1,
                out_of_memory: record.kind == Kind::OutOfMemory,
            }
        }
        // No other kind has ticks.
        _ => What::Instant,
    }
}

/// The category of memory events, `cpu_instant_event`.
pub(super) const MEMORY_CATEGORY: u8 = 9;

/// Bits of a memory record's name field that hold the index of the device, one up.
pub(super) const DEVICE_INDEX_BITS: u32 = 12;
