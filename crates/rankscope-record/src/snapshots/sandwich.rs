//! One reading of a tracer's clock between two of the host's clocks.
//!
//! In order: raw, wall, tracer, wall, raw. The tracer's reading lies between the others whatever happens, so half their distance
//! bounds the error on either host clock; the wider of the two is kept for both. A preemption in between only makes it wide, and
//! so does a step of the wall clock: of a few tries the narrowest has neither.

use crate::ticks::clock_ns;

/// The host's clocks at about one moment.
pub(super) trait HostClocks {
    /// `CLOCK_MONOTONIC_RAW`, which nobody sets.
    fn raw_ns(&mut self) -> i64;
    /// `CLOCK_REALTIME`, with which hosts stamp traces.
    fn wall_ns(&mut self) -> i64;
}

/// A tracer's clock and the host's, read together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostReading {
    /// What the tracer's clock showed.
    pub tracer: i64,
    /// `CLOCK_REALTIME` then.
    pub wall_ns: i64,
    /// `CLOCK_MONOTONIC_RAW` then.
    pub raw_ns: i64,
    /// How far either may be from the moment of the tracer's reading.
    pub half_width_ns: u64,
}

impl HostReading {
    /// The narrowest of `tries` readings of a tracer's clock beside this host's, for who wants to know which of them it is; none where
    /// the tracer's clock never answered.
    ///
    /// ```
    /// use std::time::{SystemTime, UNIX_EPOCH};
    ///
    /// use rankscope_record::snapshots::HostReading;
    ///
    /// let wall = || i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).ok()?.as_nanos()).ok();
    /// let reading = HostReading::narrowest(wall, 16).expect("this clock always answers");
    /// assert!(reading.tracer.abs_diff(reading.wall_ns) <= reading.half_width_ns);
    /// ```
    pub fn narrowest(tracer: impl FnMut() -> Option<i64>, tries: u32) -> Option<Self> {
        narrowest(&mut Kernel, tracer, tries)
    }
}

/// This host's own.
pub(super) struct Kernel;

impl HostClocks for Kernel {
    fn raw_ns(&mut self) -> i64 {
        clock_ns(libc::CLOCK_MONOTONIC_RAW)
    }

    fn wall_ns(&mut self) -> i64 {
        clock_ns(libc::CLOCK_REALTIME)
    }
}

/// The narrowest of `tries` readings; none where the tracer's clock never answered.
pub(super) fn narrowest(
    host: &mut impl HostClocks,
    mut tracer: impl FnMut() -> Option<i64>,
    tries: u32,
) -> Option<HostReading> {
    (0..tries.max(1)).filter_map(|_| once(host, &mut tracer)).min_by_key(|reading| reading.half_width_ns)
}

fn once(host: &mut impl HostClocks, tracer: &mut impl FnMut() -> Option<i64>) -> Option<HostReading> {
    let (raw_before, wall_before) = (host.raw_ns(), host.wall_ns());
    let tracer = tracer();
    let (wall_after, raw_after) = (host.wall_ns(), host.raw_ns());
    let (raw_ns, raw_half_ns) = middle(raw_before, raw_after);
    let (wall_ns, wall_half_ns) = middle(wall_before, wall_after);
    Some(HostReading { tracer: tracer?, wall_ns, raw_ns, half_width_ns: raw_half_ns.max(wall_half_ns) })
}

/// The middle of two readings, and how far it is from both at most. A wall clock may have been set back in between.
fn middle(before_ns: i64, after_ns: i64) -> (i64, u64) {
    let width_ns = after_ns.saturating_sub(before_ns);
    (before_ns.saturating_add(width_ns / 2), width_ns.unsigned_abs().div_ceil(2))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use proptest::prelude::*;

    use super::*;

    /// A host in simulated time: every look at a clock takes as long as the list says, and the wall clock is stepped once.
    struct Simulated {
        now_ns: Rc<Cell<i64>>,
        costs_ns: Vec<i64>,
        looks: usize,
        wall_ahead_ns: i64,
        step: Option<(usize, i64)>,
    }

    impl Simulated {
        fn look(&mut self) -> i64 {
            self.looks += 1;
            if let Some((at, size_ns)) = self.step
                && at == self.looks
            {
                self.wall_ahead_ns += size_ns;
            }
            let cost_ns = self.costs_ns[self.looks % self.costs_ns.len()];
            self.now_ns.set(self.now_ns.get() + cost_ns);
            self.now_ns.get()
        }
    }

    impl HostClocks for Simulated {
        fn raw_ns(&mut self) -> i64 {
            self.look()
        }

        fn wall_ns(&mut self) -> i64 {
            self.look() + self.wall_ahead_ns
        }
    }

    proptest! {
        #[test]
        fn the_truth_is_within_the_half_width(
            costs_ns in prop::collection::vec(1_i64..5_000, 1..20),
            tracer_cost_ns in 1_i64..2_000,
            offset_ns in -1_i64 << 60..1_i64 << 60,
            ahead_ns in 0_i64..1 << 61,
            tries in 1_u32..8,
        ) {
            let now_ns = Rc::new(Cell::new(1_000_i64));
            let mut host = Simulated { now_ns: now_ns.clone(), costs_ns, looks: 0, wall_ahead_ns: ahead_ns, step: None };
            let tracer = || {
                now_ns.set(now_ns.get() + tracer_cost_ns);
                Some(now_ns.get() + offset_ns)
            };
            let reading = narrowest(&mut host, tracer, tries).unwrap();
            let truth_ns = reading.tracer - offset_ns;
            prop_assert!(truth_ns.abs_diff(reading.raw_ns) <= reading.half_width_ns);
            prop_assert!((truth_ns + ahead_ns).abs_diff(reading.wall_ns) <= reading.half_width_ns);
        }
    }

    #[test]
    fn a_step_of_the_wall_clock_spoils_only_its_own_try() {
        for at in 1..=12 {
            for size_ns in [1_000_000, -1_000_000] {
                let now_ns = Rc::new(Cell::new(0));
                let (costs_ns, step) = (vec![20], Some((at, size_ns)));
                let mut host = Simulated { now_ns: now_ns.clone(), costs_ns, looks: 0, wall_ahead_ns: 0, step };
                let reading = narrowest(&mut host, || Some(now_ns.get()), 3).unwrap();
                assert_eq!(reading.half_width_ns, 30);
                let wall_is_ns = reading.wall_ns - reading.raw_ns;
                assert!(wall_is_ns == 0 || wall_is_ns == size_ns, "{wall_is_ns} is a mixture");
            }
        }
    }

    #[test]
    fn a_clock_that_answers_now_and_then_is_read_then() {
        let now_ns = Rc::new(Cell::new(0));
        let mut host = Simulated { now_ns: now_ns.clone(), costs_ns: vec![10], looks: 0, wall_ahead_ns: 0, step: None };
        let mut answers = [None, Some(7), None].into_iter();
        assert_eq!(narrowest(&mut host, || answers.next().flatten(), 3).map(|reading| reading.tracer), Some(7));
        assert_eq!(narrowest(&mut host, || None, 3), None);
    }
}
