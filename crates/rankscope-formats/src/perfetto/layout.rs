//! Which processes a rank has in the file, and which rows lie in them.
//!
//! The host's processes come before the devices. A row is one lane of one of our tracks, or one series of a counter. Tracks
//! nothing happened on are left out, as are processes without such tracks.

use std::ops::Range;

use rankscope_trace::{StrId, Track, TrackId, TrackKey, TrackKind};
use rustc_hash::FxHashMap;

use super::RankView;
use super::note::{Facts, Key, Note, RowKind};

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
    fn new(name: String, process: Option<usize>, note: Note) -> Self {
        Self { name, process, owner: None, note, spans: 0..0, instants: 0..0, samples: 0..0 }
    }

    /// Packet sequences the row's events take.
    pub(super) fn sequences(&self) -> u32 {
        [&self.spans, &self.instants, &self.samples].into_iter().filter(|range| !range.is_empty()).count() as u32
    }
}

/// The processes and the tracks in them, in the order they are drawn.
pub(super) struct Layout<'a> {
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
    /// Sorts the tracks that `content` says something lies on into processes.
    pub(super) fn of(view: &'a RankView<'a>, content: &'a Content) -> Self {
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

    /// The rows of all processes, counters last. `facts` go to the first.
    pub(super) fn rows(&self, group: u32, facts: Facts) -> Vec<Row> {
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
pub(super) struct Content {
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
