//! Stamps that count from the start of a collector, made whole.
//!
//! A stamp since the epoch is above 1e15 ns as of January 1970 plus twelve days, one since the start of a profile below. An
//! accelerator's clock counts from its boot, so there no threshold helps: of the readings that a stamp can be (as it stands, or
//! with a start added, or with a base taken off that was never in it) the one that lies nearest to the tracer's own readings is
//! taken, and where there are none, what lies before the start of the collector is taken to count from it.

use rankscope_time::{ClockMap, RankClock, Span};
use rankscope_trace::{ClockScope, SnapshotPair, Trace, TracerClock, TrackKind};

use crate::{apply, apply_to_devices};

/// When a node's collector started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CollectorStart {
    /// On the wall clock.
    pub walltime_ns: Option<i64>,
    /// On the accelerator's.
    pub gpu_ns: Option<i64>,
}

/// What was done about a trace's stamps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Added to stamps of the host.
    pub host_ns: i64,
    /// Added to stamps of devices.
    pub devices_ns: i64,
    /// Whether both starts of the collector had to stand in for readings of the accelerator's clock.
    pub by_starts: bool,
}

/// No wall clock of a machine that profiles shows less.
const SINCE_EPOCH_NS: i64 = 1_000_000_000_000_000;

/// Makes the stamps of `trace` whole, and those of its tracers' clocks.
pub fn restore_stamps(trace: &mut Trace, start: CollectorStart) -> Restored {
    let wall_ns = start.walltime_ns.filter(|ns| *ns >= SINCE_EPOCH_NS);
    let whole = |ns: i64| if ns < SINCE_EPOCH_NS { wall_ns.unwrap_or(0) } else { 0 };
    for pair in trace.provenance.tracer_clocks.iter_mut().flat_map(|clock| &mut clock.pairs) {
        pair.host_ns = pair.host_ns.saturating_add(whole(pair.host_ns));
    }
    let host_ns = first_of(trace, |kind| matches!(kind, TrackKind::Process | TrackKind::Thread)).map_or(0, whole);
    let device = first_of(trace, |kind| matches!(kind, TrackKind::Device | TrackKind::Stream));
    let devices_ns = device.map_or(0, |first_ns| of_devices(trace, first_ns, start));
    shift(trace, host_ns, devices_ns);
    let by_starts = match (wall_ns, start.gpu_ns, device) {
        (Some(host_ns), Some(tracer_ns), Some(_)) if trace.provenance.tracer_clocks.iter().all(|c| c.pairs.is_empty()) => {
            // Read one after the other, at best.
            let pairs = vec![SnapshotPair { tracer_ns, host_ns, half_width_ns: STARTS_APART_NS }];
            trace.provenance.tracer_clocks = vec![TracerClock { name: STARTS.into(), scope: ClockScope::Devices, pairs }];
            true
        }
        _ => false,
    };
    Restored { host_ns, devices_ns, by_starts }
}

/// What the clock is called that is known by the two starts of a collector.
const STARTS: &str = "collector start";

/// How far apart two clocks may have been read as a collector started.
const STARTS_APART_NS: u64 = 1_000_000;

/// What is to be added to stamps of devices, of which `first_ns` is the first.
fn of_devices(trace: &Trace, first_ns: i64, start: CollectorStart) -> i64 {
    let Some(gpu_ns) = start.gpu_ns else { return 0 };
    let pairs = || trace.provenance.tracer_clocks.iter().flat_map(|clock| &clock.pairs);
    let base_ns = trace.provenance.clock_base_ns.unwrap_or(0);
    let distance = |ns: i64| pairs().flat_map(|pair| [pair.tracer_ns, pair.host_ns]).map(|reading| reading.abs_diff(ns)).min();
    let shifts = [0, gpu_ns, -base_ns, gpu_ns.saturating_sub(base_ns)];
    if let Some((_, nearest)) =
        shifts.into_iter().filter_map(|by| Some((distance(first_ns.saturating_add(by))?, by))).min_by_key(|(away, _)| *away)
    {
        return nearest;
    }
    if first_ns < gpu_ns.min(SINCE_EPOCH_NS) { gpu_ns } else { 0 }
}

