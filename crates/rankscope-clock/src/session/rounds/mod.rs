//! Rounds: all nodes close their windows together, one of them solves, and everyone is told.
//!
//! One node reigns. Terms are numbered so that no two nodes can reign in the same one (term modulo the number of participants
//! is the place of its master), so there is nothing to vote on: the higher term wins, and whoever hears of it follows. Rounds
//! are numbered within their term, which makes a number name one round for ever. When the master falls silent the lowest node
//! that took part goes first, the others give it a head start.
//!
//! Nothing blocks on the network: a node that hears no command closes its windows itself.

mod codec;
mod master;
mod message;
mod peers;
mod report;
mod traffic;

use rankscope_time::Span;

use super::Now;
use super::outbox::Outbox;
use super::settings::SessionSettings;
use super::wire::{Header, Reject};
use crate::nodes::{NodeEstimate, remembered};
use crate::{MonotonicInstant, NodeId, NodeWindow};
use master::Master;
use message::{Knowledge, Message, Term};
use peers::{LiveSet, Peers};
use report::Report;
use traffic::Rhythm;

pub(super) use traffic::master_bits;

/// What this node is.
#[derive(Debug)]
enum Role {
    Master(Box<Master>),
    Follower(Follower),
}

/// What a follower remembers of its master.
#[derive(Debug)]
struct Follower {
    heard: MonotonicInstant,
    /// The last round that the master is known to have ended.
    ended: u64,
    live: Option<LiveSet>,
    report: Option<Report>,
}

/// This node's part in the rounds.
#[derive(Debug)]
pub(super) struct Rounds {
    peers: Peers,
    /// Of the term's master: the last round ended. Of a follower: the last round closed.
    knowledge: Knowledge,
    role: Role,
    /// When this node makes itself heard again.
    beat: MonotonicInstant,
    rhythm: Rhythm,
    window: Span,
    /// The last round whose result was handed out, with the best that any said of the skew.
    told: Option<(u64, NodeEstimate)>,
    skew_change_ppb_per_s: u32,
    stopping: bool,
}

impl Rounds {
    pub(super) fn new(settings: &SessionSettings, now: Now) -> Self {
        let peers = Peers::new(&settings.participants, settings.node);
        let rhythm = Rhythm::of(peers.len(), settings.window);
        let follower = Follower { heard: now.monotonic, ended: 0, live: None, report: None };
        Self {
            peers,
            knowledge: Knowledge::default(),
            role: Role::Follower(follower),
            beat: now.monotonic,
            rhythm,
            window: settings.window,
            told: None,
            skew_change_ppb_per_s: settings.solve_options.skew_change_ppb_per_s,
            stopping: false,
        }
    }

    /// Whom this node follows; itself where it is the master.
    pub(super) fn master(&self) -> Option<NodeId> {
        Some(self.peers.node(self.owner(self.knowledge.term?)))
    }

    pub(super) fn is_master(&self) -> bool {
        matches!(self.role, Role::Master(_))
    }

    pub(super) fn is_peer(&self, node: NodeId) -> Option<usize> {
        self.peers.index(node).filter(|index| *index != self.peers.me())
    }

    pub(super) fn due(&self) -> MonotonicInstant {
        let role = match &self.role {
            Role::Master(master) => Some(master.next_due()),
            Role::Follower(follower) => {
                let report = follower.report.as_ref().and_then(Report::due);
                let takeover = (!self.stopping).then(|| self.takeover(follower));
                report.into_iter().chain(takeover).min()
            }
        };
        role.map_or(self.beat, |role| role.min(self.beat))
    }

    /// Takes back so much silence: this node did not run, and what was said meanwhile may be lost. Or one that was stopped would take its
    /// living master for dead before it has read the first word of it.
    pub(super) fn excuse(&mut self, away: Span) {
        self.peers.excuse(away);
        if let Role::Follower(follower) = &mut self.role {
            follower.heard = follower.heard + away;
        }
    }

