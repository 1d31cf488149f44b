//! A job in a grid of tensor and data parallel ranks, run until nothing moves, and the dumps or live pages that its ranks would leave.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rankscope_hang::{Dump, Evidence, FoundPage, FoundPages};
use rankscope_recording::{LivePage, PageArrival, PageGroup, PageHead, PageOp, PageState};
use serde_json::{Value, json};

/// What is planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing.
    None,
    /// The rank stops before a call.
    Missing,
    /// It calls another operation, or another size, or another type.
    Operation,
    Size,
    Type,
    /// It makes two calls in the other order.
    Order,
    /// It stops, and leaves nothing.
    Dead,
    /// A collective never ends, though all are in it.
    Stuck,
    /// It leaves out a message.
    Message,
    /// It stops, and another rank's dump is lost.
    DumpLost,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Call {
    group: usize,
    operation: &'static str,
    elements: i64,
    dtype: &'static str,
    /// The other end of a message: its rank, and whether it is sent there.
    message: Option<(u32, bool)>,
    sequence: u64,
}

struct Group {
    name: String,
    description: &'static str,
    ranks: Vec<u32>,
}

pub(crate) struct Job {
    groups: Vec<Group>,
    programs: Vec<Vec<Call>>,
    /// By rank, how many of its calls have ended, and how many it has made.
    ended: Vec<usize>,
    made: Vec<usize>,
    lost: BTreeSet<u32>,
    aged: BTreeSet<u32>,
    by_name: bool,
    fault_group: usize,
}

const STEPS: usize = 4;

/// Between two calls of a rank, by its page.
const CALL_NS: i64 = 1_000_000;

/// When jobs begin that keep pages.
const BEGUN_NS: i64 = 1_700_000_000_000_000_000;

impl Job {
    /// A job of `tp` by `dp` ranks in which `rank` does what `fault` says, somewhere. With `queued`, ranks call ahead of what has ended.
    /// Dumps configure groups by name, or as gloo does.
    pub(crate) fn run(tp: u32, dp: u32, fault: Fault, rank: u32, at: u64, queued: bool, by_name: bool) -> Self {
        let mut job = Self::new(tp, dp, by_name);
        job.go_with(fault, rank, at, queued);
        job
    }

    /// The same of a job that sends no messages, whose ranks wait for each collective where they call it.
    pub(crate) fn of_collectives(tp: u32, dp: u32, fault: Fault, rank: u32, at: u64) -> Self {
        let mut job = Self::new(tp, dp, true);
        job.programs.iter_mut().for_each(|program| program.retain(|call| call.message.is_none()));
        job.go_with(fault, rank, at, false);
        job
    }

    fn go_with(&mut self, fault: Fault, rank: u32, at: u64, queued: bool) {
        let ranks = self.programs.len() as u32;
        let stuck = self.plant(fault, rank, at);
        self.number();
        self.go(stuck, queued);
        if fault == Fault::Dead {
            self.lost.insert(rank);
        }
        if fault == Fault::DumpLost {
            self.lost.insert((rank + 1 + (at % u64::from(ranks - 1)) as u32) % ranks);
        }
    }

    fn new(tp: u32, dp: u32, by_name: bool) -> Self {
        let all = tp * dp;
        let mut groups = vec![Group { name: "0".into(), description: "default_pg", ranks: (0..all).collect() }];
        for row in 0..dp {
            groups.push(Group {
                name: groups.len().to_string(),
                description: "tp",
                ranks: (row * tp..(row + 1) * tp).collect(),
            });
        }
        for column in 0..tp {
            let ranks = (0..dp).map(|row| row * tp + column).collect();
            groups.push(Group { name: groups.len().to_string(), description: "dp", ranks });
        }
        let programs = (0..all).map(|rank| program(rank, tp, dp)).collect();
        let none = vec![0; all as usize];
        Self {
            groups,
            programs,
            ended: none.clone(),
            made: none,
            lost: BTreeSet::new(),
            aged: BTreeSet::new(),
            by_name,
            fault_group: 0,
        }
    }

    /// Changes a program; returns what never ends.
    fn plant(&mut self, fault: Fault, rank: u32, at: u64) -> Option<(usize, u64)> {
        let program = &mut self.programs[rank as usize];
        // Not in the last step, so that others still come to want the rank.
        let near = (at % ((STEPS as u64 - 1) * PER_STEP as u64)) as usize;
        let find = |wanted: &dyn Fn(&Call) -> bool| (near..).find(|place| wanted(&program[*place])).expect("each step has one");
        let collective = find(&|call| call.message.is_none() && call.operation != "barrier");
        match fault {
            Fault::None => {}
            Fault::Missing | Fault::Dead | Fault::DumpLost => program.truncate(collective),
            Fault::Operation => program[collective].operation = "broadcast",
            Fault::Size => program[collective].elements += 24,
            Fault::Type => program[collective].dtype = "BFloat16",
            Fault::Order => {
                let barrier = find(&|call| call.operation == "barrier");
                program.swap(barrier - 1, barrier);
            }
            Fault::Message => {
                let message = find(&|call| call.message.is_some());
                program.remove(message);
            }
            Fault::Stuck => {
                let group = program[collective].group;
                let before = program[..collective].iter().filter(|call| call.group == group && call.message.is_none()).count();
                return Some((group, before as u64 + 1));
            }
        }
        self.fault_group = program.get(collective).map_or(0, |call| call.group);
        None
    }

