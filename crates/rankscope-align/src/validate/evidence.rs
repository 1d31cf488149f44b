//! What validation needs of one rank, kept when its trace is gone.
//!
//! The checks of a single trace are done with; of its collectives the rules across ranks ask for two things that matching does
//! not: where each ran, as one file may hold several devices, and by which id the trace knows it. Both are small and of one rank
//! alone, so they travel with its collectives.

use std::collections::BTreeSet;

use rankscope_collectives::RankCollectives;
use rankscope_trace::{Trace, TrackId, TrackKey};

use super::{Check, check_trace};

/// What one rank by itself has to say. The default is that of a rank without a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RankEvidence {
    /// What [`check_trace`] says.
    pub checks: Vec<Check>,
    /// The devices that collectives ran on, or processes where they ran on the host, in the order of the trace.
    pub devices: Vec<Device>,
    /// The streams or threads of these, likewise.
    pub streams: Vec<Stream>,
    /// One entry a collective of the rank, in the rank's order.
    pub collectives: Vec<Recorded>,
}

/// The number or name that a trace gives a device or stream.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Key {
    /// A device, pid, stream or tid.
    Number(i64),
    /// Some profilers use words.
    Text(String),
}

/// A device, or a process of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// What the trace knows it by.
    pub key: Key,
    /// The name to show; empty if it has none.
    pub name: String,
}

/// A stream of a device, or a thread of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stream {
    /// Index in [`RankEvidence::devices`].
    pub device: usize,
    /// What the trace knows it by.
    pub key: Key,
}

/// A collective as its trace has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Index in [`RankEvidence::streams`].
    pub stream: u32,
    /// The correlation id of the kernel.
    pub correlation: Option<u64>,
}

impl RankEvidence {
    /// That of `trace`, whose collectives are `found`. The rules that look into arguments judge nothing unless the trace was read
    /// with all of them.
    pub fn of(trace: &Trace, found: &RankCollectives) -> Self {
        let track = |at: usize| trace.spans.row(found.collectives.span(at)).track;
        let parent = |track: TrackId| trace.tracks.get(track).parent.unwrap_or(track);
        let all = 0..found.collectives.len();
        let streams: Vec<TrackId> = all.clone().map(track).collect::<BTreeSet<_>>().into_iter().collect();
        let devices: Vec<TrackId> = streams.iter().map(|stream| parent(*stream)).collect::<BTreeSet<_>>().into_iter().collect();
        // Both lists are ascending and hold whatever is looked up.
        let place = |list: &[TrackId], track: TrackId| list.partition_point(|known| *known < track);
        Self {
            checks: check_trace(trace),
            collectives: all
                .map(|at| Recorded {
                    stream: place(&streams, track(at)) as u32,
                    correlation: trace.correlations.get(found.collectives.span(at)),
                })
                .collect(),
            streams: streams
                .iter()
                .map(|stream| Stream { device: place(&devices, parent(*stream)), key: Key::of(trace, *stream) })
                .collect(),
            devices: devices
                .iter()
                .map(|device| Device {
                    key: Key::of(trace, *device),
                    name: trace.strings.text(trace.tracks.get(*device).name).to_owned(),
                })
                .collect(),
        }
    }

    /// Adds that of a later export of the same rank, whose collectives come behind.
    pub fn join(&mut self, later: Self) {
        match self.checks.is_empty() {
            true => self.checks = later.checks,
            false => self.checks.iter_mut().zip(later.checks).for_each(|(own, later)| own.join(later)),
        }
        let devices: Vec<usize> = later.devices.into_iter().map(|device| place_in(&mut self.devices, device)).collect();
        let stream = |Stream { device, key }| Stream { device: devices.get(device).copied().unwrap_or(device), key };
        let streams: Vec<usize> = later.streams.into_iter().map(|own| place_in(&mut self.streams, stream(own))).collect();
        self.collectives.extend(later.collectives.into_iter().map(|mut recorded| {
            recorded.stream = streams.get(recorded.stream as usize).map_or(recorded.stream, |stream| *stream as u32);
            recorded
        }));
    }

    /// The stream of the collective numbered `at`.
    pub(super) fn stream(&self, at: usize) -> Option<(usize, &Stream)> {
        let stream = self.collectives.get(at)?.stream as usize;
        Some((stream, self.streams.get(stream)?))
    }
}

/// Where `list` has `item`, which is added if it is new.
fn place_in<T: PartialEq>(list: &mut Vec<T>, item: T) -> usize {
    list.iter().position(|known| *known == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

impl Key {
    fn of(trace: &Trace, track: TrackId) -> Self {
        match trace.tracks.get(track).key {
            TrackKey::Number(number) => Self::Number(number),
            TrackKey::Text(text) => Self::Text(trace.strings.text(text).to_owned()),
        }
    }
}

impl Device {
    /// What to call it: its name, else its key.
    pub fn label(&self) -> String {
        match &self.key {
            _ if !self.name.is_empty() => self.name.clone(),
            Key::Number(number) => format!("Number({number})"),
            Key::Text(text) => text.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validate::Rule;

    fn evidence(device: i64, stream: i64, correlations: &[u64]) -> RankEvidence {
        let mut check = Check::of(Rule::Nesting);
        check.judged = 2;
        RankEvidence {
            checks: vec![check],
            devices: vec![Device { key: Key::Number(device), name: String::new() }],
            streams: vec![Stream { device: 0, key: Key::Number(stream) }],
            collectives: correlations.iter().map(|id| Recorded { stream: 0, correlation: Some(*id) }).collect(),
        }
    }

    #[test]
    fn a_later_export_comes_behind_and_shares_what_it_knows() {
        let mut whole = evidence(0, 7, &[1, 2]);
        whole.join(evidence(0, 7, &[1]));
        whole.join(evidence(0, 20, &[5]));
        whole.join(evidence(1, 7, &[6]));
        assert_eq!((whole.devices.len(), whole.checks[0].judged), (2, 8));
        let streams = whole.streams.iter().map(|stream| (stream.device, stream.key.clone()));
        let number = Key::Number;
        assert_eq!(streams.collect::<Vec<_>>(), [(0, number(7)), (0, number(20)), (1, number(7))]);
        let rows = whole.collectives.iter().map(|row| (row.stream, row.correlation.unwrap()));
        assert_eq!(rows.collect::<Vec<_>>(), [(0, 1), (0, 2), (0, 1), (1, 5), (2, 6)]);
    }
}
