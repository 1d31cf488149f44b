//! Reading: every sound block goes into the trace, and every other one is named.

use std::io::Read;

use rankscope_trace::{ProblemKind, Trace};
use rustc_hash::FxHashMap;

use super::super::trace::{Builder, Facts, losses as losses_of};
use super::super::{Anchor, TickMap};
use super::columns::Events;
use super::frame::{BlockKind, Found, Frames};
use super::tables;
use crate::{Error, NoEvents, ReadOptions, Scope};

/// Reads a packed recording.
///
/// # Errors
/// What is no packed recording, one without an event, and what `input` fails with.
pub fn read(input: impl Read, options: &ReadOptions) -> Result<Trace, Error> {
    let mut frames = Frames::open(input)?;
    let mut reader = Reader {
        options,
        builder: Builder::new(options, TickMap::new(&[])),
        meta: Vec::new(),
        anchors: Vec::new(),
        is_begun: false,
        is_whole: false,
        expected: FxHashMap::default(),
        blocks: 0,
    };
    loop {
        match frames.next()? {
            (Found::Block(kind, offset), bytes) => {
                reader.builder.at(offset);
                if !reader.block(kind, bytes, offset) {
                    reader.damage(offset, "a block that contradicts itself");
                }
            }
            (Found::Damage(offset), _) => reader.damage(offset, "a block whose checksum is false"),
            (Found::End { offset, torn }, _) => return reader.finish(offset, torn),
        }
    }
}

struct Reader<'a> {
    options: &'a ReadOptions,
    builder: Builder<'a>,
    meta: Vec<(String, String)>,
    anchors: Vec<Anchor>,
    /// A thread was seen: what comes before threads is complete.
    is_begun: bool,
    /// The last block was seen.
    is_whole: bool,
    /// The number of the next block of each stream.
    expected: FxHashMap<u32, u32>,
    blocks: u64,
}

impl Reader<'_> {
    /// Takes in one block; false if it is malformed.
    fn block(&mut self, kind: u8, bytes: &[u8], offset: u64) -> bool {
        let Some(kind) = BlockKind::of(kind) else {
            let detail = format!("block of kind {kind}, of a later version");
            self.builder.provenance().problems.add_detailed(ProblemKind::Unsupported, offset, 1, detail);
            return true;
        };
        match kind {
            BlockKind::Meta => tables::read_meta(bytes).map(|mut meta| self.meta.append(&mut meta)),
            BlockKind::Anchors => tables::read_anchors(bytes).map(|mut anchors| self.anchors.append(&mut anchors)),
            BlockKind::Names => tables::read_names(bytes).map(|names| {
                for (number, category, text) in names {
                    self.builder.name(number as usize, &text, category);
                }
            }),
            BlockKind::Thread => tables::read_thread(bytes).map(|(stream, tid, name)| {
                self.begin();
                self.builder.thread(stream, tid, &name);
            }),
            BlockKind::Events => {
                self.begin();
                self.events(bytes)
            }
            BlockKind::Drops => tables::read_drops(bytes).map(|losses| {
                let problems = &mut self.builder.provenance().problems;
                if let Some((lost, words)) = losses_of(&losses.drops) {
                    problems.add_detailed(ProblemKind::LostPackets, offset, lost, words);
                }
                if losses.chunks > 0 {
                    let detail = "chunks of the recording this file was made from".to_owned();
                    problems.add_detailed(ProblemKind::DamagedBlock, offset, losses.chunks, detail);
                }
            }),
            // Nothing in a trace has a place for sessions: a packed file holds the events of its own.
            BlockKind::Sessions => Some(()),
            BlockKind::End => {
                self.is_whole = true;
                Some(())
            }
        }
        .is_some()
    }

    /// All that comes before threads is in.
    fn begin(&mut self) {
        if std::mem::replace(&mut self.is_begun, true) {
            return;
        }
        let ticks = TickMap::new(&self.anchors);
        let facts = Facts { meta: &self.meta, anchors: &self.anchors, ticks: &ticks };
        facts.file(self.builder.provenance(), self.options);
        self.builder.set_ticks(ticks);
        self.builder.name_process();
    }

    fn events(&mut self, bytes: &[u8]) -> Option<()> {
        let mut events = Events::of(bytes)?;
        self.blocks += 1;
        self.builder.turn_to(events.stream);
        let next = events.sequence.wrapping_add(1);
        if self.expected.insert(events.stream, next).unwrap_or(0) != events.sequence {
            self.builder.hole();
        }
        while let Some(event) = events.next() {
            match event {
                Ok((event, args)) => self.builder.event(&event, args),
                Err(_) => {
                    self.builder.hole();
                    return None;
                }
            }
        }
        Some(())
    }

    fn damage(&mut self, offset: u64, what: &str) {
        self.builder.provenance().problems.add_detailed(ProblemKind::DamagedBlock, offset, 1, what.to_owned());
    }

    fn finish(mut self, offset: u64, torn: bool) -> Result<Trace, Error> {
        self.begin();
        self.builder.at(offset);
        if torn || !self.is_whole {
            let detail = "the recording has no end: whoever wrote it was stopped, or a copy of it failed".to_owned();
            self.builder.provenance().problems.add_detailed(ProblemKind::Truncated, offset, 1, detail);
        }
        self.builder.provenance().bytes = offset;
        let is_whole_scope = self.builder.scope() == Scope::All;
        let trace = self.builder.finish();
        if trace.events() == 0 && is_whole_scope {
            let first = trace.provenance.problems.iter().next();
            let reason = NoEvents::of_recording(first);
            return Err(Error::NoEvents { offset: first.map_or(offset, |problem| problem.offset), reason });
        }
        Ok(trace)
    }
}
