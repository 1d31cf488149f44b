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
