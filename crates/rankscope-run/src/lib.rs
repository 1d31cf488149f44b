//! Paths that somebody named are opened here: which files a user means, the directory of a run, and outputs
//! that appear whole or not at all.
//!
//! Inputs are read and never written to, nor is anything put beside them. Nothing here looks into an event.
//!
//! # Example
//!
//! ```
//! use std::fs;
//!
//! use rankscope_run::discover;
//! use rankscope_trace::rank_of_name;
//!
//! let folder = tempfile::tempdir()?;
//! fs::write(folder.path().join("rank3.json.gz"), "")?;
//! fs::write(folder.path().join("notes.txt"), "")?;
//!
//! let files = discover(&[folder.path().to_owned()])?;
//! assert_eq!(files.len(), 1); // the file that is named like a trace
//! assert_eq!(rank_of_name(&files[0].path.to_string_lossy()).map(|rank| rank.0), Some(3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod beneath;
mod clearing;
mod clock;
mod directory;
mod encoded;
mod error;
mod history;
mod inputs;
mod last;
mod live;
mod location;
mod open;
mod output;
mod parts;
mod pending;
mod prune;
mod removal;
mod retention;
mod sides;
mod source;
mod staged;
mod stored_inputs;
mod stores;
mod sweep_folder;
mod tail;
mod wall_clock;

pub use beneath::open_beneath;
pub use clearing::{Left, Stays};
pub use clock::{ClockFiles, clock_files};
pub use directory::{
    Attempt, Ending, Exit, FileCheck, FileEntry, FirstFailure, LockKind, Manifest, NewRun, NodeEntry, NodePart, ProfiledWindow,
    RankEnd, RankEntry, RunDirectory, State, SweepEntry, WindowOutcome, host, live_part, live_part_ended, live_parts,
    node_part, settle_ends,
};
pub use encoded::{file_name, folder_of, refuse_same_file, same_file, write_encoded};
pub use error::Error;
pub use history::{HistoryEntry, history_of};
pub use inputs::{Found, InputFile, discover, discover_all, is_workers_folder, listed};
pub use last::{KeptLast, keep_last};
pub use live::{open_live, recovered_path};
pub use location::{Location, ObjectUrl, Scheme};
pub use open::{SideFile, open, read_side, read_side_text, side_bytes};
pub use output::{Outputs, write_among_many, write_file};
pub use parts::{PARTS_PLAN, is_parts_folder, parts_of_nodes};
pub use pending::remove_unfinished;
pub use prune::Pruned;
pub use removal::{Runs, remove_leftover, remove_run, runs_in, what_stays};
pub use retention::{RetentionPlan, RetentionRules, StoredRun, Verdict, plan};
pub use sides::{RunSource, SideRuns, runs_of};
pub(crate) use source::folders_in;
pub use source::{
    Source, absolute, files_in, identity, is_file, is_folder, is_stored, lengths_below, open_source, read_piece, remove_file,
};
pub use staged::StagedFolders;
pub use stores::{
    ListedObject, ObjectFault, ObjectIdentity, Piece, Put, Remedy, StoreFault, StoredObject, Stores, count_fetched,
    fetched_bytes, register_stores,
};
pub use sweep_folder::SweepFolder;
pub use tail::last_lines;
pub use wall_clock::now_unix_ns;
