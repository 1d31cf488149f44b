//! The probing end of an edge: handshake, trains of exchanges, and the stamps that come back.
//!
//! ```text
//!             SYN…ACK                train over
//! SynSent ───────────────▶ First ──▶ Second ──▶ Third
//!    ▲                       ▲         │          │
//!    └── silence, FIN ───────┴─────────┴──────────┘
//! ```
//!
//! A peer that does not answer datagrams within the time of a handshake is asked over a stream as well. An answer over either
//! says what carries the edge from then on, and one to a datagram always wins; while streams carry it datagrams are tried now and
//! then.
//!
//! Nothing waits for an answer: exchanges go out on their grid whether the last one came back or not, and a peer that is not
//! heard of is asked for a handshake again, for ever.

use rankscope_time::Span;

use super::backoff::Backoff;
use super::collected::Collected;
use super::listener::LinkReport;
use super::outbox::Outbox;
use super::pacing::Pacer;
use super::pending::{End, Pending};
use super::sequence::{Arrival, Seen};
use super::settings::{SessionSettings, TCP_PERIODS, Transports};
use super::tokens::{Role, Sender};
use super::wire::{CarriedStamp, Header, Kind, Leg, Reject, Value};
use super::{Arrived, EdgeState, Failure, Now, Output, Stamp, incarnation};
use crate::{Edge, MonotonicInstant, Transport};

/// What is awaited.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// An ACK.
    SynSent(Backoff),
    /// The time for the first packet of an exchange.
    First(MonotonicInstant),
    /// The time for its second packet.
    Second(MonotonicInstant),
    /// The time to ask for the stamps that are owed.
    Third(MonotonicInstant),
    /// An acknowledgement of the end.
    Closing,
    /// Nothing.
    Closed,
}

/// The prober of one edge.
#[derive(Debug)]
pub(super) struct Prober {
    pub(super) edge: Edge,
    index: usize,
    phase: Phase,
    /// When the handshake began, and how long it may take before the edge counts as failed.
    begun: MonotonicInstant,
    handshake: Span,
    /// What carries the edge.
    over: Transport,
    /// Whether the peer ever answered on a stream.
    streamed: bool,
    /// While streams carry the edge, when a datagram was tried last.
    asked: MonotonicInstant,
    attempts: u32,
    /// The first attempt of this handshake: an answer to an earlier one is a replay.
    first_attempt: u32,
    /// Why answers were dropped while a handshake was on.
    dropped: Option<Reject>,
    /// The listener's process.
    peer: Option<u32>,
    heard: MonotonicInstant,
    pacer: Pacer,
    /// Number of the next exchange.
    sequence: u32,
    seen: Seen,
    pending: Pending,
    /// The stamp of the last packet that left.
    departed: Option<(u32, Leg, Stamp)>,
    pub(super) collected: Collected,
}

impl Prober {
    pub(super) fn new(edge: Edge, index: usize, pacer: Pacer, settings: &SessionSettings, now: Now) -> Self {
        let only_tcp = settings.transports == Transports::Tcp;
        Self {
            edge,
            index,
            phase: Phase::SynSent(Backoff::new(now.monotonic, SYN_LONGEST)),
            begun: now.monotonic,
            handshake: settings.handshake,
            over: if only_tcp { Transport::Tcp } else { Transport::Udp },
            streamed: only_tcp,
            asked: now.monotonic,
            attempts: 0,
            first_attempt: 1,
            dropped: None,
            peer: None,
            heard: now.monotonic,
            pacer,
            sequence: 0,
            seen: Seen::default(),
            pending: Pending::new(),
            departed: None,
            collected: Collected::default(),
        }
    }

    pub(super) fn state(&self, now: MonotonicInstant) -> EdgeState {
        match self.phase {
            Phase::SynSent(_) if now - self.begun > self.handshake => {
                EdgeState::Failed(self.dropped.map_or(Failure::NoAnswer, Failure::Rejected))
            }
            Phase::SynSent(_) => EdgeState::SynSent,
            Phase::First(_) if self.pacer.rests() => EdgeState::Paused,
            Phase::First(_) | Phase::Second(_) | Phase::Third(_) => EdgeState::Probing,
            Phase::Closing => EdgeState::Closing,
            Phase::Closed => EdgeState::Closed,
        }
    }

