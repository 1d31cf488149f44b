//! From one piece of a thread's recording to the next, and across what is missing between them.

use rustc_hash::FxHashSet;

use super::super::event::{Event, What};
use super::super::live::Chunks;
use super::super::open::Piece;
use super::super::records::record;
use super::super::word::{Kind, NameId};
use super::meaning::{UNKNOWN, id_of};
use super::{DEPTH_MAX, Phase, Replay};

impl<C: Chunks> Replay<'_, C> {
    /// Goes on to the next piece that can be read; false if the phase changed instead.
    pub(super) fn turn(&mut self) -> bool {
        loop {
            let is_hole = std::mem::take(&mut self.broken);
            let Some((piece, rest)) = self.pieces.split_first() else {
                self.finish(is_hole);
                return false;
            };
            let is_hole = is_hole || self.expected != piece.sequence;
            self.pieces = rest;
            self.enter(piece);
            if self.broken {
                continue;
            }
            if is_hole {
                self.cross();
            }
            return !is_hole;
        }
    }

    /// Brings the spans across the hole before the piece at hand that it says are open.
    fn cross(&mut self) {
        let carried = self.carried();
        let ids: FxHashSet<u64> = carried.iter().map(id_of).collect();
        let is_before = matches!(self.phase, Phase::Before);
        if is_before {
            self.held.retain(|id| ids.contains(&id));
        } else {
            self.held.clear();
            self.open.iter_mut().for_each(|open| open.crosses = ids.contains(&open.id));
            self.phase = Phase::Crossing { tick: self.tick, at: self.open.len(), above: 0 };
        }
        let held = self.held.begins.iter().map(|begin| id_of(&begin.0));
        let known: FxHashSet<u64> = held.chain(self.open.iter().map(|open| open.id)).collect();
        for begin in carried.iter().filter(|begin| !known.contains(&id_of(begin)) || id_of(begin) == UNKNOWN) {
            self.tick = self.tick.max(begin.tick);
            let is_within = begin.name != NameId::default() && self.tick <= self.cut.to_tick;
            let counts = is_within && self.is_on(begin);
            self.held.push(Event { tick: self.tick, ..*begin }, counts, &[]);
        }
    }

    /// The begins of spans that the piece at hand says were open before it. What it knows nothing of has no name.
    fn carried(&mut self) -> Vec<Event> {
        let mut carried = Vec::new();
        while let Ok((record, next)) = record(&self.words[..self.end], self.at) {
            let (what, repeat) = match *record.payload {
                [_, id] if record.kind == Kind::Opened => (What::Begin { id, number: None }, 1),
                [_, id, number] if record.kind == Kind::OpenedNumbered => (What::Begin { id, number: Some(number as i64) }, 1),
                [] if record.kind == Kind::OpenedDeeper => {
                    (What::Begin { id: UNKNOWN, number: None }, record.head.value().min(DEPTH_MAX as u64) as usize)
                }
                _ => break,
            };
            let tick = record.payload.first().map_or(self.base_tick, |tick| *tick.min(&self.base_tick));
            carried.extend(std::iter::repeat_n(Event { tick, name: record.head.name(), what }, repeat));
            self.at = next;
        }
        carried
    }

    fn enter(&mut self, piece: &Piece) {
        let loaded = self.recording.load(piece, &mut self.words);
        self.broken = loaded.is_none();
        self.end = loaded.unwrap_or(0);
        self.at = piece.at.min(self.end);
        self.chunk = piece.chunk;
        self.base_tick = piece.base_tick;
        self.next_id = piece.first_id;
        self.expected = piece.sequence.wrapping_add(1);
    }
}
