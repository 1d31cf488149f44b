//! What only the master does: end rounds on time, gather windows, solve, and tell every node its result.
//!
//! Rounds end on an absolute grid whatever gathering takes. A round is solved when all that took part have reported, or after
//! half a window without the rest.

use std::collections::BTreeMap;

use rankscope_time::Span;

use super::message::{Knowledge, Message};
use super::peers::Peers;
use super::report::{Assembly, RESEND_LONGEST, Reported, Step};
use crate::nodes::{NodeEstimate, Solution};
use crate::session::Output;
use crate::session::backoff::Backoff;
use crate::session::outbox::Outbox;
use crate::session::settings::SessionSettings;
use crate::session::wire::Reject;
use crate::{MonotonicInstant, NodeId, NodeWindow};

/// A master at work.
#[derive(Debug)]
pub(super) struct Master {
    /// When the round in progress ends.
    pub(super) due: MonotonicInstant,
    /// Who takes part, a bit each, as all were told last.
    pub(super) live: Vec<u8>,
    gather: Option<Gather>,
    results: Option<Results>,
    /// By participant.
    assemblies: Vec<Assembly>,
    /// Windows of the round in progress, from nodes that left before its end.
    early: BTreeMap<NodeId, NodeWindow>,
    /// Where clocks stood as masters before told their nodes, since the last round was solved.
    told: BTreeMap<NodeId, NodeEstimate>,
    before: Option<Solution>,
}

#[derive(Debug)]
struct Gather {
    round: u64,
    until: MonotonicInstant,
    /// Who has not reported, and whether its acknowledgement has come.
    waiting: BTreeMap<usize, bool>,
    windows: BTreeMap<NodeId, NodeWindow>,
    resend: Backoff,
}

#[derive(Debug)]
struct Results {
    round: u64,
    waiting: BTreeMap<usize, NodeEstimate>,
    resend: Backoff,
}

impl Master {
    /// A master whose first round ends at `due`. Should the reference be gone, `own`, where this node's clock was told to stand,
    /// is what later rounds hang on.
    pub(super) fn new(due: MonotonicInstant, participants: usize, own: Option<NodeEstimate>) -> Self {
        let before = own.map(|own| Solution { nodes: vec![own], ..Solution::default() });
        let mut assemblies = Vec::new();
        assemblies.resize_with(participants, Assembly::default);
        Self {
            due,
            live: Vec::new(),
            gather: None,
            results: None,
            assemblies,
            early: BTreeMap::new(),
            told: BTreeMap::new(),
            before,
        }
    }

    pub(super) fn next_due(&self) -> MonotonicInstant {
        let gather = self.gather.as_ref().map(|gather| gather.until.min(gather.resend.due));
        let results = self.results.as_ref().map(|results| results.resend.due);
        [gather, results].into_iter().flatten().fold(self.due, MonotonicInstant::min)
    }

    /// Whether nothing is under way.
    pub(super) fn is_settled(&self) -> bool {
        self.gather.is_none() && self.results.is_none()
    }

    /// Ends `knowledge.round`, for which some others are waited for until `until`.
    pub(super) fn end_round(
        &mut self,
        now: MonotonicInstant,
        until: MonotonicInstant,
        waited_for: &[usize],
        knowledge: Knowledge,
        peers: &mut Peers,
        out: &mut Outbox,
    ) {
        let round = knowledge.round;
        for to in peers.others() {
            peers.send(to, knowledge, &Message::RoundEnd { round, live: &self.live }, out);
        }
        let mut windows = std::mem::take(&mut self.early);
        windows.retain(|_, window| window.round == Some(round));
        let waiting = waited_for.iter().filter(|index| !windows.contains_key(&peers.node(**index)));
        let mut resend = Backoff::new(now, RESEND_LONGEST);
        resend.take(now);
        self.gather = Some(Gather { round, until, waiting: waiting.map(|index| (*index, false)).collect(), windows, resend });
        self.results = None;
    }

    /// Does what is due; where that is to solve a round, where this node's own clock stands is returned.
    pub(super) fn tick(
        &mut self,
        now: MonotonicInstant,
        knowledge: Knowledge,
        peers: &mut Peers,
        settings: &SessionSettings,
        out: &mut Outbox,
    ) -> Option<(u64, NodeEstimate)> {
        let mut own = None;
        if let Some(gather) = self.gather.take_if(|gather| gather.waiting.is_empty() || gather.until <= now) {
            out.counters.rounds_incomplete += u64::from(!gather.waiting.is_empty());
            own = self.solve(gather, now, peers, settings, out);
        }
        if let Some(gather) = &mut self.gather
            && gather.resend.take(now)
        {
            for (to, _) in gather.waiting.iter().filter(|(_, acknowledged)| !**acknowledged) {
                peers.send(*to, knowledge, &Message::RoundEnd { round: gather.round, live: &self.live }, out);
            }
        }
        self.results.take_if(|results| results.waiting.is_empty());
        if let Some(results) = &mut self.results
            && results.resend.take(now)
        {
            for (to, estimate) in &results.waiting {
                peers.send(*to, knowledge, &Message::Result { round: results.round, estimate: *estimate }, out);
            }
        }
        own
    }

