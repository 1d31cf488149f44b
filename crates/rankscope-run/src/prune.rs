//! Carrying out a plan of what to prune, or looking at what it would leave.

use std::path::{Path, PathBuf};

use crate::{Error, Left, RetentionPlan, Runs, remove_leftover, remove_run, what_stays};

/// What does not go although its run does.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Pruned {
    /// What is not part of the run, with its path.
    pub stays: Vec<(PathBuf, Left)>,
    /// What could not be removed, and why.
    pub failed: Vec<Error>,
}

impl Pruned {
    /// Removes the runs in `parent` that `plan` says, and ends removals that were interrupted.
    pub fn execute(parent: &Path, plan: &RetentionPlan, found: &Runs) -> Self {
        let mut pruned = Self::default();
        found.leftovers.iter().for_each(|path| pruned.note(path, remove_leftover(path)));
        plan.removals().for_each(|run| pruned.note(&parent.join(&run.name), remove_run(parent, run)));
        pruned
    }

    /// What [`Self::execute`] would leave. Nothing is touched.
    pub fn look(parent: &Path, plan: &RetentionPlan) -> Self {
        let mut pruned = Self::default();
        plan.removals().for_each(|run| pruned.note(&parent.join(&run.name), what_stays(parent, &run.name)));
        pruned
    }

    fn note(&mut self, run: &Path, result: Result<Vec<Left>, Error>) {
        match result {
            Ok(stays) => self.stays.extend(stays.into_iter().map(|left| (run.join(&left.path), left))),
            Err(error) => self.failed.push(error),
        }
    }
}
