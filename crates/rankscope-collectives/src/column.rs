//! A column of numbers in as few bits as runs of them need.
//!
//! What a rank records again and again hardly varies: numbers count on, kernels follow each other after much the same time and take much the
//! same. So of each run of numbers a straight line is kept, and of each number only what it lies above that. Any number can be asked for by
//! its place, and any number there is comes back as it was: where they are wild, a run takes what they take.

use std::fmt;

/// Numbers of 64 bits, by their places.
#[derive(Clone, Default)]
pub struct Column {
    runs: Vec<Run>,
    /// What the numbers of each run lie above its line, one after the other; and a word behind them, so that two can be read wherever a number
    /// begins.
    words: Vec<u64>,
    /// The last ones, until they are a run.
    open: Vec<u64>,
    len: usize,
}

/// Numbers that lie above one line.
#[derive(Clone, Copy)]
struct Run {
    /// Where the line begins, and what it rises by from one number to the next.
    base: u64,
    step: u64,
    /// Where its first word is, and the bits of each number.
    at: u64,
    width: u32,
}

/// Numbers of a run: its words are whole ones, whatever its width.
const RUN: usize = 128;

impl Column {
    /// How many there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds one.
    #[inline]
    pub fn push(&mut self, number: u64) {
        self.extend([number]);
    }

    /// The one numbered `at`.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn get(&self, at: usize) -> u64 {
        assert!(at < self.len, "there are {} numbers and none at {at}", self.len);
        match self.runs.get(at / RUN) {
            Some(run) => run.get(&self.words, at % RUN),
            None => self.open[at % RUN],
        }
    }

    /// Those from the one numbered `from` on, as many as there is room for in `to`.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn read(&self, from: usize, to: &mut [u64]) {
        assert!(from + to.len() <= self.len, "there are {} numbers and not {} from {from} on", self.len, to.len());
        let (mut at, mut rest) = (from, to);
        while !rest.is_empty() {
            let first = at % RUN;
            let (own, others) = rest.split_at_mut((RUN - first).min(rest.len()));
            match self.runs.get(at / RUN) {
                Some(run) => run.read(&self.words, first, own),
                None => own.copy_from_slice(&self.open[first..first + own.len()]),
            }
            at += own.len();
            rest = others;
        }
    }

    /// Those at these `places`, which mostly are near each other, into `to`.
    ///
    /// # Panics
    /// If any is not there.
    pub fn gather(&self, places: &[u64], to: &mut Vec<u64>) {
        to.clear();
        let (Some(first), Some(last)) = (places.first(), places.last()) else { return };
        let span = last.wrapping_sub(*first).wrapping_add(1);
        // One after the other all between are told sooner than each by itself.
        if span == places.len() as u64 && places.is_sorted_by(|a, b| a < b) {
            to.resize(places.len(), 0);
            self.read(*first as usize, to);
        } else {
            to.extend(places.iter().map(|place| self.get(*place as usize)));
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + DoubleEndedIterator + Clone {
        (0..self.len).map(|at| self.get(at))
    }

    /// Lets go of room for more. More may be added all the same.
    pub fn shrink_to_fit(&mut self) {
        if !self.open.is_empty() {
            self.close_last();
        }
        self.open = Vec::new();
        self.runs.shrink_to_fit();
        self.words.shrink_to_fit();
    }

    /// Takes the numbers of the last run up again, where it has room for more.
    fn open_last(&mut self) {
        let more = self.len % RUN;
        if more == 0 || !self.open.is_empty() {
            return;
        }
        if let Some(last) = self.runs.pop() {
            self.open.extend((0..more).map(|at| last.get(&self.words, at)));
            self.words.truncate(last.at as usize);
            self.words.push(0);
        }
    }

    /// Makes a run of the open ones.
    fn close_last(&mut self) {
        self.words.pop();
        let run = Run::above(&self.open, self.words.len() as u64);
        run.put(&self.open, &mut self.words);
        self.words.push(0);
        self.runs.push(run);
        self.open.clear();
    }
}

impl Run {
    /// The narrower one of a level line and the one through the first and the last of `numbers`, of which there is one at least.
    fn above(numbers: &[u64], at: u64) -> Self {
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
        let (mut least, mut most, mut line) = (i64::MAX, i64::MIN, 0u64);
        for number in numbers {
            let above = number.wrapping_sub(line).cast_signed();
            (least, most) = (least.min(above), most.max(above));
            line = line.wrapping_add(step);
        }
        let width = u64::BITS - most.abs_diff(least).leading_zeros();
        Self { base: least.cast_unsigned(), step, at, width }
    }

    #[inline]
    fn line(&self, at: usize) -> u64 {
        self.base.wrapping_add(self.step.wrapping_mul(at as u64))
    }

    /// Adds what `numbers` lie above it to `words`.
    fn put(&self, numbers: &[u64], words: &mut Vec<u64>) {
        let (mut word, mut bits) = (0u64, 0);
        for (at, number) in numbers.iter().enumerate().filter(|_| self.width > 0) {
            let above = number.wrapping_sub(self.line(at));
            word |= above << bits;
            bits += self.width;
            if bits >= u64::BITS {
                words.push(word);
                bits -= u64::BITS;
                word = above.checked_shr(self.width - bits).unwrap_or(0);
            }
        }
        if bits > 0 {
            words.push(word);
        }
    }

    /// The numbers from the one at `first` on.
    fn read(&self, words: &[u64], first: usize, to: &mut [u64]) {
        let (mut line, width) = (self.line(first), self.width);
        if width == 0 {
            for number in to {
                *number = line;
                line = line.wrapping_add(self.step);
            }
            return;
        }
        let words = &words[self.at as usize..];
        let mask = u64::MAX >> (u64::BITS - width);
        let mut bit = first * width as usize;
        for number in to {
            *number = line.wrapping_add(word_at(words, bit) & mask);
            line = line.wrapping_add(self.step);
            bit += width as usize;
        }
    }

    /// The number at `at`, of which `words` tell what it lies above the line.
    #[inline]
    fn get(&self, words: &[u64], at: usize) -> u64 {
        let line = self.line(at);
        if self.width == 0 {
            return line;
        }
        let above = word_at(words, self.at as usize * 64 + at * self.width as usize);
        line.wrapping_add(above & (u64::MAX >> (u64::BITS - self.width)))
    }
}

/// The 64 bits of `words` from `bit` on, without a branch: where numbers begin nobody foresees. A word has to be behind the one it is in.
#[inline]
fn word_at(words: &[u64], bit: usize) -> u64 {
    let shift = bit % 64;
    let [low, high] = [words[bit / 64], words[bit / 64 + 1]];
    low >> shift | high << 1 << (63 - shift)
}

impl Extend<u64> for Column {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, numbers: I) {
        self.open_last();
        for number in numbers {
            self.open.push(number);
            self.len += 1;
            if self.open.len() == RUN {
                self.close_last();
            }
        }
    }
}

