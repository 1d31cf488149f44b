//! A file to blocks.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::io::Read;

use zstd::zstd_safe::{DCtx, ResetDirective};

use crate::columns::Columns;
use crate::error::Error;
use crate::frame::{
    BLOCK_BYTES_MAX, BLOCK_HEAD_BYTES, BlockHead, END, Encoding, FILE_HEAD_BYTES, Kind, SCHEMA, begins, file_head, may_inflate,
};
use crate::varint::take;
use crate::writer::Writer;

/// Twice what the window of a writer is at most: a decoder takes this much memory if it is only claimed.
const WINDOW_LOG_MAX: u32 = 22;

/// A part whose checksums are right. Blocks are inflated one at a time, when they are asked for.
#[derive(Debug)]
pub struct Reader<'a> {
    schema: u16,
    blocks: Vec<Found<'a>>,
    inflater: Inflater,
}

#[derive(Clone, Copy, Debug)]
struct Found<'a> {
    head: BlockHead,
    offset: usize,
    stored: &'a [u8],
}

/// One block's columns, inflated.
#[derive(Debug)]
pub struct Block<'a> {
    kind: Kind,
    bytes: Cow<'a, [u8]>,
}

impl<'a> Reader<'a> {
    /// Looks through the whole file and checks that nothing of it is missing, changed or added.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn open(bytes: &'a [u8]) -> Result<Self, Error> {
        let (schema, mut offset) = check_head(bytes)?;
        let mut blocks = Vec::new();
        loop {
            let found = found(bytes, offset)?;
            offset += BLOCK_HEAD_BYTES + found.stored.len();
            if found.head.kind == END {
                let mut count = found.stored;
                if take(&mut count) != Some(blocks.len() as u64)
                    || !count.is_empty()
                    || found.head.encoding != Encoding::Plain as u16
                {
                    return Err(Error::End { offset: found.offset });
                }
                break;
            }
            blocks.push(found);
        }
        match bytes.len() - offset {
            0 => Ok(Self { schema, blocks, inflater: Inflater::new() }),
            bytes => Err(Error::TrailingBytes { offset, bytes }),
        }
    }

    /// The schema that it was written by.
    pub fn schema(&self) -> u16 {
        self.schema
    }

    /// What the blocks of `kind` inflate to together, as their heads say.
    pub(crate) fn inflated_bytes(&self, kind: Kind) -> u64 {
        self.blocks.iter().filter(|found| found.head.kind == kind).map(|found| u64::from(found.head.inflated)).sum()
    }

    /// The kinds of the blocks, in order. A reader passes over those that it does not know.
    pub fn kinds(&self) -> impl Iterator<Item = Kind> + '_ {
        self.blocks.iter().map(|found| found.head.kind)
    }

    /// The one block of `kind`.
    ///
    /// # Errors
    /// [`Error::Count`] if there is none or are several; else as [`Self::blocks`].
    pub fn block(&self, kind: Kind) -> Result<Block<'a>, Error> {
        let mut of_kind = self.blocks.iter().filter(|found| found.head.kind == kind);
        match (of_kind.next(), of_kind.count()) {
            (Some(found), 0) => found.block(&self.inflater),
            (first, more) => Err(Error::Count { kind, found: usize::from(first.is_some()) + more }),
        }
    }

    /// All blocks of `kind`, in order.
    ///
    /// # Errors
    /// Each may be one of [`Error::Stored`] or [`Error::TooLarge`]: checksums are right, but no writer of ours made it.
    pub fn blocks(&self, kind: Kind) -> impl Iterator<Item = Result<Block<'a>, Error>> + '_ {
        self.blocks.iter().filter(move |found| found.head.kind == kind).map(|found| found.block(&self.inflater))
    }
}

/// The file in `bytes` with every block stored as it is and every checksum right, whatever was changed in it: for tests and
/// fuzzers, which want to get past both.
pub fn laid_bare(bytes: &[u8]) -> Vec<u8> {
    let schema = bytes.get(8..10).map_or(SCHEMA, |schema| u16::from_le_bytes([schema[0], schema[1]]));
    let mut writer = Writer::of_schema(schema);
    let (mut offset, inflater) = (FILE_HEAD_BYTES, Inflater::new());
    while let Some(found) = unchecked(bytes, offset).filter(|found| found.head.kind != END) {
        if let Ok(block) = found.block(&inflater) {
            writer.plain_block(block.kind, &block.bytes);
        }
        offset += BLOCK_HEAD_BYTES + found.stored.len();
    }
    writer.finish()
}