    pub(super) fn transport(&self) -> Transport {
        self.over
    }

    /// From its next train on it goes by the grid that begins at `base`.
    pub(super) fn align(&mut self, now: MonotonicInstant, base: MonotonicInstant) {
        self.pacer.align(base);
        if matches!(self.phase, Phase::First(_)) && self.pacer.rests() {
            self.phase = Phase::First(self.pacer.same_train(now));
        }
    }

    pub(super) fn exchanges_per_s(&self) -> f64 {
        if self.peer.is_some() { self.pacer.exchanges_per_s() } else { 0.0 }
    }

    pub(super) fn due(&self) -> Option<MonotonicInstant> {
        match self.phase {
            Phase::SynSent(backoff) => Some(backoff.due),
            Phase::First(at) | Phase::Second(at) | Phase::Third(at) => Some(at),
            Phase::Closing | Phase::Closed => None,
        }
    }

    pub(super) fn tick(&mut self, now: Now, out: &mut Outbox) {
        let at = now.monotonic;
        match self.phase {
            Phase::SynSent(mut backoff) => {
                if !backoff.take(at) {
                    return;
                }
                self.phase = Phase::SynSent(backoff);
                self.attempts += 1;
                for over in self.ways(at, out.reach.allowed()) {
                    self.ask(*over, out);
                }
            }
            Phase::First(due) if due <= at => self.first(now, due, out),
            Phase::Second(due) if due <= at => {
                self.send(Kind::Pt2, Leg::Second, out);
                self.sequence = self.sequence.wrapping_add(1);
                let pace = self.pacer.pace();
                let settled = at + Span::from_nanos((pace.cadence - pace.spacing).as_nanos() / 2);
                self.phase = self.pacer.next_slot(at).map_or(Phase::Third(settled), Phase::First);
            }
            Phase::Third(due) if due <= at => {
                let last = self.sequence.wrapping_sub(1);
                let departure = self.departure(last);
                out.probe(Kind::Pt3, (self.edge, self.over), last, [departure, Value::Nothing], None);
                self.collected.sent_one();
                self.phase = Phase::First(self.pacer.next_train(at));
            }
            _ => {}
        }
    }

