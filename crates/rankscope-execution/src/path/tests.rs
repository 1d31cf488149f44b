//! Made-up jobs whose times follow from what they do, so that what a change does to them can be had by running them again.

use std::sync::Arc;

use proptest::prelude::*;
use rankscope_analyze::Map;
use rankscope_collectives::{Group, Kind, LocalCollective, Operation, RankCollectives, match_ranks};
use rankscope_time::{Rank, Span};
use rankscope_trace::SpanId;

use super::slack::Slacks;
use super::*;
use crate::{Activity, Builder, Execution, Key, LaneId, LaneKind, NewPiece, PieceId, Share};

/// What a rank does before a collective.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// The host is busy.
    Host(i64),
    /// It launches a kernel of so many nanoseconds, which starts so long after it could.
    Kernel { ns: i64, lag_ns: i64 },
    /// It waits for the stream of computation.
    Synchronize,
    /// The next kernel needs what the collective before it made.
    NeedsCollective,
}

/// What all ranks do together at the end of a round.
#[derive(Clone, Copy, Debug)]
struct Together {
    kind: Kind,
    ns: i64,
}

/// A job: by round, what each rank does, and the collective at its end.
#[derive(Clone, Debug)]
struct Script {
    ranks: usize,
    rounds: Vec<(Vec<Vec<Op>>, Together)>,
}

/// The graph of one rank under construction. Stream 0 computes, stream 1 communicates.
struct Running {
    builder: Builder,
    lanes: [LaneId; 3],
    /// The last piece of the thread, and of each stream, with its end.
    last: [Option<(PieceId, i64)>; 3],
    /// When the host's running piece began, and what that had waited for.
    began: (i64, Option<PieceId>),
    now_ns: i64,
    needs_collective: bool,
    collectives: Vec<(i64, i64)>,
    kernels: Vec<i64>,
}

const THREAD: usize = 2;

impl Running {
    fn new() -> Self {
        let mut builder = Builder::default();
        let lanes = [
            builder.lane(LaneKind::Stream, "compute"),
            builder.lane(LaneKind::Stream, "communication"),
            builder.lane(LaneKind::Thread, "main"),
        ];
        let (last, began) = ([None; 3], (0, None));
        Self { builder, lanes, last, began, now_ns: 0, needs_collective: false, collectives: Vec::new(), kernels: Vec::new() }
    }

    fn piece(&mut self, lane: usize, (start_ns, end_ns): (i64, i64), key: Key, collective: Option<usize>) -> PieceId {
        let key = self.builder.key(key);
        let (lane_id, dur_ns) = (self.lanes[lane], end_ns - start_ns);
        let shares = vec![Share { key, ns: dur_ns }];
        let id = self.builder.piece(NewPiece { lane: lane_id, start_ns, dur_ns, shares, collective });
        self.last[lane] = Some((id, end_ns));
        id
    }

    /// Ends the host's piece.
    fn cut(&mut self) -> Option<PieceId> {
        let (began_ns, waited) = self.began;
        if began_ns < self.now_ns {
            let piece = self.piece(THREAD, (began_ns, self.now_ns), Key::new(Activity::Python, "train"), None);
            waited.into_iter().for_each(|other| self.builder.wait(piece, other));
            self.began = (self.now_ns, None);
        }
        self.last[THREAD].map(|(piece, _)| piece)
    }

    fn end_of(&self, lane: usize) -> i64 {
        self.last[lane].map_or(0, |(_, end_ns)| end_ns)
    }

    /// Runs one operation; a kernel takes `longer_ns` longer.
    fn run(&mut self, op: Op, longer_ns: i64) {
        match op {
            Op::Host(ns) => self.now_ns += ns,
            Op::Synchronize => {
                self.cut();
                self.now_ns = self.now_ns.max(self.end_of(0));
                self.began = (self.now_ns, self.last[0].map(|(piece, _)| piece));
            }
            Op::NeedsCollective => self.needs_collective = true,
            Op::Kernel { ns, lag_ns } => {
                let by = self.cut();
                let needed = self.last[1].filter(|_| std::mem::take(&mut self.needs_collective));
                let ready_ns = self.now_ns.max(self.end_of(0)).max(needed.map_or(0, |(_, end_ns)| end_ns));
                let start_ns = ready_ns + lag_ns;
                let name = format!("k{}", self.kernels.len());
                let kernel = self.piece(0, (start_ns, start_ns + ns + longer_ns), Key::new(Activity::Kernel, name), None);
                by.into_iter().for_each(|by| self.builder.launch(kernel, by));
                needed.into_iter().for_each(|(other, _)| self.builder.wait(kernel, other));
                self.kernels.push(start_ns + ns + longer_ns);
            }
        }
    }

