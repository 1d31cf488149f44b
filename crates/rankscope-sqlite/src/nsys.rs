//! What `nsys export --type sqlite` writes: a report of Nsight Systems as a database.
//!
//! | table | trace |
//! |---|---|
//! | `CUPTI_ACTIVITY_KIND_KERNEL`, `_MEMCPY`, `_MEMSET`, `_SYNCHRONIZATION` | kernels, copies, fills, waits on their streams |
//! | `CUPTI_ACTIVITY_KIND_CUDA_EVENT` | what those waits are for |
//! | `CUPTI_ACTIVITY_KIND_GRAPH_TRACE` | a CUDA graph that was traced as one: a kernel |
//! | `CUPTI_ACTIVITY_KIND_RUNTIME`, `_DRIVER` | runtime calls and driver calls, without the version in their names |
//! | `CUDNN_EVENTS`, `CUBLAS_EVENTS` | operators around the calls |
//! | `NVTX_EVENTS` | annotations and instants; ranges that start and end anywhere on a track of their own |
//! | `StringIds`, `ThreadNames`, `TARGET_INFO_*`, `MPI_RANKS` | names, threads, devices, the host, ranks |
//!
//! Stamps count from the start of the session, whose time of day is `TARGET_INFO_SESSION_START_TIME`. Correlation ids are a process's own
//! (the upper 40 bits of a global id name a process, the lower 24 a thread), so each process is a trace of its own; one that did no
//! device work is left out where another did some.

mod events;
mod processes;
mod rows;

#[cfg(test)]
mod tests;

use rankscope_formats::{Error, Foreign, ReadOptions};
use rankscope_time::Rank;
use rankscope_trace::{ProblemKind, Problems, Trace};
use rustc_hash::FxHashMap;

use crate::database::{Database, Row};
use crate::nsys::events::Events;
use crate::nsys::processes::{Gpus, Processes};
use crate::query::Query;

/// The newest layout of tables that is known here.
const MAJOR_MAX: i64 = 3;

/// Tables of events that are not read.
const LEFT_OUT: [&str; 8] = [
    "OSRT_API",
    "MPI_P2P_EVENTS",
    "MPI_COLLECTIVES_EVENTS",
    "SCHED_EVENTS",
    "COMPOSITE_EVENTS",
    "GPU_METRICS",
    "CUPTI_ACTIVITY_KIND_OVERHEAD",
    "CUDA_GPU_MEMORY_USAGE_EVENTS",
];

/// Whether `database` is one.
pub(crate) fn is_of(database: &Database) -> bool {
    let has = |name: &str| database.table(name).is_some();
    let has_strings =
        has("StringIds") && (has("NVTX_EVENTS") || has("META_DATA_EXPORT") || has("TARGET_INFO_SESSION_START_TIME"));
    has_strings || database.names().any(|name| name.starts_with("CUPTI_ACTIVITY_KIND_"))
}

/// Reads every process of `database`.
pub(crate) fn read(database: &Database, options: &ReadOptions) -> Result<Vec<Trace>, Error> {
    let mut reader = Reader::new(database, options);
    reader.describe();
    rows::read_all(&mut reader);
    reader.left_out();
    let traces = reader.processes.finish(reader.problems, &reader.names);
    let empty = Error::NotATrace { found: Foreign::EmptyDatabase { profiler: "Nsight Systems" } };
    if traces.is_empty() { Err(empty) } else { Ok(traces) }
}

struct Reader<'d> {
    database: &'d Database,
    strings: FxHashMap<i64, String>,
    /// Threads that have a name, by global id.
    names: FxHashMap<i64, String>,
    processes: Processes,
    events: Events,
    problems: Problems,
}

impl<'d> Reader<'d> {
    fn new(database: &'d Database, options: &ReadOptions) -> Self {
        Self {
            database,
            strings: FxHashMap::default(),
            names: FxHashMap::default(),
            processes: Processes::new(options),
            events: Events::default(),
            problems: Problems::default(),
        }
    }

