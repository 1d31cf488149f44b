//! A run from its first to its last step: directory, agents, job, and what is left to complete.

use std::ffi::OsString;
use std::sync::Arc;
use std::time::Duration;

use rankscope_config::ClockSettings;
use rankscope_probe::launch::command::{Agents, JobCommand, Launcher, World, recognise};
use rankscope_run::{SideFile, read_side_text};

use crate::agents::{self, AgentProcess};
use crate::collect::Collection;
use crate::directory::{Directory, Place};
use crate::error::Error;
use crate::finish::{Finish, finish};
use crate::job::Job;
use crate::notice::{Notice, Observer};
use crate::outcome::{Outcome, not_started};
use crate::signals::Signals;

/// What is to run, and what is to be kept of it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The command, at least one word. Paths in its arguments may begin with `{run}` and `{raw}`.
    pub command: Vec<OsString>,
    /// Start the command this many times, as ranks of this host; none runs it as it is.
    pub ranks: Option<u32>,
    /// Where the run directory is to lie.
    pub place: Place,
    /// The settings of the clock agents; none measures no clocks.
    pub clock: Option<ClockSettings>,
    /// Hook into Python programs and keep the profiles that they export.
    pub hooks: bool,
    /// Align and report at the end of the job.
    pub report: bool,
    /// Patterns of files to collect if they are new or changed after the job.
    pub collect: Vec<String>,
    /// How long ranks that were asked to end may take before they are killed.
    pub grace: Duration,
    /// How long aligning and reporting may take.
    pub finish_within: Duration,
    /// Send what the job prints to stderr.
    pub aside: bool,
}

/// A run that is over.
#[derive(Clone, Debug)]
pub struct Ended {
    /// How the job ended.
    pub outcome: Outcome,
    /// Whether there is a run directory, of which [`Observer::over`] has told.
    pub kept: bool,
}

/// Runs the job that `request` describes and completes its run directory. Returns when all of that is over or was cut short.
///
/// # Errors
/// Only what keeps the job from being started as asked: ranks of a command that starts its own, and signals that cannot be
/// received. A command that does not start is an [`Outcome`], as a shell tells it.
pub fn run(request: Request, observer: &Arc<dyn Observer>) -> Result<Ended, Error> {
    let words: Vec<String> = request.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let described = described(&words);
    if request.ranks.is_some() && described.launcher != Launcher::None {
        return Err(Error::StartsItsOwn { program: words[0].clone() });
    }
    // Before anything is started, so that the end of no process is missed.
    let signals = Signals::listen(request.ranks.is_some_and(|ranks| ranks > 1))?;
    let directory = directory(&request, &words, &described, &**observer);
    let collection = Collection::before(&request.collect, &**observer);
    let agent = match (&directory, &request.clock) {
        (Some(directory), Some(settings)) => AgentProcess::start(&described.agents, directory, settings, Arc::clone(observer)),
        _ => None,
    };
    let command = directory.as_ref().map_or_else(|| request.command.clone(), |directory| directory.filled_in(&request.command));
    let environment = directory.as_ref().map(|directory| directory.environment(request.hooks, &**observer)).unwrap_or_default();
    let ended = Job::start(&command, request.ranks, environment, request.aside)
        .map(|job| job.run(&signals, agent.as_ref(), request.grace));
    if let Some(agent) = agent {
        agent.stop();
    }
    let (outcome, directory) = match ended {
        Ok(outcome) => (outcome, directory),
        Err(error) => {
            observer.notice(&Notice::NotStarted { program: words[0].clone(), reason: error.to_string() });
            (not_started(&error), directory.and_then(|directory| directory.without_a_job(&**observer)))
        }
    };
    let kept = directory.is_some();
    if let Some(directory) = directory {
        let what = Finish { collection, numbered: request.ranks.is_some(), report: request.report };
        finish(directory, described, outcome.clone(), what, &signals, request.finish_within, observer);
    }
    Ok(Ended { outcome, kept })
}

/// What is known of the job before it runs. What its variables get wrong costs the clocks and nothing else.
fn described(words: &[String]) -> JobCommand {
    let world = World {
        variable: &|name| std::env::var(name).ok(),
        file: &|path| read_side_text(path.as_ref(), SideFile::Config).ok(),
        version: &agents::version,
    };
    recognise(words, &world).unwrap_or_else(|wrong| JobCommand {
        launcher: Launcher::None,
        ranks: None,
        job: None,
        program: 0,
        agents: Agents::Impossible(wrong.to_string()),
    })
}

fn directory(request: &Request, words: &[String], described: &JobCommand, observer: &dyn Observer) -> Option<Directory> {
    match Directory::begin(request.place.clone(), words, described, request.ranks, observer) {
        Ok(directory) => Some(directory),
        Err(error) => {
            observer.notice(&Notice::NothingKept(error));
            None
        }
    }
}
