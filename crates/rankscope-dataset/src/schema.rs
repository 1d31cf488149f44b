//! The schema: every table with its columns, their types and what they mean. Units stand last in names.
//!
//! Within a number of the schema columns are only added, and mean what they meant. How a column is encoded follows from its kind, so
//! that there is nothing to choose: whole numbers as differences, names by dictionaries, long texts as they are.

/// The number of the schema.
pub const SCHEMA: u32 = 1;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers of 32 bits.
    Int32,
    /// Whole numbers of 64 bits.
    Int64,
    /// True or false.
    Bool,
    /// Words that repeat.
    Name,
    /// Texts that hardly do.
    Text,
}

impl Kind {
    /// Its name in SQL.
    pub const fn sql(self) -> &'static str {
        match self {
            Self::Int32 => "INTEGER",
            Self::Int64 => "BIGINT",
            Self::Bool => "BOOLEAN",
            Self::Name | Self::Text => "VARCHAR",
        }
    }
}

/// One column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// Whether a row may lack it.
    pub optional: bool,
    /// What it means.
    pub about: &'static str,
}

/// One table of the dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Table {
    /// What ran.
    Events,
    /// Who came when to which collective.
    Collectives,
    /// Where the time of each step went.
    Steps,
    /// What ran how often and how long, by name.
    Kernels,
    /// How each rank's clock is known.
    Clock,
    /// The ranks.
    Ranks,
}

impl Table {
    /// All of them.
    pub const ALL: [Self; 6] = [Self::Events, Self::Collectives, Self::Steps, Self::Kernels, Self::Clock, Self::Ranks];

    /// Its name, which is its folder's.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Collectives => "collectives",
            Self::Steps => "steps",
            Self::Kernels => "kernels",
            Self::Clock => "clock",
            Self::Ranks => "ranks",
        }
    }

    /// What a row of it is.
    pub const fn about(self) -> &'static str {
        match self {
            Self::Events => "A row for each span of a trace, by thread or stream and then by start.",
            Self::Collectives => "A row for each rank's part in a collective, collective by collective.",
            Self::Steps => "A row for each step of a rank, with the account of its time.",
            Self::Kernels => {
                "A row for each name of accounted work on a rank: kernels and copies, or operators where no device worked."
            }
            Self::Clock => "A row for each rank: what was subtracted from its stamps, and how that is known.",
            Self::Ranks => "A row for each rank: where its trace came from, and the account of its whole time.",
        }
    }

    /// Its columns, in order. `run` is in the path of every file, and in no file.
    pub const fn columns(self) -> &'static [Column] {
        match self {
            Self::Events => EVENTS,
            Self::Collectives => COLLECTIVES,
            Self::Steps => STEPS,
            Self::Kernels => KERNELS,
            Self::Clock => CLOCK,
            Self::Ranks => RANKS,
        }
    }

    /// The folder that holds what is of `run`.
    pub fn folder(self, run: &str) -> String {
        format!("{}/run={run}", self.name())
    }
}

const fn column(name: &'static str, kind: Kind, about: &'static str) -> Column {
    Column { name, kind, optional: false, about }
}

const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Column {
    Column { name, kind, optional: true, about }
}

const RANK: Column = column("rank", Kind::Int32, "The rank.");

