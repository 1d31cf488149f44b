//! Which collectives of one group are one, lane by lane.
//!
//! A lane is what is ordered among itself: what all ranks of the group do, or what one rank sends another. Where everything is
//! numbered the numbers decide. Else sequences are paired in order, and what two ranks' clocks were found to differ by serves
//! wherever the two meet again, and as a hint for other ranks of their hosts.

use std::cmp::Reverse;
use std::collections::binary_heap::PeekMut;
use std::collections::{BTreeMap, BinaryHeap};

use rankscope_time::Rank;

use crate::hints::Clocks;
use crate::in_lanes::in_lanes;
use crate::matching::RankCollectives;
use crate::members::InStep;
use crate::search::by_search;
use crate::sequence::{self, By, Paired};
use crate::{Collectives, Column, Group, Kind, LocalCollective, Member, Members, Sequence};

/// The collectives of each rank, by its index, as indices into its list.
pub(crate) type Sequences = BTreeMap<usize, Column>;

/// The same, to be gone through again and again.
type Lists = BTreeMap<usize, Vec<u32>>;

/// Collectives of one group that are ordered among themselves.
pub(crate) struct Lane {
    sequences: Sequences,
    pub(crate) between: Between,
}

/// Who takes part in what a lane holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Between {
    /// All ranks of the group.
    Group,
    /// These two, the sender first.
    Pair(Rank, Rank),
    /// Two that are not named.
    NotTold,
}

/// The lanes of one group, whose collectives are `sequences`.
pub(crate) fn lanes(ranks: &[RankCollectives], group: &Group, sequences: Sequences) -> Vec<Lane> {
    let mut lanes: BTreeMap<Between, Sequences> = BTreeMap::new();
    for (rank, list) in sequences {
        let own = &ranks[rank];
        if !own.collectives.may_have(is_message) {
            lanes.entry(Between::Group).or_default().insert(rank, list);
            continue;
        }
        let mut of_lanes: BTreeMap<Between, Vec<u64>> = BTreeMap::new();
        for at in list.iter() {
            let collective = own.collectives.stay(at as usize);
            let between = match (collective.kind, collective.peer) {
                (kind, _) if !is_message(kind) => Between::Group,
                (Kind::Send, Some(peer)) => Between::Pair(own.rank, group.global(peer)),
                (Kind::Recv, Some(peer)) => Between::Pair(group.global(peer), own.rank),
                _ => Between::NotTold,
            };
            of_lanes.entry(between).or_default().push(at);
        }
        for (between, own) in of_lanes {
            lanes.entry(between).or_default().insert(rank, own.into_iter().collect());
        }
    }
    lanes.into_iter().map(|(between, sequences)| Lane { sequences, between }).collect()
}

fn is_message(kind: Kind) -> bool {
    matches!(kind, Kind::Send | Kind::Recv | Kind::SendRecv)
}

/// What is one, and what cannot be told.
pub(crate) struct Joined {
    /// The members of each collective, ascending in rank; in order of time.
    pub(crate) instances: Vec<Members>,
    /// Indices of ranks whose collectives fit those of another in several ways.
    pub(crate) not_told: Vec<usize>,
}

impl From<Vec<Members>> for Joined {
    fn from(instances: Vec<Members>) -> Self {
        Self { instances, not_told: Vec::new() }
    }
}

/// The same, as it is found.
#[derive(Default)]
struct Found {
    instances: Vec<Vec<Member>>,
    not_told: Vec<usize>,
}

/// What of one lane is one collective. `clocks` is what is known of them.
pub(crate) fn join(ranks: &[RankCollectives], lane: Lane, clocks: &mut Clocks<'_>) -> Joined {
    let is_numbered = |rank: usize, at: u64| ranks[rank].collectives.sequence(at as usize).get().is_some();
    let first = lane.sequences.first_key_value();
    let numbered = |own: (&usize, &Column)| {
        let as_first = first.is_some_and(|first| first.0 != own.0 && are_alike(ranks, first, own));
        as_first || own.1.iter().all(|at| is_numbered(*own.0, at))
    };
    let mut found = match lane.between {
        Between::NotTold => return alone(&lane.sequences).into(),
        Between::Group if lane.sequences.iter().all(numbered) => return join_by_number(ranks, &lane.sequences).into(),
        // Both ends count their messages by themselves, so numbers of a pair need not be equal.
        Between::Group | Between::Pair(..) => {
            let lists = lane.sequences.iter().map(|(rank, list)| (*rank, indices(list))).collect();
            join_by_order(ranks, lists, clocks)
        }
    };
    // By what the first member's clock says: good enough to read a list by.
    found.instances.sort_by_cached_key(|members| {
        let first = members[0];
        ranks[first.rank()].collectives.start_ns(first.collective())
    });
    Joined { instances: in_lanes(found.instances), not_told: found.not_told }
}

