//! Where the clocks of all nodes stood over a run: a document of its own, as `rankscope clock show` prints it.

use serde::{Deserialize, Serialize};

use crate::Note;

/// The clocks of all nodes, schema 1. Times are integer nanoseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClockDocument {
    /// Version of this layout: 1.
    pub schema: u32,
    /// Version of the program that wrote it.
    pub rankscope_version: String,
    /// What was read.
    pub title: String,
    /// Whose clock offsets are against, if that is known.
    pub reference: Option<u32>,
    /// How many rounds there are.
    pub rounds: u32,
    /// What the reader should know.
    pub notes: Vec<Note>,
    /// By number.
    pub nodes: Vec<NodeClock>,
    /// Pairs of nodes that measured each other, against all others; empty where only offsets are known.
    #[serde(default)]
    pub pairs: Vec<PairAgreement>,
}

/// What a pair of nodes measures of each other beyond what all other pairs say of the two, over all rounds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PairAgreement {
    /// The lower number.
    pub first: u32,
    /// The higher.
    pub second: u32,
    /// How many measurements there are.
    pub measured: u32,
    /// What it measures of `second - first` beyond the others; none where no loop leads through the pair.
    pub surplus_ns: Option<f64>,
    /// One standard deviation of the surplus by chance.
    pub chance_ns: f64,
    /// The others agree, and this pair does not agree with them: packets take longer one way than the other, by twice the surplus.
    pub suspect: bool,
}

/// One node's clock.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NodeClock {
    /// Number of the node.
    pub node: u32,
    /// Rounds in which no edge led to it.
    pub unreachable: u32,
    /// One standard deviation of what paths that take longer one way than the other do to its offset in all rounds alike, as far
    /// as loops show; none where there is no loop.
    #[serde(default)]
    pub path_sigma_ns: Option<f64>,
    /// Where it stood, in order of time.
    pub points: Vec<ClockPoint>,
}

/// A node's clock in one round.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ClockPoint {
    /// Number of the round.
    pub round: u64,
    /// Instant on the node's clock.
    pub at_ns: i64,
    /// The same instant in seconds from the first round on, on the reference's clock.
    pub elapsed_s: f64,
    /// `node - reference`.
    pub offset_ns: i64,
    /// What the node gains on the reference.
    pub skew_ppb: f64,
    /// What the offset is at least, if anything says so.
    pub bound_lo_ns: Option<i64>,
    /// What the offset is at most.
    pub bound_hi_ns: Option<i64>,
    /// One standard deviation.
    pub sigma_ns: Option<f64>,
    /// The offset in the light of all rounds before and after.
    #[serde(default)]
    pub smoothed_ns: Option<i64>,
    /// One standard deviation of the smoothed offset by chance; what paths do is in `path_sigma_ns` of the node.
    #[serde(default)]
    pub smoothed_sigma_ns: Option<f64>,
    /// What the node's edges disagree with the solution.
    pub residual_ns: f64,
    /// The offset less the straight line through it and its neighbours between two steps.
    pub stray_ns: i64,
    /// The bound trusts stamps that contradict each other, or another node stood in for the reference.
    pub degraded: bool,
    /// The clock jumped since the round before, and its straight line starts anew.
    pub step: bool,
}
