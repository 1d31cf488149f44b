//! The file format of a part: what one rank's trace comes down to, in blocks of columns.
//!
//! ```text
//! head    magic (8), schema (u16), zero (u16), checksum (u32)
//! block   kind (u16), encoding (u8), zero (u8), stored bytes (u32), inflated bytes (u32), checksum (u32), stored bytes
//! ...
//! end     a block of kind 0: the number of blocks before it
//! ```
//!
//! Numbers of the frame are little-endian. A checksum is the CRC-32C of the head without it and of what is stored. A block inflates to
//! columns, one after the other: codec (u8), rows and bytes as varints, the bytes.
//!
//! [`write_part`] and [`read_part`] are the two ends; `docs/reference/formats/rkpart.md` lists the blocks of a part and their columns.
//! [`Writer`] and [`Reader`] are the frame below, which knows nothing of parts.
//!
//! Writing is deterministic: the same columns give the same bytes. Reading refuses what a writer cannot have written, and says what
//! and where: a file that was cut, changed, continued, or written by a newer version. It takes memory for what the bytes hold, never
//! for what they claim.
//!
//! ```
//! use rankscope_part_files::{Kind, Reader, Writer};
//!
//! const STEPS: Kind = Kind(1);
//! let mut writer = Writer::new();
//! writer.block(STEPS, |columns| {
//!     columns.intervals(&[(1_000, 1_900), (2_000, 2_950)]);
//!     columns.strings(["warmup", "train"]);
//! })?;
//! let bytes = writer.finish();
//!
//! let reader = Reader::open(&bytes)?;
//! let block = reader.block(STEPS)?;
//! let mut columns = block.columns();
//! assert_eq!(columns.intervals()?, [(1_000, 1_900), (2_000, 2_950)]);
//! assert_eq!(columns.strings()?, ["warmup", "train"]);
//! columns.end()?;
//! # Ok::<(), rankscope_part_files::Error>(())
//! ```

mod columns;
mod error;
mod frame;
mod part;
mod reader;
mod varint;
mod writer;

pub use columns::{Columns, ColumnsWriter};
pub use error::{Codec, ColumnFault, Error};
pub use frame::{BLOCK_BYTES_MAX, Kind, PART_BYTES_MAX, SCHEMA, STRING_BYTES_MAX};
pub use part::{StoredPart, is_part, read_part, write_part};
pub use reader::{Block, Reader, laid_bare, read_as_any_columns};
pub use writer::Writer;
