//! A sweep over configurations: one job after the other, each a run with a directory of its own.
//!
//! What has happened is written into `sweep.json` before a run begins and after it ended, so whatever interrupts the sweep, going on
//! repeats at most the run that was at work. A run counts if its job ended with 0 and nobody asked it to end. Others stay where they
//! are until they are run again, and are then set aside.
//!
//! [`planned`] says what would be done, [`sweep`] does it.

mod error;
mod last;
mod listener;
mod planned;
mod strays;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rankscope_config::ClockSettings;
use rankscope_probe::launch::command::JobCommand;
use rankscope_run::{SweepEntry, SweepFolder, now_unix_ns};
use rankscope_sweep::{Configuration, Run, RunState, Sweep, WarmUp};

use crate::directory::Place;
use crate::run::{self, Ended, Request};
use crate::signals::Signals;
pub use error::SweepError;
pub use listener::{Begins, Plan, SweepNotice, SweepObserver};
use listener::{Listener, Told};
pub use planned::{Intent, planned};

/// A sweep that is to be carried out.
#[derive(Clone, Debug)]
pub struct SweepRequest {
    /// Its directory.
    pub folder: PathBuf,
    /// Which sweep.
    pub intent: Intent,
    /// Begin with a run that only warms the machine up.
    pub warm_up: bool,
    /// End with the first run that fails.
    pub stop_on_failure: bool,
    /// The settings of the clock agents, for a sweep that measures clocks.
    pub clock: ClockSettings,
    /// Align and report at the end of each run.
    pub report: bool,
    /// How long ranks that were asked to end may take before they are killed.
    pub grace: Duration,
    /// How long aligning and reporting may take.
    pub finish_within: Duration,
    /// Send what jobs print to stderr.
    pub aside: bool,
}

/// A sweep that is over, or was cut short.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Swept {
    /// As it stands now.
    pub plan: Plan,
    /// The signal that ended it early.
    pub stopped_by: Option<i32>,
}

/// Carries out what is left of the sweep that `request` describes.
///
/// # Errors
/// [`SweepError`]: what keeps it from being begun, and what keeps a run from being kept. Jobs that fail are part of what is returned.
pub fn sweep(request: &SweepRequest, observer: &Arc<dyn SweepObserver>) -> Result<Swept, SweepError> {
    if matches!(request.intent, Intent::GoOn) && !SweepFolder::is_sweep(&request.folder) {
        return Err(SweepError::NoSweep { path: request.folder.clone() });
    }
    let folder = SweepFolder::take(&request.folder)?;
    let plan = planned(folder.path(), &request.intent)?;
    let described = planned::described(&plan.sweep)?;
    let signals = run::listen(&run_request(request, &plan.sweep))?;
    folder.write(&plan.sweep)?;
    observer.plan(&plan);
    let mut work = Work { request, folder, sweep: plan.sweep, described, signals, observer };
    work.settle()?;
    let stopped_by = work.all()?;
    Ok(Swept { plan: Plan { sweep: work.sweep, ..plan }, stopped_by })
}

/// What all runs of a sweep share.
fn run_request(request: &SweepRequest, sweep: &Sweep) -> Request {
    Request {
        command: sweep.command.iter().map(OsString::from).collect(),
        ranks: sweep.options.ranks,
        environment: BTreeMap::new(),
        place: Place::Any,
        run_id: None,
        clock: sweep.options.clock.then(|| request.clock.clone()),
        hooks: sweep.options.hooks,
        profile: None,
        on_hang: None,
        ring: None,
        watch: None,
        counters: None,
        report: request.report,
        collect: sweep.options.collect.clone(),
        grace: request.grace,
        map: None,
        finish_within: request.finish_within,
        aside: request.aside,
    }
}

/// A sweep at work.
struct Work<'a> {
    request: &'a SweepRequest,
    folder: SweepFolder,
    sweep: Sweep,
    described: JobCommand,
    signals: Signals,
    observer: &'a Arc<dyn SweepObserver>,
}

