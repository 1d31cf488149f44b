//! What is served, as whoever answers sees it: runs by their names, their files, and details of their traces. Where it lies is the business
//! of who implements it.

use std::fmt;
use std::io::{self, Read, Seek};

use serde::Serialize;

use crate::calls::{OperatorQuery, Operators, Tree, TreeQuery};

/// A file that is open.
pub trait Reading: Read + Seek + Send {}

impl<T: Read + Seek + Send> Reading for T {}

/// A file that is open, and its size.
pub struct Opened {
    /// Bytes of it.
    pub bytes: u64,
    /// It.
    pub file: Box<dyn Reading>,
}

/// A run in the list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunCard {
    /// What it is called, which is what it is asked for by.
    pub name: String,
    /// `running`, `finished` and so on; empty where no manifest tells.
    pub state: String,
    /// When it began, or was reported on where it is not known when it began.
    pub started_unix_ns: i64,
    /// Ranks of its report.
    pub ranks: Option<usize>,
    /// What its report says first; empty where it has none.
    pub headline: String,
    /// What of it cannot be read.
    pub problem: Option<String>,
    /// Its page, from its own folder.
    pub page: Option<String>,
    /// What validation found, as a page, likewise.
    pub validation: Option<String>,
    /// Its timeline, likewise.
    pub timeline: Option<String>,
    /// What the report names first, as arguments of Perfetto's address; empty where it names nothing.
    pub timeline_at: String,
    /// The rank that it names first, else its first one.
    pub rank: Option<u32>,
}

/// A file of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileCard {
    /// Where it is, from the run's folder, parted by slashes.
    pub path: String,
    /// Bytes of it.
    pub bytes: u64,
}

/// Which kernels are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelQuery {
    /// Of this rank.
    pub rank: u32,
    /// Of this step; of the whole trace without one.
    pub step: Option<i64>,
    /// Only those whose names contain this, in any case.
    pub name: String,
    /// So many, the first ones.
    pub limit: usize,
}

/// Work of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Kernels {
    /// The rank.
    pub rank: u32,
    /// The step; none of a whole trace.
    pub step: Option<i64>,
    /// Where the work ran: `device`, or `host` where the trace shows no device work.
    pub side: &'static str,
    /// How long the step took.
    pub length_ns: i64,
    /// How many there are.
    pub count: u64,
    /// Whether there are more than are listed.
    pub cut: bool,
    /// In order of their start.
    pub kernels: Vec<KernelRow>,
}

/// One kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KernelRow {
    /// What it is called.
    pub name: String,
    /// `compute`, `communication`, `memcpy` or `memset`.
    pub class: &'static str,
    /// Its start, from that of the step on.
    pub start_ns: i64,
    /// How long it ran.
    pub duration_ns: i64,
    /// The stream, or the thread, it ran on.
    pub stream: String,
    /// The operator, or else the call, that launched it; none where that is not recorded, and of work on the host.
    pub operator: Option<String>,
}

/// Which names are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameQuery {
    /// Of this rank.
    pub rank: u32,
    /// Those that contain this, in any case.
    pub text: String,
    /// So many, those that took longest.
    pub limit: usize,
}

/// Names of a rank's work.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Names {
    /// The rank.
    pub rank: u32,
    /// How many there are.
    pub count: u64,
    /// Whether there are more than are listed.
    pub cut: bool,
    /// Longest first.
    pub names: Vec<NameRow>,
}

/// One name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct NameRow {
    /// It.
    pub name: String,
    /// How often it ran.
    pub count: u64,
    /// How long in all.
    pub total_ns: i64,
}

/// Why something cannot be had.
#[derive(Debug)]
pub enum Fault {
    /// There is no such run.
    NoRun,
    /// It has no such file.
    NoFile,
    /// Its traces are not where they were.
    NoTraces {
        /// Where they were looked for, and what came of it.
        why: String,
    },
    /// None of its traces is of the rank.
    NoRank {
        /// The rank.
        rank: u32,
    },
    /// The rank has no such step.
    NoStep {
        /// The step.
        step: i64,
        /// The first and the last one that it has.
        there: Option<(i64, i64)>,
    },
    /// Nothing of this name is called there.
    NoOperator {
        /// The name.
        operator: String,
        /// The rank.
        rank: u32,
        /// The step; none of a whole trace.
        step: Option<i64>,
    },
    /// A value of a query means nothing.
    BadQuery {
        /// Its key.
        key: &'static str,
        /// What it takes.
        takes: &'static str,
    },
    /// Whoever asked has gone away, so reading was given up.
    NobodyWaits,
    /// What is there cannot be read.
    Unreadable {
        /// Why.
        why: String,
    },
}

