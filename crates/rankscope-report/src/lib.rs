//! Draws what analysis found and computes nothing: a number that is not in the [`Document`] appears nowhere.
//!
//! The document is `report.json` (schema 1, docs/reference/formats/report-json.md); the terminal summary and `report.html` are views of it.
//! The clocks of nodes over a run are a document of their own, [`ClockDocument`], with a table and a page; so is how ranks were
//! put on one clock, [`AlignmentDocument`], what each name of span costs, [`SpansDocument`], and who computes which piece of
//! attention, [`DispatchDocument`].
//! Views format, scale, sort and leave out, and say so where they leave out. They touch no files: callers get strings.

mod alignment;
mod clock;
mod dispatch;
mod document;
mod error;
mod html;
mod json;
mod spans;
pub mod spelling;
mod terminal;
mod text;
mod units;
mod verdict;

pub use alignment::{AlignmentDocument, RankAlignment, TracerAlignment, alignment_terminal};
pub use clock::{ClockDocument, ClockPoint, ClockTables, NodeClock, clock_html, clock_terminal};
pub use dispatch::{DispatchDocument, DispatchRank, DispatchedDocument, dispatch_html};
pub use document::{
    Clock, ClockOffset, ClockPair, CollectiveGroup, CollectiveInstance, Collectives, Copies, CopyTime, Document, Kernel, Note,
    NoteLevel, Problem, Rank, RankArrivals, Step, Time, UnmatchedCollective, Window,
};
pub use error::Error;
pub use html::html;
pub use json::{Layout, json};
pub use spans::{SpansDocument, SpansProcess, SpansRow, spans_terminal};
pub use terminal::{Style, columns, paragraph, terminal};
pub use text::steers;
pub use units::{bytes, duration, rate};
pub use verdict::{Because, Caution, CautionKind, Confidence, LateRank, Unnamed, Verdict};
