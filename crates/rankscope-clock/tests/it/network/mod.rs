//! Sessions on a network that exists only here: links that lose, double, delay and part, hosts whose clocks are wrong in a
//! known way, and processes that can be killed.
//!
//! Time is a number. Events are handled in its order, and those of one instant in the order they were made, so a seed gives the
//! same run everywhere.

pub(crate) mod estimate;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rankscope_clock::nodes::{NodeEstimate, Solution};
use rankscope_clock::session::{Destination, Input, Key, Now, Output, Packet, Session, SessionSettings, Stamp, Token, wire};
use rankscope_clock::simulate::SimClock;
use rankscope_clock::{Edge, HostInstant, MonotonicInstant, NodeId, NodeWindow, Rng, StampSource, Transport};
use rankscope_time::{Rate, Span};

pub(crate) const MS: i64 = 1_000_000;
pub(crate) const SECOND: i64 = 1_000_000_000;

/// When the simulation begins, in true time.
pub(crate) const EPOCH_NS: i64 = 1_790_000_000_000_000_000;

/// Packets that a socket holds.
const HELD_MAX: usize = 256;

/// What links do to packets.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Weather {
    /// Share of probes lost.
    pub(crate) probe_loss: f64,
    /// Share of control packets lost.
    pub(crate) control_loss: f64,
    /// Share of packets delivered twice.
    pub(crate) duplicates: f64,
    /// Share of packets held back by a millisecond.
    pub(crate) reordering: f64,
    /// Share of transmit stamps that never come.
    pub(crate) stamp_loss: f64,
}

/// A packet as it left.
pub(crate) struct Sent {
    pub(crate) at_ns: i64,
    pub(crate) from: usize,
    pub(crate) over: Transport,
    pub(crate) bytes: Packet,
}

pub(crate) struct Host {
    pub(crate) clock: SimClock,
    pub(crate) session: Option<Session>,
    pub(crate) settings: SessionSettings,
    pub(crate) windows: Vec<(i64, NodeWindow)>,
    pub(crate) clocks: Vec<(i64, u64, NodeEstimate)>,
    pub(crate) solved: Vec<(i64, u64, Solution)>,
    pub(crate) stopped_at: Option<i64>,
    /// While its process is stopped, what the kernel holds for it.
    held: Option<Vec<Held>>,
    /// Counts processes, so that events of a dead one do not reach the next.
    life: u32,
    wake: i64,
}

enum Held {
    Packet { over: Transport, received: Stamp, bytes: Packet },
    Departed { token: Token, stamp: Stamp },
}

enum Event {
    Deliver { to: usize, over: Transport, bytes: Packet },
    Departed { node: usize, life: u32, token: Token, stamp: Stamp },
    Wake { node: usize, life: u32 },
}

struct Entry {
    at_ns: i64,
    number: u64,
    event: Event,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Entry {}
impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Entry {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at_ns, self.number).cmp(&(other.at_ns, other.number))
    }
}

pub(crate) struct Network {
    pub(crate) now_ns: i64,
    pub(crate) hosts: Vec<Host>,
    pub(crate) weather: Weather,
    /// Which side of a partition each host is on.
    pub(crate) side: Vec<u32>,
    /// Pairs whose datagrams are dropped, from whom to whom.
    pub(crate) filtered: BTreeSet<(usize, usize)>,
    /// Of every stream, when its last segment arrives: the next does not overtake it.
    last_arrivals: BTreeMap<(usize, usize, Transport), i64>,
    /// Sees every packet as it leaves, and says whether it goes on its way.
    pub(crate) tap: Box<dyn FnMut(&Sent) -> bool>,
    /// How late a driver wakes up.
    pub(crate) wake_late_ns: i64,
    pub(crate) keep_history: bool,
    /// Where that is kept: windows and solutions, too, and not clocks alone.
    pub(crate) keep_windows: bool,
    /// What the sessions of hosts take of this processor, by host, for those that are looked at.
    pub(crate) busy: BTreeMap<usize, Duration>,
    queue: BinaryHeap<Reverse<Entry>>,
    number: u64,
    rng: Rng,
}

/// A complete graph, each pair probed from its lower node, or from the higher where the sum is odd.
pub(crate) fn complete(nodes: u32) -> Vec<Edge> {
    let pairs = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| if (a + b) % 2 == 0 { (a, b) } else { (b, a) }));
    pairs.map(|(a, b)| Edge { src: NodeId(a), dst: NodeId(b) }).collect()
}

