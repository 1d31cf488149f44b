//! The session: hands every input to the part of the machine that it concerns, and closes windows when it is time.

use rankscope_time::Span;

use super::listener::Listener;
use super::outbox::Outbox;
use super::pacing::{Pace, Pacer};
use super::prober::Prober;
use super::rounds::Rounds;
use super::settings::SessionSettings;
use super::tokens::Role;
use super::wire::{Header, Kind, Opened, Reject, claimed_edge};
use super::{Arrived, Counters, EdgeState, EdgeView, Input, Now, Output, Stamp, incarnation};
use crate::nodes::NodeEstimate;
use crate::{Edge, HostInstant, MonotonicInstant, NodeId, NodeWindow, Rng, Transport};

/// One node's part in synchronisation.
#[derive(Debug)]
pub struct Session {
    settings: SessionSettings,
    out: Outbox,
    /// Edges that begin here, in order of `dst`.
    probers: Vec<Prober>,
    /// Edges that end here, in order of `src`.
    listeners: Vec<Listener>,
    rounds: Rounds,
    window: OpenWindow,
    /// Until when it was awake, or had asked to sleep.
    awake: MonotonicInstant,
    stopping: Option<Stopping>,
    stopped: bool,
}

/// The window in progress.
#[derive(Debug)]
struct OpenWindow {
    id: u64,
    opened: MonotonicInstant,
    /// First and last arrival of others' probes on this node's clock.
    answered: Option<(HostInstant, HostInstant)>,
}

/// How far stopping has come.
#[derive(Debug)]
struct Stopping {
    since: MonotonicInstant,
    /// Since when the peers are being told, and when they are told again.
    fin: Option<(MonotonicInstant, MonotonicInstant)>,
}

impl Session {
    /// A session that begins now.
    pub fn new(settings: SessionSettings, now: Now) -> Self {
        let settings = settings.tidied();
        let incarnation = incarnation::of(now.host);
        let period = settings.train_period();
        let from_here = || settings.edges.iter().filter(|edge| edge.src == settings.node);
        let SessionSettings { cadence, spacing, jitter_percent, train, run, seed, .. } = settings;
        let pace = Pace { cadence, spacing, jitter_percent, train, period, run, seed };
        let probers = from_here().enumerate();
        let probers = probers.map(|(index, edge)| Prober::new(*edge, index, Pacer::new(pace, now.monotonic), &settings, now));
        let to_here = settings.edges.iter().filter(|edge| edge.dst == settings.node).enumerate();
        let listeners = to_here.map(|(index, edge)| Listener::new(*edge, index, settings.spacing, period, now));
        Self {
            out: Outbox::new(settings.key.clone(), settings.run, settings.node, incarnation, settings.transports),
            probers: probers.collect(),
            listeners: listeners.collect(),
            rounds: Rounds::new(&settings, now),
            window: OpenWindow { id: 0, opened: now.monotonic, answered: None },
            awake: now.monotonic,
            stopping: None,
            stopped: false,
            settings,
        }
    }

    /// Takes what happened outside. Nothing that comes in can make it panic or stall; what makes no sense is counted.
    pub fn handle(&mut self, now: Now, input: Input) {
        if self.stopped {
            return;
        }
        // A driver that was stopped hands over all that came meanwhile before it asks for anything: it overslept once.
        let overslept = now.monotonic - self.awake;
        self.awake = self.awake.max(now.monotonic);
        if overslept > Span::from_nanos(self.settings.window.as_nanos() / 8) {
            self.rounds.excuse(overslept);
        }
        match input {
            Input::Packet { socket, over, received, bytes } => {
                self.out.counters.packets_received += 1;
                if let Err(reason) = self.receive(now, socket, over, received, bytes) {
                    self.note_rejected(reason, socket, bytes);
                }
            }
            Input::Sent { token, stamp } => self.note_sent(token, stamp),
            Input::Tick => {}
            Input::Stop => self.stop(now),
        }
        self.advance(now);
    }

    /// What to do outside next. To be called until it is [`Output::Wake`] or [`Output::Stopped`].
    pub fn poll(&mut self) -> Output {
        match self.out.queue.pop_front() {
            Some(output) => output,
            None if self.stopped => Output::Stopped,
            None => {
                self.awake = self.due();
                Output::Wake(self.awake)
            }
        }
    }

    /// Whether `bytes` are a packet that was made with the key of this run: what a driver asks before it keeps a connection.
    pub fn admits(&self, bytes: &[u8]) -> bool {
        self.out.open(bytes).is_ok()
    }

    /// What has been counted since the session began.
    pub fn counters(&self) -> &Counters {
        &self.out.counters
    }

