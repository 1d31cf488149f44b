//! What happened on one rank, in true time.

use super::program::{Label, Launch, Stream, Thread};

/// What happened on one rank, in true time.
#[derive(Debug, Default)]
pub(super) struct Recording {
    pub(super) spans: Vec<HostSpan>,
    pub(super) calls: Vec<Call>,
    pub(super) waits: Vec<StreamWait>,
    pub(super) gradients: Vec<GradientEnd>,
    pub(super) pieces: Vec<Piece>,
}

#[derive(Debug)]
pub(super) struct HostSpan {
    pub(super) label: Label,
    pub(super) thread: Thread,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    /// Of what is no Python frame.
    pub(super) external: u64,
    /// Of what is one: its id and that of the frame around it.
    pub(super) python: Option<(u64, Option<u64>)>,
}

/// A call of the device's library.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) thread: Thread,
    pub(super) start_ns: i64,
    pub(super) end_ns: i64,
    pub(super) correlation: u64,
    pub(super) external: u64,
    /// Whether something happens on the device for it.
    pub(super) launches: bool,
}

/// A stream is told to wait for another one.
#[derive(Debug)]
pub(super) struct StreamWait {
    pub(super) waiting: Stream,
    pub(super) awaited: Stream,
    pub(super) at_ns: i64,
    pub(super) correlation: u64,
    /// Correlation of the call that recorded the event.
    pub(super) recorded_by: u64,
}

#[derive(Debug)]
pub(super) struct GradientEnd {
    pub(super) id: u64,
    pub(super) thread: Thread,
    pub(super) at_ns: i64,
    pub(super) finishes: bool,
}

/// A piece of work of a stream.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) launch: Launch,
    /// When the call returned.
    pub(super) launched_ns: i64,
    /// Pieces of other streams that have to be over before.
    pub(super) waits: Vec<usize>,
    /// Known once the simulation has come so far, and everywhere when it is over.
    pub(super) start_ns: Option<i64>,
    pub(super) end_ns: Option<i64>,
    pub(super) correlation: u64,
    pub(super) external: u64,
}

impl Piece {
    /// Start and end.
    pub(super) fn times_ns(&self) -> (i64, i64) {
        let over = "a simulation ends when all pieces are over";
        (self.start_ns.expect(over), self.end_ns.expect(over))
    }
}

impl Recording {
    /// Start and end of each step of the host.
    pub(super) fn steps(&self) -> impl Iterator<Item = (i64, i64)> {
        let steps = self.spans.iter().filter(|span| matches!(span.label, Label::Step(_)));
        steps.map(|span| (span.start_ns, span.end_ns))
    }
}
