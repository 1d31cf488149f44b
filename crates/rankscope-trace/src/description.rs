//! What a file says once about every span of one sort, instead of repeating it at each (XSpace event metadata).
//!
//! Spans refer to a description by index (`Spans::description`). Its arguments are a row of `Trace::description_args`. Readers
//! keep descriptions only when asked for all arguments; the name analysis needs is in the span's own column.

use crate::{StrId, TrackId};

/// One sort of span, as its file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// The process or device whose spans it describes.
    pub owner: TrackId,
    /// Its number in the file, unique within the owner.
    pub id: i64,
    /// The name its spans have.
    pub name: StrId,
    /// A second name, to show; empty when the file gives none.
    pub label: StrId,
    /// Bytes only the profiler understands, as an index into the trace's blobs.
    pub blob: Option<u32>,
    /// Numbers of the sorts this one is made of.
    pub children: Box<[i64]>,
}

impl Description {
    /// The entry of `Spans::description` of a span nothing is said about.
    pub const NONE: u32 = u32::MAX;
}
