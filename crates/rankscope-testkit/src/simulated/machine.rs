//! One rank in simulated time: a host that carries out its program, and streams that do what was launched on them.
//!
//! The host runs ahead. A piece of device work starts once its launch has returned, its stream is free and what it waits for is
//! over. Where the host has to wait, or an exchange for other ranks, the rank stands still until that is known.

use super::Job;
use super::author::Author;
use super::meetings::Meetings;
use super::program::{Instruction, Label, Launch, Stream, Thread, Work};
use super::recording::{Call, GradientEnd, HostSpan, Piece, Recording, StreamWait};
use crate::Rng;
use crate::job::START_NS;

/// One rank.
pub(super) struct Machine<'a> {
    author: Author<'a>,
    at: usize,
    step: u32,
    host_ns: i64,
    thread: Thread,
    open: [Vec<OpenSpan>; 2],
    streams: [StreamState; Stream::ALL.len()],
    events: Vec<Event>,
    blocked: Option<Blocked>,
    correlation: u64,
    external: u64,
    frames: u64,
    pub(super) recording: Recording,
}

struct OpenSpan {
    label: Label,
    start_ns: i64,
    /// Of what is no Python frame.
    external: u64,
    /// Of what is one: its id and that of the frame around it.
    python: Option<(u64, Option<u64>)>,
}

#[derive(Default)]
struct StreamState {
    /// Pieces launched on it, in order.
    launched: Vec<usize>,
    /// How many of them are over.
    over: usize,
    /// What the next piece waits for.
    waits: Vec<usize>,
}

/// What a stream had been given when somebody recorded an event.
#[derive(Clone)]
struct Event {
    /// The last piece before, and what the stream was told to wait for since.
    pieces: Vec<usize>,
    stream: Stream,
    correlation: u64,
}

/// A call that returns when a piece is over.
struct Blocked {
    call: &'static str,
    start_ns: i64,
    /// The earliest time that it returns.
    least_ns: i64,
    piece: Option<usize>,
    correlation: u64,
}

impl<'a> Machine<'a> {
    pub(super) fn new(job: &'a Job, rank: u32) -> Self {
        let mut machine = Self {
            author: Author::new(job, rank),
            at: 0,
            step: 0,
            host_ns: START_NS + Rng::lane(job.seed, u64::MAX - u64::from(rank)).below(START_SPREAD_NS) as i64,
            thread: Thread::Main,
            open: [Vec::new(), Vec::new()],
            streams: Default::default(),
            events: Vec::new(),
            blocked: None,
            correlation: 0,
            external: 0,
            frames: 0,
            recording: Recording::default(),
        };
        machine.turn_page();
        machine
    }

    /// Whether the program is over and all that it launched.
    pub(super) fn is_over(&self) -> bool {
        self.blocked.is_none()
            && self.at == self.author.program.len()
            && self.streams.iter().all(|stream| stream.over == stream.launched.len())
    }

    /// A piece that waited for other ranks ends.
    pub(super) fn end(&mut self, piece: usize, end_ns: i64) {
        self.recording.pieces[piece].end_ns = Some(end_ns);
    }

    /// Goes on as far as possible.
    pub(super) fn advance(&mut self, meetings: &mut Meetings) {
        loop {
            self.settle(meetings);
            if !self.unblock() {
                return;
            }
            let Some(instruction) = self.author.program.get(self.at).cloned() else {
                if !self.turn_page() {
                    return;
                }
                continue;
            };
            self.at += 1;
            self.carry_out(instruction);
        }
    }

    /// Has the next step written; false after the last.
    fn turn_page(&mut self) -> bool {
        if self.step == self.author.job.steps {
            return false;
        }
        self.author.program.clear();
        self.author.step(self.step);
        (self.step, self.at) = (self.step + 1, 0);
        true
    }

