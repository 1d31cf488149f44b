//! Draws what analysis found and computes nothing: a number that is not in the [`Document`] appears nowhere.
//!
//! The document is `report.json` (schema 1, docs/formats/report-json.md); the terminal summary and `report.html` are views of it.

mod document;

pub use document::{
    Clock, ClockOffset, ClockPair, CollectiveGroup, CollectiveInstance, Collectives, Copies, CopyTime, Document, Kernel, Note,
    NoteLevel, Problem, Rank, RankArrivals, Step, Time, UnmatchedCollective,
};
