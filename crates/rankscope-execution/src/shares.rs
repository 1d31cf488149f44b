//! [`Shares`]: what the time of each piece goes to, packed. There are several of them a piece of the host, so they are most of a graph.
//!
//! A share is two numbers in seven bits a byte, lowest first: its key and its length. A piece of one key has none here.

use crate::{KeyId, Share};

/// Lists of shares, by their place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shares {
    /// How many are empty before the first that is not.
    empty: usize,
    /// Where each list from there on ends in `bytes`.
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl Shares {
    /// Appends a list.
    ///
    /// # Panics
    /// After four billion bytes.
    pub(crate) fn push(&mut self, shares: &[Share]) {
        for share in shares {
            put(&mut self.bytes, u64::from(share.key.0));
            put(&mut self.bytes, share.ns.cast_unsigned());
        }
        self.end();
    }

    /// Appends list `at` of `other`.
    pub(crate) fn push_from(&mut self, other: &Self, at: usize) {
        self.bytes.extend_from_slice(other.packed(at));
        self.end();
    }

    fn end(&mut self) {
        if self.bytes.is_empty() {
            self.empty += 1;
            return;
        }
        self.ends.push(u32::try_from(self.bytes.len()).expect("memory ends before four billion bytes of shares"));
    }

    /// List `at`.
    pub(crate) fn list(&self, at: usize) -> impl Iterator<Item = Share> + '_ {
        let mut rest = self.packed(at);
        std::iter::from_fn(move || {
            let key = take(&mut rest)?;
            Some(Share { key: KeyId(key as u32), ns: take(&mut rest)?.cast_signed() })
        })
    }

    fn packed(&self, at: usize) -> &[u8] {
        let Some(at) = at.checked_sub(self.empty) else { return &[] };
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[begin as usize..self.ends[at] as usize]
    }

    /// Gives back what is not needed once all lists are there.
    pub(crate) fn shrink(&mut self) {
        self.ends.shrink_to_fit();
        self.bytes.shrink_to_fit();
    }
}

fn put(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn take(from: &mut &[u8]) -> Option<u64> {
    let (mut value, mut shift) = (0_u64, 0);
    loop {
        let (byte, rest) = from.split_first()?;
        *from = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or(0);
        if byte & 0x80 == 0 {
            return Some(value);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn lists_come_back(lists in prop::collection::vec(prop::collection::vec((any::<u32>(), any::<i64>()), 0..5), 0..20)) {
            let share = |(key, ns): &(u32, i64)| Share { key: KeyId(*key), ns: *ns };
            let lists: Vec<Vec<Share>> = lists.iter().map(|list| list.iter().map(share).collect()).collect();
            let (mut packed, mut turned) = (Shares::default(), Shares::default());
            lists.iter().for_each(|list| packed.push(list));
            (0..lists.len()).rev().for_each(|at| turned.push_from(&packed, at));
            for (at, list) in lists.iter().enumerate() {
                prop_assert_eq!(&packed.list(at).collect::<Vec<_>>(), list);
                prop_assert_eq!(&turned.list(lists.len() - 1 - at).collect::<Vec<_>>(), list);
            }
        }
    }
}
