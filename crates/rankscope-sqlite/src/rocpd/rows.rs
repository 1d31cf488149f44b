//! Rows of tables of events, as activities.

use rankscope_formats::activity::{Activity, Sort};
use rankscope_trace::{ArgValue, CopyDirection, ProblemKind, StrId, TrackId};
use rustc_hash::FxHashMap;

use super::Reader;
use crate::database::Row;

/// Columns of events of their own, behind those that all have.
pub(super) const KERNEL_COLUMNS: [&str; 7] =
    ["kernel_id", "grid_size_x", "grid_size_y", "grid_size_z", "workgroup_size_x", "workgroup_size_y", "workgroup_size_z"];
pub(super) const COPY_COLUMNS: [&str; 4] = ["name_id", "dst_agent_id", "src_agent_id", "size"];
pub(super) const ALLOCATION_COLUMNS: [&str; 3] = ["type", "level", "size"];

/// What all events have, in the order in which it is selected.
struct Shared {
    start_ns: Option<i64>,
    end_ns: Option<i64>,
    correlation: Option<u64>,
    external_id: Option<u64>,
    pid: Option<i64>,
    tid: Option<i64>,
    stream: Option<i64>,
    queue: Option<i64>,
    agent: Option<i64>,
}

impl Shared {
    /// How many columns these are.
    const COLUMNS: usize = 9;

    fn of(row: &Row<'_>) -> Self {
        // 0 is what is written where there is no stamp.
        let time = |at| row.integer(at).filter(|time| *time != 0);
        Self {
            start_ns: time(0),
            end_ns: time(1),
            correlation: row.id(2),
            external_id: row.id(3),
            pid: row.integer(4),
            tid: row.integer(5),
            stream: row.integer(6),
            queue: row.integer(7),
            agent: row.integer(8),
        }
    }
}

