//! The spans of a trace, in columns.

use crate::{ArgColumn, StrId, TrackId};

/// A span of one trace, by its place in the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanId(pub u32);

/// One span on its way into or out of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpanRow {
    /// Start, in nanoseconds since the epoch of the file's clock.
    pub start_ns: i64,
    /// Length; never negative.
    pub dur_ns: i64,
    /// What ran.
    pub name: StrId,
    /// Where it ran.
    pub track: TrackId,
    /// Index into the trace's categories.
    pub category: u16,
    /// Where the event starts in the decompressed file, to name it in messages and to read it again.
    pub offset: u64,
}

/// The columns. All have the same length, but for those said to be empty when unused.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Spans {
    /// Starts, in nanoseconds since the epoch of the file's clock.
    pub start_ns: Vec<i64>,
    /// Lengths; never negative.
    pub dur_ns: Vec<i64>,
    /// Names.
    pub name: Vec<StrId>,
    /// Tracks.
    pub track: Vec<TrackId>,
    /// Indexes into the trace's categories.
    pub category: Vec<u16>,
    /// Byte offsets in the decompressed file.
    pub offset: Vec<u64>,
    /// Picoseconds (0 to 999) beyond `start_ns` and `dur_ns`; empty unless the file is that fine (XSpace).
    pub picos: Vec<(u16, u16)>,
    /// Indexes into the trace's descriptions; empty unless the reader kept those.
    pub description: Vec<u32>,
    /// Numbers of their events in the file's list of events, from 0, or [`NO_PLACE`](Self::NO_PLACE). Empty, or shorter than the other
    /// columns, where the reader did not keep them.
    pub place: Vec<u32>,
    /// Arguments; no rows unless the reader was asked to keep them.
    pub args: ArgColumn,
}

impl Spans {
    /// Stands in `place` for the number of an event that is not known.
    pub const NO_PLACE: u32 = u32::MAX;

    /// Appends a span.
    ///
    /// # Panics
    /// After four billion spans.
    pub fn push(&mut self, row: SpanRow) -> SpanId {
        let id = SpanId(u32::try_from(self.len()).expect("memory ends before four billion spans"));
        self.start_ns.push(row.start_ns);
        self.dur_ns.push(row.dur_ns);
        self.name.push(row.name);
        self.track.push(row.track);
        self.category.push(row.category);
        self.offset.push(row.offset);
        id
    }

    /// How many spans there are.
    pub fn len(&self) -> usize {
        self.start_ns.len()
    }

    /// Whether there is no span.
    pub fn is_empty(&self) -> bool {
        self.start_ns.is_empty()
    }

    /// One span.
    ///
    /// # Panics
    /// For an id of another trace.
    pub fn row(&self, id: SpanId) -> SpanRow {
        let at = id.0 as usize;
        SpanRow {
            start_ns: self.start_ns[at],
            dur_ns: self.dur_ns[at],
            name: self.name[at],
            track: self.track[at],
            category: self.category[at],
            offset: self.offset[at],
        }
    }

    /// Every id, in file order.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = SpanId> + use<> {
        (0..self.len() as u32).map(SpanId)
    }

    /// Start of a span.
    pub fn start_ns(&self, id: SpanId) -> i64 {
        self.start_ns[id.0 as usize]
    }

    /// End of a span, pinned to the end of time.
    pub fn end_ns(&self, id: SpanId) -> i64 {
        self.start_ns[id.0 as usize].saturating_add(self.dur_ns[id.0 as usize])
    }

    /// The number of its event in the file's list of events, where it is known.
    pub fn place(&self, id: SpanId) -> Option<u32> {
        self.place.get(id.0 as usize).copied().filter(|place| *place != Self::NO_PLACE)
    }

    /// Appends those of `more`, whose first span is number `base` here.
    pub(crate) fn append_places(&mut self, base: u32, more: &[u32]) {
        if !more.is_empty() {
            self.place.resize(base as usize, Self::NO_PLACE);
            self.place.extend_from_slice(more);
        }
    }

    /// Picoseconds beyond start and length.
    pub fn picos(&self, id: SpanId) -> (u16, u16) {
        self.picos.get(id.0 as usize).copied().unwrap_or((0, 0))
    }
}
