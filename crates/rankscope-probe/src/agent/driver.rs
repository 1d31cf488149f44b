//! The loop of one agent: it waits, moves bytes and stamps between sockets and the session, and writes what the session says.
//!
//! One thread does everything, so nothing is locked and nothing can stall anything else. While probes come and go it sleeps by
//! the clock and reads once a cadence what has come: the kernel stamped it, so being read later costs nothing, and waking costs more
//! than all else that is done here. Only when nothing is going on does it wait for packets.

use std::collections::VecDeque;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use rankscope_clock::session::{Destination, Input, Output, Session, SessionSettings, Token};
use rankscope_clock::{MonotonicInstant, Transport};
use rankscope_time::Span;

use super::endpoints::Endpoints;
use super::files::Files;
use super::leaving::Leaving;
use super::streams::Streams;
use super::witnesses::Witnesses;
use super::{Event, Summary};
use crate::clocks::HostTime;
use crate::stamps::{PACKETS_MAX, PacketStamp, SentId, wait};

/// How long a request to stop may go unseen.
const STOP_SEEN_WITHIN: Span = Span::from_nanos(50_000_000);

/// Packets are read this often while they come, whatever the cadence.
const READ_EVERY: Span = Span::from_nanos(2_000_000);

/// Packets of one socket whose stamps are waited for. Older ones are given up: the session has long done so too.
const OWED_MAX: usize = 1_024;

/// Everything one agent has.
pub(super) struct Driver {
    session: Session,
    host: HostTime,
    endpoints: Endpoints,
    /// Packets that leave together, once the session wants nothing more.
    leaving: Leaving,
    /// For each socket, the packets sent whose stamps have not come, oldest first.
    owed: Vec<VecDeque<(SentId, Token)>>,
    /// None where only datagrams are allowed.
    streams: Option<Streams>,
    /// Packets that went into streams since the session was fed last, and when.
    streamed: Vec<(Token, PacketStamp)>,
    files: Files,
    events: SyncSender<Event>,
    stop: Arc<AtomicBool>,
    /// While probes come in, they are read once a cadence: each exchange is then answered by itself, as slowly as it was asked,
    /// and packets of both directions leave an equally awake processor. Else one way would be faster by 100 ns.
    cadence: Span,
    /// Whether nothing had come when packets were read last, and how many had come until then.
    idle: bool,
    counted: u64,
    /// When packets are read next, whatever else is due.
    read_due: MonotonicInstant,
    witnesses: Witnesses,
    summary: Summary,
}

impl Driver {
    pub(super) fn new(
        settings: SessionSettings,
        mut host: HostTime,
        (endpoints, streams): (Endpoints, Option<Streams>),
        files: Files,
        events: SyncSender<Event>,
        stop: Arc<AtomicBool>,
    ) -> Self {
        let (cadence, now) = (settings.cadence.min(READ_EVERY), host.now());
        let leaving = Leaving::new(settings.seed);
        let session = Session::new(settings, now);
        let owed = endpoints.sockets.iter().map(|_| VecDeque::new()).collect();
        Self {
            session,
            host,
            endpoints,
            leaving,
            owed,
            streams,
            streamed: Vec::new(),
            files,
            events,
            stop,
            cadence,
            idle: true,
            counted: 0,
            read_due: now.monotonic,
            witnesses: Witnesses::default(),
            summary: Summary::default(),
        }
    }

    /// Runs until it is stopped, and closes everything within half a second of that.
    pub(super) fn run(mut self) -> Summary {
        let mut stopping = false;
        self.feed(Input::Tick);
        while let Some(wake) = self.drain() {
            let wake = wake.min(self.host.snapshot_due());
            let reads = self.rest_until(wake).unwrap_or_else(|error| {
                self.trouble(format!("cannot wait for packets: {error}"));
                std::thread::sleep(Duration::from_millis(1));
                true
            });
            if self.host.snapshot_due() <= self.host.now().monotonic {
                self.snapshot();
            }
            self.collect_stamps();
            if reads {
                self.collect_packets();
                self.collect_frames();
                self.note_what_came();
            }
            self.feed(Input::Tick);
            if !stopping && self.stop.load(Ordering::Relaxed) {
                stopping = true;
                self.feed(Input::Stop);
                // Who has nobody to tell is done now, and not when it wakes next.
                self.feed(Input::Tick);
            }
        }
        if let Err(error) = self.files.finish() {
            self.trouble(error);
        }
        self.summary.finish(&self.session);
        self.summary
    }