/// Reads `bytes` as columns, each as whatever it can be read as, until none can: for fuzzers.
pub fn read_as_any_columns(bytes: &[u8]) {
    let mut columns = Columns::new(Kind(1), bytes);
    while columns.unsigned().is_ok()
        || columns.signed().is_ok()
        || columns.sorted().is_ok()
        || columns.intervals().is_ok()
        || columns.enums(u8::MAX).is_ok()
        || columns.bits().is_ok()
        || columns.strings().is_ok()
        || columns.wide().is_ok()
    {}
}

impl Block<'_> {
    /// The columns, from the first.
    pub fn columns(&self) -> Columns<'_> {
        Columns::new(self.kind, &self.bytes)
    }
}

/// The schema, and where the first block begins.
fn check_head(bytes: &[u8]) -> Result<(u16, usize), Error> {
    if !begins(bytes) {
        return Err(Error::NotAPart);
    }
    let head: &[u8; FILE_HEAD_BYTES] = bytes.first_chunk().ok_or(Error::Cut { offset: bytes.len() })?;
    let schema = u16::from_le_bytes([head[8], head[9]]);
    if *head != file_head(schema) || schema == 0 {
        return Err(Error::Head);
    }
    if schema > SCHEMA {
        return Err(Error::NewerSchema { found: schema });
    }
    Ok((schema, FILE_HEAD_BYTES))
}

/// The block at `offset`, which is no further than the end.
fn found(bytes: &[u8], offset: usize) -> Result<Found<'_>, Error> {
    let found = unchecked(bytes, offset).ok_or(Error::Cut { offset: bytes.len() })?;
    match found.head.checksum == found.head.sum(found.stored) {
        true => Ok(found),
        false => Err(Error::Checksum { kind: found.head.kind, offset }),
    }
}

/// The same without a look at its checksum; none if the file is cut.
fn unchecked(bytes: &[u8], offset: usize) -> Option<Found<'_>> {
    let (head, rest) = bytes.get(offset..)?.split_first_chunk()?;
    let head = BlockHead::of(head);
    Some(Found { head, offset, stored: rest.get(..head.stored as usize)? })
}

impl<'a> Found<'a> {
    fn block(&self, inflater: &Inflater) -> Result<Block<'a>, Error> {
        let (kind, wanted) = (self.head.kind, self.head.inflated as usize);
        if wanted > BLOCK_BYTES_MAX {
            return Err(Error::TooLarge { kind, bytes: wanted });
        }
        let bytes = match self.head.encoding {
            encoding if encoding == Encoding::Plain as u16 => Some(Cow::Borrowed(self.stored)),
            encoding if encoding == Encoding::Zstd as u16 && may_inflate(self.stored.len(), wanted) => {
                inflater.inflated(self.stored, self.head.inflated).map(Cow::Owned)
            }
            _ => None,
        };
        let bytes = bytes.filter(|bytes| bytes.len() == wanted);
        bytes.map(|bytes| Block { kind, bytes }).ok_or(Error::Stored { kind, offset: self.offset })
    }
}

/// What inflates blocks, one after the other: to make one anew takes longer than most blocks.
struct Inflater(RefCell<DCtx<'static>>);

impl Inflater {
    fn new() -> Self {
        Self(RefCell::new(DCtx::create()))
    }

    /// What is stored, as far as one byte more than there is to be. Memory grows with what comes, not with what is claimed.
    fn inflated(&self, stored: &[u8], wanted: u32) -> Option<Vec<u8>> {
        let mut context = self.0.try_borrow_mut().ok()?;
        // Of a block that was not read to its end something is left.
        context.reset(ResetDirective::SessionOnly).ok()?;
        let mut decoder = zstd::Decoder::with_context(stored, &mut context);
        decoder.window_log_max(WINDOW_LOG_MAX).ok()?;
        let mut bytes = Vec::new();
        decoder.take(u64::from(wanted) + 1).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }
}

impl fmt::Debug for Inflater {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Inflater").finish_non_exhaustive()
    }
}
