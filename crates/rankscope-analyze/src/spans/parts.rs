//! What threads are called, and which of them are wanted.

use std::fmt;

use rankscope_trace::{Trace, TrackId, TrackKey, TrackKind};

/// Which threads, and which names of spans.
#[derive(Clone, Copy)]
pub struct Selection<'a> {
    /// Whether a thread is wanted, by what it is called.
    pub thread: &'a (dyn Fn(&str) -> bool + Sync),
    /// Whether a row is wanted, by the name of its spans. The self times of others stay what they are.
    pub name: &'a (dyn Fn(&str) -> bool + Sync),
}

impl Selection<'_> {
    /// Everything.
    pub const ALL: Self = Self { thread: &|_| true, name: &|_| true };
}

impl fmt::Debug for Selection<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Selection").finish_non_exhaustive()
    }
}

/// What `track` is called: `worker-1 (4711)`, `stream 7`.
pub fn thread_label(trace: &Trace, track: TrackId) -> String {
    let track = trace.tracks.get(track);
    let noun = match track.kind {
        TrackKind::Process => "process",
        TrackKind::Thread => "thread",
        TrackKind::Device => "device",
        TrackKind::Stream => "stream",
    };
    match (trace.strings.text(track.name), track.key) {
        ("", TrackKey::Number(number)) => format!("{noun} {number}"),
        ("", TrackKey::Text(key)) => trace.strings.text(key).to_owned(),
        (name, TrackKey::Number(number)) if track.kind == TrackKind::Thread => format!("{name} ({number})"),
        (name, _) => name.to_owned(),
    }
}
