//! Matching collectives across all ranks.
//!
//! Group by group. Where every rank recorded sequence numbers, those decide. Else each rank is paired with the one that
//! recorded most, and what stays unpaired is paired among itself, so that a collective that only the fullest rank lacks is
//! still one collective and not several.
//!
//! What is between two ranks is matched by pair, direction and order, as messages of one pair do not overtake each other. A send
//! or receive that does not say whom it is with is matched with nothing: its place in the group's order means nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use rankscope_time::Rank;

use crate::hints::{Clocks, Hints};
use crate::joining::{Between, Sequences, join, lanes};
use crate::{Collectives, Column, Group, Member, Members};

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
    pub collectives: Collectives,
    /// Its steps, in order of their start: as extracted, those that the device marks, else those of the host. Whoever knows the
    /// windows of the device's work puts those here.
    pub steps: Vec<Step>,
}

impl RankCollectives {
    /// The number of the step that the moment `ns` of the rank's clock lies in.
    pub fn step_at(&self, ns: i64) -> Option<i64> {
        let after = self.steps.partition_point(|step| step.start_ns <= ns);
        self.steps[..after].last().filter(|step| ns < step.end_ns).map(|step| step.number)
    }
}

/// One collective of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Instance {
    /// Index of its process group in [`Matched::groups`].
    pub group: usize,
    /// The ranks that have it, ascending.
    pub members: Members,
    /// Ranks given that belong to its group and lack it, as indices, ascending. Instances one after the other that the same ranks
    /// lack share it.
    pub absent: Arc<[usize]>,
    /// Whether every rank of the group that was given has it, and that is more than one (or the group is of one).
    pub complete: bool,
}

/// All collectives of a job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Matched {
    /// The process groups.
    pub groups: Vec<Group>,
    /// The collectives, by group and then in order of time.
    pub instances: Vec<Instance>,
    /// Indices of the ranks, ascending, of which collectives fit those of another rank in several ways equally well: they are matched
    /// with none of that rank's.
    pub not_told: Vec<usize>,
}

/// Matches the collectives of all given ranks.
pub fn match_ranks(ranks: &[RankCollectives]) -> Matched {
    match_with(ranks, &Hints::default())
}

/// The same, where something may be known of the ranks' clocks. It is tried where sequences without numbers repeat so regularly
/// that they do not tell by themselves how they pair, and changes nothing else.
pub fn match_with(ranks: &[RankCollectives], hints: &Hints) -> Matched {
    matched(ranks, &mut Clocks::new(ranks.len(), hints))
}

fn matched(ranks: &[RankCollectives], clocks: &mut Clocks<'_>) -> Matched {
    let mut matched = Matched::default();
    let places = Places::of_ranks(ranks);
    let nobody: Arc<[usize]> = Arc::default();
    for (group, sequences) in by_group(ranks) {
        let at = matched.groups.len();
        let given = if group.ranks.is_empty() { sequences.keys().copied().collect() } else { places.of(&group.ranks) };
        for lane in lanes(ranks, &group, sequences) {
            let of_pair;
            let given = match lane.between {
                Between::Group => given.as_slice(),
                Between::Pair(from, to) => {
                    of_pair = places.of(&[from, to]);
                    &of_pair
                }
                Between::NotTold => &[],
            };
            let alone = lane.between == Between::Group && group.ranks.len() == 1;
            let first = matched.instances.len();
            let joined = join(ranks, lane, clocks);
            matched.not_told.extend(joined.not_told);
            for members in joined.instances {
                let absent = match matched.instances[first..].last() {
                    Some(before) if before.members.are_of_same_ranks(&members) => Arc::clone(&before.absent),
                    _ => Some(lacking(given, &members))
                        .filter(|list| !list.is_empty())
                        .map_or_else(|| Arc::clone(&nobody), Arc::from),
                };
                let complete = absent.is_empty() && (members.len() > 1 || alone);
                matched.instances.push(Instance { group: at, members, absent, complete });
            }
        }
        matched.groups.push(group);
    }
    matched.not_told.sort_unstable();
    matched.not_told.dedup();
    matched
}

