//! Laws of reading recordings, on files that [`LiveAuthor`] writes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod cuts;
mod damage;
mod devices;
mod holes;
mod shadow;
#[path = "../shadow/mod.rs"]
mod steps;
mod ticks;

use rankscope_recording::*;
use steps::opened;

/// The events of one stream.
fn events(recording: &Recording<impl Chunks>, stream: u32, cut: &Cut) -> Vec<Event> {
    let thread = recording.threads().iter().find(|thread| thread.stream == stream).unwrap();
    let mut replay = recording.replay(thread, cut);
    std::iter::from_fn(|| replay.next().map(|(event, _)| event)).collect()
}

/// Ticks and marks of begins (`(`), ends (`)`), unfinished ends (`!`) and all else (`.`).
fn shape(events: &[Event]) -> String {
    let mark = |event: &Event| match event.what {
        What::Begin { .. } => '(',
        What::End { unfinished: false, .. } => ')',
        What::End { unfinished: true, .. } => '!',
        _ => '.',
    };
    events.iter().map(|event| format!("{}{} ", mark(event), event.tick)).collect::<String>().trim_end().to_owned()
}
