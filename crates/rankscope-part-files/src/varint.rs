//! Numbers in seven bits a byte, lowest first; signed ones in zigzag. Every number has one spelling, and no other is read.

/// Appends `value`.
pub(crate) fn put(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Takes a number off the front of `from`; none if there is none in full, or not in its one spelling.
#[inline]
pub(crate) fn take(from: &mut &[u8]) -> Option<u64> {
    match from.first_chunk() {
        Some(next) => take_of_word(u64::from_le_bytes(*next), from),
        None => take_by_byte(from),
    }
}

/// The two numbers that `word` begins with and how many bytes they take; `None` where it does not hold both in full, each in its one
/// spelling. Where the second begins is known only once the first is read, so two a word take half as long as one.
#[inline]
pub(crate) fn two_of_word(word: u64) -> Option<([u64; 2], usize)> {
    let ends = ends(word);
    let other_ends = ends & ends.wrapping_sub(1);
    if other_ends == 0 {
        return None;
    }
    // The bits of the first, and of both.
    let (first, both) = (ends.trailing_zeros() + 1, other_ends.trailing_zeros() + 1);
    let own = [word & (u64::MAX >> (u64::BITS - first)), (word & (u64::MAX >> (u64::BITS - both))) >> first];
    let is_spelled_longer = is_spelled_longer(own[0], first) | is_spelled_longer(own[1], both - first);
    (!is_spelled_longer).then(|| (own.map(sevens), both as usize / 8))
}

/// Takes a number off the front of `from`, which begins with the eight bytes of `word`.
#[inline]
fn take_of_word(word: u64, from: &mut &[u8]) -> Option<u64> {
    let ends = ends(word);
    if ends == 0 {
        return take_by_byte(from);
    }
    let bits = ends.trailing_zeros() + 1;
    let own = word & (u64::MAX >> (u64::BITS - bits));
    *from = from.get(bits as usize / 8..)?;
    (!is_spelled_longer(own, bits)).then(|| sevens(own))
}

/// The highest bit of each byte of `word` that ends a number.
#[inline]
fn ends(word: u64) -> u64 {
    !word & 0x8080_8080_8080_8080
}

/// Whether the last of several bytes, of so many `bits`, adds nothing.
#[inline]
fn is_spelled_longer(own: u64, bits: u32) -> bool {
    bits > 8 && own >> (bits - 8) == 0
}

/// Seven bits of each byte, moved together pair by pair.
#[inline]
fn sevens(own: u64) -> u64 {
    let sevens = own & 0x7f7f_7f7f_7f7f_7f7f;
    let pairs = (sevens & 0x007f_007f_007f_007f) | (sevens & 0x7f00_7f00_7f00_7f00) >> 1;
    let fours = (pairs & 0x0000_3fff_0000_3fff) | (pairs & 0x3fff_0000_3fff_0000) >> 2;
    (fours & 0x0fff_ffff) | (fours & 0x0fff_ffff_0000_0000) >> 4
}

fn take_by_byte(from: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for (at, byte) in from.iter().enumerate() {
        let bits = u64::from(byte & 0x7f);
        let shift = 7 * at as u32;
        if shift > 63 || (shift == 63 && bits > 1) {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            let spelled_longer = *byte == 0 && at > 0;
            *from = &from[at + 1..];
            return (!spelled_longer).then_some(value);
        }
    }
    None
}

/// Small numbers of either sign as small ones without.
pub(crate) fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// The reverse.
pub(crate) fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whole_words_are_read_as_byte_by_byte(bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0x7eu8..0x82, Just(0)], 0..14)) {
            let (mut at_once, mut slowly) = (bytes.as_slice(), bytes.as_slice());
            let found = take(&mut at_once);
            prop_assert_eq!(found, take_by_byte(&mut slowly));
            prop_assert!(found.is_none() || at_once == slowly);
        }

        #[test]
        fn two_of_a_word_are_those_that_are_taken_one_by_one(bytes in prop::array::uniform8(prop_oneof![any::<u8>(), 0x7eu8..0x82, Just(0)])) {
            let mut slowly = &bytes[..];
            let first = take_by_byte(&mut slowly);
            let both = first.zip(take_by_byte(&mut slowly)).map(|(first, second)| ([first, second], bytes.len() - slowly.len()));
            prop_assert_eq!(two_of_word(u64::from_le_bytes(bytes)), both);
        }

        #[test]
        fn numbers_come_back(number in any::<u64>(), bits in 0u32..64, behind in prop::collection::vec(any::<u8>(), 0..9)) {
            let mut bytes = Vec::new();
            put(&mut bytes, number >> bits);
            bytes.extend(&behind);
            let mut rest = bytes.as_slice();
            prop_assert_eq!((take(&mut rest), rest), (Some(number >> bits), behind.as_slice()));
        }
    }
}