fn first_of(trace: &Trace, is: impl Fn(TrackKind) -> bool) -> Option<i64> {
    let chosen: Vec<bool> = trace.tracks.iter().map(|(_, track)| is(track.kind)).collect();
    let spans = trace.spans.ids().filter(|span| chosen[trace.spans.track[span.0 as usize].0 as usize]);
    spans.map(|span| trace.spans.start_ns(span)).min()
}

fn shift(trace: &mut Trace, host_ns: i64, devices_ns: i64) {
    let by = |ns: i64| ClockMap::<RankClock, RankClock>::from_offset(Span::from_nanos(ns), 0);
    if host_ns != 0 {
        apply(trace, &by(host_ns));
    }
    if devices_ns != host_ns {
        apply_to_devices(trace, &by(devices_ns.saturating_sub(host_ns)));
    }
}

#[cfg(test)]
mod tests {
    use rankscope_trace::{CategoryKind, SpanRow, StrId, TrackKey};

    use super::*;

    const WALL: i64 = 1_790_857_026_000_000_000;
    const GPU: i64 = 5_000_000_000_000;

    /// A host event and a device event.
    fn trace(host_ns: i64, device_ns: i64, pairs: &[(i64, i64)]) -> Trace {
        let mut trace = Trace::default();
        for (kind, start_ns) in [(TrackKind::Thread, host_ns), (TrackKind::Stream, device_ns)] {
            let track = trace.tracks.find_or_add(kind, None, TrackKey::Number(1));
            let category = trace.category("", CategoryKind::Other);
            trace.spans.push(SpanRow { start_ns, dur_ns: 10, name: StrId::EMPTY, track, category, offset: 0 });
        }
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(tracer_ns, host_ns)| SnapshotPair { tracer_ns: *tracer_ns, host_ns: *host_ns, half_width_ns: 0 })
            .collect();
        if !pairs.is_empty() {
            trace.provenance.tracer_clocks = vec![TracerClock { name: "t".into(), scope: ClockScope::Devices, pairs }];
        }
        trace
    }

    fn restored(mut trace: Trace) -> (Vec<i64>, Trace) {
        restore_stamps(&mut trace, CollectorStart { walltime_ns: Some(WALL), gpu_ns: Some(GPU) });
        (trace.spans.start_ns.clone(), trace)
    }

    #[test]
    fn relative_stamps_and_whole_ones_come_to_the_same() {
        let pairs = [(GPU + 10, 10), (GPU + 4_000_000_010, 4_000_000_010)];
        for (host_ns, device_ns) in [(100, 90), (WALL + 100, GPU + 90), (100, GPU + 90)] {
            let (stamps, trace) = restored(trace(host_ns, device_ns, &pairs));
            assert_eq!(stamps, [WALL + 100, GPU + 90], "{host_ns} {device_ns}");
            assert_eq!(trace.provenance.tracer_clocks[0].pairs[0].host_ns, WALL + 10);
        }
    }

    #[test]
    fn a_base_that_was_never_taken_off_is_taken_off() {
        let mut made = trace(WALL + 100, GPU + 90 + WALL, &[(GPU + 10, WALL + 10)]);
        made.provenance.clock_base_ns = Some(WALL);
        assert_eq!(restored(made).0, [WALL + 100, GPU + 90]);
    }

    #[test]
    fn devices_that_are_on_the_wall_clock_stay_there() {
        assert_eq!(restored(trace(WALL + 100, WALL + 90, &[(GPU + 10, WALL + 10)])).0, [WALL + 100, WALL + 90]);
    }

    #[test]
    fn starts_stand_in_for_readings() {
        let (stamps, trace) = restored(trace(100, 90, &[]));
        assert_eq!(stamps, [WALL + 100, GPU + 90]);
        let pair = trace.provenance.tracer_clocks[0].pairs[0];
        assert_eq!((pair.tracer_ns, pair.host_ns), (GPU, WALL));
    }

    #[test]
    fn nothing_is_done_where_nothing_is_known() {
        let mut made = trace(100, 90, &[]);
        assert_eq!(restore_stamps(&mut made, CollectorStart::default()), Restored::default());
        assert_eq!(made.spans.start_ns, [100, 90]);
    }
}
