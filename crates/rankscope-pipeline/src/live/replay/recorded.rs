//! The live pages that ranks would have kept, made of their recordings: so a replay is judged by the same code as a job that runs.
//!
//! Instants are on the job's clock from the start. Collectives that every member recorded are numbered by group in the order in which
//! they began; others say nothing, as on a page.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use rankscope_align::RankAlignment;
use rankscope_analyze::Accounting;
use rankscope_collectives::{Instance, RankCollectives};
use rankscope_job::Job;
use rankscope_live::{NodeClock, Seen};
use rankscope_recording::{LivePage, PageArrival, PageGroup, PageHead, PageOp, PageState};
use rankscope_time::Instant;

/// Steps that a page shows at once, beside the one before them.
const STEPS: usize = 16;

/// What all ranks recorded.
pub(super) struct Recorded {
    ranks: Vec<RecordedRank>,
    /// Steps that all ranks recorded, in order.
    pub(super) steps: Vec<RecordedStep>,
}

/// One step of the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordedStep {
    pub(super) number: i64,
    /// When its last rank ended it.
    pub(super) ended_ns: i64,
}

struct RecordedRank {
    rank: u32,
    clock: Option<NodeClock>,
    groups: Vec<PageGroup>,
    /// In the order in which it came to them, and so of their steps.
    arrivals: Vec<PageArrival>,
    /// By number: start and end, and the same on the rank's own clock.
    steps: BTreeMap<i64, Window>,
    accounting: Accounting,
}

#[derive(Clone, Copy)]
struct Window {
    start_ns: i64,
    end_ns: i64,
    own_ns: (i64, i64),
}

impl Recorded {
    pub(super) fn of(job: Job) -> Self {
        let mut ranks: Vec<RecordedRank> = job
            .ranks
            .iter()
            .zip(&job.clocks.ranks)
            .map(|(rank, clock)| RecordedRank {
                rank: rank.rank.0,
                clock: known(clock),
                groups: Vec::new(),
                arrivals: Vec::new(),
                steps: rank
                    .report
                    .steps
                    .iter()
                    .map(|step| {
                        let (start_ns, end_ns) = (on_job(clock, step.start_ns), on_job(clock, step.end_ns));
                        (step.number, Window { start_ns, end_ns, own_ns: (step.start_ns, step.end_ns) })
                    })
                    .collect(),
                accounting: rank.report.accounting.clone(),
            })
            .collect();
        arrive(&job, &mut ranks);
        let numbers = |rank: &RecordedRank| rank.steps.keys().copied().collect::<BTreeSet<i64>>();
        let common = ranks.iter().map(numbers).reduce(|common, own| &common & &own).unwrap_or_default();
        let step = |number: i64| {
            let ended = ranks.iter().filter_map(|rank| rank.steps.get(&number)).map(|window| window.end_ns).max();
            ended.map(|ended_ns| RecordedStep { number, ended_ns })
        };
        Self { steps: common.into_iter().filter_map(step).collect(), ranks }
    }

    pub(super) fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// The pages at the end of the step at `place`.
    pub(super) fn pages(&self, place: usize) -> Vec<Seen> {
        let RecordedStep { number, ended_ns } = self.steps[place];
        let from = self.steps[place.saturating_sub(STEPS)].number;
        self.ranks.iter().map(|rank| rank.page(from, number, ended_ns, place as u64)).collect()
    }

    /// Communication that no compute hides in the step at `place`, by rank.
    pub(super) fn exposed_ns(&self, place: usize) -> BTreeMap<u32, i64> {
        let number = self.steps[place].number;
        let exposed = |rank: &RecordedRank| {
            let (start, end) = rank.steps.get(&number)?.own_ns;
            Some((rank.rank, rank.accounting.window(start, end).exposed_comm_ns))
        };
        self.ranks.iter().filter_map(exposed).collect()
    }
}

impl RecordedRank {
    fn page(&self, from: i64, number: i64, ended_ns: i64, progress: u64) -> Seen {
        let first = self.arrivals.partition_point(|arrival| arrival.step < from);
        let behind = self.arrivals.partition_point(|arrival| arrival.step <= number);
        let arrivals = self.arrivals.get(first..behind).unwrap_or_default().to_vec();
        let window = self.steps.get(&number);
        let state = PageState {
            progress,
            progress_ns: window.map_or(ended_ns, |window| window.end_ns),
            // It is about to begin the next, so this one is whole.
            step: number.saturating_add(1),
            step_took_ns: window.map_or(0, |window| window.end_ns.saturating_sub(window.start_ns)),
            ..PageState::default()
        };
        let head = PageHead { rank: self.rank, ..PageHead::default() };
        Seen { page: LivePage { head, state, groups: self.groups.clone(), arrivals }, clock: self.clock }
    }
}