    /// Does what is due; a round that ends is returned, and the window must be closed under it.
    pub(super) fn tick(
        &mut self,
        now: MonotonicInstant,
        opened: MonotonicInstant,
        settings: &SessionSettings,
        out: &mut Outbox,
    ) -> Option<u64> {
        if let Role::Follower(follower) = &self.role
            && !self.stopping
            && self.takeover(follower) <= now
        {
            self.claim(now, opened, out);
        }
        // The end of a round is heard by all.
        let ends = matches!(&self.role, Role::Master(master) if master.due <= now);
        if self.beat <= now && !ends {
            self.make_heard(now, out);
        }
        let master_index = self.knowledge.term.map(|term| self.owner(term));
        match &mut self.role {
            Role::Master(master) => {
                if ends {
                    self.end_round(now, out);
                } else {
                    let own = master.tick(now, self.knowledge, &mut self.peers, settings, out);
                    self.remember(own);
                }
                ends.then_some(self.knowledge.round)
            }
            Role::Follower(follower) => {
                if let (Some(report), Some(to)) = (&mut follower.report, master_index) {
                    report.tick(now, to, self.knowledge, &mut self.peers, out);
                }
                None
            }
        }
    }

    /// Takes a window that was closed.
    pub(super) fn closed(&mut self, now: MonotonicInstant, window: &NodeWindow, settings: &SessionSettings, out: &mut Outbox) {
        let Some(round) = window.round else { return };
        match &mut self.role {
            Role::Master(master) => {
                master.take_own(window.clone());
                let own = master.tick(now, self.knowledge, &mut self.peers, settings, out);
                self.remember(own);
            }
            Role::Follower(follower) => {
                let earlier = self.told.filter(|(round, _)| Some(term_of(*round)) != self.knowledge.term);
                let told = earlier.as_ref().map(|(_, estimate)| estimate);
                follower.report = Some(Report::new(window, told, round, now, out));
                self.beat = now + self.rhythm.beat;
                if !self.stopping {
                    // The last window is early: its round has not ended, and its master must not think it has.
                    self.knowledge.round = round;
                }
            }
        }
    }

    /// Takes a control packet of participant `from`; a round that ends is returned, and the window must be closed under it.
    pub(super) fn receive(
        &mut self,
        now: MonotonicInstant,
        opened: MonotonicInstant,
        from: usize,
        header: &Header,
        body: &[u8],
        out: &mut Outbox,
    ) -> Result<Option<u64>, Reject> {
        self.peers.admit(from, header, now)?;
        let (theirs, message) = message::read(body).ok_or(Reject::Body)?;
        if matches!(message, Message::Leave) {
            self.forget(now, from);
            return Ok(None);
        }
        self.learn(now, opened, from, theirs, out);
        let reigned = theirs.term.is_some_and(|term| self.owner(term) == from);
        if theirs.term < self.knowledge.term && reigned {
            self.greet(now, from, out);
            return Err(Reject::Stale);
        }
        self.obey(now, from, &message, out)
    }

    fn obey(&mut self, now: MonotonicInstant, from: usize, message: &Message, out: &mut Outbox) -> Result<Option<u64>, Reject> {
        let reigns = self.knowledge.term.is_some_and(|term| self.owner(term) == from);
        match (&mut self.role, *message) {
            (_, Message::Alive { ping }) if ping => self.greet(now, from, out),
            (Role::Follower(follower), Message::Reign { live }) if reigns => {
                follower.live = Some(LiveSet::new(live, self.peers.me()));
            }
            (Role::Follower(follower), Message::RoundEnd { round, live }) if reigns => {
                if Some(term_of(round)) != self.knowledge.term {
                    return Err(Reject::Body);
                }
                follower.live = Some(LiveSet::new(live, self.peers.me()));
                self.peers.send(from, self.knowledge, &Message::RoundAck { round }, out);
                return Ok((round > self.knowledge.round && !self.stopping).then_some(round));
            }
            (Role::Follower(follower), Message::PartAck { round, got }) if reigns => {
                if let Some(report) = &mut follower.report {
                    report.receive_ack(round, got);
                }
            }
            (Role::Follower(_), Message::Result { round, estimate }) if reigns => {
                if estimate.node != self.peers.node(self.peers.me()) {
                    return Err(Reject::Body);
                }
                self.peers.send(from, self.knowledge, &Message::ResultAck { round }, out);
                if self.told.is_none_or(|(told, _)| told < round) {
                    self.remember(Some((round, estimate)));
                    out.tell(round, estimate);
                }
            }
            (Role::Master(master), Message::RoundAck { round }) => master.receive_round_ack(from, round),
            (Role::Master(master), Message::Part { .. }) => {
                master.receive_part(from, message, self.knowledge, &mut self.peers, out)?;
            }
            (Role::Master(master), Message::ResultAck { round }) => master.receive_result_ack(from, round),
            // What belongs to a role that one of the two has lost, or never had.
            _ => {}
        }
        Ok(None)
    }