    /// When it is ready for a collective of all that it has computed.
    fn comes(&mut self) -> i64 {
        self.cut();
        self.now_ns.max(self.end_of(0)).max(self.end_of(1))
    }

    fn takes_part(&mut self, came_ns: i64, left_ns: i64, kind: Kind) {
        let (by, computed) = (self.last[THREAD], self.last[0]);
        let at = self.collectives.len();
        let piece = self.piece(1, (came_ns, left_ns), Key::new(Activity::Communication, kind.name()), Some(at));
        by.into_iter().for_each(|(by, _)| self.builder.launch(piece, by));
        computed.into_iter().for_each(|(other, _)| self.builder.wait(piece, other));
        self.collectives.push((came_ns, left_ns));
    }
}

/// A job that ran.
struct Ran {
    executions: Vec<Execution>,
    collectives: Vec<RankCollectives>,
    /// By rank, the end of each kernel, which are called by their place.
    kernels: Vec<Vec<i64>>,
}

impl Script {
    /// Runs it; the kernel `longer.1` of rank `longer.0` takes longer by `longer.2`.
    fn run(&self, longer: Option<(usize, usize, i64)>) -> Ran {
        let mut ranks: Vec<Running> = (0..self.ranks).map(|_| Running::new()).collect();
        let mut kinds = Vec::new();
        for (round, together) in &self.rounds {
            for (at, (rank, ops)) in ranks.iter_mut().zip(round).enumerate() {
                for op in ops {
                    let kernel = rank.kernels.len();
                    let own = longer.filter(|(of, which, _)| (*of, *which) == (at, kernel));
                    rank.run(*op, own.map_or(0, |(.., ns)| ns));
                }
            }
            let came: Vec<i64> = ranks.iter_mut().map(Running::comes).collect();
            let last_ns = came.iter().copied().max().unwrap();
            kinds.push(together.kind);
            ranks.iter_mut().zip(came).for_each(|(rank, came_ns)| {
                rank.takes_part(came_ns, last_ns + together.ns, together.kind);
            });
        }
        let all: Arc<[Rank]> = (0..self.ranks as u32).map(Rank).collect();
        let local = |(rank, own): (usize, &Running)| RankCollectives {
            rank: Rank(rank as u32),
            groups: vec![Group { ranks: Arc::clone(&all), name: "world".into(), description: String::new() }],
            collectives: local(&own.collectives, &kinds).into(),
            steps: Vec::new(),
        };
        Ran {
            collectives: ranks.iter().enumerate().map(local).collect(),
            kernels: ranks.iter().map(|rank| rank.kernels.clone()).collect(),
            executions: ranks.into_iter().map(|rank| rank.builder.finish()).collect(),
        }
    }
}

fn local(times: &[(i64, i64)], kinds: &[Kind]) -> Vec<LocalCollective> {
    let one = |((start_ns, end_ns), kind): (&(i64, i64), &Kind)| {
        LocalCollective::new(SpanId(0), *start_ns, *end_ns, Operation::of(*kind))
    };
    times.iter().zip(kinds).map(one).collect()
}

impl Ran {
    fn maps(&self, errors_ns: &[i64]) -> Vec<Map> {
        let errors = (0..self.executions.len()).map(|at| errors_ns.get(at).copied().unwrap_or(0));
        errors.map(|ns| Map::from_offset(Span::from_nanos(ns), 0)).collect()
    }

    fn job<'a>(&'a self, maps: &'a [Map]) -> JobExecution<'a> {
        let matched = match_ranks(&self.collectives);
        JobExecution::new(self.executions.iter().collect(), maps.iter().collect(), &self.collectives, &matched)
    }
}