    /// This node's ends of its edges, at the instant `now`.
    pub fn edges(&self, now: MonotonicInstant) -> impl Iterator<Item = EdgeView> {
        let probers = self.probers.iter().map(move |prober| EdgeView {
            edge: prober.edge,
            state: prober.state(now),
            transport: prober.transport(),
            exchanges_per_s: prober.exchanges_per_s(),
        });
        let listeners = self.listeners.iter().map(|listener| {
            let state = if listener.is_open() { EdgeState::Answering } else { EdgeState::Listening };
            EdgeView { edge: listener.edge, state, transport: listener.transport(), exchanges_per_s: 0.0 }
        });
        probers.chain(listeners)
    }

    /// The master, as far as this node knows.
    pub fn master(&self) -> Option<NodeId> {
        self.rounds.master()
    }

    /// Whether this node is the master.
    pub fn is_master(&self) -> bool {
        self.rounds.is_master()
    }

    /// Bytes in the parts that grow with what comes in. They are bounded; this tells how far they are used.
    pub fn held_bytes(&self) -> usize {
        let collected: usize = self.probers.iter().map(|prober| prober.collected.held_bytes()).sum();
        collected + self.rounds.held_bytes() + self.out.queue.capacity() * size_of::<Output>()
    }

    fn receive(
        &mut self,
        now: Now,
        socket: Option<Edge>,
        over: Transport,
        stamp: Option<Stamp>,
        bytes: &[u8],
    ) -> Result<(), Reject> {
        let Opened { header, values, body } = self.out.open(bytes)?;
        if !self.out.reach.allows(over) {
            return Err(Reject::Transport);
        }
        if header.kind == Kind::Control {
            return self.receive_control(now, &header, over, body);
        }
        let edge = header.edge;
        if socket.is_some_and(|socket| socket != edge) {
            return Err(Reject::Edge);
        }
        if header.kind.is_for_listener() {
            let listener = self.listeners.iter_mut().find(|listener| listener.edge == edge).ok_or(Reject::Edge)?;
            listener.receive(now, &header, Arrived { over, stamp }, self.stopping.is_some(), &mut self.out)?;
            if let Some(at) = stamp.map(|stamp| stamp.at) {
                let (first, last) = self.window.answered.unwrap_or((at, at));
                self.window.answered = Some((first.min(at), last.max(at)));
            }
            Ok(())
        } else {
            let prober = self.probers.iter_mut().find(|prober| prober.edge == edge).ok_or(Reject::Edge)?;
            prober.receive(now, &header, values, Arrived { over, stamp }, &mut self.out)
        }
    }

    fn receive_control(&mut self, now: Now, header: &Header, over: Transport, body: &[u8]) -> Result<(), Reject> {
        let from = self.rounds.is_peer(header.edge.src).filter(|_| header.edge.dst == self.settings.node);
        let from = from.ok_or(Reject::Edge)?;
        // Before it is answered: an answer goes where the question came from.
        self.out.reach.note_heard(header.edge.src, over);
        let ends = self.rounds.receive(now.monotonic, self.window.opened, from, header, body, &mut self.out)?;
        if ends.is_some() {
            self.close_window(now, ends);
        }
        Ok(())
    }

    fn note_rejected(&mut self, reason: Reject, socket: Option<Edge>, bytes: &[u8]) {
        self.out.counters.reject(reason);
        let edge = socket.or_else(|| claimed_edge(bytes));
        if let Some(prober) = self.probers.iter_mut().find(|prober| Some(prober.edge) == edge) {
            prober.note_dropped(reason);
        }
    }

    fn note_sent(&mut self, token: super::Token, stamp: Stamp) {
        let Some(sender) = self.out.tokens.redeem(token) else { return };
        match sender.role {
            Role::Prober => self.probers[sender.index].sent(sender, stamp, &mut self.out),
            Role::Listener => self.listeners[sender.index].sent(sender, stamp),
        }
    }

    /// Does whatever is due.
    fn advance(&mut self, now: Now) {
        for prober in &mut self.probers {
            prober.tick(now, &mut self.out);
        }
        for listener in &mut self.listeners {
            listener.tick(now, &mut self.out);
        }
        let ends = self.rounds.tick(now.monotonic, self.window.opened, &self.settings, &mut self.out);
        if ends.is_some() || self.stopping.is_none() && self.closes_itself() <= now.monotonic {
            self.close_window(now, ends);
        }
        self.advance_stop(now);
        if let Some(estimate) = self.out.told.take() {
            self.align(now, &estimate);
        }
    }

