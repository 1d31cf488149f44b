//! What an edge has collected for the window that is open.

use super::listener::LinkReport;
use super::outbox::Outbox;
use super::pending::Underway;
use super::sequence::Arrival;
use super::settings::SessionSettings;
use crate::{Edge, EdgeFit, EdgeRecord, Exchange, HostInstant, LinkCounts, StampSource, Transport};

/// Exchanges that a window of an edge may hold: 25 seconds at the default cadence without rest, in 4.5 MB.
const EXCHANGES_MAX: usize = 32_768;

/// Exchanges and counts of the open window, and what must be remembered to count.
#[derive(Debug, Default)]
pub(super) struct Collected {
    exchanges: Vec<Exchange>,
    counts: LinkCounts,
    worst: Option<StampSource>,
    over: Transport,
    before: Option<EdgeFit>,
    forward: Tally,
    reverse: Tally,
    /// What was sent when the last report was asked for.
    sent: u64,
    got: u64,
    last: LinkReport,
    /// Whether a report came in this window.
    reported: bool,
}

/// Packets of one direction that left, that arrived, and that are already counted as lost.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    left: u64,
    arrived: u64,
    lost: u64,
}

impl Tally {
    /// Losses that no window has counted. A packet that was only late is made up for by the next loss.
    fn newly_lost(&mut self) -> u32 {
        let lost = self.left.saturating_sub(self.arrived).saturating_sub(self.lost);
        self.lost += lost;
        lost.min(u64::from(u32::MAX)) as u32
    }
}

impl Collected {
    /// A new session counts from zero on both ends. Its process may keep another host clock, by so little that no packet shows it:
    /// what was measured of the one before is not mixed into its line.
    pub(super) fn begin_session(&mut self) {
        self.count_losses();
        self.exchanges.clear();
        self.counts.complete = 0;
        (self.forward, self.reverse) = (Tally::default(), Tally::default());
        (self.sent, self.got) = (0, 0);
        (self.last, self.reported) = (LinkReport::default(), false);
    }

    pub(super) fn sent_one(&mut self) {
        self.sent += 1;
    }

    pub(super) fn note_arrival(&mut self, arrival: Arrival) {
        match arrival {
            Arrival::Newest => self.got += 1,
            Arrival::Reordered => {
                self.got += 1;
                self.counts.reordered += 1;
            }
            Arrival::Duplicate => self.counts.duplicated += 1,
            Arrival::TooOld => {}
        }
    }

    /// What the listener received and answered up to now, at the end of a train.
    pub(super) fn take_report(&mut self, report: LinkReport) {
        self.forward.left = self.sent;
        self.forward.arrived += u64::from(report.received.wrapping_sub(self.last.received));
        self.reverse.left += u64::from(report.answered.wrapping_sub(self.last.answered));
        self.reverse.arrived = self.got;
        self.counts.reordered += u32::from(report.reordered.wrapping_sub(self.last.reordered));
        self.counts.duplicated += u32::from(report.duplicated.wrapping_sub(self.last.duplicated));
        self.last = report;
        self.reported = true;
    }

    pub(super) fn take_complete(&mut self, underway: &Underway, out: &mut Outbox) {
        self.counts.complete += 1;
        self.take(underway, out);
    }

    pub(super) fn take_unfinished(&mut self, underway: &Underway, out: &mut Outbox) {
        let without_departure = underway.exchange.forward.iter().filter(|passage| passage.sent.is_none()).count();
        self.counts.unstamped += underway.unstamped + without_departure as u32;
        if underway.is_useful() {
            self.take(underway, out);
        }
    }

    fn take(&mut self, underway: &Underway, out: &mut Outbox) {
        if self.exchanges.len() == EXCHANGES_MAX {
            out.counters.exchanges_left_out += 1;
            return;
        }
        self.worst = self.worst.max(Some(underway.worst));
        self.over = self.over.max(underway.over);
        self.exchanges.push(underway.exchange);
    }

    /// First and last instant of the window's data on the prober's clock.
    pub(super) fn extent(&self) -> Option<(HostInstant, HostInstant)> {
        let stamps = || {
            self.exchanges.iter().flat_map(|exchange| {
                let [a, b] = exchange.forward.map(|passage| passage.sent);
                let [c, d] = exchange.reverse.map(|passage| passage.received);
                [a, b, c, d].into_iter().flatten()
            })
        };
        stamps().min().zip(stamps().max())
    }

    /// Fits the window and begins the next.
    pub(super) fn close(&mut self, edge: Edge, settings: &SessionSettings) -> EdgeRecord {
        self.count_losses();
        let fit = (settings.fit)(&self.exchanges, self.before.as_ref(), &settings.fit_options);
        let counts = LinkCounts { filtered: fit.filtered, ..self.counts };
        self.before = fit.fits.iter().rev().find_map(|fit| fit.as_ref().ok()).cloned().or(self.before.take());
        self.exchanges.clear();
        self.counts = LinkCounts::default();
        self.reported = false;
        let (stamps, transport) = (self.worst.take().unwrap_or_default(), std::mem::take(&mut self.over));
        EdgeRecord { edge, fits: fit.fits, events: fit.events, counts, stamps, transport }
    }

    fn count_losses(&mut self) {
        if !self.reported {
            // Nothing came back at all: what was sent is as good as lost, and is made up for if it turns out otherwise.
            self.forward.left = self.sent;
        }
        self.counts.lost_forward += self.forward.newly_lost();
        self.counts.lost_reverse += self.reverse.newly_lost();
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.exchanges.capacity() * size_of::<Exchange>()
    }
}
