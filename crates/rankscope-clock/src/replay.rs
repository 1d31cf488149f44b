//! Recorded exchanges with another clock and a worse network put on them, so that the truth is known.
//!
//! Where both ends of a recording were stamped by one clock, their difference is 0 throughout; reading `b`'s stamps off a
//! [`SimClock`] makes it anything one likes, with the queueing of a real network left as it was.

use rankscope_time::Span;

use crate::simulate::SimClock;
use crate::{EdgeFit, Exchange, HostInstant, Passage, Rng};

/// What goes wrong with a recording, each as a share of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Impairment {
    /// Stamps that are earlier than the truth, in each column.
    pub early_stamps: f64,
    /// How early, in the mean of an exponential distribution.
    pub early_mean_ns: f64,
    /// Standard deviation of a Gaussian error of every stamp.
    pub stamp_noise_ns: f64,
    /// Packets that never arrive.
    pub loss: f64,
    /// Packets that come after the one sent next.
    pub reorder: f64,
    /// Packets that come twice, the copy listed behind the original.
    pub duplicates: f64,
}

/// `exchanges`, with what `b` stamped read off `clock`.
pub fn bend(exchanges: &[Exchange], clock: &mut SimClock) -> Vec<Exchange> {
    let mut bent = exchanges.to_vec();
    for exchange in &mut bent {
        let stamps = exchange.forward.iter_mut().map(|passage| &mut passage.received);
        for stamp in stamps.chain(exchange.reverse.iter_mut().map(|passage| &mut passage.sent)) {
            *stamp = stamp.map(|at| HostInstant::from_nanos_since_epoch(clock.local_ns(at.nanos_since_epoch())));
        }
    }
    bent
}

/// `exchanges` after what `impairment` does to them. The same seed does the same.
pub fn impair(exchanges: &[Exchange], impairment: &Impairment, seed: u64) -> Vec<Exchange> {
    let mut rng = Rng::new(seed);
    let mut impaired = Vec::with_capacity(exchanges.len());
    for exchange in exchanges {
        let mut exchange = *exchange;
        for passage in exchange.forward.iter_mut().chain(&mut exchange.reverse) {
            passage.sent = impairment.stamp(passage.sent, &mut rng);
            passage.received = impairment.stamp(passage.received, &mut rng);
            if rng.unit() < impairment.loss {
                passage.received = None;
            }
        }
        for way in [&mut exchange.forward, &mut exchange.reverse] {
            if rng.unit() < impairment.reorder {
                overtake(way);
            }
        }
        impaired.push(exchange);
        if rng.unit() < impairment.duplicates {
            impaired.push(exchange);
        }
    }
    impaired
}

/// How far `fit` is from a clock that was put on a recording, both in nanoseconds and ppb: its offset, and its skew against the
/// clock's mean over the fit's own span.
pub fn errors(fit: &EdgeFit, clock: &mut SimClock) -> (i64, f64) {
    let mut truth = |at: HostInstant| clock.local_ns(at.nanos_since_epoch()) - at.nanos_since_epoch();
    let (first, last) = (truth(fit.start), truth(fit.end));
    let elapsed_ns = (fit.end - fit.start).as_nanos().max(1);
    let skew_ppb = (last - first) as f64 / elapsed_ns as f64 * 1e9;
    (fit.offset.as_nanos() - truth(fit.mid), fit.skew_ppb - skew_ppb)
}

impl Impairment {
    fn stamp(&self, at: Option<HostInstant>, rng: &mut Rng) -> Option<HostInstant> {
        let early = if rng.unit() < self.early_stamps { rng.exponential() * self.early_mean_ns } else { 0.0 };
        let noise = if self.stamp_noise_ns > 0.0 { rng.normal() * self.stamp_noise_ns } else { 0.0 };
        let moved_ns = (noise - early).round() as i64;
        at.map(|at| HostInstant::from_nanos_since_epoch(at.nanos_since_epoch().saturating_add(moved_ns)))
    }
}

/// The first packet arrives behind the second. It is late, not early: its stamps are still its own.
fn overtake([first, second]: &mut [Passage; 2]) {
    let one = Span::from_nanos(1);
    first.received = first.received.zip(second.received).map(|(earlier, later)| earlier.max(later + one));
}