    /// What rows of events point at, and what the file says of itself.
    fn describe(&mut self) {
        self.each("META_DATA_EXPORT", &["name", "value"], Self::metadata);
        self.each("StringIds", &["id", "value"], |reader, row, _| {
            reader.strings.extend(row.integer(0).zip(row.text(1)));
        });
        self.each("TARGET_INFO_SESSION_START_TIME", &["utcEpochNs"], |reader, row, _| {
            reader.processes.set_base(row.integer(0).unwrap_or(0));
        });
        self.each("TARGET_INFO_SYSTEM_ENV", &["name", "value"], |reader, row, _| {
            if row.text(0).as_deref() == Some("Hostname") {
                reader.processes.set_host(row.text(1));
            }
        });
        self.each("ThreadNames", &["globalTid", "nameId"], |reader, row, _| {
            let name = row.integer(1).and_then(|id| reader.strings.get(&id));
            reader.names.extend(row.integer(0).zip(name.cloned()));
        });
        self.each("MPI_RANKS", &["globalTid", "rank"], |reader, row, _| {
            if let (Some(global), Some(rank)) = (row.integer(0), row.size(1).and_then(|rank| u32::try_from(rank).ok())) {
                reader.processes.set_rank(global, Rank(rank));
            }
        });
        let mut gpus = Gpus::default();
        self.each_of("TARGET_INFO_GPU", &["id", "name"], &mut gpus, |gpus, row| {
            gpus.named.extend(row.integer(0).zip(row.text(1)));
        });
        self.each_of("TARGET_INFO_CUDA_DEVICE", &["cudaId", "gpuId", "pid"], &mut gpus, |gpus, row| {
            if let (Some(cuda), Some(gpu)) = (row.integer(0), row.integer(1)) {
                gpus.of_cuda.insert((row.integer(2), cuda), gpu);
            }
        });
        self.processes.set_gpus(gpus);
    }

    fn metadata(&mut self, row: &Row<'_>, offset: u64) {
        let Some("EXPORT_SCHEMA_VERSION") = row.text(0).as_deref() else { return };
        let version = row.text(1).or_else(|| row.integer(1).map(|version| version.to_string())).unwrap_or_default();
        let major = version.split('.').next().and_then(|major| major.parse::<i64>().ok());
        if major.is_none_or(|major| major > MAJOR_MAX) {
            let detail =
                format!("schema version {version} of nsys; this build knows up to {MAJOR_MAX}, and reads what is alike");
            self.problems.add_detailed(ProblemKind::Unsupported, offset, 1, detail);
        }
    }

    /// Notes the tables of events that are not read.
    fn left_out(&mut self) {
        for table in LEFT_OUT.iter().filter_map(|name| self.database.table(name)) {
            self.problems.add_detailed(ProblemKind::Unsupported, table.offset, 1, format!("table {}", table.name));
        }
    }

    /// Hands over every row of a table, with where the table begins; the rest of one that is damaged is left out.
    fn each(&mut self, table: &str, columns: &[&str], take: impl Fn(&mut Self, &Row<'_>, u64)) {
        let Some(query) = Query::from(self.database, "t", table) else { return };
        let query = query.columns("t", columns);
        let (database, offset) = (self.database, query.offset());
        self.processes.set_part(table);
        let read = database.each(&query.sql(), |row| take(self, row, offset));
        self.note(read, table, offset);
    }

    /// The same, gathering into `to`.
    fn each_of<T>(&mut self, table: &str, columns: &[&str], to: &mut T, take: impl Fn(&mut T, &Row<'_>)) {
        let Some(query) = Query::from(self.database, "t", table) else { return };
        let query = query.columns("t", columns);
        let read = self.database.each(&query.sql(), |row| take(to, row));
        self.note(read, table, query.offset());
    }

    fn note(&mut self, read: rusqlite::Result<()>, table: &str, offset: u64) {
        if let Err(error) = read {
            let detail = format!("the rest of {table}: {error}");
            self.problems.add_detailed(ProblemKind::DamagedBlock, offset, 1, detail);
        }
    }
}
