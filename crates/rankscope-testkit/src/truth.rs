//! What an analysis has to find: arrivals, last arrivals, clock errors and the time each rank spent on what.
//!
//! Everything here is computed the slow and obvious way, from the walk and not from the files, and shares no code with what
//! it is compared with.

use crate::Job;
use crate::job::NodeClock;
use crate::recorder;
use crate::schedule::{self, CollectiveKind, Scope};
use crate::timeline::Timeline;
use crate::walk::{DeviceKind, DeviceWork, Sink};

/// The truth about a [`Job`].
#[derive(Clone, Debug, PartialEq)]
pub struct Truth {
    /// Every collective, by start of its slot, then by group.
    pub collectives: Vec<Collective>,
    /// How each rank's clock differs from the true one.
    pub clocks: Vec<NodeClock>,
    /// Where each rank's time went, as its file shows it.
    pub times: Vec<RankTime>,
    ranks: u32,
}

/// One collective among one group. Lists have one entry per member, in the order of `ranks`.
#[derive(Clone, Debug, PartialEq)]
pub struct Collective {
    /// Ordinal on each of its members, which is what [`Job::missing`] counts in.
    pub slot: u32,
    /// Step it belongs to.
    pub step: u32,
    /// What it does.
    pub kind: CollectiveKind,
    /// Global ranks of the group.
    pub ranks: Vec<u32>,
    /// Elements of two bytes that each member puts in.
    pub in_elements: u64,
    /// Elements of two bytes that each member gets out.
    pub out_elements: u64,
    /// When each member entered, in true time.
    pub arrival_ns: Vec<i64>,
    /// When each member left, in true time.
    pub end_ns: Vec<i64>,
    /// Whether each member's file has it.
    pub recorded: Vec<bool>,
}

/// Where one rank's time went: nanoseconds of its own clock, over the work its file holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RankTime {
    /// With memory fills counted as copies.
    pub fills_as_copies: Account,
    /// With memory fills counted as computation, as TraceLens does.
    pub fills_as_compute: Account,
}

/// `computation + exposed_comm + exposed_memcpy + idle = total`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Some kernel ran that is no collective.
    pub computation: i64,
    /// Some collective ran, and no computation.
    pub exposed_comm: i64,
    /// Some copy ran, and neither of those.
    pub exposed_memcpy: i64,
    /// Anything ran.
    pub busy: i64,
    /// Nothing ran.
    pub idle: i64,
    /// First start to last end.
    pub total: i64,
    /// Some collective ran.
    pub total_comm: i64,
    /// Some copy ran.
    pub total_memcpy: i64,
}

impl Truth {
    pub(crate) fn of(job: &Job, timeline: &Timeline) -> Self {
        let collectives = collectives(job, timeline);
        let clocks = (0..job.ranks).map(|rank| job.clock(rank)).collect();
        let times = (0..job.ranks).map(|rank| time(job, timeline, rank)).collect();
        Self { collectives, clocks, times, ranks: job.ranks }
    }

    /// How often each rank came last, over the collectives that every member's file has.
    pub fn last_arrivals(&self) -> Vec<u32> {
        let mut counts = vec![0; self.ranks as usize];
        for collective in self.collectives.iter().filter(|collective| collective.is_recorded_everywhere()) {
            counts[collective.last_arriver() as usize] += 1;
        }
        counts
    }
}

impl Collective {
    /// The rank the others waited for.
    pub fn last_arriver(&self) -> u32 {
        let last = self.ranks.iter().zip(&self.arrival_ns).max_by_key(|(_, arrival)| **arrival);
        last.map_or(0, |(&rank, _)| rank)
    }

    /// When the last member entered.
    pub fn last_arrival_ns(&self) -> i64 {
        self.arrival_ns.iter().copied().max().unwrap_or_default()
    }

    /// Whether it can be matched completely.
    pub fn is_recorded_everywhere(&self) -> bool {
        self.recorded.iter().all(|&recorded| recorded)
    }
}

fn collectives(job: &Job, timeline: &Timeline) -> Vec<Collective> {
    let mut all = Vec::new();
    for (slot, index) in timeline.slots.iter().zip(0_u32..) {
        let exchange = &slot.exchange;
        let mut first = 0;
        while first < job.ranks {
            let members = schedule::members(job, first, exchange.scope);
            first = if exchange.scope == Scope::World { job.ranks } else { members.end };
            let pick = |of: &[i64]| members.clone().map(|rank| of[rank as usize]).collect();
            all.push(Collective {
                slot: index,
                step: slot.step,
                kind: exchange.kind,
                in_elements: exchange.in_elements,
                out_elements: exchange.out_elements,
                arrival_ns: pick(&slot.arrival_ns),
                end_ns: pick(&slot.end_ns),
                recorded: members.clone().map(|rank| !job.is_missing(rank, index)).collect(),
                ranks: members.collect(),
            });
        }
    }
    all
}

fn time(job: &Job, timeline: &Timeline, rank: u32) -> RankTime {
    let mut device = Device { job, rank, edges: Vec::new() };
    recorder::walk(job, timeline, rank, &mut device);
    device.edges.sort_unstable();
    RankTime { fills_as_copies: account(&device.edges, COPY), fills_as_compute: account(&device.edges, COMPUTE) }
}

/// Collects the ends of all device work: time, class, +1 at a start and -1 at an end.
struct Device<'a> {
    job: &'a Job,
    rank: u32,
    edges: Vec<(i64, usize, i32)>,
}

impl Sink for Device<'_> {
    fn device(&mut self, work: DeviceWork) {
        let class = match work.what {
            DeviceKind::Collective { slot, .. } if self.job.is_missing(self.rank, slot) => return,
            DeviceKind::Collective { .. } => COMM,
            DeviceKind::Kernel(_) => COMPUTE,
            DeviceKind::Copy { .. } => COPY,
            DeviceKind::Fill { .. } => FILL,
        };
        self.edges.push((self.job.shown_ns(self.rank, work.start_ns), class, 1));
        self.edges.push((self.job.shown_ns(self.rank, work.end_ns), class, -1));
    }
}

/// Sweeps the edges, with fills counted as `fills`.
fn account(edges: &[(i64, usize, i32)], fills: usize) -> Account {
    let mut account = Account::default();
    let mut running = [0; 3];
    let mut before_ns = edges.first().map_or(0, |edge| edge.0);
    for &(at_ns, class, change) in edges {
        let passed = at_ns - before_ns;
        before_ns = at_ns;
        let [compute, comm, copy] = running.map(|count| count > 0);
        account.total += passed;
        account.total_comm += if comm { passed } else { 0 };
        account.total_memcpy += if copy { passed } else { 0 };
        account.busy += if compute || comm || copy { passed } else { 0 };
        *match (compute, comm, copy) {
            (true, _, _) => &mut account.computation,
            (_, true, _) => &mut account.exposed_comm,
            (_, _, true) => &mut account.exposed_memcpy,
            _ => &mut account.idle,
        } += passed;
        running[if class == FILL { fills } else { class }] += change;
    }
    account
}

const COMPUTE: usize = 0;
const COMM: usize = 1;
const COPY: usize = 2;
const FILL: usize = 3;
