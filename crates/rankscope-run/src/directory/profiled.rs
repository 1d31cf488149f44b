//! Steps of an attempt that were to be profiled from outside, and what became of them.
//!
//! Each rank speaks for itself: what it says is kept as it is, and ranks that say the same are listed together. Whether a window is of
//! use is not judged here.

use serde::{Deserialize, Serialize};

/// Steps that some ranks were to profile.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProfiledWindow {
    /// What asked for it, in the words of `rankscope run --profile`, or of whoever asked while the job ran.
    pub request: String,
    /// The number of the first step, as torch.profiler counts them, from 0.
    pub first_step: u64,
    /// How many steps.
    pub steps: u64,
    /// What became of it.
    #[serde(default)]
    pub outcome: WindowOutcome,
    /// The last step that the ranks had reached when their programs ended, where that was before the window was over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reached: Option<u64>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The ranks that say so.
    #[serde(default)]
    pub ranks: Vec<u32>,
}

impl ProfiledWindow {
    /// Whether both are one story, of whatever ranks.
    pub fn is_like(&self, other: &Self) -> bool {
        let story = |it: &Self| (it.first_step, it.steps, it.outcome);
        story(self) == story(other) && self.request == other.request && self.message == other.message
    }
}

/// What became of steps that were to be profiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum WindowOutcome {
    /// There is a trace of them.
    Kept,
    /// There is a trace of the first of them: the program ended before the others.
    CutShort,
    /// The script's own profiler was at work.
    LeftAlone,
    /// The script's own profiler began meanwhile; there is no trace.
    GaveWay,
    /// The rank had passed them when it heard of them.
    Late,
    /// The program ended before them.
    NotReached,
    /// The profiler failed.
    Failed,
    /// Something that this version has no word for.
    #[default]
    #[serde(other)]
    Unknown,
}