/// The text of a marker, which lies in a JSON object.
fn message(row: &Row<'_>) -> Option<String> {
    let data: serde_json::Value = serde_json::from_str(&row.text(Shared::COLUMNS + 2)?).ok()?;
    data.get("message")?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

impl Reader<'_> {
    pub(super) fn kernel(&mut self, row: &Row<'_>, offset: u64) {
        let shared = Shared::of(row);
        let symbol = row.integer(Shared::COLUMNS);
        let known = symbol.and_then(|id| self.symbols.get(&id)).copied();
        let name = known.unwrap_or_else(|| self.missing("kernel", symbol, offset));
        let track = self.stream(shared.agent, shared.stream.or(shared.queue));
        let args = if self.activities.keeps_args() { self.kernel_args(&shared, row) } else { Vec::new() };
        self.push(Sort::Kernel, name, track, &shared, None, offset, &args);
    }

    fn kernel_args(&mut self, shared: &Shared, row: &Row<'_>) -> Vec<(StrId, ArgValue)> {
        let strings = &mut self.activities.trace().strings;
        let mut args = Vec::with_capacity(3);
        if let Some(queue) = shared.queue {
            args.push((strings.intern("queue"), ArgValue::I64(queue)));
        }
        let [grid, block] = [1, 4].map(|first| [0, 1, 2].map(|axis| row.size(Shared::COLUMNS + first + axis).unwrap_or(0)));
        let blocks = [0, 1, 2].map(|axis| if block[axis] == 0 { grid[axis] } else { grid[axis].div_ceil(block[axis]) });
        for (key, value) in [("grid", blocks), ("block", block)] {
            let text = strings.intern(&format!("{value:?}"));
            args.push((strings.intern(key), ArgValue::Json(text)));
        }
        args
    }

    pub(super) fn copy(&mut self, row: &Row<'_>, offset: u64) {
        let shared = Shared::of(row);
        let [name, to, from] = [0, 1, 2].map(|at| row.integer(Shared::COLUMNS + at));
        let bytes = row.size(Shared::COLUMNS + 3);
        let name = self.named(name, "copy", offset);
        let is_device = |agent: &i64| self.agents.get(agent).is_some_and(|agent| agent.device.is_some());
        let device = to.filter(is_device).or(from.filter(is_device));
        let between = to.zip(from).is_some_and(|(to, from)| to != from);
        let direction = match CopyDirection::of_text(self.activities.trace().strings.text(name)) {
            CopyDirection::DeviceToDevice if between => CopyDirection::PeerToPeer,
            told => told,
        };
        let (sort, track) = match device {
            Some(agent) => (Sort::Copy(direction), self.stream(Some(agent), shared.stream.or(shared.queue))),
            // From host to host: no device works.
            None => (Sort::Other, self.thread(&shared)),
        };
        self.push(sort, name, track, &shared, bytes, offset, &[]);
    }

    pub(super) fn region(&mut self, row: &Row<'_>, offset: u64) {
        let shared = Shared::of(row);
        let category = self.category(row);
        let message = category.starts_with("MARKER").then(|| message(row)).flatten();
        let sorts = [("HIP", Sort::RuntimeCall), ("HSA", Sort::DriverCall), ("RCCL", Sort::LibraryCall)];
        let of_category = sorts.iter().find(|(start, _)| category.starts_with(start)).map_or(Sort::Other, |(_, sort)| *sort);
        let sort = if message.is_some() { Sort::Range } else { of_category };
        let name = match message {
            Some(message) => self.activities.trace().strings.intern(&message),
            None => self.named(row.integer(Shared::COLUMNS), "region", offset),
        };
        let track = self.thread(&shared);
        self.push(sort, name, track, &shared, None, offset, &[]);
    }

    pub(super) fn sample(&mut self, row: &Row<'_>, offset: u64) {
        let shared = Shared::of(row);
        let track = self.thread(&shared);
        let called = row.integer(Shared::COLUMNS).and_then(|name| self.strings.get(&name)).copied();
        let name = match (message(row), called) {
            (Some(message), _) => self.activities.trace().strings.intern(&message),
            (None, Some(name)) => name,
            (None, None) => {
                let category = self.category(row);
                self.activities.trace().strings.intern(&category)
            }
        };
        self.activities.mark(name, track, shared.start_ns, offset);
    }

    pub(super) fn allocation(&mut self, row: &Row<'_>, offset: u64) {
        let shared = Shared::of(row);
        let [kind, level] = [0, 1].map(|at| row.text(Shared::COLUMNS + at).unwrap_or_default());
        let name = self.activities.trace().strings.intern(format!("{kind} {level}").trim());
        let size = row.size(Shared::COLUMNS + 2).filter(|_| self.activities.keeps_args());
        let args = size.map(|size| (self.activities.trace().strings.intern("size"), ArgValue::U64(size)));
        let track = self.thread(&shared);
        self.push(Sort::Other, name, track, &shared, None, offset, args.as_slice());
    }

    #[expect(clippy::too_many_arguments, reason = "what a row says, and what was made of it")]
    fn push(
        &mut self,
        sort: Sort,
        name: StrId,
        track: TrackId,
        shared: &Shared,
        bytes: Option<u64>,
        offset: u64,
        args: &[(StrId, ArgValue)],
    ) {
        let Shared { start_ns, end_ns, correlation, external_id, .. } = *shared;
        let activity = Activity { sort, name, track, start_ns, end_ns, correlation, external_id, bytes, offset };
        self.activities.push(&activity, args);
    }

    /// The category of a region or sample, which is a text in a table of its own or in that of all texts.
    fn category(&mut self, row: &Row<'_>) -> String {
        let Some(id) = row.integer(Shared::COLUMNS + 1) else { return String::new() };
        let text = self.strings.get(&id).copied();
        let listed = self.categories.get(&id).cloned();
        listed.or_else(|| text.map(|text| self.activities.trace().strings.text(text).to_owned())).unwrap_or_default()
    }

    fn named(&mut self, id: Option<i64>, what: &str, offset: u64) -> StrId {
        let known = id.and_then(|id| self.strings.get(&id)).copied();
        known.unwrap_or_else(|| self.missing(what, id, offset))
    }

    /// A name for what the file does not name.
    fn missing(&mut self, what: &str, id: Option<i64>, offset: u64) -> StrId {
        let name = id.map_or_else(|| what.to_owned(), |id| format!("{what} {id}"));
        self.activities.trace().provenance.problems.add_detailed(ProblemKind::MissingInterned, offset, 1, name.clone());
        self.activities.trace().strings.intern(&name)
    }

    fn thread(&mut self, shared: &Shared) -> TrackId {
        let of = |known: &FxHashMap<i64, i64>, id: Option<i64>| id.map_or(0, |id| known.get(&id).copied().unwrap_or(id));
        let (pid, tid) = (of(&self.pids, shared.pid), of(&self.tids, shared.tid));
        self.activities.thread(pid, tid)
    }

    fn stream(&mut self, agent: Option<i64>, stream: Option<i64>) -> TrackId {
        let agent = agent.unwrap_or(0);
        let device = self.agents.get(&agent).and_then(|agent| agent.device).unwrap_or(agent);
        self.activities.stream(device, stream.unwrap_or(0))
    }
}
