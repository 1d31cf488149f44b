//! Links between nodes: which of them moves data more slowly than the others do.
//!
//! Whatever is exchanged by ranks of two nodes, and of no third one, goes over the link between those. The same exchange between other
//! nodes says how long it should take; so does one of another size, as `t` for `n` elements bounds what others take: fewer than `n` take
//! at most `t`, and `k n` at most `k t`, where a transfer is a latency and so much for each byte. A link beside which there is nothing of
//! the sort is neither fast nor slow: it cannot be told.

use std::collections::BTreeMap;

/// What a link must take more than the others, to be slow.
pub const SLOWER: f64 = 1.3;

/// Exchanges of one sort below which their median says little.
const COUNT_MIN: usize = 3;

/// Two nodes, the lower number first.
pub type Nodes = (u32, u32);

/// All exchanges between nodes.
#[derive(Clone, Debug, Default)]
pub struct Links {
    /// How long transfers took, by link, by family and elements.
    links: BTreeMap<Nodes, BTreeMap<(usize, u64), Vec<i64>>>,
}

/// A link that is slower than others.
#[derive(Clone, Debug, PartialEq)]
pub struct SlowLink {
    /// Between which nodes.
    pub nodes: Nodes,
    /// The family of what costs it most.
    pub family: usize,
    /// What one of those takes, in nanoseconds.
    pub own_ns: i64,
    /// What it should take.
    pub others_ns: i64,
    /// How many times as long everything takes that can be compared.
    pub ratio: f64,
}

/// What comparing links comes to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Compared {
    /// Those that are slow, the one that loses most first.
    pub slow: Vec<SlowLink>,
    /// Those beside which there is nothing of the sort.
    pub unknown: Vec<Nodes>,
}

/// Exchanges of one sort between two nodes, beside what they should take.
#[derive(Clone, Copy, Debug)]
struct Beside {
    family: usize,
    count: i64,
    own_ns: i64,
    others_ns: i64,
}

impl Links {
    /// Adds an exchange between `nodes` of so many `elements`, whose transfer took `ns`. Of one `family` are exchanges that do the same
    /// among as many ranks.
    pub fn add(&mut self, nodes: Nodes, family: usize, elements: u64, ns: i64) {
        self.links.entry(nodes).or_default().entry((family, elements)).or_default().push(ns);
    }

    /// Compares every link with the others.
    pub fn compare(mut self) -> Compared {
        let medians: Vec<(Nodes, Medians)> = self.links.iter_mut().map(|(nodes, sorts)| (*nodes, Medians::of(sorts))).collect();
        let mut compared = Compared::default();
        let mut found: Vec<(i64, SlowLink)> = Vec::new();
        for (nodes, own) in &medians {
            let others = || medians.iter().filter(|(other, _)| other != nodes).map(|(_, medians)| medians);
            let beside: Vec<Beside> = own.sorts.iter().filter_map(|sort| sort.beside(others())).collect();
            let sum = |of: fn(&Beside) -> i64| {
                beside.iter().map(|one| one.count.saturating_mul(of(one))).fold(0, i64::saturating_add)
            };
            let (own_ns, others_ns) = (sum(|one| one.own_ns), sum(|one| one.others_ns));
            let lost_ns = |one: &&Beside| one.count.saturating_mul(one.own_ns - one.others_ns);
            let Some(most) = beside.iter().max_by_key(lost_ns) else {
                compared.unknown.push(*nodes);
                continue;
            };
            let ratio = own_ns as f64 / others_ns.max(1) as f64;
            if ratio >= SLOWER {
                let slow =
                    SlowLink { nodes: *nodes, family: most.family, own_ns: most.own_ns, others_ns: most.others_ns, ratio };
                found.push((own_ns - others_ns, slow));
            }
        }
        found.sort_by_key(|(lost_ns, link)| (std::cmp::Reverse(*lost_ns), link.nodes));
        compared.slow = found.into_iter().map(|(_, link)| link).collect();
        compared
    }
}

/// What exchanges of one link take, by sort.
#[derive(Clone, Debug)]
struct Medians {
    sorts: Vec<Sort>,
}

#[derive(Clone, Copy, Debug)]
struct Sort {
    family: usize,
    elements: u64,
    count: usize,
    ns: i64,
}

