//! The bytes of a pickle, read from the front.

use crate::Error;

pub(crate) struct Input<'a> {
    bytes: &'a [u8],
    pub(crate) at: usize,
}

impl<'a> Input<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next `length` bytes. A length that the file only claims to have is found out here, before anything is made of it.
    pub(crate) fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let end = self.at.checked_add(length).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or(Error::Cut { at: self.bytes.len() })?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Error> {
        Ok(self.take(1)?[0])
    }

    /// An unsigned number of `width` bytes, at most eight.
    pub(crate) fn number(&mut self, width: usize) -> Result<u64, Error> {
        let bytes = self.take(width)?;
        Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    /// What stands behind its length, which has `width` bytes.
    pub(crate) fn counted(&mut self, width: usize) -> Result<&'a [u8], Error> {
        let length = self.number(width)?;
        self.take(usize::try_from(length).unwrap_or(usize::MAX))
    }
}
