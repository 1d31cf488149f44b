//! Jobs made of programs: each rank has a host that launches kernels and collectives in order, and a device that runs them in order.

use std::collections::BTreeMap;

use rankscope_analyze::Map;
use rankscope_answers::blame::{Blamed, Input, blame};
use rankscope_collectives::{Group, Kind, LocalCollective, Matched, Operation, RankCollectives, Sequence, match_ranks};
use rankscope_execution::{Activity, Builder, Execution, JobExecution, Key, LaneKind, NewPiece, PieceId, Share};
use rankscope_time::{ClockMap, Knot, Rank, Rate};
use rankscope_trace::SpanId;

/// What a rank does next.
#[derive(Clone, Debug)]
pub(crate) enum Do {
    /// The host is busy with this for so long.
    Host(&'static str, i64),
    /// The host launches a kernel of this operator that takes so long.
    Kernel(&'static str, i64),
    /// The host launches a collective of this group.
    Meet(usize),
}

pub(crate) struct Job {
    pub(crate) executions: Vec<Execution>,
    pub(crate) collectives: Vec<RankCollectives>,
    pub(crate) matched: Matched,
    pub(crate) maps: Vec<Map>,
    steps: Vec<usize>,
}

/// How long a collective takes once all have come, a launch to arrive, and the host to launch.
const TRANSFER_NS: i64 = 10;
const LATENCY_NS: i64 = 3;
const LAUNCH_NS: i64 = 2;

struct Running {
    builder: Builder,
    /// Of the host, and when it is free.
    host: (rankscope_execution::LaneId, i64),
    device: (rankscope_execution::LaneId, i64),
    /// What the host does that no launch has ended yet.
    shares: Vec<Share>,
    at: usize,
    collectives: Vec<LocalCollective>,
}

/// Runs `programs`, one a rank, in which `members` are the ranks of each group. A step ends with each rank's `meets_a_step`th collective.
pub(crate) fn run(programs: &[Vec<Do>], members: &[Vec<usize>], meets_a_step: usize) -> Job {
    let mut ranks: Vec<Running> = programs.iter().map(|_| Running::new()).collect();
    let mut met = vec![0_u64; members.len()];
    loop {
        for (rank, program) in ranks.iter_mut().zip(programs) {
            rank.until_a_meeting(program);
        }
        let is_at =
            |rank: &usize, group| matches!(programs[*rank].get(ranks[*rank].at), Some(Do::Meet(next)) if *next == group);
        let Some(group) = (0..members.len()).find(|group| members[*group].iter().all(|rank| is_at(rank, *group))) else {
            break;
        };
        let came: Vec<(PieceId, i64)> = members[group].iter().map(|rank| ranks[*rank].launched()).collect();
        let end_ns = came.iter().map(|(_, ns)| *ns).max().expect("a group has members") + TRANSFER_NS;
        for (rank, (by, came_ns)) in members[group].iter().zip(came) {
            ranks[*rank].meet(by, (came_ns, end_ns), group, met[group]);
        }
        met[group] += 1;
    }
    let groups: Vec<Group> = members
        .iter()
        .enumerate()
        .map(|(at, members)| Group {
            ranks: members.iter().map(|rank| Rank(*rank as u32)).collect::<Vec<_>>().into(),
            name: at.to_string(),
            description: String::new(),
        })
        .collect();
    let (executions, collectives): (Vec<Execution>, Vec<RankCollectives>) = ranks
        .into_iter()
        .enumerate()
        .map(|(at, rank)| {
            assert_eq!(rank.at, programs[at].len(), "rank {at} waits for somebody who never comes");
            let collectives = RankCollectives {
                rank: Rank(at as u32),
                groups: groups.clone(),
                collectives: rank.collectives.into(),
                steps: Vec::new(),
            };
            (rank.builder.finish(), collectives)
        })
        .unzip();
    let matched = match_ranks(&collectives);
    let of = |instance: &rankscope_collectives::Instance| instance.members.at(0).collective() / meets_a_step;
    let steps = matched.instances.iter().map(of).collect();
    let maps = vec![ClockMap::identity(); executions.len()];
    Job { executions, collectives, matched, maps, steps }
}

impl Running {
    fn new() -> Self {
        let mut builder = Execution::builder();
        let (host, device) = (builder.lane(LaneKind::Thread, "main"), builder.lane(LaneKind::Stream, "7"));
        Self { builder, host: (host, 0), device: (device, 0), shares: Vec::new(), at: 0, collectives: Vec::new() }
    }

    fn until_a_meeting(&mut self, program: &[Do]) {
        while let Some(next) = program.get(self.at) {
            match next {
                Do::Host(name, ns) => self.host(name, Activity::Annotation, *ns),
                Do::Kernel(operator, ns) => self.kernel(operator, *ns),
                Do::Meet(_) => break,
            }
            self.at += 1;
        }
    }

    fn host(&mut self, name: &str, activity: Activity, ns: i64) {
        let key = self.builder.key(Key::new(activity, name));
        self.shares.push(Share { key, ns });
    }

    /// Ends what the host does; says when what it launches can start.
    fn launched(&mut self) -> (PieceId, i64) {
        self.host("launching", Activity::Operator, LAUNCH_NS);
        let shares = std::mem::take(&mut self.shares);
        let dur_ns = shares.iter().map(|share| share.ns).sum();
        let start_ns = self.host.1;
        self.host.1 += dur_ns;
        let piece = self.builder.piece(NewPiece { lane: self.host.0, start_ns, dur_ns, shares, collective: None });
        (piece, self.device.1.max(self.host.1 + LATENCY_NS))
    }

    fn on_device(&mut self, key: Key, by: PieceId, (start_ns, end_ns): (i64, i64), collective: Option<usize>) {
        let (key, dur_ns) = (self.builder.key(key), end_ns - start_ns);
        let shares = vec![Share { key, ns: dur_ns }];
        let piece = self.builder.piece(NewPiece { lane: self.device.0, start_ns, dur_ns, shares, collective });
        self.builder.launch(piece, by);
        self.device.1 = end_ns;
    }

    fn kernel(&mut self, operator: &str, ns: i64) {
        let (by, start_ns) = self.launched();
        self.on_device(
            Key::new(Activity::Kernel, format!("{operator}_kernel")).of_operator(operator),
            by,
            (start_ns, start_ns + ns),
            None,
        );
    }

    fn meet(&mut self, by: PieceId, span: (i64, i64), group: usize, number: u64) {
        self.on_device(Key::new(Activity::Communication, "all_reduce"), by, span, Some(self.collectives.len()));
        let span_id = SpanId(self.collectives.len() as u32);
        let mut one = LocalCollective::new(span_id, span.0, span.1, Operation::of(Kind::AllReduce));
        (one.group, one.sequence) = (group as u32, Sequence::of(Some(number)));
        self.collectives.push(one);
        self.at += 1;
    }
}

impl Job {
    /// The same, the clock of the rank at `rank` being `ns` ahead of what is known of it.
    pub(crate) fn with_clock_off(mut self, rank: usize, ns: i64) -> Self {
        let knot = |from_ns| Knot { from_ns, to_ns: from_ns + ns, uncertainty_ns: 0 };
        self.maps[rank] = ClockMap::from_knots(vec![knot(0), knot(1_000_000)], Rate::ZERO).expect("two knots");
        self
    }

    pub(crate) fn blame(&self, names: &[&str], open_ns: i64) -> Blamed {
        let graph =
            JobExecution::new(self.executions.iter().collect(), self.maps.iter().collect(), &self.collectives, &self.matched);
        let names: BTreeMap<String, String> =
            names.iter().enumerate().map(|(at, name)| (at.to_string(), (*name).to_owned())).collect();
        let groups: Vec<String> = self.matched.groups.iter().map(|group| names[&group.name].clone()).collect();
        let step: Vec<Option<usize>> = graph.meetings.iter().map(|meeting| Some(self.steps[meeting.instance])).collect();
        let steps = self.steps.iter().max().map_or(0, |last| last + 1);
        blame(&Input { job: &graph, groups: &groups, open_ns, steps, step: &step, floor_ns: 5 })
    }
}
