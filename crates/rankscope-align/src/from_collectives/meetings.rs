//! Collectives found on more than one rank, as stays that constrain each other.
//!
//! Nobody leaves before those have entered that it needs. In an all-reduce everybody needs everybody. A broadcast, a scatter and
//! a send hand something from one rank to others, a reduction and a gather bring it to one: there the constraint holds in one
//! direction, and only where the root is known. A kernel that does not say what it does constrains nobody; its ends may still
//! agree. Collectives done by copy engines have no kernel, so none of them is here.

use rankscope_collectives::{Group, Kind, LocalCollective, Matched, RankCollectives};

/// One rank's stay in a collective, on its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stay {
    pub(super) rank: u32,
    pub(crate) start_ns: i64,
    pub(crate) end_ns: i64,
    /// Nobody who needs others leaves before this rank has entered.
    pub(crate) is_needed: bool,
    /// It does not leave before those have entered that are needed.
    pub(crate) needs: bool,
}

impl Stay {
    /// The stay of the rank at index `rank`, which everybody needs and which needs everybody.
    pub(crate) fn of(rank: usize, start_ns: i64, end_ns: i64) -> Self {
        Self { rank: rank as u32, start_ns, end_ns, is_needed: true, needs: true }
    }

    /// Index of the rank.
    pub(crate) fn rank(&self) -> usize {
        self.rank as usize
    }
}

/// A collective found on more than one rank.
#[derive(Clone, Debug)]
pub(crate) struct Meeting {
    /// Ascending in rank.
    pub(crate) stays: Vec<Stay>,
}

impl Meeting {
    /// The shortest stay: what remained once everybody had come.
    pub(crate) fn shortest_ns(&self) -> i64 {
        self.stays.iter().map(|stay| stay.end_ns.saturating_sub(stay.start_ns)).min().unwrap_or(0)
    }

    /// The earliest end of those who need others, less the latest start of those who are needed: negative where the stamps of the
    /// `chosen` ranks, taken as they are, show an effect before its cause.
    pub(crate) fn slack_ns(&self, chosen: impl Fn(usize) -> bool) -> Option<i64> {
        let stays = || self.stays.iter().filter(|stay| chosen(stay.rank()));
        // A rank's own stay is no constraint; with one that is needed and one that needs, there are two ranks or none.
        let entered = stays().filter(|stay| stay.is_needed).map(|stay| stay.start_ns).max()?;
        let left = stays().filter(|stay| stay.needs).map(|stay| stay.end_ns).min()?;
        Some(left.saturating_sub(entered))
    }
}

/// All collectives found on more than one rank.
pub(crate) fn meetings(ranks: &[RankCollectives], matched: &Matched) -> Vec<Meeting> {
    let together = matched.instances.iter().filter(|instance| instance.members.len() > 1);
    let stays = together.map(|instance| {
        let group = &matched.groups[instance.group];
        instance.members.iter().map(|member| {
            let collective = &ranks[member.rank()].collectives[member.collective()];
            let (is_needed, needs) = role(collective, group, &ranks[member.rank()]);
            Stay { is_needed, needs, ..Stay::of(member.rank(), collective.start_ns, collective.end_ns) }
        })
    });
    stays.map(|stays| Meeting { stays: stays.collect() }).collect()
}

/// By rank, an empty list with room for as many as it has meetings.
pub(crate) fn room_for_each<T>(meetings: &[Meeting], ranks: usize) -> Vec<Vec<T>> {
    let mut counts = vec![0; ranks];
    meetings.iter().flat_map(|meeting| &meeting.stays).for_each(|stay| counts[stay.rank()] += 1);
    counts.into_iter().map(Vec::with_capacity).collect()
}

/// Whether a rank is needed by others in a collective, and whether it needs others.
fn role(collective: &LocalCollective, group: &Group, of: &RankCollectives) -> (bool, bool) {
    let is_root = || collective.peer.map(|root| group.global(root) == of.rank);
    match collective.kind {
        kind if kind.needs_all() => (true, true),
        Kind::Send => (true, false),
        Kind::Recv => (false, true),
        Kind::Broadcast | Kind::Scatter => is_root().map_or((false, false), |root| (root, !root)),
        Kind::Reduce | Kind::Gather => is_root().map_or((false, false), |root| (!root, root)),
        _ => (false, false),
    }
}
