//! Links between nodes, by what is exchanged over them.

use std::collections::{BTreeMap, BTreeSet};

use rankscope_analyze::{Job as Analysis, described};
use rankscope_answers::advice::Link;
use rankscope_answers::links::{Compared, Links, Nodes as Pair, SlowLink};

use super::blame::label;
use super::budgets::Costs;
use super::comings::{Comings, Stays};
use crate::Job;
use crate::nodes::Nodes;
use crate::time;

/// Exposed transfers between nodes take this share of a step before it is worth a word that their links cannot be compared.
const WORTH_A_WORD: f64 = 0.05;

/// The links of a job, compared.
pub(super) struct Found {
    /// Those that are slow, the one that loses most first.
    pub(super) slow: Vec<Link>,
    /// Those that nothing is beside.
    unknown: Vec<Pair>,
}

/// What exchanges have in common that are compared: operation, type of elements, number of ranks.
type Family = (String, String, usize);

/// Compares the links of `job`, whose tables are those of `analysis`.
pub(super) fn links(job: &Job, analysis: &Analysis) -> Found {
    let nodes = Nodes::of(job);
    let comings = Comings::of(job, &analysis.collectives.arrivals);
    let (mut links, mut stays) = (Links::default(), Stays::default());
    let mut families: BTreeMap<Family, usize> = BTreeMap::new();
    let mut users: BTreeMap<Pair, BTreeSet<usize>> = BTreeMap::new();
    let mut groups: BTreeMap<(Pair, usize), usize> = BTreeMap::new();
    for (instance, arrival) in comings.each() {
        let ranks = instance.members.iter().map(|member| job.ranks[member.rank()].rank);
        let Some(pair) = nodes.pair(ranks) else { continue };
        let Some(ns) = comings.transfer_ns((instance, arrival), &mut stays) else { continue };
        let operation = described(instance, &job.collectives).operation;
        let dtype = operation.dtype.clone();
        let next = families.len();
        let family = (operation.kind.name().to_owned(), dtype, instance.members.len());
        let family = *families.entry(family).or_insert(next);
        links.add(pair, family, operation.in_elements.unwrap_or(0), ns);
        groups.entry((pair, family)).or_insert(instance.group);
        users.entry(pair).or_default().extend(instance.members.ranks());
    }
    let Compared { slow, unknown } = links.compare();
    let name = |family: usize| families.iter().find(|(_, at)| **at == family).map(|((kind, ..), _)| kind.clone());
    let of_group = |link: &SlowLink| {
        let group = &job.matched.groups[*groups.get(&(link.nodes, link.family))?];
        Some(label(group))
    };
    let slow = slow.into_iter().map(|link| {
        let exchange = [of_group(&link), name(link.family)].into_iter().flatten().collect::<Vec<_>>().join(" ");
        let ranks = users.remove(&link.nodes).unwrap_or_default().into_iter().collect();
        Link { slow: link, exchange, ranks }
    });
    Found { slow: slow.collect(), unknown }
}

impl Found {
    /// That links cannot be told, where what goes over them matters; `costs` are those of a job whose steps take `step_ns`.
    pub(super) fn unanswered(&self, costs: &Costs, step_ns: i64, ranks: usize, steps: usize) -> Option<String> {
        let between = costs.sorts.iter().filter(|sort| sort.over_link).map(|sort| sort.budget.transfer_ns);
        let own_ns = between.fold(0, i64::saturating_add) / (ranks.max(1) * steps.max(1)) as i64;
        if self.unknown.is_empty() || (own_ns as f64) < WORTH_A_WORD * step_ns as f64 {
            return None;
        }
        let pairs = self.unknown.iter().take(3).map(|(one, other)| format!("{one} and {other}")).collect::<Vec<_>>().join(", ");
        Some(format!(
            "Whether the link between nodes {pairs} is slow cannot be told: no other nodes exchange anything like it. Transfers between nodes \
             take {} of a step that nothing hides.",
            time(own_ns)
        ))
    }
}
