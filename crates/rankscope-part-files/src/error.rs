//! Why bytes are no part, and why a part or columns cannot be written.

use std::io;

use crate::frame::{BLOCK_BYTES_MAX, Kind, PART_BYTES_MAX, SCHEMA, STRING_BYTES_MAX};

/// Why a file was refused. Offsets are bytes from its start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It does not begin like a part.
    #[error("not a part: it does not begin with the mark of one")]
    NotAPart,
    /// It was written by a newer version.
    #[error(
        "schema {found}, and this version reads up to {SCHEMA}: update rankscope, or write the part again with this version"
    )]
    NewerSchema {
        /// The schema of the file.
        found: u16,
    },
    /// It ends too early.
    #[error("cut short at byte {offset}: write the part again")]
    Cut {
        /// Where it ends.
        offset: usize,
    },
    /// Its head was changed since it was written.
    #[error("the head is damaged: write the part again")]
    Head,
    /// A block was changed since it was written.
    #[error("block {} at byte {offset} is damaged: its checksum is wrong", kind.0)]
    Checksum {
        /// What the block says it is.
        kind: Kind,
        /// Where it begins.
        offset: usize,
    },
    /// A block inflates to something else than it says, or is of an unknown encoding.
    #[error("block {} at byte {offset} does not hold what it says", kind.0)]
    Stored {
        /// The kind of the block.
        kind: Kind,
        /// Where it begins.
        offset: usize,
    },
    /// A block is larger than any that is written.
    #[error("block {} has {bytes} bytes, more than the {BLOCK_BYTES_MAX} that a block may have", kind.0)]
    TooLarge {
        /// The kind of the block.
        kind: Kind,
        /// Its inflated size, or that of what is to be written.
        bytes: usize,
    },
    /// The list of blocks does not agree with itself.
    #[error("the end at byte {offset} does not agree with the blocks before it")]
    End {
        /// Where the end begins.
        offset: usize,
    },
    /// Something follows the end.
    #[error("{bytes} bytes follow the end of the part at byte {offset}")]
    TrailingBytes {
        /// Where the part ends.
        offset: usize,
        /// How much follows.
        bytes: usize,
    },
    /// A block that there has to be is not there, or there are several.
    #[error("there {} of kind {}", if *found == 0 { "is no block" } else { "are several blocks" }, kind.0)]
    Count {
        /// The kind.
        kind: Kind,
        /// How many there are.
        found: usize,
    },
    /// The end's kind was used for a block.
    #[error("kind 0 is the end of the file and cannot be written as a block")]
    ReservedKind,
    /// Blocks or columns do not fit each other.
    #[error("block {}: {what}", kind.0)]
    Misfit {
        /// The kind of the block.
        kind: Kind,
        /// What does not fit, as a clause.
        what: &'static str,
    },
    /// The part in memory cannot be written, which is the fault of whoever made it.
    #[error("the part cannot be written: {what}")]
    Unwritable {
        /// What is wrong with it, as a clause.
        what: &'static str,
    },
    /// It is larger than any part that is written.
    #[error("larger than the {PART_BYTES_MAX} bytes that a part may have")]
    PartTooLarge,
    /// The bytes could not be read or written.
    #[error("{message}")]
    Io {
        /// What sort of failure.
        kind: io::ErrorKind,
        /// What the system says of it.
        message: String,
    },
    /// A column cannot be read or written.
    #[error("block {}, column {column}: {fault}", kind.0)]
    Column {
        /// The kind of the block.
        kind: Kind,
        /// The column's number in it, from 0.
        column: usize,
        /// What is wrong.
        fault: ColumnFault,
    },
}

/// What is wrong with a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ColumnFault {
    /// It ends too early, or there is none where one is to be.
    #[error("it ends too early")]
    Cut,
    /// It holds something else than is asked for.
    #[error("it holds {found:?}, and {wanted:?} is asked for")]
    OtherCodec {
        /// The codec's number in the file.
        found: u8,
        /// What is asked for.
        wanted: Codec,
    },
    /// A number is out of range, or not written in the shortest way.
    #[error("a number is out of range")]
    Number,
    /// Values are not in ascending order, or intervals overlap.
    #[error("values are not in order")]
    Order,
    /// A value is none of those there are.
    #[error("value {found} is none of the {known} known ones")]
    Variant {
        /// The value.
        found: u64,
        /// How many there are.
        known: u64,
    },
    /// A value stands for nothing that this version knows.
    #[error("value {found} stands for nothing that this version knows")]
    Unknown {
        /// The value.
        found: u64,
    },
    /// A string is longer than any that is written, or all strings together are.
    #[error("it has a string of more than {STRING_BYTES_MAX} bytes, or more than {BLOCK_BYTES_MAX} bytes of strings")]
    TooLong,
    /// A string is not UTF-8, or stands in the dictionary twice or without a use.
    #[error("the dictionary of strings is damaged")]
    Dictionary,
    /// It goes on behind its last row, or columns follow that nobody asked for.
    #[error("more follows than its rows take")]
    TrailingBytes,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[repr(u8)]
pub enum Codec {
    /// Unsigned numbers, a varint each.
    Unsigned = 1,
    /// Signed numbers, a zigzag varint each.
    Signed = 2,
    /// Numbers in ascending order: the first, then differences.
    Sorted = 3,
    /// Disjoint intervals in ascending order: the gap before each, and its length.
    Intervals = 4,
    /// Values of a small enum, a byte each.
    Enums = 5,
    /// Whether, a bit each.
    Bits = 6,
    /// Strings: each once in order of appearance, then a number for each row.
    Strings = 7,
    /// 128 bits each.
    Wide = 8,
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io { kind: error.kind(), message: error.to_string() }
    }
}