/// Indices into a rank's list, of which it has fewer than 2³².
fn indices(list: &Column) -> Vec<u32> {
    let mut told = vec![0; list.len()];
    list.read(0, &mut told);
    told.into_iter().map(|at| at as u32).collect()
}

/// The collective at `at` of a rank's list.
fn member(rank: usize, at: &u32) -> Member {
    Member::of(rank, *at as usize)
}

/// Each by itself.
fn alone(sequences: &Sequences) -> Vec<Members> {
    let of_rank = |(rank, list): (&usize, &Column)| {
        let rank = *rank;
        list.iter().map(move |at| Members::from(vec![Member::of(rank, at as usize)])).collect::<Vec<_>>()
    };
    sequences.iter().flat_map(of_rank).collect()
}

/// By sequence number, and by order among those that share one (operations coalesced into one).
fn join_by_number(ranks: &[RankCollectives], sequences: &Sequences) -> Vec<Members> {
    let numbered = |(rank, list): (&usize, &Column)| Numbered::of(*rank, &ranks[*rank].collectives, indices(list));
    in_step(ranks, sequences, numbered).unwrap_or_else(|| in_lanes(number_by_number(sequences.iter().map(numbered).collect())))
}

/// Whether two ranks' collectives stand in the same places of their lists and have the same numbers, as far as that is told without a look at
/// each.
fn are_alike(ranks: &[RankCollectives], (rank, list): (&usize, &Column), (other, others): (&usize, &Column)) -> bool {
    list.is_kept_as(others) && ranks[*rank].collectives.are_numbered_as(&ranks[*other].collectives)
}

/// The same of any numbers.
fn number_by_number(mut lists: Vec<Numbered<'_>>) -> Vec<Vec<Member>> {
    // What each rank has next, the first of all on top; of the same number ranks come in order.
    let mut next: BinaryHeap<Reverse<(Number, usize)>> =
        lists.iter_mut().enumerate().filter_map(|(at, list)| Some(Reverse((list.next_number()?, at)))).collect();
    let mut instances: Vec<Vec<Member>> = Vec::with_capacity(lists.iter().map(|list| list.order.len()).max().unwrap_or(0));
    let mut of: Option<Number> = None;
    while let Some(mut top) = next.peek_mut() {
        let Reverse((number, at)) = *top;
        if of.replace(number) != Some(number) {
            instances.push(Vec::with_capacity(instances.last().map_or(0, Vec::len)));
        }
        instances.last_mut().into_iter().for_each(|members| members.push(lists[at].taken()));
        match lists[at].next_number() {
            Some(number) => *top = Reverse((number, at)),
            None => drop(PeekMut::pop(top)),
        }
    }
    instances
}

/// The same where all have the same numbers, one for one, as is usual; `None` where they do not. One of the lists, of which `numbered` tells
/// the numbers, is there at a time.
fn in_step<'a>(
    ranks: &[RankCollectives],
    sequences: &Sequences,
    numbered: impl Fn((&usize, &Column)) -> Numbered<'a>,
) -> Option<Vec<Members>> {
    let whole = sequences.first_key_value()?;
    let first = numbered(whole);
    let numbers: Vec<Sequence> = first.order.iter().map(|at| first.number(*at)).collect();
    if numbers.iter().any(|number| number.get().is_none()) {
        return None;
    }
    let (mut lane, places) = (InStep::default(), first.places());
    lane.add(first.rank, places.clone());
    for own in sequences.iter().skip(1) {
        if are_alike(ranks, whole, own) {
            lane.add(*own.0, places.clone());
            continue;
        }
        let list = numbered(own);
        if list.order.len() != numbers.len() || !list.order.iter().zip(&numbers).all(|(at, number)| list.number(*at) == *number)
        {
            return None;
        }
        lane.add(list.rank, list.places());
    }
    Some(lane.members(numbers.len()))
}

