//! [`what_if`]: what a step of a job would take if something were different, as a document.
//!
//! The graph is run again by `rankscope-execution`; here its answer gets the words around it: which job it is of, what the figures rest
//! on, and why there is no answer where there is none.

use rankscope_document::{RankedChange, WhatIfDocument};
use rankscope_execution::replay::{Change, Changes, Replay, Stalls, TargetError};
use rankscope_time::Rank;

use crate::Job;
use crate::replayed::with_replay;
use crate::words::{of_ranks, percent, time};

/// Why nothing can be said of what would be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum WhatIfError {
    /// A change is about what is not there.
    #[error("--set: {0}")]
    Target(#[from] TargetError),
    /// The parts were made without graphs.
    #[error("the parts hold no execution graphs, which what-if runs again. Map the traces again without --no-answers")]
    PartsWithoutAnswers,
    /// Some ranks have no graph.
    #[error(
        "there is nothing to run again of {}: the trace shows neither kernels with their launches nor work of the host. Record \
         with both CPU and GPU activities, and read the traces without --gpu-only",
        of_ranks(ranks)
    )]
    NoExecution {
        /// The ranks.
        ranks: Vec<Rank>,
    },
    /// The traces are not those of one job.
    #[error("the traces do not seem to be those of one job, so nothing can be said of what ranks would wait for: {why}")]
    NotOneJob {
        /// What speaks against it.
        why: String,
    },
}

/// A replay that is off by more is not to be relied upon.
const ERROR_MOST: f64 = 0.02;

/// Stalls that take a larger part of the steps are told.
const STALLS_MOST: f64 = 0.02;

/// What a step of `job`, called `title`, takes with all of `changes`, and which single change saves most. Without changes those are
/// tried that are worth trying on any job.
///
/// # Errors
/// [`WhatIfError`] where the job has no graph, or a change is about what it does not have.
pub fn what_if(job: &Job, title: &str, changes: &Changes) -> Result<WhatIfDocument, WhatIfError> {
    let graph = job.execution().ok_or_else(|| why_not(job))?;
    with_replay(job, &graph, |replay| document(job, title, changes, replay))
}

fn document(job: &Job, title: &str, changes: &Changes, replay: &Replay<'_>) -> Result<WhatIfDocument, WhatIfError> {
    let (base_step_ns, replayed_step_ns) = (replay.observed_step_ns(), replay.modelled().step_ns);
    let mut tried = tried(replay, changes)?;
    let together = tried.together_ns.unwrap_or(replayed_step_ns);
    tried.rows.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    let row = |(change, changed_step_ns): (String, i64)| RankedChange {
        change,
        changed_step_ns,
        saved_ns: replayed_step_ns.saturating_sub(changed_step_ns),
    };
    let replay_error = if base_step_ns > 0 { replayed_step_ns as f64 / base_step_ns as f64 - 1.0 } else { 0.0 };
    Ok(WhatIfDocument {
        schema: 1,
        title: title.to_owned(),
        steps: replay.steps(),
        base_step_ns,
        replayed_step_ns,
        replay_error,
        changed_step_ns: together,
        saved_ns: replayed_step_ns.saturating_sub(together),
        changes: changes.given().to_vec(),
        ranking: tried.rows.into_iter().map(row).collect(),
        notes: notes_on(job, replay, replay_error),
    })
}

/// What was tried, and what a step takes then.
#[derive(Default)]
struct Tried {
    /// All changes together; the best combination of a sweep.
    together_ns: Option<i64>,
    rows: Vec<(String, i64)>,
}

