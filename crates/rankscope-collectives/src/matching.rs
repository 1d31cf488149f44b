//! Matching collectives across all ranks.
//!
//! Group by group. Where every rank recorded sequence numbers, those decide. Else each rank is paired with the one that
//! recorded most, and what stays unpaired is paired among itself, so that a collective that only the fullest rank lacks is
//! still one collective and not several.
//!
//! What is between two ranks is matched by pair, direction and order, as messages of one pair do not overtake each other. A send
//! or receive that does not say whom it is with is matched with nothing: its place in the group's order means nothing.

use std::collections::BTreeMap;

use rankscope_time::Rank;

use crate::{Group, Kind, LocalCollective, sequence};

/// One step of a rank as its profiler marked it, on the rank's own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its number.
    pub number: i64,
    /// When it began, in nanoseconds since the epoch.
    pub start_ns: i64,
    /// When it ended.
    pub end_ns: i64,
}

/// One rank's collectives, in order of their start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankCollectives {
    /// The rank.
    pub rank: Rank,
    /// Its process groups.
    pub groups: Vec<Group>,
    /// Its collectives.
    pub collectives: Vec<LocalCollective>,
    /// Its steps, in order of their start: on the device where that marks them, else on the host.
    pub steps: Vec<Step>,
}

impl RankCollectives {
    /// The number of the step that the moment `ns` of the rank's clock lies in.
    pub fn step_at(&self, ns: i64) -> Option<i64> {
        let after = self.steps.partition_point(|step| step.start_ns <= ns);
        self.steps[..after].last().filter(|step| ns < step.end_ns).map(|step| step.number)
    }
}

/// One rank's part in a collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Member {
    /// Index of the rank among those given.
    pub rank: usize,
    /// Index of the collective in the rank's list.
    pub collective: usize,
}

/// One collective of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// Index of its process group in [`Matched::groups`].
    pub group: usize,
    /// The ranks that have it, ascending.
    pub members: Vec<Member>,
    /// Ranks given that belong to its group and lack it, as indices.
    pub absent: Vec<usize>,
    /// Whether every rank of the group that was given has it, and that is more than one (or the group is of one).
    pub complete: bool,
}

/// All collectives of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matched {
    /// The process groups.
    pub groups: Vec<Group>,
    /// The collectives, by group and then in order of time.
    pub instances: Vec<Instance>,
}

/// Matches the collectives of all given ranks.
pub fn match_ranks(ranks: &[RankCollectives]) -> Matched {
    let mut matched = Matched::default();
    let places = Places::of_ranks(ranks);
    for (group, sequences) in by_group(ranks) {
        let at = matched.groups.len();
        let present: Vec<usize> = sequences.keys().copied().collect();
        let given = if group.ranks.is_empty() { present } else { places.of(&group.ranks) };
        for lane in lanes(ranks, &group, sequences) {
            let given = match lane.between {
                Between::Group => given.clone(),
                Between::Pair(from, to) => places.of(&[from, to]),
                Between::NotTold => Vec::new(),
            };
            let alone = lane.between == Between::Group && group.ranks.len() == 1;
            for members in join(ranks, &lane) {
                let is_there = |rank: &usize| members.binary_search_by_key(rank, |member| member.rank).is_ok();
                let absent: Vec<usize> = given.iter().copied().filter(|rank| !is_there(rank)).collect();
                let complete = absent.is_empty() && (members.len() > 1 || alone);
                matched.instances.push(Instance { group: at, members, absent, complete });
            }
        }
        matched.groups.push(group);
    }
    matched
}

/// The collectives of ranks that are not of one job: each rank's by themselves, none matched.
pub fn match_nothing(ranks: &[RankCollectives]) -> Matched {
    let mut matched = Matched::default();
    for (index, rank) in ranks.iter().enumerate() {
        let own = match_ranks(std::slice::from_ref(rank));
        let first = matched.groups.len();
        matched.groups.extend(own.groups);
        matched.instances.extend(own.instances.into_iter().map(|instance| Instance {
            group: first + instance.group,
            members: instance.members.into_iter().map(|member| Member { rank: index, ..member }).collect(),
            absent: Vec::new(),
            complete: false,
        }));
    }
    matched
}

