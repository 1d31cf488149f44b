//! What caps say about moving a range.

use super::{Assignment, Transfer};
use crate::Error;
use crate::planner::bounded::caps::{Caps, Entry, Ledger};
use crate::planner::ways::Ways;

impl Assignment<'_> {
    /// Keeps to `caps` from now on.
    pub(in crate::planner::bounded) fn cap(&mut self, caps: Caps, ways: Ways) {
        let Some(mut ledger) = Ledger::new(caps, ways, self.loads.len()) else { return };
        for (pieces, runs) in self.documents.iter().zip(&self.runs) {
            ledger.enter(&ledger.replaced(runs, &[], pieces));
        }
        self.ledger = Some(ledger);
    }

    pub(in crate::planner::bounded) fn capped(&self) -> bool {
        self.ledger.is_some()
    }

    /// Whether caps allow `transfer`.
    pub(in crate::planner::bounded) fn allows(&self, transfer: &Transfer) -> bool {
        self.ledger.as_ref().is_none_or(|ledger| ledger.allows(&self.entry(ledger, transfer)))
    }

    /// Bytes that `rank` is above its caps.
    pub(in crate::planner::bounded) fn excess_bytes(&self, rank: u32) -> u64 {
        self.ledger.as_ref().map_or(0, |ledger| ledger.excess(rank))
    }

    /// Bytes that `rank` would be above its caps after `transfer`.
    pub(in crate::planner::bounded) fn excess_bytes_after(&self, rank: u32, transfer: &Transfer) -> u64 {
        self.ledger.as_ref().map_or(0, |ledger| ledger.excess_after(rank, &self.entry(ledger, transfer)))
    }

    /// Fails with the first rank above a cap.
    pub(in crate::planner::bounded) fn check_caps(&self) -> Result<(), Error> {
        self.ledger.as_ref().map_or(Ok(()), Ledger::check)
    }

    fn entry(&self, ledger: &Ledger, transfer: &Transfer) -> Entry {
        let document = transfer.document;
        ledger.replaced(&self.runs[document], &self.documents[document], &self.pieces_after(transfer))
    }
}
