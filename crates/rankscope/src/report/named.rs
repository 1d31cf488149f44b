//! The one table that is printed: by its own name, or by the short word of those asked for most.

use std::path::PathBuf;

use rankscope_document::{Document, OperatorSheet};
use rankscope_job::{AnyTable, ChosenTables, JobTable, Table};
use rankscope_report::TableView;

/// What is printed of the tables.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Named {
    /// One of them.
    Table(AnyTable),
    /// The operators of one sort.
    Operators(OperatorSheet),
}

/// Short words for the tables asked for most.
const SHORT: [(&str, AnyTable); 12] = [
    ("ops", AnyTable::OfRanks(Table::OpsSummary)),
    ("categories", AnyTable::OfRanks(Table::OpsSummaryByCategory)),
    ("args", AnyTable::OfRanks(Table::OpsUniqueArgs)),
    ("kernels", AnyTable::OfRanks(Table::KernelSummary)),
    ("collectives", AnyTable::OfJob(JobTable::CollectiveSummary)),
    ("instances", AnyTable::OfJob(JobTable::Collectives)),
    ("stragglers", AnyTable::OfJob(JobTable::Stragglers)),
    ("groups", AnyTable::OfJob(JobTable::Groups)),
    ("parallelism", AnyTable::OfJob(JobTable::Parallelism)),
    ("sizes", AnyTable::OfJob(JobTable::SizeClasses)),
    ("all2allv", AnyTable::OfJob(JobTable::UnevenSummary)),
    ("heatmap", AnyTable::OfJob(JobTable::Heatmap)),
];

impl Named {
    /// Takes it from the front of `paths`, where it stands there: a name, no file of that name, and traces behind it.
    pub(super) fn taken(paths: &mut Vec<PathBuf>) -> Option<Self> {
        let word = paths.first().filter(|first| paths.len() > 1 && !first.exists())?.to_str()?;
        let short = SHORT.iter().find(|(short, _)| *short == word).map(|(_, table)| *table);
        let table = short.or_else(|| AnyTable::of_name(word)).map(Self::Table);
        let named = table.or_else(|| OperatorSheet::named(word).map(Self::Operators))?;
        paths.remove(0);
        Some(named)
    }

    /// What is wrong with the first of `paths` where it is none, but reads like the name of a table and has traces behind it.
    pub(super) fn mistaken(paths: &[PathBuf]) -> Option<String> {
        let [first, second, ..] = paths else { return None };
        let reads_like_one = |word: &&str| word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        let word = first.to_str().filter(reads_like_one).filter(|_| !first.exists() && second.exists())?;
        let tables = Table::ALL.iter().map(|table| table.name()).chain(JobTable::ALL.iter().map(|table| table.name()));
        let names =
            SHORT.iter().map(|(short, _)| *short).chain(OperatorSheet::ALL.iter().map(|sheet| sheet.name())).chain(tables);
        let mut known: Vec<&str> = Vec::new();
        for name in names {
            if !known.contains(&name) {
                known.push(name);
            }
        }
        Some(format!("{word}: neither a file nor a table; the tables are {}", known.join(", ")))
    }

    /// Adds what it is made of to `chosen`, with all ranks side by side.
    pub(super) fn add_to(self, chosen: &mut ChosenTables) {
        chosen.add(self.table());
        chosen.of_ranks.extend(self.across_ranks());
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Table(table) => table.name(),
            Self::Operators(sheet) => sheet.name(),
        }
    }

    /// The table that it is made of.
    pub(super) fn table(self) -> AnyTable {
        match self {
            Self::Table(table) => table,
            Self::Operators(_) => AnyTable::OfRanks(Table::UnifiedPerfSummary),
        }
    }

    /// Whether it is about what launched the work.
    pub(super) fn is_of_launches(self) -> bool {
        use Table::{
            Backward, Gemm, HloOps, Idle, IdleGaps, KernelSummary, Launches, Modules, OpsSummary, OpsSummaryByCategory,
            OpsUniqueArgs, PythonFunctions, Queue, ShortKernelsSummary, UnifiedPerfSummary,
        };
        let AnyTable::OfRanks(table) = self.table() else { return false };
        matches!(
            table,
            Backward
                | Gemm
                | HloOps
                | Idle
                | IdleGaps
                | KernelSummary
                | Launches
                | Modules
                | OpsSummary
                | OpsSummaryByCategory
                | OpsUniqueArgs
                | PythonFunctions
                | Queue
                | ShortKernelsSummary
                | UnifiedPerfSummary
        )
    }

    /// The table that has it of all ranks side by side.
    pub(super) fn across_ranks(self) -> Option<Table> {
        if let Self::Table(AnyTable::OfRanks(table)) = self { table.across_ranks() } else { None }
    }

    pub(super) fn view(self, document: &Document) -> Option<TableView> {
        match self {
            Self::Table(table) => rankscope_report::table(document, table.name()),
            Self::Operators(sheet) => rankscope_report::operators(document, sheet),
        }
    }

    /// Why `document` does not have it.
    pub(super) fn absence(self) -> &'static str {
        match self {
            Self::Table(AnyTable::OfRanks(table)) if Table::ALL.iter().any(|one| one.across_ranks() == Some(table)) => {
                "fewer than two ranks have tables"
            }
            Self::Table(AnyTable::OfJob(_)) => "the job has no collectives",
            _ => "no rank has it",
        }
    }
}
