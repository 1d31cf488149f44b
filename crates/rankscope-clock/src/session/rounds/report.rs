//! A window on its way to the master: cut into parts, each sent until its receipt comes.
//!
//! To a master that took over it says as well where this node's clock stood as the master before told it. Each was told of itself alone, and
//! should the reference be gone, what all know together is what later rounds hang on.

use rankscope_time::Span;

use super::codec::{Reader, read_estimate, read_window, write_estimate, write_window};
use super::message::{Knowledge, Message, PART_LEN, PARTS_MAX};
use super::peers::Peers;
use crate::nodes::NodeEstimate;
use crate::session::backoff::Backoff;
use crate::session::outbox::Outbox;
use crate::{MonotonicInstant, NodeWindow};

/// A worker's side.
#[derive(Debug)]
pub(super) struct Report {
    round: u64,
    bytes: Vec<u8>,
    got: u64,
    resend: Backoff,
}

impl Report {
    /// The report of `window`, which belongs to `round`; edges that do not fit are left out and counted.
    pub(super) fn new(
        window: &NodeWindow,
        told: Option<&NodeEstimate>,
        round: u64,
        now: MonotonicInstant,
        out: &mut Outbox,
    ) -> Self {
        let mut bytes = vec![told.is_some().into()];
        if let Some(estimate) = told {
            write_estimate(&mut bytes, estimate);
        }
        out.counters.edges_unreported += write_window(&mut bytes, window, PARTS_MAX * PART_LEN) as u64;
        Self { round, bytes, got: 0, resend: Backoff::new(now, RESEND_LONGEST) }
    }

    fn parts(&self) -> usize {
        self.bytes.len().div_ceil(PART_LEN)
    }

    pub(super) fn is_received(&self) -> bool {
        self.got == all(self.parts())
    }

    pub(super) fn due(&self) -> Option<MonotonicInstant> {
        (!self.is_received()).then_some(self.resend.due)
    }

    pub(super) fn receive_ack(&mut self, round: u64, got: u64) {
        if round == self.round {
            self.got |= got & all(self.parts());
        }
    }

    pub(super) fn tick(&mut self, now: MonotonicInstant, to: usize, knowledge: Knowledge, peers: &mut Peers, out: &mut Outbox) {
        if self.is_received() || !self.resend.take(now) {
            return;
        }
        let parts = self.parts() as u8;
        for (part, bytes) in self.bytes.chunks(PART_LEN).enumerate().filter(|(part, _)| self.got & 1 << part == 0) {
            let message = Message::Part { round: self.round, part: part as u8, parts, bytes };
            peers.send(to, knowledge, &message, out);
        }
    }
}

/// What a worker reported.
#[derive(Debug, PartialEq)]
pub(super) struct Reported {
    pub(super) window: NodeWindow,
    /// Where its clock stood, as a master before told it.
    pub(super) told: Option<NodeEstimate>,
}

impl Reported {
    fn read(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        let told = match reader.u8()? {
            0 => None,
            1 => Some(read_estimate(&mut reader)?),
            _ => return None,
        };
        Some(Self { window: read_window(reader.0)?, told })
    }
}

/// The master's side, for one worker.
#[derive(Debug, Default)]
pub(super) struct Assembly {
    round: u64,
    parts: Vec<Option<Box<[u8]>>>,
    done: bool,
}

/// What a part did.
pub(super) enum Step {
    /// It came for a round that is no longer of interest.
    Old,
    /// It was new, and others follow it at once: one receipt does for all.
    Awaits,
    /// The last one came and others are missing, or it came twice. Holds those that have come.
    Got(u64),
    /// It was the last that was missing. Holds those that have come, and the report if the bytes are one.
    Whole(u64, Option<Reported>),
}

impl Assembly {
    pub(super) fn receive(&mut self, round: u64, part: u8, parts: u8, bytes: &[u8]) -> Step {
        if round < self.round {
            return Step::Old;
        }
        if round > self.round || self.parts.len() != usize::from(parts) && !self.done {
            *self = Self { round, parts: vec![None; parts.into()], done: false };
        }
        if self.done {
            return Step::Got(all(parts.into()));
        }
        let is_new = self.parts[usize::from(part)].is_none();
        self.parts[usize::from(part)].get_or_insert_with(|| bytes.into());
        let got = self.parts.iter().enumerate().fold(0, |got, (i, part)| got | u64::from(part.is_some()) << i);
        if got != all(parts.into()) {
            return if is_new && part + 1 < parts { Step::Awaits } else { Step::Got(got) };
        }
        let whole: Vec<u8> = self.parts.drain(..).flatten().flat_map(Vec::from).collect();
        self.done = true;
        Step::Whole(got, Reported::read(&whole).filter(|report| report.window.round == Some(round)))
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.parts.iter().flatten().map(|part| part.len()).sum()
    }
}

/// The lowest `parts` bits.
fn all(parts: usize) -> u64 {
    u64::MAX.checked_shr((PARTS_MAX - parts.min(PARTS_MAX)) as u32).unwrap_or(0)
}

#[cfg(test)]
mod tests;

/// Ten attempts fit the time that a default round is gathered in: enough where a third of them is lost.
pub(super) const RESEND_LONGEST: Span = Span::from_nanos(200_000_000);
