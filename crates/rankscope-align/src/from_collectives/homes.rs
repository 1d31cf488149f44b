//! Which of the clocks that were gone through already another one may share its clock with.
//!
//! Only those whose lines come near: clocks of ten thousand hosts are compared with few others each. How near is as much as any two
//! of them may be apart without being told from each other, and what they may gain on each other until then.

use std::collections::BTreeMap;

use super::sharing::{SharedClock, near_ns};
use super::ties::{Line, Tie, gained_ns};

/// Clocks by what they are ahead at one instant.
pub(super) struct Homes {
    /// Where lines are compared.
    center_ns: i64,
    /// Lines that are further apart there than this are never taken for one.
    near_ns: i64,
    by_offset: BTreeMap<i64, Vec<usize>>,
    /// Those that were tied to no other, which may be any that are not either.
    untied: Vec<usize>,
}

impl Homes {
    /// None yet, and what is near among `clocks`.
    pub(super) fn of(clocks: &[SharedClock]) -> Self {
        let ties = || clocks.iter().filter(|clock| !clock.is_host).filter_map(|clock| clock.tie.as_ref());
        let center_ns = ties().next().map_or(0, |tie| tie.line.center_ns);
        let most = |of: fn(&Tie) -> f64| ties().map(of).fold(0.0, f64::max);
        let loosest =
            ties().next().map(|tie| Tie { error_ns: most(|tie| tie.error_ns), noise_ns: most(|tie| tie.noise_ns), ..*tie });
        let drift_ppb = clocks.iter().map(|clock| clock.line.drift_ppb.saturating_abs()).max().unwrap_or(0);
        let apart_ns = ties().map(|tie| tie.line.center_ns.saturating_sub(center_ns).saturating_abs()).max().unwrap_or(0);
        let gained_ns = gained_ns(drift_ppb.saturating_mul(2), apart_ns).saturating_add(ROUNDED_NS);
        let near_ns = (near_ns([loosest.as_ref(); 2]).ceil() as i64).saturating_add(gained_ns);
        Self { center_ns, near_ns, by_offset: BTreeMap::new(), untied: Vec::new() }
    }

    /// Those that `clock` may share a clock with, in the order in which they were added.
    pub(super) fn near(&self, clock: &SharedClock) -> Vec<usize> {
        let ahead_ns = self.ahead_ns(&clock.line);
        let range = ahead_ns.saturating_sub(self.near_ns)..=ahead_ns.saturating_add(self.near_ns);
        let mut found: Vec<usize> = self.by_offset.range(range).flat_map(|(_, homes)| homes.iter().copied()).collect();
        if clock.tie.is_none() {
            found.extend(&self.untied);
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Adds `clock`, which is called `home`.
    pub(super) fn add(&mut self, clock: &SharedClock, home: usize) {
        self.by_offset.entry(self.ahead_ns(&clock.line)).or_default().push(home);
        if clock.tie.is_none() {
            self.untied.push(home);
        }
    }

    fn ahead_ns(&self, line: &Line) -> i64 {
        line.at(self.center_ns)
    }
}

/// What the gains of four lines are rounded by, with room.
const ROUNDED_NS: i64 = 8;

#[cfg(test)]
mod tests {
    use super::super::sharing::by_host;
    use super::super::ties::ENDS_MIN;
    use super::*;

    /// Clocks so far ahead of the first, each known to within so much.
    fn clocks(ahead_ns: impl Iterator<Item = i64>, noise_ns: f64) -> Vec<SharedClock> {
        let ahead_ns: Vec<i64> = ahead_ns.collect();
        let mut clocks = by_host(&vec![None; ahead_ns.len()]);
        for (clock, offset_ns) in clocks.iter_mut().zip(ahead_ns) {
            let line = Line { center_ns: 5_000, offset_ns, drift_ppb: 0 };
            let (error_ns, count) = (noise_ns / 10.0, ENDS_MIN);
            clock.line = line;
            clock.tie = Some(Tie { line, noise_ns, error_ns, count, shortest_ns: 10, reach_ns: (0, 10_000) });
        }
        clocks
    }

    #[test]
    fn clocks_of_ten_thousand_hosts_are_compared_with_few_others() {
        const CLOCKS: i64 = 10_000;
        let clocks = clocks((0..CLOCKS).map(|at| at * 7_919 % CLOCKS * 1_000), 400.0);
        let mut homes = Homes::of(&clocks);
        let mut compared = 0;
        for (home, clock) in clocks.iter().enumerate() {
            compared += homes.near(clock).len();
            homes.add(clock, home);
        }
        assert!(compared <= 2 * clocks.len(), "{compared}");
    }

    #[test]
    fn whoever_may_share_a_clock_is_near() {
        let clocks = clocks((0..400).map(|at| at * 7_919 % 400 * 40), 900.0);
        let mut homes = Homes::of(&clocks);
        for (home, clock) in clocks.iter().enumerate() {
            let near = homes.near(clock);
            let mut may_be = (0..home).filter(|other| clocks[*other].may_be(clock));
            assert!(may_be.all(|other| near.contains(&other)));
            assert!(near.is_sorted());
            homes.add(clock, home);
        }
    }
}