/// Every node probes the `reach` next ones.
pub(crate) fn circle(nodes: u32, reach: u32) -> Vec<Edge> {
    let edges = (0..nodes).flat_map(|a| (1..=reach).map(move |step| (a, (a + step) % nodes)));
    edges.map(|(a, b)| Edge { src: NodeId(a), dst: NodeId(b) }).collect()
}

pub(crate) fn settings(node: u32, edges: &[Edge]) -> SessionSettings {
    let (fit_options, solve_options) = estimate::options();
    let key = Key::derive(b"the job's secret");
    let mut settings = SessionSettings::new(NodeId(node), edges.to_vec(), 77, key, fit_options, solve_options);
    settings.fit = estimate::fit;
    settings.solve = estimate::solve;
    settings
}

impl Network {
    /// `nodes` hosts that are all off, with clocks up to five seconds and 50 ppm apart.
    pub(crate) fn new(nodes: u32, edges: &[Edge], seed: u64, change: impl Fn(&mut SessionSettings)) -> Self {
        let mut rng = Rng::new(seed);
        let participants: Arc<[NodeId]> = (0..nodes).map(NodeId).collect();
        let hosts = (0..nodes).map(|node| {
            let offset = Span::from_nanos(rng.below(10_000_000_000) as i64 - 5_000_000_000);
            let skew = Rate::from_ppb(rng.below(100_000) as i64 - 50_000);
            let mut settings = settings(node, edges);
            settings.participants = Arc::clone(&participants);
            settings.seed = seed;
            change(&mut settings);
            Host {
                clock: SimClock::new(EPOCH_NS, offset, skew, 0.0, seed),
                session: None,
                settings,
                windows: Vec::new(),
                clocks: Vec::new(),
                solved: Vec::new(),
                stopped_at: None,
                held: None,
                life: 0,
                wake: i64::MAX,
            }
        });
        Self {
            now_ns: 0,
            hosts: hosts.collect(),
            weather: Weather::default(),
            side: vec![0; nodes as usize],
            filtered: BTreeSet::new(),
            last_arrivals: BTreeMap::new(),
            tap: Box::new(|_| true),
            wake_late_ns: 0,
            keep_history: true,
            keep_windows: true,
            busy: BTreeMap::new(),
            queue: BinaryHeap::new(),
            number: 0,
            rng,
        }
    }

    /// The same, with everybody started.
    pub(crate) fn started(nodes: u32, edges: &[Edge], seed: u64, change: impl Fn(&mut SessionSettings)) -> Self {
        let mut network = Self::new(nodes, edges, seed, change);
        (0..nodes as usize).for_each(|node| network.start(node));
        network
    }

    pub(crate) fn start(&mut self, node: usize) {
        let now = self.now(node);
        let host = &mut self.hosts[node];
        host.session = Some(Session::new(host.settings.clone(), now));
        host.stopped_at = None;
        self.drain(node);
    }

    pub(crate) fn kill(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        host.session = None;
        host.held = None;
        host.life += 1;
        host.wake = i64::MAX;
    }

    /// Stops the process of `node` in its tracks; the kernel goes on, and stamps what comes.
    pub(crate) fn pause(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        host.held = host.session.as_ref().map(|_| Vec::new());
    }

    /// Lets it go on. As an agent does, it reads all that came before it asks what is to be done.
    pub(crate) fn resume(&mut self, node: usize) {
        for held in self.hosts[node].held.take().into_iter().flatten() {
            match held {
                Held::Packet { over, received, bytes } => {
                    self.take(node, Input::Packet { socket: None, over, received: Some(received), bytes: &bytes });
                }
                Held::Departed { token, stamp } => self.take(node, Input::Sent { token, stamp }),
            }
        }
        self.hosts[node].wake = i64::MAX;
        self.handle(node, Input::Tick);
    }

    /// Sets the clock of `node`, now.
    pub(crate) fn set_clock(&mut self, node: usize, by: Span) {
        let host = &mut self.hosts[node];
        host.clock = host.clock.clone().with_step(EPOCH_NS + self.now_ns, by);
    }

    pub(crate) fn stop(&mut self, node: usize) {
        self.handle(node, Input::Stop);
    }

    pub(crate) fn session(&self, node: usize) -> &Session {
        self.hosts[node].session.as_ref().expect("the host is on")
    }

