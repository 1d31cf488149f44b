//! The clocks of a job: which map takes each rank to the reference, and how far it can be trusted.
//!
//! Ways, from strongest to weakest. *Measured*: the rank's clock against its host's, by readings in the trace or by its node's
//! snapshots, and the host's against the reference, by packets. *One host*: all ranks share an oscillator, so nothing was to be
//! measured; recordings, which each count from a moment of their own, are brought together by the raw clock they all read.
//! *From the traces*: what the collectives leave open. *As recorded*: nothing is known, nothing is changed.
//!
//! A rank that nobody measured in a job where others were is left as it is and said to be: an estimate against clocks that
//! have been moved would be an estimate of something else.

use rankscope_time::{ClockMap, HostClock, Instant, RankClock, ReferenceClock, Span};
use rankscope_trace::{ClockReading, HostClock as ReadClock, SnapshotPair};

use crate::{Bound, ClockEstimate, TracerMap, tracer_map};

/// From a rank's own stamps to the reference.
pub type RankMap = ClockMap<RankClock, ReferenceClock>;

/// How a clock is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Method {
    /// Not at all.
    AsRecorded,
    /// All ranks share a host.
    OneHost,
    /// By the collectives.
    FromTraces,
    /// Some ranks by packets, others not at all.
    Mixed,
    /// By packets between hosts.
    Measured,
}

impl Method {
    /// The name in reports and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::AsRecorded => "as_recorded",
            Self::OneHost => "one_host",
            Self::FromTraces => "collectives",
            Self::Mixed => "partly_measured",
            Self::Measured => "measured",
        }
    }
}

/// What was measured of one node's clock.
#[derive(Clone, Debug)]
pub struct NodeClock {
    /// Its number.
    pub node: u32,
    /// From its host clock to that of the reference node.
    pub to_reference: ClockMap<HostClock, ReferenceClock>,
    /// What the host clock adds to `CLOCK_MONOTONIC_RAW`.
    pub host_minus_raw_ns: Option<i64>,
    /// `CLOCK_REALTIME` against the host clock.
    pub realtime: Vec<SnapshotPair>,
    /// Some stamps contradicted each other, so uncertainties are no proof.
    pub degraded: bool,
}

/// One rank, on its way to the reference.
#[derive(Clone, Copy, Debug, Default)]
pub struct RankSource<'a> {
    /// First start and last end of its events, on its own clock.
    pub bounds_ns: Option<(i64, i64)>,
    /// Its host, where known.
    pub host: Option<&'a str>,
    /// Readings of the host's clocks beside its own.
    pub readings: &'a [ClockReading],
    /// The clock of its node, where that was measured.
    pub node: Option<&'a NodeClock>,
}

/// How one rank's stamps become the reference's.
#[derive(Clone, Debug)]
pub struct RankAlignment {
    /// The map to apply.
    pub map: RankMap,
    /// How it is known.
    pub method: Method,
    /// Stages of the map, by what they come from, in order.
    pub stages: Vec<&'static str>,
    /// Where the trace begins on the rank's own clock, the moment that the next three are of.
    pub at_ns: i64,
    /// What the rank's clock is ahead of the reference: to be subtracted.
    pub offset_ns: i64,
    /// What it gains on the reference over the trace, in parts per billion.
    pub drift_ppb: i64,
    /// What the offset can be at all.
    pub bound: Bound,
    /// The bound is no proof.
    pub degraded: bool,
    /// What the reader should know of it.
    pub notes: Vec<String>,
}

/// The clocks of a job.
#[derive(Clone, Debug)]
pub struct JobClocks {
    /// How they are known, by and large.
    pub method: Method,
    /// One a rank.
    pub ranks: Vec<RankAlignment>,
    /// What the collectives say, beside what was measured or instead of it; of the timestamps as recorded.
    pub estimate: ClockEstimate,
}

impl JobClocks {
    /// Whether any stamp moves.
    pub fn moves(&self) -> bool {
        self.ranks.iter().any(|rank| !rank.map.is_identity())
    }
}

