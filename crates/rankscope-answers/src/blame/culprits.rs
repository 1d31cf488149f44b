//! Ranks, nodes and stages of a pipeline that stand out: what each caused by step, wherever it showed.
//!
//! A node is slow, and not one of its ranks, where all of its ranks caused alike and no rank elsewhere did; so is a stage. Whoever does
//! not stand out in a pattern beyond chance is no suspect, however much it caused in all.

use crate::pattern::Pattern;

/// Who is slow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Culprit {
    /// The rank at this index.
    Rank(usize),
    /// All ranks of this node.
    Node(u32),
    /// All ranks of this stage of a pipeline.
    Stage(u32),
    /// The rank at this index, which computes longest of a pipeline whose stages nobody has numbered.
    Busiest(usize),
}

/// Ranks that may be slow together: all nodes, or all stages.
#[derive(Clone, Debug, Default)]
pub struct Family {
    /// Each with the indices of its ranks.
    pub sets: Vec<(Culprit, Vec<usize>)>,
}

/// One that stands out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suspect {
    /// Who.
    pub culprit: Culprit,
    /// Indices of its ranks.
    pub ranks: Vec<usize>,
    /// What they caused, in nanoseconds, in all collectives in which it showed: of several at the same time each counts.
    pub caused_ns: i64,
    /// How it recurs.
    pub pattern: Pattern,
}

/// Times that what a late one causes in a step is what the others do, at least.
const LEAD_MIN: i64 = 2;

/// Suspects at most.
const SUSPECTS_MAX: usize = 16;

/// What each rank caused in each step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Series {
    by_rank: Vec<Vec<(usize, i64)>>,
}

impl Series {
    pub(super) fn of(ranks: usize) -> Self {
        Self { by_rank: vec![Vec::new(); ranks] }
    }

    pub(super) fn add(&mut self, rank: u32, step: usize, ns: i64) {
        let own = &mut self.by_rank[rank as usize];
        match own.last_mut().filter(|(last, _)| *last == step) {
            Some((_, sum)) => *sum = sum.saturating_add(ns),
            None => own.push((step, ns)),
        }
    }
}

/// What ranks caused, and how it recurs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Culprits {
    caused: Series,
    steps: usize,
    floor_ns: i64,
    patterns: Vec<Pattern>,
    /// In which steps each is late.
    late: Vec<Vec<bool>>,
}

impl Culprits {
    /// Of `steps` steps, in none of which anybody is late who caused no more than `floor_ns`.
    pub(super) fn of(mut caused: Series, steps: usize, floor_ns: i64) -> Self {
        for own in &mut caused.by_rank {
            // Collectives of several groups are not in order of steps.
            own.sort_unstable();
            own.dedup_by(|later, first| {
                later.0 == first.0 && {
                    first.1 = first.1.saturating_add(later.1);
                    true
                }
            });
        }
        let late = late(&caused.by_rank, steps, floor_ns);
        Self { caused, steps, floor_ns, patterns: Pattern::of_all(&late), late }
    }

    /// How the lateness of the rank at index `rank` recurs.
    pub fn pattern(&self, rank: usize) -> Pattern {
        self.patterns.get(rank).copied().unwrap_or_default()
    }

    /// Places of the steps in which the rank at index `rank` is late, ascending.
    pub fn late_steps(&self, rank: usize) -> impl Iterator<Item = usize> {
        self.late.get(rank).into_iter().flatten().enumerate().filter(|(_, late)| **late).map(|(step, _)| step)
    }

    /// What the rank at index `rank` caused, in all collectives in which it showed.
    pub fn caused_ns(&self, rank: usize) -> i64 {
        self.caused.by_rank[rank].iter().fold(0, |sum: i64, (_, ns)| sum.saturating_add(*ns))
    }

    /// Those that stand out, most caused first: nodes and stages of `families`, and ranks that are in none of these.
    pub fn suspects(&self, families: &[Family]) -> Vec<Suspect> {
        let totals = Totals::of((0..self.patterns.len()).map(|rank| self.caused_ns(rank)).collect());
        let mut suspects: Vec<Suspect> = families.iter().flat_map(|family| self.together(family, &totals)).collect();
        let is_in_one: Vec<usize> = suspects.iter().flat_map(|suspect| suspect.ranks.clone()).collect();
        for (rank, pattern) in self.patterns.iter().enumerate().filter(|(rank, _)| !is_in_one.contains(rank)) {
            let (culprit, caused_ns) = (Culprit::Rank(rank), totals.of_each[rank]);
            if self.stands_out(*pattern, caused_ns, &totals) {
                suspects.push(Suspect { culprit, ranks: vec![rank], caused_ns, pattern: *pattern });
            }
        }
        suspects.sort_by_key(|suspect| (std::cmp::Reverse(suspect.caused_ns), suspect.culprit));
        suspects.truncate(SUSPECTS_MAX);
        suspects
    }

