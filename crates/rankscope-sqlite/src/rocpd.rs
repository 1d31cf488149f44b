//! rocpd: the database of rocprofv3, and of ROCm's other profilers.
//!
//! Each process that was recorded has tables of its own, whose names end in its identity; one that has been merged from several files
//! has several such sets. Rows point at others by id: kernels at symbols, regions at strings, and all of them at an event, which has the
//! correlation id (`stack_id`), the id that the program gave (`correlation_id`) and a marker's text. There are two layouts: a row has its
//! times and its place itself, or has ids of a track and of two timestamps.
//!
//! A process has its environment with it, in which launchers write its rank; nothing else of that is kept.
//!
//! Stamps are nanoseconds of one clock of the host, as in rocprofv3's JSON, and become the same trace.

mod rows;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use rankscope_formats::activity::Activities;
use rankscope_formats::{Error, Foreign, ReadOptions};
use rankscope_time::Rank;
use rankscope_trace::{DeviceInfo, ProblemKind, RankSource, SourceFormat, StrId, Trace, TrackKey, TrackKind};
use rustc_hash::FxHashMap;

use self::rows::{ALLOCATION_COLUMNS, COPY_COLUMNS, KERNEL_COLUMNS};
use crate::database::{Database, Row};
use crate::query::Query;

/// Tables that hold what happened.
const OF_EVENTS: [&str; 5] =
    ["rocpd_kernel_dispatch", "rocpd_memory_copy", "rocpd_region", "rocpd_sample", "rocpd_memory_allocate"];

/// The layout of tables that is known here.
const SCHEMA_VERSION: &str = "3";

/// Whether `database` is one.
pub(crate) fn is_of(database: &Database) -> bool {
    !suffixes(database).is_empty()
}

/// Reads every process of `database`.
pub(crate) fn read(database: &Database, options: &ReadOptions) -> Result<Vec<Trace>, Error> {
    let suffixes = suffixes(database);
    let several = suffixes.len() > 1;
    let mut traces = Vec::new();
    for suffix in &suffixes {
        let mut reader = Reader::new(database, suffix, options);
        reader.read_all();
        if !reader.activities.is_empty() {
            let mut trace = reader.finish();
            if several {
                trace.provenance.file = format!("{}:{}", options.label, suffix.trim_start_matches('_'));
            }
            traces.push(trace);
        }
    }
    let empty = Error::NotATrace { found: Foreign::EmptyDatabase { profiler: "ROCm's profilers" } };
    if traces.is_empty() { Err(empty) } else { Ok(traces) }
}

/// What the names of each process's tables end in.
fn suffixes(database: &Database) -> BTreeSet<String> {
    let suffix = |name: &str| OF_EVENTS.iter().find_map(|kind| name.strip_prefix(kind).map(str::to_owned));
    database.names().filter_map(suffix).filter(|suffix| suffix.is_empty() || suffix.starts_with('_')).collect()
}

/// A processor.
struct Agent {
    /// Its number among the GPUs.
    device: Option<i64>,
    product: String,
}

struct Reader<'d> {
    database: &'d Database,
    suffix: &'d str,
    activities: Activities,
    strings: FxHashMap<i64, StrId>,
    categories: FxHashMap<i64, String>,
    symbols: FxHashMap<i64, StrId>,
    agents: FxHashMap<i64, Agent>,
    /// Processes and threads by their ids in the database.
    pids: FxHashMap<i64, i64>,
    tids: FxHashMap<i64, i64>,
}

impl<'d> Reader<'d> {
    fn new(database: &'d Database, suffix: &'d str, options: &ReadOptions) -> Self {
        Self {
            database,
            suffix,
            activities: Activities::new(SourceFormat::Rocpd, options),
            strings: FxHashMap::default(),
            categories: FxHashMap::default(),
            symbols: FxHashMap::default(),
            agents: FxHashMap::default(),
            pids: FxHashMap::default(),
            tids: FxHashMap::default(),
        }
    }

    fn read_all(&mut self) {
        self.describe();
        self.each(self.events("rocpd_kernel_dispatch", &KERNEL_COLUMNS), Self::kernel);
        self.each(self.events("rocpd_memory_copy", &COPY_COLUMNS), Self::copy);
        self.each(self.named_events("rocpd_region"), Self::region);
        self.each(self.named_events("rocpd_sample"), Self::sample);
        self.each(self.events("rocpd_memory_allocate", &ALLOCATION_COLUMNS), Self::allocation);
        let counters = self.info("rocpd_pmc_event", &["id"]);
        let has_counters = counters.as_ref().is_some_and(|query| {
            let mut found = false;
            self.database.each(&format!("{} LIMIT 1", query.sql()), |_| found = true).is_ok() && found
        });
        if let Some(query) = counters.filter(|_| has_counters) {
            let detail = "the rows of rocpd_pmc_event".to_owned();
            self.activities.trace().provenance.problems.add_detailed(ProblemKind::Unsupported, query.offset(), 1, detail);
        }
    }

