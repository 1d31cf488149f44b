//! The only library crate that opens paths: which files a user means, whose rank each is, the directory of a run, and outputs
//! that appear whole or not at all.
//!
//! Inputs are read and never written to, nor is anything put beside them. Nothing here looks into an event.

mod clock;
mod directory;
mod error;
mod inputs;
mod open;
mod output;
mod pending;
mod ranks;
mod removal;
mod retention;
mod sweep;
mod windows;

pub use clock::{ClockFiles, clock_files};
pub use directory::{
    Attempt, Ending, Exit, FileCheck, FileEntry, FirstFailure, LockKind, Manifest, NewRun, NodeEntry, NodePart, RankEnd,
    RankEntry, RunDirectory, State, node_part, settle_ends,
};
pub use error::Error;
pub use inputs::{Found, InputFile, discover, discover_all};
pub use open::{SideFile, open, read_side, read_side_text, side_bytes};
pub use output::{Outputs, write_file};
pub use ranks::{Completeness, PassedOver, completeness, each_rank_once, rank_of_name, settle_ranks};
pub use removal::{Runs, remove_leftover, remove_run, runs_in, what_stays};
pub use retention::{RetentionPlan, RetentionRules, StoredRun, Verdict, plan};
pub use sweep::{Left, Stays};
pub use windows::{Export, LeftOut, Why, Window, Windows};
