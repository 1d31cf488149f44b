//! Where collectives stand in a rank's list: mostly one behind the other, which is told in two numbers.

use std::ops::Range;

/// Places in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Places<'a> {
    /// These, one behind the other.
    Following(Range<usize>),
    /// Any, which mostly are near each other.
    Listed(&'a [u64]),
}

impl<'a> Places<'a> {
    /// These, which follow each other or do not.
    pub fn of(list: &'a [u64]) -> Self {
        let Some(first) = list.first() else { return Self::Following(0..0) };
        // All are looked at, as they mostly do.
        match list.iter().zip(*first..).fold(0, |apart, (place, next)| apart | (place ^ next)) {
            0 => Self::Following(*first as usize..*first as usize + list.len()),
            _ => Self::Listed(list),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Following(range) => range.len(),
            Self::Listed(list) => list.len(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The one numbered `at`.
    ///
    /// # Panics
    /// If they are listed and not so many.
    #[inline]
    pub fn at(&self, at: usize) -> usize {
        match self {
            Self::Following(range) => range.start + at,
            Self::Listed(list) => list[at] as usize,
        }
    }

    /// All of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = usize> + Clone + use<'_, 'a> {
        (0..self.len()).map(|at| self.at(at))
    }

    /// Whether all are below `count`.
    pub fn are_below(&self, count: usize) -> bool {
        match self {
            Self::Following(range) => range.end <= count,
            Self::Listed(list) => list.iter().all(|place| (*place as usize) < count),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_the_same_however_they_are_told() {
        for list in [&[][..], &[4], &[4, 5, 6], &[4, 6, 7], &[6, 5, 4], &[5, 5]] {
            let places = Places::of(list);
            assert_eq!(places.iter().map(|at| at as u64).collect::<Vec<_>>(), list);
            assert_eq!((places.len(), places.is_empty()), (list.len(), list.is_empty()));
            let most = list.iter().max().map_or(0, |most| *most as usize + 1);
            assert!(places.are_below(most) && (most == 0 || !places.are_below(most - 1)));
        }
        assert_eq!(Places::of(&[4, 5, 6]), Places::Following(4..7));
    }
}
