//! `sweep.json`: the plan of a sweep, and what became of each run.
//!
//! Written before the first run and after every change. Keys at the top that this version does not know are kept.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::configuration::Configuration;
use crate::definition::{Definition, Options};
use crate::error::Error;
use crate::name::{SET_ASIDE, WARM_UP};
use crate::order::{Order, rounds};

/// The schema this program writes.
pub const SCHEMA: u32 = 1;

/// A sweep as it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Sweep {
    /// Of this document; 1.
    pub schema: u32,
    /// What is run, the program first.
    pub command: Vec<String>,
    /// Where it is run.
    pub working_directory: String,
    /// How each run is made.
    pub options: Options,
    /// In the order in which they were given.
    pub configurations: Vec<Configuration>,
    /// What of the sweep's variables, and of those that distort what is measured, the user's environment had.
    pub environment: BTreeMap<String, String>,
    /// In which order the configurations run.
    pub order: Order,
    /// From which the order was drawn.
    pub seed: u64,
    /// How often each configuration runs.
    pub repeat: u32,
    /// Runs that warmed the machine up, one each time the sweep was begun with `--warm-up`; no comparison takes them.
    #[serde(default)]
    pub warm_ups: Vec<WarmUp>,
    /// In the order in which they run.
    pub runs: Vec<Run>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// One run of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Run {
    /// Its place in the order, from 1.
    pub number: u32,
    /// Which repetition of its configuration it is, from 1.
    pub round: u32,
    /// The label of its configuration.
    pub configuration: String,
    /// Its run directory, from that of the sweep.
    pub path: String,
    /// What became of it.
    pub state: RunState,
    /// How its job ended, as a shell tells it.
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// When it began, in nanoseconds since 1970.
    #[serde(default)]
    pub started_unix_ns: Option<i64>,
    /// When its job ended.
    #[serde(default)]
    pub ended_unix_ns: Option<i64>,
    /// How many traces it left.
    #[serde(default)]
    pub traces: Option<u64>,
    /// What kept it from counting although its job ended well.
    #[serde(default)]
    pub problem: Option<String>,
    /// Times that it ran before and did not succeed.
    #[serde(default)]
    pub earlier: Vec<Earlier>,
}

impl Run {
    /// How long its job took, in milliseconds; none while it has not ended.
    pub fn took_ms(&self) -> Option<i64> {
        let (started_ns, ended_ns) = self.started_unix_ns.zip(self.ended_unix_ns)?;
        Some(ended_ns.saturating_sub(started_ns) / 1_000_000)
    }
}

/// A run that was run again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Earlier {
    /// Where its run directory was moved; none where it left none.
    pub path: Option<String>,
    /// What became of it.
    pub state: RunState,
    /// How its job ended.
    pub exit_code: Option<i32>,
    /// When it began.
    pub started_unix_ns: Option<i64>,
    /// When its job ended.
    pub ended_unix_ns: Option<i64>,
}

/// A run whose measurements nobody uses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WarmUp {
    /// Its run directory, from that of the sweep.
    pub path: String,
    /// The label of its configuration: that of the run which follows.
    pub configuration: String,
    /// How its job ended; none where the sweep was cut short meanwhile.
    pub exit_code: Option<i32>,
}

/// What became of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RunState {
    /// It has not begun.
    #[default]
    Planned,
    /// It is at work, or the sweep was killed meanwhile.
    Running,
    /// Its job ended with 0.
    Succeeded,
    /// Its job ended otherwise.
    Failed,
    /// Somebody stopped the sweep, or killed it.
    Interrupted,
}

impl RunState {
    /// As it stands in the document.
    pub fn name(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// How far a configuration is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Summed<'a> {
    /// Which.
    pub configuration: &'a Configuration,
    /// Runs that succeeded.
    pub succeeded: usize,
    /// Runs that failed.
    pub failed: Vec<&'a Run>,
    /// Runs that are still to be made, or again.
    pub left: usize,
}

impl Sweep {
    /// The plan for `definition`, its order drawn from `seed` unless the definition has one. `environment` is what the user's
    /// environment has of the [`watched`](crate::watched) variables.
    pub fn plan(definition: Definition, seed: u64, environment: BTreeMap<String, String>) -> Self {
        let seed = definition.seed.unwrap_or(seed);
        let repeat = definition.repeat;
        let mut sweep = Self {
            schema: SCHEMA,
            command: definition.command,
            working_directory: definition.working_directory,
            options: definition.options,
            configurations: definition.configurations,
            environment,
            order: definition.order,
            seed,
            repeat: 0,
            warm_ups: Vec::new(),
            runs: Vec::new(),
            other: Map::new(),
        };
        sweep.extend(repeat);
        sweep
    }