    /// Compares what another node knows with what this one does.
    fn learn(&mut self, now: MonotonicInstant, opened: MonotonicInstant, from: usize, theirs: Knowledge, out: &mut Outbox) {
        let Some(term) = theirs.term else { return };
        if Some(term) > self.knowledge.term {
            self.knowledge = Knowledge { term: Some(term), round: first_round(term) };
            let live = match &mut self.role {
                Role::Follower(follower) => follower.live.take(),
                Role::Master(_) => None,
            };
            self.role = Role::Follower(Follower { heard: now, ended: first_round(term), live, report: None });
            self.beat = now;
            if self.owner(term) == self.peers.me() {
                // It reigned in an earlier life, and the others know more of that term than it does.
                self.claim(now, opened, out);
            }
        } else if Some(term) == self.knowledge.term {
            let reigns = self.owner(term) == from;
            match &mut self.role {
                Role::Follower(follower) if reigns => {
                    follower.heard = now;
                    follower.ended = follower.ended.max(theirs.round);
                }
                Role::Master(_) if theirs.round > self.knowledge.round => self.claim(now, opened, out),
                _ => {}
            }
        }
    }

    fn remember(&mut self, own: Option<(u64, NodeEstimate)>) {
        let Some((round, estimate)) = own else { return };
        let known = self.told.map_or(estimate, |(_, before)| remembered(estimate, &before, self.skew_change_ppb_per_s));
        self.told = Some((round, known));
    }

    fn forget(&mut self, now: MonotonicInstant, from: usize) {
        self.peers.forget(from);
        let reigned = self.knowledge.term.is_some_and(|term| self.owner(term) == from);
        match &mut self.role {
            Role::Master(master) => master.forget(from),
            Role::Follower(follower) if reigned => follower.heard = now - self.rhythm.patience,
            Role::Follower(_) => {}
        }
    }

    /// The next term of this node's begins. A term that cannot be numbered does not.
    fn claim(&mut self, now: MonotonicInstant, opened: MonotonicInstant, out: &mut Outbox) {
        let (me, count) = (self.peers.me() as u32, self.peers.len() as u32);
        let next = match self.knowledge.term {
            None => Some(me),
            Some(Term(known)) => (known - known % count)
                .checked_add(me)
                .and_then(|term| if term > known { Some(term) } else { term.checked_add(count) }),
        };
        let gone = self.knowledge.term.map(|term| self.owner(term));
        if let Role::Follower(follower) = &mut self.role {
            follower.heard = now;
            let live = follower.live.take().unwrap_or_default();
            for index in self.peers.others().filter(|index| live.has(*index) && Some(*index) != gone) {
                self.peers.presume_live(index, now);
            }
        }
        let Some(term) = next.filter(|term| *term != u32::MAX).map(Term) else { return };
        out.counters.elections += 1;
        self.knowledge = Knowledge { term: Some(term), round: first_round(term) };
        self.role =
            Role::Master(Box::new(Master::new(now.max(opened + self.window), self.peers.len(), self.told.map(|(_, own)| own))));
        self.beat = now;
    }

    /// When a follower takes over from a silent master: at once where there never was one and it is the first.
    fn takeover(&self, follower: &Follower) -> MonotonicInstant {
        let me = self.peers.me();
        let gone = self.knowledge.term.map(|term| self.owner(term));
        if gone.is_none() && me == 0 {
            return follower.heard;
        }
        let lives = |index: &usize| *index < me && follower.live.as_ref().is_none_or(|live| live.has(*index));
        let all = follower.live.as_ref().map_or(me, LiveSet::before);
        let before = (all - usize::from(gone.as_ref().is_some_and(lives))) as i64;
        // Half a window at most, for however many: on the far side of a partition those before it may be out of reach.
        let head_start_ns = self.window.as_nanos() / 2 * before / (before + 3);
        follower.heard + self.rhythm.patience + Span::from_nanos(head_start_ns)
    }

