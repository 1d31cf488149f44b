//! What a rank says to a request, as it stands in its file.

use serde::Deserialize;

/// The newest word of a rank.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub(super) struct Answer {
    pub(super) rank: u32,
    pub(super) state: State,
    /// The first step that it can still profile.
    pub(super) free: u64,
    /// How long its steps take.
    #[serde(default)]
    pub(super) step_ns: u64,
    #[serde(default)]
    pub(super) world_size: Option<u32>,
    /// The agreement that it speaks of.
    #[serde(default)]
    pub(super) round: Option<u32>,
    /// What became of the steps.
    #[serde(default)]
    outcome: Option<String>,
}

/// What it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum State {
    /// It has heard of the request.
    Here,
    /// It will profile what is agreed on.
    Accepted,
    /// What is agreed on came too late for it.
    Late,
    /// It is done with that.
    Done,
}

impl Answer {
    /// Whether it knows the agreement of `round`.
    pub(super) fn has_heard(&self, round: u32) -> bool {
        self.round.is_some_and(|heard| heard >= round)
    }

    pub(super) fn is_done(&self, round: u32) -> bool {
        self.has_heard(round) && self.state == State::Done
    }

    pub(super) fn has_kept(&self, round: u32) -> bool {
        self.is_done(round) && matches!(self.outcome.as_deref(), Some("kept" | "cut-short"))
    }
}
