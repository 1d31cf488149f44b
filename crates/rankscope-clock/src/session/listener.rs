//! The answering end of an edge: it acknowledges every SYN, answers every exchange, and owes every stamp it makes.
//!
//! It keeps no queue: one answer at a time is under way, and the prober's pace is its pace.

use rankscope_time::Span;

use super::outbox::Outbox;
use super::pending::Owed;
use super::prober::packet_number;
use super::sequence::{Arrival, Seen};
use super::tokens::{Role, Sender};
use super::wire::{CarriedStamp, Header, Kind, Leg, Reject, Value};
use super::{Arrived, Now, Stamp, incarnation};
use crate::{Edge, MonotonicInstant, Transport};

/// The second answer of an exchange, once the first has been sent.
#[derive(Clone, Copy, Debug)]
struct SecondAnswer {
    due: MonotonicInstant,
    sequence: u32,
    arrival: Value,
}

/// What was lost, as the listener sees it: counts that wrap, of one session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LinkReport {
    pub(super) received: u16,
    pub(super) answered: u16,
    pub(super) reordered: u16,
    pub(super) duplicated: u16,
}

impl LinkReport {
    fn value(self) -> Value {
        let [a, b] = self.received.to_le_bytes();
        let [c, d] = self.answered.to_le_bytes();
        let [e, f] = self.reordered.to_le_bytes();
        let [g, h] = self.duplicated.to_le_bytes();
        Value::Number(i64::from_le_bytes([a, b, c, d, e, f, g, h]))
    }

    pub(super) fn of(number: i64) -> Self {
        let [a, b, c, d, e, f, g, h] = number.to_le_bytes();
        let [received, answered, reordered, duplicated] = [[a, b], [c, d], [e, f], [g, h]].map(u16::from_le_bytes);
        Self { received, answered, reordered, duplicated }
    }
}

/// The listener of one edge.
#[derive(Debug)]
pub(super) struct Listener {
    pub(super) edge: Edge,
    index: usize,
    spacing: Span,
    /// What the prober is told about how often a train can be answered.
    period: Span,
    /// The prober's process, once it has said SYN.
    peer: Option<u32>,
    /// What carried the prober's last packet of an exchange, and carries what answers it.
    over: Transport,
    heard: MonotonicInstant,
    seen: Seen,
    /// The last `Pt1`, and its arrival.
    first: Option<(u32, Value)>,
    second: Option<SecondAnswer>,
    owed: Owed,
    report: LinkReport,
}

