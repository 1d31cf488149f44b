//! Putting what one process exported in several files into one trace.
//!
//! Every export numbers its launches and flows anew, so those of the later one get numbers that the earlier one does not use: what
//! was tied within an export stays tied, and nothing is tied across. When the files overlap in time is not asked here.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Provenance, Trace, TracerClock};

impl Trace {
    /// Appends a later export of the same process.
    ///
    /// What the header says is taken from the first export, but for bytes, process groups and readings of clocks, which add up.
    ///
    /// # Panics
    /// If the two have more than four billion spans together.
    pub fn join_export(&mut self, mut other: Self) {
        let new = beyond(self.calls(), other.calls());
        other.correlations.renumber(&new);
        other.awaited.renumber_calls(&new);
        let new = beyond(self.external_ids.values(), other.external_ids.values());
        other.external_ids.renumber(new);
        let new = beyond(self.flows.iter().map(|point| point.id), other.flows.iter().map(|point| point.id));
        other.flows.iter_mut().for_each(|point| point.id = new(point.id));
        self.provenance.join(&mut other.provenance);
        self.append(other);
    }

    /// All numbers of calls.
    fn calls(&self) -> impl Iterator<Item = u64> + Clone + '_ {
        self.correlations.values().chain(self.awaited.values.iter().filter_map(|awaited| awaited.recorded_by))
    }
}

impl Provenance {
    /// Takes over from a later export what adds up.
    fn join(&mut self, other: &mut Self) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.clock_readings.append(&mut other.clock_readings);
        for clock in other.tracer_clocks.drain(..) {
            let same = |known: &&mut TracerClock| known.name == clock.name && known.scope == clock.scope;
            match self.tracer_clocks.iter_mut().find(same) {
                Some(known) => known.pairs.extend(clock.pairs),
                None => self.tracer_clocks.push(clock),
            }
        }
        for group in other.process_groups.drain(..) {
            if !self.process_groups.contains(&group) {
                self.process_groups.push(group);
            }
        }
    }
}

/// Gives each of `theirs` a number that none of `ours` has, equal ones the same.
fn beyond(ours: impl Iterator<Item = u64> + Clone, theirs: impl Iterator<Item = u64> + Clone) -> Box<dyn Fn(u64) -> u64> {
    let base = ours.clone().max().map_or(Some(0), |largest| largest.checked_add(1));
    let room = theirs.clone().max().zip(base).is_none_or(|(largest, base)| largest.checked_add(base).is_some());
    if let Some(base) = base.filter(|_| room) {
        return Box::new(move |id| id + base);
    }
    // Some profilers draw ids from all 64 bits: then the free ones are handed out one by one.
    let (taken, distinct): (BTreeSet<u64>, BTreeSet<u64>) = (ours.collect(), theirs.collect());
    let free = (0..).filter(|id| !taken.contains(id));
    let new: BTreeMap<u64, u64> = distinct.into_iter().zip(free).collect();
    Box::new(move |id| new.get(&id).copied().unwrap_or(id))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Awaited, CategoryKind, FlowPhase, FlowPoint, SpanId, SpanRow, StepMark, TrackKey, TrackKind};

    /// A launch and its kernel, tied by `correlation`.
    fn export(file: &str, start_ns: i64, correlation: u64) -> Trace {
        let mut trace = Trace::default();
        let process = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(1));
        let track = trace.tracks.find_or_add(TrackKind::Thread, Some(process), TrackKey::Number(1));
        for (name, kind, at) in [("launch", CategoryKind::Runtime, 0), ("kernel", CategoryKind::Kernel, 5)] {
            let (category, name) = (trace.category(name, kind), trace.strings.intern(name));
            let span = trace.spans.push(SpanRow { start_ns: start_ns + at, dur_ns: 4, name, track, category, offset: 0 });
            trace.correlations.push(span, correlation);
            trace.steps.push(StepMark { number: start_ns / 100, span });
            let phase = if at == 0 { FlowPhase::Start } else { FlowPhase::End };
            trace.flows.push(FlowPoint { id: correlation, category, name, phase, track, time_ns: start_ns + at });
        }
        trace.provenance.file = file.to_owned();
        trace.provenance.bytes = 10;
        trace
    }

    #[test]
    fn counts_add_up() {
        let mut whole = export("a", 200, 1);
        whole.join_export(export("b", 800, 1));
        whole.join_export(export("c", 900, 1));
        assert_eq!((whole.spans.len(), whole.events(), whole.provenance.bytes), (6, 12, 30));
    }

    #[test]
    fn a_wait_names_the_call_of_its_own_export() {
        let waiting = |start_ns, recorded_by| {
            let mut trace = export("x", start_ns, recorded_by);
            trace.awaited.push(SpanId(1), Awaited { stream: Some(7), recorded_by: Some(recorded_by) });
            trace
        };
        for recorded_by in [4, u64::MAX] {
            let mut whole = waiting(0, recorded_by);
            whole.join_export(waiting(1_000, recorded_by));
            let named: Vec<_> = whole.awaited.iter().map(|(span, awaited)| (span.0, awaited.recorded_by)).collect();
            let calls: Vec<u64> = whole.correlations.values().collect();
            assert_eq!(named, [(1, Some(calls[0])), (3, Some(calls[2]))]);
            assert_ne!(calls[0], calls[2]);
        }
    }

    proptest! {
        #[test]
        fn nothing_is_tied_across_exports(
            ids in prop::collection::vec(prop_oneof![0u64..4, Just(u64::MAX), any::<u64>()], 1..6)
        ) {
            let mut exports = (0..).zip(&ids).map(|(at, id)| export("x", at * 1_000, *id));
            let mut whole = exports.next().expect("one at least");
            exports.for_each(|other| whole.join_export(other));
            let tied: Vec<u64> = whole.correlations.values().collect();
            let flows: Vec<u64> = whole.flows.iter().map(|point| point.id).collect();
            for ids in [tied, flows] {
                for pair in ids.chunks(2) {
                    prop_assert_eq!(pair[0], pair[1]);
                    prop_assert_eq!(ids.iter().filter(|id| **id == pair[0]).count(), 2);
                }
            }
        }
    }
}