    /// The sets of `family` whose ranks all cause alike while no other rank does.
    fn together(&self, family: &Family, Totals { of_each: of_rank, most_first }: &Totals) -> Vec<Suspect> {
        let several = |(_, ranks): &&(Culprit, Vec<usize>)| ranks.len() > 1 && ranks.len() < of_rank.len();
        let alike = |(_, ranks): &&(Culprit, Vec<usize>)| {
            let own = || ranks.iter().map(|rank| of_rank[*rank]);
            let (least, most) = (own().min().unwrap_or(0), own().max().unwrap_or(0));
            let others = most_first.iter().find(|rank| !ranks.contains(rank)).map(|rank| of_rank[*rank]);
            least > 0 && least.saturating_mul(2) >= most && others.is_none_or(|others| others.saturating_mul(LEAD_MIN) <= least)
        };
        let found: Vec<&(Culprit, Vec<usize>)> = family.sets.iter().filter(several).filter(alike).collect();
        if found.is_empty() {
            return Vec::new();
        }
        let sums: Vec<Vec<(usize, i64)>> = family.sets.iter().map(|(_, ranks)| self.sum_of(ranks)).collect();
        let totals = Totals::of(sums.iter().map(|sum| sum.iter().map(|(_, ns)| *ns).sum()).collect());
        let of_sets = Pattern::of_all(&late(&sums, self.steps, self.floor_ns));
        let suspect = |(at, (culprit, ranks)): (usize, &(Culprit, Vec<usize>))| Suspect {
            culprit: *culprit,
            ranks: ranks.clone(),
            caused_ns: totals.of_each[at],
            pattern: of_sets[at],
        };
        let all = family.sets.iter().enumerate().filter(|(_, set)| found.contains(set)).map(suspect);
        all.filter(|suspect| self.stands_out(suspect.pattern, suspect.caused_ns, &totals)).collect()
    }

    fn sum_of(&self, ranks: &[usize]) -> Vec<(usize, i64)> {
        let mut sum = std::collections::BTreeMap::<usize, i64>::new();
        for (step, ns) in ranks.iter().flat_map(|rank| &self.caused.by_rank[*rank]) {
            *sum.entry(*step).or_default() += ns;
        }
        sum.into_iter().collect()
    }

    /// Whether one that caused `caused_ns` is late in a `pattern`; of too few steps to have one, whether it caused enough and much more than
    /// the others.
    fn stands_out(&self, pattern: Pattern, caused_ns: i64, totals: &Totals) -> bool {
        match pattern {
            Pattern::Persistent | Pattern::Periodic { .. } => true,
            Pattern::Sporadic | Pattern::None => false,
            Pattern::Unknown => {
                caused_ns > self.floor_ns.saturating_mul(self.steps.max(1) as i64)
                    && caused_ns >= totals.middle_of_others_ns().saturating_mul(LEAD_MIN)
                    && totals.above(caused_ns) * 2 < totals.of_each.len().max(2)
            }
        }
    }
}

/// What each of several caused in all.
struct Totals {
    of_each: Vec<i64>,
    /// Their places, those first that caused most.
    most_first: Vec<usize>,
}

impl Totals {
    fn of(of_each: Vec<i64>) -> Self {
        let mut most_first: Vec<usize> = (0..of_each.len()).collect();
        most_first.sort_unstable_by_key(|one| std::cmp::Reverse(of_each[*one]));
        Self { of_each, most_first }
    }

    /// The middle of all without one of the largest, the lower one of two; 0 where there is no other.
    fn middle_of_others_ns(&self) -> i64 {
        let middle = self.most_first.len().checked_sub(2).map(|last| self.most_first.len() - 1 - last / 2);
        middle.map_or(0, |at| self.of_each[self.most_first[at]])
    }

    /// How many caused more than `caused_ns`.
    fn above(&self, caused_ns: i64) -> usize {
        self.most_first.partition_point(|one| self.of_each[*one] > caused_ns)
    }
}

/// In which steps each of several is late, whose caused time by step is given.
fn late(all: &[Vec<(usize, i64)>], steps: usize, floor_ns: i64) -> Vec<Vec<bool>> {
    let mut late = vec![vec![false; steps]; all.len()];
    let mut by_step: Vec<Vec<(i64, usize)>> = vec![Vec::new(); steps];
    for (one, series) in all.iter().enumerate() {
        for (step, ns) in series.iter().filter(|(step, ns)| *step < steps && *ns > 0) {
            by_step[*step].push((*ns, one));
        }
    }
    for (step, caused) in by_step.iter_mut().enumerate() {
        caused.sort_unstable();
        let nothing = all.len() - caused.len();
        for (place, (ns, one)) in caused.iter().enumerate() {
            // The median of the others, the lower one of two.
            let middle = (all.len().saturating_sub(2) / 2).checked_sub(nothing);
            let others_ns = middle.and_then(|at| caused.get(if at < place { at } else { at + 1 })).map_or(0, |(ns, _)| *ns);
            late[*one][step] = *ns > floor_ns && *ns >= others_ns.saturating_mul(LEAD_MIN);
        }
    }
    late
}

