//! Who takes part in collectives: a rank, or each device of a process that drives several.
//!
//! A process group that lists its ranks says that the process is one of them. Where none does (XLA, old traces), one file may
//! hold many devices whose collectives run at the same time under the same names. Pairing those in one queue compares a device
//! with its neighbour instead of with its counterpart, so every device gets a queue of its own.

use std::collections::BTreeMap;

use rankscope_collectives::{Group, Member, RankCollectives};

use super::evidence::{Key, RankEvidence, Recorded};

/// Everybody who meets in collectives, and what each took part in. The lists are of one length.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Participants {
    /// Who.
    pub list: Vec<Participant>,
    /// Their collectives, to be matched.
    pub collectives: Vec<RankCollectives>,
    /// Of a device, the places of its collectives among those of its rank.
    places: Vec<Option<Vec<usize>>>,
}

/// One of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Participant {
    /// Index of its rank.
    pub rank: usize,
    /// Its device, as the rank's evidence numbers them, where the rank holds collectives of several.
    pub device: Option<usize>,
}

impl Participants {
    /// Those of the ranks of `evidence`, in their order; `collectives` has one entry a rank.
    pub fn of(evidence: &[RankEvidence], collectives: Vec<RankCollectives>) -> Self {
        let mut all = Self::default();
        for (rank, (evidence, collectives)) in evidence.iter().zip(collectives).enumerate() {
            let devices = devices(evidence, &collectives);
            if devices.len() < 2 {
                all.push(Participant { rank, device: None }, collectives, None);
                continue;
            }
            for (device, places) in devices {
                let own = regrouped(evidence, &collectives, &places);
                all.push(Participant { rank, device: Some(device) }, own, Some(places));
            }
        }
        all
    }

    /// Whether each is a rank, so that what was matched among ranks was matched among these.
    pub fn are_ranks(&self) -> bool {
        self.list.iter().all(|participant| participant.device.is_none())
    }

    /// How the trace knows the collective of `member`, by the evidence that these are of.
    pub(super) fn recorded(&self, evidence: &[RankEvidence], member: &Member) -> Option<Recorded> {
        let at = match self.places.get(member.rank())? {
            Some(places) => *places.get(member.collective())?,
            None => member.collective(),
        };
        evidence.get(self.list[member.rank()].rank)?.collectives.get(at).copied()
    }

    fn push(&mut self, participant: Participant, collectives: RankCollectives, places: Option<Vec<usize>>) {
        self.list.push(participant);
        self.collectives.push(collectives);
        self.places.push(places);
    }
}

/// The places of the collectives by device, unless a process group says that all of them are one rank's.
fn devices(evidence: &RankEvidence, collectives: &RankCollectives) -> BTreeMap<usize, Vec<usize>> {
    let mut devices: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    if collectives.groups.iter().all(|group| group.ranks.is_empty()) {
        for at in 0..collectives.collectives.len() {
            if let Some((_, stream)) = evidence.stream(at) {
                devices.entry(stream.device).or_default().push(at);
            }
        }
    }
    devices
}

/// The collectives at `places`, which are one device's, grouped by its own streams in their order: groups that only stand in for
/// communicators were numbered over all devices.
fn regrouped(evidence: &RankEvidence, all: &RankCollectives, places: &[usize]) -> RankCollectives {
    // Streams by number, then in the order of the trace.
    let stream = |at: usize| {
        evidence.stream(at).map(|(place, stream)| match stream.key {
            Key::Number(number) => (number, place),
            Key::Text(_) => (i64::MAX, place),
        })
    };
    let stands_in = |at: usize| all.groups[all.collectives.group(at) as usize].name.starts_with("unnamed ");
    let mut streams: Vec<_> = places.iter().filter(|at| stands_in(**at)).filter_map(|at| stream(*at)).collect();
    streams.sort_unstable();
    streams.dedup();
    let mut groups = all.groups.clone();
    let first = groups.len();
    groups.extend((1..=streams.len()).map(|number| Group { name: format!("stream {number}"), ..Group::default() }));
    let own = |at: &usize| {
        let mut collective = all.collectives.stay(*at).to_local();
        if stands_in(*at)
            && let Some(Ok(number)) = stream(*at).map(|stream| streams.binary_search(&stream))
        {
            collective.group = (first + number) as u32;
        }
        collective
    };
    RankCollectives { rank: all.rank, groups, collectives: places.iter().map(own).collect(), steps: all.steps.clone() }
}
