//! Collectives as meetings: every participant's stay on one clock, and whether they can have met.

use rankscope_collectives::{CollectiveStay, Group, Kind, Matched, Member};
use rankscope_time::{ClockMap, Instant, Rank, RankClock, ReferenceClock};
use rustc_hash::FxHashMap;

use super::causality::{Miss, worst};
use super::{Participants, RankEvidence, Rule};

/// The way from a trace's clock to the clock all are judged on.
type Map = ClockMap<RankClock, ReferenceClock>;

/// A collective that more than one participant recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meeting {
    /// The operation, as recorded.
    pub op: String,
    /// Its process group, or what stands in for one.
    pub group: String,
    /// How many of this operation the group had before.
    pub occurrence: u64,
    /// Who was in it, in the order of participants.
    pub stays: Vec<Stay>,
    /// What it was judged by; none if no rule applies, as for a kernel that does not say what it does.
    pub rule: Option<Rule>,
    /// Whether all can have met.
    pub verdict: Verdict,
}

/// One participant's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// Index of the participant.
    pub participant: usize,
    /// When it entered, on the clock all are judged on.
    pub start_ns: i64,
    /// When it left.
    pub end_ns: i64,
    /// How far these may be off.
    pub uncertainty_ns: u64,
    /// The kernel's correlation id.
    pub correlation: Option<u64>,
}

/// Whether the stays of a meeting can have been one meeting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// They can.
    Overlap,
    /// They cannot.
    Violation {
        /// Who entered after another had left, by index of the stay.
        late: usize,
        /// Who had left.
        early: usize,
        /// How long before.
        gap_ns: i64,
        /// Whether that is more than the two clocks may be off together.
        certain: bool,
    },
    /// Nothing says that they must.
    Unjudged,
}

impl Meeting {
    /// From the first start to the last.
    pub fn start_gap_ns(&self) -> i64 {
        let starts = || self.stays.iter().map(|stay| stay.start_ns);
        starts().max().unwrap_or(0).saturating_sub(starts().min().unwrap_or(0))
    }
}

/// The meetings of `matched`, which was found among the collectives of `participants`, who are of the ranks of `evidence`, on the
/// clocks that `maps` (one a rank) lead to; in order of their first start.
pub fn meet(evidence: &[RankEvidence], maps: &[&Map], participants: &Participants, matched: &Matched) -> Vec<Meeting> {
    let room = Room { evidence, maps, participants };
    let together = matched.instances.iter().filter(|instance| instance.members.len() > 1);
    let mut meetings: Vec<Meeting> = together
        .map(|instance| room.meeting(&matched.groups[instance.group], &instance.members.iter().collect::<Vec<_>>()))
        .collect();
    meetings.sort_by_key(|meeting| meeting.stays.iter().map(|stay| stay.start_ns).min());
    let occurrences = occurrences(&meetings);
    for (meeting, occurrence) in meetings.iter_mut().zip(occurrences) {
        meeting.occurrence = occurrence;
    }
    meetings
}

/// How many of the same operation and group stand before each.
fn occurrences(meetings: &[Meeting]) -> Vec<u64> {
    let mut seen: FxHashMap<(&str, &str), u64> = FxHashMap::default();
    let mut before = Vec::with_capacity(meetings.len());
    for Meeting { group, op, .. } in meetings {
        let count = seen.entry((group, op)).or_default();
        before.push(*count);
        *count += 1;
    }
    before
}

struct Room<'a> {
    evidence: &'a [RankEvidence],
    maps: &'a [&'a Map],
    participants: &'a Participants,
}