fn tried(replay: &Replay<'_>, changes: &Changes) -> Result<Tried, TargetError> {
    let run = |changes: &[Change]| replay.run_modelled(changes).map(|done| done.step_ns);
    let text = |changes: &[Change]| changes.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ");
    let row = |changes: &[Change]| Ok((text(changes), run(changes)?));
    if changes.is_empty() {
        let candidates = replay.candidates();
        let rows = candidates.iter().map(|change| row(std::slice::from_ref(change)));
        return Ok(Tried { together_ns: None, rows: rows.collect::<Result<_, TargetError>>()? });
    }
    let combinations = changes.combinations();
    let together: Vec<(String, i64)> = combinations.iter().map(|one| row(one)).collect::<Result<_, TargetError>>()?;
    let together_ns = together.iter().map(|(_, ns)| *ns).min();
    let rows = match (changes.is_sweep(), changes.each().count()) {
        (true, _) => together,
        (false, 1) => Vec::new(),
        (false, _) => changes.each().map(|change| row(std::slice::from_ref(change))).collect::<Result<_, TargetError>>()?,
    };
    Ok(Tried { together_ns, rows })
}

/// Why there is no graph of `job`.
fn why_not(job: &Job) -> WhatIfError {
    if let Some(doubt) = job.doubts.first() {
        return WhatIfError::NotOneJob { why: doubt.text() };
    }
    let ranks = job.ranks.iter().filter(|rank| rank.execution.is_none()).map(|rank| rank.rank).collect();
    if job.rules.answers { WhatIfError::NoExecution { ranks } } else { WhatIfError::PartsWithoutAnswers }
}

fn notes_on(job: &Job, replay: &Replay<'_>, error: f64) -> Vec<String> {
    let mut notes = Vec::new();
    if error.abs() > ERROR_MOST {
        notes.push(format!(
            "the replay of the unchanged job is off by {}, more than {}: the graph does not explain what the recording shows, and these figures \
             are not to be relied upon",
            percent(error.abs()),
            percent(ERROR_MOST)
        ));
    }
    notes.extend(note_on(replay.stalls(), replay));
    if replay.steps() == 0 {
        notes.push("the traces mark no steps, so times are those of the whole recording".to_owned());
    }
    if job.clocks_contradict() {
        notes.push(
            "the ranks' timestamps contradict causality with any clock offsets: for how long ranks waited for others is not known, and what a \
             change saves is not to be relied upon"
                .to_owned(),
        );
    }
    let unlaunched = job.without_launches();
    if !unlaunched.is_empty() {
        notes.push(format!(
            "no call that launched device work is recorded of {}: its streams are taken to wait for collectives alone, so that what one \
             saves may not reach the step",
            of_ranks(&unlaunched)
        ));
    }
    let missing = &job.completeness.missing;
    if !missing.is_empty() {
        notes.push(format!(
            "there is no trace of {}: what the other ranks waited for there is taken as it was",
            of_ranks(missing)
        ));
    }
    let cycles = replay.unchanged().cycles;
    if cycles > 0 {
        notes.push(format!(
            "in {cycles} collectives ranks wait for each other in a circle, because clocks or the order of collectives contradict \
             each other. The replay let one rank go on in each of them"
        ));
    }
    let lacking = job.lacking_ranks();
    if lacking > 0 {
        notes.push(format!(
            "{lacking} of {} collectives could not be matched with all of their ranks: what the others waited for there is taken as it was",
            job.matched.instances.len()
        ));
    }
    let (unmatched, all) = replay.unmatched();
    if unmatched > 0 && job.ranks.len() > 1 {
        notes.push(format!(
            "{unmatched} of {all} collectives could not be matched with those of other ranks. Nobody waits for anybody in them"
        ));
    }
    notes
}

/// That `stalls` stay, if they matter.
fn note_on(stalls: Stalls, replay: &Replay<'_>) -> Option<String> {
    let recorded_ns = replay.observed_step_ns().saturating_mul(replay.steps().max(1) as i64);
    (stalls.ns as f64 > STALLS_MOST * recorded_ns as f64).then(|| {
        format!(
            "delays of one rank that are far longer than others of their sort add up to {} ({} of them). Nothing that is recorded explains them: \
             they stay as they were, unless a change is about them (launch=0)",
            time(stalls.ns),
            stalls.count
        )
    })
}