/// Those of `given` that are not among `members`; both ascend.
fn lacking(given: &[usize], members: &Members) -> Vec<usize> {
    let mut there = members.ranks().peekable();
    let mut is_there = |rank: usize| {
        while there.next_if(|member| *member < rank).is_some() {}
        there.peek() == Some(&rank)
    };
    given.iter().copied().filter(|rank| !is_there(*rank)).collect()
}

/// The collectives of ranks that are not of one job: each rank's by themselves, none matched.
pub fn match_nothing(ranks: &[RankCollectives]) -> Matched {
    let mut matched = Matched::default();
    let nobody: Arc<[usize]> = Arc::default();
    for (index, rank) in ranks.iter().enumerate() {
        let own = match_ranks(std::slice::from_ref(rank));
        let first = matched.groups.len();
        matched.groups.extend(own.groups);
        matched.instances.extend(own.instances.into_iter().map(|instance| Instance {
            group: first + instance.group,
            members: instance.members.iter().map(|member| Member::of(index, member.collective())).collect(),
            absent: Arc::clone(&nobody),
            complete: false,
        }));
    }
    matched
}

/// The collectives of each group, as indices by rank. Groups, whose lists of ranks may be long, are compared once a rank and not
/// once a collective.
fn by_group(ranks: &[RankCollectives]) -> BTreeMap<Group, Sequences> {
    let unknown = Group::default();
    let mut groups: BTreeMap<&Group, BTreeMap<usize, Vec<Column>>> = BTreeMap::new();
    for (rank, list) in ranks.iter().enumerate() {
        let of_group = places_by_group(list);
        for (group, own) in list.groups.iter().chain([&unknown]).zip(of_group).filter(|(_, own)| !own.is_empty()) {
            groups.entry(group).or_default().entry(rank).or_default().push(own);
        }
    }
    let joined = |columns: Vec<Column>| match <[Column; 1]>::try_from(columns) {
        Ok([only]) => only,
        // A rank that lists a group twice.
        Err(several) => {
            let mut all: Vec<u64> = several.iter().flat_map(Column::iter).collect();
            all.sort_unstable();
            all.into_iter().collect()
        }
    };
    let sequences =
        |of_ranks: BTreeMap<usize, Vec<Column>>| of_ranks.into_iter().map(|(rank, own)| (rank, joined(own))).collect();
    groups.into_iter().map(|(group, of_ranks)| (group.clone(), sequences(of_ranks))).collect()
}