impl Listener {
    pub(super) fn new(edge: Edge, index: usize, spacing: Span, period: Span, now: Now) -> Self {
        Self {
            edge,
            index,
            spacing,
            period,
            peer: None,
            over: Transport::Udp,
            heard: now.monotonic,
            seen: Seen::default(),
            first: None,
            second: None,
            owed: Owed::default(),
            report: LinkReport::default(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        self.peer.is_some()
    }

    pub(super) fn transport(&self) -> Transport {
        self.over
    }

    pub(super) fn due(&self) -> Option<MonotonicInstant> {
        self.second.map(|answer| answer.due)
    }

    pub(super) fn tick(&mut self, now: Now, out: &mut Outbox) {
        if let Some(answer) = self.second.take_if(|answer| answer.due <= now.monotonic) {
            self.answer_second(answer, out);
        }
    }

    /// Takes a packet of the prober.
    pub(super) fn receive(
        &mut self,
        now: Now,
        header: &Header,
        Arrived { over, stamp }: Arrived,
        closing: bool,
        out: &mut Outbox,
    ) -> Result<(), Reject> {
        if header.kind == Kind::Syn {
            return self.receive_syn(now, header, over, closing, out);
        }
        if self.peer != Some(header.incarnation) {
            // The end of a session that is over here is acknowledged all the same, or it would be told again and again.
            if header.kind == Kind::ProberFin {
                out.probe(Kind::ProberFinAck, (self.edge, over), header.sequence, [Value::Nothing; 2], None);
            }
            return Err(Reject::Session);
        }
        match header.kind {
            Kind::ProberFin => {
                self.peer = None;
                self.second = None;
                out.probe(Kind::ProberFinAck, (self.edge, over), header.sequence, [Value::Nothing; 2], None);
            }
            Kind::ListenerFinAck => self.peer = None,
            Kind::Pt1 => {
                self.admit(now, header, 0)?;
                self.answer_over(over, out);
                self.first = Some((header.sequence, arrival(stamp, Leg::First)));
            }
            Kind::Pt2 => {
                self.admit(now, header, 1)?;
                self.answer_over(over, out);
                self.answer_first(now, header.sequence, arrival(stamp, Leg::Second), out);
            }
            Kind::Pt3 => {
                self.admit(now, header, 2)?;
                self.answer_over(over, out);
                self.settle(header.sequence, out);
            }
            _ => return Err(Reject::Kind),
        }
        Ok(())
    }

    /// A packet that was given a token has left.
    pub(super) fn sent(&mut self, sender: Sender, stamp: Stamp) {
        if self.peer.is_some() {
            self.owed.push(sender.sequence, sender.leg, stamp);
        }
    }

    /// Tells the prober that this end closes.
    pub(super) fn send_fin(&self, out: &mut Outbox) {
        if self.peer.is_some() {
            out.probe(Kind::ListenerFin, (self.edge, self.over), 0, [Value::Nothing; 2], None);
        }
    }

    /// Every SYN of a prober that is not a relic is acknowledged, in every state: the last acknowledgement may have been lost.
    fn receive_syn(
        &mut self,
        now: Now,
        header: &Header,
        over: Transport,
        closing: bool,
        out: &mut Outbox,
    ) -> Result<(), Reject> {
        if closing {
            return Err(Reject::Session);
        }
        if self.peer != Some(header.incarnation) {
            let relic = |known| !incarnation::succeeds(header.incarnation, known, Some(self.heard), now.monotonic);
            if self.peer.is_some_and(relic) {
                return Err(Reject::Replay);
            }
            let fresh = Self::new(self.edge, self.index, self.spacing, self.period, now);
            *self = Self { peer: Some(header.incarnation), over, ..fresh };
        }
        self.heard = now.monotonic;
        let values = [Value::Number(header.incarnation.into()), Value::span(self.period)];
        out.probe(Kind::Ack, (self.edge, over), header.sequence, values, None);
        Ok(())
    }

    /// What comes in an exchange came on the transport that the prober settled for.
    fn answer_over(&mut self, over: Transport, out: &mut Outbox) {
        self.over = over;
        out.reach.note_edge(self.edge.src, over);
    }

    fn admit(&mut self, now: Now, header: &Header, leg: u64) -> Result<(), Reject> {
        match self.seen.note(packet_number(header.sequence, leg)) {
            Arrival::Newest => {}
            Arrival::Reordered => self.report.reordered = self.report.reordered.wrapping_add(1),
            Arrival::Duplicate => {
                self.report.duplicated = self.report.duplicated.wrapping_add(1);
                return Err(Reject::Replay);
            }
            Arrival::TooOld => return Err(Reject::Replay),
        }
        self.heard = now.monotonic;
        self.report.received = self.report.received.wrapping_add(1);
        Ok(())
    }

    fn answer_first(&mut self, now: Now, sequence: u32, second_arrival: Value, out: &mut Outbox) {
        if let Some(unsent) = self.second.take() {
            self.answer_second(unsent, out);
        }
        let arrival = self.first.take_if(|(of, _)| *of == sequence).map_or(Value::Nothing, |(_, arrival)| arrival);
        self.answer(Kind::Pr1, Leg::First, sequence, arrival, out);
        self.second = Some(SecondAnswer { due: now.monotonic + self.spacing, sequence, arrival: second_arrival });
    }

    fn answer_second(&mut self, answer: SecondAnswer, out: &mut Outbox) {
        self.answer(Kind::Pr2, Leg::Second, answer.sequence, answer.arrival, out);
    }

    fn answer(&mut self, kind: Kind, leg: Leg, sequence: u32, arrival: Value, out: &mut Outbox) {
        self.report.answered = self.report.answered.wrapping_add(1);
        let sender = Sender { role: Role::Listener, index: self.index, sequence, leg };
        out.probe(kind, (self.edge, self.over), sequence, [arrival, self.owed.pop(sequence)], Some(sender));
    }

    /// The train is over: sends what is owed, and what was lost.
    fn settle(&mut self, sequence: u32, out: &mut Outbox) {
        if let Some(unsent) = self.second.take() {
            self.answer_second(unsent, out);
        }
        self.report.answered = self.report.answered.wrapping_add(1);
        let values = [self.owed.pop(sequence), self.report.value()];
        out.probe(Kind::Pr3, (self.edge, self.over), sequence, values, None);
    }
}

fn arrival(stamp: Option<Stamp>, leg: Leg) -> Value {
    stamp.map_or(Value::Unstamped, |stamp| Value::Stamp(CarriedStamp { stamp, leg, back: 0 }))
}