/// How a run ended.
struct Over {
    ended: Ended,
    told: Told,
    ended_unix_ns: Option<i64>,
}

impl Work<'_> {
    /// Brings the plan up to date after a sweep that was killed: what ended meanwhile, and what still runs of it.
    fn settle(&mut self) -> Result<(), SweepError> {
        let path = self.folder.path();
        let ended = strays::end(path, self.request.grace, &self.signals);
        if !ended.is_empty() {
            self.observer.sweep_notice(&SweepNotice::EndedStrays { pids: ended });
        }
        for run in self.sweep.runs.iter_mut().filter(|run| run.state == RunState::Running) {
            last::settle(&path.join(&run.path), run);
        }
        self.write()
    }

    /// Makes all runs that are left. Returns the signal that ended it early.
    fn all(&mut self) -> Result<Option<i32>, SweepError> {
        let left = |(_, run): &(usize, &Run)| run.state != RunState::Succeeded;
        let left: Vec<usize> = self.sweep.runs.iter().enumerate().filter(left).map(|(index, _)| index).collect();
        if let (Some(first), true) = (left.first(), self.request.warm_up)
            && let Some(signal) = self.warm_up(*first)?
        {
            return Ok(Some(signal));
        }
        for index in left {
            if let Some(signal) = self.signals.asked_to_end() {
                return Ok(Some(signal));
            }
            let goes_on = self.one(index)?;
            if let Some(signal) = self.signals.asked_to_end() {
                return Ok(Some(signal));
            }
            if !goes_on {
                break;
            }
        }
        Ok(None)
    }

    /// Makes one run. Returns whether others may follow.
    fn one(&mut self, index: usize) -> Result<bool, SweepError> {
        let Some(configuration) = self.configuration(index) else { return Ok(true) };
        let of = self.sweep.runs.len();
        let Some(run) = self.sweep.runs.get_mut(index) else { return Ok(true) };
        let moved_to = set_aside(self.folder.path(), run)?;
        run.begin_again(moved_to);
        (run.state, run.started_unix_ns) = (RunState::Running, now_unix_ns().ok());
        let (path, entry) = (run.path.clone(), entry(&configuration, run.round));
        self.observer.begins(&Begins { run: Some(run), of, configuration: &configuration });
        self.write()?;
        let over = match self.run(&path, &configuration, entry) {
            Ok(over) => over,
            Err(error) => {
                self.sweep.runs[index].begin_again(None);
                self.sweep.runs[index].earlier.pop();
                self.write()?;
                return Err(error);
            }
        };
        let asked = self.signals.asked_to_end().is_some();
        let kept = self.folder.path().join(&path).is_dir();
        let run = &mut self.sweep.runs[index];
        let goes_on = over.into_run(run, asked, kept) && !(self.request.stop_on_failure && run.state == RunState::Failed);
        self.observer.ended(run);
        self.write()?;
        let strays: Vec<u32> = strays::of(&self.folder.path().join(&path));
        if !strays.is_empty() {
            self.observer.sweep_notice(&SweepNotice::Strays { pids: strays });
        }
        Ok(goes_on)
    }

    /// Runs the configuration of the run at `index` once without counting it. Returns the signal that ended it.
    fn warm_up(&mut self, index: usize) -> Result<Option<i32>, SweepError> {
        let Some(configuration) = self.configuration(index) else { return Ok(None) };
        let mut path = self.sweep.warm_up_path();
        // One that was being begun when the sweep was killed is in no list.
        while self.folder.path().join(&path).exists() {
            self.sweep.warm_ups.push(WarmUp::new(path, configuration.label.clone()));
            path = self.sweep.warm_up_path();
        }
        self.sweep.warm_ups.push(WarmUp::new(path.clone(), configuration.label.clone()));
        self.observer.begins(&Begins { run: None, of: self.sweep.runs.len(), configuration: &configuration });
        self.write()?;
        let over = self.run(&path, &configuration, SweepEntry { warm_up: true, ..entry(&configuration, 0) })?;
        let code = over.ended.outcome.code();
        if let Some(warm_up) = self.sweep.warm_ups.last_mut() {
            warm_up.exit_code = Some(code);
        }
        self.write()?;
        if code != 0 && self.signals.asked_to_end().is_none() {
            self.observer.sweep_notice(&SweepNotice::WarmUpFailed { path, exit_code: code });
        }
        Ok(self.signals.asked_to_end())
    }

    /// The job, in a run directory at `path`.
    fn run(&self, path: &str, configuration: &Configuration, entry: SweepEntry) -> Result<Over, SweepError> {
        let folder = self.folder.path();
        let name = folder.file_name().map_or_else(|| "sweep".to_owned(), |name| name.to_string_lossy().into_owned());
        let request = Request {
            environment: configuration.set.clone(),
            place: Place::Path(folder.join(path)),
            run_id: Some(format!("{name}/{path}")),
            ..run_request(self.request, &self.sweep)
        };
        let listener = Arc::new(Listener::new(Arc::clone(self.observer)));
        let observer: Arc<dyn crate::Observer> = listener.clone();
        let mut directory = run::begin(&request, &self.described, &*observer)?;
        if let Some(manifest) = &mut directory.manifest {
            manifest.update(|manifest| manifest.sweep = Some(entry))?;
        }
        let ended = run::run_in(Some(directory), &request, self.described.clone(), &self.signals, &observer);
        let ended_unix_ns = last::ended_unix_ns(&folder.join(path)).or_else(|| now_unix_ns().ok());
        Ok(Over { ended, told: listener.told(), ended_unix_ns })
    }

    fn configuration(&self, index: usize) -> Option<Configuration> {
        self.sweep.runs.get(index).and_then(|run| self.sweep.configuration(&run.configuration)).cloned()
    }

    fn write(&self) -> Result<(), SweepError> {
        Ok(self.folder.write(&self.sweep)?)
    }
}

