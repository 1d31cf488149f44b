//! What is found in a recording, thread by thread.

use std::collections::BTreeMap;

use rankscope_formats::recording::{Chunks, Cut, Recording, What};

/// What one thread left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// Spans that began and ended.
    pub(crate) ended: u64,
    /// Spans that began and never ended.
    pub(crate) open: u64,
}

/// Every thread's spans, by the thread's name. Panics where a chunk is damaged or an end is not its begin's.
pub(crate) fn spans<C: Chunks>(recording: &Recording<C>, cut: &Cut) -> BTreeMap<String, Found> {
    let mut threads: BTreeMap<String, Found> = BTreeMap::new();
    for thread in recording.threads() {
        let found = threads.entry(thread.name.clone()).or_default();
        let mut replay = recording.replay(thread, cut);
        let mut depth = 0_u64;
        while let Some((event, _)) = replay.next() {
            match event.what {
                What::Begin { .. } => depth += 1,
                What::End { unfinished, .. } => {
                    depth = depth.checked_sub(1).expect("an end has a begin");
                    *(if unfinished { &mut found.open } else { &mut found.ended }) += 1;
                }
                _ => {}
            }
        }
        assert_eq!(depth, 0, "every begin is closed, by an end or by the cut");
    }
    assert_eq!(recording.lost_chunks(), 0);
    threads
}

/// The spans of all threads together.
pub(crate) fn total(threads: &BTreeMap<String, Found>) -> Found {
    threads.values().fold(Found::default(), |sum, found| Found { ended: sum.ended + found.ended, open: sum.open + found.open })
}
