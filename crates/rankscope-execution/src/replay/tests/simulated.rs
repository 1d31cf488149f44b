//! Jobs whose times follow from what they cost, by a simulator that shares nothing with the replay: a host that prepares a batch and
//! launches layers, a stream that computes, a stream that communicates, and a step that begins when the last one's
//! collectives are over.

use rankscope_analyze::{Map, StepWindow};
use rankscope_collectives::{Group, Kind, LocalCollective, Matched, Operation, RankCollectives, Sequence, match_ranks};
use rankscope_time::{ClockMap, Rank, Span};
use rankscope_trace::SpanId;

use crate::replay::{Change, Replay, Scene, TargetError};
use crate::{Activity, Builder, Execution, JobExecution, Key, LaneId, LaneKind, NewPiece, PieceId, Share};

/// What a job costs, in nanoseconds. Lists are by rank.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    pub(super) steps: usize,
    pub(super) layers: usize,
    /// The host, before each step.
    pub(super) loading_ns: Vec<i64>,
    /// The loading of some ranks in some steps, in the place of the usual.
    pub(super) slow_loading_ns: Vec<(usize, usize, i64)>,
    /// The host, to launch a layer.
    pub(super) host_ns: Vec<i64>,
    /// A kernel.
    pub(super) kernel_ns: Vec<i64>,
    /// From a launch to the start of what it launched.
    pub(super) launch_ns: i64,
    /// A collective, once all have come; a layer has one.
    pub(super) transfer_ns: i64,
    /// Kernels wait for the collective of the layer before them.
    pub(super) in_turn: bool,
    /// How far each clock is off. The job's maps do not know of it.
    pub(super) off_ns: Vec<i64>,
}

impl Costs {
    pub(super) fn of(ranks: usize) -> Self {
        Self {
            steps: 4,
            layers: 3,
            loading_ns: vec![1_000; ranks],
            slow_loading_ns: Vec::new(),
            host_ns: vec![2_000; ranks],
            kernel_ns: vec![30_000; ranks],
            launch_ns: 500,
            transfer_ns: 7_000,
            in_turn: true,
            off_ns: vec![0; ranks],
        }
    }

    fn ranks(&self) -> usize {
        self.kernel_ns.len()
    }

    fn loading_ns(&self, rank: usize, step: usize) -> i64 {
        let slow = self.slow_loading_ns.iter().find(|(own, at, _)| (*own, *at) == (rank, step));
        slow.map_or(self.loading_ns[rank], |(_, _, ns)| *ns)
    }

    /// Runs it.
    pub(super) fn run(&self) -> Simulated {
        let mut ranks: Vec<Recorder> = (0..self.ranks()).map(|rank| Recorder::of(self.off_ns[rank])).collect();
        for step in 0..self.steps {
            for (at, rank) in ranks.iter_mut().enumerate() {
                rank.load(step, self.loading_ns(at, step));
            }
            for _ in 0..self.layers {
                for (at, rank) in ranks.iter_mut().enumerate() {
                    rank.layer(self.host_ns[at], self.kernel_ns[at], self.launch_ns, self.in_turn);
                }
                let last_ns = ranks.iter().map(|rank| rank.came_ns).max().unwrap();
                ranks.iter_mut().for_each(|rank| rank.collective(last_ns + self.transfer_ns));
            }
            ranks.iter_mut().for_each(Recorder::synchronize);
        }
        let ranks: Vec<Recorder> = ranks;
        let collectives: Vec<RankCollectives> =
            (0..).zip(&ranks).map(|(rank, own)| own.collectives(rank, ranks.len())).collect();
        let matched = match_ranks(&collectives);
        let maps = vec![ClockMap::from_offset(Span::from_nanos(0), 0); ranks.len()];
        let windows = ranks.iter().map(Recorder::windows).collect();
        let executions = ranks.into_iter().map(|rank| rank.builder.finish()).collect();
        Simulated { executions, collectives, matched, maps, windows, nodes: vec![None; self.ranks()] }
    }
}

/// A job that was simulated.
#[derive(Clone, Debug)]
pub(super) struct Simulated {
    pub(super) executions: Vec<Execution>,
    pub(super) collectives: Vec<RankCollectives>,
    pub(super) matched: Matched,
    pub(super) maps: Vec<Map>,
    pub(super) windows: Vec<Vec<StepWindow>>,
    pub(super) nodes: Vec<Option<u32>>,
}

