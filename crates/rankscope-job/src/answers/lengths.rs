//! [`Lengths`]: a length of time for each of a rank's collectives, in four bytes while all of them fit.
//!
//! There are as many as a job has collectives on all of its ranks, and hardly ever one of more than four seconds.

/// Lengths by place, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lengths {
    Short(Vec<u32>),
    Any(Vec<i64>),
}

impl Lengths {
    /// So many, all of them nothing.
    pub(super) fn zeros(count: usize) -> Self {
        Self::Short(vec![0; count])
    }

    /// The one at `at`, which has to be there.
    pub(super) fn get(&self, at: usize) -> i64 {
        match self {
            Self::Short(list) => i64::from(list[at]),
            Self::Any(list) => list[at],
        }
    }

    /// Sets the one at `at`, which has to be there.
    pub(super) fn put(&mut self, at: usize, ns: i64) {
        match (&mut *self, u32::try_from(ns)) {
            (Self::Short(list), Ok(ns)) => list[at] = ns,
            (Self::Any(list), _) => list[at] = ns,
            (Self::Short(list), Err(_)) => {
                let mut list: Vec<i64> = list.iter().copied().map(i64::from).collect();
                list[at] = ns;
                *self = Self::Any(list);
            }
        }
    }

    /// Whether all of them are nothing.
    pub(super) fn are_zeros(&self) -> bool {
        match self {
            Self::Short(list) => list.iter().all(|ns| *ns == 0),
            Self::Any(list) => list.iter().all(|ns| *ns == 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_put_is_there_however_long(
            put in prop::collection::vec((0usize..9, prop_oneof![4 => 0i64..5_000, 1 => any::<i64>()]), 0..20)
        ) {
            let (mut lengths, mut plain) = (Lengths::zeros(9), vec![0; 9]);
            for (at, ns) in put {
                lengths.put(at, ns);
                plain[at] = ns;
                prop_assert_eq!((0..9).map(|at| lengths.get(at)).collect::<Vec<_>>(), plain.clone());
                prop_assert_eq!(lengths.are_zeros(), plain.iter().all(|ns| *ns == 0));
            }
        }
    }
}
