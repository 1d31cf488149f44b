//! What is said when somebody is woken: what is wrong, who it is, what was measured and what it was held against.

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum AlarmKind {
    /// A rank comes late by its own work.
    Straggler,
    /// Steps of the whole job take longer than they did.
    SlowJob,
    /// Nothing moves.
    Hang,
}

impl AlarmKind {
    /// Its name in files and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Straggler => "straggler",
            Self::SlowJob => "slow-job",
            Self::Hang => "hang",
        }
    }
}

/// What saw it first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detector {
    /// The sum of what lateness is beyond its usual scatter.
    Cusum,
    /// A change point in step times.
    ChangePoint,
    /// Medians of blocks of steps.
    BlockMedian,
    /// How long ago anything moved.
    ProgressAge,
}

impl Detector {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Cusum => "cusum",
            Self::ChangePoint => "change-point",
            Self::BlockMedian => "block-median",
            Self::ProgressAge => "progress-age",
        }
    }
}

/// Why it is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confidence {
    /// Two detectors that look at it differently agree.
    TwoDetectors,
    /// One saw it twice in succession.
    Persistent,
}

impl Confidence {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::TwoDetectors => "two-detectors",
            Self::Persistent => "persistent",
        }
    }
}

/// One alarm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alarm {
    /// When it was raised, on the watch's clock.
    pub time_ns: i64,
    /// What is wrong.
    pub kind: AlarmKind,
    /// Whose it is; none where it is of the whole job.
    pub rank: Option<u32>,
    /// What saw it.
    pub detector: Detector,
    /// What was measured: lateness, the length of a step, or the age of the last progress.
    pub value_ns: i64,
    /// What it was held against.
    pub threshold_ns: i64,
    /// How far the clocks under `value_ns` may be off at most.
    pub clock_error_ns: i64,
    /// Why it is believed.
    pub confidence: Confidence,
    /// When it was over; none while it is not.
    pub cleared_ns: Option<i64>,
    /// The last step that had ended by then, where steps are known.
    pub step: Option<i64>,
}
