//! A distributed training job as plain data.

use std::io::{self, Write};

use crate::dialect::Dialect;
use crate::recorder;
use crate::timeline::Timeline;
use crate::truth::Truth;

/// A synthetic job. Fill the fields that matter, leave the rest to `Default`, and ask for traces and truth.
///
/// ```
/// use rankscope_testkit::{Job, Straggler};
///
/// let job = Job { ranks: 2, straggler: Some(Straggler { rank: 1, factor: 1.5 }), ..Job::default() };
/// let mut trace = Vec::new();
/// job.rank_json(0, &mut trace)?;
/// assert!(trace.starts_with(b"{\n  \"schemaVersion\": 1"));
/// assert_eq!(job.truth().last_arrivals()[0], 0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// Processes in the job, one GPU each.
    pub ranks: u32,
    /// Training steps recorded.
    pub steps: u32,
    /// Layers of the model. Each ends its backward pass with one collective over all ranks.
    pub layers: u32,
    /// Operators a step runs, forward and backward together; spread over the layers, at least one per pass and layer.
    pub ops_per_step: u32,
    /// Python frames around every operator.
    pub python_frames: u32,
    /// Ranks of a tensor-parallel group. Where set, each layer's forward pass ends with an all-reduce inside it. Must divide
    /// `ranks`.
    pub group_size: Option<u32>,
    /// The rank whose kernels take longer.
    pub straggler: Option<Straggler>,
    /// Ranks of one node: they share a clock and number its GPUs from 0.
    pub gpus_per_node: u32,
    /// What each node's clock shows, by node; nodes beyond the end have a true clock.
    pub clocks: Vec<NodeClock>,
    /// Each rank is late at the end of the larger half of the collectives by a constant drawn from 0 to this. Point estimates
    /// of a clock offset from end times fall for it; bounds from causality do not.
    pub end_noise_ns: u64,
    /// Rank and ordinal of a collective (counted from 0 within the rank) which happened but is missing from the rank's file.
    pub missing: Vec<(u32, u32)>,
    /// What the files say about collectives.
    pub metadata: Metadata,
    /// Names an operator per step with quotes, backslashes, control characters and letters beyond ASCII, correctly escaped.
    pub odd_names: bool,
    /// Where all chance comes from.
    pub seed: u64,
}

/// A slow rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Straggler {
    /// Which rank.
    pub rank: u32,
    /// Its kernels take this many times as long.
    pub factor: f64,
}

/// How a node's clock differs from the true one: `shown = true + offset + drift * (true - job start)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeClock {
    /// Difference at the start of the job.
    pub offset_ns: i64,
    /// Gain in parts per billion.
    pub drift_ppb: i64,
}

impl NodeClock {
    /// What it shows at `true_ns`.
    pub(crate) fn shown_ns(self, true_ns: i64) -> i64 {
        let gained = i128::from(true_ns - START_NS) * i128::from(self.drift_ppb);
        true_ns + self.offset_ns + gained.div_euclid(1_000_000_000) as i64
    }
}

/// What a file says about its collectives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metadata {
    /// Nothing: kernel names are all there is, as in old traces.
    None,
    /// Kind, sizes, element type and process group, on kernels and on `record_param_comms`.
    #[default]
    Args,
    /// The same, with a sequence number within the process group.
    ArgsAndSeq,
}

impl Default for Job {
    fn default() -> Self {
        Self {
            ranks: 4,
            steps: 3,
            layers: 6,
            ops_per_step: 48,
            python_frames: 2,
            group_size: None,
            straggler: None,
            gpus_per_node: 8,
            clocks: Vec::new(),
            end_noise_ns: 0,
            missing: Vec::new(),
            metadata: Metadata::Args,
            odd_names: false,
            seed: 1,
        }
    }
}

impl Job {
    /// Writes the trace of `rank` as torch does, and returns how many events it holds.
    ///
    /// # Errors
    /// Only those of `out`.
    pub fn rank_json(&self, rank: u32, out: &mut impl Write) -> io::Result<u64> {
        self.rank_json_as(rank, &Dialect::default(), out)
    }

    /// Writes the trace of `rank` in `dialect`, and returns how many events it holds.
    ///
    /// # Errors
    /// Only those of `out`.
    ///
    /// # Panics
    /// If the job has no such rank.
    pub fn rank_json_as(&self, rank: u32, dialect: &Dialect, out: &mut impl Write) -> io::Result<u64> {
        assert!(rank < self.ranks, "rank {rank} of a job of {}", self.ranks);
        recorder::write(self, &Timeline::of(self), rank, dialect, out)
    }

    /// The trace of `rank` in memory, in `dialect`.
    pub fn rank_bytes(&self, rank: u32, dialect: &Dialect) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.rank_json_as(rank, dialect, &mut bytes).expect("writing to memory cannot fail");
        bytes
    }

    /// The traces of all ranks, ascending, as torch writes them.
    pub fn all_ranks(&self) -> Vec<Vec<u8>> {
        (0..self.ranks).map(|rank| self.rank_bytes(rank, &Dialect::default())).collect()
    }

    /// What really happened.
    pub fn truth(&self) -> Truth {
        Truth::of(self, &Timeline::of(self))
    }

    /// The node a rank runs on.
    pub fn node(&self, rank: u32) -> u32 {
        rank / self.gpus_per_node.max(1)
    }

    /// The clock of the node a rank runs on.
    pub fn clock(&self, rank: u32) -> NodeClock {
        self.clocks.get(self.node(rank) as usize).copied().unwrap_or_default()
    }

    /// What `rank`'s clock shows at `true_ns`.
    pub fn shown_ns(&self, rank: u32, true_ns: i64) -> i64 {
        self.clock(rank).shown_ns(true_ns)
    }

    pub(crate) fn is_missing(&self, rank: u32, slot: u32) -> bool {
        self.missing.contains(&(rank, slot))
    }
}

/// What a Kineto file counts its time stamps from: nanoseconds since the Unix epoch, floored to its grid of 7,889,238 s.
pub(crate) const BASE_NS: i64 = 227 * 7_889_238 * 1_000_000_000;

/// When every job starts, in true time: far enough into the grid that stamps have as many digits as real ones.
pub(crate) const START_NS: i64 = BASE_NS + 4_356_528_919_374_704;
