//! Budgets of a job's matched collectives: who came when on the job's clock, what of each stay was exposed, and how far each group
//! reaches. What is not matched has no budget, as nobody knows who was waited for.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use rankscope_analyze::{Arrival, Job as Analysis, described, ranks_of};
use rankscope_answers::advice::LateOut;
use rankscope_answers::budgets::{Best, Budget, Budgets, Collective, Stay, exposed_wait_ns};
use rankscope_answers::leaving::{Leaving, Leavings};
use rankscope_collectives::{CollectiveStay, Instance, Kind, Operation, Parallelism};
use rankscope_document::{Budget as Row, CollectiveKind, Link};
use rankscope_time::Rank;

use super::by_rank::{Met, OfRank, each_rank, together};
use super::comings::{Comings, Stays, came_ns, wait_ns};
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
    let all: Vec<Met<'_>> = comings.each().collect();
    let (mut sorts, mut stays) = (Sorts::default(), Stays::default());
    let mut best = Best::default();
    let mut leavings = Leavings::new(job.guaranteed_between_ranks_ns());
    let known = all.iter().map(|(instance, arrival)| {
        let (sort, alike) = sorts.of(job, &nodes, &facts, instance);
        let in_step = steps.numbers.is_empty() || steps.place(instance).is_some();
        comings.transfer_ns((instance, arrival), &mut stays).into_iter().for_each(|ns| best.add(alike, ns));
        let exchanged = (instance.group, described(instance, &job.collectives).kind);
        let leaving = leavings.begin(exchanged, arrival.waiting, instance.members.ranks());
        let of = Collective { sort, alike, waiting: arrival.waiting, in_step, came_ns: came_ns(arrival) };
        Known { of, arrival, last_ns: arrival.start_ns.wrapping_add(arrival.order.wait_ns(0)), leaving, saved_ns: 0 }
    });
    let mut known: Vec<Known<'_>> = known.collect();
    let mut sums =
        Sums { job, budgets: Budgets::new(best, job.open_between_ranks_ns()), leavings, columns: Columns::default() };
    for range in together(&all) {
        let (met, known) = (&all[range.clone()], &mut known[range]);
        known.iter().for_each(|one| sums.budgets.add(&one.of));
        each_rank(met, |rank, own| sums.add(rank, own, known));
        met.iter().zip(known).for_each(|((instance, _), one)| sums.end(one, instance.members.len()));
    }
    let Sums { budgets, leavings, .. } = sums;
    let late_out = leavings.finish().map(|((group, kind), found)| {
        let group = facts[group].label.clone();
        LateOut { found, group, kind: kind.name().to_owned() }
    });
    let index = |rank: &Rank| job.index(*rank);
    let members = facts.iter().map(|group| group.members.iter().filter_map(index).collect()).collect();
    let (rows, sorts) = sorts.rows(&facts, &budgets.finish(steps.numbers.len() as u64));
    Costs { rows, sorts, late_out, members }
}

/// A collective, as its ranks' parts are gone through.
struct Known<'a> {
    of: Collective,
    arrival: &'a Arrival,
    /// When the last one came, on the job's clock.
    last_ns: i64,
    leaving: Option<Leaving>,
    /// What the best transfer would save, in sum over ranks.
    saved_ns: i64,
}

/// What ranks' parts come to.
struct Sums<'a> {
    job: &'a Job,
    budgets: Budgets,
    leavings: Leavings<(usize, Kind)>,
    columns: Columns,
}

/// Of one rank, when it entered collectives, by its own clock and by the job's, how long it stayed, and what of that was exposed.
#[derive(Default)]
struct Columns {
    starts_ns: Vec<u64>,
    came_ns: Vec<i64>,
    stays_ns: Vec<u64>,
    exposed_ns: Vec<u64>,
}

impl Sums<'_> {
    /// Adds the parts that a rank has in the collectives `known`.
    fn add(&mut self, rank: usize, own: &OfRank<'_>, known: &mut [Known<'_>]) {
        let Columns { starts_ns, came_ns, stays_ns, exposed_ns } = &mut self.columns;
        let (collectives, report) = (&self.job.collectives[rank].collectives, &self.job.ranks[rank].report);
        collectives.gather(&own.places, starts_ns, stays_ns);
        report.exposed_ns.gather(&own.places, exposed_ns);
        came_ns.clear();
        came_ns.extend(starts_ns.iter().map(|ns| ns.cast_signed()));
        self.job.clocks.ranks[rank].map.cursor().map_all(came_ns);
        let span = |(start_ns, stay_ns): (&u64, &u64)| (start_ns.cast_signed(), start_ns.wrapping_add(*stay_ns).cast_signed());
        let spans = || starts_ns.iter().zip(&*stays_ns).map(span);
        let (from, until) = spans().fold((i64::MAX, i64::MIN), |(from, until), (start, end)| (from.min(start), until.max(end)));
        let exposed = report.accounting.exposed_comm_within(from, until);
        let mut windows = exposed.windows();
        let rows = spans().zip(&*came_ns).zip(&*exposed_ns).zip(own.places.iter());
        for (at, (((span_ns, came_ns), exposed_ns), place)) in rows.enumerate() {
            let (collective, member) = own.part(at);
            let one = &mut known[collective];
            let (stay_ns, exposed_ns) = (span_ns.1.wrapping_sub(span_ns.0).max(0), exposed_ns.cast_signed());
            let kind = || collectives.operation(place).kind;
            let wait_ns = wait_ns(one.arrival, kind, one.last_ns.wrapping_sub(*came_ns), stay_ns);
            let exposed_wait_ns = exposed_wait_ns(&mut windows, span_ns, wait_ns, exposed_ns);
            let stay = Stay { stay_ns, wait_ns, exposed_ns, exposed_wait_ns };
            one.saved_ns = one.saved_ns.saturating_add(self.budgets.add_stay(&one.of, &stay));
            if let Some(leaving) = &mut one.leaving {
                self.leavings.add(leaving, member, stay_ns - wait_ns);
            }
        }
    }

    /// Ends one that so many ranks have.
    fn end(&mut self, one: &Known<'_>, ranks: usize) {
        self.budgets.add_saved(&one.of, one.saved_ns, ranks);
        one.leaving.iter().for_each(|leaving| self.leavings.end(leaving));
    }
}

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
