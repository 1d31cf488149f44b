//! Lays one rank out as Perfetto tracks: which processes, which rows under them, and which events go on which row.
//!
//! The host's processes come before the devices. A row is one lane of one of our tracks, or one series of a counter. Tracks
//! nothing happened on are left out, as are processes without such tracks.

use std::ops::Range;

use rankscope_trace::{CategoryKind, StrId, Track, TrackId, TrackKey, TrackKind};
use rustc_hash::FxHashMap;

use super::arrows::{Arrows, Binder};
use super::note::{Facts, Key, Note, RowKind, kind_name};
use super::{RankView, lanes};

/// One rank, laid out.
pub(super) struct Plan<'a> {
    pub(super) view: RankView<'a>,
    /// Parents before their children.
    pub(super) rows: Vec<Row>,
    /// Spans by row, each row's by start.
    pub(super) spans: Vec<u32>,
    /// Instants by row and time.
    pub(super) instants: Vec<u32>,
    /// Counter samples by row and time.
    pub(super) samples: Vec<u32>,
    pub(super) arrows: Arrows,
}

/// One Perfetto track.
pub(super) struct Row {
    pub(super) name: String,
    /// Its process, as an index into the rows; none for a process.
    pub(super) process: Option<usize>,
    /// The row a counter hangs on.
    pub(super) owner: Option<usize>,
    pub(super) note: Note,
    /// What lies on it, as ranges of the plan's orders.
    pub(super) spans: Range<usize>,
    pub(super) instants: Range<usize>,
    pub(super) samples: Range<usize>,
}

impl Row {
    /// Packet sequences the row's events take.
    pub(super) fn sequences(&self) -> u32 {
        [&self.spans, &self.instants, &self.samples].into_iter().filter(|range| !range.is_empty()).count() as u32
    }
}

impl<'a> Plan<'a> {
    /// Lays out `view` as trace number `group` of the file; `between` are its spans that arrows between ranks touch.
    pub(super) fn new(view: RankView<'a>, group: u32, between: &[(u32, u64)]) -> Self {
        let trace = view.trace;
        let mut binder = Binder::new(trace, group);
        let (mut spans, bounds) = by_track(trace.spans.track.iter().copied(), trace.tracks.len());
        let mut lane_sizes = Vec::with_capacity(bounds.len());
        for (track, range) in bounds.iter().enumerate() {
            let own = &mut spans[range.clone()];
            lanes::sort(own, &trace.spans.start_ns, &trace.spans.dur_ns);
            binder.bind(track as u32, own, &trace.spans);
            lane_sizes.push(if own.is_empty() {
                Vec::new()
            } else {
                lanes::split(own, &trace.spans.start_ns, &trace.spans.dur_ns)
            });
        }
        let (mut instants, instant_bounds) = by_track(trace.instants.iter().map(|mark| mark.track), trace.tracks.len());
        for range in &instant_bounds {
            instants[range.clone()].sort_by_key(|at| trace.instants[*at as usize].time_ns);
        }
        let (samples, series) = by_series(&view);
        let facts = facts(&view, &binder);
        let content = Content { spans: bounds, lanes: lane_sizes, instants: instant_bounds, series };
        let rows = Layout::of(&view, &content).rows(group, facts);
        let arrows = binder.finish(trace.spans.len(), between);
        Self { view, rows, spans, instants, samples, arrows }
    }

    /// Packet sequences the rank takes.
    pub(super) fn sequences(&self) -> u32 {
        self.rows.iter().map(Row::sequences).sum()
    }

    /// The first moment of any event, by the rank's own clock.
    pub(super) fn first_ns(&self) -> Option<i64> {
        let trace = self.view.trace;
        let spans = self.rows.iter().filter(|row| !row.spans.is_empty());
        let spans = spans.map(|row| trace.spans.start_ns[self.spans[row.spans.start] as usize]);
        let instants = trace.instants.iter().map(|mark| mark.time_ns);
        spans.chain(instants).chain(trace.counters.iter().map(|sample| sample.time_ns)).min()
    }
}

/// The events of each track, by [`TrackId`], and of each counter.
struct Content {
    spans: Vec<Range<usize>>,
    lanes: Vec<Vec<usize>>,
    instants: Vec<Range<usize>>,
    series: Vec<Series>,
}

/// The samples of one series of one counter.
struct Series {
    track: TrackId,
    name: StrId,
    series: StrId,
    samples: Range<usize>,
}

/// The processes and the tracks in them, in the order they are drawn.
struct Layout<'a> {
    view: &'a RankView<'a>,
    content: &'a Content,
    /// The process, or the kind of those that have none, and its tracks.
    processes: Vec<(Parent, Vec<TrackId>)>,
    place: FxHashMap<Parent, usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Parent {
    Track(TrackId),
    Implied(TrackKind),
}

