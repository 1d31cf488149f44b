//! How far the parts of a split window reach.
//!
//! Between two lines lies a step or a slew, and a packet from just behind it may satisfy the old line as well: one that queued
//! bounds nothing, and one on the side away from the step is harmless to either line. Such packets belong to neither part. That
//! a clock still kept to a line is shown by a packet that the next line cannot explain, and by packets of both directions close
//! to the line, since a slow slew is on neither line for a while. A part keeps what came before the first of these three to
//! end, and after the last of them to begin, and its line is fitted to that alone. Between two parts nobody knows which line
//! holds.

use rankscope_time::Span;

use crate::{EdgeFit, Exchange, HostInstant, Passage};

/// A passage in a row of exchanges, in the order in which they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    exchange: usize,
    passage: usize,
}

/// One end of what a part has shown to be its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Proof {
    /// The packet that shows it.
    place: Place,
    /// On `src`'s clock: when that packet left, or arrived.
    at: HostInstant,
}

/// A packet as a bound.
struct Bound {
    place: Place,
    /// On `src`'s clock.
    at: HostInstant,
    difference: Span,
    is_upper: bool,
}

/// Stamps are whole nanoseconds.
const GRAIN: Span = Span::from_nanos(2);

/// Up to where `exchanges`, all of the part of `line`, are shown to be before what led to `next`: packets of both directions
/// keep close to `line` up to there, and one of them cannot be explained by `next`.
pub(super) fn last_before(exchanges: &[Exchange], line: &EdgeFit, next: &EdgeFit, change: u32) -> Option<Proof> {
    let last = |shows: &dyn Fn(&Bound) -> bool| bounds(exchanges).filter(|bound| shows(bound)).last();
    let proofs = [
        last(&|bound| !bound.allows(next, change))?,
        last(&|bound| bound.is_upper && bound.is_close_to(line))?,
        last(&|bound| !bound.is_upper && bound.is_close_to(line))?,
    ];
    let proof = proofs.into_iter().min_by_key(|bound| bound.place)?;
    // A packet back left before the instant that it bounds.
    let sent = if proof.is_upper { proof.at } else { proof.at + proof.difference - line.offset_at(proof.at) };
    Some(Proof { place: proof.place, at: sent })
}

/// From where on `exchanges`, all of the part of `line`, are shown to be behind what led from `previous`, in the same way.
pub(super) fn first_after(exchanges: &[Exchange], line: &EdgeFit, previous: &EdgeFit, change: u32) -> Option<Proof> {
    let first = |shows: &dyn Fn(&Bound) -> bool| bounds(exchanges).find(|bound| shows(bound));
    let proofs = [
        first(&|bound| !bound.allows(previous, change))?,
        first(&|bound| bound.is_upper && bound.is_close_to(line))?,
        first(&|bound| !bound.is_upper && bound.is_close_to(line))?,
    ];
    let proof = proofs.into_iter().max_by_key(|bound| bound.place)?;
    // A packet there arrived after the instant that it bounds.
    let received = if proof.is_upper { proof.at + proof.difference - line.offset_at(proof.at) } else { proof.at };
    Some(Proof { place: proof.place, at: received })
}

/// `exchanges` without what lies before `from` or after `until`.
pub(super) fn between(exchanges: &[Exchange], from: Option<Proof>, until: Option<Proof>) -> Vec<Exchange> {
    let mut kept = exchanges.to_vec();
    for bound in bounds(exchanges) {
        let early = from.is_some_and(|from| bound.place < from.place || bound.at < from.at);
        let late = until.is_some_and(|until| bound.place > until.place || bound.at > until.at);
        if early || late {
            let Place { exchange, passage } = bound.place;
            let Exchange { forward, reverse, .. } = &mut kept[exchange];
            let mut ways = forward.iter_mut().chain(reverse);
            ways.nth(passage).into_iter().for_each(|way| *way = Passage::default());
        }
    }
    kept
}

fn bounds(exchanges: &[Exchange]) -> impl Iterator<Item = Bound> + '_ {
    exchanges.iter().enumerate().flat_map(|(number, exchange)| {
        let ways = exchange.forward.iter().chain(&exchange.reverse).enumerate();
        ways.filter_map(move |(passage, way)| {
            let (sent, received) = (way.sent?, way.received?);
            let is_upper = passage < exchange.forward.len();
            let (at, difference) = if is_upper { (sent, received - sent) } else { (received, sent - received) };
            Some(Bound { place: Place { exchange: number, passage }, at, difference, is_upper })
        })
    })
}

impl Bound {
    /// Whether it says about as much as the line's own interval: it hardly queued.
    fn is_close_to(&self, line: &EdgeFit) -> bool {
        (self.difference - line.offset_at(self.at)).abs() <= line.bound.hi - line.bound.lo
    }

    /// Whether a clock that keeps to `line` may have sent it.
    fn allows(&self, line: &EdgeFit, change: u32) -> bool {
        let possible = line.bound_at(self.at, change);
        if self.is_upper { possible.lo <= self.difference + GRAIN } else { self.difference - GRAIN <= possible.hi }
    }
}