    /// Reads a document.
    ///
    /// # Errors
    /// [`Error::LaterSchema`] and [`Error::Damaged`].
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let damaged = |error: serde_json::Error| {
            let reason = error.to_string();
            let reason = reason.rsplit_once(" at line ").map_or(reason.as_str(), |(reason, _)| reason).to_owned();
            Error::Damaged { line: error.line(), column: error.column(), reason }
        };
        // A later version may have changed anything but this.
        let value: Value = serde_json::from_slice(bytes).map_err(damaged)?;
        if let Some(schema) = value["schema"].as_u64().and_then(|schema| u32::try_from(schema).ok()).filter(|it| *it > SCHEMA) {
            return Err(Error::LaterSchema { schema });
        }
        let sweep: Self = serde_json::from_slice(bytes).map_err(damaged)?;
        match sweep.runs.iter().find(|run| !sweep.has_place_for(run)) {
            Some(run) => Err(Error::Damaged {
                line: 1,
                column: 1,
                reason: format!("run {} has no such place: {}", run.number, run.path),
            }),
            None => Ok(sweep),
        }
    }

    /// Plans more repetitions, up to `repeat`; what is planned stays as it is.
    pub fn extend(&mut self, repeat: u32) {
        let (done, n) = (self.repeat, self.configurations.len());
        let count = repeat.saturating_sub(done);
        let as_given = || (0..count).map(|_| (0..n).collect::<Vec<_>>()).collect::<Vec<_>>();
        let rounds = if self.order == Order::Balanced { rounds(n, done, count, self.seed) } else { as_given() };
        let mut order: Vec<(u32, usize)> = (done + 1..)
            .zip(rounds)
            .flat_map(|(round, indices)| indices.into_iter().map(move |index| (round, index)))
            .collect();
        if self.order == Order::Grouped {
            order.sort_by_key(|(round, index)| (*index, *round));
        }
        for (round, index) in order {
            let Some(configuration) = self.configurations.get(index) else { continue };
            let number = u32::try_from(self.runs.len()).map_or(u32::MAX, |before| before.saturating_add(1));
            let path = place(configuration, round);
            self.runs.push(Run { number, round, configuration: configuration.label.clone(), path, ..Run::default() });
        }
        self.repeat = self.repeat.max(repeat);
    }

    /// The configuration of this label.
    pub fn configuration(&self, label: &str) -> Option<&Configuration> {
        self.configurations.iter().find(|configuration| configuration.label == label)
    }

    /// How far each configuration is.
    pub fn summed(&self) -> Vec<Summed<'_>> {
        let of = |configuration: &'_ Configuration| {
            self.runs.iter().filter(|run| run.configuration == configuration.label).collect::<Vec<_>>()
        };
        let summed = |configuration| {
            let runs = of(configuration);
            let failed: Vec<&Run> = runs.iter().copied().filter(|run| run.state == RunState::Failed).collect();
            let succeeded = runs.iter().filter(|run| run.state == RunState::Succeeded).count();
            Summed { configuration, succeeded, left: runs.len() - succeeded - failed.len(), failed }
        };
        self.configurations.iter().map(summed).collect()
    }

    /// Whether nothing is left to run.
    pub fn is_complete(&self) -> bool {
        self.runs.iter().all(|run| run.state == RunState::Succeeded)
    }

    /// Where the next warm-up lies.
    pub fn warm_up_path(&self) -> String {
        format!("{WARM_UP}/{}", self.warm_ups.len() + 1)
    }

    /// Where a run directory of `run` goes that makes room for the next try.
    pub fn set_aside_path(run: &Run, number: usize) -> String {
        format!("{SET_ASIDE}/{}-{number}", run.path)
    }

    /// Whether `run` is where a run of its configuration lies: paths of a document that somebody edited lead nowhere else.
    fn has_place_for(&self, run: &Run) -> bool {
        let configuration = self.configuration(&run.configuration);
        configuration.is_some_and(|configuration| {
            let plain = |c: char| c.is_ascii_alphanumeric() || "_.+-".contains(c);
            let is_name = configuration.directory.chars().all(plain) && !configuration.directory.starts_with('.');
            is_name && !configuration.directory.is_empty() && run.path == place(configuration, run.round)
        })
    }
}

impl Run {
    /// Notes that it begins again: what it was is kept, with where its run directory was moved.
    pub fn begin_again(&mut self, moved_to: Option<String>) {
        if self.state != RunState::Planned {
            self.earlier.push(Earlier {
                path: moved_to,
                state: if self.state == RunState::Running { RunState::Interrupted } else { self.state },
                exit_code: self.exit_code,
                started_unix_ns: self.started_unix_ns,
                ended_unix_ns: self.ended_unix_ns,
            });
        }
        (self.state, self.exit_code, self.traces, self.problem) = (RunState::Planned, None, None, None);
        (self.started_unix_ns, self.ended_unix_ns) = (None, None);
    }
}

impl WarmUp {
    /// One that begins.
    pub fn new(path: String, configuration: String) -> Self {
        Self { path, configuration, exit_code: None }
    }
}

fn place(configuration: &Configuration, round: u32) -> String {
    format!("{}/rep{round}", configuration.directory)
}
