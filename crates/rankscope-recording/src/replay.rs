//! [`Replay`]: the events of one thread, in the order it recorded them, as far as a cut holds them.
//!
//! A span is in a cut if it overlaps it. Those that begin before it are put aside until it is known that they reach into it;
//! those that are open where it ends are ended there and marked. A hole (a chunk that is damaged, or that a ring has overwritten)
//! is crossed by the spans that the piece behind it says are open: what was known of them goes on, and those that began in the
//! hole begin there, when they did, without their arguments. All others that were open before it end, unfinished, at the last tick
//! before it, and ends behind it that have no begin are skipped.

mod held;
mod holes;
mod meaning;

use super::CHUNK_WORDS;
use super::args::Args;
use super::event::{Event, What};
use super::live::Chunks;
use super::open::{Piece, Recording};
use super::records::{Stop, args_end, record};
use super::session::{Cut, Mask};
use super::word::{Kind, NameId};
use held::Held;
pub(crate) use meaning::DEVICE_INDEX_BITS;
use meaning::{MEMORY_CATEGORY, id_of, what};

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
    expected: u32,
    /// Part of the chunk at hand could not be read.
    broken: bool,
    base_tick: u64,
    next_id: u64,
    tick: u64,
    /// The open spans, the outermost first.
    open: Vec<Open>,
    held: Held,
    phase: Phase,
}

/// A span that is open.
#[derive(Clone, Copy, Debug)]
struct Open {
    id: u64,
    /// Its begin was handed out.
    counts: bool,
    /// It crosses the hole at hand.
    crosses: bool,
}

/// Spans among which one that ends out of order is looked for, the innermost first. No recorder has more of them open.
const DEPTH_MAX: usize = 4096;

#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Before the cut: begins are held.
    Before,
    /// Held begins are handed out from this one on.
    Releasing(usize),
    /// Within the cut.
    Within,
    /// Before a hole: open spans that do not cross it are ended at `tick`. Those from `at` on have been looked at, and so many of
    /// them cross it.
    Crossing {
        tick: u64,
        at: usize,
        above: u32,
    },
    /// All open spans are ended at `tick`.
    Closing {
        tick: u64,
    },
    Done,
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
    /// The span with this correlation id ends.
    EndOf(u64, u64),
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
            expected: 0,
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
                    self.open.push(Open { id: id_of(&event), counts, crosses: false });
                    if counts {
                        return Some((event, Source::Held(at)));
                    }
                }
                Phase::Releasing(_) => {
                    self.held.clear();
                    self.phase = Phase::Within;
                }
                Phase::Crossing { at: 0, .. } => {
                    self.open.retain(|open| open.crosses);
                    self.phase = Phase::Releasing(0);
                }
                Phase::Crossing { tick, at, above } => {
                    let Open { counts, crosses, .. } = self.open[at - 1];
                    self.phase = Phase::Crossing { tick, at: at - 1, above: above + u32::from(counts && crosses) };
                    if counts && !crosses {
                        return Some((ended(tick, true, above), Source::Nowhere));
                    }
                }
                Phase::Closing { tick } => match self.open.pop() {
                    Some(open) if open.counts => return Some((ended(tick, true, 0), Source::Nowhere)),
                    Some(_) => {}
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
                Read::Event(Event { tick, .. }) | Read::EndOf(tick, _) if tick > self.cut.to_tick => {
                    self.phase = Phase::Closing { tick: self.cut.to_tick };
                    return None;
                }
                Read::EndOf(tick, id) => {
                    let args = self.skip_args();
                    if let Some(above) = self.find(id).and_then(|at| self.take_out(at)) {
                        return Some((ended(tick, false, above), Source::Chunk(args, self.at)));
                    }
                }
                Read::Event(event) => {
                    let args = self.skip_args();
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

    /// Goes behind the arguments at hand; where they start.
    #[inline]
    fn skip_args(&mut self) -> usize {
        let args = self.at;
        self.at = args_end(&self.words[..self.end], args);
        args
    }

    /// The place of the open span with this correlation id.
    fn find(&self, id: u64) -> Option<usize> {
        let innermost = self.open.len().saturating_sub(DEPTH_MAX);
        self.open[innermost..].iter().rposition(|open| open.id == id).map(|at| innermost + at)
    }

    /// Takes out the open span at this place; how many that were handed out are above it, none if it was not.
    fn take_out(&mut self, at: usize) -> Option<u32> {
        let taken = self.open.remove(at);
        let above = self.open[at..].iter().filter(|open| open.counts).count() as u32;
        taken.counts.then_some(above)
    }

    /// Whether an event within the cut is handed out. Keeps the stack of open spans.
    #[inline]
    fn counts(&mut self, event: &Event) -> bool {
        match event.what {
            What::Begin { id, .. } => {
                let counts = self.is_on(event);
                self.open.push(Open { id, counts, crosses: false });
                counts
            }
            // An end without a begin: the begin is lost.
            What::End { .. } => self.open.pop().is_some_and(|open| open.counts),
            What::Instant if self.recording.is_hidden(event.name) => false,
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
            Read::Event(Event { tick: at, .. }) | Read::EndOf(at, _) if at >= self.cut.from_tick => {
                // Read it again when those held are out.
                (self.at, self.tick, self.next_id) = (from, tick, next_id);
                self.phase = Phase::Releasing(0);
            }
            Read::Event(event) => {
                let args = self.skip_args();
                match event.what {
                    What::Begin { .. } => {
                        let counts = self.is_on(&event);
                        self.held.push(event, counts, &self.words[args..self.at]);
                    }
                    What::End { .. } => self.held.pop(),
                    _ => {}
                }
            }
            Read::EndOf(_, id) => {
                self.skip_args();
                if let Some(at) = self.held.find(id) {
                    self.held.remove(at);
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
        self.tick = self.tick.max(self.base_tick.saturating_add(record.head.value()));
        if record.kind == Kind::EndOf {
            return Read::EndOf(self.tick, record.payload[0]);
        }
        let what = what(&record, &mut self.next_id);
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

    /// The recording is over, with a hole or without one. Spans that are open last to the last tick before the hole, to the last
    /// tick that is known, or to the end of the cut.
    fn finish(&mut self, is_hole: bool) {
        let known = if is_hole { self.tick } else { self.recording.last_tick().max(self.tick) };
        let tick = known.min(self.cut.to_tick);
        self.phase = match self.phase {
            Phase::Before if tick >= self.cut.from_tick && !is_hole => Phase::Releasing(0),
            Phase::Before => Phase::Done,
            _ => Phase::Closing { tick },
        };
    }
}

/// The end of a span with so many above it.
fn ended(tick: u64, unfinished: bool, above: u32) -> Event {
    Event { tick, name: NameId::default(), what: What::End { unfinished, above } }
}
