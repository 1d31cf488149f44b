//! Which tables all runs of a rank have. What one of them was saved without is not known of it, and all that it holds would look new or
//! gone beside the others.

use rankscope_document::{Document, Rank, Tables};

/// A table that changes are told by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Arguments,
    Kernels,
    Copies,
    Idle,
    Overlap,
    Launches,
    Modules,
    ModuleKernels,
    LaunchOrder,
}

/// Whether tables have one of them.
type Presence = fn(&Tables) -> bool;

/// Each of them, and whether it is there.
const SOURCES: [(Source, Presence); 9] = [
    (Source::Arguments, |tables| tables.ops_unique_args.is_some()),
    (Source::Kernels, |tables| tables.kernel_summary.is_some()),
    (Source::Copies, |tables| tables.copies.is_some()),
    (Source::Idle, |tables| tables.idle.is_some()),
    (Source::Overlap, |tables| tables.overlap.is_some()),
    (Source::Launches, |tables| tables.launches.is_some()),
    (Source::Modules, |tables| tables.modules.is_some()),
    (Source::ModuleKernels, |tables| tables.module_kernels.is_some()),
    (Source::LaunchOrder, |tables| tables.launch_order.is_some()),
];

/// The tables that all runs have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Common {
    tables: [bool; SOURCES.len()],
    collectives: bool,
}

impl Common {
    /// Those of `runs`, each the document of a run and the rank in it.
    pub(crate) fn of<'a>(runs: impl Iterator<Item = (&'a Document, &'a Rank)> + Clone) -> Self {
        let has = |of: Presence| runs.clone().all(|(_, rank)| rank.tables.as_ref().is_some_and(of));
        let knows_collectives =
            |document: &Document| document.collective_tables.as_ref().is_some_and(|tables| tables.nccl_summary_long.is_some());
        Self {
            tables: SOURCES.map(|(_, of)| has(of)),
            collectives: runs.clone().all(|(document, _)| knows_collectives(document)),
        }
    }

    /// Whether all runs have `source`.
    pub(crate) fn has(&self, source: Source) -> bool {
        SOURCES.iter().zip(self.tables).any(|((own, _), has)| *own == source && has)
    }

    /// Whether all runs have the tables of collectives.
    pub(crate) fn has_collectives(&self) -> bool {
        self.collectives
    }
}