impl Fault {
    /// What it is called in answers.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NoRun => "no_run",
            Self::NoFile => "no_file",
            Self::NoTraces { .. } => "no_traces",
            Self::NoRank { .. } => "no_rank",
            Self::NoStep { .. } => "no_step",
            Self::NoOperator { .. } => "no_operator",
            Self::BadQuery { .. } => "bad_query",
            Self::NobodyWaits => "nobody_waits",
            Self::Unreadable { .. } => "unreadable",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRun => {
                to.write_str("There is no run of this name in the folder that is served. / lists those that are there.")
            }
            Self::NoFile => {
                to.write_str("The run has no such file. Write it with rankscope report, or look at the list of its files.")
            }
            Self::NoTraces { why } => {
                write!(
                    to,
                    "The traces of this run cannot be read where they should be: {why}. If they were moved, start rankscope serve with --traces DIR."
                )
            }
            Self::NoRank { rank } => write!(to, "No trace of this run is that of rank {rank}."),
            Self::NoStep { step, there: Some((first, last)) } => {
                write!(to, "The trace has no step {step}; it has steps {first} to {last}.")
            }
            Self::NoStep { step, there: None } => {
                write!(to, "The trace has no step {step}: it marks none. Leave out step for all of it.")
            }
            Self::NoOperator { operator, rank, step } => {
                // A name may be as long as a file.
                let shown: String = operator.chars().take(NAME_SHOWN).collect();
                let dots = if shown.len() < operator.len() { "…" } else { "" };
                write!(to, "Nothing called {shown}{dots} is called on rank {rank}")?;
                step.map_or(Ok(()), |step| write!(to, " in step {step}"))?;
                to.write_str(". The list of operators has the names that are.")
            }
            Self::BadQuery { key, takes } => write!(to, "{key} takes {takes}."),
            Self::NobodyWaits => to.write_str("Reading was given up, as nobody waited for it any more. Ask again."),
            Self::Unreadable { why } => write!(to, "This cannot be read: {why}."),
        }
    }
}

/// Letters of a name in a sentence.
const NAME_SHOWN: usize = 120;

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => Self::NoFile,
            _ => Self::Unreadable { why: error.to_string() },
        }
    }
}

/// Runs, by their names. Names and segments of paths are single names in one folder each.
pub trait Shelf: Sync {
    /// All of them, newest first.
    ///
    /// # Errors
    /// [`Fault`].
    fn runs(&self) -> Result<Vec<RunCard>, Fault>;
    /// The files of one that are worth a link.
    ///
    /// # Errors
    /// [`Fault`].
    fn files(&self, run: &str) -> Result<Vec<FileCard>, Fault>;
    /// A file of one.
    ///
    /// # Errors
    /// [`Fault`].
    fn open(&self, run: &str, path: &[&str]) -> Result<Opened, Fault>;
    /// A file of the Perfetto UI that was given.
    ///
    /// # Errors
    /// [`Fault`].
    fn viewer(&self, path: &[&str]) -> Result<Opened, Fault>;
    /// Whether a Perfetto UI was given.
    fn has_viewer(&self) -> bool;
    /// Kernels of a rank.
    ///
    /// # Errors
    /// [`Fault`].
    fn kernels(&self, run: &str, query: &KernelQuery) -> Result<Kernels, Fault>;
    /// Names of a rank's work.
    ///
    /// # Errors
    /// [`Fault`].
    fn names(&self, run: &str, query: &NameQuery) -> Result<Names, Fault>;
    /// Operators of a rank, and what else its host threads called.
    ///
    /// # Errors
    /// [`Fault`].
    fn operators(&self, run: &str, query: &OperatorQuery) -> Result<Operators, Fault>;
    /// Callers and callees of an operator.
    ///
    /// # Errors
    /// [`Fault`].
    fn tree(&self, run: &str, query: &TreeQuery) -> Result<Tree, Fault>;
}

/// A shelf with nothing on it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Empty;

impl Shelf for Empty {
    fn runs(&self) -> Result<Vec<RunCard>, Fault> {
        Ok(Vec::new())
    }

    fn files(&self, _: &str) -> Result<Vec<FileCard>, Fault> {
        Err(Fault::NoRun)
    }

    fn open(&self, _: &str, _: &[&str]) -> Result<Opened, Fault> {
        Err(Fault::NoRun)
    }

    fn viewer(&self, _: &[&str]) -> Result<Opened, Fault> {
        Err(Fault::NoFile)
    }

    fn has_viewer(&self) -> bool {
        false
    }

    fn kernels(&self, _: &str, _: &KernelQuery) -> Result<Kernels, Fault> {
        Err(Fault::NoRun)
    }

    fn names(&self, _: &str, _: &NameQuery) -> Result<Names, Fault> {
        Err(Fault::NoRun)
    }

    fn operators(&self, _: &str, _: &OperatorQuery) -> Result<Operators, Fault> {
        Err(Fault::NoRun)
    }

    fn tree(&self, _: &str, _: &TreeQuery) -> Result<Tree, Fault> {
        Err(Fault::NoRun)
    }
}
