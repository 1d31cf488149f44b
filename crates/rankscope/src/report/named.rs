//! Tables by the names that users give them: tables of each rank, tables of the job, and short words for those asked for most.

use std::path::PathBuf;

use rankscope_document::{Document, OperatorSheet};
use rankscope_job::{JobTable, Table};
use rankscope_report::TableView;

/// All tables, or one of them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Choice {
    All,
    One(AnyTable),
}

impl std::str::FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text == "all" {
            return Ok(Self::All);
        }
        let names = || Table::ALL.iter().map(|table| table.name()).chain(JobTable::ALL.map(JobTable::name)).collect::<Vec<_>>();
        let unknown = || format!("{text:?} is not a table; the tables are {}", names().join(", "));
        AnyTable::of_name(text).map(Self::One).ok_or_else(unknown)
    }
}

/// A table that is made of each rank's events, or one of the job's collectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnyTable {
    OfRanks(Table),
    OfJob(JobTable),
}

impl AnyTable {
    fn of_name(name: &str) -> Option<Self> {
        name.parse().map(Self::OfRanks).ok().or_else(|| name.parse().map(Self::OfJob).ok())
    }

    fn name(self) -> &'static str {
        match self {
            Self::OfRanks(table) => table.name(),
            Self::OfJob(table) => table.name(),
        }
    }
}

/// Tables to make: of each rank, and of the job.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chosen {
    pub(crate) of_ranks: Vec<Table>,
    pub(crate) of_job: Vec<JobTable>,
}

impl Chosen {
    /// The tables of `choices`, and what `named` is made of, with all ranks side by side.
    pub(crate) fn of(choices: &[Choice], named: Option<Named>) -> Self {
        if choices.iter().any(|choice| matches!(choice, Choice::All)) {
            return Self { of_ranks: Table::ALL.to_vec(), of_job: JobTable::ALL.to_vec() };
        }
        let one = |choice: &Choice| if let Choice::One(table) = choice { Some(*table) } else { None };
        let mut chosen = Self::default();
        for table in choices.iter().filter_map(one).chain(named.map(Named::table)) {
            match table {
                AnyTable::OfRanks(table) => chosen.of_ranks.push(table),
                AnyTable::OfJob(table) => chosen.of_job.push(table),
            }
        }
        chosen.of_ranks.extend(named.and_then(Named::across_ranks));
        chosen
    }
}

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
