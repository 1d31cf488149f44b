//! Which rows a rank has in the file, and how they hang together.
//!
//! Everything of a rank lies under one row of its own, which shows how busy the rank is: its memory, its devices' streams, its
//! threads. A process or device gets a group in between only if several rows are to be told apart from those of another. A row
//! is one lane of one of our tracks, or one series of a counter. Tracks nothing happened on are left out.

use std::ops::Range;

use rankscope_trace::{StrId, Track, TrackId, TrackKey, TrackKind};
use rustc_hash::FxHashMap;

use super::RankView;
use super::derived::Derived;
use super::note::{Facts, Key, Note, RowKind};
use super::{memory, summary};

/// One Perfetto track.
pub(super) struct Row {
    pub(super) name: String,
    /// The row it hangs on, an earlier one; none for the rank's own.
    pub(super) parent: Option<usize>,
    pub(super) note: Note,
    /// What lies on it, as ranges of the plan's orders.
    pub(super) spans: Range<usize>,
    pub(super) instants: Range<usize>,
    pub(super) samples: Range<usize>,
    /// What it shows beside the trace's own events.
    pub(super) derived: Option<Derived>,
}

impl Row {
    fn new(name: String, parent: Option<usize>, note: Note) -> Self {
        Self { name, parent, note, spans: 0..0, instants: 0..0, samples: 0..0, derived: None }
    }

    /// A row of spans that follow from the events of ranks: lane number `lane` of those called `name`.
    pub(super) fn derived(name: &str, lane: u32, spans: Range<usize>) -> Self {
        let name = if lane == 0 { name.to_owned() } else { format!("{name} ({})", lane + 1) };
        let mut note = Note::of(RowKind::Derived);
        note.lane = lane;
        Self { spans, ..Self::new(name, None, note) }
    }

    /// Packet sequences the row's events take.
    pub(super) fn sequences(&self) -> u32 {
        let ranges = [&self.spans, &self.instants, &self.samples].into_iter().filter(|range| !range.is_empty()).count();
        ranges as u32 + u32::from(self.derived.is_some())
    }

    /// Whether its events are a counter's.
    pub(super) fn is_counter(&self) -> bool {
        self.note.kind == RowKind::Counter || self.derived.is_some()
    }
}

/// The processes of a rank and the tracks in them, in the order they are drawn.
pub(super) struct Layout<'a> {
    view: &'a RankView<'a>,
    content: &'a Content<'a>,
    /// The process, or the kind of those that have none, and its tracks.
    processes: Vec<(Parent, Vec<TrackId>)>,
    place: FxHashMap<Parent, usize>,
    /// Devices, and processes, that have several tracks.
    crowded_devices: usize,
    crowded_hosts: usize,
    /// Processes that are the system's.
    hosts: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Parent {
    Track(TrackId),
    Implied(TrackKind),
}