impl<'a> Layout<'a> {
    fn of(view: &'a RankView<'a>, content: &'a Content) -> Self {
        let tracks = &view.trace.tracks;
        let mut used = vec![false; tracks.len()];
        for (id, _) in tracks.iter() {
            let at = id.0 as usize;
            used[at] = !content.spans[at].is_empty() || !content.instants[at].is_empty();
        }
        for series in &content.series {
            used[series.track.0 as usize] = true;
        }
        let mut layout = Self { view, content, processes: Vec::new(), place: FxHashMap::default() };
        for (id, track) in tracks.iter().filter(|(id, _)| used[id.0 as usize]) {
            match (track.kind, track.parent) {
                (TrackKind::Process | TrackKind::Device, _) => layout.children_of(Parent::Track(id)),
                (_, Some(parent)) => layout.children_of(Parent::Track(parent)),
                (TrackKind::Thread, None) => layout.children_of(Parent::Implied(TrackKind::Process)),
                (TrackKind::Stream, None) => layout.children_of(Parent::Implied(TrackKind::Device)),
            }
            .extend((!is_process(track)).then_some(id));
        }
        if layout.processes.is_empty() {
            layout.children_of(Parent::Implied(TrackKind::Process));
        }
        layout.processes.sort_by_cached_key(|(parent, _)| match parent {
            Parent::Track(id) => (tracks.get(*id).kind == TrackKind::Device, sort_key(tracks.get(*id))),
            Parent::Implied(kind) => (*kind == TrackKind::Device, (i64::MAX, i64::MAX)),
        });
        for (_, children) in &mut layout.processes {
            children.sort_by_key(|id| sort_key(tracks.get(*id)));
        }
        layout
    }

    fn children_of(&mut self, parent: Parent) -> &mut Vec<TrackId> {
        let next = self.processes.len();
        let at = *self.place.entry(parent).or_insert(next);
        if at == next {
            self.processes.push((parent, Vec::new()));
        }
        &mut self.processes[at].1
    }

    fn rows(&self, group: u32, facts: Facts) -> Vec<Row> {
        let mut rows: Vec<Row> = Vec::new();
        let mut row_of: FxHashMap<TrackId, usize> = FxHashMap::default();
        for (parent, children) in &self.processes {
            let process = rows.len();
            let mut row = self.process_row(*parent, group);
            if process == 0 {
                row.note.facts = Some(facts.clone());
            }
            rows.push(row);
            if let Parent::Track(id) = parent {
                row_of.insert(*id, process);
                self.push_lanes(*id, process, Some(process), &mut rows);
            }
            for id in children {
                row_of.insert(*id, rows.len());
                self.push_lanes(*id, process, None, &mut rows);
            }
        }
        for series in &self.content.series {
            let owner = row_of[&series.track];
            rows.push(self.counter_row(series, owner, rows[owner].process.unwrap_or(owner)));
        }
        rows
    }

    fn process_row(&self, parent: Parent, group: u32) -> Row {
        let strings = &self.view.trace.strings;
        let (kind, mut note) = match parent {
            Parent::Track(id) => {
                let track = self.view.trace.tracks.get(id);
                let kind = if track.kind == TrackKind::Device { RowKind::Device } else { RowKind::Process };
                (track.kind, self.note(track, kind))
            }
            Parent::Implied(kind) => (kind, Note::of(RowKind::Implied)),
        };
        note.group = Some(group);
        let rank = self.view.rank.map(|rank| format!("rank {rank} ")).unwrap_or_default();
        let key = match &note.key {
            Some(Key::Number(number)) => number.to_string(),
            Some(Key::Text(text)) => text.clone(),
            None => String::new(),
        };
        let shown = match parent {
            Parent::Track(id) => strings.text(self.view.trace.tracks.get(id).name).trim(),
            Parent::Implied(_) => "",
        };
        let name = match kind {
            TrackKind::Device => format!("{rank}device {key}"),
            _ if !shown.is_empty() => format!("{rank}host ({shown})"),
            _ if !key.is_empty() => format!("{rank}host ({key})"),
            _ => format!("{rank}host"),
        };
        Row::new(name.trim_end().to_owned(), None, note)
    }

    /// The rows of a track: one a lane. The first lane also takes the instants; for a process it is the process's own row,
    /// `first`.
    fn push_lanes(&self, id: TrackId, process: usize, first: Option<usize>, rows: &mut Vec<Row>) {
        let at = id.0 as usize;
        let track = self.view.trace.tracks.get(id);
        let mut start = self.content.spans[at].start;
        let lanes = &self.content.lanes[at];
        for lane in 0..lanes.len().max(1) {
            let end = start + lanes.get(lane).copied().unwrap_or(0);
            let at_row = match first.filter(|_| lane == 0) {
                Some(own) => own,
                None => {
                    rows.push(self.lane_row(track, lane as u32, process));
                    rows.len() - 1
                }
            };
            rows[at_row].spans = start..end;
            if lane == 0 {
                rows[at_row].instants = self.content.instants[at].clone();
            }
            start = end;
        }
    }

