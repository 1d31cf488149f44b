//! A run from its first to its last step: directory, agents, job, and what is left to complete.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rankscope_config::ClockSettings;
use rankscope_probe::launch::command::{Agents, JobCommand, Launcher, World, recognise};
use rankscope_run::{SideFile, read_side_text};

use crate::agents::{self, AgentProcess};
use crate::collect::Collection;
use crate::counters::{Counters, Counting};
use crate::directory::{Directory, Place, Variables};
use crate::error::Error;
use crate::finish::{Finish, finish};
use crate::given_up::GivenUp;
use crate::incident::{Ask, Incidents, Nodes};
use crate::job::Job;
use crate::notice::{Notice, Observer};
use crate::on_demand::{OnDemand, OnSignal};
use crate::outcome::{Outcome, not_started};
use crate::pages::Pages;
use crate::profile::ProfilePlan;
use crate::signals::Signals;
use crate::standstill::{Watch, Watched};
use crate::watcher::{Watcher, Watching};

/// What is to run, and what is to be kept of it.
#[derive(Clone, Debug)]
pub struct Request {
    /// The command, at least one word. Paths in its arguments may begin with `{run}` and `{raw}`.
    pub command: Vec<OsString>,
    /// Start the command this many times, as ranks of this host; none runs it as it is.
    pub ranks: Option<u32>,
    /// Variables that the job gets beside those that this process has.
    pub environment: BTreeMap<String, String>,
    /// Where the run directory is to lie.
    pub place: Place,
    /// The name that all processes of the run share; none takes it from the environment, or else from the directory.
    pub run_id: Option<String>,
    /// The settings of the clock agents; none measures no clocks.
    pub clock: Option<ClockSettings>,
    /// Hook into Python programs and keep the profiles that they export.
    pub hooks: bool,
    /// Steps to profile through these hooks.
    pub profile: Option<ProfilePlan>,
    /// How long nothing may be printed or recorded before it is looked for why; none does not look.
    pub on_hang: Option<Duration>,
    /// Have ranks that record themselves keep only so much of it, and keep that of all of them whenever something happens.
    pub ring: Option<Duration>,
    /// Watch the job by the live pages of its ranks and tell of alarms.
    pub watch: Option<Watching>,
    /// Sample counters of the nodes beside the job.
    pub counters: Option<Counting>,
    /// Align and report at the end of the job.
    pub report: bool,
    /// Map the node's traces at the end of the job into a folder below this one.
    pub map: Option<PathBuf>,
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

impl Request {
    /// What the user has for the job's environment.
    pub(crate) fn variables(&self) -> Variables {
        self.environment.iter().map(|(name, value)| (name.clone(), OsString::from(value))).collect()
    }
}

/// Runs the job that `request` describes and completes its run directory. Returns when all of that is over or was cut short.
///
/// # Errors
/// Only what keeps the job from being started as asked: ranks of a command that starts its own, and signals that cannot be
/// received. A command that does not start is an [`Outcome`], as a shell tells it.
pub fn run(request: Request, observer: &Arc<dyn Observer>) -> Result<Ended, Error> {
    let described = described(&request.command, request.ranks)?;
    // Before anything is started, so that the end of no process is missed.
    let signals = listen(&request)?;
    let directory = match begin(&request, &described, &**observer) {
        Ok(directory) => Some(directory),
        Err(error) => {
            observer.notice(&Notice::NothingKept(error));
            None
        }
    };
    Ok(run_in(directory, &request, described, &signals, observer))
}

/// Listens for signals as the job of `request` needs it.
pub(crate) fn listen(request: &Request) -> Result<Signals, Error> {
    Signals::listen(request.ranks.is_some_and(|ranks| ranks > 1))
}

/// Makes the run directory.
pub(crate) fn begin(request: &Request, described: &JobCommand, observer: &dyn Observer) -> Result<Directory, Error> {
    Directory::begin(request, &words(&request.command), described, observer)
}

/// The job, with what is kept of it in `directory`.
pub(crate) fn run_in(
    directory: Option<Directory>,
    request: &Request,
    described: JobCommand,
    signals: &Signals,
    observer: &Arc<dyn Observer>,
) -> Ended {
    let collection = Collection::before(&request.collect, &**observer);
    let agent = match (&directory, &request.clock) {
        (Some(directory), Some(settings)) => AgentProcess::start(&described.agents, directory, settings, Arc::clone(observer)),
        _ => None,
    };
    let command = directory.as_ref().map_or_else(|| request.command.clone(), |directory| directory.filled_in(&request.command));
    let environment =
        directory.as_ref().map_or_else(|| request.variables(), |directory| directory.environment(request, &**observer));
    let mut on_demand = OnDemand::of(request.profile.as_ref(), directory.as_ref(), observer);
    let nodes = directory.as_ref().and_then(|directory| Nodes::of(&described.agents, directory, request.clock.as_ref()));
    let incidents = Incidents::start(request.ring, directory.as_ref(), nodes.clone(), observer);
    let ask = incidents.as_ref().map_or_else(Ask::nobody, Incidents::ask);
    let watcher = match (&directory, &request.watch) {
        (Some(directory), Some(watching)) => Watcher::start(watching, directory, observer, ask.clone()),
        _ => None,
    };
    let counters = directory.as_ref().zip(request.counters);
    let counters = counters.and_then(|(directory, counting)| Counters::start(counting, &described.agents, directory, observer));
    let ended = Job::start(&command, request.ranks, environment, request.aside).map(|job| {
        let watch = watch(request.on_hang, &job, directory.as_ref(), observer, ask.clone());
        let given_up = directory.as_ref().filter(|directory| directory.leads());
        let given_up = given_up.and_then(|_| GivenUp::start(job.pids(), observer, ask.clone()));
        let pages = Pages::start(job.pids(), directory.as_ref(), nodes, observer);
        let mut on_signal = OnSignal { profile: on_demand.as_mut(), keep: ask.clone() };
        let outcome = job.run(signals, agent.as_ref(), &mut on_signal, request.grace);
        watch.into_iter().for_each(Watch::end);
        given_up.into_iter().for_each(GivenUp::end);
        drop(pages);
        outcome
    });
    on_demand.into_iter().for_each(OnDemand::end);
    watcher.into_iter().for_each(Watcher::end);
    counters.into_iter().for_each(Counters::end);
    drop(ask);
    incidents.into_iter().for_each(|incidents| incidents.end(signals));
    if let Some(agent) = agent {
        agent.stop();
    }
    let (outcome, directory) = match ended {
        Ok(outcome) => (outcome, directory),
        Err(error) => {
            let program = words(&request.command).swap_remove(0);
            observer.notice(&Notice::NotStarted { program, reason: error.to_string() });
            (not_started(&error), directory.and_then(|directory| directory.without_a_job(&**observer)))
        }
    };
    let kept = directory.is_some();
    if let Some(directory) = directory {
        let what = Finish {
            collection,
            numbered: request.ranks.is_some(),
            report: request.report,
            map: request.map.clone(),
            profile: request.profile.clone(),
        };
        finish(directory, described, outcome.clone(), what, signals, request.finish_within, observer);
    }
    Ended { outcome, kept }
}

/// Watches whether `job` makes progress, where that is wanted and there is a place for what is found.
fn watch(
    after: Option<Duration>,
    job: &Job,
    directory: Option<&Directory>,
    observer: &Arc<dyn Observer>,
    ask: Ask,
) -> Option<Watch> {
    let run = directory?.path().to_owned();
    Watch::start(Watched { after: after?, run, processes: job.processes(), printed: job.printed(), ask }, observer)
}

fn words(command: &[OsString]) -> Vec<String> {
    command.iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// What is known of the job before it runs. What its variables get wrong costs the clocks and nothing else.
pub(crate) fn described(command: &[OsString], ranks: Option<u32>) -> Result<JobCommand, Error> {
    let words = words(command);
    let world = World {
        variable: &|name| std::env::var(name).ok(),
        file: &|path| read_side_text(path.as_ref(), SideFile::Config).ok(),
        version: &agents::version,
    };
    let described = recognise(&words, &world).unwrap_or_else(|wrong| JobCommand {
        launcher: Launcher::None,
        ranks: None,
        job: None,
        program: 0,
        agents: Agents::Impossible(wrong.to_string()),
    });
    if ranks.is_some() && described.launcher != Launcher::None {
        return Err(Error::StartsItsOwn { program: words.first().cloned().unwrap_or_default() });
    }
    Ok(described)
}