const EVENTS: &[Column] = &[
    column("rank", Kind::Int32, "The rank: in the path where each rank has a file, in the file where several share one."),
    column("ts_ns", Kind::Int64, "Start, on the job's clock, in nanoseconds since the epoch."),
    column("ts_local_ns", Kind::Int64, "Start, as the rank's own clock had it."),
    column("dur_ns", Kind::Int64, "Length, by the rank's own clock."),
    optional(
        "err_ns",
        Kind::Int32,
        "How far `ts_ns` may be off, in either direction; null where nothing bounds it, or to no less than two seconds.",
    ),
    column("name", Kind::Name, "What ran."),
    column("category", Kind::Name, "The category, as the trace has it."),
    optional(
        "class",
        Kind::Name,
        "What accounted work is: `compute`, `communication`, `memcpy` or `memset`; null for what the account of time does not count.",
    ),
    optional("pid", Kind::Int64, "The process of an event on the host."),
    optional("tid", Kind::Int64, "Its thread."),
    optional("device", Kind::Int64, "The device of an event on one."),
    optional("stream", Kind::Int64, "Its stream."),
    column(
        "track",
        Kind::Name,
        "The name of the thread or stream, where it has one; what the trace calls it where that is no number.",
    ),
    optional("step", Kind::Int64, "The step in whose window (see `steps`) the event starts."),
    optional(
        "collective",
        Kind::Int64,
        "The collective that it is this rank's part in, as `collectives` numbers them; also where it is what the GPU did for that.",
    ),
    optional("correlation", Kind::Int64, "The 64 bits of the number that device work and the call that launched it share."),
    optional("external_id", Kind::Int64, "The 64 bits of the number that an operator and what belongs to it share."),
    optional("copy_bytes", Kind::Int64, "Bytes that a copy or fill moved."),
    optional("direction", Kind::Name, "Which way a copy went: `h2d`, `d2h`, `d2d`, `p2p`."),
    optional("args_json", Kind::Text, "All arguments as a JSON object; null without `--parquet-args`."),
];

const COLLECTIVES: &[Column] = &[
    column("collective", Kind::Int64, "The number of the collective in its run, from 0."),
    RANK,
    column("group_name", Kind::Name, "The process group."),
    column("group_ranks", Kind::Int32, "Ranks of the group; 0 where they are not known."),
    optional("sequence", Kind::Int64, "The number within the communicator, where it is recorded."),
    column("name", Kind::Name, "Name as recorded."),
    column("kind", Kind::Name, "The operation, by the words of report.json."),
    column("dtype", Kind::Name, "Element type as recorded; empty if not."),
    optional("in_elements", Kind::Int64, "Elements that the rank put in."),
    optional("out_elements", Kind::Int64, "Elements that it got out."),
    optional("payload_bytes", Kind::Int64, "Bytes that bandwidth is counted by."),
    optional(
        "peer",
        Kind::Int32,
        "The other rank of a message; the root of an operation from or to one rank, where it is recorded.",
    ),
    optional("step", Kind::Int64, "The step that the rank entered it in."),
    column("ts_ns", Kind::Int64, "When the rank entered, on the job's clock."),
    column("ts_local_ns", Kind::Int64, "The same, as the rank's own clock had it."),
    column("dur_ns", Kind::Int64, "How long it stayed."),
    optional("err_ns", Kind::Int32, "How far `ts_ns` may be off, as in `events`."),
    column("exposed_ns", Kind::Int64, "Time of its stay that no compute hid."),
    column("complete", Kind::Bool, "Whether all ranks of the group that have a trace have it."),
    optional("wait_ns", Kind::Int64, "From its coming to that of the last rank; null where the collective is not complete."),
    optional(
        "lead_ns",
        Kind::Int64,
        "For the last to come, how long after the one before it; 0 for all others; null where the collective is not complete.",
    ),
    optional(
        "transfer_ns",
        Kind::Int64,
        "The shortest stay of any rank, the same in all rows of the collective; null where it is not complete.",
    ),
];

const STEPS: &[Column] = &[
    RANK,
    column("step", Kind::Int64, "The number of the step."),
    column("start_ns", Kind::Int64, "Where its window starts, on the job's clock."),
    column("end_ns", Kind::Int64, "Where it ends."),
    COMPUTATION,
    EXPOSED_COMM,
    EXPOSED_MEMCPY,
    BUSY,
    IDLE,
    TOTAL,
    TOTAL_COMM,
    TOTAL_MEMCPY,
];

const COMPUTATION: Column = column("computation_ns", Kind::Int64, "Union of compute.");
const EXPOSED_COMM: Column = column("exposed_comm_ns", Kind::Int64, "Communication that no compute hides.");
const EXPOSED_MEMCPY: Column =
    column("exposed_memcpy_ns", Kind::Int64, "Copies and fills that neither compute nor communication hides.");
