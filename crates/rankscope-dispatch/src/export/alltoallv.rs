//! The four rows of an alltoallv, in bytes or in units of an own datatype.

use crate::{Error, RankExchange, Rows};

/// The arguments of one rank: an entry per peer, none left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alltoallv<T> {
    /// How much goes to each peer.
    pub send_counts: Vec<T>,
    /// Where it starts in the send buffer.
    pub send_displacements: Vec<T>,
    /// How much comes from each peer.
    pub receive_counts: Vec<T>,
    /// Where it starts in the receive buffer.
    pub receive_displacements: Vec<T>,
}

/// The datatype that takes counts past 32 bits: rows travel in multiples of it, so every count and displacement is one.
pub const UNIT_BYTES: u64 = Rows::ALIGNMENT_BYTES;

impl Alltoallv<u64> {
    /// Counts and displacements in bytes. A pair without a message has the displacement at which one would lie.
    #[must_use]
    pub fn new(part: &RankExchange, world_size: u32) -> Self {
        let row = |messages: &[crate::Message]| {
            let (mut counts, mut displacements) = (vec![0; world_size as usize], Vec::with_capacity(world_size as usize));
            let (mut end, mut messages) = (0, messages.iter().peekable());
            for (peer, count) in counts.iter_mut().enumerate() {
                if let Some(message) = messages.next_if(|message| message.peer.0 as usize == peer) {
                    (end, *count) = (message.at, message.bytes);
                }
                displacements.push(end);
                end += *count;
            }
            (counts, displacements)
        };
        let (send_counts, send_displacements) = row(&part.sends);
        let (receive_counts, receive_displacements) = row(&part.receives);
        Self { send_counts, send_displacements, receive_counts, receive_displacements }
    }

    /// The same in units of `unit_bytes`, as the 32-bit integers that MPI took before version 4 and that NCCL's and torch's
    /// wrappers of it still take.
    ///
    /// # Errors
    /// [`Error::Counts`] where a value is no multiple of the unit or does not fit; it says whether [`UNIT_BYTES`] would do.
    pub fn narrowed(&self, unit_bytes: u64) -> Result<Alltoallv<i32>, Error> {
        let row = |what, values: &[u64]| -> Result<Vec<i32>, Error> {
            values.iter().map(|&bytes| narrow(what, bytes, unit_bytes)).collect()
        };
        Ok(Alltoallv {
            send_counts: row("a send count", &self.send_counts)?,
            send_displacements: row("a send displacement", &self.send_displacements)?,
            receive_counts: row("a receive count", &self.receive_counts)?,
            receive_displacements: row("a receive displacement", &self.receive_displacements)?,
        })
    }
}

fn narrow(what: &'static str, bytes: u64, unit_bytes: u64) -> Result<i32, Error> {
    let units = |unit: u64| (unit > 0 && bytes.is_multiple_of(unit)).then(|| i32::try_from(bytes / unit).ok()).flatten();
    match unit_bytes {
        0 => Err(Error::Options { what: "a datatype has at least one byte" }),
        unit => units(unit).ok_or_else(|| {
            let advice = match units(UNIT_BYTES) {
                Some(_) => "it fits in units of a datatype of 16 bytes, of which every row is a multiple",
                None => "it needs the 64-bit counts of MPI 4",
            };
            Error::Counts { what, bytes, unit_bytes, advice }
        }),
    }
}