impl FromIterator<u64> for Column {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        let mut column = Self::default();
        column.extend(numbers);
        column.shrink_to_fit();
        column
    }
}

/// The same numbers in the same order, however they are kept.
impl PartialEq for Column {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for Column {}

impl fmt::Debug for Column {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_list().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Numbers that hardly vary, that count on, and any there are.
    fn numbers() -> impl Strategy<Value = Vec<u64>> {
        let stretch = (any::<u64>(), prop_oneof![Just(0u64), 1u64..90_000, any::<u64>()], 0u32..65, 0usize..300);
        let stretch = (stretch, any::<u64>()).prop_map(|((base, step, bits, count), seed)| {
            let mask = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
            let mut state = seed | 1;
            let next = move |at: u64| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                base.wrapping_add(step.wrapping_mul(at)).wrapping_add(state.rotate_left(17) & mask)
            };
            (0..count as u64).map(next).collect::<Vec<u64>>()
        });
        prop::collection::vec(stretch, 0..4).prop_map(|stretches| stretches.concat())
    }

    proptest! {
        #[test]
        fn numbers_come_back_whatever_they_are(numbers in numbers(), cut in any::<prop::sample::Index>(), again in any::<prop::sample::Index>()) {
            let mut column: Column = numbers.iter().copied().collect();
            prop_assert_eq!(column.iter().collect::<Vec<_>>(), numbers.clone());
            let mut read = vec![0; numbers.len() - cut.index(numbers.len() + 1)];
            column.read(numbers.len() - read.len(), &mut read);
            prop_assert_eq!(&read[..], &numbers[numbers.len() - read.len()..]);
            for every in [1, 3] {
                let places: Vec<u64> = (0..numbers.len() as u64).step_by(every).collect();
                column.gather(&places, &mut read);
                prop_assert_eq!(read.clone(), numbers.iter().step_by(every).copied().collect::<Vec<_>>());
            }
            // In pieces, between which room is let go of.
            let (first, rest) = numbers.split_at(cut.index(numbers.len() + 1));
            let (second, third) = rest.split_at(again.index(rest.len() + 1));
            let mut pieces = Column::default();
            for piece in [first, second, third] {
                pieces.extend(piece.iter().copied());
                prop_assert_eq!(pieces.iter().rev().take(piece.len()).collect::<Vec<_>>(), piece.iter().rev().copied().collect::<Vec<_>>());
                pieces.shrink_to_fit();
            }
            prop_assert_eq!(&pieces, &column);
            column.push(7);
            prop_assert_eq!((column.len(), column.get(numbers.len())), (numbers.len() + 1, 7));
        }
    }

    #[test]
    fn what_counts_on_takes_next_to_nothing() {
        let column: Column = (0..128_000u64).map(|at| 1_790_000_000_000_000_000 + 3 * at).collect();
        assert_eq!((column.runs.len(), column.words.len()), (1_000, 1));
        let varied: Column = (0..128_000u64).map(|at| 50_000 * at + at * 7_919 % 1_000).collect();
        assert!(varied.words.len() * 64 <= 128_000 * 12, "{} words", varied.words.len());
    }
}
