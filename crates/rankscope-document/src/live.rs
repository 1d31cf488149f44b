//! Where a running job is, as `rankscope top --format json` writes it, schema 1. Keys are only ever added within a schema number.

use serde::{Deserialize, Serialize};

/// Where a running job is. What is not known is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveDocument {
    /// Version of this layout: 1.
    pub schema: u32,
    /// Version of the program that wrote it.
    pub rankscope_version: String,
    /// Which run it is.
    pub title: String,
    /// The step that the first ranks are in.
    pub step: Option<i64>,
    /// How long a step took, in the middle of the ranks.
    pub step_ns: Option<i64>,
    /// Steps over which ranks were compared.
    pub compared_steps: u32,
    /// Every rank that tells of itself, the one that comes latest first.
    pub ranks: Vec<LiveRank>,
    /// What was raised and is not over.
    pub alarms: Vec<LiveAlarm>,
    /// What could not be used, a sentence each.
    pub problems: Vec<String>,
}

/// A rank of a running job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveRank {
    /// Its number.
    pub rank: u32,
    /// The step it is in.
    pub step: Option<i64>,
    /// How much later than the rank in the middle its own work lets it come to collectives, a step; negative where earlier.
    pub lateness_ns: Option<i64>,
    /// How far clocks may put that off at most.
    pub clock_error_ns: Option<i64>,
    /// What the others together waited for it alone, a step.
    pub caused_wait_ns: Option<i64>,
    /// How long ago it did anything.
    pub progress_age_ns: i64,
    /// The collective it is in.
    pub open: Option<LiveCollective>,
}

/// A collective that a rank is in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveCollective {
    /// The name of its group.
    pub group: String,
    /// Its number there.
    pub seq: u64,
    /// What it does.
    pub op: String,
    /// What it moves.
    pub bytes: u64,
    /// How long ago the rank came.
    pub age_ns: i64,
}

/// An alarm, as a line of `alarms.jsonl` and in a [`LiveDocument`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveAlarm {
    /// When it was raised.
    pub time_ns: i64,
    /// What is wrong.
    pub kind: LiveAlarmKind,
    /// Whose it is; null where it is of the whole job.
    pub rank: Option<u32>,
    /// What saw it.
    pub detector: String,
    /// What was measured.
    pub value_ns: i64,
    /// What it was held against.
    pub threshold_ns: i64,
    /// How far clocks may be off.
    pub clock_error_ns: i64,
    /// Why it is believed.
    pub confidence: String,
    /// When it was over.
    pub cleared_ns: Option<i64>,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LiveAlarmKind {
    /// A rank comes late by its own work.
    #[default]
    Straggler,
    /// Steps of the whole job take longer than they did.
    SlowJob,
    /// Nothing moves.
    Hang,
}

impl LiveAlarmKind {
    /// Its name in files and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Straggler => "straggler",
            Self::SlowJob => "slow-job",
            Self::Hang => "hang",
        }
    }
}
