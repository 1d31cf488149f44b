//! What de-duplication saves.

use super::outline::Outline;
use crate::{Assignment, Batch, Error, SplitBatch};

/// Key tokens of a batch, counted two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ContextTokens {
    /// As tasks use them: what is sent where every task has keys of its own.
    pub per_task: u64,
    /// As they are sent: a token once per rank that needs it.
    pub per_rank: u64,
}

impl ContextTokens {
    /// Counts the keys of a plan, those that stay on their rank included.
    ///
    /// # Errors
    /// [`Error::Overflow`].
    pub fn new<'a>(plan: impl Into<Assignment<'a>>) -> Result<Self, Error> {
        let plan = plan.into();
        match plan.split() {
            Some(split) => Self::split(split),
            None => Self::whole(plan.layout()),
        }
    }

    fn split(batch: &SplitBatch) -> Result<Self, Error> {
        let per_task = batch.tasks().iter().map(|task| task.keys.len() as u64).try_fold(0_u64, u64::checked_add);
        let per_task = per_task.ok_or(Error::Overflow { what: "the key tokens of all tasks" })?;
        Ok(Self { per_task, per_rank: super::split::context_tokens(batch)? })
    }

    fn whole(batch: &Batch) -> Result<Self, Error> {
        let mut outline = Outline::new(batch.world_size());
        let mut tokens = Self { per_task: 0, per_rank: 0 };
        for document in batch.documents() {
            outline.draw(document);
            let add =
                |sum: u64, more: u64| sum.checked_add(more).ok_or(Error::Overflow { what: "the key tokens of all tasks" });
            tokens.per_task = outline.places.iter().map(|place| place.start + place.tokens).try_fold(tokens.per_task, add)?;
            tokens.per_rank = outline.reach.iter().copied().try_fold(tokens.per_rank, add)?;
        }
        Ok(tokens)
    }

    /// How many times as much would be sent without de-duplication; 1 where nothing is sent.
    #[must_use]
    pub fn ratio(self) -> f64 {
        match self.per_rank {
            0 => 1.0,
            sent => self.per_task as f64 / sent as f64,
        }
    }
}