type Sequences = BTreeMap<usize, Vec<usize>>;

/// The collectives of each group, as indices by rank. Groups, whose lists of ranks may be long, are compared once a rank and not
/// once a collective.
fn by_group(ranks: &[RankCollectives]) -> BTreeMap<Group, Sequences> {
    let unknown = Group::default();
    let mut groups: BTreeMap<&Group, Sequences> = BTreeMap::new();
    for (rank, list) in ranks.iter().enumerate() {
        let mut of_group = vec![Vec::new(); list.groups.len() + 1];
        for (at, collective) in list.collectives.iter().enumerate() {
            of_group[collective.group.min(list.groups.len())].push(at);
        }
        for (group, own) in list.groups.iter().chain([&unknown]).zip(of_group).filter(|(_, own)| !own.is_empty()) {
            let sequence = groups.entry(group).or_default().entry(rank).or_default();
            sequence.extend(own);
            sequence.sort_unstable();
        }
    }
    groups.into_iter().map(|(group, sequences)| (group.clone(), sequences)).collect()
}

/// Where each rank stands among those given.
struct Places(BTreeMap<Rank, Vec<usize>>);

impl Places {
    fn of_ranks(ranks: &[RankCollectives]) -> Self {
        let mut places: BTreeMap<Rank, Vec<usize>> = BTreeMap::new();
        for (at, list) in ranks.iter().enumerate() {
            places.entry(list.rank).or_default().push(at);
        }
        Self(places)
    }