#[cfg(test)]
mod tests {
    use super::*;

    fn culprits(ranks: usize, steps: usize, caused: impl Fn(usize, usize) -> i64) -> Culprits {
        let mut series = Series::of(ranks);
        for step in 0..steps {
            for rank in 0..ranks {
                series.add(rank as u32, step, caused(rank, step));
            }
        }
        Culprits::of(series, steps, 10)
    }

    fn nodes_of_four(ranks: usize) -> Family {
        Family { sets: (0..ranks / 4).map(|node| (Culprit::Node(node as u32), (node * 4..node * 4 + 4).collect())).collect() }
    }

    fn named(culprits: &Culprits) -> Vec<(Culprit, Pattern)> {
        let ranks = culprits.patterns.len();
        culprits.suspects(&[nodes_of_four(ranks)]).into_iter().map(|one| (one.culprit, one.pattern)).collect()
    }

    #[test]
    fn a_node_whose_ranks_are_all_slow_is_named_in_their_place() {
        let slow = culprits(16, 10, |rank, step| if rank / 4 == 3 { 90 + (rank + step) as i64 % 7 } else { 3 });
        assert_eq!(named(&slow), [(Culprit::Node(3), Pattern::Persistent)]);
    }

    #[test]
    fn one_slow_rank_of_a_node_is_that_rank() {
        let slow = culprits(16, 10, |rank, _| if rank == 13 { 90 } else { 3 });
        assert_eq!(named(&slow), [(Culprit::Rank(13), Pattern::Persistent)]);
        let at_times = culprits(16, 12, |rank, step| if rank == 13 && step % 4 == 1 { 90 } else { 3 });
        assert_eq!(named(&at_times), [(Culprit::Rank(13), Pattern::Periodic { every: 4 })]);
    }

    #[test]
    fn nobody_stands_out_of_ranks_that_are_alike() {
        assert_eq!(named(&culprits(8, 12, |rank, step| 100 + (rank * 7 + step * 13) as i64 % 30)), []);
        assert_eq!(named(&culprits(8, 12, |_, _| 9)), [], "all of it is within what is no lateness");
    }

    #[test]
    fn somebody_has_to_be_last_and_is_not_named_for_it() {
        for ranks in [2, 3, 8, 16] {
            let named = (0..200_u64).filter(|seed| {
                let mut rng = *seed;
                let last: Vec<usize> = (0..24).map(|_| (drawn(&mut rng) % ranks as u64) as usize).collect();
                !named(&culprits(ranks, 24, |rank, step| if last[step] == rank { 40 } else { 0 })).is_empty()
            });
            let named = named.count();
            assert!(named <= 10, "{named} of 200 jobs of {ranks} ranks");
        }
    }

    fn drawn(state: &mut u64) -> u64 {
        *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    #[test]
    fn of_two_ranks_the_slower_one_stands_out() {
        let slow = culprits(2, 8, |rank, _| if rank == 1 { 50 } else { 20 });
        assert_eq!(named(&slow), [(Culprit::Rank(1), Pattern::Persistent)]);
    }

    #[test]
    fn of_few_steps_much_more_than_the_others_is_enough() {
        let slow = culprits(4, 2, |rank, _| if rank == 1 { 50 } else { 5 });
        assert_eq!(named(&slow), [(Culprit::Rank(1), Pattern::Unknown)]);
        assert_eq!(named(&culprits(4, 2, |rank, _| 30 + rank as i64)), []);
    }

    #[test]
    fn totals_are_compared_as_if_they_were_sorted() {
        for count in 0..9_usize {
            let of_each: Vec<i64> = (0..count as i64).map(|one| one * 5 % 7).collect();
            let totals = Totals::of(of_each.clone());
            let mut ascending = of_each;
            ascending.sort_unstable();
            assert_eq!(
                totals.middle_of_others_ns(),
                count.checked_sub(2).map_or(0, |last| ascending[last / 2]),
                "{ascending:?}"
            );
            for ns in -1..8 {
                assert_eq!(totals.above(ns), ascending.iter().filter(|total| **total > ns).count(), "{ns} in {ascending:?}");
            }
        }
    }
}