impl Over {
    /// Notes in `run` how it ended. `asked` says that somebody asked this process to end, `kept` that there is a run directory.
    /// Returns whether a command that was started can be started again.
    fn into_run(self, run: &mut Run, asked: bool, kept: bool) -> bool {
        let Self { ended: Ended { outcome, .. }, told, ended_unix_ns } = self;
        let well = outcome.exit.is_success() && outcome.asked_by_signal.is_none();
        run.exit_code = Some(outcome.code());
        run.ended_unix_ns = ended_unix_ns;
        run.traces = told.traces;
        run.problem = match () {
            () if !outcome.started => Some("the command does not start".to_owned()),
            () if well && !kept => Some("its directory was removed while the job ran".to_owned()),
            () if well && !told.complete && !asked => Some("completing the run took too long (--finish-within)".to_owned()),
            () => told.failure.filter(|_| !asked),
        };
        run.state = match well && kept && told.complete {
            true => RunState::Succeeded,
            false if asked => RunState::Interrupted,
            false => RunState::Failed,
        };
        outcome.started
    }
}

fn entry(configuration: &Configuration, round: u32) -> SweepEntry {
    SweepEntry { configuration: configuration.label.clone(), set: configuration.set.clone(), round, warm_up: false }
}

/// Moves what an earlier try of `run` left out of the way. Returns where it lies now.
fn set_aside(folder: &Path, run: &Run) -> Result<Option<String>, SweepError> {
    let there = folder.join(&run.path);
    if there.symlink_metadata().is_err() {
        return Ok(None);
    }
    let free = |path: &String| folder.join(path).symlink_metadata().is_err();
    let Some(path) = (1..).map(|number| Sweep::set_aside_path(run, number)).find(free) else { return Ok(None) };
    let refused = |reason| SweepError::Io { path: there.clone(), reason };
    let place = folder.join(&path);
    place.parent().map_or(Ok(()), fs::create_dir_all).map_err(refused)?;
    fs::rename(&there, &place).map_err(refused)?;
    Ok(Some(path))
}
