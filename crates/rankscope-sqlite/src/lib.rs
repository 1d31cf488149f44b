//! Traces in SQLite databases: rocpd, in which ROCm's profilers keep what they record, and what `nsys export --type sqlite` makes of a
//! report of Nsight Systems.
//!
//! A database is opened for reading and as one that nobody changes: no journal and no lock appears beside it. What kind it is, its tables
//! say. Tables and columns that it lacks are taken for empty, rows that cannot be right are counted and passed over, and where the file
//! is damaged the rest of that table is left out.
//!
//! A crate of its own because it brings SQLite along, which is C and knows files only by their paths.
//!
//! ```
//! use rankscope_formats::{Error, ReadOptions};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("notes.db");
//! # std::fs::write(&path, b"no database")?;
//! // A file that is no database of a profiler is refused with what it is; a trace comes for each process of one that is.
//! let mut traces = Vec::new();
//! let refused = rankscope_sqlite::read_each(&path, &ReadOptions::default(), &mut |member| traces.push(member));
//! assert!(matches!(refused, Err(Error::NotATrace { .. })) && traces.is_empty());
//! # Ok::<(), std::io::Error>(())
//! ```

mod database;
mod nsys;
mod query;
mod rocpd;

#[cfg(test)]
mod made;

use std::path::Path;

use rankscope_formats::{Error, Foreign, Member, ReadOptions};
use rankscope_trace::Trace;

use crate::database::Database;

/// Tables of a foreign database that a message lists.
const TABLES_LISTED: usize = 12;

/// Reads every trace in the database at `path`, which `options.label` names: one for each process.
///
/// # Errors
/// [`Error::NotATrace`] for a database of something else, one that is empty and one that cannot be read.
pub fn read_each(path: &Path, options: &ReadOptions, each: &mut dyn FnMut(Member)) -> Result<(), Error> {
    let database = Database::open(path)?;
    let traces = if rocpd::is_of(&database) {
        rocpd::read(&database, options)?
    } else if nsys::is_of(&database) {
        nsys::read(&database, options)?
    } else {
        let tables = database.names().take(TABLES_LISTED).map(str::to_owned).collect();
        return Err(Error::NotATrace { found: Foreign::OtherDatabase { tables } });
    };
    traces.into_iter().for_each(|trace| each(member(trace, &database)));
    Ok(())
}

fn member(mut trace: Trace, database: &Database) -> Member {
    let about = &mut trace.provenance;
    about.bytes = database.bytes();
    if let Some(problem) = database.unread_log() {
        about.problems.add_detailed(problem, database.bytes(), 1, "a write-ahead log lies beside the database".to_owned());
    }
    Member { label: about.file.clone(), trace: Ok(trace) }
}