    /// The places of `ranks`, ascending.
    fn of(&self, ranks: &[Rank]) -> Vec<usize> {
        let mut found: Vec<usize> = ranks.iter().filter_map(|rank| self.0.get(rank)).flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Collectives of one group that are ordered among themselves.
struct Lane {
    sequences: Sequences,
    between: Between,
}

/// Who takes part in what a lane holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Between {
    /// All ranks of the group.
    Group,
    /// These two, the sender first.
    Pair(Rank, Rank),
    /// Two that are not named.
    NotTold,
}

fn lanes(ranks: &[RankCollectives], group: &Group, sequences: Sequences) -> Vec<Lane> {
    let mut lanes: BTreeMap<Between, Sequences> = BTreeMap::new();
    for (rank, list) in sequences {
        for at in list {
            let collective = &ranks[rank].collectives[at];
            let own = ranks[rank].rank;
            let between = match (collective.kind, collective.peer) {
                (Kind::Send, Some(peer)) => Between::Pair(own, group.global(peer)),
                (Kind::Recv, Some(peer)) => Between::Pair(group.global(peer), own),
                (Kind::Send | Kind::Recv | Kind::SendRecv, _) => Between::NotTold,
                _ => Between::Group,
            };
            lanes.entry(between).or_default().entry(rank).or_default().push(at);
        }
    }
    lanes.into_iter().map(|(between, sequences)| Lane { sequences, between }).collect()
}

/// The members of each collective of one lane, in order of time.
fn join(ranks: &[RankCollectives], lane: &Lane) -> Vec<Vec<Member>> {
    let sequences = &lane.sequences;
    let numbered = |rank: usize, list: &Vec<usize>| list.iter().all(|at| ranks[rank].collectives[*at].sequence.is_some());
    let mut instances = match lane.between {
        Between::NotTold => return alone(sequences),
        Between::Group if sequences.iter().all(|(rank, list)| numbered(*rank, list)) => {
            return join_by_number(ranks, sequences);
        }
        // Both ends count their messages by themselves, so numbers of a pair need not be equal.
        Between::Group | Between::Pair(..) => join_by_order(ranks, sequences.clone()),
    };
    // By what the first member's clock says: good enough to read a list by.
    instances.sort_by_key(|members| ranks[members[0].rank].collectives[members[0].collective].start_ns);
    instances
}

/// Each by itself.
fn alone(sequences: &Sequences) -> Vec<Vec<Member>> {
    let of_rank = |(rank, list): (&usize, &Vec<usize>)| {
        let rank = *rank;
        list.iter().map(move |at| vec![Member { rank, collective: *at }]).collect::<Vec<_>>()
    };
    sequences.iter().flat_map(of_rank).collect()
}

/// By sequence number, and by order among those that share one (operations coalesced into one).
fn join_by_number(ranks: &[RankCollectives], sequences: &Sequences) -> Vec<Vec<Member>> {
    let mut instances: BTreeMap<(u64, usize), Vec<Member>> = BTreeMap::new();
    for (rank, list) in sequences {
        let mut seen: BTreeMap<u64, usize> = BTreeMap::new();
        for at in list {
            let Some(number) = ranks[*rank].collectives[*at].sequence else { continue };
            let ordinal = seen.entry(number).or_default();
            instances.entry((number, *ordinal)).or_default().push(Member { rank: *rank, collective: *at });
            *ordinal += 1;
        }
    }
    instances.into_values().collect()
}

/// By pairing every rank with the fullest one, then the rest with each other.
fn join_by_order(ranks: &[RankCollectives], mut left: Sequences) -> Vec<Vec<Member>> {
    let mut instances = Vec::new();
    while let Some((&fullest, _)) = left.iter().max_by_key(|(rank, list)| (list.len(), std::cmp::Reverse(**rank))) {
        let of = |rank: usize, list: &[usize]| list.iter().map(|at| &ranks[rank].collectives[*at]).collect::<Vec<_>>();
        let Some(ours) = left.remove(&fullest) else { break };
        let mut joined: Vec<Vec<Member>> = ours.iter().map(|at| vec![Member { rank: fullest, collective: *at }]).collect();
        for (rank, theirs) in &mut left {
            let pairs = sequence::pair(&of(fullest, &ours), &of(*rank, theirs));
            for (i, j) in &pairs {
                joined[*i].push(Member { rank: *rank, collective: theirs[*j] });
            }
            let mut paired = pairs.into_iter().map(|(_, j)| j).peekable();
            let mut at = 0;
            theirs.retain(|_| {
                let is_paired = paired.next_if_eq(&at).is_some();
                at += 1;
                !is_paired
            });
        }
        left.retain(|_, list| !list.is_empty());
        for members in &mut joined {
            members.sort_unstable();
        }
        instances.extend(joined);
    }
    instances
}

#[cfg(test)]
mod tests {
    use rankscope_trace::SpanId;

    use super::*;
    use crate::Operation;

    fn collective(kind: Kind, start_ns: i64, sequence: Option<u64>, peer: Option<u32>) -> LocalCollective {
        let stay = LocalCollective::new(SpanId(0), start_ns, start_ns + 50, Operation::of(kind));
        LocalCollective { sequence, peer, ..stay }
    }

    fn rank(rank: u32, world: u32, collectives: Vec<LocalCollective>) -> RankCollectives {
        let group = Group { ranks: (0..world).map(Rank).collect(), name: "0".into(), description: String::new() };
        RankCollectives { rank: Rank(rank), groups: vec![group], collectives, steps: Vec::new() }
    }

    fn shape(matched: &Matched) -> Vec<(Vec<usize>, Vec<usize>, bool)> {
        let ranks = |instance: &Instance| instance.members.iter().map(|member| member.rank).collect();
        matched.instances.iter().map(|instance| (ranks(instance), instance.absent.clone(), instance.complete)).collect()
    }

    #[test]
    fn numbers_decide_whatever_the_clocks_say() {
        let numbered = |start, number| collective(Kind::AllReduce, start, Some(number), None);
        let ranks = [
            rank(0, 2, vec![numbered(0, 5), numbered(100, 6)]),
            rank(1, 2, vec![numbered(1_000_000, 6), numbered(1_000_100, 7)]),
        ];
        assert_eq!(
            shape(&match_ranks(&ranks)),
            [(vec![0], vec![1], false), (vec![0, 1], vec![], true), (vec![1], vec![0], false)]
        );
    }

