//! What a trace holds and a format has no place for, so that whoever converts can say so.

use rankscope_trace::Trace;

use crate::{Format, xspace};

/// Something a format may have no place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LeftOutKind {
    /// A point of a flow that no span encloses; JSON alone ties flows to times.
    LooseFlowPoint,
    /// The category and name of a flow, by point.
    FlowName,
    /// What a span's start or length is beyond whole nanoseconds.
    Picoseconds,
    /// What is said once about all spans of a sort.
    Description,
    /// An argument of a process, device, thread or stream itself.
    TrackArgument,
}

/// What was left out, and how often.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    list: Vec<(LeftOutKind, u64)>,
}

/// What `trace` loses in a file of `format`.
pub fn left_out(trace: &Trace, format: Format) -> LeftOut {
    let mut left_out = LeftOut::default();
    if format == Format::XSpace {
        let (loose, named) = xspace::flow_losses(trace);
        left_out.add(LeftOutKind::LooseFlowPoint, loose);
        left_out.add(LeftOutKind::FlowName, named);
        return left_out;
    }
    if format == Format::Perfetto {
        left_out.add(LeftOutKind::LooseFlowPoint, loose_points(trace));
    }
    let picos = trace.spans.picos.iter().filter(|picos| **picos != (0, 0));
    left_out.add(LeftOutKind::Picoseconds, picos.count() as u64);
    left_out.add(LeftOutKind::Description, trace.descriptions.len() as u64);
    let args = &trace.tracks.args;
    left_out.add(LeftOutKind::TrackArgument, (0..args.rows()).map(|row| args.row(row).count() as u64).sum());
    left_out
}

/// Points of flows that no span of their track encloses. Of the spans that start no later, the one that ends last decides.
fn loose_points(trace: &Trace) -> u64 {
    if trace.flows.is_empty() {
        return 0;
    }
    let mut reached: Vec<Vec<(i64, i64)>> = vec![Vec::new(); trace.tracks.len()];
    for span in trace.spans.ids() {
        let row = trace.spans.row(span);
        reached[row.track.0 as usize].push((row.start_ns, trace.spans.end_ns(span)));
    }
    for track in &mut reached {
        track.sort_unstable();
        let mut latest = i64::MIN;
        for (_, end) in track {
            latest = latest.max(*end);
            *end = latest;
        }
    }
    let is_loose = |point: &&rankscope_trace::FlowPoint| {
        let track = &reached[point.track.0 as usize];
        let started = track.partition_point(|(start, _)| *start <= point.time_ns);
        started.checked_sub(1).is_none_or(|last| track[last].1 < point.time_ns)
    };
    trace.flows.iter().filter(is_loose).count() as u64
}

impl LeftOut {
    /// `count` more of `kind`.
    pub fn add(&mut self, kind: LeftOutKind, count: u64) {
        if count == 0 {
            return;
        }
        match self.list.iter_mut().find(|(known, _)| *known == kind) {
            Some((_, known)) => *known += count,
            None => self.list.push((kind, count)),
        }
        self.list.sort_unstable();
    }

    /// Takes over what another trace lost.
    pub fn merge(&mut self, other: &Self) {
        other.list.iter().for_each(|(kind, count)| self.add(*kind, *count));
    }

    /// Every kind with its count.
    pub fn iter(&self) -> impl Iterator<Item = (LeftOutKind, u64)> + '_ {
        self.list.iter().copied()
    }

    /// What was left out, in words; none if nothing was.
    pub fn in_words(&self) -> Option<String> {
        let part = |(kind, count): &(LeftOutKind, u64)| match kind {
            LeftOutKind::LooseFlowPoint => format!("{count} flow points outside any span"),
            LeftOutKind::FlowName => format!("category and name of {count} flow points"),
            LeftOutKind::Picoseconds => format!("the picoseconds of {count} spans"),
            LeftOutKind::Description => format!("{count} descriptions of events"),
            LeftOutKind::TrackArgument => format!("{count} arguments of processes, devices, threads and streams"),
        };
        let parts: Vec<String> = self.list.iter().map(part).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }
}

impl LeftOutKind {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::LooseFlowPoint => "loose_flow_points",
            Self::FlowName => "flow_names",
            Self::Picoseconds => "picoseconds",
            Self::Description => "descriptions",
            Self::TrackArgument => "track_arguments",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArgsPolicy, ReadOptions, json};

    #[test]
    fn every_format_says_what_it_has_no_place_for() {
        let text = br#"[
            {"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 100, "dur": 50},
            {"ph": "s", "name": "f", "cat": "c", "id": 1, "pid": 1, "tid": 1, "ts": 120},
            {"ph": "f", "name": "f", "cat": "c", "id": 1, "pid": 1, "tid": 1, "ts": 900, "bp": "e"}
        ]"#;
        let options = ReadOptions { args: ArgsPolicy::All, ..ReadOptions::default() };
        let trace = json::read(&text[..], &options).unwrap();
        let counts = |trace: &Trace, format| left_out(trace, format).iter().collect::<Vec<_>>();
        assert_eq!(counts(&trace, Format::Json), []);
        assert_eq!(counts(&trace, Format::Perfetto), [(LeftOutKind::LooseFlowPoint, 1)]);
        assert_eq!(counts(&trace, Format::XSpace), [(LeftOutKind::LooseFlowPoint, 1), (LeftOutKind::FlowName, 1)]);
        let bytes: &[u8] = include_bytes!("../../../fixtures/jax-cpu-2procs/process0.xplane.pb");
        let native = xspace::read(bytes, &options).unwrap();
        assert_eq!(counts(&native, Format::XSpace), [], "what was an XSpace goes back whole");
        let lost: Vec<_> = left_out(&native, Format::Json).iter().map(|(kind, _)| kind).collect();
        assert_eq!(lost, [LeftOutKind::Description, LeftOutKind::TrackArgument]);
    }
}
