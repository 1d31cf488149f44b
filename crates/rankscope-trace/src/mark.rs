//! Instants and counter samples. They are few beside the spans, so they are kept as rows.

use crate::{StrId, TrackId};

/// How far an instant reaches on a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstantScope {
    /// Its thread.
    Thread,
    /// Its process.
    Process,
    /// The whole trace.
    Global,
}

/// Something that happened at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstantMark {
    /// When, in nanoseconds since the epoch of the file's clock.
    pub time_ns: i64,
    /// What.
    pub name: StrId,
    /// Where.
    pub track: TrackId,
    /// Index into the trace's categories.
    pub category: u16,
    /// How far it reaches.
    pub scope: InstantScope,
}

/// One value of one counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CounterSample {
    /// When, in nanoseconds since the epoch of the file's clock.
    pub time_ns: i64,
    /// The counter's name.
    pub name: StrId,
    /// Which of the counter's series, where it has several; empty otherwise.
    pub series: StrId,
    /// The process, device or thread it belongs to.
    pub track: TrackId,
    /// The value.
    pub value: f64,
}