/// The step that an instant belongs to: the last that had begun, of those that began at `begins`.
fn step_at(ns: i64, begins: &[(i64, i64)]) -> i64 {
    let begun = begins.partition_point(|(start_ns, _)| *start_ns <= ns);
    match begun.checked_sub(1) {
        Some(at) => begins[at].1,
        None => begins.first().map_or(-1, |(_, number)| number.saturating_sub(1)),
    }
}

/// How far a rank's clock may be off; none where nothing bounds it. Its instants are on the job's clock already.
fn known(alignment: &RankAlignment) -> Option<NodeClock> {
    let (lo_ns, hi_ns) = (alignment.bound.lo_ns?, alignment.bound.hi_ns?);
    let below_ns = alignment.offset_ns.saturating_sub(lo_ns);
    let error_ns = hi_ns.saturating_sub(alignment.offset_ns).max(below_ns).max(0);
    Some(NodeClock { error_ns, ..NodeClock::default() })
}

fn on_job(clock: &RankAlignment, ns: i64) -> i64 {
    clock.map.map(Instant::from_nanos_since_epoch(ns)).nanos_since_epoch()
}

/// Puts down when ranks came to what they did together.
fn arrive(job: &Job, ranks: &mut [RecordedRank]) {
    let began = |instance: &Instance| {
        let starts = instance.members.iter().map(|member| {
            on_job(&job.clocks.ranks[member.rank()], job.collectives[member.rank()].collectives.start_ns(member.collective()))
        });
        starts.min()
    };
    let together = job.matched.instances.iter().filter(|instance| needs_all(instance, &job.collectives));
    let mut together: Vec<(i64, &Instance)> = together.filter_map(|instance| Some((began(instance)?, instance))).collect();
    together.sort_by_key(|(began_ns, _)| *began_ns);
    let begins: Vec<Vec<(i64, i64)>> = ranks.iter().map(begins).collect();
    // By group and how many came: a group of which some recordings miss a rank is two.
    let mut counts: HashMap<(usize, usize), u64> = HashMap::new();
    let mut places: HashMap<(usize, usize, usize), usize> = HashMap::new();
    for (_, instance) in together {
        let key = (instance.group, instance.members.len());
        let sequence = counts.entry(key).or_default();
        for member in instance.members.iter() {
            let (at, clock) = (member.rank(), &job.clocks.ranks[member.rank()]);
            let stay = job.collectives[at].collectives.stay(member.collective());
            let rank = &mut ranks[at];
            let group = *places.entry((at, key.0, key.1)).or_insert_with(|| {
                let name = job.matched.groups.get(instance.group).map_or_else(String::new, |group| group.name.clone());
                rank.groups.push(PageGroup { name, members: instance.members.len() as u32 });
                rank.groups.len() - 1
            });
            let arrived_ns = on_job(clock, stay.start_ns);
            let step = step_at(arrived_ns, &begins[at]);
            rank.arrivals.push(PageArrival {
                group,
                op: PageOp::named(stay.operation.kind.name()),
                sequence: *sequence,
                bytes: stay.bytes(instance.members.len() as u32).unwrap_or(0),
                arrived_ns,
                left_ns: on_job(clock, stay.end_ns).max(arrived_ns),
                step,
            });
        }
        *sequence += 1;
    }
    for rank in ranks {
        rank.arrivals.sort_by_key(|arrival| arrival.arrived_ns);
    }
}

/// When the steps of a rank began, in order, with their numbers.
fn begins(rank: &RecordedRank) -> Vec<(i64, i64)> {
    let mut begins: Vec<(i64, i64)> = rank.steps.iter().map(|(number, window)| (window.start_ns, *number)).collect();
    begins.sort_unstable();
    begins
}

/// Whether all members recorded it, and none could leave before all had come.
fn needs_all(instance: &Instance, collectives: &[RankCollectives]) -> bool {
    let kind =
        |member: rankscope_collectives::Member| collectives[member.rank()].collectives.operation(member.collective()).kind;
    instance.complete && instance.members.len() > 1 && instance.members.iter().all(|member| kind(member).needs_all())
}