    fn carry_out(&mut self, instruction: Instruction) {
        match instruction {
            Instruction::Open(label) => self.begin(label),
            Instruction::Close => self.close(),
            Instruction::Spend(ns) => self.host_ns += ns,
            Instruction::Launch(launch) => self.launch(launch),
            Instruction::Record { stream, event } => self.record(stream, event),
            Instruction::Wait { stream, event } => self.wait(stream, event),
            Instruction::Synchronize(stream) => {
                let piece = self.state(stream).launched.last().copied();
                self.block("cudaStreamSynchronize", piece, 1_000);
            }
            Instruction::Run(thread) => {
                self.host_ns += HAND_OFF_NS;
                self.thread = thread;
            }
            Instruction::Gradient { id, finishes } => {
                let (thread, at_ns) = (self.thread, self.host_ns);
                self.recording.gradients.push(GradientEnd { id, thread, at_ns, finishes });
            }
        }
    }

    fn begin(&mut self, label: Label) {
        let python = matches!(label, Label::Frame(..)).then(|| {
            self.frames += 1;
            (self.frames, self.open().iter().rev().find_map(|span| span.python).map(|(id, _)| id))
        });
        self.external += u64::from(python.is_none());
        let external = if python.is_none() { self.external } else { 0 };
        let start_ns = self.host_ns;
        self.open().push(OpenSpan { label, start_ns, external, python });
        // What stands within begins a little later, as it does in a trace.
        self.host_ns += 100;
    }

    fn close(&mut self) {
        let (thread, end_ns) = (self.thread, self.host_ns);
        let OpenSpan { label, start_ns, external, python } = self.open().pop().expect("programs close what they open");
        self.recording.spans.push(HostSpan { label, thread, start_ns, end_ns, external, python });
        self.host_ns += 100;
    }

    fn launch(&mut self, launch: Launch) {
        let external = self.around();
        let correlation = self.next_correlation();
        let piece = self.recording.pieces.len();
        let launched_ns = self.host_ns + launch.host_ns;
        let waits = std::mem::take(&mut self.state(launch.stream).waits);
        self.state(launch.stream).launched.push(piece);
        let (start_ns, end_ns) = (None, None);
        self.recording.pieces.push(Piece { launch, launched_ns, waits, start_ns, end_ns, correlation, external });
        if launch.blocks() {
            self.blocked_by(launch.call(), Some(piece), launch.host_ns, correlation);
        } else {
            self.call(launch.call(), self.host_ns, launched_ns, correlation, true);
            self.host_ns = launched_ns;
        }
    }

    fn record(&mut self, stream: Stream, event: u32) {
        let correlation = self.next_correlation();
        let state = self.state(stream);
        let pieces = state.launched.last().into_iter().chain(&state.waits).copied().collect();
        self.call("cudaEventRecord", self.host_ns, self.host_ns + EVENT_CALL_NS, correlation, false);
        self.host_ns += EVENT_CALL_NS + 200;
        assert_eq!(self.events.len(), event as usize, "events are recorded in their order");
        self.events.push(Event { pieces, stream, correlation });
    }

    fn wait(&mut self, stream: Stream, event: u32) {
        let (event, correlation) = (self.events[event as usize].clone(), self.next_correlation());
        let at_ns = self.host_ns;
        self.call("cudaStreamWaitEvent", at_ns, at_ns + EVENT_CALL_NS, correlation, false);
        self.host_ns += EVENT_CALL_NS + 200;
        self.state(stream).waits.extend(event.pieces);
        let (awaited, recorded_by) = (event.stream, event.correlation);
        self.recording.waits.push(StreamWait { waiting: stream, awaited, at_ns, correlation, recorded_by });
    }

    fn block(&mut self, call: &'static str, piece: Option<usize>, least_ns: i64) {
        let correlation = self.next_correlation();
        self.blocked_by(call, piece, least_ns, correlation);
    }

