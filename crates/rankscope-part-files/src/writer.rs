//! Blocks to a file.

use crate::columns::ColumnsWriter;
use crate::error::Error;
use crate::frame::{BLOCK_BYTES_MAX, BlockHead, END, Encoding, Kind, SCHEMA, file_head, least_packed, may_inflate};
use crate::varint::put;

/// The level at which columns are compressed: what is left after the codecs gains nothing by higher ones.
const ZSTD_LEVEL: i32 = 3;

/// Writes a part into memory, block by block.
#[derive(Debug)]
pub struct Writer {
    bytes: Vec<u8>,
    blocks: u64,
}

impl Default for Writer {
    fn default() -> Self {
        Self::new()
    }
}

impl Writer {
    /// A part without blocks.
    pub fn new() -> Self {
        Self::of_schema(SCHEMA)
    }

    /// One that says that it is of another schema.
    pub(crate) fn of_schema(schema: u16) -> Self {
        Self { bytes: file_head(schema).to_vec(), blocks: 0 }
    }

    /// Adds a block of `kind` with the columns that `fill` gives. There may be several of a kind.
    ///
    /// # Errors
    /// [`Error::Column`] if a column was given values out of order, [`Error::TooLarge`] if the columns are larger than a block may
    /// be, [`Error::ReservedKind`] for kind 0. Nothing is added then.
    pub fn block(&mut self, kind: Kind, fill: impl FnOnce(&mut ColumnsWriter)) -> Result<(), Error> {
        if kind == END {
            return Err(Error::ReservedKind);
        }
        let mut columns = ColumnsWriter::default();
        fill(&mut columns);
        let plain = columns.into_bytes().map_err(|(column, fault)| Error::Column { kind, column, fault })?;
        if plain.len() > BLOCK_BYTES_MAX {
            return Err(Error::TooLarge { kind, bytes: plain.len() });
        }
        self.push(kind, &plain);
        self.blocks += 1;
        Ok(())
    }

    /// Adds a block of `kind` as it is.
    pub(crate) fn plain_block(&mut self, kind: Kind, plain: &[u8]) {
        self.store(kind, Encoding::Plain, plain, plain.len());
        self.blocks += 1;
    }

    /// The file.
    pub fn finish(mut self) -> Vec<u8> {
        let mut count = Vec::new();
        put(&mut count, self.blocks);
        self.push(END, &count);
        self.bytes
    }

    /// Appends a block, compressed where that makes it smaller.
    fn push(&mut self, kind: Kind, plain: &[u8]) {
        let packed = zstd::bulk::compress(plain, ZSTD_LEVEL).ok().map(|packed| filled_up(packed, plain.len()));
        match packed.filter(|packed| packed.len() < plain.len()) {
            Some(packed) => self.store(kind, Encoding::Zstd, &packed, plain.len()),
            None => self.store(kind, Encoding::Plain, plain, plain.len()),
        }
    }

    fn store(&mut self, kind: Kind, encoding: Encoding, stored: &[u8], inflated: usize) {
        let mut head =
            BlockHead { kind, encoding: encoding as u16, stored: stored.len() as u32, inflated: inflated as u32, checksum: 0 };
        head.checksum = head.sum(stored);
        self.bytes.extend_from_slice(&head.bytes());
        self.bytes.extend_from_slice(stored);
    }
}

/// `packed`, which inflates to `plain_bytes`, and no smaller than readers accept: what is missing is a frame that decoders of zstd pass
/// over (RFC 8878, 3.1.2).
fn filled_up(mut packed: Vec<u8>, plain_bytes: usize) -> Vec<u8> {
    if !may_inflate(packed.len(), plain_bytes) {
        let missing = least_packed(plain_bytes).saturating_sub(packed.len() + SKIPPED_HEAD_BYTES);
        packed.extend_from_slice(&SKIPPED_MAGIC);
        packed.extend_from_slice(&(missing as u32).to_le_bytes());
        packed.resize(packed.len() + missing, 0);
    }
    packed
}

/// How such a frame begins; its length follows.
const SKIPPED_MAGIC: [u8; 4] = 0x184D_2A50_u32.to_le_bytes();
const SKIPPED_HEAD_BYTES: usize = 8;
