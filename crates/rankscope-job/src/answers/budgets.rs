//! Budgets of a job's matched collectives: who came when on the job's clock, what of each stay was exposed, and how far each group
//! reaches. What is not matched has no budget, as nobody knows who was waited for.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

use rankscope_analyze::{Waiting, described, ranks_of};
use rankscope_answers::advice::LateOut;
use rankscope_answers::budgets::{Best, Budget, Budgets, Collective, Stay, exposed_wait_ns};
use rankscope_answers::leaving::Leavings;
use rankscope_collectives::{CollectiveStay, Instance, Kind, Member, Operation, Parallelism, RankCollectives};
use rankscope_document::{Budget as Row, CollectiveKind, Link};
use rankscope_time::{ClockCursor, Instant, Rank, RankClock, ReferenceClock};

use super::lengths::Lengths;
use super::steps::Steps;
use crate::Job;
use crate::collective_tables::{GroupFacts, groups};
use crate::judge::JobRank;
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

/// The budgets of `job`.
pub(super) fn budgets(job: &Job, steps: &Steps<'_>) -> Costs {
    let nodes = Nodes::of(job);
    let facts = groups(job, &nodes);
    let mut clocks = clocks(job);
    let matched = || job.matched.instances.iter().filter(|instance| instance.complete);
    let mut sorts = Sorts::default();
    let (mut best, mut stays, mut came) = (Best::default(), Vec::new(), Vec::new());
    let mut known = Vec::with_capacity(job.matched.instances.len());
    let mut waits: Vec<Lengths> = job.collectives.iter().map(|rank| Lengths::zeros(rank.collectives.len())).collect();
    for instance in matched() {
        let (waiting, came_ns) = comings(job, &mut clocks, instance, &mut stays, &mut came);
        for (member, stay) in instance.members.iter().zip(&stays) {
            waits[member.rank()].put(member.collective(), stay.wait_ns);
        }
        let (sort, alike) = sorts.of(job, &nodes, &facts, instance);
        let in_step = steps.numbers.is_empty() || steps.place(instance).is_some();
        let one = Collective { sort, alike, waiting, in_step, came_ns, stays: &stays };
        best.add(&one);
        known.push(Collective { stays: &[], ..one });
    }
    let exposed_waits = exposed(job, &waits);
    let mut budgets = Budgets::new(best, job.open_between_ranks_ns());
    let mut leavings = Leavings::new(job.guaranteed_between_ranks_ns());
    for (instance, one) in matched().zip(known) {
        stays.clear();
        stays.extend(instance.members.iter().map(|member| {
            let (rank, at) = (member.rank(), member.collective());
            let (start_ns, end_ns) = job.collectives[rank].collectives.stamps_ns(at);
            Stay {
                stay_ns: (end_ns - start_ns).max(0),
                wait_ns: waits[rank].get(at),
                exposed_ns: job.ranks[rank].report.exposed_ns.get(at).copied().unwrap_or(0),
                exposed_wait_ns: exposed_waits[rank].get(at),
            }
        }));
        let one = Collective { stays: &stays, ..one };
        budgets.add(&one);
        let ranks = instance.members.iter().map(Member::rank);
        leavings.add((instance.group, described(instance, &job.collectives).kind), ranks, &one);
    }
    let late_out = leavings.finish().map(|((group, kind), found)| {
        let group = facts[group].label.clone();
        LateOut { found, group, kind: kind.name().to_owned() }
    });
    let index = |rank: &Rank| job.index(*rank);
    let members = facts.iter().map(|group| group.members.iter().filter_map(index).collect()).collect();
    let (rows, sorts) = sorts.rows(&facts, &budgets.finish(steps.numbers.len() as u64));
    Costs { rows, sorts, late_out, members }
}

/// From a rank's clock to the job's.
type Cursor<'a> = ClockCursor<'a, RankClock, ReferenceClock>;

/// Those of the ranks of `job`.
pub(super) fn clocks(job: &Job) -> Vec<Cursor<'_>> {
    job.clocks.ranks.iter().map(|rank| rank.map.cursor()).collect()
}

