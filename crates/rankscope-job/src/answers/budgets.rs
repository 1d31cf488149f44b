//! Budgets of a job's matched collectives: who came when on the job's clock, what of each stay was exposed, and how far each group
//! reaches. What is not matched has no budget, as nobody knows who was waited for.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use rankscope_analyze::{Map, Waiting, described, ranks_of};
use rankscope_answers::budgets::{Best, Budget, Budgets, Collective, Stay, exposed_wait_ns};
use rankscope_collectives::{Instance, Kind, LocalCollective};
use rankscope_document::{Budget as Row, CollectiveKind, Link};
use rankscope_time::{Instant, Rank};

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
    /// Indices of the ranks of each process group.
    pub(super) members: Vec<Vec<usize>>,
}

/// One sort of collective.
pub(super) struct Sort {
    /// Index of its process group.
    pub(super) group: usize,
    /// What that is called.
    pub(super) label: String,
    /// The operation.
    pub(super) kind: Kind,
    /// What it costs.
    pub(super) budget: Budget,
}

/// The budgets of `job`.
pub(super) fn budgets(job: &Job, steps: &Steps<'_>) -> Costs {
    let facts = groups(job, &Nodes::of(job));
    let maps: Vec<&Map> = job.clocks.ranks.iter().map(|rank| &rank.map).collect();
    let matched = || job.matched.instances.iter().filter(|instance| instance.complete);
    let mut sorts = Sorts::default();
    let (mut best, mut stays) = (Best::default(), Vec::new());
    let mut kinds = Vec::with_capacity(job.matched.instances.len());
    let mut exposed_wait: Vec<Vec<i64>> = job.collectives.iter().map(|rank| vec![0; rank.collectives.len()]).collect();
    for instance in matched() {
        let waiting = comings(job, &maps, instance, &mut stays);
        for (member, stay) in instance.members.iter().zip(&stays) {
            exposed_wait[member.rank()][member.collective()] = stay.wait_ns;
        }
        let (sort, alike) = sorts.of(job, &facts, instance);
        kinds.push((sort, alike));
        best.add(&Collective { sort, alike, waiting, in_step: true, stays: &stays });
    }
    expose(job, &mut exposed_wait);
    let mut budgets = Budgets::new(best, job.open_between_ranks_ns());
    for (instance, (sort, alike)) in matched().zip(kinds) {
        let waiting = comings(job, &maps, instance, &mut stays);
        for (member, stay) in instance.members.iter().zip(&mut stays) {
            stay.exposed_ns = job.ranks[member.rank()].report.exposed_ns.get(member.collective()).copied().unwrap_or(0);
            stay.exposed_wait_ns = exposed_wait[member.rank()][member.collective()];
        }
        let in_step = steps.numbers.is_empty() || steps.place(instance).is_some();
        budgets.add(&Collective { sort, alike, waiting, in_step, stays: &stays });
    }
    let index = |rank: &Rank| job.index(*rank);
    let members = facts.iter().map(|group| group.members.iter().filter_map(index).collect()).collect();
    let (rows, sorts) = sorts.rows(&facts, &budgets.finish(steps.numbers.len() as u64));
    Costs { rows, sorts, members }
}