    /// Takes this node's own window.
    pub(super) fn take_own(&mut self, window: NodeWindow) {
        if let Some(gather) = self.gather.as_mut().filter(|gather| window.round == Some(gather.round)) {
            gather.windows.insert(window.node, window);
        }
    }

    pub(super) fn receive_round_ack(&mut self, from: usize, round: u64) {
        if let Some(gather) = self.gather.as_mut().filter(|gather| gather.round == round)
            && let Some(acknowledged) = gather.waiting.get_mut(&from)
        {
            *acknowledged = true;
        }
    }

    pub(super) fn receive_result_ack(&mut self, from: usize, round: u64) {
        if let Some(results) = self.results.as_mut().filter(|results| results.round == round) {
            results.waiting.remove(&from);
        }
    }

    /// A node goes, and will report no more.
    pub(super) fn forget(&mut self, from: usize) {
        if let Some(gather) = &mut self.gather {
            gather.waiting.remove(&from);
        }
        if let Some(results) = &mut self.results {
            results.waiting.remove(&from);
        }
    }

    /// Takes a part of a report, and says which have come.
    pub(super) fn receive_part(
        &mut self,
        from: usize,
        message: &Message,
        knowledge: Knowledge,
        peers: &mut Peers,
        out: &mut Outbox,
    ) -> Result<(), Reject> {
        let Message::Part { round, part, parts, bytes } = *message else { return Err(Reject::Body) };
        // Only the round that was ended and the one in progress can be reported; what is older is done with.
        if round > knowledge.round.saturating_add(1) {
            return Err(Reject::Body);
        }
        let (got, outcome) = match self.assemblies[from].receive(round, part, parts, bytes) {
            Step::Awaits => return Ok(()),
            Step::Old => (u64::MAX, Ok(())),
            Step::Got(got) => (got, Ok(())),
            Step::Whole(got, report) => {
                let report = report.filter(|report| is_of(report, peers.node(from)));
                (got, report.map(|report| self.take_report(from, report)).ok_or(Reject::Body))
            }
        };
        peers.send(from, knowledge, &Message::PartAck { round, got }, out);
        outcome
    }

    fn take_report(&mut self, from: usize, Reported { window, told }: Reported) {
        self.told.extend(told.map(|told| (told.node, told)));
        match &mut self.gather {
            Some(gather) if window.round == Some(gather.round) => {
                gather.waiting.remove(&from);
                gather.windows.entry(window.node).or_insert(window);
            }
            _ => {
                self.early.insert(window.node, window);
            }
        }
    }

    fn solve(
        &mut self,
        gather: Gather,
        now: MonotonicInstant,
        peers: &Peers,
        settings: &SessionSettings,
        out: &mut Outbox,
    ) -> Option<(u64, NodeEstimate)> {
        let Gather { round, windows, .. } = gather;
        let windows: Vec<NodeWindow> = windows.into_values().collect();
        let told = std::mem::take(&mut self.told);
        if !told.is_empty() {
            let earlier = &mut self.before.get_or_insert_default().earlier;
            earlier.retain(|known| told.get(&known.node) != Some(known));
            earlier.extend(told.into_values());
        }
        let solution = (settings.solve)(&windows, self.before.as_ref(), &settings.solve_options);
        out.counters.rounds_solved += 1;
        let own = solution.nodes.iter().find(|estimate| estimate.node == settings.node).map(|estimate| (round, *estimate));
        if let Some((round, estimate)) = own {
            out.tell(round, estimate);
        }
        let others = solution.nodes.iter().filter(|estimate| estimate.node != settings.node);
        let waiting = others.filter_map(|estimate| Some((peers.index(estimate.node)?, *estimate))).collect();
        self.results = Some(Results { round, waiting, resend: Backoff::new(now, RESULT_LONGEST) });
        out.push(Output::Solved { round, solution: solution.clone() });
        self.before = Some(solution);
        own
    }

    pub(super) fn held_bytes(&self) -> usize {
        let parts: usize = self.assemblies.iter().map(Assembly::held_bytes).sum();
        let windows = self.early.len() + self.gather.as_ref().map_or(0, |gather| gather.windows.len());
        parts + windows * size_of::<NodeWindow>()
    }
}

/// A node reports its own edges and its own clock, and nobody else's.
fn is_of(Reported { window, told }: &Reported, node: NodeId) -> bool {
    let is_own = window.node == node && window.edges.iter().all(|record| record.edge.src == node);
    is_own && told.is_none_or(|told| told.node == node)
}

/// A result is sent again until it is acknowledged or the next one is there; a node that has died must not cost much.
const RESULT_LONGEST: Span = Span::from_nanos(1_000_000_000);
