//! Exchanges under way: stamps come in from both ends, late and in any order, and are put where they belong.

use rankscope_time::Span;

use super::Stamp;
use super::wire::{CarriedStamp, Leg, Value};
use crate::{Exchange, MonotonicInstant, StampSource, Transport};

/// Exchanges that may be under way at once: as far back as a stamp can name its packet.
const RING: usize = CarriedStamp::BACK_MAX as usize + 2;

/// What is still missing of an exchange after this long will not come.
const PATIENCE: Span = Span::from_nanos(100_000_000);

/// An exchange as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Underway {
    pub(super) exchange: Exchange,
    begun: MonotonicInstant,
    /// The worst stamp in it.
    pub(super) worst: StampSource,
    /// What carried its first packet.
    pub(super) over: Transport,
    /// Packets that arrived without a stamp.
    pub(super) unstamped: u32,
}

impl Underway {
    pub(super) fn is_complete(&self) -> bool {
        let [a, b] = self.exchange.forward;
        let [c, d] = self.exchange.reverse;
        [a, b, c, d].iter().all(|passage| passage.sent.is_some() && passage.received.is_some())
    }

    /// Whether it bounds anything.
    pub(super) fn is_useful(&self) -> bool {
        let mut passages = self.exchange.forward.iter().chain(&self.exchange.reverse);
        passages.any(|passage| passage.sent.is_some() && passage.received.is_some())
    }
}

/// One end of a packet of an exchange.
#[derive(Clone, Copy, Debug)]
pub(super) enum End {
    ForwardSent,
    ForwardReceived,
    ReverseSent,
    ReverseReceived,
}

/// The last exchanges of an edge that are not complete.
#[derive(Debug)]
pub(super) struct Pending {
    ring: Box<[Option<Underway>; RING]>,
}

impl Pending {
    pub(super) fn new() -> Self {
        Self { ring: Box::new([None; RING]) }
    }

    /// Begins exchange `sequence`; gives back the one whose place it takes.
    pub(super) fn begin(&mut self, sequence: u32, over: Transport, now: MonotonicInstant) -> Option<Underway> {
        let exchange = Exchange { sequence, ..Exchange::default() };
        let underway = Underway { exchange, begun: now, worst: StampSource::Hardware, over, unstamped: 0 };
        self.ring[place(sequence)].replace(underway)
    }

    /// Notes a stamp; gives back the exchange if that was the last one missing.
    pub(super) fn note(&mut self, sequence: u32, leg: Leg, end: End, stamp: Stamp) -> Option<Underway> {
        let slot = &mut self.ring[place(sequence)];
        let underway = slot.as_mut().filter(|underway| underway.exchange.sequence == sequence)?;
        let exchange = &mut underway.exchange;
        let passage = match end {
            End::ForwardSent | End::ForwardReceived => &mut exchange.forward[leg.index()],
            End::ReverseSent | End::ReverseReceived => &mut exchange.reverse[leg.index()],
        };
        match end {
            End::ForwardSent | End::ReverseSent => passage.sent = Some(stamp.at),
            End::ForwardReceived | End::ReverseReceived => passage.received = Some(stamp.at),
        }
        underway.worst = underway.worst.max(stamp.source);
        slot.take_if(|underway| underway.is_complete())
    }

    /// Notes that a packet of exchange `sequence` arrived without a stamp.
    pub(super) fn note_unstamped(&mut self, sequence: u32) {
        if let Some(underway) = &mut self.ring[place(sequence)]
            && underway.exchange.sequence == sequence
        {
            underway.unstamped += 1;
        }
    }

    /// Gives up what has been under way for too long.
    pub(super) fn give_up(&mut self, now: MonotonicInstant) -> impl Iterator<Item = Underway> {
        self.ring.iter_mut().filter_map(move |slot| slot.take_if(|underway| now - underway.begun > PATIENCE))
    }

    /// Forgets everything, as the peer has.
    pub(super) fn clear(&mut self) {
        self.ring.fill(None);
    }
}