    fn end_round(&mut self, now: MonotonicInstant, out: &mut Outbox) {
        let Role::Master(master) = &mut self.role else { return };
        self.knowledge.round += 1;
        let window_ns = self.window.as_nanos();
        let missed = (now - master.due).as_nanos().max(0) / window_ns;
        master.due = if self.stopping { NEVER } else { master.due + Span::from_nanos((missed + 1).saturating_mul(window_ns)) };
        let wait = if self.stopping { LAST_GATHER } else { Span::from_nanos(window_ns / 2) };
        let waited_for: Vec<usize> = self.peers.live_others(now, self.rhythm.patience).collect();
        master.live = self.peers.live(now, self.rhythm.patience);
        master.end_round(now, now + wait, &waited_for, self.knowledge, &mut self.peers, out);
        self.beat = now + self.rhythm.beat;
    }

    fn make_heard(&mut self, now: MonotonicInstant, out: &mut Outbox) {
        self.beat = now + self.rhythm.beat;
        let reigns = self.knowledge.term.map_or(0, |term| self.owner(term));
        match &mut self.role {
            Role::Master(master) => {
                let live = self.peers.live(now, self.rhythm.patience);
                let is_news = master.live != live;
                master.live = live;
                let message = if is_news { Message::Reign { live: &master.live } } else { Message::Alive { ping: false } };
                for to in self.peers.others() {
                    self.peers.send(to, self.knowledge, &message, out);
                }
            }
            Role::Follower(follower) => {
                let doubts_from = follower.heard + Span::from_nanos(self.rhythm.patience.as_nanos() / 2);
                let doubtful = doubts_from < now;
                self.beat = self.beat.min(doubts_from.max(now + self.rhythm.doubt));
                if reigns != self.peers.me() {
                    let ping = doubtful || self.knowledge.term.is_none();
                    self.peers.send(reigns, self.knowledge, &Message::Alive { ping }, out);
                }
            }
        }
    }

    fn greet(&mut self, now: MonotonicInstant, to: usize, out: &mut Outbox) {
        if self.is_master() {
            let live = self.peers.live(now, self.rhythm.patience);
            self.peers.send(to, self.knowledge, &Message::Reign { live: &live }, out);
        } else {
            self.peers.send(to, self.knowledge, &Message::Alive { ping: false }, out);
        }
    }

    /// Prepares to go. A master ends the round at once; a follower is told which round its last window belongs to.
    pub(super) fn stop(&mut self, now: MonotonicInstant) -> Option<u64> {
        self.stopping = true;
        match &mut self.role {
            Role::Master(master) => {
                master.due = now;
                None
            }
            Role::Follower(follower) => {
                let heard = now - follower.heard <= self.rhythm.patience;
                let in_first = self.knowledge.term.is_some_and(|term| self.knowledge.round == first_round(term));
                let last = if in_first { follower.ended } else { self.knowledge.round };
                (heard && self.knowledge.term.is_some()).then(|| last.saturating_add(1))
            }
        }
    }

    /// Whether everything that this node has to tell has arrived.
    pub(super) fn is_settled(&self) -> bool {
        match &self.role {
            Role::Master(master) => master.is_settled(),
            Role::Follower(follower) => follower.report.as_ref().is_none_or(Report::is_received),
        }
    }

    /// Says that this node goes: a master to all, a follower to its master.
    pub(super) fn leave(&mut self, now: MonotonicInstant, out: &mut Outbox) {
        let master = self.knowledge.term.map(|term| self.owner(term));
        let live: Vec<usize> = self.peers.live_others(now, self.rhythm.patience).collect();
        let hears_all = self.is_master();
        for to in live.into_iter().filter(|to| hears_all || Some(*to) == master) {
            self.peers.send(to, self.knowledge, &Message::Leave, out);
        }
    }

    pub(super) fn held_bytes(&self) -> usize {
        match &self.role {
            Role::Master(master) => master.held_bytes(),
            Role::Follower(_) => 0,
        }
    }

    fn owner(&self, term: Term) -> usize {
        term.0 as usize % self.peers.len()
    }
}

/// Rounds of a term, in bits: 16 million, two years of default windows. With the term above them a number still fits a float.
const ROUND_BITS: u32 = 24;

fn term_of(round: u64) -> Term {
    Term((round >> ROUND_BITS) as u32)
}

fn first_round(term: Term) -> u64 {
    u64::from(term.0) << ROUND_BITS
}

const NEVER: MonotonicInstant = MonotonicInstant::from_nanos_since_epoch(i64::MAX);

/// What a master that stops waits for the others' last windows.
const LAST_GATHER: Span = Span::from_nanos(250_000_000);
