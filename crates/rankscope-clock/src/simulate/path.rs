//! One direction of a link: what delays a packet.
//!
//! A floor that never changes; the spread of kernel stamps over it, as recorded on an idle link (Rayleigh, 370 ns, so that one
//! packet in a hundred comes within 40 ns of the floor, and one in ten microseconds late); and a queue shared with other
//! traffic. The queue is that of Poisson bursts of exponential size (M/M/1 in continuous time), followed exactly, so that
//! neighbouring packets see the same busy period.
//!
//! Loads are nominal, as in the recordings behind a shaper that this is fitted to: sources asked to fill 80 % of the link left
//! it idle for four packets in ten, and one in a hundred waited 5 ms; at 40 %, seven in ten and 1.5 ms.

use crate::Rng;

/// Part of the nominal load that really came.
const BUSY_SHARE: f64 = 0.75;

/// Work that one burst of other traffic brings, at no load and what full load adds to it: bursts run into each other.
const BURST_NS: (f64, f64) = (60_000.0, 537_500.0);

const STAMP_SPREAD_NS: f64 = 370.0;
const LATE_SHARE: f64 = 0.1;
const LATE_NS: f64 = 2_000.0;

/// The state of one direction.
#[derive(Clone, Debug)]
pub(super) struct Path {
    floor_ns: i64,
    /// The part of the time that the link is busy.
    busy: f64,
    burst_ns: f64,
    rng: Rng,
    /// Work waiting at `seen_ns`.
    backlog_ns: f64,
    seen_ns: i64,
    next_burst_ns: i64,
}

impl Path {
    /// From `start_ns` on, idle at first. A load above 1 is taken for 1.
    pub(super) fn new(floor_ns: i64, load: f64, start_ns: i64, rng: Rng) -> Self {
        let load = load.clamp(0.0, 1.0);
        let (busy, burst_ns) = (load * BUSY_SHARE, BURST_NS.0 + load * BURST_NS.1);
        let mut path = Self { floor_ns, busy, burst_ns, rng, backlog_ns: 0.0, seen_ns: start_ns, next_burst_ns: start_ns };
        path.next_burst_ns = path.burst_after(start_ns);
        path
    }

    /// How long a packet that leaves at the true time `sent_ns` takes. Packets are asked for in order of time; one that comes
    /// late is treated as if it left with the last one.
    pub(super) fn delay_ns(&mut self, sent_ns: i64) -> i64 {
        while self.next_burst_ns <= sent_ns {
            self.drain_until(self.next_burst_ns);
            self.backlog_ns += self.burst_ns * self.rng.exponential();
            self.next_burst_ns = self.burst_after(self.next_burst_ns);
        }
        self.drain_until(sent_ns.max(self.seen_ns));
        let mut spread_ns = STAMP_SPREAD_NS * self.rng.exponential().sqrt();
        if self.rng.unit() < LATE_SHARE {
            spread_ns += LATE_NS * self.rng.exponential();
        }
        self.floor_ns + (self.backlog_ns + spread_ns) as i64
    }

    fn drain_until(&mut self, at_ns: i64) {
        self.backlog_ns = (self.backlog_ns - (at_ns - self.seen_ns) as f64).max(0.0);
        self.seen_ns = at_ns;
    }

    fn burst_after(&mut self, at_ns: i64) -> i64 {
        match self.busy {
            0.0 => i64::MAX,
            busy => at_ns.saturating_add(1 + (self.burst_ns / busy * self.rng.exponential()) as i64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delays of packets every 4 ms over 200 s, ascending.
    fn delays(load: f64) -> Vec<i64> {
        let mut path = Path::new(500, load, 0, Rng::new(8));
        let mut delays: Vec<i64> = (0..50_000).map(|i| path.delay_ns(i * 4_000_000)).collect();
        delays.sort_unstable();
        delays
    }

    #[test]
    fn delays_are_spread_as_recorded() {
        let idle = delays(0.0);
        assert!((500..=510).contains(&idle[0]));
        assert!((530..=550).contains(&idle[500]), "{}", idle[500]);
        assert!(idle[49_500] < 10_000);

        let loaded = delays(0.8);
        assert!((500..=520).contains(&loaded[0]));
        let empty = loaded.iter().filter(|delay| **delay < 10_000).count() as f64 / 50_000.0;
        assert!((empty - 0.4).abs() < 0.03, "{empty}");
        assert!((4_500_000..6_500_000).contains(&loaded[49_500]), "{}", loaded[49_500]);
    }

    #[test]
    fn neighbours_see_the_same_queue() {
        let mut path = Path::new(500, 0.8, 0, Rng::new(9));
        for i in 0..1_000 {
            let (first, second) = (path.delay_ns(i * 4_000_000), path.delay_ns(i * 4_000_000 + 1_000));
            // Nothing overtakes in a queue; stamps are off by microseconds.
            assert!(second - first > -30_000);
        }
    }
}