/// A sequence number, and how many before it of the same rank have the same.
type Number = (u64, u32);

/// One rank's collectives by their numbers.
struct Numbered<'a> {
    rank: usize,
    collectives: &'a Collectives,
    /// Their indices.
    order: Vec<u32>,
    /// Those that were gone through, and the number of the last.
    gone: usize,
    last: Option<Number>,
}

impl<'a> Numbered<'a> {
    fn of(rank: usize, collectives: &'a Collectives, mut order: Vec<u32>) -> Self {
        let number = |at: &u32| collectives.sequence(*at as usize);
        if !order.is_sorted_by_key(number) {
            order.sort_by_key(number);
        }
        Self { rank, collectives, order, gone: 0, last: None }
    }

    /// Where they are in the rank's list, by their numbers.
    fn places(&self) -> Column {
        self.order.iter().map(|at| u64::from(*at)).collect()
    }

    /// That of the one at `at` of the rank's list.
    fn number(&self, at: u32) -> Sequence {
        self.collectives.sequence(at as usize)
    }

    /// Goes on to the next one that has a number, and tells it.
    fn next_number(&mut self) -> Option<Number> {
        loop {
            let at = *self.order.get(self.gone)?;
            self.gone += 1;
            let Some(number) = self.number(at).get() else { continue };
            let ordinal = self.last.filter(|(last, _)| *last == number).map_or(0, |(_, ordinal)| ordinal + 1);
            self.last = Some((number, ordinal));
            return self.last;
        }
    }

    /// The one whose number was told last.
    fn taken(&self) -> Member {
        member(self.rank, &self.order[self.gone - 1])
    }
}

/// By pairing every rank with the fullest one, then the rest with each other. A rank that fits in several ways is put aside.
fn join_by_order(ranks: &[RankCollectives], mut left: Lists, clocks: &mut Clocks<'_>) -> Found {
    let mut all = Found::default();
    let mut aside = Lists::new();
    while let Some((&fullest, _)) = left.iter().max_by_key(|(rank, list)| (list.len(), Reverse(**rank))) {
        let Some(list) = left.remove(&fullest) else { break };
        let mut joined: Vec<Vec<Member>> = list.iter().map(|at| vec![member(fullest, at)]).collect();
        let ours = of_rank(ranks, fullest, &list);
        let ours = borrowed(&ours);
        for (rank, list) in &mut left {
            let Paired { pairs, by } = paired((fullest, &ours), (*rank, &borrowed(&of_rank(ranks, *rank, list))), clocks);
            for (i, j) in &pairs {
                joined[*i].push(member(*rank, &list[*j]));
            }
            let mut paired = pairs.into_iter().map(|(_, j)| j).peekable();
            let mut at = 0;
            list.retain(|_| {
                let is_paired = paired.next_if_eq(&at).is_some();
                at += 1;
                !is_paired
            });
            if by == By::NotTold {
                all.not_told.push(*rank);
                aside.insert(*rank, std::mem::take(list));
            }
        }
        left.retain(|_, list| !list.is_empty());
        for members in &mut joined {
            members.sort_unstable();
        }
        all.instances.extend(joined);
    }
    all.instances.extend(join_alike(ranks, aside));
    all
}

/// Ranks whose sequences are alike from first to last.
struct Alike {
    first: usize,
    /// The collectives of the first.
    list: Vec<u32>,
    instances: Vec<Vec<Member>>,
}

/// Ranks that are alike are joined one for one, and the others are by themselves.
fn join_alike(ranks: &[RankCollectives], sequences: Lists) -> Vec<Vec<Member>> {
    let mut groups: Vec<Alike> = Vec::new();
    for (rank, list) in sequences {
        let own = of_rank(ranks, rank, &list);
        let is_alike = |group: &&mut Alike| {
            let of_first = || of_rank(ranks, group.first, &group.list);
            group.list.len() == list.len() && sequence::in_order(&borrowed(&of_first()), &borrowed(&own)).is_some()
        };
        let members = list.iter().map(|at| member(rank, at));
        match groups.iter_mut().find(is_alike) {
            Some(group) => group.instances.iter_mut().zip(members).for_each(|(joined, member)| joined.push(member)),
            None => {
                let instances = members.map(|member| vec![member]).collect();
                groups.push(Alike { first: rank, list, instances });
            }
        }
    }
    groups.into_iter().flat_map(|group| group.instances).collect()
}