    /// Whether the group that the fault is in has no majority.
    pub(crate) fn is_a_tie(&self) -> bool {
        self.groups[self.fault_group].ranks.len() == 2
    }

    pub(crate) fn keep_dumps_of(&mut self, ranks: &[u32]) {
        self.lost = (0..self.programs.len() as u32).filter(|rank| !ranks.contains(rank)).collect();
    }

    pub(crate) fn age_dump_of(&mut self, rank: u32) {
        self.aged.insert(rank);
    }

    /// Each rank counts its collectives in each group.
    fn number(&mut self) {
        for program in &mut self.programs {
            let mut counts: BTreeMap<usize, u64> = BTreeMap::new();
            for call in program.iter_mut().filter(|call| call.message.is_none()) {
                let count = counts.entry(call.group).or_default();
                *count += 1;
                call.sequence = *count;
            }
        }
    }

    fn go(&mut self, stuck: Option<(usize, u64)>, queued: bool) {
        while (0..self.programs.len()).any(|rank| self.step(rank, stuck)) {}
        for rank in 0..self.programs.len() {
            let ahead = if queued { 1 + rank % 4 } else { 1 };
            self.made[rank] = (self.ended[rank] + ahead).min(self.programs[rank].len());
        }
    }

    fn head(&self, rank: usize) -> Option<&Call> {
        self.programs[rank].get(self.ended[rank])
    }

    /// Ends what `rank` is in, if all others are in it.
    fn step(&mut self, rank: usize, stuck: Option<(usize, u64)>) -> bool {
        let Some(call) = self.head(rank).cloned() else { return false };
        let together: Vec<usize> = match call.message {
            Some((other, sends)) => {
                let back = self.head(other as usize).and_then(|head| head.message);
                if back != Some((rank as u32, !sends)) {
                    return false;
                }
                vec![rank, other as usize]
            }
            None => self.groups[call.group].ranks.iter().map(|rank| *rank as usize).collect(),
        };
        let alike = |other: &usize| call.message.is_some() || self.head(*other) == Some(&call);
        if stuck == Some((call.group, call.sequence)) && call.message.is_none() || !together.iter().all(alike) {
            return false;
        }
        together.iter().for_each(|rank| self.ended[*rank] += 1);
        true
    }

    pub(crate) fn evidence(&self) -> Evidence {
        let mut evidence = Evidence::default();
        for rank in (0..self.programs.len() as u32).filter(|rank| !self.lost.contains(rank)) {
            let bytes = serde_json::to_vec(&self.dump(rank)).expect("JSON");
            evidence.add(rank, &format!("rank_{rank}"), Dump::read(&bytes).expect("a dump"));
        }
        evidence
    }

    /// What the ranks that are not lost tell of themselves, `age` after the last of them stood still.
    pub(crate) fn pages(&self, age: Duration) -> FoundPages {
        let ranks = (0..self.programs.len() as u32).filter(|rank| !self.lost.contains(rank));
        let found = |rank| FoundPage { file: format!("rank-{rank}.page"), page: self.page(rank), is_gone: false };
        let last_ns = self.programs.iter().map(Vec::len).max().unwrap_or(0) as i64 * CALL_NS;
        FoundPages {
            world_size: Some(self.programs.len() as u32),
            now_ns: BEGUN_NS + last_ns + age.as_nanos() as i64,
            moving: None,
            pages: ranks.map(found).collect(),
        }
    }

