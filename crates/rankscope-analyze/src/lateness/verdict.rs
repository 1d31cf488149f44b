//! The answer: who is late and how sure that is, or why nobody is named.

use super::pipeline::{Stages, busiest};

/// Who is late, or why that cannot be said.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Verdict {
    /// The ranks that are late, most delay first.
    pub late: Vec<Late>,
    /// Matched collectives that the verdict rests on.
    pub judged: u64,
    /// Collectives and messages that it does not: unmatched ones, and those in which not everybody waits for the last.
    pub not_judged: u64,
    /// Rounds that were compared with each other.
    pub rounds: usize,
    /// Why nobody is named, where nobody is.
    pub unnamed: Option<Unnamed>,
}

/// A rank that is late.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Late {
    /// Index of the rank.
    pub rank: usize,
    /// Wall time that the others would have had to wait less, in nanoseconds.
    pub delay_wall_ns: i64,
    /// The least it is, given what the clocks leave open and how it varies from round to round (95 %).
    pub lo_ns: i64,
    /// The most, likewise.
    pub hi_ns: i64,
    /// The delay as a share of the time that was recorded.
    pub share: f64,
    /// How sure that is.
    pub confidence: Confidence,
    /// What it rests on.
    pub because: Because,
}

/// How sure a verdict is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// The clocks of the ranks are known well enough only if they are where they are estimated to be.
    Low,
    /// Chance makes such a picture less than once in a hundred jobs.
    Medium,
    /// Less than once in a thousand.
    High,
}

/// What a verdict rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Because {
    /// It came last to collectives.
    CameLast {
        /// Times it did.
        last: u64,
        /// Of how many judged.
        of: u64,
    },
    /// It computes longer than any other stage of a pipeline, by this much more than the next, in nanoseconds.
    BusiestStage {
        /// What it computes.
        busy_ns: i64,
        /// What the next busiest rank does.
        next_ns: i64,
    },
}

/// Why nobody is named.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Unnamed {
    /// There was something to judge, and nobody stands out.
    NobodyStandsOut,
    /// Nothing could be judged: no collective of more than one rank was matched.
    NothingToJudge,
    /// There are too few rounds to tell a rule from an accident.
    TooFewRounds {
        /// How many there are.
        rounds: usize,
    },
    /// One rank cost most, but not from round to round.
    Irregular {
        /// Index of the rank.
        rank: usize,
        /// What it cost, in nanoseconds.
        delay_wall_ns: i64,
        /// Rounds in which it cost most.
        led: usize,
    },
    /// One rank would be late, were the clocks not open by more than it leads.
    WithinClocks {
        /// Index of the rank.
        rank: usize,
        /// What it would have cost, in nanoseconds.
        delay_wall_ns: i64,
        /// What the clocks leave open between two ranks, in nanoseconds; none where nothing bounds them.
        open_ns: Option<i64>,
    },
}

impl Verdict {
    /// The rank that is most late, as an index.
    pub fn latest(&self) -> Option<usize> {
        self.late.first().map(|late| late.rank)
    }

    /// Adds the busiest stage of a pipeline, where there is one; it goes before, as what others do follows from it.
    pub(crate) fn with_stages(mut self, stages: &Stages<'_>) -> Self {
        if let Some(busiest) = busiest(stages) {
            self.late.retain(|late| late.rank != busiest.rank);
            self.late.insert(0, busiest);
            self.unnamed = None;
        }
        self
    }
}
