//! `history.json`, schema 1: many runs of a job in order of time, and where the level of a metric changed.
//!
//! A run has one value of each metric: the median of its steps. Differences are later minus earlier. What does not exist is null.

use serde::{Deserialize, Serialize};

use crate::vocabulary::vocabulary;
use crate::{ChangeVerdict, Direction, MetricComparison, MetricUnit, Note, Over};

/// Runs in order of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistoryDocument {
    /// Version of this layout: 1.
    pub schema: u32,
    /// Version of the program that wrote it.
    pub rankscope_version: String,
    /// The folder that was read.
    pub title: String,
    /// What runs are ordered by.
    pub order: HistoryOrder,
    /// How often a family of metrics shows a change where there is none, at most: the job's, the ranks', the collectives'.
    pub alpha: f64,
    /// What the reader should know first.
    pub notes: Vec<Note>,
    /// The runs, the oldest first.
    pub runs: Vec<PastRun>,
    /// Every metric of the latest run, those of the job first.
    pub metrics: Vec<HistoryMetric>,
}

/// One run of the past.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PastRun {
    /// What its file or folder is called.
    pub name: String,
    /// Where it was read from.
    pub path: String,
    /// When it began, in nanoseconds since the Unix epoch; null where nothing tells.
    pub start_ns: Option<i64>,
    /// What tells.
    pub start_from: StartSource,
    /// Its ranks.
    pub ranks: usize,
    /// Steps that its values are of.
    pub steps: usize,
}

/// One metric of all runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistoryMetric {
    /// Its name, as in compare.json.
    pub name: String,
    /// What its values are in.
    pub unit: MetricUnit,
    /// Which way is better.
    pub direction: Direction,
    /// How one value of a step comes from several ranks or collectives.
    pub over: Over,
    /// Its value in each run, in order; null where a run lacks it.
    pub values: Vec<Option<f64>>,
    /// Where its level changed, the oldest first.
    pub changes: Vec<LevelChange>,
    /// The runs since the last change, without the latest.
    pub segment: Option<Segment>,
    /// The latest run beside those of `segment`, which stand in for the base.
    pub latest: Option<MetricComparison>,
}

/// A change of level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LevelChange {
    /// The first run of the new level, an index into `runs`.
    pub run: usize,
    /// The mean since the change before.
    pub before: f64,
    /// The mean up to the next change.
    pub after: f64,
    /// The difference as a share of the level before.
    pub ratio: Option<f64>,
    /// How likely such a step is anywhere in a history without one.
    pub p: f64,
    /// Whether it is for the better.
    pub verdict: ChangeVerdict,
}

/// Runs of one level.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Segment {
    /// The first of them, an index into `runs`.
    pub first_run: usize,
    /// How many have the metric.
    pub runs: usize,
    /// The median of their values.
    pub median: f64,
    /// Standard deviation between them, relative to their mean; null with one run.
    pub run_spread: Option<f64>,
}

vocabulary! {
    /// What runs of a history are ordered by.
    HistoryOrder {
        /// When they began.
        Start = "start",
        /// What they are called, as it is not known of all when they began.
        Name = "name",
    }
}

vocabulary! {
    /// What tells when a run began.
    StartSource {
        /// The manifest of its run directory.
        Manifest = "manifest",
        /// The stamps of its traces.
        Windows = "windows",
        /// Nothing.
        Unknown = "unknown",
    }
}