    fn lane_row(&self, track: &Track, lane: u32, process: usize) -> Row {
        let kind = match track.kind {
            TrackKind::Process => RowKind::Process,
            TrackKind::Thread => RowKind::Thread,
            TrackKind::Device => RowKind::Device,
            TrackKind::Stream => RowKind::Stream,
        };
        let mut note = self.note(track, kind);
        note.lane = lane;
        let name = match (note.name.trim(), &note.key, kind) {
            ("", Some(Key::Number(number)), RowKind::Stream) => format!("stream {number}"),
            ("", Some(Key::Number(number)), RowKind::Thread) => format!("thread {number}"),
            ("", Some(Key::Text(text)), _) => text.clone(),
            ("", ..) => "spans".to_owned(),
            (name, ..) => name.to_owned(),
        };
        let name = if lane == 0 { name } else { format!("{name} ({})", lane + 1) };
        Row::new(name, Some(process), note)
    }

    fn counter_row(&self, series: &Series, owner: usize, process: usize) -> Row {
        let strings = &self.view.trace.strings;
        let mut note = Note::of(RowKind::Counter);
        note.name = strings.text(series.name).to_owned();
        note.series = strings.text(series.series).to_owned();
        let name = [note.name.as_str(), note.series.as_str()].join(" ").trim().to_owned();
        Row { owner: Some(owner), samples: series.samples.clone(), ..Row::new(name, Some(process), note) }
    }

    fn note(&self, track: &Track, kind: RowKind) -> Note {
        let strings = &self.view.trace.strings;
        let mut note = Note::of(kind);
        note.key = Some(match track.key {
            TrackKey::Number(number) => Key::Number(number),
            TrackKey::Text(text) => Key::Text(strings.text(text).to_owned()),
        });
        note.name = strings.text(track.name).to_owned();
        note.label = strings.text(track.label).to_owned();
        note.sort = track.sort_index;
        note
    }
}

impl Row {
    fn new(name: String, process: Option<usize>, note: Note) -> Self {
        Self { name, process, owner: None, note, spans: 0..0, instants: 0..0, samples: 0..0 }
    }
}

fn is_process(track: &Track) -> bool {
    matches!(track.kind, TrackKind::Process | TrackKind::Device)
}

fn sort_key(track: &Track) -> (i64, i64) {
    let number = match track.key {
        TrackKey::Number(number) => number,
        TrackKey::Text(_) => i64::MAX,
    };
    (track.sort_index.unwrap_or(number), number)
}

/// Indexes of events grouped by track, in file order, and where each track's lie.
fn by_track(tracks: impl Iterator<Item = TrackId> + Clone, count: usize) -> (Vec<u32>, Vec<Range<usize>>) {
    let mut sizes = vec![0usize; count];
    let mut total = 0;
    for track in tracks.clone() {
        sizes[track.0 as usize] += 1;
        total += 1;
    }
    let mut bounds = Vec::with_capacity(count);
    let mut first = 0;
    for size in sizes {
        bounds.push(first..first);
        first += size;
    }
    let mut order = vec![0u32; total];
    for (event, track) in tracks.enumerate() {
        let end = &mut bounds[track.0 as usize].end;
        order[*end] = event as u32;
        *end += 1;
    }
    (order, bounds)
}

/// Counter samples by series and time.
fn by_series(view: &RankView<'_>) -> (Vec<u32>, Vec<Series>) {
    let samples = &view.trace.counters;
    let key = |at: &u32| {
        let sample = &samples[*at as usize];
        (sample.track, sample.name, sample.series)
    };
    let mut order: Vec<u32> = (0..samples.len() as u32).collect();
    order.sort_by_key(|at| (key(at), samples[*at as usize].time_ns));
    let mut series = Vec::new();
    let mut first = 0;
    for run in order.chunk_by(|a, b| key(a) == key(b)) {
        let (track, name, of) = key(&run[0]);
        series.push(Series { track, name, series: of, samples: first..first + run.len() });
        first += run.len();
    }
    (order, series)
}

fn facts(view: &RankView<'_>, binder: &Binder<'_>) -> Facts {
    let trace = view.trace;
    let category = |at: u16| trace.categories.get(usize::from(at)).map_or("", |category| trace.strings.text(category.name));
    let text = |id: StrId| trace.strings.text(id).to_owned();
    let kinds =
        trace.categories.iter().filter(|category| CategoryKind::of_kineto(trace.strings.text(category.name)) != category.kind);
    Facts {
        rank: view.rank.map(|rank| rank.0),
        world_size: trace.provenance.world_size,
        host: trace.provenance.host.clone(),
        backend: trace.provenance.backend.clone(),
        trace_id: trace.provenance.trace_id.clone(),
        flows: binder.sorts().iter().map(|(at, name)| (category(*at).to_owned(), text(*name))).collect(),
        kinds: kinds.map(|category| (text(category.name), kind_name(category.kind).to_owned())).collect(),
    }
}
