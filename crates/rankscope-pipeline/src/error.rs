//! What can go wrong on the way, and what class of failure it is for whoever started the process.

use std::path::PathBuf;

use rankscope_collectives::PatternError;
use rankscope_job::Conflict;
use rankscope_run::StoreFault;

use crate::shell;

/// Why there is no answer. Messages say whose fault it is, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Files cannot be found, opened or written.
    #[error(transparent)]
    Run(#[from] rankscope_run::Error),
    /// The parts cannot be judged.
    #[error(transparent)]
    Job(#[from] rankscope_job::Error),
    /// A user's pattern is none.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// Parts do not belong together.
    #[error(transparent)]
    Conflict(#[from] Conflict),
    /// Files of clock agents cannot be understood.
    #[error(transparent)]
    Clocks(#[from] rankscope_clock::solved::Unreadable),
    /// A file cannot be read as a trace where it must be.
    #[error("{file}")]
    Trace {
        /// The file, as a label.
        file: String,
        /// Why.
        source: rankscope_formats::Error,
    },
    /// No file is a dump of a flight recorder.
    #[error("{}: no dump of torch's flight recorder. Give the files that torch writes when a collective times out, or the folder of them", path.display())]
    NoDumps {
        /// What was named.
        path: PathBuf,
    },
    /// Evidence of two jobs makes no verdict.
    #[error("{} and {} are two runs, and a verdict is of one job: ask for each by itself", first.display(), second.display())]
    SeveralRuns {
        /// One run.
        first: PathBuf,
        /// The other.
        second: PathBuf,
    },
    /// Somebody who was asked about a job that stands still does not answer.
    #[error(transparent)]
    Witness(#[from] rankscope_witness::Error),
    /// NCCL's service answered, and it cannot be understood.
    #[error("{address}: {source}")]
    RasAnswer {
        /// Where it listens.
        address: String,
        /// Why.
        source: rankscope_hang::RasError,
    },
    /// A worker server answered, and that is no dump.
    #[error("{address}: {source}")]
    WorkerDump {
        /// Where it listens.
        address: String,
        /// Why.
        source: rankscope_hang::Error,
    },
    /// No rank of the run tells of itself.
    #[error("{}: no rank of this run keeps a live page. Ranks do while they run, where they record themselves and are told of the run; of a run that is over see `rankscope report`", path.display())]
    NoPages {
        /// The run.
        path: PathBuf,
    },
    /// Of a run that has ended there is nothing that could be looked at.
    #[error("{}: no rank of this run keeps a live page, and none left a recording to be replayed. Ranks do both while they run, where they record themselves and are told of the run", path.display())]
    NoRecordings {
        /// The run.
        path: PathBuf,
    },
    /// A run that has ended has no steps to be looked at one by one.
    #[error("{}: the recordings of its ranks mark no step in common, so there is nothing to replay. `rankscope report` says what is in them", path.display())]
    NoSteps {
        /// The run.
        path: PathBuf,
    },
    /// Another process watches the run and writes its alarms down.
    #[error("{}: another process watches this run already, and alarms are written down once", path.display())]
    Watched {
        /// The run.
        path: PathBuf,
    },
    /// The folder that was named for clocks is not there.
    #[error("--clocks {}: no such folder. Give the folder that clock agents wrote into, or the run directory", folder.display())]
    NoClockFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder that was named for clocks holds none.
    #[error(
        "--clocks {}: holds no clocks (windows-node<k>.jsonl or offsets.jsonl). Give the folder that clock agents wrote into, or \
         the run directory",
        folder.display()
    )]
    NoClocks {
        /// The folder.
        folder: PathBuf,
    },
    /// A trace that was mapped is another one now.
    #[error("{file}: the file changed while it was read. Run the command again")]
    Changed {
        /// The file, as a label.
        file: String,
    },
    /// A folder of parts is not what it must be.
    #[error("{}: {fault}", path.display())]
    Parts {
        /// The folder, or the file in it.
        path: PathBuf,
        /// What is wrong.
        fault: PartsFault,
    },
    /// A saved report is not one that this program can read.
    #[error("{}: not a report that `rankscope report` wrote: {reason}", path.display())]
    Report {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A folder that should be a history holds no run.
    #[error(
        "--history {}: holds no run that can be read (run directories, saved report.json files, folders of traces or parts){}{first}",
        path.display(),
        if first.is_empty() { "" } else { "; " }
    )]
    NoHistory {
        /// The folder.
        path: PathBuf,
        /// What was wrong with the first entry; empty where there is none.
        first: String,
    },
    /// A run of a side of a comparison cannot be read.
    #[error("the side {side}")]
    Side {
        /// What the side is called.
        side: String,
        /// Why.
        source: Box<Error>,
    },
    /// Events are wanted of a job that was judged by its parts.
    #[error("{}: parts hold no events. Give the traces they were made of", folder.display())]
    NoEvents {
        /// The folder of parts.
        folder: PathBuf,
    },
    /// A part cannot be read or written.
    #[error("{}", path.display())]
    Part {
        /// The part.
        path: PathBuf,
        /// Why.
        source: rankscope_part_files::Error,
    },
    /// Whoever asked has taken it back.
    #[error("cancelled")]
    Cancelled,
    /// Cards are given, and no table.
    #[error("--cards is about tables; ask for one, or for --tables or --xlsx")]
    CardsWithoutTables,
    /// A workbook cannot be written.
    #[error("write {}", path.display())]
    Workbook {
        /// The workbook.
        path: PathBuf,
        /// Why.
        source: rankscope_xlsx::Error,
    },
    /// The report's page cannot be drawn.
    #[error(transparent)]
    Page(#[from] rankscope_report::Error),
    /// A file is no probe log.
    #[error("{}: {fault}", path.display())]
    ProbeLog {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: crate::ProbeLogFault,
    },
    /// A folder holds what is no dataset that can be added to.
    #[cfg(feature = "parquet")]
    #[error("{}", path.display())]
    Dataset {
        /// The list of what is in it.
        path: PathBuf,
        /// What is wrong with it.
        source: rankscope_dataset::ManifestError,
    },
    /// A file of a dataset cannot be written.
    #[cfg(feature = "parquet")]
    #[error("{file}")]
    Parquet {
        /// The file, from the folder of the dataset on.
        file: String,
        /// Why.
        source: rankscope_dataset::Error,
    },
    /// The timeline cannot be written.
    #[error("timeline.pftrace")]
    Timeline(#[source] rankscope_formats::Error),
    /// A folder cannot be listed, or a file cannot be written.
    #[error("{}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// What can be wrong with a folder of parts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PartsFault {
    /// A file is not what this program writes.
    #[error("not a file that `rankscope map` wrote: {reason}")]
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
    /// It is of a newer layout.
    #[error("schema {schema} is newer than this rankscope; use the version that wrote it")]
    Newer {
        /// The number of the layout.
        schema: u32,
    },
    /// It belongs to other inputs or options.
    #[error("the folder holds parts of other inputs or options, or an input changed since. Map into a new folder")]
    OtherPlan,
    /// They were made without the checks of validation.
    #[error(
        "the parts were made without the checks of `rankscope validate`. Map the traces again with `rankscope map --checks`, into a \
         new folder"
    )]
    NoChecks,
    /// They were made without tables of operators and kernels.
    #[error(
        "the parts were made without tables of operators and kernels. Map the traces again with `rankscope map --tables`, into a new \
         folder, or ask for tables with the traces"
    )]
    NoTables,
    /// They were made by other rules than are asked for.
    #[error(
        "the parts were made with other options than these (--classes, --comm-pattern, --gpu-only). Leave the options out, or map the \
         traces again with them, into a new folder"
    )]
    OtherRules,
    /// Nobody has made a plan.
    #[error("no plan is there. Name the traces, or freeze them first: rankscope plan TRACES --parts {}", shell::path(folder))]
    NoPlan {
        /// The folder.
        folder: PathBuf,
    },
    /// Nobody knows the clocks yet.
    #[error("timelines want the clocks, which a merge finds. Run it first: rankscope merge {}", shell::path(folder))]
    NotMerged {
        /// The folder of parts.
        folder: PathBuf,
    },
    /// Nobody has written a dataset of what was merged last.
    #[error(
        "events want what a merge knows of them, and the rest of the dataset. Run it first: rankscope merge {} --parquet DIR",
        shell::path(folder)
    )]
    NoDataset {
        /// The folder of parts.
        folder: PathBuf,
    },
    /// A dataset is not that of what was merged last.
    #[error(
        "this dataset is not what the last merge of these parts wrote. Write it again, with all that is not events: rankscope merge {} \
         --parquet {}",
        shell::path(parts),
        shell::path(dataset)
    )]
    OtherDataset {
        /// The folder of parts.
        parts: PathBuf,
        /// The dataset.
        dataset: PathBuf,
    },
    /// The relative paths of a plan start in a folder that is not here.
    #[error(
        "the paths of the plan start in {}, a folder that this machine does not have. Plan with absolute paths, into a new folder",
        folder.display()
    )]
    Elsewhere {
        /// The folder.
        folder: PathBuf,
    },
    /// Nobody has mapped some inputs yet.
    #[error(
        "{inputs} of {of} inputs are not mapped yet: {}{}. This maps them: rankscope map --parts {}. To go on without them, pass \
         --partial",
        first.join(", "),
        if *inputs > first.len() { ", ..." } else { "" },
        shell::path(folder)
    )]
    NotMapped {
        /// The first of them.
        first: Vec<String>,
        /// The folder of parts.
        folder: PathBuf,
        /// How many.
        inputs: usize,
        /// Of how many.
        of: usize,
    },
}

