//! Collectives: which spans of a trace are one, what they move, and which of them are the same one on other ranks.
//!
//! Two ideas. A collective is found by its kernel (or, on the host, by its backend's annotation) and described by whatever the
//! profiler recorded nearest to it. And one collective on many ranks is matched by communicator and sequence number where
//! those are recorded, else by order and signature under causality: for the kinds in which every rank needs every other, the
//! times that all ranks spend in it overlap on any consistent set of clocks. What finds no counterpart is listed, never guessed.
//!
//! No clock is corrected here and no time is accounted: align and analyze build on this.

mod alone;
mod dtype;
mod expert;
mod extract;
mod group;
mod kind;
mod local;
mod matching;
mod pattern;
mod sequence;

pub use alone::collectives_alone;
pub use dtype::element_bytes;
pub use expert::{ExpertKernel, ExpertOp, Reach};
pub use extract::extract;
pub use group::Group;
pub use kind::Kind;
pub use local::LocalCollective;
pub use matching::{Instance, Matched, Member, RankCollectives, Step, match_nothing, match_ranks};
pub use pattern::{CommPatterns, PatternError};