    /// The live page of `rank`: groups by the order in which it met with them.
    fn page(&self, rank: u32) -> LivePage {
        let (ended, made) = (self.ended[rank as usize], self.made[rank as usize]);
        let mut groups: Vec<usize> = Vec::new();
        let calls = self.programs[rank as usize][..made].iter().enumerate();
        let arrivals: Vec<PageArrival> = calls
            .map(|(place, call)| {
                let known = groups.iter().position(|group| *group == call.group);
                let group = known.unwrap_or_else(|| {
                    groups.push(call.group);
                    groups.len() - 1
                });
                let arrived_ns = 1 + place as i64 * CALL_NS;
                let left_ns = if place < ended { arrived_ns + CALL_NS / 2 } else { 0 };
                let (op, bytes) = (PageOp::named(call.operation), call.elements as u64 * 4);
                PageArrival { group, op, sequence: call.sequence, bytes, arrived_ns, left_ns, step: 0 }
            })
            .collect();
        let state = PageState {
            progress: made as u64,
            progress_ns: arrivals.last().map_or(0, |last| last.arrived_ns.max(last.left_ns)),
            anchor: [0, BEGUN_NS],
            arrivals: made as u64,
            groups: groups.len() as u64,
            ..PageState::default()
        };
        let group = |group: &usize| PageGroup {
            name: self.groups[*group].name.clone(),
            members: self.groups[*group].ranks.len() as u32,
        };
        let head = PageHead { rank, pid: 100 + rank, ..PageHead::default() };
        LivePage { head, state, groups: groups.iter().map(group).collect(), arrivals }
    }

    /// What `rank` leaves, as torch would write it: the last calls only, and counts as text.
    fn dump(&self, rank: u32) -> Value {
        let (ended, made) = (self.ended[rank as usize], self.made[rank as usize]);
        let calls = self.programs[rank as usize][..made].iter().enumerate();
        let age_ns = if self.aged.contains(&rank) { 3_600_000_000_000_i64 } else { 0 };
        let entries: Vec<Value> = calls
            .clone()
            .map(|(place, call)| {
                let group = &self.groups[call.group];
                let index = |rank: u32| group.ranks.iter().position(|other| *other == rank).expect("of the group");
                let name = match call.message {
                    Some((other, true)) => format!("nccl:send {}->{}", index(rank), index(other)),
                    Some((other, false)) => format!("nccl:recv {}<-{}", index(rank), index(other)),
                    None => format!("nccl:{}", call.operation),
                };
                // A coarse clock gives all calls one time: then the recorder's numbers order them.
                let since_ns = if self.by_name { place as i64 * 1_000_000 + i64::from(rank) * 10 } else { 0 };
                let created_ns = 1_700_000_000_000_000_000 + since_ns - age_ns;
                json!({
                    "process_group": [group.name, group.description], "pg_id": call.group, "record_id": place, "collective_seq_id": call.sequence,
                    "profiling_name": name, "is_p2p": call.message.is_some(), "time_created_ns": created_ns,
                    "input_sizes": [[call.elements]], "output_sizes": [[call.elements]], "input_dtypes": [call.dtype],
                    "state": if place < ended { "completed" } else { "scheduled" }, "retired": place < ended,
                })
            })
            .collect();
        let mut status = BTreeMap::new();
        for group in 0..self.groups.len() {
            let last = |upto: usize| {
                let of =
                    self.programs[rank as usize][..upto].iter().filter(|call| call.group == group && call.message.is_none());
                of.map(|call| call.sequence).max()
            };
            if let Some(called) = last(made) {
                let completed = last(ended).map_or("-1".to_owned(), |sequence| sequence.to_string());
                status.insert(
                    group.to_string(),
                    json!({"last_enqueued_collective": called.to_string(), "last_completed_collective": completed}),
                );
            }
        }
        let of_rank = |group: &&Group| group.ranks.contains(&rank);
        let list =
            |group: &Group| json!({"name": group.name, "desc": group.description, "ranks": format!("{:?}", group.ranks)});
        let groups: BTreeMap<String, Value> = match self.by_name {
            true => self.groups.iter().filter(of_rank).map(|group| (group.name.clone(), list(group))).collect(),
            false => self.groups.iter().rfind(of_rank).map(|group| (String::new(), list(group))).into_iter().collect(),
        };
        json!({"version": "2.10", "pg_config": groups, "pg_status": status, "entries": entries})
    }
}

/// Calls of a step.
const PER_STEP: usize = 6;

/// What each rank does: in its row, with its neighbour in the row, in its column, and all together.
fn program(rank: u32, tp: u32, dp: u32) -> Vec<Call> {
    let (row, column) = (rank / tp, rank % tp);
    let (rows, columns) = (1 + row as usize, 1 + dp as usize + column as usize);
    let collective =
        |group, operation, elements| Call { group, operation, elements, dtype: "Float", message: None, sequence: 0 };
    let other = if column.is_multiple_of(2) { rank + 1 } else { rank - 1 };
    let message = Call { message: Some((other, column.is_multiple_of(2))), ..collective(0, "", 5) };
    let step = [
        collective(rows, "all_gather", 64),
        message,
        collective(rows, "all_reduce", 1000),
        collective(columns, "all_reduce", 4096),
        collective(rows, "all_reduce", 77),
        collective(0, "barrier", 1),
    ];
    (0..STEPS).flat_map(|_| step.clone()).collect()
}
