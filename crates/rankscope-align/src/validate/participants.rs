//! Who takes part in collectives: a rank, or each device of a process that drives several.
//!
//! A process group that lists its ranks says that the process is one of them. Where none does (XLA, old traces), one file may
//! hold many devices whose collectives run at the same time under the same names. Pairing those in one queue compares a device
//! with its neighbour instead of with its counterpart, so every device gets a queue of its own.

use std::collections::BTreeMap;

use rankscope_collectives::{Group, LocalCollective, RankCollectives};
use rankscope_trace::{SpanId, Trace, TrackId, TrackKey};

/// Everybody who meets in collectives, and what each took part in. The two lists are of one length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Participants {
    /// Who.
    pub list: Vec<Participant>,
    /// Their collectives, to be matched.
    pub collectives: Vec<RankCollectives>,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Participant {
    /// Index of its trace.
    pub trace: usize,
    /// Its device, where the trace holds collectives of several.
    pub device: Option<TrackId>,
}

impl Participants {
    /// Those of `traces`, in their order; `collectives` has one entry a trace.
    pub fn of(traces: &[Trace], collectives: Vec<RankCollectives>) -> Self {
        let mut all = Self::default();
        for (at, (trace, collectives)) in traces.iter().zip(collectives).enumerate() {
            let devices = devices(trace, &collectives);
            if devices.len() < 2 {
                all.push(Participant { trace: at, device: None }, collectives);
                continue;
            }
            for (device, own) in devices {
                all.push(Participant { trace: at, device: Some(device) }, regrouped(trace, &collectives, own));
            }
        }
        all
    }

    fn push(&mut self, participant: Participant, collectives: RankCollectives) {
        self.list.push(participant);
        self.collectives.push(collectives);
    }
}

/// The collectives by device, unless a process group says that all of them are one rank's.
fn devices(trace: &Trace, collectives: &RankCollectives) -> BTreeMap<TrackId, Vec<LocalCollective>> {
    let mut devices: BTreeMap<TrackId, Vec<LocalCollective>> = BTreeMap::new();
    if collectives.groups.iter().all(|group| group.ranks.is_empty()) {
        for collective in &collectives.collectives {
            devices.entry(device(trace, collective.span)).or_default().push(collective.clone());
        }
    }
    devices
}

/// Where a span runs: the device of its stream, or the process of its thread.
fn device(trace: &Trace, span: SpanId) -> TrackId {
    let track = trace.spans.row(span).track;
    trace.tracks.get(track).parent.unwrap_or(track)
}

/// The collectives of one device, grouped by its own streams in their order: groups that only stand in for communicators were
/// numbered over all devices.
fn regrouped(trace: &Trace, all: &RankCollectives, mut own: Vec<LocalCollective>) -> RankCollectives {
    let stream = |collective: &LocalCollective| trace.spans.row(collective.span).track;
    let place = |track: TrackId| match trace.tracks.get(track).key {
        TrackKey::Number(number) => (number, track),
        TrackKey::Text(_) => (i64::MAX, track),
    };
    let stands_in = |collective: &LocalCollective| all.groups[collective.group].name.starts_with("unnamed ");
    let mut streams: Vec<TrackId> = own.iter().filter(|collective| stands_in(collective)).map(&stream).collect();
    streams.sort_unstable_by_key(|track| place(*track));
    streams.dedup();
    let mut groups = all.groups.clone();
    let first = groups.len();
    groups.extend((1..=streams.len()).map(|number| Group { name: format!("stream {number}"), ..Group::default() }));
    for collective in &mut own {
        if stands_in(collective)
            && let Ok(number) = streams.binary_search_by_key(&place(stream(collective)), |track| place(*track))
        {
            collective.group = first + number;
        }
    }
    RankCollectives { rank: all.rank, groups, collectives: own, steps: all.steps.clone() }
}
