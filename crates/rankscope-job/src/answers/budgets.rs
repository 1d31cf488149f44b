//! Budgets of a job's matched collectives: who came when on the job's clock, what of each stay was exposed, and how far each group
//! reaches. What is not matched has no budget, as nobody knows who was waited for.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use rankscope_analyze::{Arrival, Job as Analysis, described, ranks_of};
use rankscope_answers::advice::LateOut;
use rankscope_answers::budgets::{Best, Budget, Budgets, Collective, Stay, exposed_wait_ns};
use rankscope_answers::leaving::Leavings;
use rankscope_collectives::{CollectiveStay, Instance, Kind, Operation, Parallelism};
use rankscope_document::{Budget as Row, CollectiveKind, Link};
use rankscope_time::Rank;

use super::comings::{Comings, came_ns};
use super::lengths::Lengths;
use super::steps::Steps;
use crate::Job;
use crate::collective_tables::{GroupFacts, groups};
use crate::nodes::Nodes;

/// Rows at most; all beyond are one.
const ROWS_MAX: usize = 1_000;

/// The name of that one.
const OTHERS: &str = "all others";

/// What collectives cost, most exposed first.
pub(super) struct Costs {
    /// For the document.
    pub(super) rows: Vec<Row>,
    /// The same as it was found, without what is summed up at the end.
    pub(super) sorts: Vec<Sort>,
    /// The rank that leaves collectives last, where most is lost by that.
    pub(super) late_out: Option<LateOut>,
    /// Indices of the ranks of each process group.
    pub(super) members: Vec<Vec<usize>>,
}

/// One sort of collective.
pub(super) struct Sort {
    /// Index of its process group.
    pub(super) group: usize,
    /// What that is called.
    pub(super) label: String,
    /// What it is for, where that is known.
    pub(super) dimension: Option<String>,
    /// Whether any of it goes over the link between two nodes.
    pub(super) over_link: bool,
    /// The operation.
    pub(super) kind: Kind,
    /// What it costs.
    pub(super) budget: Budget,
}

/// The budgets of `job`, whose tables are those of `analysis`.
pub(super) fn budgets(job: &Job, analysis: &Analysis, steps: &Steps<'_>) -> Costs {
    let nodes = Nodes::of(job);
    let facts = groups(job, &nodes);
    let comings = Comings::of(job, &analysis.collectives.arrivals);
    let mut sorts = Sorts::default();
    let mut best = Best::default();
    let mut known = Vec::with_capacity(comings.len());
    let counts: Vec<usize> = job.collectives.iter().map(|rank| rank.collectives.len()).collect();
    let mut waits = Lengths::zeros(&counts);
    comings.each_with_waits(&mut waits, |instance, arrival, stays| {
        let (sort, alike) = sorts.of(job, &nodes, &facts, instance);
        let in_step = steps.numbers.is_empty() || steps.place(instance).is_some();
        best.add(&collective((sort, alike, in_step), arrival, stays));
        known.push((sort, alike, in_step));
    });
    expose(job, &mut waits);
    let mut budgets = Budgets::new(best, job.open_between_ranks_ns());
    let mut leavings = Leavings::new(job.guaranteed_between_ranks_ns());
    let mut known = known.into_iter();
    comings.each_with_exposed(&waits, |instance, arrival, stays| {
        let Some(known) = known.next() else { return };
        let one = collective(known, arrival, stays);
        budgets.add(&one);
        let ranks = instance.members.ranks();
        leavings.add((instance.group, described(instance, &job.collectives).kind), ranks, &one);
    });
    let late_out = leavings.finish().map(|((group, kind), found)| {
        let group = facts[group].label.clone();
        LateOut { found, group, kind: kind.name().to_owned() }
    });
    let index = |rank: &Rank| job.index(*rank);
    let members = facts.iter().map(|group| group.members.iter().filter_map(index).collect()).collect();
    let (rows, sorts) = sorts.rows(&facts, &budgets.finish(steps.numbers.len() as u64));
    Costs { rows, sorts, late_out, members }
}

/// One whose sort is known, which others are like it and whether it is in a step.
fn collective<'a>((sort, alike, in_step): (usize, usize, bool), arrival: &Arrival, stays: &'a [Stay]) -> Collective<'a> {
    Collective { sort, alike, waiting: arrival.waiting, in_step, came_ns: came_ns(arrival), stays }
}

/// Leaves of each rank's `waits` what is exposed. One rank at a time, as sets of time are large.
fn expose(job: &Job, waits: &mut Lengths) {
    let (mut places, mut starts_ns, mut stays_ns, mut exposed_ns) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let mut waits_ns = Vec::new();
    for (number, (rank, collectives)) in job.ranks.iter().zip(&job.collectives).enumerate() {
        let exposed = rank.report.accounting.exposed_comm();
        let mut windows = exposed.windows();
        let count = collectives.collectives.len() as u64;
        for from in (0..count).step_by(READ_AT_ONCE) {
            places.clear();
            places.extend(from..count.min(from + READ_AT_ONCE as u64));
            collectives.collectives.gather(&places, &mut starts_ns, &mut stays_ns);
            rank.report.exposed_ns.gather(&places, &mut exposed_ns);
            waits.gather(number, &places, &mut waits_ns);
            for ((wait_ns, exposed_ns), (start_ns, stay_ns)) in
                waits_ns.iter_mut().zip(&exposed_ns).zip(starts_ns.iter().zip(&stays_ns))
            {
                if *wait_ns > 0 {
                    let span_ns = (start_ns.cast_signed(), start_ns.wrapping_add(*stay_ns).cast_signed());
                    *wait_ns = exposed_wait_ns(&mut windows, span_ns, *wait_ns, exposed_ns.cast_signed());
                }
            }
            waits.put(number, &places, waits_ns.iter().copied());
        }
    }
}

