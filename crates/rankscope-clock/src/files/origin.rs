//! What a file of the origin means, as opposed to what it says.
//!
//! It counts losses from the start of the run, not of the window. And where a fit failed it wrote a line that is zero
//! throughout, which nothing but another window of the same edge tells from two clocks that agree.

use std::collections::{BTreeMap, BTreeSet};

use rankscope_time::Span;

use crate::{Edge, EdgeRecord, NoFit, NodeWindow};

/// With fewer pairs than this the origin used no edge.
const PAIRS_TO_USE: u32 = 12;

/// Turns `windows` into what was meant. A run starts at each of `starts`.
pub(super) fn settle(windows: &mut [NodeWindow], starts: &[usize]) {
    let lines: BTreeSet<Edge> = records(windows).filter(|record| !is_zero(record)).map(|record| record.edge).collect();
    let mut lost_before: BTreeMap<Edge, u32> = BTreeMap::new();
    for (at, window) in windows.iter_mut().enumerate() {
        if starts.contains(&at) {
            lost_before.clear();
        }
        for record in &mut window.edges {
            let lost = record.counts.lost_forward;
            let before = lost_before.insert(record.edge, lost).unwrap_or(0);
            record.counts.lost_forward = if lost < before { lost } else { lost - before };
            if !is_zero(record) {
                continue;
            }
            let pairs = record.counts.complete;
            if pairs < PAIRS_TO_USE {
                record.fits = vec![Err(NoFit::TooFewExchanges(pairs))];
            } else if lines.contains(&record.edge) {
                record.fits = vec![Err(NoFit::OneDirection)];
            }
        }
    }
}

fn records(windows: &[NodeWindow]) -> impl Iterator<Item = &EdgeRecord> {
    windows.iter().flat_map(|window| &window.edges)
}

fn is_zero(record: &EdgeRecord) -> bool {
    matches!(record.fits.as_slice(), [Ok(fit)] if fit.offset == Span::ZERO && fit.skew_ppb == 0.0)
}
