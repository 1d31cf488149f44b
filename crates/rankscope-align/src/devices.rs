//! Device events on a clock of their own.
//!
//! Some tracers stamp what a GPU did with a clock that counts from anywhere, and leave pairs of readings to find the host's time
//! by. Those events move first, and alone; from then on the trace has one clock. Most profilers do that themselves before they
//! write a file, and leave their pairs in it all the same: stamps that lie where the host's clock was are left alone.

use rankscope_time::RankClock;
use rankscope_trace::{ClockScope, SnapshotPair, Trace, TracerClock, TrackKind};

use crate::{Moved, TracerMap, apply, apply_to_devices, tracer_map};

/// A tracer's clock that was put on its host's.
#[derive(Debug)]
pub struct Settled {
    /// The clock, which the trace no longer has.
    pub clock: TracerClock,
    /// What it was mapped through.
    pub map: TracerMap<RankClock, RankClock>,
    /// What moved.
    pub moved: Moved,
}

/// Moves what the tracers' clocks of `trace` stamped to the host's clock.
pub fn settle_tracers(trace: &mut Trace) -> Vec<Settled> {
    let clocks = std::mem::take(&mut trace.provenance.tracer_clocks);
    let mut settled = Vec::new();
    for clock in clocks {
        match map_of(trace, &clock) {
            Some(map) => {
                let moved = match clock.scope {
                    ClockScope::Devices => apply_to_devices(trace, &map.map),
                    ClockScope::Everything => apply(trace, &map.map),
                };
                settled.push(Settled { clock, map, moved });
            }
            None => trace.provenance.tracer_clocks.push(clock),
        }
    }
    settled
}

fn map_of(trace: &Trace, clock: &TracerClock) -> Option<TracerMap<RankClock, RankClock>> {
    let (from_ns, until_ns) = stamped(trace, clock.scope)?;
    let on_tracer = is_on_tracer_clock(&clock.pairs, from_ns.midpoint(until_ns));
    if on_tracer { tracer_map(&clock.pairs, from_ns, until_ns).ok() } else { None }
}

/// First and last stamp of what the clock stamped.
fn stamped(trace: &Trace, scope: ClockScope) -> Option<(i64, i64)> {
    let is_stamped = |kind: TrackKind| scope == ClockScope::Everything || matches!(kind, TrackKind::Device | TrackKind::Stream);
    let tracks: Vec<bool> = trace.tracks.iter().map(|(_, track)| is_stamped(track.kind)).collect();
    let chosen = || trace.spans.ids().filter(|span| tracks[trace.spans.track[span.0 as usize].0 as usize]);
    Some((chosen().map(|span| trace.spans.start_ns(span)).min()?, chosen().map(|span| trace.spans.end_ns(span)).max()?))
}

/// Whether `middle` of the events is nearer to where the tracer's clock was than to where the host's was.
fn is_on_tracer_clock(pairs: &[SnapshotPair], middle: i64) -> bool {
    let (Some(first), Some(last)) = (pairs.first(), pairs.last()) else { return false };
    let away = |a: i64, b: i64| middle.abs_diff(a.midpoint(b));
    away(first.tracer_ns, last.tracer_ns) < away(first.host_ns, last.host_ns)
}

#[cfg(test)]
mod tests {
    use rankscope_trace::{CategoryKind, SpanRow, StrId, TrackKey};

    use super::*;

    const NOW: i64 = 1_790_857_026_000_000_000;

    /// A kernel at two seconds of a tracer's clock that counts from its start, and the operator that launched it.
    fn trace(kernel_ns: i64) -> Trace {
        let mut trace = Trace::default();
        let pair = |at: i64| SnapshotPair { tracer_ns: at, host_ns: NOW + at, half_width_ns: 50 };
        let pairs = (0..50).map(|i| pair(i * 100_000_000)).collect();
        trace.provenance.tracer_clocks = vec![TracerClock { name: "rocprofiler".into(), scope: ClockScope::Devices, pairs }];
        for (kind, start_ns) in [(TrackKind::Stream, kernel_ns), (TrackKind::Thread, NOW + 1_999_990_000)] {
            let track = trace.tracks.find_or_add(kind, None, TrackKey::Number(1));
            let category = trace.category("", CategoryKind::Kernel);
            trace.spans.push(SpanRow { start_ns, dur_ns: 5_000, name: StrId::EMPTY, track, category, offset: 0 });
        }
        trace
    }

    #[test]
    fn kernels_go_where_their_launch_is() {
        let mut trace = trace(2_000_000_000);
        let settled = settle_tracers(&mut trace);
        assert_eq!(trace.spans.start_ns, [NOW + 2_000_000_000, NOW + 1_999_990_000]);
        assert_eq!((settled[0].clock.name.as_str(), settled[0].moved.events), ("rocprofiler", 1));
        assert!(settle_tracers(&mut trace).is_empty(), "it moves once");
    }

    #[test]
    fn what_was_moved_before_stays() {
        let mut trace = trace(NOW + 2_000_000_000);
        assert!(settle_tracers(&mut trace).is_empty());
        assert_eq!(trace.spans.start_ns[0], NOW + 2_000_000_000);
    }
}