    /// On what a peer that does not answer is asked.
    fn ways(&self, at: MonotonicInstant, allowed: Transports) -> &'static [Transport] {
        match allowed {
            Transports::Udp => &[Transport::Udp],
            Transports::Tcp => &[Transport::Tcp],
            Transports::UdpThenTcp if self.streamed || at - self.begun > self.handshake => &[Transport::Udp, Transport::Tcp],
            Transports::UdpThenTcp => &[Transport::Udp],
        }
    }

    fn ask(&self, over: Transport, out: &mut Outbox) {
        out.probe(Kind::Syn, (self.edge, over), self.attempts, [Value::Nothing; 2], None);
    }

    /// Tries whether datagrams pass again.
    fn try_udp(&mut self, at: MonotonicInstant, out: &mut Outbox) {
        if self.over == Transport::Tcp && out.reach.allowed() == Transports::UdpThenTcp && at - self.asked > UDP_AGAIN {
            self.asked = at;
            self.attempts += 1;
            self.ask(Transport::Udp, out);
        }
    }

    fn first(&mut self, now: Now, due: MonotonicInstant, out: &mut Outbox) {
        let at = now.monotonic;
        let period = self.pacer.period();
        if self.pacer.rests() && at - self.heard > SILENCE.max(Span::from_nanos(period.as_nanos().saturating_mul(4))) {
            self.shake_hands(at);
            return self.tick(now, out);
        }
        if at - due > self.pacer.pace().cadence {
            // The driver was late: this exchange's time is over.
            self.phase = Phase::First(self.pacer.next_slot(at).unwrap_or_else(|| self.pacer.next_train(at)));
            return;
        }
        if self.pacer.rests() {
            self.try_udp(at, out);
        }
        if let Some(unfinished) = self.pending.begin(self.sequence, self.over, at) {
            self.collected.take_unfinished(&unfinished, out);
        }
        self.send(Kind::Pt1, Leg::First, out);
        self.phase = Phase::Second(at + self.pacer.pace().spacing);
    }

    fn send(&mut self, kind: Kind, leg: Leg, out: &mut Outbox) {
        let sender = Sender { role: Role::Prober, index: self.index, sequence: self.sequence, leg };
        let departure = self.departure(self.sequence);
        out.probe(kind, (self.edge, self.over), self.sequence, [departure, Value::Nothing], Some(sender));
        self.collected.sent_one();
    }

    /// The true departure of the packet before: the listener has no use for it, but a capture of the packets alone then holds
    /// every stamp of every exchange.
    fn departure(&self, sequence: u32) -> Value {
        let Some((of, leg, stamp)) = self.departed else { return Value::Nothing };
        let back = sequence.wrapping_sub(of);
        if back > u32::from(CarriedStamp::BACK_MAX) {
            return Value::Nothing;
        }
        Value::Stamp(CarriedStamp { stamp, leg, back: back as u8 })
    }

    /// A packet that was given a token has left.
    pub(super) fn sent(&mut self, sender: Sender, stamp: Stamp, out: &mut Outbox) {
        self.departed = Some((sender.sequence, sender.leg, stamp));
        self.note(sender.sequence, sender.leg, End::ForwardSent, stamp, out);
    }

    /// Takes a packet of the listener.
    pub(super) fn receive(
        &mut self,
        now: Now,
        header: &Header,
        values: [Value; 2],
        Arrived { over, stamp }: Arrived,
        out: &mut Outbox,
    ) -> Result<(), Reject> {
        if header.kind == Kind::Ack {
            return self.receive_ack(now, header, values, over, out);
        }
        if header.kind == Kind::ProberFinAck && matches!(self.phase, Phase::Closing) {
            self.phase = Phase::Closed;
            return Ok(());
        }
        if self.peer != Some(header.incarnation) {
            return Err(Reject::Session);
        }
        match header.kind {
            Kind::ListenerFin => {
                out.probe(Kind::ListenerFinAck, (self.edge, over), header.sequence, [Value::Nothing; 2], None);
                // It may be started again.
                self.shake_hands(now.monotonic);
            }
            Kind::Pr1 => {
                self.admit(now, header, 0)?;
                self.answered(header.sequence, Leg::First, values, stamp, out);
            }
            Kind::Pr2 => {
                self.admit(now, header, 1)?;
                self.answered(header.sequence, Leg::Second, values, stamp, out);
            }
            Kind::Pr3 => {
                let newest = self.admit(now, header, 2)? == Arrival::Newest;
                self.settle_owed(header.sequence, values[0], out);
                // Counts that were overtaken by newer ones would look like losses taken back.
                if let Value::Number(number) = values[1]
                    && newest
                {
                    self.collected.take_report(LinkReport::of(number));
                }
            }
            _ => return Err(Reject::Kind),
        }
        Ok(())
    }

    fn receive_ack(
        &mut self,
        now: Now,
        header: &Header,
        values: [Value; 2],
        over: Transport,
        out: &mut Outbox,
    ) -> Result<(), Reject> {
        let [Value::Number(echo), Value::Number(period_ns)] = values else { return Err(Reject::Body) };
        if echo != i64::from(out.incarnation()) {
            return Err(Reject::Session);
        }
        if !(self.first_attempt..=self.attempts).contains(&header.sequence) {
            return Err(Reject::Replay);
        }
        if !matches!(self.phase, Phase::SynSent(_)) {
            // An answer to another attempt of this handshake; the session stands. If datagrams pass after all, it goes over to them.
            if over < self.over && self.peer == Some(header.incarnation) {
                self.settle_for(over, Span::from_nanos(period_ns), now.monotonic, out);
            }
            return Ok(());
        }
        let relic = |known| {
            known != header.incarnation && !incarnation::succeeds(header.incarnation, known, Some(self.heard), now.monotonic)
        };
        if self.peer.is_some_and(relic) {
            return Err(Reject::Replay);
        }
        if self.peer.replace(header.incarnation) != Some(header.incarnation) {
            self.pending.clear();
            self.collected.begin_session();
        }
        self.heard = now.monotonic;
        self.dropped = None;
        self.settle_for(over, Span::from_nanos(period_ns), now.monotonic, out);
        self.phase = Phase::First(self.pacer.next_train(now.monotonic));
        Ok(())
    }

    /// From now on `over` carries the edge, with trains no more often than every `period` of the listener's.
    fn settle_for(&mut self, over: Transport, period: Span, now: MonotonicInstant, out: &mut Outbox) {
        let periods = if over == Transport::Tcp { TCP_PERIODS } else { 1 };
        let slowest_ns = period.max(self.pacer.pace().period).as_nanos().saturating_mul(periods);
        self.pacer.limit(Span::from_nanos(slowest_ns));
        self.asked = now;
        self.streamed |= over == Transport::Tcp;
        out.reach.note_edge(self.edge.dst, over);
        if over != self.over {
            self.over = over;
            out.push(Output::Rerouted { edge: self.edge, over });
        }
    }

    fn shake_hands(&mut self, now: MonotonicInstant) {
        self.begun = now;
        self.first_attempt = self.attempts + 1;
        self.phase = Phase::SynSent(Backoff::new(now, SYN_LONGEST));
    }

    fn admit(&mut self, now: Now, header: &Header, leg: u64) -> Result<Arrival, Reject> {
        if self.sequence.wrapping_sub(header.sequence) > u32::from(u16::MAX) {
            return Err(Reject::Session);
        }
        let arrival = self.seen.note(packet_number(header.sequence, leg));
        self.collected.note_arrival(arrival);
        if matches!(arrival, Arrival::Duplicate | Arrival::TooOld) {
            return Err(Reject::Replay);
        }
        self.heard = now.monotonic;
        Ok(arrival)
    }

    fn answered(&mut self, sequence: u32, leg: Leg, values: [Value; 2], stamp: Option<Stamp>, out: &mut Outbox) {
        match values[0] {
            Value::Stamp(carried) => self.note(sequence, leg, End::ForwardReceived, carried.stamp, out),
            Value::Unstamped => self.pending.note_unstamped(sequence),
            Value::Nothing | Value::Number(_) => {}
        }
        match stamp {
            Some(stamp) => self.note(sequence, leg, End::ReverseReceived, stamp, out),
            None => self.pending.note_unstamped(sequence),
        }
        self.settle_owed(sequence, values[1], out);
    }

    fn settle_owed(&mut self, sequence: u32, value: Value, out: &mut Outbox) {
        if let Value::Stamp(CarriedStamp { stamp, leg, back }) = value {
            self.note(sequence.wrapping_sub(back.into()), leg, End::ReverseSent, stamp, out);
        }
    }

    fn note(&mut self, sequence: u32, leg: Leg, end: End, stamp: Stamp, out: &mut Outbox) {
        if let Some(complete) = self.pending.note(sequence, leg, end, stamp) {
            self.collected.take_complete(&complete, out);
        }
    }

    /// Hands what cannot be completed any more to the window that is about to close.
    pub(super) fn give_up(&mut self, now: Now, out: &mut Outbox) {
        for unfinished in self.pending.give_up(now.monotonic) {
            self.collected.take_unfinished(&unfinished, out);
        }
    }

    /// A packet on this edge was dropped; a handshake that fails may say so.
    pub(super) fn note_dropped(&mut self, reason: Reject) {
        if matches!(self.phase, Phase::SynSent(_)) {
            self.dropped = Some(reason);
        }
    }

    /// Tells the listener that this end closes, or tells it again.
    pub(super) fn send_fin(&self, out: &mut Outbox) {
        if !self.is_closed() {
            out.probe(Kind::ProberFin, (self.edge, self.over), self.sequence, [Value::Nothing; 2], None);
        }
    }

    /// Sends nothing more of its own accord.
    pub(super) fn pause(&mut self) {
        self.phase = if matches!(self.phase, Phase::SynSent(_)) { Phase::Closed } else { Phase::Closing };
    }

    pub(super) fn is_closed(&self) -> bool {
        matches!(self.phase, Phase::Closed)
    }
}

/// The order of the packets of one direction of an edge.
pub(super) fn packet_number(sequence: u32, leg: u64) -> u64 {
    u64::from(sequence) * 4 + leg
}

/// A peer that does not answer is asked this often, for ever.
const SYN_LONGEST: Span = Span::from_nanos(2_000_000_000);

/// While streams carry an edge, a datagram is tried this often: firewalls are seldom changed, and a try costs one packet.
const UDP_AGAIN: Span = Span::from_nanos(10_000_000_000);

/// Without an answer for this long, or for four trains, the listener has gone or was started again.
const SILENCE: Span = Span::from_nanos(1_000_000_000);
