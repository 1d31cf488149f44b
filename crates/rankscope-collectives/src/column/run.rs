//! Numbers above a straight line, in as few bits as the highest of them needs.

use multiversion::multiversion;

/// Numbers that lie above one line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    /// Where the line begins, and what it rises by from one number to the next.
    base: u64,
    step: u64,
    /// Where its first byte is, and the bits of each number.
    at: u64,
    width: u32,
}

/// Numbers of a run, of which any width makes whole bytes.
pub(super) const RUN: usize = 128;

/// Bytes behind the last number: so that sixteen can be read wherever one begins.
pub(super) const BEHIND: usize = 16;

/// Numbers of which any width makes whole bytes: where such a group begins, a byte does.
const GROUP: usize = 8;

impl Run {
    /// Bytes of a run where runs are listed.
    pub(super) const BYTES: usize = 24;

    /// The line of the numbers from 0 on.
    pub(super) fn counting() -> Self {
        Self { base: 0, step: 1, at: 0, width: 0 }
    }

    /// Whether its numbers count on, one by one.
    pub(super) fn counts(&self) -> bool {
        self.is_line() && self.step == 1
    }

    /// The narrower one of a level line and the one through the first and the last of `numbers`, of which there is one at least.
    pub(super) fn above(numbers: &[u64], at: u64) -> Self {
        let steps = (numbers.len() as i64 - 1).max(1);
        let rise = numbers[numbers.len() - 1].wrapping_sub(numbers[0]).cast_signed();
        let level = Self::along(numbers, 0, at);
        match (rise / steps).cast_unsigned() {
            0 => level,
            step => Some(Self::along(numbers, step, at)).filter(|rising| rising.width < level.width).unwrap_or(level),
        }
    }

    /// Above the line that rises by `step` from one number to the next.
    fn along(numbers: &[u64], step: u64, at: u64) -> Self {
        let (least, most) = ends_above(numbers, step);
        let width = u64::BITS - most.abs_diff(least).leading_zeros();
        Self { base: least.cast_unsigned(), step, at, width }
    }

    /// As it stands in a list: eight bytes each of base and step, and the width in the last of where it begins.
    pub(super) fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&self.base.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.step.to_le_bytes());
        bytes[16..].copy_from_slice(&(self.at | u64::from(self.width) << 56).to_le_bytes());
        bytes
    }

    /// The one numbered `at` in a list.
    #[inline]
    pub(super) fn of_list(list: &[u8], at: usize) -> Self {
        let own = &list[at * Self::BYTES..][..Self::BYTES];
        let last = word(own, 16);
        Self { base: word(own, 0), step: word(own, 8), at: last & (u64::MAX >> 8), width: (last >> 56) as u32 }
    }

    /// The line from its number `at` on.
    pub(super) fn from(self, at: usize) -> Self {
        Self { base: self.line(at), ..self }
    }

    /// Whether all of `count` numbers of `other` lie on this line, if it were to go on from `at` there.
    pub(super) fn goes_on(&self, at: usize, other: &Self, count: usize) -> bool {
        // A single number lies on any line that meets it.
        other.is_line() && other.base == self.line(at) && (other.step == self.step || count == 1)
    }

    /// Whether its numbers lie on the line, all of them.
    pub(super) fn is_line(&self) -> bool {
        self.width == 0
    }

    /// Where its first byte is.
    pub(super) fn at(&self) -> usize {
        self.at as usize
    }

    #[inline]
    pub(super) fn line(&self, at: usize) -> u64 {
        self.base.wrapping_add(self.step.wrapping_mul(at as u64))
    }

    /// Adds what `numbers` lie above it to `bytes`.
    pub(super) fn put(&self, numbers: &[u64], bytes: &mut Vec<u8>) {
        let (mut word, mut bits) = (0u64, 0);
        for (at, number) in numbers.iter().enumerate().filter(|_| self.width > 0) {
            let above = number.wrapping_sub(self.line(at));
            word |= above << bits;
            bits += self.width;
            if bits >= u64::BITS {
                bytes.extend(word.to_le_bytes());
                bits -= u64::BITS;
                word = above.checked_shr(self.width - bits).unwrap_or(0);
            }
        }
        bytes.extend(&word.to_le_bytes()[..bits.div_ceil(8) as usize]);
    }

    /// The numbers from the one at `first` on.
    pub(super) fn read(&self, bytes: &[u8], first: usize, to: &mut [u64]) {
        if self.is_line() {
            to.iter_mut().zip(first..).for_each(|(to, at)| *to = self.line(at));
            return;
        }
        let bytes = &bytes[self.at()..];
        let (head, rest) = to.split_at_mut(to.len().min(first.next_multiple_of(GROUP) - first));
        let (groups, tail) = rest.as_chunks_mut();
        let (from, behind) = (first + head.len(), first + head.len() + groups.len() * GROUP);
        self.read_each(bytes, first, head);
        match UNPACK.get(self.width as usize) {
            Some(unpack) => unpack(&bytes[from / GROUP * self.width as usize..], (self.line(from), self.step), groups),
            None => self.read_each(bytes, from, groups.as_flattened_mut()),
        }
        self.read_each(bytes, behind, tail);
    }

    /// The same where they lie above the line, one by one.
    fn read_each(&self, bytes: &[u8], first: usize, to: &mut [u64]) {
        for (to, at) in to.iter_mut().zip(first..) {
            *to = self.line(at).wrapping_add(wide(bytes, at * self.width as usize, self.width));
        }
    }

    /// The number at `at`, of which `bytes` tell what it lies above the line.
    #[inline]
    pub(super) fn get(&self, bytes: &[u8], at: usize) -> u64 {
        if self.width == 0 {
            return self.line(at);
        }
        self.line(at).wrapping_add(wide(&bytes[self.at()..], at * self.width as usize, self.width))
    }
}

