//! How long the queue of each stream was, and how fast each direction of copies, over time.
//!
//! A level changes where work is launched or starts, or where a copy starts or ends. Of many changes the extremes are kept
//! ([`crate::bounded`]). Each point holds until the next one, but for those that were left out.

use rankscope_analyze::{Class, Direction, Work};
use rankscope_trace::{Trace, TrackId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use crate::Attribution;
use crate::bounded::bounded;
use crate::kernels::stream;

/// What a level was from an instant on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Level {
    /// The instant, in nanoseconds since the start of the trace.
    pub at_ns: i64,
    /// Work in a queue, or bytes a second.
    pub level: i64,
}

/// Instants, and by how much a level changes there.
type Changes = Vec<(i64, i64)>;

/// The queue of each stream, by its name: work that was launched and had not started.
pub fn queue_levels(trace: &Trace, attribution: &Attribution) -> Vec<(String, Vec<Level>)> {
    let mut changes: FxHashMap<TrackId, Changes> = FxHashMap::default();
    for one in &attribution.work {
        let Some(launch) = one.launch else { continue };
        let (launched_ns, started_ns) = (trace.spans.start_ns(launch), trace.spans.start_ns(one.work));
        let own = changes.entry(trace.spans.row(one.work).track).or_default();
        own.extend([(launched_ns, 1), (started_ns.max(launched_ns), -1)]);
    }
    let start_ns = start_ns(trace);
    let mut rows: Vec<(String, Vec<Level>)> =
        changes.into_iter().map(|(track, changes)| (stream(trace, track), levels(changes, start_ns))).collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows
}

/// The bandwidth of each direction, in bytes a second, of the copies whose bytes are recorded and that took any time: of those that
/// run side by side, the sum.
pub fn bandwidth_levels(trace: &Trace, work: &[Work]) -> Vec<(Option<Direction>, Vec<Level>)> {
    let mut changes: Vec<(Option<Direction>, Changes)> = Vec::new();
    for piece in work {
        let direction = match piece.class {
            Class::Memcpy(direction) => Some(direction),
            Class::Memset => None,
            Class::Compute | Class::Comm => continue,
        };
        let ns = piece.end_ns.saturating_sub(piece.start_ns);
        let Some(bytes) = trace.bytes.get(piece.span).filter(|bytes| *bytes > 0 && ns > 0) else { continue };
        let per_s = u128::from(bytes) * 1_000_000_000 / u128::from(ns.cast_unsigned());
        let per_s = i64::try_from(per_s).unwrap_or(i64::MAX);
        let at = changes.iter().position(|own| own.0 == direction).unwrap_or_else(|| {
            changes.push((direction, Vec::new()));
            changes.len() - 1
        });
        changes[at].1.extend([(piece.start_ns, per_s), (piece.end_ns, per_s.saturating_neg())]);
    }
    let start_ns = start_ns(trace);
    changes.sort_by_key(|own| own.0);
    changes.into_iter().map(|(direction, changes)| (direction, levels(changes, start_ns))).collect()
}

fn start_ns(trace: &Trace) -> i64 {
    trace.bounds_ns().map_or(0, |(start_ns, _)| start_ns)
}

/// The sum of `changes` after each instant at which it changes.
fn levels(mut changes: Changes, start_ns: i64) -> Vec<Level> {
    changes.sort_unstable();
    let mut level = 0_i128;
    let mut all: Vec<Level> = Vec::new();
    for same in changes.chunk_by(|a, b| a.0 == b.0) {
        let change: i128 = same.iter().map(|(_, change)| i128::from(*change)).sum();
        level += change;
        if change != 0 {
            let level = i64::try_from(level).unwrap_or(i64::MAX);
            all.push(Level { at_ns: same[0].0.saturating_sub(start_ns), level });
        }
    }
    bounded(all, &[|point| point.level, |point| point.level.saturating_neg()])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::bounded::POINTS;
    use crate::made::Made;

    proptest! {
        // Each case looks at every instant, span by span.
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn a_level_is_what_began_and_has_not_ended(spans in prop::collection::vec((0i64..5_000, 1i64..50), 1..2_000)) {
            let changes = spans.iter().flat_map(|(from, long)| [(*from, 1), (from + long, -1)]).collect();
            let points = levels(changes, 0);
            prop_assert!(points.len() <= POINTS && points.is_sorted_by(|a, b| a.at_ns < b.at_ns));
            let held = |at: i64| spans.iter().filter(|(from, long)| *from <= at && at < from + long).count() as i64;
            for point in &points {
                prop_assert_eq!(point.level, held(point.at_ns));
            }
            prop_assert_eq!(points.iter().map(|point| point.level).max(), (0..5_050).map(held).max());
            prop_assert_eq!(points.last().map(|point| point.level), Some(0));
        }
    }

    #[test]
    fn queues_are_as_long_as_their_table_says() {
        let mut made = Made::default();
        for (correlation, start_us) in [(1, 0), (2, 10), (3, 20)] {
            made.launch("cudaLaunchKernel", start_us, 5, correlation);
        }
        made.kernel("a", 7, 10, 30, 1);
        made.kernel("b", 7, 40, 30, 2);
        made.kernel("c", 7, 70, 30, 3);
        let point = |at_us: i64, level| Level { at_ns: 1_000 * at_us, level };
        // At 10 us one is launched as another starts.
        let points = vec![point(0, 1), point(20, 2), point(40, 1), point(70, 0)];
        assert_eq!(queue_levels(&made.trace, &Attribution::of(&made.trace)), [("7".to_owned(), points)]);
    }
}
