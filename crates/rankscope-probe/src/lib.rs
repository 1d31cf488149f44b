//! The drivers of clock synchronisation: sockets, kernel time stamps, clock snapshots, rendezvous, and the agent of one node.
//!
//! The one idea: everything that decides lives in `rankscope-clock` and takes `now` as an argument; this crate only moves
//! bytes and reads clocks. It is the only home of unsafe code for clock synchronisation.
//!
//! Stamps and clocks are Linux's; elsewhere the rendezvous and what a launcher says are all there is.
//!
//! Two nodes meet in a directory that both of them see:
//!
//! ```
//! use std::time::Duration;
//!
//! use rankscope_clock::NodeId;
//! use rankscope_probe::rendezvous::{DirectoryStore, KeyValueStore, Place, publish_address};
//!
//! # let folder = tempfile::tempdir()?;
//! # let root = folder.path().display();
//! let Place::Directory(root) = format!("file://{root}").parse()? else { unreachable!("it is a directory") };
//! let (mut node_0, mut node_1) = (DirectoryStore::open(&root)?, DirectoryStore::open(&root)?);
//!
//! node_0.set("master", "10.0.0.1:7700")?;
//! assert_eq!(node_1.wait("master", Duration::from_secs(1))?, "10.0.0.1:7700");
//! // A counter that both add to loses nothing.
//! assert_eq!((node_0.add("joined", 1)?, node_1.add("joined", 1)?), (1, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[cfg(target_os = "linux")]
pub mod agent;
#[cfg(target_os = "linux")]
pub mod clocks;
#[cfg(target_os = "linux")]
pub mod doctor;
pub mod interfaces;
pub mod key;
pub mod launch;
pub mod private;
pub mod rendezvous;
#[cfg(target_os = "linux")]
pub mod stamps;

/// Seconds and nanoseconds as nanoseconds, in integers: a float would round an instant of today to 256 ns.
#[cfg(target_os = "linux")]
fn nanos(seconds: i64, nanos: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}
