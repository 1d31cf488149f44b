//! The packed recording: columns in blocks, each with a checksum, readable up to wherever it was cut off.
//!
//! ```text
//! file   magic RKSPACK1, version (u32), zeros (u32), blocks
//! block  magic RKBK, kind (u8), encoding (u8: 0 plain, 1 zstd), zeros (u16), stored bytes (u32), plain bytes (u32),
//!        CRC-32C of these sixteen bytes, the stored bytes, their CRC-32C
//! ```
//!
//! What a block of events needs comes before it: names it is the first to use, its thread, and, before all events, metadata,
//! sessions and anchors. Blocks of unknown kinds, and columns of unknown numbers, are passed over. Writing takes one block's
//! memory however long the recording is, and the same recording gives the same bytes.

mod columns;
mod frame;
mod read;
mod tables;
mod write;

#[cfg(test)]
mod tests;

pub use frame::{MAGIC, VERSION, laid_bare};
pub use read::read;
pub use write::write;