    pub(crate) fn masters(&self) -> Vec<usize> {
        let is_master = |node: &usize| self.hosts[*node].session.as_ref().is_some_and(Session::is_master);
        (0..self.hosts.len()).filter(is_master).collect()
    }

    pub(crate) fn now(&mut self, node: usize) -> Now {
        let host = self.hosts[node].clock.local_ns(EPOCH_NS + self.now_ns);
        Now {
            monotonic: MonotonicInstant::from_nanos_since_epoch(self.now_ns),
            host: HostInstant::from_nanos_since_epoch(host),
        }
    }

    /// What the clock of `node` shows at `at_ns`.
    pub(crate) fn shown(&mut self, node: usize, at_ns: i64) -> i64 {
        self.hosts[node].clock.local_ns(EPOCH_NS + at_ns)
    }

    /// What `b`'s clock shows more than `a`'s, when `a`'s shows `at`.
    pub(crate) fn difference(&mut self, a: usize, b: usize, at: HostInstant) -> i64 {
        let true_ns = self.hosts[a].clock.true_ns(at.nanos_since_epoch());
        self.hosts[b].clock.local_ns(true_ns) - at.nanos_since_epoch()
    }

    pub(crate) fn run_for(&mut self, span_ns: i64) {
        let until_ns = self.now_ns + span_ns;
        while self.queue.peek().is_some_and(|Reverse(entry)| entry.at_ns <= until_ns) {
            let Some(Reverse(entry)) = self.queue.pop() else { break };
            self.now_ns = entry.at_ns;
            self.happen(entry.event);
        }
        self.now_ns = until_ns;
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::Deliver { to, over, bytes } => {
                let received = self.stamp(to, self.now_ns, over);
                match &mut self.hosts[to].held {
                    Some(held) if held.len() < HELD_MAX => held.push(Held::Packet { over, received, bytes }),
                    Some(_) => {}
                    None => self.handle(to, Input::Packet { socket: None, over, received: Some(received), bytes: &bytes }),
                }
            }
            Event::Departed { node, life, token, stamp } if self.hosts[node].life == life => match &mut self.hosts[node].held {
                Some(held) => held.push(Held::Departed { token, stamp }),
                None => self.handle(node, Input::Sent { token, stamp }),
            },
            Event::Wake { node, .. } if self.hosts[node].held.is_some() => {}
            Event::Wake { node, life } if self.hosts[node].life == life && self.hosts[node].wake <= self.now_ns => {
                self.hosts[node].wake = i64::MAX;
                self.handle(node, Input::Tick);
            }
            Event::Departed { .. } | Event::Wake { .. } => {}
        }
    }

    /// Hands `bytes` to a host as if they came from the network.
    pub(crate) fn inject(&mut self, node: usize, bytes: &[u8]) {
        self.inject_on(node, None, bytes);
    }

    /// The same, on the socket of an edge.
    pub(crate) fn inject_on(&mut self, node: usize, socket: Option<Edge>, bytes: &[u8]) {
        let received = Some(self.stamp(node, self.now_ns, Transport::Udp));
        self.handle(node, Input::Packet { socket, over: Transport::Udp, received, bytes });
    }

    fn stamp(&mut self, node: usize, at_ns: i64, over: Transport) -> Stamp {
        let at = HostInstant::from_nanos_since_epoch(self.hosts[node].clock.local_ns(EPOCH_NS + at_ns));
        let source = match over {
            Transport::Udp => StampSource::Kernel,
            Transport::Tcp => StampSource::User,
        };
        Stamp { at, source }
    }

    fn handle(&mut self, node: usize, input: Input) {
        self.take(node, input);
        self.drain(node);
    }

    fn take(&mut self, node: usize, input: Input) {
        let now = self.now(node);
        if let Some(session) = &mut self.hosts[node].session {
            let begun = self.busy.contains_key(&node).then(Instant::now);
            session.handle(now, input);
            if let (Some(begun), Some(busy)) = (begun, self.busy.get_mut(&node)) {
                *busy += begun.elapsed();
            }
        }
    }

    fn drain(&mut self, node: usize) {
        loop {
            let Some(session) = &mut self.hosts[node].session else { return };
            let output = session.poll();
            let host = &mut self.hosts[node];
            match output {
                Output::Transmit { to, over, token, bytes } => self.transmit(node, to, over, token, bytes),
                Output::Window(window) if self.keep_history && self.keep_windows => host.windows.push((self.now_ns, window)),
                Output::Solved { round, solution } if self.keep_history && self.keep_windows => {
                    host.solved.push((self.now_ns, round, solution))
                }
                Output::Clock { round, estimate } if self.keep_history => host.clocks.push((self.now_ns, round, estimate)),
                Output::Window(_) | Output::Solved { .. } | Output::Clock { .. } | Output::Rerouted { .. } => {}
                Output::Wake(at) => {
                    let at_ns = at.nanos_since_epoch().max(self.now_ns) + self.wake_late_ns;
                    if at_ns < host.wake {
                        host.wake = at_ns;
                        let life = host.life;
                        self.schedule(at_ns, Event::Wake { node, life });
                    }
                    return;
                }
                Output::Stopped => {
                    host.stopped_at = Some(self.now_ns);
                    return self.kill(node);
                }
            }
        }
    }

    fn transmit(&mut self, from: usize, destination: Destination, over: Transport, token: Option<Token>, bytes: Packet) {
        let sent = Sent { at_ns: self.now_ns, from, over, bytes };
        let passes = (self.tap)(&sent);
        let bytes = sent.bytes;
        let to = match destination {
            Destination::Listener(edge) => edge.dst.0 as usize,
            Destination::Prober(edge) => edge.src.0 as usize,
            Destination::Control(node) => node.0 as usize,
        };
        if over == Transport::Tcp {
            return self.write(from, to, token, passes, bytes);
        }
        // Between the program and the wire.
        let left_ns = self.now_ns + 2_000 + self.rng.below(500) as i64;
        if let Some(token) = token
            && self.rng.unit() >= self.weather.stamp_loss
        {
            let life = self.hosts[from].life;
            let told_ns = left_ns + 5_000 + self.rng.below(20_000) as i64;
            let stamp = self.stamp(from, left_ns, over);
            self.schedule(told_ns, Event::Departed { node: from, life, token, stamp });
        }
        let is_control = matches!(destination, Destination::Control(_));
        let loss = if is_control { self.weather.control_loss } else { self.weather.probe_loss };
        let copies = if self.rng.unit() < self.weather.duplicates { 2 } else { 1 };
        for _ in 0..copies {
            if !passes || self.side[from] != self.side[to] || self.filtered.contains(&(from, to)) || self.rng.unit() < loss {
                continue;
            }
            let is_held = self.rng.unit() < self.weather.reordering;
            let delay_ns = 20_000 + (self.rng.exponential() * 5_000.0) as i64;
            let arrives_ns = match is_held {
                true => left_ns + delay_ns + MS,
                false => self.behind_others(from, to, over, left_ns + delay_ns),
            };
            self.schedule(arrives_ns, Event::Deliver { to, over, bytes: bytes.clone() });
        }
    }

    /// A segment of a stream: stamped by the program before the kernel has it, sent again after a fifth of a second where it is lost,
    /// read when the receiver wakes, and never before the one that was written before it.
    fn write(&mut self, from: usize, to: usize, token: Option<Token>, passes: bool, bytes: Packet) {
        if let Some(token) = token {
            let (life, stamp) = (self.hosts[from].life, self.stamp(from, self.now_ns, Transport::Tcp));
            self.schedule(self.now_ns, Event::Departed { node: from, life, token, stamp });
        }
        if !passes || self.side[from] != self.side[to] || self.hosts[to].session.is_none() {
            return;
        }
        let mut delay_ns = 30_000 + (self.rng.exponential() * 20_000.0) as i64 + self.rng.below(800_000) as i64;
        while self.rng.unit() < self.weather.probe_loss {
            delay_ns += 200 * MS;
        }
        let arrives_ns = self.behind_others(from, to, Transport::Tcp, self.now_ns + delay_ns);
        self.schedule(arrives_ns, Event::Deliver { to, over: Transport::Tcp, bytes });
    }

    /// On one path what left later does not arrive earlier.
    fn behind_others(&mut self, from: usize, to: usize, over: Transport, arrives_ns: i64) -> i64 {
        let last_ns = self.last_arrivals.entry((from, to, over)).or_insert(arrives_ns);
        *last_ns = arrives_ns.max(*last_ns);
        *last_ns
    }

    fn schedule(&mut self, at_ns: i64, event: Event) {
        self.queue.push(Reverse(Entry { at_ns, number: self.number, event }));
        self.number += 1;
    }
}

/// The header of a packet that the job's own key made.
pub(crate) fn header(bytes: &[u8]) -> wire::Header {
    wire::open(bytes, &Key::derive(b"the job's secret"), 77).expect("a packet of the job").header
}
