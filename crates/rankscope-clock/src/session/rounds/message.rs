//! What nodes say to each other about rounds.
//!
//! Every message begins with what its sender knows: the term, and the last round of it that the sender commanded or closed.
//! That alone teaches a master that came back from a partition, or from the dead, that the world has moved on.

use super::codec::{Reader, put_u32, put_u64, read_estimate, write_estimate};
use crate::nodes::NodeEstimate;
use crate::session::wire::BODY_MAX;

/// The reign of one master. Terms of different masters are different numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Term(pub(super) u32);

/// What a node knows of the rounds. No term comes before every term.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Knowledge {
    pub(super) term: Option<Term>,
    pub(super) round: u64,
}

/// A message without what its sender knows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Message<'a> {
    /// Master to all: I reign, and these take part (one bit each, in order of participants).
    Reign { live: &'a [u8] },
    /// Any to any: I live. Asks for an answer if `ping`.
    Alive { ping: bool },
    /// Master to all: close the window, it belongs to this round; and these take part.
    RoundEnd { round: u64, live: &'a [u8] },
    /// Worker to master: closed.
    RoundAck { round: u64 },
    /// Worker to master: a part of the window.
    Part { round: u64, part: u8, parts: u8, bytes: &'a [u8] },
    /// Master to worker: these parts have come, one bit each.
    PartAck { round: u64, got: u64 },
    /// Master to worker: where your clock stands.
    Result { round: u64, estimate: NodeEstimate },
    /// Worker to master: noted.
    ResultAck { round: u64 },
    /// Any to any: I go.
    Leave,
}

/// Bytes of a window in one part.
pub(super) const PART_LEN: usize = BODY_MAX - PREFIX_LEN - 11;

/// A part is a bit of [`Message::PartAck`].
pub(super) const PARTS_MAX: usize = 64;

/// Bytes of the set of those that take part; participants beyond the first 8,000 cannot succeed a master in turn.
pub(super) const LIVE_MAX: usize = 1000;

const PREFIX_LEN: usize = 4 + 8;
const NO_TERM: u32 = u32::MAX;

impl Message<'_> {
    /// Bytes of the set of those that take part, among `nodes`.
    pub(super) fn live_len(nodes: usize) -> usize {
        nodes.div_ceil(8).min(LIVE_MAX)
    }

    pub(super) fn write(&self, knowledge: Knowledge, out: &mut Vec<u8>) {
        put_u32(out, knowledge.term.map_or(NO_TERM, |term| term.0));
        put_u64(out, knowledge.round);
        match self {
            Self::Reign { live } => {
                out.push(1);
                out.extend_from_slice(live);
            }
            Self::Alive { ping } => out.extend_from_slice(&[2, (*ping).into()]),
            Self::RoundEnd { round, live } => {
                numbered(out, 3, *round);
                out.extend_from_slice(live);
            }
            Self::RoundAck { round } => numbered(out, 4, *round),
            Self::Part { round, part, parts, bytes } => {
                numbered(out, 5, *round);
                out.extend_from_slice(&[*part, *parts]);
                out.extend_from_slice(bytes);
            }
            Self::PartAck { round, got } => {
                numbered(out, 6, *round);
                put_u64(out, *got);
            }
            Self::Result { round, estimate } => {
                numbered(out, 7, *round);
                write_estimate(out, estimate);
            }
            Self::ResultAck { round } => numbered(out, 8, *round),
            Self::Leave => out.push(9),
        }
    }
}

/// Reads what [`Message::write`] wrote.
pub(super) fn read(body: &[u8]) -> Option<(Knowledge, Message<'_>)> {
    let mut reader = Reader(body);
    let term = Some(reader.u32()?).filter(|term| *term != NO_TERM).map(Term);
    let knowledge = Knowledge { term, round: reader.u64()? };
    let message = match reader.u8()? {
        1 => Message::Reign { live: std::mem::take(&mut reader.0) },
        2 => Message::Alive { ping: reader.u8()? != 0 },
        3 => Message::RoundEnd { round: reader.u64()?, live: std::mem::take(&mut reader.0) },
        4 => Message::RoundAck { round: reader.u64()? },
        5 => {
            let (round, part, parts) = (reader.u64()?, reader.u8()?, reader.u8()?);
            let bytes = std::mem::take(&mut reader.0);
            if part >= parts || usize::from(parts) > PARTS_MAX || bytes.len() > PART_LEN {
                return None;
            }
            Message::Part { round, part, parts, bytes }
        }
        6 => Message::PartAck { round: reader.u64()?, got: reader.u64()? },
        7 => Message::Result { round: reader.u64()?, estimate: read_estimate(&mut reader)? },
        8 => Message::ResultAck { round: reader.u64()? },
        9 => Message::Leave,
        _ => return None,
    };
    reader.end()?;
    Some((knowledge, message))
}

fn numbered(out: &mut Vec<u8>, kind: u8, round: u64) {
    out.push(kind);
    put_u64(out, round);
}

#[cfg(test)]
mod tests;
