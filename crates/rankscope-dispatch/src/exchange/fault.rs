//! What keeps an exchange from being executed, for one rank.

use std::ops::Range;

use rankscope_time::Rank;
use thiserror::Error;

use super::{Message, RowCopy, RowSum};
use crate::movement::ElementType;

/// Why a rank's part of an exchange cannot be executed. Each reads after the rank.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ExchangeFault {
    /// Parts are not in the order of their ranks.
    #[error("its place is taken by rank {by}")]
    PlaceTaken {
        /// Whose part is there.
        by: Rank,
    },
    /// A message that its other end does not list.
    #[error(
        "{way} {bytes} bytes with rank {peer}, which lists {}",
        listed.map_or("no such message".to_owned(), |other| format!("{} bytes at {}", other.bytes, other.at))
    )]
    Unlisted {
        /// Whether it is sent or received.
        way: Way,
        /// How long it is.
        bytes: u64,
        /// The other end.
        peer: Rank,
        /// What the other end lists instead.
        listed: Option<Message>,
    },
    /// Counts of rows for another number of tensors.
    #[error("row counts for other than {tensors} tensors")]
    TensorCounts {
        /// Tensors of the exchange.
        tensors: usize,
    },
    /// Messages that do not ascend by peer.
    #[error("{way}: rank {peer} is not listed after rank {after}")]
    Order {
        /// Whether they are sent or received.
        way: Way,
        /// The peer that comes too late.
        peer: Rank,
        /// The one before it.
        after: Rank,
    },
    /// A message that is empty or leaves its buffer.
    #[error("{way}: {bytes} bytes at {at} with rank {peer} in a buffer of {buffer_bytes}")]
    MessageOutside {
        /// Whether it is sent or received.
        way: Way,
        /// How long it is.
        bytes: u64,
        /// Where it starts.
        at: u64,
        /// The other end.
        peer: Rank,
        /// The buffer.
        buffer_bytes: u64,
    },
    /// Rows that leave their tensor or their buffer.
    #[error("{step}: rows {} to {} of tensor {}, at byte {} of the buffer, do not fit", copy.row, copy.row.saturating_add(copy.rows), copy.tensor, copy.at)]
    CopyOutside {
        /// When they are copied.
        step: Step,
        /// The rows.
        copy: RowCopy,
    },
    /// Something is written twice.
    #[error("{what}: {first:?} and {second:?} overlap")]
    Overlap {
        /// What.
        what: Written,
        /// A range.
        first: Range<u64>,
        /// One that begins in it.
        second: Range<u64>,
    },
    /// A sum that leaves its tensor, or adds rows to themselves.
    #[error("{} rows of tensor {} from {} into {} do not fit, or are added to themselves", sum.rows, sum.tensor, sum.from, sum.into)]
    SumOutside {
        /// The sum.
        sum: RowSum,
    },
    /// Inputs of another number of ranks.
    #[error("inputs for {given} ranks, not {ranks}")]
    Inputs {
        /// How many were given.
        given: usize,
        /// Ranks of the exchange.
        ranks: usize,
    },
    /// Input tensors of other sizes.
    #[error("the input tensors have other sizes than the exchange says")]
    InputSizes,
    /// Rows that end within an element, where rows are summed.
    #[error("rows of {row_bytes} bytes are no whole number of {element}")]
    PartialElement {
        /// Bytes of a row.
        row_bytes: u64,
        /// The element.
        element: ElementType,
    },
    /// Rows of partial outputs that cannot be merged.
    #[error(
        "rows of {row_bytes} bytes of {element} are no outputs of {heads} heads with a log-sum-exp each, and cannot be merged"
    )]
    NoOutputs {
        /// Bytes of a row.
        row_bytes: u64,
        /// Heads.
        heads: u32,
        /// What elements are.
        element: ElementType,
    },
    /// A sum that leaves its tensor.
    #[error("a sum does not fit its tensor")]
    Sums,
    /// A buffer beyond the addresses of this machine.
    #[error("more bytes than can be addressed")]
    Unaddressable,
}

/// Which way a message goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// From this rank.
    Send,
    /// To this rank.
    Receive,
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Send => "sends",
            Self::Receive => "receives",
        })
    }
}

/// On which side of the messages rows are copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// From tensors to the send buffer.
    Pack,
    /// From the receive buffer to tensors.
    Unpack,
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Pack => "pack",
            Self::Unpack => "unpack",
        })
    }
}

/// What must not be written twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// Bytes of messages in a buffer.
    Messages(Way),
    /// Bytes of rows in the send buffer.
    PackedBytes,
    /// Rows of a tensor.
    UnpackedRows,
}

impl std::fmt::Display for Written {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Messages(way) => way.fmt(f),
            Self::PackedBytes => f.write_str("packed bytes"),
            Self::UnpackedRows => f.write_str("unpacked rows"),
        }
    }
}