/// Classes of failure, as exit codes tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExitClass {
    /// It failed; another try may not.
    Failed,
    /// It was asked for wrongly, and another try will fail as well.
    Usage,
    /// An input changed under it.
    InputChanged,
}

impl ExitClass {
    /// The class of what is wrong with inputs or outputs.
    pub fn of(error: &rankscope_run::Error) -> Self {
        match error {
            rankscope_run::Error::Parts { .. } | rankscope_run::Error::Url { .. } | rankscope_run::Error::NotLocal { .. } => {
                Self::Usage
            }
            rankscope_run::Error::Store { fault: StoreFault::Changed, .. } => Self::InputChanged,
            rankscope_run::Error::Store { fault, .. } if fault.is_misuse() => Self::Usage,
            _ => Self::Failed,
        }
    }
}

impl Error {
    /// What class of failure this is.
    pub fn class(&self) -> ExitClass {
        match self {
            Self::Pattern(_)
            | Self::CardsWithoutTables
            | Self::NoEvents { .. }
            | Self::SeveralRuns { .. }
            | Self::Parts {
                fault:
                    PartsFault::NoChecks
                    | PartsFault::NoTables
                    | PartsFault::OtherRules
                    | PartsFault::NoPlan { .. }
                    | PartsFault::NotMerged { .. }
                    | PartsFault::NoDataset { .. }
                    | PartsFault::OtherDataset { .. }
                    | PartsFault::Elsewhere { .. },
                ..
            } => ExitClass::Usage,
            Self::Run(error) => ExitClass::of(error),
            Self::Side { source, .. } => source.class(),
            Self::Changed { .. }
            | Self::Conflict(Conflict::Twice { .. })
            | Self::Parts { fault: PartsFault::OtherPlan, .. } => ExitClass::InputChanged,
            _ => ExitClass::Failed,
        }
    }
}
