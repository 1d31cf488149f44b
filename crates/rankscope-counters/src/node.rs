//! [`record_node`]: the counters of a node, recorded by a process that does nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rankscope_record::plugins::Registry;
use rankscope_record::{Session, SessionOptions, Storage, set_process_name};

use crate::options::{CountersOptions, Hz, Scope};
use crate::plugin::Counters;

/// What keeps the counters of a node from being recorded.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NodeError {
    /// The folder cannot be made.
    #[error("{}: {reason}", path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        reason: std::io::Error,
    },
    /// The recording does not begin.
    #[error(transparent)]
    NotStarted(#[from] rankscope_record::StartError),
    /// Somebody else ended the recording.
    #[error(transparent)]
    NotStopped(#[from] rankscope_record::StopError),
    /// The recording is as it was written, and larger than it could be.
    #[error(transparent)]
    NotPacked(#[from] rankscope_record::ExportError),
}

/// To bring them to the disk takes as much as to sample them a few times.
const FLUSH_EVERY: Duration = Duration::from_secs(2);

/// Records the counters of this node into `HOST.rkr` in `folder`, until `until` returns. A process that is killed leaves what it has recorded.
///
/// # Errors
/// [`NodeError`].
pub fn record_node(folder: &Path, hz: Hz, until: impl FnOnce()) -> Result<(), NodeError> {
    fs::create_dir_all(folder).map_err(|reason| NodeError::NoFolder { path: folder.to_owned(), reason })?;
    let counters = Counters::new(CountersOptions::default().with_hz(hz).with_scope(Scope::Node));
    let host = host();
    let storage = Storage::file_at(&folder.join(format!("{host}.rkr")));
    let options = SessionOptions::default().with_storage(storage).with_flush_every(FLUSH_EVERY);
    let session = Session::start_with(options, Registry::new().with(counters))?;
    set_process_name(&format!("counters of {host}"));
    until();
    session.stop()?.recorded.pack_in_place()?;
    Ok(())
}

/// The name of this host, as a file may be called.
fn host() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let name: String = name.trim().chars().filter(|c| c.is_ascii_alphanumeric() || "-_.".contains(*c)).collect();
    if name.trim_matches('.').is_empty() { "node".to_owned() } else { name }
}
