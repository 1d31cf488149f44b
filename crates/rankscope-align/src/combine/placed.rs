//! What putting a trace on the common clock did to it, by whichever way its clock is known.

use rankscope_time::Instant;
use rankscope_trace::{SnapshotPair, Trace};

use super::Restored;
use crate::{Method, Moved, RankMap, Settled, apply};

/// By what a trace was placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlacedBy {
    /// Nothing: its stamps are as recorded.
    #[default]
    Nothing,
    /// Rows of a file of offsets.
    Offsets,
    /// The job's clocks, which are known so.
    Job(Method),
}

impl PlacedBy {
    /// Its name in documents.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => Method::AsRecorded.name(),
            Self::Offsets => "offsets",
            Self::Job(method) => method.name(),
        }
    }
}

/// A trace on the common clock.
#[derive(Debug, Default)]
pub struct PlacedTrace {
    /// Its node, where known.
    pub node: Option<u32>,
    /// By what it was placed.
    pub by: PlacedBy,
    /// Stamps that were made whole before.
    pub restored: Restored,
    /// Tracers' clocks that were put on its host's.
    pub settled: Vec<Settled>,
    /// What moving it to the common clock did.
    pub moved: Moved,
    /// Rows of offsets that its map goes through.
    pub offset_windows: usize,
    /// What those rows disagree with their edges, root mean square.
    pub residual_ns: Option<f64>,
    /// The trace's clock minus the common one, in the middle of the trace.
    pub ahead_ns: i64,
    /// What the reader should know.
    pub notes: Vec<String>,
}

impl PlacedTrace {
    /// Moves `trace` through `map`, which is known `by` so.
    pub fn by_map(trace: &mut Trace, map: &RankMap, by: PlacedBy) -> Self {
        let ahead_ns = ahead_ns(trace, map);
        Self { by, moved: apply(trace, map), ahead_ns, ..Self::default() }
    }

    /// Leaves `trace`, which is of node `number`, as it is, for the reason `why`.
    pub fn as_it_is(trace: &mut Trace, number: u32, why: String) -> Self {
        let placed = Self::by_map(trace, &RankMap::identity(), PlacedBy::Nothing);
        Self { node: Some(number), notes: vec![why], ..placed }
    }

    /// The most that the common time of an event may be off by what clocks claim.
    pub fn uncertainty_ns(&self) -> u64 {
        let moves = self.settled.iter().map(|settled| &settled.moved).chain([&self.moved]);
        moves.map(|moved| moved.uncertainty_max_ns).fold(0, u64::saturating_add)
    }

    /// What the metadata plane says.
    pub fn facts(&self) -> Vec<(&'static str, i64)> {
        let pairs: Vec<&SnapshotPair> = self.settled.iter().flat_map(|settled| &settled.clock.pairs).collect();
        let span_ns = pairs.first().zip(pairs.last()).map_or(0, |(first, last)| last.host_ns.saturating_sub(first.host_ns));
        vec![
            ("snapshots", pairs.len() as i64),
            ("sampling_period_ns", span_ns / (pairs.len() as i64 - 1).max(1)),
            ("offset_windows", self.offset_windows as i64),
            ("offset_ns", self.ahead_ns),
            ("offset_half_width_ns", i64::try_from(self.moved.uncertainty_max_ns).unwrap_or(i64::MAX)),
        ]
    }
}

/// What the trace's clock is ahead of the common one, in its middle.
fn ahead_ns(trace: &Trace, map: &RankMap) -> i64 {
    let (first, last) = trace.bounds_ns().unwrap_or((0, 0));
    let middle = first.midpoint(last);
    middle.saturating_sub(map.map(Instant::from_nanos_since_epoch(middle)).nanos_since_epoch())
}
