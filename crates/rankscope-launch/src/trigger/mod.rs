//! Profiling some steps of a job that runs, on all its ranks, from outside.
//!
//! The ranks are asked through files in the run directory, which they all see: each says which step it could profile first, a step that
//! none of them has reached is agreed on, and each says whether that came in time. Nobody waits in the job, so a rank that is far ahead
//! may have passed the step when it hears of it; then a later one is agreed on, twice as far ahead, and what was recorded for the earlier
//! one is an older trace of its rank. A rank that is behind reaches the step later. One that says nothing is left out after a while,
//! and named.

mod answer;
mod choice;
mod error;
mod exchange;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::profile::Detail;
use answer::{Answer, State};
pub use error::TriggerError;
use exchange::{Agreed, Exchange};

/// What to profile of which run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TriggerRequest {
    /// The run directory.
    pub run: PathBuf,
    /// How many steps.
    pub steps: u32,
    /// What to record of them beside what a profiler records anyway.
    pub details: BTreeSet<Detail>,
    /// Who asks, as the run's manifest has it.
    pub asked_by: String,
    /// How long ranks may take to answer; those that have not by then are left out.
    pub answer_within: Duration,
}

impl TriggerRequest {
    /// `steps` of the run at `run`.
    pub fn new(run: impl Into<PathBuf>, steps: u32) -> Self {
        let (run, details, asked_by) = (run.into(), BTreeSet::new(), "trigger".to_owned());
        Self { run, steps, details, asked_by, answer_within: Duration::from_secs(120) }
    }
}

/// How far a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TriggerProgress {
    /// Ranks are asked for the first step that they could profile.
    Asked,
    /// These steps are agreed on.
    Agreed {
        /// The first.
        first_step: u64,
        /// How many ranks were asked to profile them.
        ranks: usize,
    },
    /// A rank had passed them when it heard of them, so that later ones are agreed on.
    TooLate {
        /// The rank.
        rank: u32,
    },
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Triggered {
    /// The first step.
    pub first_step: u64,
    /// How many.
    pub steps: u32,
    /// Ranks that left a trace of them.
    pub profiled: Vec<u32>,
    /// Ranks that answered and did not profile, which run.json says why of.
    pub not_profiled: Vec<u32>,
    /// Ranks that never answered, where their number is known.
    pub silent: Vec<u32>,
}

/// Asks for what `request` says and waits until it is done, or `stop` is set. `said` hears how far it is.
///
/// # Errors
/// [`TriggerError`]: no such run, nobody in it who could answer or could agree, and what the file system refuses.
pub fn trigger(
    request: &TriggerRequest,
    stop: &AtomicBool,
    said: &mut dyn FnMut(TriggerProgress),
) -> Result<Triggered, TriggerError> {
    let exchange = Exchange::begin(request)?;
    said(TriggerProgress::Asked);
    let done = Asking { request, stop, exchange: &exchange }.agree_and_wait(said);
    exchange.end();
    done
}

struct Asking<'a> {
    request: &'a TriggerRequest,
    stop: &'a AtomicBool,
    exchange: &'a Exchange,
}

/// Times that a step is agreed on: after the third the ranks are further apart than any choice would help.
const ROUNDS: u32 = 3;
const PAUSE: Duration = Duration::from_millis(50);

impl Asking<'_> {
    fn agree_and_wait(&self, said: &mut dyn FnMut(TriggerProgress)) -> Result<Triggered, TriggerError> {
        let mut answers = self.answers()?;
        let mut late = 0;
        for round in 0..ROUNDS {
            let first_step = choice::first_step(&answers, round);
            let agreed = Agreed::new(self.request, first_step);
            self.exchange.agree(round, &agreed)?;
            said(TriggerProgress::Agreed { first_step, ranks: answers.len() });
            answers = self.wait_for(&answers, |answer| answer.has_heard(round))?;
            if let Some(rank) = answers.iter().find(|answer| answer.round == Some(round) && answer.state == State::Late) {
                late = rank.rank;
                said(TriggerProgress::TooLate { rank: late });
                continue;
            }
            answers = self.wait_for(&answers, |answer| answer.is_done(round))?;
            return Ok(self.triggered(first_step, round, &answers));
        }
        Err(TriggerError::AlwaysLate { rank: late })
    }

    /// The answers of all ranks, or of those that answered in time.
    fn answers(&self) -> Result<Vec<Answer>, TriggerError> {
        let begun = Instant::now();
        loop {
            let answers = self.exchange.answers()?;
            let world_size = answers.iter().filter_map(|answer| answer.world_size).max();
            let all = world_size.is_some_and(|size| answers.len() as u64 >= u64::from(size));
            if all || begun.elapsed() >= self.request.answer_within {
                return if answers.is_empty() {
                    Err(TriggerError::NoAnswer { after: self.request.answer_within })
                } else {
                    Ok(answers)
                };
            }
            self.pause()?;
        }
    }

    /// The answers of the same ranks, once each of them is `ready`. It takes as long as the job takes: who waits can be stopped, and a
    /// job that is over takes its folder away.
    fn wait_for(&self, asked: &[Answer], ready: impl Fn(&Answer) -> bool) -> Result<Vec<Answer>, TriggerError> {
        loop {
            let mut answers = self.exchange.answers()?;
            answers.retain(|answer| asked.iter().any(|other| other.rank == answer.rank));
            if answers.len() == asked.len() && answers.iter().all(&ready) {
                return Ok(answers);
            }
            self.pause()?;
        }
    }

    fn pause(&self) -> Result<(), TriggerError> {
        if self.stop.load(Ordering::Relaxed) {
            return Err(TriggerError::Stopped);
        }
        std::thread::sleep(PAUSE);
        Ok(())
    }

    fn triggered(&self, first_step: u64, round: u32, answers: &[Answer]) -> Triggered {
        let (kept, not): (Vec<&Answer>, Vec<&Answer>) = answers.iter().partition(|answer| answer.has_kept(round));
        let ranks = |answers: Vec<&Answer>| answers.into_iter().map(|answer| answer.rank).collect();
        let world_size = answers.iter().filter_map(|answer| answer.world_size).max().unwrap_or(0);
        let answered = |rank: &u32| answers.iter().any(|answer| answer.rank == *rank);
        Triggered {
            first_step,
            steps: self.request.steps,
            profiled: ranks(kept),
            not_profiled: ranks(not),
            silent: (0..world_size).filter(|rank| !answered(rank)).collect(),
        }
    }
}

#[cfg(test)]
mod tests;