    #[test]
    fn what_the_fullest_rank_lacks_is_one_collective() {
        let plain = |starts: &[i64]| starts.iter().map(|start| collective(Kind::AllReduce, *start, None, None)).collect();
        let ranks = [
            rank(0, 3, plain(&[0, 1_000, 3_000, 4_000, 5_000])),
            rank(1, 3, plain(&[0, 1_000, 2_000, 3_000])),
            rank(2, 3, plain(&[0, 1_000, 2_000, 3_000])),
        ];
        let matched = match_ranks(&ranks);
        assert_eq!(matched.instances.iter().filter(|instance| instance.complete).count(), 3);
        assert!(shape(&matched).contains(&(vec![1, 2], vec![0], false)));
        assert_eq!(matched.instances.len(), 6);
    }

    #[test]
    fn sends_meet_their_receives() {
        let ranks = [
            rank(0, 4, vec![collective(Kind::Send, 0, None, Some(1)), collective(Kind::AllReduce, 200, None, None)]),
            rank(1, 4, vec![collective(Kind::Recv, 0, None, Some(0)), collective(Kind::AllReduce, 200, None, None)]),
        ];
        let matched = match_ranks(&ranks);
        assert_eq!(shape(&matched), [(vec![0, 1], vec![], true), (vec![0, 1], vec![], true)]);
    }

    #[test]
    fn messages_of_a_pair_are_matched_by_their_order_not_their_numbers() {
        let message = |kind, start, number, peer| collective(kind, start, Some(number), Some(peer));
        let ranks = [
            rank(0, 3, vec![message(Kind::Send, 0, 7, 1), message(Kind::Send, 100, 9, 1), message(Kind::Send, 200, 10, 2)]),
            rank(1, 3, vec![message(Kind::Recv, 5, 1, 0), message(Kind::Recv, 105, 2, 0)]),
            rank(2, 3, vec![message(Kind::Recv, 205, 1, 0)]),
        ];
        assert_eq!(
            shape(&match_ranks(&ranks)),
            [(vec![0, 1], vec![], true), (vec![0, 1], vec![], true), (vec![0, 2], vec![], true)]
        );
    }

    #[test]
    fn messages_without_a_peer_are_matched_with_nothing() {
        let ranks = [
            rank(0, 2, vec![collective(Kind::Send, 0, None, None), collective(Kind::SendRecv, 100, Some(3), None)]),
            rank(1, 2, vec![collective(Kind::Recv, 0, None, None), collective(Kind::SendRecv, 100, Some(3), None)]),
        ];
        let matched = match_ranks(&ranks);
        assert_eq!(matched.instances.len(), 4);
        assert!(matched.instances.iter().all(|instance| !instance.complete && instance.absent.is_empty()));
    }

    #[test]
    fn a_moment_belongs_to_the_step_around_it() {
        let step = |number, start_ns, end_ns| Step { number, start_ns, end_ns };
        let ranks = RankCollectives { steps: vec![step(4, 10, 20), step(5, 20, 30)], ..rank(0, 1, Vec::new()) };
        let found = [5, 10, 19, 20, 29, 30].map(|ns| ranks.step_at(ns));
        assert_eq!(found, [None, Some(4), Some(4), Some(5), Some(5), None]);
    }

    #[test]
    fn one_file_of_a_larger_group_matches_nothing() {
        let alone = match_ranks(&[rank(0, 8, vec![collective(Kind::AllReduce, 0, None, None)])]);
        assert_eq!(shape(&alone), [(vec![0], vec![], false)]);
        let world_of_one = match_ranks(&[rank(0, 1, vec![collective(Kind::AllReduce, 0, None, None)])]);
        assert_eq!(shape(&world_of_one), [(vec![0], vec![], true)]);
    }
}
