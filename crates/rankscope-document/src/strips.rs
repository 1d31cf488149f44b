//! The same steps of every side in time, so that they can be drawn under each other.

use serde::{Deserialize, Serialize};

use crate::CollectiveInstance;

/// Steps that all sides have, in time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepStrips {
    /// The one whose length changed by the median of all changes, from the base to the first test.
    pub typical: i64,
    /// A run of each side, in the order of the sides.
    pub sides: Vec<SideStrips>,
}

/// Steps of one run of a side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SideStrips {
    /// The side.
    pub label: String,
    /// Where its run was read from: the first of the side.
    pub run: String,
    /// Ranks of the run.
    pub ranks: Vec<u32>,
    /// Names of its collectives, which instances have as `group`.
    pub names: Vec<String>,
    /// The same steps on every side. Of more than the document takes, evenly spaced ones.
    pub steps: Vec<StepStrip>,
    /// Collectives of these steps that are not listed: those with the shortest waits.
    pub left_out: usize,
}

/// One step of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepStrip {
    /// Its number.
    pub step: i64,
    /// When it begins on any rank, on the clock of the run.
    pub start_ns: i64,
    /// From there to its last end on any rank.
    pub length_ns: i64,
    /// Collectives that began in it and were found on all of their ranks.
    pub instances: Vec<CollectiveInstance>,
}
