//! What a user asks for: which configurations of which command, how often and in which order.

use serde::{Deserialize, Serialize};

use crate::configuration::{Configuration, configurations};
use crate::error::Error;
use crate::order::Order;
use crate::preset::Preset;
use crate::variables::{Case, Variable};

/// The configurations that are asked for, before they are multiplied out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// One that sets nothing, before all others.
    pub base: bool,
    /// Variables; every value of one meets every value of the others.
    pub variables: Vec<Variable>,
    /// Presets; they multiply as variables do.
    pub presets: Vec<Preset>,
    /// Configurations as they are.
    pub cases: Vec<Case>,
}

/// How each run is made, as far as it bears on what is measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Options {
    /// Ranks that are started here; none where the command starts its own.
    pub ranks: Option<u32>,
    /// Whether clocks are measured.
    pub clock: bool,
    /// Whether Python programs are hooked into.
    pub hooks: bool,
    /// Patterns of files to collect.
    #[serde(default)]
    pub collect: Vec<String>,
}

/// A sweep as it is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// What is run, the program first.
    pub command: Vec<String>,
    /// Where it is run.
    pub working_directory: String,
    /// At least one.
    pub configurations: Vec<Configuration>,
    /// How each run is made.
    pub options: Options,
    /// In which order.
    pub order: Order,
    /// How often each configuration runs.
    pub repeat: u32,
    /// From which the order is drawn; none leaves it to whoever plans.
    pub seed: Option<u64>,
}

/// More runs are a slip of the finger.
const RUNS_MAX: usize = 10_000;

impl Definition {
    /// `command` in the configurations that `asked` comes down to, once each, in the balanced order of a seed that is not given.
    ///
    /// # Errors
    /// What [`configurations`] refuses.
    pub fn new(command: Vec<String>, working_directory: String, asked: &Asked, options: Options) -> Result<Self, Error> {
        let configurations = configurations(asked, options.ranks.is_some())?;
        Ok(Self { command, working_directory, configurations, options, order: Order::default(), repeat: 1, seed: None })
    }

    /// The same, each configuration `repeat` times.
    ///
    /// # Errors
    /// [`Error::TooMany`].
    pub fn repeated(self, repeat: u32) -> Result<Self, Error> {
        let configurations = self.configurations.len();
        if configurations.saturating_mul(repeat as usize) > RUNS_MAX {
            return Err(Error::TooMany { configurations, repeat, max: RUNS_MAX });
        }
        Ok(Self { repeat, ..self })
    }

    /// What the directory of this sweep is called where nobody says: the program, and a number that another sweep does not have. The
    /// same command finds the same sweep, also with more repetitions.
    pub fn name(&self) -> String {
        let told =
            serde_json::json!([self.command, self.working_directory, self.configurations, self.options, self.order, self.seed]);
        let program = self.command.iter().map(String::as_str).find(|word| !word.is_empty()).unwrap_or_default();
        let program = program.rsplit('/').next().and_then(|name| name.split('.').next()).unwrap_or_default();
        let program: String = program.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' }).collect();
        let program = Some(program).filter(|name| name.starts_with(|c: char| c.is_ascii_alphanumeric()));
        format!("{}-{:08x}", program.as_deref().unwrap_or("sweep"), fnv(told.to_string().as_bytes()))
    }

    /// The same in another order, drawn from `seed` where that is given.
    #[must_use]
    pub fn ordered(self, order: Order, seed: Option<u64>) -> Self {
        Self { order, seed, ..self }
    }
}

/// FNV-1a, which never changes.
fn fnv(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}