    fn blocked_by(&mut self, call: &'static str, piece: Option<usize>, least_ns: i64, correlation: u64) {
        let start_ns = self.host_ns;
        self.blocked = Some(Blocked { call, start_ns, least_ns: start_ns + least_ns, piece, correlation });
    }

    /// Whether the host can go on.
    fn unblock(&mut self) -> bool {
        let Some(blocked) = &self.blocked else { return true };
        let over_ns = match blocked.piece {
            Some(piece) => self.recording.pieces[piece].end_ns,
            None => Some(blocked.start_ns),
        };
        let Some(over_ns) = over_ns else { return false };
        let Some(Blocked { call, start_ns, least_ns, correlation, .. }) = self.blocked.take() else { return true };
        self.host_ns = least_ns.max(over_ns + RETURN_NS);
        self.call(call, start_ns, self.host_ns, correlation, call == "cudaMemcpyAsync");
        true
    }

    /// Starts and ends what can be started and ended on the streams.
    fn settle(&mut self, meetings: &mut Meetings) {
        loop {
            let mut moved = false;
            for stream in 0..self.streams.len() {
                while self.settle_next(stream, meetings) {
                    moved = true;
                }
            }
            if !moved {
                return;
            }
        }
    }

    /// Whether the next piece of a stream is over.
    fn settle_next(&mut self, stream: usize, meetings: &mut Meetings) -> bool {
        let StreamState { launched, over, .. } = &self.streams[stream];
        let Some(&at) = launched.get(*over) else { return false };
        let before = over.checked_sub(1).map(|before| launched[before]);
        let pieces = &self.recording.pieces;
        if pieces[at].start_ns.is_none() {
            let end_of = |piece: &usize| pieces[*piece].end_ns;
            let Some(awaited) = pieces[at].waits.iter().map(end_of).collect::<Option<Vec<_>>>() else { return false };
            let free_ns = before.as_ref().and_then(end_of).map(|end| end + GAP_NS);
            let first_ns = pieces[at].launched_ns + LATENCY_NS;
            let start_ns = awaited.into_iter().map(|end| end + GAP_NS).chain(free_ns).fold(first_ns, i64::max);
            let piece = &mut self.recording.pieces[at];
            piece.start_ns = Some(start_ns);
            match piece.launch.work {
                Work::Exchange(exchange) => meetings.arrive(self.author.rank, at, &exchange, start_ns),
                _ => piece.end_ns = Some(start_ns + piece.launch.device_ns),
            }
        }
        let is_over = self.recording.pieces[at].end_ns.is_some();
        self.streams[stream].over += usize::from(is_over);
        is_over
    }

    fn call(&mut self, name: &'static str, start_ns: i64, end_ns: i64, correlation: u64, launches: bool) {
        let (thread, external) = (self.thread, self.around());
        self.recording.calls.push(Call { name, thread, start_ns, end_ns, correlation, external, launches });
    }

    /// The id of the innermost operator or annotation.
    fn around(&mut self) -> u64 {
        self.open().iter().rev().map(|span| span.external).find(|external| *external > 0).unwrap_or_default()
    }

    fn open(&mut self) -> &mut Vec<OpenSpan> {
        &mut self.open[self.thread as usize]
    }

    fn state(&mut self, stream: Stream) -> &mut StreamState {
        &mut self.streams[stream as usize]
    }

    fn next_correlation(&mut self) -> u64 {
        self.correlation += 1;
        self.correlation
    }
}

/// Ranks do not start together.
const START_SPREAD_NS: u64 = 40_000;
/// From the end of a launch to the earliest start of what it launches.
const LATENCY_NS: i64 = 1_500;
/// Between two pieces of a stream, and from an event to what waits for it.
const GAP_NS: i64 = 800;
/// From the end of what the host waits for to its going on.
const RETURN_NS: i64 = 1_500;
const HAND_OFF_NS: i64 = 6_000;
const EVENT_CALL_NS: i64 = 1_300;
