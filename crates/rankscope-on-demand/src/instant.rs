//! One instant for all nodes: each converts it to its own wall clock, which is what the profilers there begin by.

use rankscope_time::{ClockMap, HostClock, Instant, Knot, Rate, ReferenceClock};

/// What the wall clock of a node shows at `reference_ns`, an instant of the reference clock. `to_reference` is from the node's host clock,
/// and `realtime` are readings of its wall clock beside the host clock; where there are none, the two are one. Nothing, where the readings
/// are no map.
pub fn wall_ns(reference_ns: i64, to_reference: &ClockMap<HostClock, ReferenceClock>, realtime: &[Knot]) -> Option<i64> {
    let host_ns = to_reference.inverse().map(Instant::from_nanos_since_epoch(reference_ns)).nanos_since_epoch();
    if realtime.is_empty() {
        return Some(host_ns);
    }
    let wall: ClockMap<HostClock, HostClock> = ClockMap::from_knots(realtime.to_vec(), Rate::from_ppb(DRIFT_PPB)).ok()?;
    Some(wall.inverse().map(Instant::from_nanos_since_epoch(host_ns)).nanos_since_epoch())
}

/// How fast a wall clock may be slewed, by which only the uncertainty grows.
const DRIFT_PPB: i64 = 500_000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rankscope_time::Span;

    use super::*;

    /// What a clock that is off by `offset_ns` and gains `gain_ppb` shows at true time `true_ns`, counted from `ZERO_NS`.
    fn shown(true_ns: i64, offset_ns: i64, gain_ppb: i64) -> i64 {
        ZERO_NS + offset_ns + true_ns + (i128::from(true_ns) * i128::from(gain_ppb) / 1_000_000_000) as i64
    }

    const ZERO_NS: i64 = 1_700_000_000_000_000_000;
    const SECOND_NS: i64 = 1_000_000_000;

    proptest! {
        #[test]
        fn two_nodes_with_bent_clocks_begin_within_two_milliseconds(
            offsets in proptest::array::uniform4(-3_600 * SECOND_NS..3_600 * SECOND_NS),
            gains in proptest::array::uniform4(-40_000_i64..40_000),
            start_s in 12_i64..300,
        ) {
            // Each node has been measured for a minute; the reference clock is true.
            let true_start = |node: usize| {
                let (host, wall) = ((offsets[node], gains[node]), (offsets[node + 2], gains[node + 2]));
                let times = (0..=60).step_by(4).map(|second| second * SECOND_NS);
                let knots = |from: (i64, i64), to: Option<(i64, i64)>| -> Vec<Knot> {
                    let to = |at| to.map_or(ZERO_NS + at, |to| shown(at, to.0, to.1));
                    times.clone().map(|at| Knot { from_ns: shown(at, from.0, from.1), to_ns: to(at), uncertainty_ns: 20_000 }).collect()
                };
                let to_reference = ClockMap::from_knots(knots(host, None), Rate::from_ppb(100_000)).expect("a map");
                let reference_ns = ZERO_NS + (60 + start_s) * SECOND_NS;
                let wall_ns = wall_ns(reference_ns, &to_reference, &knots(wall, Some(host))).expect("a time");
                // Profilers take whole milliseconds. When does this wall clock show that one?
                let shown_ns = wall_ns.div_euclid(1_000_000) * 1_000_000 - ZERO_NS - wall.0;
                (i128::from(shown_ns) * 1_000_000_000 / i128::from(1_000_000_000 + wall.1)) as i64
            };
            let (one, other) = (true_start(0), true_start(1));
            prop_assert!((one - other).abs() <= 2_000_000, "{} ns apart", (one - other).abs());
            prop_assert!((one - (60 + start_s) * SECOND_NS).abs() <= 2_000_000, "{} ns late", one - (60 + start_s) * SECOND_NS);
        }
    }

    #[test]
    fn a_node_that_was_not_read_beside_its_wall_clock_counts_by_its_host_clock() {
        let map = ClockMap::from_offset(Span::from_nanos(-500), 10);
        assert_eq!(wall_ns(1_000, &map, &[]), Some(1_500));
    }
}
