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
pub(crate) fn take(from: &mut &[u8]) -> Option<u64> {
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