    /// What rows of events point at.
    fn describe(&mut self) {
        self.each(self.info("rocpd_metadata", &["tag", "value"]), Self::metadata);
        self.each(self.info("rocpd_string", &["id", "string"]), |reader, row, _| {
            if let (Some(id), Some(text)) = (row.integer(0), row.text(1)) {
                let text = reader.activities.trace().strings.intern(&text);
                reader.strings.insert(id, text);
            }
        });
        self.each(self.info("rocpd_info_category", &["id", "name"]), |reader, row, _| {
            reader.categories.extend(row.integer(0).zip(row.text(1)));
        });
        self.each(self.info("rocpd_info_node", &["hostname"]), |reader, row, _| {
            reader.activities.trace().provenance.host = row.text(0);
        });
        self.each(self.info("rocpd_info_process", &["id", "pid", "environment"]), Self::process);
        self.each(self.info("rocpd_info_thread", &["id", "tid"]), |reader, row, _| {
            reader.tids.extend(row.integer(0).zip(row.integer(1)));
        });
        self.each(self.info("rocpd_info_agent", &["id", "type", "type_index", "product_name", "name"]), Self::agent);
        self.each(self.info("rocpd_info_kernel_symbol", &["id", "display_name", "kernel_name"]), |reader, row, _| {
            if let (Some(id), Some(name)) = (row.integer(0), row.text(1).or_else(|| row.text(2))) {
                let name = reader.activities.trace().strings.intern(name.strip_suffix(".kd").unwrap_or(&name));
                reader.symbols.insert(id, name);
            }
        });
    }

    fn metadata(&mut self, row: &Row<'_>, offset: u64) {
        let (tag, value) = (row.text(0), row.text(1).or_else(|| row.integer(1).map(|value| value.to_string())));
        if let (Some("schema_version"), Some(version)) = (tag.as_deref(), value)
            && version != SCHEMA_VERSION
        {
            let detail =
                format!("schema version {version} of rocpd; this build knows {SCHEMA_VERSION}, and reads what is alike");
            self.activities.trace().provenance.problems.add_detailed(ProblemKind::Unsupported, offset, 1, detail);
        }
    }

    /// Launchers tell a process its rank in its environment.
    fn process(&mut self, row: &Row<'_>, _: u64) {
        const RANK: [&str; 4] = ["RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"];
        const WORLD_SIZE: [&str; 4] = ["WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"];
        self.pids.extend(row.integer(0).zip(row.integer(1)));
        let environment: serde_json::Value = row.text(2).and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
        let number = |name: &str| environment.get(name)?.as_str()?.trim().parse::<u32>().ok();
        let told = (0..RANK.len()).find_map(|at| Some((number(RANK[at])?, number(WORLD_SIZE[at])?)));
        if let Some((rank, world_size)) = told.filter(|(rank, world_size)| rank < world_size) {
            let about = &mut self.activities.trace().provenance;
            (about.rank, about.world_size) = (Some((Rank(rank), RankSource::Header)), Some(world_size));
        }
    }

    fn agent(&mut self, row: &Row<'_>, _: u64) {
        let Some(id) = row.integer(0) else { return };
        let product = row.text(3).or_else(|| row.text(4)).unwrap_or_default();
        let device = row.integer(2).filter(|_| row.text(1).as_deref() == Some("GPU"));
        if let Some(index) = device {
            self.activities.trace().provenance.devices.push(DeviceInfo { index, name: product.clone() });
        }
        self.agents.insert(id, Agent { device, product });
    }

    /// A selection of columns of a table that describes something.
    fn info(&self, table: &str, columns: &[&str]) -> Option<Query<'d>> {
        Some(Query::from(self.database, "t", &format!("{table}{}", self.suffix))?.columns("t", columns))
    }

    /// A selection of what all events have, in the order in which `rows` takes it, and of further columns of their own.
    fn events(&self, table: &str, columns: &[&str]) -> Option<Query<'d>> {
        let name = |table: &str| format!("{table}{}", self.suffix);
        let query = Query::from(self.database, "t", &name(table))?
            .join(self.database, "e", &name("rocpd_event"), "t", "event_id")
            .join(self.database, "p", &name("rocpd_track"), "t", "track_id")
            .join(self.database, "s", &name("rocpd_timestamp"), "t", "start_id")
            .join(self.database, "f", &name("rocpd_timestamp"), "t", "end_id")
            .join(self.database, "m", &name("rocpd_timestamp"), "t", "timestamp_id");
        let shared = query
            .column(&[("t", "start"), ("s", "value"), ("t", "timestamp"), ("m", "value")])
            .column(&[("t", "end"), ("f", "value")])
            .column(&[("e", "stack_id")])
            .column(&[("e", "correlation_id")])
            .column(&[("t", "pid"), ("p", "pid")])
            .column(&[("t", "tid"), ("p", "tid")])
            .column(&[("t", "stream_id"), ("p", "stream_id")])
            .column(&[("t", "queue_id"), ("p", "queue_id")])
            .column(&[("t", "agent_id"), ("p", "agent_id")]);
        Some(shared.columns("t", columns))
    }

    /// The same of rows whose name an event may have instead: with its category and its particulars behind their own name.
    fn named_events(&self, table: &str) -> Option<Query<'d>> {
        Some(self.events(table, &["name_id"])?.columns("e", &["category_id", "extdata"]))
    }

    /// Hands over every row that `query` selects; the rest of a table that is damaged is left out.
    fn each(&mut self, query: Option<Query<'d>>, take: impl Fn(&mut Self, &Row<'_>, u64)) {
        let Some(query) = query else { return };
        let (database, offset) = (self.database, query.offset());
        self.activities.set_part(query.table());
        if let Err(error) = database.each(&query.sql(), |row| take(self, row, offset)) {
            let detail = format!("the rest of {}: {error}", query.table());
            self.activities.trace().provenance.problems.add_detailed(ProblemKind::DamagedBlock, offset, 1, detail);
        }
    }

    /// The finished trace, its devices called as the products that they are.
    fn finish(mut self) -> Trace {
        let trace = self.activities.trace();
        for agent in self.agents.values() {
            let track = agent.device.and_then(|device| trace.tracks.find(TrackKind::Device, None, TrackKey::Number(device)));
            if let Some(track) = track {
                trace.tracks.get_mut(track).name = trace.strings.intern(&agent.product);
            }
        }
        self.activities.finish()
    }
}