/// From the first start to the last end of each rank.
fn extents(job: &JobExecution<'_>) -> Vec<PathWindow> {
    let extent = |(rank, execution): (usize, &&Execution)| {
        let start_ns = execution.ids().map(|id| execution.start_ns(id)).min()?;
        let end_ns = execution.ids().map(|id| execution.end_ns(id)).max()?;
        Some(PathWindow { rank, start_ns: job.on_job_clock(rank, start_ns), end_ns: job.on_job_clock(rank, end_ns) })
    };
    job.ranks.iter().enumerate().filter_map(extent).collect()
}

fn whole(job: &JobExecution<'_>) -> PathWindow {
    PathWindow::last(extents(job)).unwrap()
}

/// The path as `rank class name ns`, in order of time.
fn lines(job: &JobExecution<'_>, path: &Path) -> Vec<String> {
    let line = |one: &Segment| format!("{} {} {} {}", one.rank, one.class.name(), one.name(job), one.ns());
    path.segments.iter().map(line).collect()
}

fn check_tiles(job: &JobExecution<'_>, path: &Path) -> Result<(), TestCaseError> {
    let mut now_ns = path.window.start_ns;
    for segment in &path.segments {
        prop_assert_eq!(segment.start_ns, now_ns);
        prop_assert!(segment.ns() > 0);
        now_ns = segment.end_ns;
    }
    prop_assert_eq!(now_ns, path.window.end_ns);
    let sums = path.sums(job);
    let length_ns = path.window.length_ns();
    prop_assert_eq!(sums.by_class.values().sum::<i64>(), length_ns);
    prop_assert_eq!(sums.by_rank.values().sum::<i64>(), length_ns);
    prop_assert_eq!(sums.shares.iter().map(|share| share.ns).sum::<i64>(), length_ns);
    Ok(())
}

const ALL_REDUCE: Together = Together { kind: Kind::AllReduce, ns: 10 };

fn kernel(ns: i64) -> Op {
    Op::Kernel { ns, lag_ns: 0 }
}

#[test]
fn a_slow_kernel_is_on_the_path_with_its_rank() {
    let rounds = vec![(vec![vec![Op::Host(5), kernel(30)], vec![Op::Host(5), kernel(70)]], ALL_REDUCE)];
    let ran = Script { ranks: 2, rounds }.run(None);
    let maps = ran.maps(&[]);
    let job = ran.job(&maps);
    let path = critical_path(&job, whole(&job));
    assert_eq!(lines(&job, &path), ["1 host train 5", "1 compute k0 70", "0 communication all_reduce 10"]);
    assert_eq!((path.hops, path.end), (1, PathEnd::Whole));
    let slack = scarcest(&job, &path, &extents(&job), 20);
    let slack: Vec<_> = slack.iter().map(|slack| (slack.rank, slack.name, slack.least_ns)).collect();
    assert_eq!(slack, [(1, "all_reduce", 0), (0, "k0", 40)]);
}

#[test]
fn a_late_host_is_on_the_path() {
    let of = |host_ns| vec![Op::Host(host_ns), Op::Kernel { ns: 30, lag_ns: 3 }];
    let rounds = vec![(vec![of(5), of(5), of(90)], ALL_REDUCE)];
    let ran = Script { ranks: 3, rounds }.run(None);
    let maps = ran.maps(&[]);
    let job = ran.job(&maps);
    let path = critical_path(&job, whole(&job));
    let expected = ["2 host train 90", "2 launch k0 3", "2 compute k0 30", "0 communication all_reduce 10"];
    assert_eq!(lines(&job, &path), expected);
}

#[test]
fn what_computing_hides_is_not_on_the_path() {
    let both = |ops: &[Op]| vec![ops.to_vec(), ops.to_vec()];
    let long = Together { kind: Kind::AllReduce, ns: 40 };
    // The first collective runs beside the second kernel, and nothing needs it before the last one.
    let rounds = vec![(both(&[Op::Host(1), kernel(10)]), long), (both(&[Op::Host(1), kernel(100)]), ALL_REDUCE)];
    let ran = Script { ranks: 2, rounds }.run(None);
    let maps = ran.maps(&[]);
    let job = ran.job(&maps);
    let path = critical_path(&job, whole(&job));
    let expected = ["0 host train 1", "0 compute k0 10", "0 compute k1 100", "0 communication all_reduce 10"];
    assert_eq!(lines(&job, &path), expected);
}

