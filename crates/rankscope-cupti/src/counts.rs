//! [`Counts`]: what became of records and buffers, so that nothing is missing without a number.

use std::collections::BTreeMap;

use serde::Serialize;

/// What became of what CUPTI recorded in a session. Records without a time, and those outside of the session, are counted where device
/// work is joined to its spans: in the metadata `cupti.device_work`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Buffers that were decoded.
    pub buffers: u64,
    /// Records in them.
    pub records: u64,
    /// Records that CUPTI says it dropped.
    pub dropped_records: u64,
    /// Buffers that CUPTI asked for when there was none: records were dropped.
    pub refused_buffers: u64,
    /// Buffers that CUPTI still had when the session ended, with what is in them.
    pub outstanding_buffers: u64,
    /// Buffers that came back and were never ours.
    pub stranger_buffers: u64,
    /// Buffers of which the rest made no sense.
    pub damaged_buffers: u64,
    /// Records that were shorter than what has to be read of them, or of which CUPTI does not say where that lies.
    pub short_records: u64,
    /// Records of kinds that are not read, by CUPTI's number of the kind.
    pub unknown_kinds: BTreeMap<u32, u64>,
    /// Ties to ids of others.
    pub foreign_ties: u64,
    /// Waits of the host or of a whole context, which are on no stream. Their calls are recorded.
    pub waits_without_stream: u64,
    /// Waits on streams of a context without other work, so that its device is not known.
    pub waits_without_device: u64,
    /// Records of memory that tell neither of an allocation nor of a release.
    pub other_memory_operations: u64,
    /// CUPTI's own time, by what it was spent on.
    pub overheads: BTreeMap<&'static str, Overheads>,
}

/// CUPTI's own time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Overheads {
    /// How many times.
    pub count: u64,
    /// All together.
    pub total_ns: u64,
}

/// Kinds that are told apart; those beyond are counted under the number that no kind has.
const KINDS_MAX: usize = 64;
const OTHER_KINDS: u32 = 0;

impl Counts {
    pub(crate) fn unknown_kind(&mut self, kind: u32) {
        let has_room = self.unknown_kinds.len() < KINDS_MAX || self.unknown_kinds.contains_key(&kind);
        *self.unknown_kinds.entry(if has_room { kind } else { OTHER_KINDS }).or_default() += 1;
    }

    pub(crate) fn overhead(&mut self, name: &'static str, ns: u64) {
        let overheads = self.overheads.entry(name).or_default();
        overheads.count += 1;
        overheads.total_ns = overheads.total_ns.saturating_add(ns);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_told_apart_up_to_a_bound() {
        let mut counts = Counts::default();
        (100..1_000).for_each(|kind| counts.unknown_kind(kind));
        counts.unknown_kind(100);
        assert!(counts.unknown_kinds.len() <= KINDS_MAX + 1);
        assert_eq!((counts.unknown_kinds[&100], counts.unknown_kinds.values().sum::<u64>()), (2, 901));
    }
}