    fn feed(&mut self, input: Input) {
        let now = self.host.now();
        self.session.handle(now, input);
    }

    /// Does what the session wants done; returns when it wants to be woken, none when it is over.
    fn drain(&mut self) -> Option<MonotonicInstant> {
        let wake = self.drain_outputs();
        for (to, token, bytes) in self.leaving.take() {
            self.transmit(to, token, &bytes);
        }
        wake
    }

    fn drain_outputs(&mut self) -> Option<MonotonicInstant> {
        loop {
            match self.session.poll() {
                Output::Transmit { to, over: Transport::Udp, token, bytes } => self.leaving.push(to, token, bytes),
                Output::Transmit { to, over: Transport::Tcp, token, bytes } => self.write(to, token, &bytes),
                Output::Window(window) => {
                    let written = self.files.window(&window);
                    self.report(written);
                    self.tell(Event::Window(window));
                    self.hear_witnesses();
                }
                Output::Solved { round, solution } => {
                    let written = self.files.solution(round, &solution);
                    self.report(written);
                    self.tell(Event::Solved { round, solution });
                }
                Output::Clock { round, estimate } => self.tell(Event::Clock { round, estimate }),
                Output::Rerouted { edge, over } => self.tell(Event::Rerouted { edge, over }),
                Output::Wake(at) => return Some(at),
                Output::Stopped => return None,
            }
        }
    }

    fn transmit(&mut self, to: Destination, token: Option<Token>, bytes: &[u8]) {
        let Some((index, address)) = self.endpoints.route(to) else { return };
        match self.endpoints.sockets[index].socket.send(address, bytes) {
            Ok(id) => {
                self.summary.sent_packets += 1;
                if let Some(token) = token {
                    let owed = &mut self.owed[index];
                    if owed.len() == OWED_MAX {
                        owed.pop_front();
                    }
                    owed.push_back((id, token));
                }
            }
            // A peer that is not there, or a full queue: the session treats it as any other loss.
            Err(_) => self.summary.unsent_packets += 1,
        }
    }

    fn write(&mut self, to: Destination, token: Option<Token>, bytes: &[u8]) {
        let now = self.host.now().monotonic;
        let Some(streams) = &mut self.streams else { return };
        match streams.send(now, to, bytes) {
            Some(stamp) => {
                self.summary.sent_packets += 1;
                self.streamed.extend(token.map(|token| (token, stamp)));
            }
            None => self.summary.unsent_packets += 1,
        }
    }

    /// Waits until `wake`, or until packets are to be read; returns whether they are.
    fn rest_until(&mut self, wake: MonotonicInstant) -> io::Result<bool> {
        let now = self.host.now().monotonic;
        // In the middle of a train there is no waiting for answers: they are read with the next exchange.
        let quiet = self.idle && wake - now > self.cadence + self.cadence;
        // Who is awake about the time when packets are read reads them then.
        let about = Span::from_nanos(self.cadence.as_nanos() / 4);
        let wake = match quiet {
            true => wake.min(now + STOP_SEEN_WITHIN),
            false if wake <= self.read_due + about => wake,
            false => self.read_due,
        };
        let left = Duration::from_nanos((wake - now).max(Span::ZERO).as_nanos() as u64);
        if quiet {
            let sockets = self.endpoints.sockets.iter().map(|endpoint| endpoint.socket.as_fd());
            wait(sockets.chain(self.streams.iter().flat_map(Streams::sources)), left)?;
            return Ok(true);
        }
        std::thread::sleep(left);
        Ok(self.read_due - about <= wake.max(now))
    }