#[test]
fn clocks_that_contradict_each_other_are_a_class_of_their_own() {
    let rounds = vec![(vec![vec![Op::Host(5), kernel(30)], vec![Op::Host(5), kernel(70)]], ALL_REDUCE)];
    let ran = Script { ranks: 2, rounds }.run(None);
    // By its clock rank 1 came to the collective at 99, and rank 0 left it at 85.
    let maps = ran.maps(&[0, 24]);
    let job = ran.job(&maps);
    let path = critical_path(&job, PathWindow { rank: 0, start_ns: 0, end_ns: 85 });
    // What rank 1 seems to have done by then.
    assert_eq!(
        lines(&job, &path),
        ["1 unknown before the first recorded work 24", "1 host train 5", "1 compute k0 42", "1 clock the clocks disagree 14"]
    );
    assert_eq!(path.end, PathEnd::NothingKnown(1));
}

/// A message and a broadcast: two ranks, of which one is at each end.
fn pair(kinds: [Kind; 2], times: [(i64, i64); 2], computed_ns: [i64; 2]) -> Ran {
    let all: Arc<[Rank]> = [Rank(0), Rank(1)].into();
    let mut ran = Ran { executions: Vec::new(), collectives: Vec::new(), kernels: Vec::new() };
    for (rank, (kind, (came_ns, left_ns))) in (0_u32..).zip(kinds.into_iter().zip(times)) {
        let mut own = Running::new();
        own.piece(0, (0, computed_ns[rank as usize]), Key::new(Activity::Kernel, format!("stage{rank}")), None);
        own.takes_part(came_ns, left_ns, kind);
        let mut local = local(&own.collectives, &[kind]);
        local[0].peer = kind.is_point_to_point().then_some(1 - rank);
        let groups = vec![Group { ranks: Arc::clone(&all), name: "pp".into(), description: String::new() }];
        ran.collectives.push(RankCollectives { rank: Rank(rank), groups, collectives: local.into(), steps: Vec::new() });
        ran.executions.push(own.builder.finish());
    }
    ran
}

#[test]
fn a_receiver_waits_for_its_sender_and_not_the_other_way_round() {
    let kinds = [Kind::Send, Kind::Recv];
    let ran = pair(kinds, [(80, 90), (20, 92)], [80, 20]);
    let maps = ran.maps(&[]);
    let job = ran.job(&maps);
    assert_eq!(job.meetings.len(), 1);
    let path = critical_path(&job, whole(&job));
    assert_eq!(lines(&job, &path), ["0 compute stage0 80", "1 communication recv 12"]);

    let ran = pair(kinds, [(20, 92), (80, 90)], [20, 80]);
    let job = ran.job(&maps);
    let path = critical_path(&job, whole(&job));
    assert_eq!(lines(&job, &path), ["0 compute stage0 20", "0 communication send 72"]);
    let slacks = Slacks::of(&job, 92, &extents(&job));
    assert_eq!(slacks.slack_ns(0, PieceId(0)), Some(0), "the sender's");
    assert_eq!(slacks.slack_ns(1, PieceId(0)), Some(2), "the receiver's");
}

#[test]
fn a_broadcast_is_waited_for_where_the_last_to_come_before_the_end_came_late() {
    let ran = pair([Kind::Broadcast; 2], [(10, 95), (70, 90)], [10, 70]);
    let maps = ran.maps(&[]);
    let job = ran.job(&maps);
    let path = critical_path(&job, whole(&job));
    assert_eq!(lines(&job, &path), ["1 compute stage1 70", "0 communication broadcast 25"]);
    // Rank 1 came when rank 0 had left.
    let ran = pair([Kind::Broadcast; 2], [(10, 30), (70, 72)], [10, 70]);
    let job = ran.job(&maps);
    let path = critical_path(&job, PathWindow { rank: 0, start_ns: 0, end_ns: 30 });
    assert_eq!(lines(&job, &path), ["0 compute stage0 10", "0 communication broadcast 20"]);
}

