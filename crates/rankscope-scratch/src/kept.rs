//! Bytes that grow and then stay.

use std::fmt;
use std::ops::{Deref, Range};

use bytes::Bytes;

use crate::installed;

/// Bytes that are on the heap while they grow, and are then kept wherever the program wants them. Clones of what is kept share it.
#[derive(Clone)]
pub struct Kept(State);

#[derive(Clone)]
enum State {
    Growing(Vec<u8>),
    Kept(Bytes),
}

impl Kept {
    /// The bytes, to be changed. Those that are kept are copied to the heap.
    pub fn make_mut(&mut self) -> &mut Vec<u8> {
        if let State::Kept(bytes) = &self.0 {
            self.0 = State::Growing(bytes.to_vec());
        }
        match &mut self.0 {
            State::Growing(bytes) => bytes,
            State::Kept(_) => unreachable!("what was kept is growing again"),
        }
    }

    /// Keeps them: they change no more, unless asked for again.
    pub fn keep(&mut self) {
        if let State::Growing(bytes) = &mut self.0 {
            let bytes = std::mem::take(bytes);
            self.0 = State::Kept(match installed() {
                Some(scratch) if !bytes.is_empty() => scratch.keep(bytes),
                _ => bytes.into(),
            });
        }
    }
}

impl Kept {
    /// Those in `range`; where they are kept, nothing is copied.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn slice(&self, range: Range<usize>) -> Self {
        Self(match &self.0 {
            State::Growing(bytes) => State::Growing(bytes[range].to_vec()),
            State::Kept(bytes) => State::Kept(bytes.slice(range)),
        })
    }
}

impl Default for Kept {
    fn default() -> Self {
        Self(State::Growing(Vec::new()))
    }
}

impl From<Vec<u8>> for Kept {
    fn from(bytes: Vec<u8>) -> Self {
        let mut kept = Self(State::Growing(bytes));
        kept.keep();
        kept
    }
}

impl Deref for Kept {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            State::Growing(bytes) => bytes,
            State::Kept(bytes) => bytes,
        }
    }
}

/// The same bytes, wherever they are.
impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Kept {}

impl fmt::Debug for Kept {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} bytes", self.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn bytes_come_back_and_may_grow_again(first in prop::collection::vec(any::<u8>(), 0..40), more in prop::collection::vec(any::<u8>(), 0..40)) {
            let kept = Kept::from(first.clone());
            prop_assert_eq!(&*kept, &first[..]);
            let mut grown = kept.clone();
            grown.make_mut().extend(&more);
            prop_assert_eq!(&*grown, &[first.clone(), more.clone()].concat()[..]);
            grown.keep();
            prop_assert_eq!(&*grown, &[first.clone(), more].concat()[..]);
            prop_assert_eq!(&kept, &Kept::from(first.clone()));
            prop_assert_eq!(&*kept.slice(0..first.len() / 2), &first[..first.len() / 2]);
        }
    }
}