impl Room<'_> {
    fn meeting(&self, group: &Group, members: &[Member]) -> Meeting {
        let stays: Vec<Stay> = members.iter().map(|member| self.stay(member)).collect();
        let rule = self.rule(group, members);
        let verdict = rule.as_ref().map_or(Verdict::Unjudged, |(_, flow)| verdict(&stays, flow));
        Meeting {
            op: members.first().map(|member| self.collective(member).name.clone()).unwrap_or_default(),
            group: if group.name.is_empty() { group.description.clone() } else { group.name.clone() },
            occurrence: 0,
            stays,
            rule: rule.map(|(rule, _)| rule),
            verdict,
        }
    }

    fn collective(&self, member: &Member) -> CollectiveStay<'_> {
        self.participants.collectives[member.rank()].collectives.stay(member.collective())
    }

    fn stay(&self, member: &Member) -> Stay {
        let collective = self.collective(member);
        let [start, end] = [collective.start_ns, collective.end_ns].map(Instant::from_nanos_since_epoch);
        let map = self.maps[self.participants.list[member.rank()].rank];
        Stay {
            participant: member.rank(),
            start_ns: map.map(start).nanos_since_epoch(),
            end_ns: map.map(end).nanos_since_epoch(),
            uncertainty_ns: map.uncertainty_ns(start).max(map.uncertainty_ns(end)),
            correlation: self.participants.recorded(self.evidence, member).and_then(|recorded| recorded.correlation),
        }
    }

    /// Which way data flows, by index of the member; none if nothing recorded tells.
    fn rule(&self, group: &Group, members: &[Member]) -> Option<(Rule, Flow)> {
        let kinds: Vec<Kind> = members.iter().map(|member| self.collective(member).kind).collect();
        if kinds.iter().all(|kind| kind.needs_all()) {
            return Some((Rule::CollectiveOverlap, Flow::Everywhere));
        }
        if let [Kind::Send, Kind::Recv] | [Kind::Recv, Kind::Send] = kinds[..] {
            let sender = usize::from(kinds[0] == Kind::Recv);
            return Some((Rule::ReceiveAfterSend, Flow::From(sender)));
        }
        let kind = *kinds.first()?;
        if kinds.iter().any(|other| *other != kind) {
            return None;
        }
        let root = members.iter().find_map(|member| self.root(group, member))?;
        let root = members.iter().position(|member| self.participants.collectives[member.rank()].rank == root)?;
        Some((Rule::RootTakesPart, if flows_out(kind) { Flow::From(root) } else { Flow::To(root) }))
    }

    /// The rank that all data of a collective from or to one rank comes from or goes to, if `member` tells.
    fn root(&self, group: &Group, member: &Member) -> Option<Rank> {
        let collective = self.collective(member);
        let has_root = flows_out(collective.kind) || matches!(collective.kind, Kind::Reduce | Kind::Gather);
        collective.peer.filter(|_| has_root).map(|root| group.global(root))
    }
}

fn flows_out(kind: Kind) -> bool {
    matches!(kind, Kind::Broadcast | Kind::Scatter)
}

/// Which way data flows among the members of a meeting.
enum Flow {
    Everywhere,
    From(usize),
    To(usize),
}

fn verdict(stays: &[Stay], flow: &Flow) -> Verdict {
    let gives = |at: usize| match flow {
        Flow::Everywhere => true,
        Flow::From(root) => at == *root,
        Flow::To(root) => at != *root,
    };
    let takes = |at: usize| matches!(flow, Flow::Everywhere) || !gives(at);
    let starts = stays.iter().map(|stay| stay.start_ns).enumerate();
    let ends = stays.iter().map(|stay| stay.end_ns).enumerate();
    let givers: Vec<_> = starts.filter(|(at, _)| gives(*at)).collect();
    let takers: Vec<_> = ends.filter(|(at, _)| takes(*at)).collect();
    match worst(&givers, &takers) {
        None => Verdict::Overlap,
        Some(Miss { late, early, gap_ns }) => {
            let open = stays[late].uncertainty_ns.saturating_add(stays[early].uncertainty_ns);
            Verdict::Violation { late, early, gap_ns, certain: gap_ns.unsigned_abs() > open }
        }
    }
}
