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
}

/// One node's clock.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct NodeClock {
    /// Number of the node.
    pub node: u32,
    /// Rounds in which no edge led to it.
    pub unreachable: u32,
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
    /// What the node's edges disagree with the solution.
    pub residual_ns: f64,
    /// The offset less the straight line through it and its neighbours between two steps.
    pub stray_ns: i64,
    /// The bound trusts stamps that contradict each other, or another node stood in for the reference.
    pub degraded: bool,
    /// The clock jumped since the round before, and its straight line starts anew.
    pub step: bool,
}
