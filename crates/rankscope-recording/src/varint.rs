//! Whole numbers in as few bytes as they need: seven bits a byte, the lowest first, and zigzag for the signed.

/// Appends `value`.
#[inline]
pub fn put(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Appends `value`, small whichever its sign.
#[inline]
pub fn put_signed(to: &mut Vec<u8>, value: i64) {
    put(to, zigzag(value));
}

/// Takes a number off the front; `None` at the end, or where it has more than 64 bits.
#[inline]
pub fn take(from: &mut &[u8]) -> Option<u64> {
    if let [byte @ 0..0x80, rest @ ..] = *from {
        *from = rest;
        return Some(u64::from(*byte));
    }
    let mut value = 0;
    for (at, byte) in from.iter().enumerate().take(10) {
        let bits = u64::from(byte & 0x7f);
        if at == 9 && bits > 1 {
            return None;
        }
        value |= bits << (7 * at);
        if byte & 0x80 == 0 {
            *from = &from[at + 1..];
            return Some(value);
        }
    }
    None
}

/// Takes a signed number off the front.
#[inline]
pub fn take_signed(from: &mut &[u8]) -> Option<i64> {
    take(from).map(unzigzag)
}

/// A signed number as one that is small whichever its sign.
pub const fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

const fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(unsigned: Vec<u64>, signed: Vec<i64>) {
            let mut bytes = Vec::new();
            unsigned.iter().for_each(|value| put(&mut bytes, *value));
            signed.iter().for_each(|value| put_signed(&mut bytes, *value));
            let mut rest = &bytes[..];
            for value in unsigned {
                prop_assert_eq!(take(&mut rest), Some(value));
            }
            for value in signed {
                prop_assert_eq!(take_signed(&mut rest), Some(value));
            }
            prop_assert_eq!(take(&mut rest), None);
        }
    }

    #[test]
    fn numbers_of_more_than_64_bits_are_refused() {
        assert_eq!(take(&mut &[0xff; 12][..]), None);
        assert_eq!(take(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2][..]), None);
        assert_eq!(take(&mut &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1][..]), Some(u64::MAX));
    }
}
