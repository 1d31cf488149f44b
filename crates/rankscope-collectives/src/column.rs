//! A column of numbers in as few bits as runs of them need.
//!
//! What a rank records again and again hardly varies: numbers count on, kernels follow each other after much the same time and take much the
//! same. So of each run of numbers a straight line is kept, and of each number only what it lies above that. Any number can be asked for by
//! its place, and any number there is comes back as it was: where they are wild, a run takes what they take. Numbers that all lie on one
//! line take nothing but the line.
//!
//! A column that is whole lies where the program keeps what a job has as much of as rows, see [`rankscope_scratch`].

mod run;

use std::fmt;

use rankscope_scratch::Kept;

use self::run::{BEHIND, RUN, Run};
use crate::Places;

/// Numbers of 64 bits, by their places.
#[derive(Clone, Default)]
pub struct Column {
    /// The runs, one behind the other; of one line the first stands for all.
    runs: Kept,
    is_line: bool,
    /// What the numbers of each run lie above its line, one after the other.
    above: Kept,
    /// The last ones, until they are a run.
    open: Vec<u64>,
    len: usize,
}

impl Column {
    /// The numbers from 0 on, of which there are so many.
    pub(crate) fn counting(len: usize) -> Self {
        let mut column = Self { is_line: len > 0, len, ..Self::default() };
        if len > 0 {
            column.runs.make_mut().extend(Run::counting().to_bytes());
        }
        column.shrink_to_fit();
        column
    }

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
        self.add(&[number]);
    }

    /// The one numbered `at`.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    pub fn get(&self, at: usize) -> u64 {
        assert!(at < self.len, "there are {} numbers and none at {at}", self.len);
        if self.is_line {
            return Run::of_list(&self.runs, 0).line(at);
        }
        match self.is_open(at) {
            true => self.open[at % RUN],
            false => Run::of_list(&self.runs, at / RUN).get(&self.above, at % RUN),
        }
    }

    /// Whether both are kept in the same bytes, and so are the same; others may be, too.
    pub(crate) fn is_kept_as(&self, other: &Self) -> bool {
        (self.len, self.is_line) == (other.len, other.is_line)
            && self.open == other.open
            && self.runs == other.runs
            && self.above == other.above
    }

    /// The one numbered `at`, if those behind it count on from it, all on one line.
    pub(crate) fn counts_on(&self, at: usize) -> Option<u64> {
        let line = (self.is_line && at < self.len).then(|| Run::of_list(&self.runs, 0))?;
        line.counts().then(|| line.line(at))
    }

    /// Those from the one numbered `from` on, as many as there is room for in `to`.
    ///
    /// # Panics
    /// If there are not so many.
    pub fn read(&self, from: usize, to: &mut [u64]) {
        assert!(from + to.len() <= self.len, "there are {} numbers and not {} from {from} on", self.len, to.len());
        if self.is_line {
            return Run::of_list(&self.runs, 0).read(&[], from, to);
        }
        rankscope_scratch::read(to.len());
        let (runs, above) = (&*self.runs, &*self.above);
        let (mut at, mut rest) = (from, to);
        while !rest.is_empty() {
            let first = at % RUN;
            let (own, others) = rest.split_at_mut((RUN - first).min(rest.len()));
            match self.is_open(at) {
                true => own.copy_from_slice(&self.open[first..first + own.len()]),
                false => Run::of_list(runs, at / RUN).read(above, first, own),
            }
            at += own.len();
            rest = others;
        }
    }

    /// Those at these `places`, which mostly are near each other, into `to`.
    ///
    /// # Panics
    /// If any is not there.
    pub fn gather(&self, places: &Places<'_>, to: &mut Vec<u64>) {
        // All of it is written over.
        to.resize(places.len(), 0);
        let places = match places {
            Places::Following(range) => return self.read(range.start, to),
            Places::Listed(places) => places,
        };
        let (mut run, mut rest) = ([0; RUN], &mut to[..]);
        for own in places.chunk_by(|a, b| *a as usize / RUN == *b as usize / RUN) {
            let (to, others) = rest.split_at_mut(own.len());
            rest = others;
            let (first, last) = (own[0] as usize, own[own.len() - 1] as usize);
            if own.len() * NEAR < RUN || !own.is_sorted() {
                to.iter_mut().zip(own).for_each(|(to, place)| *to = self.get(*place as usize));
                continue;
            }
            self.read(first, &mut run[..=last - first]);
            to.iter_mut().zip(own).for_each(|(to, place)| *to = run[*place as usize - first]);
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = u64> + DoubleEndedIterator + Clone {
        (0..self.len).map(|at| self.get(at))
    }

    /// Lets go of room for more, and keeps what is there where the program wants it. More may be added all the same.
    pub fn shrink_to_fit(&mut self) {
        if !self.open.is_empty() {
            self.close_last();
        }
        self.open = Vec::new();
        if !self.is_line && self.is_on_one_line() {
            self.is_line = true;
            self.runs.make_mut().truncate(Run::BYTES);
        }
        self.runs.keep();
        self.above.keep();
    }

    /// Whether the number at `at` is among the last ones, which are no run yet.
    #[inline]
    fn is_open(&self, at: usize) -> bool {
        !self.open.is_empty() && at / RUN == self.len / RUN
    }

    fn runs(&self) -> impl ExactSizeIterator<Item = Run> {
        (0..self.runs.len() / Run::BYTES).map(|at| Run::of_list(&self.runs, at))
    }

    /// Whether all numbers lie on the line of the first run.
    fn is_on_one_line(&self) -> bool {
        let Some(first) = self.runs().next() else { return false };
        self.runs().zip((0..).step_by(RUN)).all(|(run, at)| first.goes_on(at, &run, self.len - at))
    }

    /// Takes the runs of one line up again, and the numbers of the last run where it has room for more.
    fn open_last(&mut self) {
        if self.is_line {
            self.is_line = false;
            let line = Run::of_list(&self.runs, 0);
            let list = self.runs.make_mut();
            list.clear();
            (0..self.len.div_ceil(RUN)).for_each(|at| list.extend(line.from(at * RUN).to_bytes()));
        }
        let more = self.len % RUN;
        if more == 0 || !self.open.is_empty() {
            return;
        }
        let last = Run::of_list(&self.runs, self.len / RUN);
        self.open.extend((0..more).map(|at| last.get(&self.above, at)));
        let list = self.runs.make_mut();
        list.truncate(list.len() - Run::BYTES);
        // Bytes of one line are nowhere.
        if !last.is_line() {
            let above = self.above.make_mut();
            above.truncate(last.at());
            above.extend([0; BEHIND]);
        }
    }

    /// Adds `numbers`, of which there is one at least and no more than the last run has room for.
    fn add(&mut self, numbers: &[u64]) {
        self.open_last();
        self.len += numbers.len();
        if numbers.len() == RUN {
            return self.close(numbers);
        }
        self.open.extend_from_slice(numbers);
        if self.open.len() == RUN {
            self.close_last();
        }
    }

    /// Makes a run of the open ones.
    fn close_last(&mut self) {
        let mut open = std::mem::take(&mut self.open);
        self.close(&open);
        open.clear();
        self.open = open;
    }

    /// Adds a run of these `numbers`.
    fn close(&mut self, numbers: &[u64]) {
        let above = self.above.make_mut();
        above.truncate(above.len().saturating_sub(BEHIND));
        let run = Run::above(numbers, above.len() as u64);
        run.put(numbers, above);
        if !above.is_empty() {
            above.extend([0; BEHIND]);
        }
        self.runs.make_mut().extend(run.to_bytes());
    }
}

impl Extend<u64> for Column {
    fn extend<I: IntoIterator<Item = u64>>(&mut self, numbers: I) {
        let mut numbers = numbers.into_iter();
        let mut run = [0; RUN];
        loop {
            // A run at a time: nothing is asked of the column for each number.
            let room = RUN - self.len % RUN;
            let mut count = 0;
            for (to, number) in run[..room].iter_mut().zip(&mut numbers) {
                *to = number;
                count += 1;
            }
            if count > 0 {
                self.add(&run[..count]);
            }
            if count < room {
                return;
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

/// Where one of so many numbers of a run is wanted, all of them are told sooner than each of those by itself.
const NEAR: usize = 8;

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
            for every in [1, 3, 40] {
                let places: Vec<u64> = (0..numbers.len() as u64).step_by(every).collect();
                column.gather(&Places::of(&places), &mut read);
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
    fn numbers_from_0_on_are_a_line_that_counts() {
        for len in [0, 1, 2, 128, 300] {
            let column = Column::counting(len);
            assert_eq!(column.iter().collect::<Vec<_>>(), (0..len as u64).collect::<Vec<_>>());
            assert_eq!(column.counts_on(len / 2), (len > 0).then_some(len as u64 / 2));
            assert!(column.is_kept_as(&Column::counting(len)) && !column.is_kept_as(&Column::counting(len + 1)));
        }
        let level: Column = [7, 7, 7].into_iter().collect();
        let wild: Column = [7, 9, 2].into_iter().collect();
        assert_eq!((level.counts_on(1), wild.counts_on(1)), (None, None));
        assert!(!level.is_kept_as(&wild) && wild.is_kept_as(&wild.clone()));
    }

    #[test]
    fn what_counts_on_takes_next_to_nothing() {
        let column: Column = (0..128_000u64).map(|at| 1_790_000_000_000_000_000 + 3 * at).collect();
        assert_eq!((column.is_line, column.runs.len(), column.above.len()), (true, Run::BYTES, 0));
        let varied: Column = (0..128_000u64).map(|at| 50_000 * at + at * 7_919 % 1_000).collect();
        assert!(varied.above.len() * 8 <= 128_000 * 12, "{} bytes", varied.above.len());
    }
}