/// The clocks of `ranks`, by the strongest way there is for each.
pub fn align(ranks: &[RankSource<'_>], estimate: ClockEstimate) -> JobClocks {
    let measured: Vec<Option<RankAlignment>> = ranks.iter().map(measured).collect();
    let count = measured.iter().flatten().count();
    let alignments: Vec<RankAlignment> = if count > 0 {
        let mut alignments: Vec<RankAlignment> =
            measured.into_iter().zip(ranks).map(|(known, rank)| known.unwrap_or_else(|| unmeasured(rank))).collect();
        contradictions(&mut alignments, &estimate);
        alignments
    } else if let Some(shared) = on_one_host(ranks) {
        shared
    } else {
        (0..ranks.len()).map(|index| estimated(&ranks[index], &estimate, index)).collect()
    };
    let method = if count > 0 && count < ranks.len() {
        Method::Mixed
    } else {
        alignments.iter().map(|rank| rank.method).max().unwrap_or(Method::AsRecorded)
    };
    JobClocks { method, ranks: alignments, estimate }
}

/// By packets: the trace's clock to the host's, the host's to the reference.
pub(crate) fn measured(rank: &RankSource<'_>) -> Option<RankAlignment> {
    let node = rank.node?;
    let (to_host, stage, mut notes) = to_host(rank, node)?;
    if node.degraded {
        notes.push(format!("timestamps of node {} contradict each other, so its interval proves nothing", node.node));
    }
    let map = to_host.map.then(&node.to_reference);
    Some(RankAlignment {
        degraded: node.degraded,
        notes,
        ..RankAlignment::of(rank, map, Method::Measured, vec![stage, "offsets"])
    })
}

/// The trace's clock on the host clock of `node`, what told, and what is odd about it.
fn to_host(rank: &RankSource<'_>, node: &NodeClock) -> Option<(TracerMap<RankClock, HostClock>, &'static str, Vec<String>)> {
    let (from_ns, until_ns) = rank.bounds_ns.unwrap_or((0, 0));
    let raw = node.host_minus_raw_ns.map(|shift_ns| readings(rank, ReadClock::MonotonicRaw, shift_ns)).unwrap_or_default();
    if let Ok(by_raw) = tracer_map(&raw, from_ns, until_ns) {
        // A trace that is stamped with the wall clock.
        let notes = was_set("its clock", by_raw.steps);
        return Some((by_raw, "readings", notes));
    }
    let wall = tracer_map::<RankClock, HostClock>(&node.realtime, from_ns, until_ns).ok()?;
    let notes = was_set(&format!("the wall clock of node {}", node.node), wall.steps);
    // A recording counts from a moment of its own; its readings say how the wall clock stood to it.
    let own = readings(rank, ReadClock::Realtime, 0);
    let Ok(to_wall) = tracer_map::<RankClock, RankClock>(&own, from_ns, until_ns) else {
        return Some((wall, "snapshots", notes));
    };
    let map = to_wall.map.then(&wall.map);
    Some((TracerMap { map, ..wall }, "snapshots", notes))
}

/// What is to be said of `clock` where it was set.
fn was_set(clock: &str, steps: usize) -> Vec<String> {
    let times = match steps {
        0 => return Vec::new(),
        1 => "once".to_owned(),
        steps => format!("{steps} times"),
    };
    vec![format!("{clock} was set {times}; the stretch that covers most of the trace is used for all of it")]
}

/// Readings of `clock` beside the trace's own, with `shift_ns` added.
fn readings(rank: &RankSource<'_>, clock: ReadClock, shift_ns: i64) -> Vec<SnapshotPair> {
    let of_clock = rank.readings.iter().filter(|reading| reading.clock == clock);
    of_clock
        .map(|reading| SnapshotPair {
            tracer_ns: reading.trace_ns,
            host_ns: reading.ns.saturating_add(shift_ns),
            half_width_ns: reading.width_ns.div_ceil(2),
        })
        .collect()
}

/// Says so where the collectives leave no room for what was measured: most likely a rank was taken for one of another node.
fn contradictions(ranks: &mut [RankAlignment], estimate: &ClockEstimate) {
    let Some((first, others)) = ranks.split_first_mut() else { return };
    if first.method != Method::Measured || estimate.bounds.contradiction().is_some() {
        return;
    }
    let own = Instant::from_nanos_since_epoch(estimate.at_ns);
    let (common, open_ns) = (first.map.map(own), first.map.uncertainty_ns(own));
    for (index, rank) in (1..).zip(others).filter(|(_, rank)| rank.method == Method::Measured) {
        let theirs = rank.map.inverse().map(common);
        let ahead_ns = (i128::from(theirs.nanos_since_epoch()) - i128::from(own.nanos_since_epoch())) as i64;
        let room_ns = i64::try_from(open_ns.saturating_add(rank.map.uncertainty_ns(theirs))).unwrap_or(i64::MAX);
        let misses_ns = ahead_ns.saturating_sub(estimate.bounds.between(0, index).clamp(ahead_ns)).saturating_abs();
        let misses_ns = misses_ns.saturating_sub(room_ns);
        if misses_ns > STAMP_NS {
            rank.notes.push(format!(
                "the collectives contradict its measured clock by {misses_ns} ns; it may have run on another node than recorded"
            ));
        }
    }
}

/// Profilers round stamps to this.
const STAMP_NS: i64 = 1_000;

fn unmeasured(rank: &RankSource<'_>) -> RankAlignment {
    let why = match rank.node {
        Some(node) => {
            format!("nothing relates this trace to the host clock of node {}; it keeps its recorded timestamps", node.node)
        }
        None => "its node's clock was not measured; it keeps its recorded timestamps".to_owned(),
    };
    let as_it_is = RankAlignment::of(rank, RankMap::identity(), Method::AsRecorded, Vec::new());
    RankAlignment { notes: vec![why], bound: Bound::default(), ..as_it_is }
}

/// All ranks on one host, by the raw clock that all of them read. None where hosts differ, are not known, or a trace has no
/// such readings: wall clocks of one host need no map.
fn on_one_host(ranks: &[RankSource<'_>]) -> Option<Vec<RankAlignment>> {
    let host = ranks.first()?.host?;
    if ranks.len() < 2 || ranks.iter().any(|rank| rank.host != Some(host)) {
        return None;
    }
    let raw: Vec<Vec<SnapshotPair>> = ranks.iter().map(|rank| readings(rank, ReadClock::MonotonicRaw, 0)).collect();
    let first = raw.first()?.iter().min_by_key(|pair| pair.half_width_ns)?;
    let to_first = ClockMap::from_offset(Span::from_nanos(first.tracer_ns.saturating_sub(first.host_ns)), 0);
    let alignment = |(rank, pairs): (&RankSource<'_>, &Vec<SnapshotPair>)| {
        let (from_ns, until_ns) = rank.bounds_ns.unwrap_or((0, 0));
        let to_raw = tracer_map::<RankClock, HostClock>(pairs, from_ns, until_ns).ok()?;
        Some(RankAlignment::of(rank, to_raw.map.then(&to_first), Method::OneHost, vec!["readings", "one host"]))
    };
    ranks.iter().zip(&raw).map(alignment).collect()
}

/// By the collectives.
fn estimated(rank: &RankSource<'_>, estimate: &ClockEstimate, index: usize) -> RankAlignment {
    let clock = &estimate.clocks[index];
    let (method, stages) =
        if clock.applied { (Method::FromTraces, vec!["collectives"]) } else { (Method::AsRecorded, Vec::new()) };
    RankAlignment { bound: clock.bound, ..RankAlignment::of(rank, clock.map(estimate.at_ns), method, stages) }
}

impl RankAlignment {
    fn of(rank: &RankSource<'_>, map: RankMap, method: Method, stages: Vec<&'static str>) -> Self {
        let (at_ns, until_ns) = rank.bounds_ns.unwrap_or((0, 0));
        let (at, until) = (Instant::from_nanos_since_epoch(at_ns), Instant::from_nanos_since_epoch(until_ns));
        let ahead_ns = |instant| {
            i128::from(Instant::<RankClock>::nanos_since_epoch(instant)) - i128::from(map.map(instant).nanos_since_epoch())
        };
        let (offset, later) = (ahead_ns(at), ahead_ns(until));
        let elapsed = (i128::from(until_ns) - i128::from(at_ns)).max(1);
        let offset_ns = offset.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let open_ns = i64::try_from(map.uncertainty_ns(at)).unwrap_or(i64::MAX);
        let bound = Bound { lo_ns: offset_ns.checked_sub(open_ns), hi_ns: offset_ns.checked_add(open_ns) };
        Self {
            method,
            stages,
            at_ns,
            offset_ns,
            drift_ppb: ((later - offset) * 1_000_000_000 / elapsed) as i64,
            bound,
            degraded: false,
            notes: Vec::new(),
            map,
        }
    }
}

#[cfg(test)]
mod tests;
