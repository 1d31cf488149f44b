//! Columns of a graph, as narrow as what is in them.
//!
//! A graph is kept for every rank of a job at once, and nearly all of its numbers are small: lanes, keys, how many pieces before a piece
//! the one stands that it depends on, how long it took. So a column holds each in the fewest bytes that most fit in, and the few that
//! do not fit stand beside it, by their place.

/// A number that most of a column fit in. Its largest value says that one does not.
pub(crate) trait Small: Copy + Eq + Into<u64> + TryFrom<u64> {
    /// That value.
    const MORE: Self;
}

impl Small for u8 {
    const MORE: Self = Self::MAX;
}

impl Small for u16 {
    const MORE: Self = Self::MAX;
}

impl Small for u32 {
    const MORE: Self = Self::MAX;
}

/// Numbers that mostly fit `S`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Narrow<S> {
    small: Vec<S>,
    /// Those that do not fit, by their place, ascending.
    large: Vec<(u32, u64)>,
}

impl<S> Default for Narrow<S> {
    fn default() -> Self {
        Self { small: Vec::new(), large: Vec::new() }
    }
}

impl<S: Small> Narrow<S> {
    /// With room for so many.
    pub(crate) fn with_capacity(count: usize) -> Self {
        Self { small: Vec::with_capacity(count), large: Vec::new() }
    }

    pub(crate) fn len(&self) -> usize {
        self.small.len()
    }

    pub(crate) fn push(&mut self, value: u64) {
        let small = S::try_from(value).ok().filter(|small| *small != S::MORE);
        if small.is_none() {
            self.large.push((self.small.len() as u32, value));
        }
        self.small.push(small.unwrap_or(S::MORE));
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> u64 {
        let small = self.small[at];
        if small == S::MORE { self.large(at) } else { small.into() }
    }

    #[cold]
    fn large(&self, at: usize) -> u64 {
        let found = self.large.binary_search_by_key(&(at as u32), |(place, _)| *place);
        // Whatever does not fit was put there.
        found.map_or(0, |found| self.large[found].1)
    }
}

/// Moments that ascend, each told by how long after the first of its block it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moments {
    /// The first of each block.
    firsts_ns: Vec<i64>,
    after_ns: Narrow<u32>,
}

/// Moments of a block. Four seconds of a trace hold more than these.
const BLOCK: usize = 64;

impl Moments {
    pub(crate) fn with_capacity(count: usize) -> Self {
        Self { firsts_ns: Vec::with_capacity(count.div_ceil(BLOCK)), after_ns: Narrow::with_capacity(count) }
    }

    pub(crate) fn len(&self) -> usize {
        self.after_ns.len()
    }

    /// Appends one that is not before the last.
    pub(crate) fn push(&mut self, ns: i64) {
        if self.len().is_multiple_of(BLOCK) {
            self.firsts_ns.push(ns);
        }
        let first_ns = self.firsts_ns.last().copied().unwrap_or(ns);
        self.after_ns.push(ns.wrapping_sub(first_ns).cast_unsigned());
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> i64 {
        self.firsts_ns[at / BLOCK].wrapping_add(self.after_ns.get(at).cast_signed())
    }

    /// How many come before the first that is not `before`.
    pub(crate) fn partition_point(&self, before: impl Fn(i64) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if before(self.get(middle)) { low = middle + 1 } else { high = middle }
        }
        low
    }
}

/// For each piece one before it, or none, told by how many places it stands back. Takes no room where there is none at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Back {
    places: Narrow<u16>,
}

impl Back {
    /// Of `before` by piece; each stands before its own piece.
    pub(crate) fn of(before: &[Option<u32>]) -> Self {
        if before.iter().all(Option::is_none) {
            return Self::default();
        }
        let mut back = Self { places: Narrow::with_capacity(before.len()) };
        for (at, before) in (0_u32..).zip(before) {
            back.places.push(before.map_or(0, |before| u64::from(at - before)));
        }
        back
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> Option<u32> {
        if self.places.len() == 0 {
            return None;
        }
        match self.places.get(at) {
            0 => None,
            back => Some((at as u64 - back) as u32),
        }
    }
}

/// Which of many are marked, and the how manieth of those each is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Marks {
    words: Vec<u64>,
    /// How many there are before each word.
    before: Vec<u32>,
}

impl Marks {
    /// Of `marked` places, ascending.
    pub(crate) fn of(marked: impl Iterator<Item = u32>) -> Self {
        let mut words: Vec<u64> = Vec::new();
        for at in marked {
            let word = (at / u64::BITS) as usize;
            words.resize(words.len().max(word + 1), 0);
            words[word] |= 1 << (at % u64::BITS);
        }
        let before = |all: &mut u32, word: &u64| Some(std::mem::replace(all, *all + word.count_ones()));
        Self { before: words.iter().scan(0, before).collect(), words }
    }

    /// How many marked ones stand before the one at `at`, which is marked itself.
    #[inline]
    pub(crate) fn place(&self, at: u32) -> Option<usize> {
        let (word, bit) = ((at / u64::BITS) as usize, 1_u64 << (at % u64::BITS));
        let own = *self.words.get(word)?;
        (own & bit != 0).then(|| self.before[word] as usize + (own & (bit - 1)).count_ones() as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_does_not_fit_comes_back_too(values in prop::collection::vec(prop_oneof![0..300_u64, any::<u64>()], 0..200)) {
            let mut bytes = Narrow::<u8>::default();
            let mut words = Narrow::<u32>::default();
            values.iter().for_each(|value| { bytes.push(*value); words.push(*value); });
            for (at, value) in values.iter().enumerate() {
                prop_assert_eq!((bytes.get(at), words.get(at)), (*value, *value));
            }
        }

        #[test]
        fn moments_come_back_and_are_found(
            mut ns in prop::collection::vec(prop_oneof![8 => 0..9_000_000_000_i64, 1 => any::<i64>()], 0..300), asked in any::<i64>()
        ) {
            ns.sort_unstable();
            let mut moments = Moments::default();
            ns.iter().for_each(|ns| moments.push(*ns));
            prop_assert!((0..ns.len()).all(|at| moments.get(at) == ns[at]));
            for asked in ns.iter().copied().chain([asked]) {
                prop_assert_eq!(moments.partition_point(|ns| ns < asked), ns.partition_point(|ns| *ns < asked));
            }
        }

        #[test]
        fn pieces_before_come_back(before in prop::collection::vec(prop::option::of(any::<prop::sample::Index>()), 0..200), far in any::<bool>()) {
            let shift = if far { 70_000 } else { 0 };
            let mut list: Vec<Option<u32>> = vec![None; shift];
            list.extend((0..).zip(&before).map(|(at, before)| before.filter(|_| at > 0).map(|before| before.index(at) as u32)));
            let back = Back::of(&list);
            prop_assert!((0..list.len()).all(|at| back.get(at) == list[at]));
        }
    }

    proptest! {
        #[test]
        fn marks_are_counted(marked in prop::collection::btree_set(0..500_u32, 0..60)) {
            let marks = Marks::of(marked.iter().copied());
            for at in 0..600 {
                prop_assert_eq!(marks.place(at), marked.contains(&at).then(|| marked.range(..at).count()));
            }
        }
    }

    #[test]
    fn none_at_all_takes_no_room() {
        assert_eq!(Back::of(&[None; 9]), Back::default());
    }
}