#[test]
fn a_step_ends_with_what_the_next_one_waited_for() {
    let rounds = vec![(vec![vec![Op::Host(1), kernel(10), Op::Host(80), kernel(20)]], ALL_REDUCE)];
    let ran = Script { ranks: 1, rounds }.run(None);
    let maps = ran.maps(&[]);
    let job = ran.job(&maps);
    // From the first kernel to the second, which the host launched late.
    let path = critical_path(&job, PathWindow { rank: 0, start_ns: 1, end_ns: 81 });
    assert_eq!(lines(&job, &path), ["0 host train 80"]);
}

#[test]
fn collectives_in_contradicting_orders_end_the_path() {
    let script = Script { ranks: 2, rounds: vec![(vec![vec![Op::Host(5), kernel(9)]; 2], ALL_REDUCE); 2] };
    let ran = script.run(None);
    // Clocks so far apart that each waits for the other.
    for errors_ns in [[0, 1_000], [1_000, 0], [0, -7], [0, 10]] {
        let maps = ran.maps(&errors_ns);
        let job = ran.job(&maps);
        for window in extents(&job) {
            let path = critical_path(&job, window);
            check_tiles(&job, &path).unwrap();
            scarcest(&job, &path, &extents(&job), 20);
        }
    }
}

#[test]
fn nothing_recorded_is_nothing_known() {
    let ran = Ran { executions: vec![Execution::default()], collectives: Vec::new(), kernels: Vec::new() };
    let maps = ran.maps(&[]);
    let job = JobExecution::new(ran.executions.iter().collect(), maps.iter().collect(), &[], &match_ranks(&[]));
    let path = critical_path(&job, PathWindow { rank: 0, start_ns: 3, end_ns: 9 });
    assert_eq!(lines(&job, &path), ["0 unknown before the first recorded work 6"]);
    assert_eq!(path.end, PathEnd::NothingKnown(0));
    assert_eq!(scarcest(&job, &path, &[path.window], 20), []);
}

fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (0..30_i64).prop_map(Op::Host),
        4 => (1..60_i64, 0..5_i64).prop_map(|(ns, lag_ns)| Op::Kernel { ns, lag_ns }),
        1 => Just(Op::Synchronize),
        1 => Just(Op::NeedsCollective),
    ]
}

fn any_script() -> impl Strategy<Value = Script> {
    (1..5_usize).prop_flat_map(|ranks| {
        let ops = prop::collection::vec(any_op(), 0..7);
        let ops = ops.prop_map(|ops| [vec![Op::Host(1)], ops].concat());
        let kind = prop_oneof![Just(Kind::AllReduce), Just(Kind::AllGather)];
        let together = (kind, 1..30_i64).prop_map(|(kind, ns)| Together { kind, ns });
        let round = (prop::collection::vec(ops, ranks), together);
        prop::collection::vec(round, 1..5).prop_map(move |rounds| Script { ranks, rounds })
    })
}