impl<'a> Layout<'a> {
    /// Sorts the tracks that `content` says something lies on into processes.
    pub(super) fn of(view: &'a RankView<'a>, content: &'a Content<'a>) -> Self {
        let tracks = &view.trace.tracks;
        let mut used = vec![false; tracks.len()];
        for (id, _) in tracks.iter() {
            let at = id.0 as usize;
            used[at] = !content.spans[at].is_empty() || !content.instants[at].is_empty();
        }
        for series in &content.series {
            used[series.track.0 as usize] = true;
        }
        let (processes, place) = (Vec::new(), FxHashMap::default());
        let mut layout = Self { view, content, processes, place, crowded_devices: 0, crowded_hosts: 0, hosts: 0 };
        for (id, track) in tracks.iter().filter(|(id, _)| used[id.0 as usize]) {
            match (track.kind, track.parent) {
                (TrackKind::Process | TrackKind::Device, _) => layout.children_of(Parent::Track(id)),
                (_, Some(parent)) => layout.children_of(Parent::Track(parent)),
                (TrackKind::Thread, None) => layout.children_of(Parent::Implied(TrackKind::Process)),
                (TrackKind::Stream, None) => layout.children_of(Parent::Implied(TrackKind::Device)),
            }
            .extend((!is_process(track)).then_some(id));
        }
        layout.processes.sort_by_cached_key(|(parent, _)| match parent {
            Parent::Track(id) => (tracks.get(*id).kind != TrackKind::Device, sort_key(tracks.get(*id))),
            Parent::Implied(kind) => (*kind != TrackKind::Device, (i64::MAX, i64::MAX)),
        });
        for (_, children) in &mut layout.processes {
            children.sort_by_key(|id| sort_key(tracks.get(*id)));
        }
        layout.count();
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

    /// All rows, parents before their children. The rank's own, `top`, comes first.
    pub(super) fn rows(&self, top: Top) -> Vec<Row> {
        let mut rows = vec![self.top_row(top)];
        for (name, derived) in memory::counters(self.view.trace) {
            rows.push(Row { derived: Some(derived), ..Row::new(name, Some(0), Note::of(RowKind::Derived)) });
        }
        for process in &self.processes {
            self.push_process(process, &mut rows);
        }
        rows
    }

    fn top_row(&self, top: Top) -> Row {
        let mut note = Note::of(RowKind::Rank);
        (note.group, note.facts) = (Some(top.group), Some(top.facts));
        let who = match self.view.rank {
            Some(rank) => format!("rank {:0digits$}", rank.0, digits = top.digits),
            None => self.named_process().unwrap_or_else(|| "trace".to_owned()),
        };
        let name = match &self.view.trace.provenance.host {
            Some(host) if !host.is_empty() => format!("{who} ({host})"),
            _ => who,
        };
        Row { derived: summary::busy(self.view.trace, self.content.order.iter().copied()), ..Row::new(name, None, note) }
    }

    fn named_process(&self) -> Option<String> {
        let tracks = self.processes.iter().filter_map(|(parent, _)| match parent {
            Parent::Track(id) => Some(self.view.trace.tracks.get(*id)),
            Parent::Implied(_) => None,
        });
        let names = tracks.filter(|track| track.kind == TrackKind::Process).map(|track| self.text(track.name));
        names.map(str::to_owned).find(|name| !name.is_empty())
    }

    /// The rows of one process or device: its own, its tracks', its counters'.
    fn push_process(&self, (parent, children): &(Parent, Vec<TrackId>), rows: &mut Vec<Row>) {
        let mut row_of: Vec<(TrackId, usize)> = Vec::new();
        let place = self.place_of(*parent, children, rows);
        if let Parent::Track(id) = parent {
            if self.has_events(*id) {
                self.push_lanes(*id, &place, rows);
            }
            row_of.push((*id, place.under));
        }
        for id in children {
            row_of.push((*id, rows.len()));
            self.push_lanes(*id, &place, rows);
        }
        for (owner, row) in row_of {
            let all = &self.content.series;
            let own = &all[all.partition_point(|series| series.track < owner)..];
            for series in own.iter().take_while(|series| series.track == owner) {
                rows.push(self.counter_row(series, row, &place));
            }
        }
    }

    /// Where the rows of a process go; opens a group for them if they need one.
    fn place_of(&self, parent: Parent, children: &[TrackId], rows: &mut Vec<Row>) -> Place {
        let Parent::Track(id) = parent else { return Place { under: 0, of: None, prefix: String::new() } };
        let track = self.view.trace.tracks.get(id);
        let title = self.title(track);
        let kind = if track.kind == TrackKind::Device { RowKind::Device } else { RowKind::Process };
        rows[0].note.processes.push(self.note(track, kind));
        let of = Some(rows[0].note.processes.len() as u32 - 1);
        if children.len() > 1 && self.crowded(track.kind) > 1 {
            let spans = |track: &TrackId| self.content.order[self.content.spans[track.0 as usize].clone()].iter().copied();
            let derived = summary::busy(self.view.trace, std::iter::once(&id).chain(children).flat_map(spans));
            rows.push(Row { derived, ..Row::new(title, Some(0), Note::of(RowKind::Group)) });
            return Place { under: rows.len() - 1, of, prefix: String::new() };
        }
        let told_apart = track.kind == TrackKind::Device || is_numbered(track) && self.hosts > 1;
        Place { under: 0, of, prefix: if told_apart { title } else { String::new() } }
    }

    fn kind(&self, parent: Parent) -> TrackKind {
        match parent {
            Parent::Track(id) => self.view.trace.tracks.get(id).kind,
            Parent::Implied(kind) => kind,
        }
    }

    /// How many processes, or devices, have several tracks.
    fn crowded(&self, kind: TrackKind) -> usize {
        if kind == TrackKind::Device { self.crowded_devices } else { self.crowded_hosts }
    }

    /// Counts what decides which processes are grouped.
    fn count(&mut self) {
        let crowded = |of| self.processes.iter().filter(|(parent, own)| own.len() > 1 && self.kind(*parent) == of).count();
        let (devices, hosts) = (crowded(TrackKind::Device), crowded(TrackKind::Process));
        // A profiler's own stand-ins have names in place of numbers.
        let is_host = |parent| match parent {
            Parent::Track(id) => self.kind(parent) == TrackKind::Process && is_numbered(self.view.trace.tracks.get(id)),
            Parent::Implied(_) => false,
        };
        let numbered = self.processes.iter().filter(|(parent, _)| is_host(*parent)).count();
        (self.crowded_devices, self.crowded_hosts, self.hosts) = (devices, hosts, numbered);
    }

    fn has_events(&self, id: TrackId) -> bool {
        let at = id.0 as usize;
        !self.content.spans[at].is_empty() || !self.content.instants[at].is_empty()
    }

    /// What a process or device is called.
    fn title(&self, track: &Track) -> String {
        let key = match track.key {
            TrackKey::Number(number) => number.to_string(),
            TrackKey::Text(text) => self.text(text).to_owned(),
        };
        match (track.kind, self.text(track.name)) {
            (TrackKind::Device, _) => format!("device {key}"),
            (_, "") if is_numbered(track) => format!("process {key}"),
            (_, "") => key,
            (_, name) if is_numbered(track) => format!("{name} {key}"),
            (_, name) => name.to_owned(),
        }
    }

    /// The rows of a track: one a lane. The first lane also takes the instants.
    fn push_lanes(&self, id: TrackId, place: &Place, rows: &mut Vec<Row>) {
        let at = id.0 as usize;
        let track = self.view.trace.tracks.get(id);
        let mut start = self.content.spans[at].start;
        let lanes = &self.content.lanes[at];
        for lane in 0..lanes.len().max(1) {
            let end = start + lanes.get(lane).copied().unwrap_or(0);
            let mut row = self.lane_row(track, lane as u32, place);
            row.spans = start..end;
            if lane == 0 {
                row.instants = self.content.instants[at].clone();
            }
            rows.push(row);
            start = end;
        }
    }

    fn lane_row(&self, track: &Track, lane: u32, place: &Place) -> Row {
        let kind = match track.kind {
            TrackKind::Process => RowKind::Process,
            TrackKind::Thread => RowKind::Thread,
            TrackKind::Device => RowKind::Device,
            TrackKind::Stream => RowKind::Stream,
        };
        let mut note = self.note(track, kind);
        (note.lane, note.of) = (lane, place.of.filter(|_| !is_process(track)));
        let own = match (self.text(track.name), track.key, kind) {
            (_, _, RowKind::Process | RowKind::Device) => self.title(track),
            ("", TrackKey::Number(number), RowKind::Stream) => format!("stream {number}"),
            ("", TrackKey::Number(number), _) => format!("thread {number}"),
            ("", TrackKey::Text(text), _) => self.text(text).to_owned(),
            (name, ..) => name.to_owned(),
        };
        let name = if is_process(track) { own } else { [&place.prefix[..], &own].join(" ").trim().to_owned() };
        let name = if name.is_empty() { "marks".to_owned() } else { name };
        let name = if lane == 0 { name } else { format!("{name} ({})", lane + 1) };
        Row::new(name, Some(place.under), note)
    }

    fn counter_row(&self, series: &Series, owner: usize, place: &Place) -> Row {
        let mut note = Note::of(RowKind::Counter);
        note.name = self.view.trace.strings.text(series.name).to_owned();
        note.series = self.view.trace.strings.text(series.series).to_owned();
        note.of = place.of.filter(|_| owner == place.under);
        let prefix = if owner == place.under { &place.prefix[..] } else { "" };
        let name = [prefix, &note.name, &note.series].join(" ").trim().to_owned();
        Row { samples: series.samples.clone(), ..Row::new(name, Some(owner), note) }
    }

    fn text(&self, id: StrId) -> &str {
        self.view.trace.strings.text(id).trim()
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

/// What the row of a rank says.
pub(super) struct Top {
    /// Which trace of the file this is.
    pub(super) group: u32,
    /// Digits of a rank's number, so that names in order of letters are in order of ranks.
    pub(super) digits: usize,
    pub(super) facts: Facts,
}

/// Where the rows of one process go.
struct Place {
    under: usize,
    /// The process among those of the rank's note; none for tracks that have none.
    of: Option<u32>,
    /// What tells its rows from those of others.
    prefix: String,
}

fn is_numbered(track: &Track) -> bool {
    matches!(track.key, TrackKey::Number(_))
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

/// The events of each track, by [`TrackId`], and of each counter.
pub(super) struct Content<'a> {
    /// All spans, by track.
    pub(super) order: &'a [u32],
    pub(super) spans: Vec<Range<usize>>,
    pub(super) lanes: Vec<Vec<usize>>,
    pub(super) instants: Vec<Range<usize>>,
    pub(super) series: Vec<Series>,
}

/// The samples of one series of one counter.
pub(super) struct Series {
    pub(super) track: TrackId,
    pub(super) name: StrId,
    pub(super) series: StrId,
    pub(super) samples: Range<usize>,
}
