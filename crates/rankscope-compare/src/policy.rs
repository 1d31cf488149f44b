//! The policy of a gate: which metrics decide whether a change may go in, declared before anybody looked.
//!
//! A policy is a TOML file that people write, so whatever it says and this does not know is refused with its line: a
//! misspelt key that is passed over would be a gate that guards nothing.

mod draft;
mod error;
mod pattern;

use rankscope_document::{Direction, OnInconclusive};
use serde::{Deserialize, Deserializer};

pub use draft::draft;
pub use error::PolicyError;

use crate::series::{Family, Metric};

/// Entries that a policy has at most. Each metric more makes it harder to be certain of any of them.
pub const METRICS_MAX: usize = 10;

/// What a gate guards, and how sure it must be.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Policy {
    /// How often the gate may fail at most where nothing changed, all its metrics together.
    #[serde(default)]
    pub(crate) alpha: Alpha,
    /// What becomes of a metric that the evidence does not decide.
    #[serde(default = "warn", deserialize_with = "known_answer")]
    pub(crate) on_inconclusive: OnInconclusive,
    /// Standard deviation between runs of one configuration, relative to their mean.
    pub(crate) run_spread: Option<Share>,
    /// Runs of each side below which nothing is decided.
    #[serde(default = "one")]
    pub(crate) least_runs: usize,
    /// Compared steps of each side below which nothing is decided.
    #[serde(default)]
    pub(crate) least_steps: usize,
    /// What is guarded.
    #[serde(default, rename = "metric")]
    pub(crate) metrics: Vec<Guarded>,
}

/// A metric that is guarded, or several by one pattern.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Guarded {
    /// Its name, in which `*` stands for any letters and `?` for one.
    pub(crate) name: String,
    /// Which way is better; as the metric declares if absent.
    #[serde(default, deserialize_with = "known_direction")]
    pub(crate) direction: Option<Direction>,
    /// The change that counts as none, as a share of the base.
    pub(crate) margin: Option<Share>,
    /// Of what the pattern matches, only these.
    pub(crate) scope: Option<Scope>,
    /// As that of the policy, for this metric.
    pub(crate) run_spread: Option<Share>,
    /// As that of the policy, for this metric.
    pub(crate) least_runs: Option<usize>,
    /// As that of the policy, for this metric.
    pub(crate) least_steps: Option<usize>,
}

/// What a metric is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Scope {
    /// The job as a whole.
    Job,
    /// Single ranks.
    Ranks,
    /// Collectives.
    Collectives,
}

impl Policy {
    /// The policy that `text` writes down.
    ///
    /// # Errors
    /// If it is no TOML, has a key or a value that means nothing here, guards nothing, or has more than [`METRICS_MAX`] entries.
    pub fn parse(text: &str) -> Result<Self, PolicyError> {
        let policy: Self = toml::from_str(text).map_err(|error| PolicyError::unreadable(text, &error))?;
        match policy.metrics.len() {
            0 => Err(PolicyError::Empty),
            1..=METRICS_MAX => Ok(policy),
            entries => Err(PolicyError::TooMany { entries }),
        }
    }

    /// Runs and steps of each side that `guarded` takes at least.
    pub(crate) fn least(&self, guarded: &Guarded) -> (usize, usize) {
        (guarded.least_runs.unwrap_or(self.least_runs), guarded.least_steps.unwrap_or(self.least_steps))
    }

    /// The spread between runs that is stated for `guarded`.
    pub(crate) fn run_spread(&self, guarded: &Guarded) -> Option<f64> {
        guarded.run_spread.or(self.run_spread).map(|share| share.0)
    }
}

impl Guarded {
    /// Whether it is about `metric`. Where only ranks are meant, the name of a metric means that of every rank.
    pub(crate) fn matches(&self, metric: &Metric) -> bool {
        let own = || pattern::matches(&self.name, &metric.name);
        match self.scope {
            None => own(),
            Some(Scope::Job) => metric.family == Family::Job && own(),
            Some(Scope::Collectives) => metric.family == Family::Collectives && own(),
            Some(Scope::Ranks) => {
                let of_any = metric.name.split('@').next().unwrap_or_default();
                metric.family == Family::Ranks && (own() || pattern::matches(&self.name, of_any))
            }
        }
    }
}

/// A share of a base: 0.01 is one percent.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(crate) struct Share(pub(crate) f64);

impl TryFrom<f64> for Share {
    type Error = &'static str;

    fn try_from(share: f64) -> Result<Self, Self::Error> {
        if (0.0..1.0).contains(&share) {
            Ok(Self(share))
        } else {
            Err("a share is at least 0 and below 1; 0.01 is one percent")
        }
    }
}

/// A rate of false alarms.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(try_from = "f64")]
pub(crate) struct Alpha(pub(crate) f64);

impl Default for Alpha {
    fn default() -> Self {
        Self(0.05)
    }
}

impl TryFrom<f64> for Alpha {
    type Error = &'static str;

    fn try_from(alpha: f64) -> Result<Self, Self::Error> {
        let is_sound = alpha > 0.0 && alpha <= 0.5;
        if is_sound { Ok(Self(alpha)) } else { Err("alpha is above 0 and at most 0.5; 0.05 is usual") }
    }
}

fn warn() -> OnInconclusive {
    OnInconclusive::Warn
}

fn one() -> usize {
    1
}

fn known_answer<'de, D: Deserializer<'de>>(from: D) -> Result<OnInconclusive, D::Error> {
    match OnInconclusive::deserialize(from)? {
        OnInconclusive::Other(word) => Err(unknown(&word, OnInconclusive::WORDS)),
        answer => Ok(answer),
    }
}

fn known_direction<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Direction>, D::Error> {
    match Direction::deserialize(from)? {
        Direction::Other(word) => Err(unknown(&word, Direction::WORDS)),
        direction => Ok(Some(direction)),
    }
}

fn unknown<E: serde::de::Error>(word: &str, words: &[&str]) -> E {
    E::custom(format_args!("{word:?} is none of {}", words.join(", ")))
}

#[cfg(test)]
mod tests;
