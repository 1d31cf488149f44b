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
    /// Which step of a recorded run this shows; null where the job runs.
    #[serde(default)]
    pub replay: Option<LiveReplay>,
    /// When it was looked at, on the job's clock.
    #[serde(default)]
    pub time_ns: i64,
    /// Ranks in the job.
    #[serde(default)]
    pub world_size: Option<u32>,
    /// The step that the first ranks are in.
    pub step: Option<i64>,
    /// How long a step took, in the middle of the ranks.
    pub step_ns: Option<i64>,
    /// Steps over which ranks were compared.
    pub compared_steps: u32,
    /// Every rank that tells of itself, the one that comes latest first.
    pub ranks: Vec<LiveRank>,
    /// Groups of ranks that meet, the one that is waited in longest first.
    #[serde(default)]
    pub groups: Vec<LiveMeetings>,
    /// The same by what they do.
    #[serde(default)]
    pub collectives: Vec<LiveMeetings>,
    /// Hosts of the job.
    #[serde(default)]
    pub nodes: Vec<LiveNode>,
    /// Ways between hosts that clock agents measure.
    #[serde(default)]
    pub links: Vec<LiveLink>,
    /// What was raised and is not over.
    pub alarms: Vec<LiveAlarm>,
    /// What could not be used, a sentence each.
    pub problems: Vec<String>,
}

/// Which step of a recorded run is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveReplay {
    /// Its place among the steps that all ranks recorded, from 1.
    pub place: u32,
    /// How many those are.
    pub steps: u32,
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
    /// How long it is inside of collectives, a step.
    #[serde(default)]
    pub collective_ns: Option<i64>,
    /// Communication that no compute hides, a step. Live pages do not know it, recordings of devices do.
    #[serde(default)]
    pub exposed_comm_ns: Option<i64>,
    /// Which host it is on, by the number of its node.
    #[serde(default)]
    pub node: Option<u32>,
    /// How long ago it did anything.
    pub progress_age_ns: i64,
    /// The phase that its program marks: `initialisation`, `training`, `evaluation` or `checkpoint`.
    #[serde(default)]
    pub phase: Option<String>,
    /// How long it has been in that.
    #[serde(default)]
    pub phase_age_ns: Option<i64>,
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

/// Collectives of one group, or of one operation in one group, as far as pages have them whole.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveMeetings {
    /// The name of the group.
    pub group: String,
    /// The operation; null where all of them are meant.
    pub op: Option<String>,
    /// Ranks in the group.
    pub members: u32,
    /// Collectives that the figures are medians over.
    pub met: u32,
    /// What each rank moves.
    pub bytes: Option<u64>,
    /// From the first rank's arrival to the last one's.
    pub wait_ns: Option<i64>,
    /// From the last rank's arrival until the last one left.
    pub transfer_ns: Option<i64>,
    /// The rank that came last most often, and how often.
    pub last: Option<LiveLast>,
    /// The one that ranks have been in for longest.
    pub open: Option<LiveOpen>,
}

/// Who came last, and how often.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LiveLast {
    /// The rank.
    pub rank: u32,
    /// Times.
    pub count: u32,
}

/// A collective that is not over.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveOpen {
    /// Its number in the group.
    pub seq: u64,
    /// What it does.
    pub op: String,
    /// Ranks that are in it.
    pub inside: u32,
    /// How long ago the first of them came.
    pub age_ns: i64,
    /// Ranks of the group that did not come yet, the first 16 of them.
    pub missing: Vec<u32>,
    /// How many did not, of those that tell of themselves.
    pub missing_count: u32,
}

/// A host of a running job.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveNode {
    /// Its number.
    pub node: u32,
    /// Its name, empty where it is not known.
    pub host: String,
    /// What its clock is ahead of the reference's.
    pub offset_ns: Option<i64>,
    /// How far that may be off at most.
    pub clock_error_ns: Option<i64>,
}

/// A way between two hosts, in the last window that was measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveLink {
    /// The node that measured.
    pub from: u32,
    /// The node that answered.
    pub to: u32,
    /// The shortest time there and back; null where no packet made it.
    pub rtt_min_ns: Option<i64>,
    /// What the other's clock is ahead.
    pub offset_ns: Option<i64>,
    /// How far that may be off at most.
    pub offset_error_ns: Option<i64>,
    /// Packets that were answered.
    pub answered: u32,
    /// Packets that were lost, either way.
    pub lost: u32,
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
    /// The last step that had ended when it was raised.
    #[serde(default)]
    pub step: Option<i64>,
    /// The command that shows it, where what it needs is there.
    #[serde(default)]
    pub read: Option<String>,
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