const BUSY: Column = column("busy_ns", Kind::Int64, "Union of all that.");
const IDLE: Column = column("idle_ns", Kind::Int64, "`total_ns` without `busy_ns`.");
const TOTAL: Column = column("total_ns", Kind::Int64, "The window.");
const TOTAL_COMM: Column = column("total_comm_ns", Kind::Int64, "Union of communication.");
const TOTAL_MEMCPY: Column = column("total_memcpy_ns", Kind::Int64, "Union of copies and fills.");

const KERNELS: &[Column] = &[
    RANK,
    column("name", Kind::Name, "The name."),
    column("class", Kind::Name, "What it is, as in `events`."),
    column("count", Kind::Int64, "How often it ran."),
    column("dur_ns", Kind::Int64, "Sum of its lengths: work that overlaps itself counts twice."),
];

const CLOCK: &[Column] = &[
    RANK,
    optional("node", Kind::Int32, "The node that it ran on, where that is known."),
    column(
        "method",
        Kind::Name,
        "How its clock is known, by the words of report.json: `measured`, `one_host`, `collectives`, `as_recorded`.",
    ),
    column("at_ns", Kind::Int64, "Where the trace begins on the rank's own clock: the moment that the next columns are of."),
    column("offset_ns", Kind::Int64, "What the rank's clock is ahead of the job's: subtracted from its stamps."),
    column("drift_ppb", Kind::Int64, "What the offset grows by, in parts per billion of the time since then."),
    optional("offset_min_ns", Kind::Int64, "Least that the offset can be; null if nothing bounds it."),
    optional("offset_max_ns", Kind::Int64, "Greatest."),
];

const RANKS: &[Column] = &[
    RANK,
    optional("node", Kind::Int32, "The node that it ran on, where that is known."),
    optional("host", Kind::Name, "The host."),
    optional("device_name", Kind::Name, "Names of the devices that did work, or of those the trace lists."),
    column("file", Kind::Name, "The trace."),
    column("format", Kind::Name, "Its format, by the words of report.json."),
    column("accounting", Kind::Name, "Whose time is accounted: `device` or `host`."),
    column("events", Kind::Int64, "Events that were kept of the trace."),
    column("start_ns", Kind::Int64, "Where its accounted window starts, on the job's clock."),
    column("end_ns", Kind::Int64, "Where it ends."),
    COMPUTATION,
    EXPOSED_COMM,
    EXPOSED_MEMCPY,
    BUSY,
    IDLE,
    TOTAL,
    TOTAL_COMM,
    TOTAL_MEMCPY,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_plain() {
        for table in Table::ALL {
            let mut names: Vec<&str> = table.columns().iter().map(|column| column.name).collect();
            assert!(names.iter().all(|name| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_')), "{names:?}");
            assert!(names.contains(&"rank") && !names.contains(&"run"));
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), table.columns().len(), "{}", table.name());
        }
    }

    /// The rows of the page that are about `table`.
    fn rows(table: Table) -> String {
        let optional = |column: &Column| if column.optional { ", may be null" } else { "" };
        let row =
            |column: &Column| format!("| `{}` | {}{} | {} |\n", column.name, column.kind.sql(), optional(column), column.about);
        format!("{}\n\n| column | type | meaning |\n|---|---|---|\n", table.about())
            + &table.columns().iter().map(row).collect::<String>()
    }

    #[test]
    fn the_page_says_what_is_written() {
        let page = include_str!("../../../docs/reference/dataset.md");
        assert!(page.contains(&format!("schema {SCHEMA}")), "the page names the schema's number");
        for table in Table::ALL {
            let expected = format!("### `{}`\n\n{}", table.name(), rows(table));
            assert!(page.contains(&expected), "docs/reference/dataset.md lacks, or has otherwise:\n{expected}");
        }
    }
}