fn place(sequence: u32) -> usize {
    sequence as usize % RING
}

/// Stamps that the listener has and the prober needs, oldest first.
#[derive(Debug, Default)]
pub(super) struct Owed {
    ring: [Option<(u32, Leg, Stamp)>; OWED],
    first: usize,
}

/// More than two are owed only where the driver brings stamps late.
const OWED: usize = 8;

impl Owed {
    /// Owes one more; the oldest goes where there are too many.
    pub(super) fn push(&mut self, sequence: u32, leg: Leg, stamp: Stamp) {
        let free = (0..OWED).map(|i| (self.first + i) % OWED).find(|i| self.ring[*i].is_none());
        let at = free.unwrap_or_else(|| {
            self.first = (self.first + 1) % OWED;
            (self.first + OWED - 1) % OWED
        });
        self.ring[at] = Some((sequence, leg, stamp));
    }

    /// The oldest stamp that a packet of exchange `sequence` can still name.
    pub(super) fn pop(&mut self, sequence: u32) -> Value {
        while let Some((of, leg, stamp)) = self.ring[self.first].take() {
            self.first = (self.first + 1) % OWED;
            let back = sequence.wrapping_sub(of);
            if back <= u32::from(CarriedStamp::BACK_MAX) {
                return Value::Stamp(CarriedStamp { stamp, leg, back: back as u8 });
            }
        }
        Value::Nothing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::HostInstant;

    fn stamp(ns: i64) -> Stamp {
        Stamp { at: HostInstant::from_nanos_since_epoch(ns), source: StampSource::Kernel }
    }

    #[test]
    fn an_exchange_is_complete_with_its_eighth_stamp_in_any_order() {
        let ends = [End::ForwardSent, End::ForwardReceived, End::ReverseSent, End::ReverseReceived];
        let stamps: Vec<(Leg, End)> =
            [Leg::First, Leg::Second].into_iter().flat_map(|leg| ends.map(|end| (leg, end))).collect();
        for rotation in 0..stamps.len() {
            let mut pending = Pending::new();
            pending.begin(7, Transport::Udp, MonotonicInstant::from_nanos_since_epoch(0));
            for (i, (leg, end)) in stamps.iter().cycle().skip(rotation).take(8).enumerate() {
                let done = pending.note(7, *leg, *end, stamp(i as i64));
                assert_eq!(done.is_some(), i == 7, "after {} stamps", i + 1);
            }
            assert!(pending.note(7, Leg::First, End::ForwardSent, stamp(1)).is_none(), "it is done with");
        }
    }

    #[test]
    fn a_stamp_of_an_exchange_that_gave_its_place_is_nobodys() {
        let mut pending = Pending::new();
        let now = MonotonicInstant::from_nanos_since_epoch(0);
        pending.begin(0, Transport::Udp, now);
        let evicted = pending.begin(RING as u32, Transport::Udp, now).unwrap();
        assert_eq!(evicted.exchange.sequence, 0);
        assert!(pending.note(0, Leg::First, End::ForwardSent, stamp(1)).is_none());
        let left: Vec<Underway> = pending.give_up(now + PATIENCE + PATIENCE).collect();
        assert_eq!(left.len(), 1);
        assert_eq!(left[0].exchange, Exchange { sequence: RING as u32, ..Exchange::default() });
    }

    #[test]
    fn debts_are_paid_oldest_first_and_lapse() {
        let mut owed = Owed::default();
        for sequence in 0..10 {
            owed.push(sequence, Leg::Second, stamp(i64::from(sequence)));
        }
        let back = |value| match value {
            Value::Stamp(carried) => Some(carried.back),
            _ => None,
        };
        assert_eq!(back(owed.pop(10)), Some(8), "the two oldest made room");
        assert_eq!(back(owed.pop(10)), Some(7));
        assert_eq!(back(owed.pop(40)), None, "the others are too old to be named");
        assert_eq!(owed.pop(10), Value::Nothing);
    }
}
