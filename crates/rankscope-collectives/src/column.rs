//! A column of numbers, as narrow as all of them allow.
//!
//! The first that does not fit makes all of it wide: what is usual takes little, and nothing is refused.

/// Numbers, as narrow as all of them allow.
#[derive(Clone)]
pub(crate) enum Column<N> {
    Narrow(Vec<N>),
    Wide(Vec<u64>),
}

impl<N> Default for Column<N> {
    fn default() -> Self {
        Self::Narrow(Vec::new())
    }
}

impl<N: Copy + TryFrom<u64> + Into<u64>> Column<N> {
    /// None yet, with room for so many.
    pub(crate) fn with_capacity(many: usize) -> Self {
        Self::Narrow(Vec::with_capacity(many))
    }

    /// Adds one.
    #[inline]
    pub(crate) fn push(&mut self, number: u64) {
        match (&mut *self, N::try_from(number)) {
            (Self::Narrow(list), Ok(narrow)) => list.push(narrow),
            (Self::Narrow(list), Err(_)) => {
                let mut wide = Vec::with_capacity(list.capacity());
                wide.extend(list.iter().map(|narrow| (*narrow).into()));
                wide.push(number);
                *self = Self::Wide(wide);
            }
            (Self::Wide(list), _) => list.push(number),
        }
    }

    /// Adds all of them.
    pub(crate) fn extend(&mut self, numbers: impl ExactSizeIterator<Item = u64> + Clone) {
        // What has a bit that does not fit sets it here, too.
        let bits = numbers.clone().fold(0, |bits, number| bits | number);
        match (&mut *self, N::try_from(bits)) {
            (Self::Narrow(list), Ok(all)) => list.extend(numbers.map(|number| N::try_from(number).unwrap_or(all))),
            _ => numbers.for_each(|number| self.push(number)),
        }
    }

    /// The one numbered `at`.
    #[inline]
    pub(crate) fn get(&self, at: usize) -> u64 {
        match self {
            Self::Narrow(list) => list[at].into(),
            Self::Wide(list) => list[at],
        }
    }

    /// Lets go of room for more.
    pub(crate) fn shrink_to_fit(&mut self) {
        match self {
            Self::Narrow(list) => list.shrink_to_fit(),
            Self::Wide(list) => list.shrink_to_fit(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back_however_wide(numbers in prop::collection::vec(prop_oneof![9 => 0u64..70_000, 1 => any::<u64>()], 0..40)) {
            let mut column = Column::<u16>::default();
            let (pushed, added) = numbers.split_at(numbers.len() / 3);
            pushed.iter().for_each(|number| column.push(*number));
            column.extend(added.iter().copied());
            column.shrink_to_fit();
            let told: Vec<u64> = (0..numbers.len()).map(|at| column.get(at)).collect();
            prop_assert_eq!(&told, &numbers);
            let is_wide = matches!(column, Column::Wide(_));
            prop_assert_eq!(is_wide, numbers.iter().any(|number| *number > u64::from(u16::MAX)));
        }
    }
}
