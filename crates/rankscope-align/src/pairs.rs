//! Something for each ordered pair of ranks.
//!
//! Of few ranks every pair has its place, found by counting. Of many only the pairs that met have one: a job of ten thousand
//! ranks has a hundred million pairs, and no file is long enough to say something of each.

use std::collections::BTreeMap;

/// Beyond this many ranks only pairs that met have a place.
pub(crate) const DENSE_RANKS_MAX: usize = 256;

/// A table of `T` by ordered pair of ranks; whatever was never touched is `T::default()`.
#[derive(Clone, Debug)]
pub(crate) enum Pairs<T> {
    Few { ranks: usize, cells: Vec<T> },
    Many { rows: Vec<BTreeMap<usize, T>> },
}

impl<T: Clone + Default> Pairs<T> {
    /// Nothing for any pair of `ranks` ranks.
    pub(crate) fn of(ranks: usize) -> Self {
        if ranks <= DENSE_RANKS_MAX {
            Self::Few { ranks, cells: vec![T::default(); ranks * ranks] }
        } else {
            Self::sparse(ranks)
        }
    }

    /// The same, with a place only for pairs that met however few ranks there are.
    pub(crate) fn sparse(ranks: usize) -> Self {
        Self::Many { rows: vec![BTreeMap::new(); ranks] }
    }

    /// What is known of `a` and `b`, in this order.
    pub(crate) fn get(&self, a: usize, b: usize) -> Option<&T> {
        match self {
            Self::Few { ranks, cells } => cells.get(a * ranks + b),
            Self::Many { rows } => rows[a].get(&b),
        }
    }

    /// The place of `a` and `b`.
    pub(crate) fn at(&mut self, a: usize, b: usize) -> &mut T {
        match self {
            Self::Few { ranks, cells } => &mut cells[a * *ranks + b],
            Self::Many { rows } => rows[a].entry(b).or_default(),
        }
    }

    /// Every place there is of `a` and another, in this order, by the other.
    pub(crate) fn row(&self, a: usize) -> impl Iterator<Item = (usize, &T)> {
        let (few, many) = match self {
            Self::Few { ranks, cells } => (Some(&cells[a * ranks..(a + 1) * ranks]), None),
            Self::Many { rows } => (None, Some(&rows[a])),
        };
        let few = few.into_iter().flat_map(|row| row.iter().enumerate());
        few.chain(many.into_iter().flat_map(|row| row.iter().map(|(b, cell)| (*b, cell))))
    }

    /// Every place there is, by pair.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ((usize, usize), &T)> {
        let ranks = match self {
            Self::Few { ranks, .. } => *ranks,
            Self::Many { rows } => rows.len(),
        };
        (0..ranks).flat_map(|a| self.row(a).map(move |(b, cell)| ((a, b), cell)))
    }

    /// Every place there is, to be changed.
    pub(crate) fn cells_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let (few, many) = match self {
            Self::Few { cells, .. } => (Some(cells), None),
            Self::Many { rows } => (None, Some(rows)),
        };
        few.into_iter().flatten().chain(many.into_iter().flatten().flat_map(BTreeMap::values_mut))
    }

    /// How many places there are: what it costs.
    #[cfg(test)]
    pub(crate) fn places(&self) -> usize {
        self.iter().count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_ranks_hold_the_same_and_many_only_what_met() {
        let (mut few, mut many) = (Pairs::of(DENSE_RANKS_MAX), Pairs::of(DENSE_RANKS_MAX + 1));
        for pairs in [&mut few, &mut many] {
            *pairs.at(3, 200) = 7;
            *pairs.at(200, 3) += 1;
            pairs.cells_mut().for_each(|cell| *cell *= 2);
        }
        for pairs in [&few, &many] {
            assert_eq!((pairs.get(3, 200), pairs.get(200, 3)), (Some(&14), Some(&2)));
            let touched: Vec<_> = pairs.iter().filter(|(_, cell)| **cell != 0).collect();
            assert_eq!(touched, [((3, 200), &14), ((200, 3), &2)]);
        }
        assert_eq!((few.get(1, 1), many.get(1, 1)), (Some(&0), None));
        assert_eq!(many.places(), 2);
    }
}