/// The least and the most that `numbers` lie above the line from 0 that rises by `step`, with the widest instructions that the processor has:
/// each number of a column is looked at for two lines.
#[multiversion(targets("x86_64+avx512f+avx512vl", "x86_64+avx2"))]
fn ends_above(numbers: &[u64], step: u64) -> (i64, i64) {
    let (mut least, mut most, mut line) = (i64::MAX, i64::MIN, 0u64);
    for number in numbers {
        let above = number.wrapping_sub(line).cast_signed();
        (least, most) = (least.min(above), most.max(above));
        line = line.wrapping_add(step);
    }
    (least, most)
}

/// Reads groups of numbers of one width above a line, of which the number it begins at and the step are given.
type Unpack = fn(&[u8], (u64, u64), &mut [[u64; GROUP]]);

macro_rules! by_width {
    ($($width:literal)*) => { [$(unpack::<$width>),*] };
}

/// By width: where a number begins and how far it is to be shifted is known beforehand then, as both are the same in each group. Wider
/// numbers may be in nine bytes.
const UNPACK: [Unpack; 58] = by_width!(
    0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29
    30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57
);

fn unpack<const WIDTH: usize>(bytes: &[u8], (line, step): (u64, u64), groups: &mut [[u64; GROUP]]) {
    let mask = (1u64 << WIDTH) - 1;
    for (at, group) in groups.iter_mut().enumerate() {
        let own = &bytes[at * WIDTH..][..WIDTH + 8];
        let line = line.wrapping_add(step.wrapping_mul((at * GROUP) as u64));
        for (place, to) in group.iter_mut().enumerate() {
            let bit = place * WIDTH;
            let above = word(own, bit / 8) >> (bit % 8) & mask;
            *to = line.wrapping_add(step.wrapping_mul(place as u64)).wrapping_add(above);
        }
    }
}

/// The eight bytes from `at` on.
#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    let own: [u8; 8] = bytes[at..at + 8].try_into().unwrap_or_default();
    u64::from_le_bytes(own)
}

/// The `width` bits from `bit` on, of which there is one at least.
#[inline]
fn wide(bytes: &[u8], bit: usize, width: u32) -> u64 {
    let own: [u8; 16] = bytes[bit / 8..bit / 8 + 16].try_into().unwrap_or_default();
    (u128::from_le_bytes(own) >> (bit % 8)) as u64 & (u64::MAX >> (u64::BITS - width))
}