/// How long each member of `instance` stayed and waited for whom it waits for, into `stays` in the order of members; who waits for
/// whom, and when the median rank and the last one came. `came` is room to work in.
pub(super) fn comings(
    job: &Job,
    clocks: &mut [Cursor<'_>],
    instance: &Instance,
    stays: &mut Vec<Stay>,
    came: &mut Vec<i64>,
) -> (Waiting, (i64, i64)) {
    let stamps = |member: &Member| job.collectives[member.rank()].collectives.stamps_ns(member.collective());
    let kind = |member: &Member| job.collectives[member.rank()].collectives.operation(member.collective()).kind;
    let waiting = Waiting::of(described(instance, &job.collectives).kind);
    came.clear();
    came.extend(instance.members.iter().map(|member| {
        let start = Instant::from_nanos_since_epoch(stamps(member).0);
        clocks[member.rank()].map(start).nanos_since_epoch()
    }));
    stays.clear();
    stays.extend(came.iter().map(|came_ns| Stay { wait_ns: *came_ns, ..Stay::default() }));
    let last_ns = came.iter().copied().max().unwrap_or(0);
    let middle = came.len().saturating_sub(1) / 2;
    let median_ns = match waiting {
        _ if came.is_empty() => last_ns,
        Waiting::ForSome => {
            came.sort_unstable();
            came[middle]
        }
        Waiting::ForTheLast | Waiting::Pairwise => *came.select_nth_unstable(middle).1,
    };
    let last_before = |left_ns: i64| came[..came.partition_point(|came_ns| *came_ns < left_ns)].last().copied();
    for (stay, member) in stays.iter_mut().zip(&instance.members) {
        let (came_ns, (start_ns, end_ns)) = (stay.wait_ns, stamps(member));
        stay.stay_ns = (end_ns - start_ns).max(0);
        let awaited_ns = match waiting {
            Waiting::Pairwise if kind(member) == Kind::Send => came_ns,
            Waiting::ForTheLast | Waiting::Pairwise => last_ns,
            Waiting::ForSome => last_before(came_ns.saturating_add(stay.stay_ns)).unwrap_or(came_ns),
        };
        stay.wait_ns = awaited_ns.saturating_sub(came_ns).clamp(0, stay.stay_ns);
    }
    (waiting, (median_ns, last_ns))
}

/// The exposed parts of each rank's `waits`. One rank at a time, as sets of time are large.
fn exposed(job: &Job, waits: &[Lengths]) -> Vec<Lengths> {
    let of_rank = |((rank, collectives), waits): ((&JobRank, &RankCollectives), &Lengths)| {
        let mut parts = Lengths::zeros(collectives.collectives.len());
        if waits.are_zeros() {
            return parts;
        }
        let exposed = rank.report.accounting.exposed_comm();
        let mut windows = exposed.windows();
        for (at, (one, exposed_ns)) in collectives.collectives.iter().zip(&rank.report.exposed_ns).enumerate() {
            parts.put(at, exposed_wait_ns(&mut windows, (one.start_ns, one.end_ns), waits.get(at), *exposed_ns));
        }
        parts
    };
    job.ranks.iter().zip(&job.collectives).zip(waits).map(of_rank).collect()
}

/// The sorts of collectives, in order of their first appearance.
#[derive(Default)]
struct Sorts<'a> {
    sorts: BTreeMap<(usize, Kind, String, Option<u64>), usize>,
    alike: BTreeMap<(Kind, String, Option<u64>, u32, Link), usize>,
    /// Of each, whether any of it goes over the link between two nodes.
    over_link: Vec<bool>,
    /// The one that was asked for last, and what it was.
    last: Option<(&'a Instance, &'a Arc<Operation>, (usize, usize))>,
}

impl<'a> Sorts<'a> {
    /// The sort of `instance`, and which others it is compared with.
    fn of(&mut self, job: &'a Job, nodes: &Nodes, facts: &[GroupFacts<'_>], instance: &'a Instance) -> (usize, usize) {
        let operation = described(instance, &job.collectives).operation;
        let is_same = |(last, done, _): &(&Instance, &Arc<Operation>, _)| {
            let ranks = || last.members.iter().zip(&instance.members).all(|(a, b)| a.rank() == b.rank());
            let many = || last.members.len() == instance.members.len();
            last.group == instance.group && Arc::ptr_eq(done, operation) && many() && ranks()
        };
        // What is between two ends may tell its peer or not.
        if let Some((.., known)) = self.last.filter(is_same).filter(|_| !operation.kind.is_point_to_point()) {
            return known;
        }
        let known = self.look_up(job, nodes, facts, instance);
        self.last = Some((instance, operation, known));
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
