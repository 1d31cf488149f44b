//! Numbers in as few bytes as they need: seven bits a byte, the lowest first (LEB128), signed ones folded so that those near zero are short.

/// A number that takes one to ten bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Varint(pub(super) u64);

impl Varint {
    pub(super) fn write(self, out: &mut Vec<u8>) {
        let mut rest = self.0;
        while rest >= 0x80 {
            out.push(rest as u8 | 0x80);
            rest >>= 7;
        }
        out.push(rest as u8);
    }

    /// The number at the beginning of `bytes`, and what follows it. None where it does not end, is larger than 64 bits, or has a byte too
    /// many: every number is written in one way.
    pub(super) fn read(bytes: &[u8]) -> Option<(Self, &[u8])> {
        let length = bytes.iter().position(|byte| byte & 0x80 == 0)? + 1;
        let (number, rest) = bytes.split_at(length);
        let last = number[length - 1];
        if length > LONGEST || length == LONGEST && last > 1 || length > 1 && last == 0 {
            return None;
        }
        let value = number.iter().rev().fold(0, |value, byte| value << 7 | u64::from(byte & 0x7f));
        Some((Self(value), rest))
    }
}

/// Ten times seven bits hold 64.
const LONGEST: usize = 10;

pub(super) fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

pub(super) fn unzigzag(folded: u64) -> i64 {
    (folded >> 1) as i64 ^ -((folded & 1) as i64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lengths_follow_from_sizes_and_what_is_too_long_is_none() {
        for (value, length) in [(0, 1), (127, 1), (128, 2), (16_383, 2), (16_384, 3), (u64::MAX, 10)] {
            let mut bytes = Vec::new();
            Varint(value).write(&mut bytes);
            assert_eq!(bytes.len(), length);
        }
        for wrong in [&[][..], &[0x80], &[0x80, 0], &[0xff; 10], &[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2]] {
            assert_eq!(Varint::read(wrong), None, "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn numbers_come_out_as_they_went_in(value in any::<i64>(), shift in 0..64u32, after in any::<u8>()) {
            let value = value >> shift;
            prop_assert_eq!(unzigzag(zigzag(value)), value);
            let mut bytes = Vec::new();
            Varint(zigzag(value)).write(&mut bytes);
            bytes.push(after);
            prop_assert_eq!(Varint::read(&bytes), Some((Varint(zigzag(value)), &[after][..])));
        }
    }
}
