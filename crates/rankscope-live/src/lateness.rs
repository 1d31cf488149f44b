//! Lateness: what a rank's own work made it come later to a matched collective than the rank in the middle.
//!
//! A rank may also come late because it was kept waiting somewhere else, by a rank that really is late; that is taken off. What counts
//! is the time since the group last met, less what was waited meanwhile: for ranks that left together it is how much later they
//! arrived, and one that was let go later is not blamed for it.

/// How a rank came to a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Came {
    /// When it left the one before of the same group, on the job's clock.
    pub left_ns: i64,
    /// When it came to this one, on the job's clock.
    pub arrived_ns: i64,
    /// What it waited for others in between.
    pub waited_ns: i64,
}

impl Came {
    /// What it did itself since the group last met.
    fn own_ns(&self) -> i64 {
        self.arrived_ns.saturating_sub(self.left_ns).saturating_sub(self.waited_ns)
    }
}

/// How late each rank of a group came, in the order of `came`; negative where earlier than the middle.
pub fn own_lateness(came: &[Came]) -> Vec<i64> {
    let own: Vec<i64> = came.iter().map(Came::own_ns).collect();
    let mut sorted = own.clone();
    sorted.sort_unstable();
    let middle_ns = match sorted.len() {
        0 => 0,
        n => (sorted[(n - 1) / 2] / 2).saturating_add(sorted[n / 2] / 2),
    };
    own.into_iter().map(|own_ns| own_ns.saturating_sub(middle_ns)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn came(left_ns: i64, arrived_ns: i64, waited_ns: i64) -> Came {
        Came { left_ns, arrived_ns, waited_ns }
    }

    #[test]
    fn a_rank_that_was_kept_waiting_elsewhere_is_not_late() {
        let ranks = [came(0, 100, 0), came(0, 100, 0), came(0, 150, 50), came(0, 160, 0), came(0, 100, 0)];
        assert_eq!(own_lateness(&ranks), [0, 0, 0, 60, 0]);
    }

    #[test]
    fn nobody_is_late_alone_and_no_instant_breaks_it() {
        assert_eq!(own_lateness(&[]), [0; 0]);
        assert_eq!(own_lateness(&[came(7, 100, 3)]), [0]);
        assert_eq!(own_lateness(&[came(i64::MIN, i64::MAX, i64::MIN), came(0, 0, 0)]).len(), 2);
    }

    proptest! {
        #[test]
        fn clocks_that_are_off_by_as_much_all_the_time_change_nothing(
            ranks in proptest::collection::vec((0_i64..1_000_000, 0_i64..1_000_000, -1_000_000_i64..1_000_000), 1..9),
        ) {
            let right: Vec<Came> = ranks.iter().map(|(left, own, _)| came(*left, left + own, 0)).collect();
            let off: Vec<Came> = ranks.iter().map(|(left, own, off)| came(left + off, left + own + off, 0)).collect();
            prop_assert_eq!(own_lateness(&right), own_lateness(&off));
        }
    }
}