impl Simulated {
    pub(super) fn with<T>(&self, ask: impl FnOnce(&Replay<'_>) -> T) -> T {
        let job =
            JobExecution::new(self.executions.iter().collect(), self.maps.iter().collect(), &self.collectives, &self.matched);
        let windows: Vec<&[StepWindow]> = self.windows.iter().map(Vec::as_slice).collect();
        ask(&Replay::of(Scene { job: &job, collectives: &self.collectives, windows: &windows, nodes: &self.nodes }))
    }

    /// What a step takes with the changes of `texts`.
    pub(super) fn changed_ns(&self, texts: &[&str]) -> i64 {
        self.try_changed_ns(texts).unwrap()
    }

    pub(super) fn try_changed_ns(&self, texts: &[&str]) -> Result<i64, TargetError> {
        let changes: Vec<Change> = texts.iter().flat_map(|text| crate::replay::parse(text).unwrap()).collect();
        self.with(|replay| replay.run(&changes).map(|done| done.step_ns))
    }

    pub(super) fn observed_ns(&self) -> i64 {
        self.with(|replay| replay.observed_step_ns())
    }

    /// The same without steps: the job is one recording.
    pub(super) fn whole(mut self) -> Self {
        self.windows.iter_mut().for_each(Vec::clear);
        self
    }
}

/// One rank while it runs.
struct Recorder {
    builder: Builder,
    host: LaneId,
    compute: LaneId,
    communication: LaneId,
    off_ns: i64,
    /// When each is free, and its last piece.
    host_free: (i64, Option<PieceId>),
    compute_free: (i64, Option<PieceId>),
    communication_free: (i64, Option<PieceId>),
    /// The device's work that the host waits for next.
    awaited: Option<PieceId>,
    came_ns: i64,
    launched_by: Option<PieceId>,
    stays: Vec<(i64, i64)>,
    /// First work of each step on the device.
    steps: Vec<i64>,
    is_new_step: bool,
}

impl Recorder {
    fn of(off_ns: i64) -> Self {
        let mut builder = Builder::default();
        let host = builder.lane(LaneKind::Thread, "main");
        let compute = builder.lane(LaneKind::Stream, "7");
        let communication = builder.lane(LaneKind::Stream, "20");
        Self {
            builder,
            host,
            compute,
            communication,
            off_ns,
            host_free: (1_000_000, None),
            compute_free: (0, None),
            communication_free: (0, None),
            awaited: None,
            came_ns: 0,
            launched_by: None,
            stays: Vec::new(),
            steps: Vec::new(),
            is_new_step: false,
        }
    }

    fn piece(&mut self, lane: LaneId, start_ns: i64, end_ns: i64, key: Key, collective: Option<usize>) -> PieceId {
        let (key, dur_ns) = (self.builder.key(key), end_ns - start_ns);
        let shares = vec![Share { key, ns: dur_ns }];
        self.builder.piece(NewPiece { lane, start_ns: start_ns + self.off_ns, dur_ns, shares, collective })
    }

    /// The host works for so long, after what it waits for.
    fn work(&mut self, ns: i64, key: Key) -> PieceId {
        let start_ns = self.host_free.0;
        let piece = self.piece(self.host, start_ns, start_ns + ns, key, None);
        if let Some(awaited) = self.awaited.take() {
            self.builder.wait(piece, awaited);
        }
        self.host_free = (start_ns + ns, Some(piece));
        piece
    }

    fn load(&mut self, _step: usize, ns: i64) {
        self.work(ns, Key::new(Activity::Annotation, "data_loading"));
        self.is_new_step = true;
    }

    /// A kernel and a collective behind it are launched, and the rank comes to the collective.
    fn layer(&mut self, host_ns: i64, kernel_ns: i64, launch_ns: i64, in_turn: bool) {
        let call = self.work(host_ns, Key::new(Activity::Operator, "aten::mm"));
        let awaited = self.communication_free.1.filter(|_| in_turn);
        let begun_ns = if in_turn { self.communication_free.0 } else { 0 };
        let start_ns = (self.host_free.0 + launch_ns).max(self.compute_free.0).max(begun_ns);
        let key = Key::new(Activity::Kernel, "gemm").of_operator("aten::mm");
        let kernel = self.piece(self.compute, start_ns, start_ns + kernel_ns, key, None);
        self.builder.launch(kernel, call);
        awaited.into_iter().for_each(|awaited| self.builder.wait(kernel, awaited));
        self.compute_free = (start_ns + kernel_ns, Some(kernel));
        if std::mem::take(&mut self.is_new_step) {
            self.steps.push(start_ns);
        }
        self.came_ns = (self.host_free.0 + launch_ns).max(self.compute_free.0).max(self.communication_free.0);
        self.launched_by = Some(call);
    }

    /// The collective that the rank has come to ends.
    fn collective(&mut self, end_ns: i64) {
        let key = Key::new(Activity::Communication, "ncclDevKernel_AllReduce").of_operator("c10d::allreduce_");
        let piece = self.piece(self.communication, self.came_ns, end_ns, key, Some(self.stays.len()));
        self.launched_by.take().into_iter().for_each(|call| self.builder.launch(piece, call));
        self.compute_free.1.into_iter().for_each(|kernel| self.builder.wait(piece, kernel));
        self.communication_free = (end_ns, Some(piece));
        self.stays.push((self.came_ns, end_ns));
    }

    /// The host waits for everything.
    fn synchronize(&mut self) {
        self.host_free.0 = self.host_free.0.max(self.communication_free.0);
        self.awaited = self.communication_free.1;
    }

    fn collectives(&self, rank: u32, world: usize) -> RankCollectives {
        let group = Group { ranks: (0..world as u32).map(Rank).collect(), name: "0".into(), description: "mesh_dp".into() };
        let stay = |(at, (start_ns, end_ns)): (usize, &(i64, i64))| {
            let (start_ns, end_ns) = (start_ns + self.off_ns, end_ns + self.off_ns);
            let mut one = LocalCollective::new(SpanId(at as u32), start_ns, end_ns, Operation::of(Kind::AllReduce));
            one.sequence = Sequence::of(Some(at as u64));
            one
        };
        let collectives = self.stays.iter().enumerate().map(stay).collect();
        RankCollectives { rank: Rank(rank), groups: vec![group], collectives, steps: Vec::new() }
    }

    /// From the first work of each step on the device to that of the next; the last one's to its last end.
    fn windows(&self) -> Vec<StepWindow> {
        let ends = self.steps.iter().skip(1).copied().chain([self.communication_free.0]);
        let window = |(number, (start_ns, end_ns)): (usize, (&i64, i64))| StepWindow {
            number: number as i64,
            start_ns: start_ns + self.off_ns,
            end_ns: end_ns + self.off_ns,
        };
        self.steps.iter().zip(ends).enumerate().map(window).collect()
    }
}