    fn snapshot(&mut self) {
        if let Err(error) = self.host.snapshot() {
            self.trouble(format!("the clock of the network card can no longer be read: {error}"));
        }
        let runs = self.host.take_trace_runs();
        let written = self.files.snapshots(&runs);
        self.report(written);
        for event in self.host.take_events() {
            self.tell(Event::Steered(event));
        }
    }

    /// Once a window, asks the time daemons what they say, for comparison afterwards.
    fn hear_witnesses(&mut self) {
        if !self.files.has_snapshots() {
            return;
        }
        for (witness, knot) in self.witnesses.hear(&mut self.host) {
            let written = self.files.witness(witness, &knot);
            self.report(written);
        }
    }

    fn collect_stamps(&mut self) {
        for (token, left) in self.streamed.drain(..) {
            match self.host.stamp(left) {
                Ok(stamp) => self.session.handle(self.host.now(), Input::Sent { token, stamp }),
                Err(_) => self.summary.unusable_stamps += 1,
            }
        }
        let sent = self.endpoints.sockets.iter_mut().zip(&mut self.owed);
        for (endpoint, owed) in sent.filter(|(endpoint, _)| endpoint.socket.unstamped() > 0) {
            let (session, host, unusable) = (&mut self.session, &mut self.host, &mut self.summary.unusable_stamps);
            let drained = endpoint.socket.drain_stamps(|id, packet| {
                let Ok(place) = owed.binary_search_by_key(&id, |(id, _)| *id) else { return };
                let Some((_, token)) = owed.remove(place) else { return };
                match host.stamp(packet) {
                    Ok(stamp) => session.handle(host.now(), Input::Sent { token, stamp }),
                    Err(_) => *unusable += 1,
                }
            });
            if drained.is_err() {
                self.summary.socket_errors += 1;
            }
        }
    }

    fn collect_packets(&mut self) {
        for index in 0..self.endpoints.sockets.len() {
            let mut more = true;
            while more {
                let (session, host, unusable) = (&mut self.session, &mut self.host, &mut self.summary.unusable_stamps);
                let endpoint = &mut self.endpoints.sockets[index];
                let edge = endpoint.edge;
                let got = endpoint.socket.receive(|packet| {
                    let received = packet.stamp.and_then(|stamp| host.stamp(stamp).ok());
                    *unusable += u64::from(received.is_none());
                    let over = Transport::Udp;
                    session.handle(host.now(), Input::Packet { socket: edge, over, received, bytes: packet.bytes });
                });
                // A batch that is not full was the last.
                more = got.as_ref().is_ok_and(|count| *count >= PACKETS_MAX);
                match got {
                    Ok(count) => self.summary.received_packets += count as u64,
                    Err(_) => self.summary.socket_errors += 1,
                }
            }
        }
    }

    /// Packets that came in streams. One whose first packet is not of this run is closed.
    fn collect_frames(&mut self) {
        let Some(streams) = &mut self.streams else { return };
        let (session, host, summary) = (&mut self.session, &mut self.host, &mut self.summary);
        streams.receive(host.now().monotonic, |bytes, stamp, proved| {
            if !proved && !session.admits(bytes) {
                return false;
            }
            let received = host.stamp(stamp).ok();
            summary.unusable_stamps += u64::from(received.is_none());
            summary.received_packets += 1;
            session.handle(host.now(), Input::Packet { socket: None, over: Transport::Tcp, received, bytes });
            true
        });
    }

    fn note_what_came(&mut self) {
        self.idle = self.summary.received_packets == self.counted;
        self.counted = self.summary.received_packets;
        self.read_due = self.host.now().monotonic + self.cadence;
    }

    fn report(&mut self, written: Result<(), String>) {
        if let Err(text) = written {
            self.trouble(text);
        }
    }

    fn trouble(&mut self, text: String) {
        self.tell(Event::Trouble(text));
    }

    /// Nobody who listens slowly may stall the agent: what does not fit is counted.
    fn tell(&mut self, event: Event) {
        self.summary.untold_events += u64::from(self.events.try_send(event).is_err());
    }
}