/// When each member of `instance` came and how long it waited for whom it waits for, in the order of members.
fn comings(job: &Job, maps: &[&Map], instance: &Instance, stays: &mut Vec<Stay>) -> Waiting {
    let own = |member: &rankscope_collectives::Member| &job.collectives[member.rank()].collectives[member.collective()];
    let waiting = Waiting::of(described(instance, &job.collectives).kind);
    stays.clear();
    stays.extend(instance.members.iter().map(|member| {
        let one = own(member);
        let came_ns = maps[member.rank()].map(Instant::from_nanos_since_epoch(one.start_ns)).nanos_since_epoch();
        Stay { came_ns, stay_ns: one.dur_ns().max(0), ..Stay::default() }
    }));
    let mut came: Vec<i64> = stays.iter().map(|stay| stay.came_ns).collect();
    came.sort_unstable();
    let last_ns = came.last().copied().unwrap_or(0);
    let last_before = |left_ns: i64| came[..came.partition_point(|came_ns| *came_ns < left_ns)].last().copied();
    for (at, member) in instance.members.iter().enumerate() {
        let stay = stays[at];
        let awaited_ns = match waiting {
            Waiting::ForTheLast => last_ns,
            Waiting::Pairwise if own(member).kind == Kind::Send => stay.came_ns,
            Waiting::Pairwise => last_ns,
            Waiting::ForSome => last_before(stay.came_ns.saturating_add(stay.stay_ns)).unwrap_or(stay.came_ns),
        };
        stays[at].wait_ns = awaited_ns.saturating_sub(stay.came_ns).clamp(0, stay.stay_ns);
    }
    waiting
}

/// Makes each rank's waits their exposed parts. One rank at a time, as sets of time are large.
fn expose(job: &Job, waits: &mut [Vec<i64>]) {
    for ((rank, collectives), waits) in job.ranks.iter().zip(&job.collectives).zip(waits) {
        if waits.iter().all(|wait_ns| *wait_ns == 0) {
            continue;
        }
        let exposed = rank.report.accounting.exposed_comm();
        let each = collectives.collectives.iter().zip(&rank.report.exposed_ns);
        for ((one, exposed_ns), wait_ns) in each.zip(waits) {
            *wait_ns = exposed_wait_ns(&exposed, (one.start_ns, one.end_ns), *wait_ns, *exposed_ns);
        }
    }
}

/// The sorts of collectives, in order of their first appearance.
#[derive(Default)]
struct Sorts {
    sorts: BTreeMap<(usize, Kind, String, Option<u64>), usize>,
    alike: BTreeMap<(Kind, String, Option<u64>, u32, Link), usize>,
}

impl Sorts {
    /// The sort of `instance`, and which others it is compared with.
    fn of(&mut self, job: &Job, facts: &[GroupFacts<'_>], instance: &Instance) -> (usize, usize) {
        let group = &facts[instance.group];
        let LocalCollective { operation, .. } = described(instance, &job.collectives);
        let (kind, dtype, elements) = (operation.kind, || operation.dtype.clone(), operation.in_elements);
        let ranks = ranks_of(instance, described(instance, &job.collectives), group.group);
        let next = self.sorts.len();
        let sort = *self.sorts.entry((instance.group, kind, dtype(), elements)).or_insert(next);
        let next = self.alike.len();
        (sort, *self.alike.entry((kind, dtype(), elements, ranks, group.link.clone())).or_insert(next))
    }

    /// The rows of `budgets`, most exposed first, and what each but the last of too many is of.
    fn rows(&self, facts: &[GroupFacts<'_>], budgets: &[Budget]) -> (Vec<Row>, Vec<Sort>) {
        let mut order: Vec<_> =
            self.sorts.iter().map(|(sort, at)| (sort, budgets.get(*at).copied().unwrap_or_default())).collect();
        // Stable: the rest is in order already.
        order.sort_by_key(|(_, budget)| Reverse((budget.exposed_ns, budget.count)));
        let cut = if order.len() > ROWS_MAX { ROWS_MAX - 1 } else { order.len() };
        let mut rows: Vec<Row> = Vec::with_capacity(order.len().min(ROWS_MAX));
        let mut sorts = Vec::with_capacity(cut);
        for ((group, kind, dtype, elements), budget) in &order[..cut] {
            let sort = Row {
                group: facts[*group].label.clone(),
                kind: kind.name().into(),
                dtype: dtype.clone(),
                elements: *elements,
                link: facts[*group].link.clone(),
                ..Row::default()
            };
            rows.push(row(budget, sort));
            sorts.push(Sort { group: *group, label: facts[*group].label.clone(), kind: *kind, budget: *budget });
        }
        if cut < order.len() {
            let mut rest = Budget::default();
            order[cut..].iter().for_each(|(_, budget)| rest.join(budget));
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
