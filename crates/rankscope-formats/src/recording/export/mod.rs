//! A recording straight into the formats of others, without a trace in between.
//!
//! Each writer walks the threads one after the other and keeps one buffer, the recording's names, and the open spans of one
//! thread: a recording of any length passes through. The same recording gives the same bytes. What is not here: choosing a
//! format or a compression by a file's name, which is whose owns the file.

mod about;
mod kineto;
mod links;
mod names;
mod perfetto;
mod text;
mod written;

pub use about::About;
pub use kineto::kineto_json;
pub use perfetto::perfetto;
pub use written::{ThreadWritten, Written};

use super::{Chunks, Cut, Recording};

/// The first tick an export speaks of: the start of the cut, or of what the recording knows of time.
fn start_tick<C: Chunks>(recording: &Recording<C>, cut: &Cut) -> u64 {
    let first = recording.anchors().first().map_or(0, |anchor| anchor.tick);
    cut.from_tick.max(first)
}