impl Medians {
    fn of(sorts: &mut BTreeMap<(usize, u64), Vec<i64>>) -> Self {
        let median = |times: &mut Vec<i64>| {
            let middle = (times.len() - 1) / 2;
            *times.select_nth_unstable(middle).1
        };
        let sort = |(&(family, elements), times): (&(usize, u64), &mut Vec<i64>)| {
            let (count, ns) = (times.len(), median(times));
            (count >= COUNT_MIN).then_some(Sort { family, elements, count, ns })
        };
        Self { sorts: sorts.iter_mut().filter_map(sort).collect() }
    }

    /// What so many elements of `family` take on this link at most.
    fn bound_ns(&self, family: usize, elements: u64) -> Option<i64> {
        let bound = |one: &Sort| match one.elements {
            own if own >= elements => one.ns,
            own => i64::try_from(i128::from(one.ns) * i128::from(elements) / i128::from(own.max(1))).unwrap_or(i64::MAX),
        };
        self.sorts.iter().filter(|one| one.family == family).map(bound).min()
    }
}

impl Sort {
    /// Beside the median of the `others` that have anything to say about it, of two the faster one.
    fn beside<'a>(&self, others: impl Iterator<Item = &'a Medians>) -> Option<Beside> {
        let mut bounds: Vec<i64> = others.filter_map(|other| other.bound_ns(self.family, self.elements)).collect();
        bounds.sort_unstable();
        let others_ns = *bounds.get(bounds.len().checked_sub(1)? / 2)?;
        let count = i64::try_from(self.count).unwrap_or(i64::MAX);
        Some(Beside { family: self.family, count, own_ns: self.ns, others_ns: others_ns.min(self.ns) })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A latency of 8 us and 1 ns for each element, `times` as slow.
    fn add(links: &mut Links, nodes: Nodes, elements: u64, times: i64) {
        (0..8).for_each(|n| links.add(nodes, 0, elements, 8_000 + times * elements as i64 + n));
    }

    fn slow(links: Links) -> Vec<Nodes> {
        links.compare().slow.into_iter().map(|link| link.nodes).collect()
    }

    #[test]
    fn a_link_that_is_slower_than_another_with_the_same_exchange_is_slow() {
        let mut links = Links::default();
        for (nodes, times) in [((0, 1), 1), ((1, 2), 6), ((2, 3), 1)] {
            add(&mut links, nodes, 100_000, times);
        }
        let compared = links.compare();
        let expected = SlowLink { nodes: (1, 2), family: 0, own_ns: 608_003, others_ns: 108_003, ratio: 608_003.0 / 108_003.0 };
        assert_eq!(compared, Compared { slow: vec![expected], unknown: Vec::new() });
    }

    #[test]
    fn exchanges_of_other_sizes_tell_as_well() {
        for (other, slow_one) in [(40_000, 100_000), (400_000, 100_000)] {
            let mut links = Links::default();
            add(&mut links, (0, 1), other, 1);
            add(&mut links, (2, 3), slow_one, 8);
            assert_eq!(slow(links), [(2, 3)], "{other}");
        }
        // Four times the size in three times the time is no slower, nor is half of it in the same time for certain.
        let mut links = Links::default();
        add(&mut links, (0, 1), 10_000, 1);
        add(&mut links, (2, 3), 40_000, 1);
        assert_eq!(slow(links), []);
    }

    #[test]
    fn a_link_alone_or_the_only_one_of_its_sort_cannot_be_told() {
        let mut links = Links::default();
        add(&mut links, (0, 1), 100_000, 6);
        (0..8).for_each(|_| links.add((2, 3), 1, 100_000, 50));
        assert_eq!(links.compare(), Compared { slow: Vec::new(), unknown: vec![(0, 1), (2, 3)] });
    }

    #[test]
    fn one_fast_link_does_not_make_all_others_slow() {
        let mut links = Links::default();
        add(&mut links, (0, 1), 100_000, 1);
        (1..6).for_each(|node| add(&mut links, (node, node + 1), 100_000, 2));
        assert_eq!(slow(links), []);
    }

    proptest! {
        #[test]
        fn links_that_are_alike_are_never_slow(sizes in prop::collection::vec((0..4_u32, 1..1_000_000_u64), 1..20)) {
            let mut links = Links::default();
            sizes.iter().for_each(|(node, elements)| add(&mut links, (*node, node + 1), *elements, 1));
            prop_assert_eq!(slow(links), Vec::<Nodes>::new());
        }
    }
}