/// By group of a rank, and last of those that are of none, where its collectives stand in its list.
fn places_by_group(list: &RankCollectives) -> Vec<Column> {
    let group_of = |group: u32| (group as usize).min(list.groups.len());
    let all = 0..list.collectives.len();
    let mut places: Vec<Vec<u64>> = vec![Vec::new(); list.groups.len() + 1];
    if let Some(only) = list.collectives.only_group() {
        let mut columns = vec![Column::default(); places.len()];
        columns[group_of(only)] = Column::counting(all.len());
        return columns;
    }
    all.for_each(|at| places[group_of(list.collectives.group(at))].push(at as u64));
    places.into_iter().map(Column::from_iter).collect()
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rankscope_trace::SpanId;

    use super::*;
    use crate::{Kind, LocalCollective, Operation, Sequence};

    fn collective(kind: Kind, start_ns: i64, sequence: Option<u64>, peer: Option<u32>) -> LocalCollective {
        let stay = LocalCollective::new(SpanId(0), start_ns, start_ns + 50, Operation::of(kind));
        LocalCollective { sequence: Sequence::of(sequence), peer, ..stay }
    }

    fn rank(rank: u32, world: u32, collectives: Vec<LocalCollective>) -> RankCollectives {
        let group = Group { ranks: (0..world).map(Rank).collect(), name: "0".into(), description: String::new() };
        RankCollectives { rank: Rank(rank), groups: vec![group], collectives: collectives.into(), steps: Vec::new() }
    }

    fn shape(matched: &Matched) -> Vec<(Vec<usize>, Vec<usize>, bool)> {
        let ranks = |instance: &Instance| instance.members.ranks().collect();
        matched.instances.iter().map(|instance| (ranks(instance), instance.absent.to_vec(), instance.complete)).collect()
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
            rank(0, 3, plain(&[0, 1_000, 3_700, 4_900, 6_000])),
            rank(1, 3, plain(&[0, 1_000, 2_300, 3_700])),
            rank(2, 3, plain(&[0, 1_000, 2_300, 3_700])),
        ];
        let matched = match_ranks(&ranks);
        assert_eq!(matched.instances.iter().filter(|instance| instance.complete).count(), 3);
        assert!(shape(&matched).contains(&(vec![1, 2], vec![0], false)));
        assert_eq!(matched.instances.len(), 6);
    }

    #[test]
    fn what_fits_in_several_ways_is_matched_with_nothing_and_its_rank_is_named() {
        let regular = |count: i64| (0..count).map(|at| collective(Kind::AllReduce, 1_000 * at, None, None)).collect();
        let ranks = [rank(0, 3, regular(20)), rank(1, 3, regular(19)), rank(2, 3, regular(20))];
        let matched = match_ranks(&ranks);
        assert_eq!(matched.not_told, [1]);
        let complete = |ranks: &[usize]| shape(&matched).iter().filter(|(members, ..)| members == ranks).count();
        assert_eq!((complete(&[0, 2]), complete(&[1])), (20, 19), "ranks that are alike from first to last are one");
        let odd = match_ranks(&[rank(0, 3, regular(20)), rank(1, 3, regular(19)), rank(2, 3, regular(19))]);
        let alike = shape(&odd).into_iter().filter(|(members, ..)| *members == [1, 2]).count();
        assert_eq!((odd.not_told, alike), (vec![1, 2], 19), "which are alike among themselves");
        let known = Hints { ahead_ns: vec![Some(0), Some(-1_000), None], ..Hints::default() };
        let matched = match_with(&ranks, &known);
        assert_eq!(matched.not_told, [0_usize; 0]);
        let first: Vec<_> = matched
            .instances
            .iter()
            .find(|instance| instance.complete)
            .into_iter()
            .flat_map(|one| one.members.iter())
            .collect();
        assert_eq!(first.iter().map(|member| member.collective()).collect::<Vec<_>>(), [1, 0, 1], "by clocks that are known");
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
    fn what_the_same_ranks_lack_is_kept_once() {
        let numbered = |numbers: std::ops::Range<u64>| {
            numbers.map(|number| collective(Kind::AllReduce, number as i64 * 100, Some(number), None)).collect()
        };
        let ranks: Vec<_> = (0..9).map(|own| rank(own, 9, numbered(0..if own == 3 { 50 } else { 2 }))).collect();
        let instances = match_ranks(&ranks).instances;
        assert_eq!(instances.len(), 50);
        assert!(instances[..2].iter().all(|one| one.complete && Arc::ptr_eq(&one.absent, &instances[0].absent)));
        assert_eq!(*instances[2].absent, [0, 1, 2, 4, 5, 6, 7, 8]);
        assert!(instances[2..].iter().all(|one| Arc::ptr_eq(&one.absent, &instances[2].absent)));
    }

    #[test]
    fn ten_thousand_ranks_in_a_hundred_thousand_groups_are_matched() {
        const RANKS: u32 = 10_000;
        let operation = Arc::new(Operation::of(Kind::AllReduce));
        // Each rank is in seven groups of its own and in seven with its neighbour.
        let of_rank = |own: u32| {
            let group = |number: u32| {
                let first = if number.is_multiple_of(2) { own } else { own & !1 };
                let members = if number.is_multiple_of(2) { vec![Rank(own)] } else { vec![Rank(first), Rank(first + 1)] };
                Group { ranks: members.into(), name: format!("{first}-{number}"), description: String::new() }
            };
            let stay = |at: u32| {
                let (start_ns, sequence) = (i64::from(at) * 1_000, Some(u64::from(at)));
                let stay = LocalCollective::new(SpanId(at), start_ns, start_ns + 500, Arc::clone(&operation));
                LocalCollective { group: at % 14, sequence: Sequence::of(sequence), ..stay }
            };
            let (groups, collectives) = ((0..14).map(group).collect(), (0..28).map(stay).collect());
            RankCollectives { rank: Rank(own), groups, collectives, steps: Vec::new() }
        };
        let ranks: Vec<RankCollectives> = (0..RANKS).map(of_rank).collect();
        let matched = match_ranks(&ranks);
        assert_eq!(matched.groups.len(), 10_000 * 7 + 5_000 * 7);
        assert_eq!(matched.instances.len(), 2 * matched.groups.len());
        assert!(matched.instances.iter().all(|one| one.complete));
    }

    #[test]
    fn a_group_of_ten_thousand_ranks_is_matched_with_and_without_numbers() {
        let operation = Arc::new(Operation::of(Kind::AllReduce));
        for is_numbered in [true, false] {
            let of_rank = |own: u32| {
                let stay = |at: u32| {
                    let start_ns = i64::from(at * at) * 1_000;
                    let stay = LocalCollective::new(SpanId(at), start_ns, start_ns + 500, Arc::clone(&operation));
                    LocalCollective { sequence: Sequence::of(Some(u64::from(at)).filter(|_| is_numbered)), ..stay }
                };
                // Every hundredth has lost one.
                let kept = (0..20).filter(|at| own % 100 != 7 || *at != 11);
                let groups = vec![Group { name: "0".into(), ..Group::default() }];
                RankCollectives { rank: Rank(own), groups, collectives: kept.map(stay).collect(), steps: Vec::new() }
            };
            let ranks: Vec<RankCollectives> = (0..10_000).map(of_rank).collect();
            let matched = match_ranks(&ranks);
            let lacking: Vec<usize> = matched.instances.iter().map(|one| one.absent.len()).filter(|lack| *lack > 0).collect();
            assert_eq!((matched.instances.len(), lacking), (20, vec![100]), "numbered: {is_numbered}");
        }
    }

    /// Collectives at `starts`, of which every rank but the first has lost some, on hosts of four ranks with clocks of their own.
    fn damaged(starts: &[i64], ranks: u32) -> Vec<RankCollectives> {
        let of_rank = |own: u32| {
            let ahead_ns = i64::from(own / 4) * 7_000_000;
            let kept = starts.iter().enumerate().filter(|(at, _)| own == 0 || !(at + own as usize).is_multiple_of(97));
            rank(own, ranks, kept.map(|(_, start)| collective(Kind::AllReduce, start + ahead_ns, None, None)).collect())
        };
        (0..ranks).map(of_rank).collect()
    }

    #[test]
    fn what_repeats_perfectly_is_searched_once_a_host() {
        let starts: Vec<i64> = (0..200).map(|at| at * 1_000).collect();
        let ranks = damaged(&starts, 16);
        let searched = |hints: &Hints| {
            let mut clocks = Clocks::new(ranks.len(), hints);
            let found = matched(&ranks, &mut clocks);
            (clocks.searches, found.instances.len())
        };
        let hosts: Vec<Option<u32>> = (0..16).map(|rank| Some(rank / 4)).collect();
        let ahead_ns: Vec<Option<i64>> = (0..16).map(|rank| Some(rank / 4 * 7_000_000)).collect();
        assert_eq!(searched(&Hints::default()).0, 15);
        assert_eq!(searched(&Hints { hosts: hosts.clone(), ..Hints::default() }).0, 3);
        assert_eq!(searched(&Hints { hosts, ahead_ns }), (0, 200));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Where the sequences tell by themselves how they pair.
        #[test]
        fn no_hint_changes_what_a_clear_vote_tells(
            gaps in prop::collection::vec(200i64..5_000, 150), many in 1u32..12,
            hosts in prop::collection::vec(prop::option::of(0u32..4), 0..12),
            ahead_ns in prop::collection::vec(prop::option::of(-20_000_000i64..20_000_000), 0..12)
        ) {
            let starts = gaps.iter().scan(0, |now, gap| { *now += gap; Some(*now) }).collect::<Vec<_>>();
            let ranks = damaged(&starts, many);
            prop_assert_eq!(match_with(&ranks, &Hints { hosts, ahead_ns }), match_ranks(&ranks));
        }
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
