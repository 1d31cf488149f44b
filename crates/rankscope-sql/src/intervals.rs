//! The length of a union of intervals, gathered in any order and in bounded memory.
//!
//! Intervals are half open, `[start, end)`, in whole nanoseconds; those that end before they start, or where they start, count nothing.
//! What was gathered is merged whenever it has doubled, so that memory follows the number of disjoint intervals and not that of rows.

/// How many are gathered before the first merge.
const FIRST_MERGE: usize = 1024;

/// A union that grows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Intervals {
    gathered: Vec<(i64, i64)>,
    merge_at: usize,
}

impl Intervals {
    /// Adds `[start_ns, end_ns)`.
    pub(crate) fn add(&mut self, start_ns: i64, end_ns: i64) {
        if end_ns <= start_ns {
            return;
        }
        // Rows mostly come in order of time: then they never pile up.
        if let Some(last) = self.gathered.last_mut().filter(|last| last.0 <= start_ns && start_ns <= last.1) {
            last.1 = last.1.max(end_ns);
            return;
        }
        self.gathered.push((start_ns, end_ns));
        if self.gathered.len() >= self.merge_at.max(FIRST_MERGE) {
            self.merge();
        }
    }

    /// The disjoint intervals, in order.
    pub(crate) fn disjoint(&mut self) -> &[(i64, i64)] {
        self.merge();
        &self.gathered
    }

    /// How long they are together; the largest number there is where no number holds it.
    pub(crate) fn length_ns(&mut self) -> i64 {
        let length: i128 = self.disjoint().iter().map(|&(start, end)| i128::from(end) - i128::from(start)).sum();
        i64::try_from(length).unwrap_or(i64::MAX)
    }

    /// Bytes held.
    pub(crate) const fn bytes(&self) -> usize {
        self.gathered.capacity() * size_of::<(i64, i64)>()
    }

    fn merge(&mut self) {
        self.gathered.sort_unstable();
        self.gathered.dedup_by(|next, kept| {
            let joins = next.0 <= kept.1;
            if joins {
                kept.1 = kept.1.max(next.1);
            }
            joins
        });
        self.merge_at = self.gathered.len() * 2;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn length(of: &[(i64, i64)]) -> i64 {
        let mut intervals = Intervals::default();
        of.iter().for_each(|&(start, end)| intervals.add(start, end));
        intervals.length_ns()
    }

    #[test]
    fn what_has_no_length_counts_nothing() {
        assert_eq!(length(&[(5, 5), (9, 3)]), 0);
        assert_eq!(length(&[(i64::MIN, i64::MAX)]), i64::MAX);
    }

    proptest! {
        /// A union's length is the number of nanoseconds in any of its intervals, in whatever order they come.
        #[test]
        fn each_nanosecond_counts_once(mut of in proptest::collection::vec((-200_i64..200, 0_i64..60), 0..3000)) {
            for interval in &mut of {
                interval.1 += interval.0;
            }
            let covered = (-200..260).filter(|ns| of.iter().any(|&(start, end)| start <= *ns && *ns < end)).count();
            prop_assert_eq!(usize::try_from(length(&of)).unwrap(), covered);
            of.reverse();
            prop_assert_eq!(usize::try_from(length(&of)).unwrap(), covered);
        }

        /// Merged as it grows, it stays as small as what is disjoint.
        #[test]
        fn memory_follows_what_is_disjoint(of in proptest::collection::vec(0_i64..50, 20_000..30_000)) {
            let mut intervals = Intervals::default();
            for start in of {
                intervals.add(start * 10, start * 10 + 1);
                prop_assert!(intervals.gathered.len() <= FIRST_MERGE);
            }
        }
    }
}
