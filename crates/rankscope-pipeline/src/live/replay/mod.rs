//! A run that has ended, looked at step by step as a job that runs is: what `rankscope top` shows of it, and the alarms it would have
//! raised.
//!
//! Recordings are read as a report reads them. Each look is at the end of a step that all ranks recorded; alarms need every step before
//! it, so they are followed from the first on and kept, and going back costs nothing.

mod recorded;

use std::path::Path;
use std::time::Duration;

use rankscope_document::{LiveAlarm, LiveDocument, LiveReplay};
use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_job::{Cards, Judging, Rules, TableSet};
use rankscope_live::{Compared, Following};
use rankscope_run::{RunDirectory, State};

use super::alarms;
use super::clocks::Clocks;
use super::document::Beside;
use super::links::links;
use crate::{Error, Keep, Mapping, Progress, Reading, Request, judged};
use recorded::Recorded;

/// The recordings of a run, to be looked at step by step.
pub struct Replay {
    recorded: Recorded,
    beside: Beside,
    following: Following,
    /// By step, as far as they were followed.
    alarms: Vec<Vec<LiveAlarm>>,
}

impl Replay {
    /// Reads the recordings of the run in the directory `run`.
    ///
    /// # Errors
    /// [`Error::NoRecordings`] where ranks left none, [`Error::NoSteps`] where they mark no step in common, and what a report fails with.
    pub fn open(run: &Path, progress: &dyn Progress) -> Result<Self, Error> {
        let directory = RunDirectory::open(run)?;
        let reading = Reading { args: ArgsPolicy::Analysis, scope: Scope::All };
        let tables = TableSet::of([]);
        let mapping = Mapping { reading, rules: Rules::default(), keep: Keep::Nothing, cards: Cards::known().clone(), tables };
        let judging = Judging::default().with_partial(true);
        let request = Request { paths: vec![run.to_owned()], clocks: None, mapping, judging };
        let job = match judged(&request, progress) {
            Err(Error::Run(rankscope_run::Error::NoTraces { .. })) => return Err(Error::NoRecordings { path: run.to_owned() }),
            judged => judged?.job,
        };
        let nodes = job.ranks.iter().zip(&job.nodes);
        let node_of = nodes.filter_map(|(rank, node)| Some((rank.rank.0, (*node)?))).collect();
        let recorded = Recorded::of(job);
        if recorded.steps.is_empty() {
            return Err(Error::NoSteps { path: run.to_owned() });
        }
        let world_size = directory.manifest().world_size;
        let told = recorded.ranks();
        let missing = world_size.filter(|world_size| told < *world_size);
        let beside = Beside {
            title: directory.name(),
            world_size,
            node_of,
            nodes: Clocks::of(&directory).nodes(&directory),
            links: links(&directory.clock()),
            problems: missing.map(|world_size| format!("{told} of {world_size} ranks left a recording.")).into_iter().collect(),
            replay: None,
        };
        Ok(Self { recorded, beside, following: Following::default(), alarms: Vec::new() })
    }

    /// How many steps all ranks recorded; never none.
    pub fn steps(&self) -> usize {
        self.recorded.steps.len()
    }

    /// How long the step after that at `place` took: from end to end, on the job's clock.
    pub fn next_step_takes(&self, place: usize) -> Duration {
        let ended_ns = |place: usize| self.recorded.steps[place.min(self.steps() - 1)].ended_ns;
        Duration::from_nanos(u64::try_from(ended_ns(place + 1).saturating_sub(ended_ns(place))).unwrap_or(0))
    }

    /// The job at the end of the step at `place`, or of the last.
    pub fn look(&mut self, place: usize) -> LiveDocument {
        let place = place.min(self.steps() - 1);
        while self.alarms.len() <= place {
            self.follow(self.alarms.len());
        }
        let step = self.recorded.steps[place];
        let seen = self.recorded.pages(place);
        let replay = LiveReplay { place: place as u32 + 1, steps: self.steps() as u32 };
        let beside = Beside { replay: Some(replay), ..self.beside.clone() };
        let mut document = beside.document(&seen, &Compared::of(&seen), step.ended_ns, self.alarms[place].clone());
        let exposed_ns = self.recorded.exposed_ns(place);
        document.step = Some(step.number);
        for rank in &mut document.ranks {
            rank.step = Some(step.number);
            rank.exposed_comm_ns = exposed_ns.get(&rank.rank).copied();
        }
        document
    }

    fn follow(&mut self, place: usize) {
        let seen = self.recorded.pages(place);
        self.following.look(self.recorded.steps[place].ended_ns, &Compared::of(&seen));
        self.alarms.push(self.following.raised().iter().map(|alarm| alarms::told(alarm, None)).collect());
    }
}

/// Whether the run in the directory `run` is over, as its writer says.
///
/// # Errors
/// [`Error::Run`] where there is no run.
pub fn has_ended(run: &Path) -> Result<bool, Error> {
    Ok(RunDirectory::open(run)?.manifest().state != State::Running)
}