/// Collectives of a rank that are read together.
const READ_AT_ONCE: usize = 128;

/// The sorts of collectives, in order of their first appearance.
#[derive(Default)]
struct Sorts<'a> {
    sorts: BTreeMap<(usize, Kind, String, Option<u64>), usize>,
    alike: BTreeMap<(Kind, String, Option<u64>, u32, Link), usize>,
    /// Of each, whether any of it goes over the link between two nodes.
    over_link: Vec<bool>,
    /// The group and operation of what was asked for last, and what it was.
    last: Option<(usize, &'a Arc<Operation>, (usize, usize))>,
}

impl<'a> Sorts<'a> {
    /// The sort of `instance`, and which others it is compared with.
    fn of(&mut self, job: &'a Job, nodes: &Nodes, facts: &[GroupFacts<'_>], instance: &Instance) -> (usize, usize) {
        let operation = described(instance, &job.collectives).operation;
        // Of a group all ranks are in each, but for messages; and what is between two ends may tell its peer or not.
        let is_same = |(group, done, _): &(usize, &Arc<Operation>, _)| *group == instance.group && Arc::ptr_eq(done, operation);
        if let Some((.., known)) = self.last.filter(is_same).filter(|_| !operation.kind.is_point_to_point()) {
            return known;
        }
        let known = self.look_up(job, nodes, facts, instance);
        self.last = Some((instance.group, operation, known));
        known
    }

    fn look_up(&mut self, job: &Job, nodes: &Nodes, facts: &[GroupFacts<'_>], instance: &Instance) -> (usize, usize) {
        let group = &facts[instance.group];
        let CollectiveStay { operation, .. } = described(instance, &job.collectives);
        let (kind, dtype, elements) = (operation.kind, || operation.dtype.clone(), operation.in_elements);
        let ranks = ranks_of(instance, described(instance, &job.collectives), group.group);
        let next = self.sorts.len();
        let sort = *self.sorts.entry((instance.group, kind, dtype(), elements)).or_insert(next);
        let members = || instance.members.iter().map(|member| job.ranks[member.rank()].rank);
        self.over_link.resize(self.sorts.len(), false);
        self.over_link[sort] |= nodes.pair(members()).is_some();
        // A message reaches from one of its ends to the other, however far its group does.
        let link = if kind.is_message() { nodes.link(members()) } else { group.link.clone() };
        let next = self.alike.len();
        (sort, *self.alike.entry((kind, dtype(), elements, ranks, link)).or_insert(next))
    }

    /// The rows of `budgets`, most exposed first, and what each but the last of too many is of.
    fn rows(&self, facts: &[GroupFacts<'_>], budgets: &[Budget]) -> (Vec<Row>, Vec<Sort>) {
        let mut order: Vec<_> =
            self.sorts.iter().map(|(sort, at)| (sort, *at, budgets.get(*at).copied().unwrap_or_default())).collect();
        // Stable: the rest is in order already.
        order.sort_by_key(|(.., budget)| Reverse((budget.exposed_ns, budget.count)));
        let cut = if order.len() > ROWS_MAX { ROWS_MAX - 1 } else { order.len() };
        let mut rows: Vec<Row> = Vec::with_capacity(order.len().min(ROWS_MAX));
        let mut sorts = Vec::with_capacity(cut);
        for ((group, kind, dtype, elements), at, budget) in &order[..cut] {
            let sort = Row {
                group: facts[*group].label.clone(),
                kind: kind.name().into(),
                dtype: dtype.clone(),
                elements: *elements,
                link: facts[*group].link.clone(),
                ..Row::default()
            };
            rows.push(row(budget, sort));
            sorts.push(Sort {
                group: *group,
                label: facts[*group].label.clone(),
                dimension: Parallelism::of(facts[*group].group).map(|known| known.to_string()),
                over_link: self.over_link.get(*at).copied().unwrap_or(false),
                kind: *kind,
                budget: *budget,
            });
        }
        if cut < order.len() {
            let mut rest = Budget::default();
            order[cut..].iter().for_each(|(.., budget)| rest.join(budget));
            let unknown: CollectiveKind = Kind::Unknown.name().into();
            rows.push(row(&rest, Row { group: OTHERS.to_owned(), kind: unknown, link: Link::Unknown, ..Row::default() }));
        }
        (rows, sorts)
    }
}

/// `sort` with the figures of `budget`.
fn row(budget: &Budget, sort: Row) -> Row {
    Row {
        count: budget.count,
        exposed_ns: budget.exposed_ns,
        wait_ns: budget.wait_ns,
        transfer_ns: budget.transfer_ns,
        transfer_at_best_ns: budget.transfer_at_best_ns,
        clock_ns: budget.clock_ns,
        balance_saves_ns_per_step: budget.balance_saves_ns_per_step,
        network_saves_ns_per_step: budget.network_saves_ns_per_step,
        ..sort
    }
}