    /// Lays the grid of trains on the clock of the reference, where all nodes lay theirs: so all are awake together, and each wakes
    /// once to probe and to answer, whatever the number of its edges. Within a cadence each has an instant of its own, or all
    /// packets to one node would come at once.
    fn align(&mut self, now: Now, estimate: &NodeEstimate) {
        let gained = Span::from_nanos(((now.host - estimate.at).as_nanos() as f64 * estimate.skew_ppb / 1e9) as i64);
        let on_reference = now.host - estimate.offset - gained;
        let own_ns = Rng::lane(self.settings.run, self.settings.node.0.into()).below(self.settings.cadence.as_nanos() as u64);
        let base = now.monotonic - Span::from_nanos(on_reference.nanos_since_epoch()) + Span::from_nanos(own_ns as i64);
        for prober in &mut self.probers {
            prober.align(now.monotonic, base);
        }
    }

    /// What is due within half a spacing of each other is done together: one wake, and no packet is more than that late.
    fn due(&self) -> MonotonicInstant {
        let first = self.dues().fold(self.rounds.due(), MonotonicInstant::min);
        let together = first + Span::from_nanos(self.settings.spacing.as_nanos() / 2);
        self.dues().filter(|due| *due <= together).fold(first, MonotonicInstant::max)
    }

    fn dues(&self) -> impl Iterator<Item = MonotonicInstant> {
        let edges = self.probers.iter().filter_map(Prober::due).chain(self.listeners.iter().filter_map(Listener::due));
        let stop = self.stopping.as_ref().map(|stopping| stopping.fin.map_or(stopping.since + TELL_MASTER, |(_, again)| again));
        let window = self.stopping.is_none().then(|| self.closes_itself());
        edges.chain(stop).chain(window)
    }

    /// When the window closes without a command. Half a window later than a command would come, so that it rarely does.
    fn closes_itself(&self) -> MonotonicInstant {
        self.window.opened + self.settings.window + Span::from_nanos(self.settings.window.as_nanos() / 2)
    }

    /// Fits what was collected and begins the next window at once: nobody waits for anybody.
    fn close_window(&mut self, now: Now, round: Option<u64>) {
        for prober in &mut self.probers {
            prober.give_up(now, &mut self.out);
        }
        let extents = self.probers.iter().filter_map(|prober| prober.collected.extent()).chain(self.window.answered.take());
        let extent = extents.reduce(|(first, last), (start, end)| (first.min(start), last.max(end)));
        let (start, end) = extent.unwrap_or((now.host, now.host));
        let settings = &self.settings;
        let edges: Vec<_> = self.probers.iter_mut().map(|prober| prober.collected.close(prober.edge, settings)).collect();
        let window = NodeWindow { node: settings.node, window_id: self.window.id, round, start, end, edges };
        self.window.id += 1;
        self.window.opened = now.monotonic;
        let enough = window.edges.iter().any(|record| record.fits.iter().any(Result::is_ok));
        if self.stopping.is_some() && !enough {
            return;
        }
        self.out.counters.windows += 1;
        self.rounds.closed(now.monotonic, &window, settings, &mut self.out);
        self.out.push(Output::Window(window));
    }

    fn stop(&mut self, now: Now) {
        if self.stopping.is_some() {
            return;
        }
        self.stopping = Some(Stopping { since: now.monotonic, fin: None });
        for prober in &mut self.probers {
            prober.pause();
        }
        let round = self.rounds.stop(now.monotonic);
        if !self.rounds.is_master() {
            self.close_window(now, round);
        }
    }

    fn advance_stop(&mut self, now: Now) {
        let Some(stopping) = &mut self.stopping else { return };
        let at = now.monotonic;
        let (since, again) = match stopping.fin {
            None if !self.rounds.is_settled() && at - stopping.since < TELL_MASTER => return,
            None => {
                self.rounds.leave(at, &mut self.out);
                (at, at)
            }
            Some(fin) => fin,
        };
        let open = self.probers.iter().any(|prober| !prober.is_closed()) || self.listeners.iter().any(Listener::is_open);
        if !open || at - since >= TELL_PEERS {
            self.stopped = true;
            return;
        }
        stopping.fin = Some((since, again));
        if again <= at {
            stopping.fin = Some((since, (at + TELL_AGAIN).min(since + TELL_PEERS)));
            self.probers.iter().for_each(|prober| prober.send_fin(&mut self.out));
            self.listeners.iter().for_each(|listener| listener.send_fin(&mut self.out));
        }
    }
}

/// What the last window may take to reach the master, or the last results the workers.
const TELL_MASTER: Span = Span::from_nanos(300_000_000);

/// What the ends of edges may take to be acknowledged.
const TELL_PEERS: Span = Span::from_nanos(100_000_000);
const TELL_AGAIN: Span = Span::from_nanos(40_000_000);
