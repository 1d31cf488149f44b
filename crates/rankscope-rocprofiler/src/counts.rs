//! [`Counts`]: what became of records and buffers, so that nothing is missing without a number.

use std::collections::BTreeMap;

use serde::Serialize;

/// What became of what rocprofiler recorded in a session. Records without a time, and those outside of the session, are counted where
/// device work is joined to its spans: in the metadata `rocprofiler.device_work`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Counts {
    /// Buffers that were decoded.
    pub buffers: u64,
    /// Records in them.
    pub records: u64,
    /// Records that rocprofiler says it dropped.
    pub dropped_records: u64,
    /// Records for which there was no room when rocprofiler handed them over.
    pub refused_records: u64,
    /// Records that were shorter than what has to be read of them.
    pub short_records: u64,
    /// Records of kinds that are not read, by rocprofiler's number of the kind; those of other categories are under 0.
    pub unknown_kinds: BTreeMap<u32, u64>,
    /// Kernels whose symbol was loaded before anybody listened.
    pub kernels_without_name: u64,
    /// Work that is on its queue, because the stream of HIP that it was given to is not known; none where no streams are told at all.
    pub work_without_stream: u64,
    /// Work on agents that are no GPUs, or that nobody knows: copies from host to host.
    pub work_without_device: u64,
    /// Records of memory and of scratch memory that tell of nothing that is known to happen to them.
    pub other_memory_operations: u64,
}

/// Kinds that are told apart; those beyond are counted with those of other categories.
const KINDS_MAX: usize = 64;
pub(crate) const OTHER_KINDS: u32 = 0;

impl Counts {
    pub(crate) fn unknown_kind(&mut self, kind: u32) {
        let has_room = self.unknown_kinds.len() < KINDS_MAX || self.unknown_kinds.contains_key(&kind);
        *self.unknown_kinds.entry(if has_room { kind } else { OTHER_KINDS }).or_default() += 1;
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