proptest! {
    #[test]
    fn a_path_tiles_its_window_whatever_the_clocks(
        script in any_script(),
        errors_ns in prop::collection::vec(prop_oneof![-20..20_i64, -5_000..5_000_i64], 4),
        cut in (0..50_i64, 0..50_i64),
    ) {
        let ran = script.run(None);
        let maps = ran.maps(&errors_ns);
        let job = ran.job(&maps);
        for window in extents(&job) {
            for window in [window, PathWindow { start_ns: window.start_ns + cut.0, end_ns: window.end_ns - cut.1, ..window }] {
                if window.start_ns < window.end_ns {
                    let path = critical_path(&job, window);
                    check_tiles(&job, &path)?;
                }
            }
        }
    }

    #[test]
    fn with_exact_clocks_all_is_known_and_nothing_on_the_path_has_slack(script in any_script()) {
        let ran = script.run(None);
        let maps = ran.maps(&[]);
        let job = ran.job(&maps);
        let path = critical_path(&job, whole(&job));
        prop_assert_eq!(path.end, PathEnd::Whole);
        let slacks = Slacks::of(&job, path.window.end_ns, &extents(&job));
        for segment in &path.segments {
            prop_assert!(!matches!(segment.class, PathClass::Unknown | PathClass::Clock));
            let execution = job.ranks[segment.rank as usize];
            let ran = execution.ids().find(|id| execution.end_ns(*id) == segment.end_ns && Some(execution.piece(*id).key) == segment.key);
            if let Some(piece) = ran.filter(|_| !matches!(segment.class, PathClass::Launch | PathClass::DeviceGap)) {
                prop_assert_eq!(slacks.slack_ns(segment.rank, piece), Some(0));
            }
        }
    }

    /// Run again, a kernel that is longer by its slack moves no end, and one nanosecond more does.
    #[test]
    fn slack_is_what_the_job_forgives(script in any_script(), at in any::<prop::sample::Index>()) {
        let ran = script.run(None);
        let kernels: Vec<(usize, usize)> =
            ran.kernels.iter().enumerate().flat_map(|(rank, own)| (0..own.len()).map(move |kernel| (rank, kernel))).collect();
        prop_assume!(!kernels.is_empty());
        let (rank, kernel) = kernels[at.index(kernels.len())];
        let maps = ran.maps(&[]);
        let job = ran.job(&maps);
        let end_ns = whole(&job).end_ns;
        let slacks = Slacks::of(&job, end_ns, &extents(&job));
        let execution = job.ranks[rank];
        let name = format!("k{kernel}");
        let piece = execution.ids().find(|id| execution.key(execution.piece(*id).key).name == name).unwrap();
        let slack_ns = slacks.slack_ns(rank as u32, piece).unwrap();
        for (longer_ns, later_ns) in [(slack_ns, 0), (slack_ns + 1, 1)] {
            let again = script.run(Some((rank, kernel, longer_ns)));
            let job = again.job(&maps);
            prop_assert_eq!(whole(&job).end_ns, end_ns + later_ns, "slack {}", slack_ns);
        }
    }

    /// Ranks' steps end when something starts, which may be a part of a collective whose others are still within theirs.
    #[test]
    fn a_step_that_ends_as_something_starts_forgives_no_less_than_nothing(
        script in any_script(),
        at in prop::collection::vec(any::<prop::sample::Index>(), 4),
    ) {
        let ran = script.run(None);
        let maps = ran.maps(&[]);
        let job = ran.job(&maps);
        let mut windows = extents(&job);
        for (window, at) in windows.iter_mut().zip(&at) {
            let execution = job.ranks[window.rank];
            window.end_ns = job.on_job_clock(window.rank, execution.start_ns(PieceId(at.index(execution.len()) as u32)));
        }
        let end_ns = windows.iter().map(|window| window.end_ns).max().unwrap();
        let slacks = Slacks::of(&job, end_ns, &windows);
        for window in &windows {
            for id in job.ranks[window.rank].ids() {
                prop_assert!(slacks.slack_ns(window.rank as u32, id).is_none_or(|slack_ns| slack_ns >= 0));
            }
        }
    }

    /// Those that come together stand in order of rank; else nothing depends on it.
    #[test]
    fn the_order_of_ranks_changes_nothing(script in any_script(), shift_ns in 1..50_i64) {
        let mut ran = script.run(None);
        // No two ranks come together, by their clocks.
        let errors_ns: Vec<i64> = (0..script.ranks as i64).map(|rank| rank * 10_007 * shift_ns).collect();
        let (mut maps, ranks) = (ran.maps(&errors_ns), script.ranks as u32);
        let by_name = |ran: &Ran, maps: &[Map], number: &dyn Fn(u32) -> u32| {
            let job = ran.job(maps);
            let path = critical_path(&job, whole(&job));
            let segments: Vec<_> = path.segments.iter().map(|one| (number(one.rank), one.start_ns, one.end_ns, one.class)).collect();
            (segments, path.hops)
        };
        let forwards = by_name(&ran, &maps, &|rank| rank);
        ran.executions.reverse();
        ran.collectives.reverse();
        maps.reverse();
        prop_assert_eq!(by_name(&ran, &maps, &|rank| ranks - 1 - rank), forwards);
    }
}
