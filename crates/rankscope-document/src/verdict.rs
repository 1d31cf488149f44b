//! Who is late, how sure that is, and the limits of what can be said: part of `report.json`.

use serde::{Deserialize, Serialize};

/// A limit of what can be said.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Caution {
    /// What sort of limit.
    pub kind: CautionKind,
    /// The ranks it is about; empty where it is about all.
    pub ranks: Vec<u32>,
    /// The sentence.
    pub text: String,
}

/// Sorts of limits, gravest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CautionKind {
    /// The job failed.
    Crash,
    /// Nothing in the files is what a training job leaves.
    NotTraining,
    /// Ranks left the same file.
    SameBytes,
    /// Files do not say their rank.
    RankByOrder,
    /// Files are of different formats.
    MixedFormats,
    /// Files contradict each other about the size of the job.
    WorldSize,
    /// Recordings lie too far apart in time.
    TimeRange,
    /// Ranks left no trace.
    MissingRank,
    /// Ranks recorded other steps or windows than others, or some were left out.
    Window,
    /// A file ends early or cannot be read.
    Unreadable,
    /// A rank shows no device work where others do.
    NoDeviceWork,
    /// Collectives without a counterpart, or messages that do not say whom they are with.
    NotMatched,
    /// What the times between ranks rest on.
    Clock,
    /// A file that was passed over.
    PassedOver,
    /// A sort of limit that this version does not know.
    #[serde(other)]
    Other,
}

/// Who is late.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Verdict {
    /// The ranks that are late, most delay first; empty where nobody is named.
    pub late: Vec<LateRank>,
    /// Matched collectives that the verdict rests on.
    pub judged: u64,
    /// Collectives and messages that it does not rest on: unmatched, or not such that everybody waits for the last.
    pub not_judged: u64,
    /// Rounds of the job that were compared with each other.
    pub rounds: u64,
    /// Why nobody is named, where nobody is.
    pub reason: Option<Unnamed>,
}

/// A rank that is late.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LateRank {
    /// The rank.
    pub rank: u32,
    /// Wall time that it held the others up for.
    pub delay_wall_ns: i64,
    /// The least that is, given the clocks and the variation between rounds.
    pub lo_ns: i64,
    /// The most.
    pub hi_ns: i64,
    /// The delay as a share of what was recorded.
    pub share: f64,
    /// How sure it is.
    pub confidence: Confidence,
    /// What it rests on.
    pub because: Because,
}

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// Chance makes such a picture less than once in a hundred jobs.
    Medium,
    /// Less than once in a thousand.
    High,
    /// It holds only if the clocks are where they are estimated to be. A word that this version does not know counts as this one.
    #[serde(other)]
    Low,
}

/// What a verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Because {
    /// It came last to collectives.
    CameLast,
    /// It is the busiest stage of a pipeline.
    BusiestStage,
    /// Something that this version does not know.
    #[serde(other)]
    Other,
}

/// Why nobody is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Unnamed {
    /// Ranks were compared, and nobody stands out.
    NobodyStandsOut,
    /// No collective of more than one rank could be judged.
    NothingToJudge,
    /// Too few rounds to tell a rule from an accident.
    TooFewRounds,
    /// One rank cost most, but not from round to round.
    Irregular,
    /// The clocks leave more open than anybody leads.
    WithinClocks,
    /// The traces contradict each other, so ranks were not compared.
    NotComparable,
    /// A reason that this version does not know.
    #[serde(other)]
    Other,
}