/// Those of `list`, row by row: they are gone through again and again.
fn of_rank(ranks: &[RankCollectives], rank: usize, list: &[u32]) -> Vec<LocalCollective> {
    list.iter().map(|at| ranks[rank].collectives.stay(*at as usize).to_local()).collect()
}

fn borrowed(rows: &[LocalCollective]) -> Vec<&LocalCollective> {
    rows.iter().collect()
}

/// Pairs two ranks' sequences by what is known of their clocks, and learns of them.
fn paired(
    (a, ours): (usize, &[&LocalCollective]),
    (b, theirs): (usize, &[&LocalCollective]),
    clocks: &mut Clocks<'_>,
) -> Paired {
    let known = clocks.known(a, b);
    let at_once = sequence::pair_at_once(ours, theirs, known, clocks.hints(a, b));
    let Paired { pairs, by } = at_once.unwrap_or_else(|| searched((a, ours), (b, theirs), clocks));
    // What a hint led to is known no better than the hint.
    if known.is_none()
        && by != By::Hint
        && let Some(offset_ns) = sequence::offset_of(ours, theirs, &pairs)
    {
        clocks.learn(a, b, offset_ns);
    }
    Paired { pairs, by }
}

/// By trying every shift, unless that told nothing of ranks of the same two hosts.
fn searched(
    (a, ours): (usize, &[&LocalCollective]),
    (b, theirs): (usize, &[&LocalCollective]),
    clocks: &mut Clocks<'_>,
) -> Paired {
    if clocks.is_not_told(a, b) {
        return Paired { pairs: Vec::new(), by: By::NotTold };
    }
    #[cfg(test)]
    {
        clocks.searches += 1;
    }
    let paired = by_search(ours, theirs, clocks.hints(a, b));
    if paired.by == By::NotTold {
        clocks.put_not_told(a, b);
    }
    paired
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rankscope_trace::SpanId;

    use super::*;
    use crate::Operation;

    proptest! {
        /// Where all ranks have the same numbers the n-th of each are one; where any has others, nobody says so.
        #[test]
        fn ranks_in_step_are_joined_as_number_by_number(
            numbers in prop::collection::vec(prop::option::weighted(0.95, 0u64..40), 0..40), ranks in 1u32..5, other in prop::option::of(any::<prop::sample::Index>())
        ) {
            let stay = |number: &Option<u64>| {
                let stay = LocalCollective::new(SpanId(0), 0, 10, Operation::of(Kind::AllReduce));
                LocalCollective { sequence: Sequence::of(*number), ..stay }
            };
            let is_changed = other.is_some();
            let mut own: Vec<Vec<LocalCollective>> = (0..ranks).map(|_| numbers.iter().map(stay).collect()).collect();
            if let (Some(other), Some(last), false) = (other, own.last_mut(), numbers.is_empty()) {
                last[other.index(numbers.len())].sequence = Sequence::of(Some(77));
            }
            let of_rank = |(rank, own): (u32, Vec<LocalCollective>)| {
                RankCollectives { rank: rankscope_time::Rank(rank), groups: Vec::new(), collectives: own.into(), steps: Vec::new() }
            };
            let own: Vec<RankCollectives> = (0..).zip(own).map(of_rank).collect();
            let sequences: Sequences = (0..own.len()).map(|rank| (rank, Column::counting(numbers.len()))).collect();
            let numbered = |(rank, list): (&usize, &Column)| Numbered::of(*rank, &own[*rank].collectives, indices(list));
            let lists = || sequences.iter().map(numbered);
            if let Some(instances) = in_step(&own, &sequences, numbered) {
                let listed: Vec<Members> = number_by_number(lists().collect()).into_iter().map(Members::from).collect();
                prop_assert_eq!(instances, listed);
            } else {
                let is_odd = |number: &Option<u64>| number.is_none();
                prop_assert!(numbers.iter().any(is_odd) || (ranks > 1 && is_changed));
            }
        }
    }
}
