//! The device work of a rank, or that of its host where the trace shows no device: kernels in their order, and names.

use std::collections::HashMap;

use rankscope_analyze::{Classes, RankReport, Side, StepWindow};
use rankscope_collectives::RankCollectives;
use rankscope_serve::{Fault, KernelQuery, KernelRow, Kernels, NameQuery, NameRow, Names};
use rankscope_tables::Attribution;
use rankscope_time::Rank;
use rankscope_trace::{SpanId, StrId, Trace, TrackId, TrackKey};

/// What ran on a rank, on its own clock.
#[derive(Debug, Default)]
pub(super) struct RankWork {
    rank: u32,
    side: Side,
    steps: Vec<StepWindow>,
    names: Vec<String>,
    streams: Vec<String>,
    /// In order of their start.
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    start_ns: i64,
    duration_ns: i64,
    class: &'static str,
    name: usize,
    stream: usize,
    /// The name of whose it is.
    operator: Option<usize>,
}

impl RankWork {
    /// Adds that of a trace, whose device work `attribution` attributes.
    pub(super) fn add(&mut self, rank: u32, trace: &Trace, attribution: &Attribution) {
        self.rank = rank;
        let classes = Classes::default();
        // Steps and work need no collectives.
        let none = RankCollectives { rank: Rank(rank), groups: Vec::new(), collectives: Vec::new().into(), steps: Vec::new() };
        let report = RankReport::of(trace, &none, &classes);
        let (side, work) = classes.work(trace);
        self.side = side;
        self.steps.extend(report.steps);
        let owners: HashMap<SpanId, StrId> =
            attribution.work.iter().filter_map(|one| Some((one.work, one.owner.name(trace)?))).collect();
        let mut names: HashMap<StrId, usize> = HashMap::new();
        let mut streams: HashMap<TrackId, usize> = HashMap::new();
        for piece in work {
            let row = trace.spans.row(piece.span);
            let mut name_at = |name: StrId| {
                *names.entry(name).or_insert_with(|| {
                    self.names.push(trace.strings.text(name).to_owned());
                    self.names.len() - 1
                })
            };
            let (name, operator) = (name_at(row.name), owners.get(&piece.span).map(|name| name_at(*name)));
            let stream = *streams.entry(row.track).or_insert_with(|| {
                self.streams.push(stream(trace, row.track));
                self.streams.len() - 1
            });
            let (start_ns, duration_ns) = (piece.start_ns, piece.end_ns.saturating_sub(piece.start_ns));
            self.rows.push(Row { start_ns, duration_ns, class: piece.class.name(), name, stream, operator });
        }
    }

    /// Puts all in order, once every trace of the rank is added.
    pub(super) fn complete(&mut self) {
        self.rows.sort_by_key(|row| row.start_ns);
    }

    /// The kernels that are asked for.
    pub(super) fn kernels(&self, query: &KernelQuery) -> Result<Kernels, Fault> {
        let (start_ns, end_ns) = match query.step {
            Some(number) => self.window(number)?,
            None => {
                let ends = self.rows.iter().map(|row| row.start_ns.saturating_add(row.duration_ns));
                let start_ns = self.rows.first().map_or(0, |row| row.start_ns);
                (start_ns, ends.max().unwrap_or(0).max(start_ns).saturating_add(1))
            }
        };
        let from = self.rows.partition_point(|row| row.start_ns < start_ns);
        let to = self.rows.partition_point(|row| row.start_ns < end_ns);
        let wanted = self.matching(&query.name);
        let own = || self.rows[from..to.max(from)].iter().filter(|row| wanted[row.name]);
        let row = |row: &Row| KernelRow {
            name: self.names[row.name].clone(),
            class: row.class,
            start_ns: row.start_ns - start_ns,
            duration_ns: row.duration_ns,
            stream: self.streams[row.stream].clone(),
            operator: row.operator.map(|name| self.names[name].clone()),
        };
        let count = own().count();
        Ok(Kernels {
            rank: self.rank,
            step: query.step,
            side: if self.side == Side::Device { "device" } else { "host" },
            length_ns: end_ns - start_ns,
            count: count as u64,
            cut: count > query.limit,
            kernels: own().take(query.limit).map(row).collect(),
        })
    }

    /// When a step begins and ends.
    pub(super) fn window(&self, number: i64) -> Result<(i64, i64), Fault> {
        let step = self.steps.iter().find(|step| step.number == number);
        let numbers = || self.steps.iter().map(|step| step.number);
        let there = || numbers().min().zip(numbers().max());
        step.map(|step| (step.start_ns, step.end_ns)).ok_or_else(|| Fault::NoStep { step: number, there: there() })
    }

    /// For each name whether it contains `text`, in any case.
    fn matching(&self, text: &str) -> Vec<bool> {
        let text = text.to_lowercase();
        self.names.iter().map(|name| text.is_empty() || name.to_lowercase().contains(&text)).collect()
    }

    /// The names that are asked for.
    pub(super) fn names(&self, query: &NameQuery) -> Names {
        let wanted = self.matching(&query.text);
        let mut totals: HashMap<&str, (u64, i64)> = HashMap::new();
        for row in self.rows.iter().filter(|row| wanted[row.name]) {
            let total = totals.entry(&self.names[row.name]).or_default();
            *total = (total.0 + 1, total.1.saturating_add(row.duration_ns));
        }
        let row = |(name, (count, total_ns)): (&str, (u64, i64))| NameRow { name: name.to_owned(), count, total_ns };
        let mut names: Vec<NameRow> = totals.into_iter().map(row).collect();
        names.sort_by(|a, b| (b.total_ns, &a.name).cmp(&(a.total_ns, &b.name)));
        let count = names.len();
        names.truncate(query.limit);
        Names { rank: self.rank, count: count as u64, cut: count > names.len(), names }
    }
}

/// What a stream or a thread is called: its name, else its number.
fn stream(trace: &Trace, track: TrackId) -> String {
    let track = trace.tracks.get(track);
    match (trace.strings.text(track.name), track.key) {
        ("", TrackKey::Number(number)) => number.to_string(),
        ("", TrackKey::Text(text)) => trace.strings.text(text).to_owned(),
        (name, _) => name.to_owned(),
    }
}
