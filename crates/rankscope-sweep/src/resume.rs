//! Whether a sweep that lies somewhere is the one that is asked for. It may go on with more repetitions; anything else that differs
//! would mix two measurements, so it is named and refused.

use std::collections::BTreeMap;
use std::fmt;

use crate::configuration::Configuration;
use crate::definition::Definition;
use crate::document::Sweep;
use crate::error::Error;

/// What differs between the sweep that is there and the one that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// What of it.
    pub what: String,
    /// As it is there.
    pub there: String,
    /// As it is asked for.
    pub asked: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} there is {}, and here {}", self.what, self.there, self.asked)
    }
}

impl Sweep {
    /// Refuses `definition` where it is not this sweep. More repetitions are no difference.
    ///
    /// # Errors
    /// [`Error::Different`].
    pub fn check(&self, definition: &Definition) -> Result<(), Error> {
        let mut found = Differences::default();
        found.compare("the command", &quoted(&self.command), &quoted(&definition.command));
        found.directory(&self.working_directory, &definition.working_directory);
        found.configurations(&self.configurations, &definition.configurations);
        let (there, asked) = (&self.options, &definition.options);
        let ranks = |ranks: Option<u32>| ranks.map_or("not given".to_owned(), |ranks| ranks.to_string());
        found.compare("-n", &ranks(there.ranks), &ranks(asked.ranks));
        let yes = |yes| if yes { "on" } else { "off" };
        found.compare("clock measurement", yes(there.clock), yes(asked.clock));
        found.compare("the Python hooks", yes(there.hooks), yes(asked.hooks));
        found.compare("--collect", &quoted(&there.collect), &quoted(&asked.collect));
        found.compare("--order", self.order.name(), definition.order.name());
        if let Some(seed) = definition.seed {
            found.compare("--seed", &self.seed.to_string(), &seed.to_string());
        }
        if definition.repeat < self.repeat {
            found.compare("--repeat", &self.repeat.to_string(), &definition.repeat.to_string());
        }
        found.into_result()
    }

    /// Refuses to go on from another directory than where it was begun: words of the command may be paths from there.
    ///
    /// # Errors
    /// [`Error::Different`].
    pub fn check_directory(&self, working_directory: &str) -> Result<(), Error> {
        let mut found = Differences::default();
        found.directory(&self.working_directory, working_directory);
        found.into_result()
    }

    /// Refuses to go on in another `environment`, which holds the [`watched`](crate::watched) variables: configurations that do not set a
    /// variable run with what is there.
    ///
    /// # Errors
    /// [`Error::Different`].
    pub fn check_environment(&self, environment: &BTreeMap<String, String>) -> Result<(), Error> {
        let mut found = Differences::default();
        let names = self.environment.keys().chain(environment.keys().filter(|name| !self.environment.contains_key(*name)));
        let seen = |name: &&String| self.configurations.iter().any(|configuration| !configuration.set.contains_key(*name));
        for name in names.filter(seen) {
            let told =
                |seen: &BTreeMap<String, String>| seen.get(name).map_or("not set".to_owned(), |value| format!("`{value}`"));
            found.compare(&format!("{name} in the environment"), &told(&self.environment), &told(environment));
        }
        found.into_result()
    }
}

#[derive(Default)]
struct Differences(Vec<Difference>);

impl Differences {
    fn compare(&mut self, what: &str, there: &str, asked: &str) {
        if there != asked {
            self.0.push(Difference { what: what.to_owned(), there: there.to_owned(), asked: asked.to_owned() });
        }
    }

    fn directory(&mut self, there: &str, asked: &str) {
        self.compare("the working directory", there, asked);
    }

    /// One by one where there are as many, so that only those which differ are named.
    fn configurations(&mut self, there: &[Configuration], asked: &[Configuration]) {
        if there.len() != asked.len() {
            let labels = |all: &[Configuration]| all.iter().map(|one| one.label.as_str()).collect::<Vec<_>>().join(", ");
            return self.compare("the list of configurations", &labels(there), &labels(asked));
        }
        for (number, (there, asked)) in (1..).zip(there.iter().zip(asked)) {
            self.compare(&format!("configuration {number}"), &told(there), &told(asked));
        }
    }

    fn into_result(self) -> Result<(), Error> {
        if self.0.is_empty() { Ok(()) } else { Err(Error::Different(self.0)) }
    }
}

/// The label, and what it sets where the label does not say that.
fn told(configuration: &Configuration) -> String {
    let set: Vec<String> = configuration.set.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let set = set.join(",");
    match set == configuration.label {
        true => format!("`{set}`"),
        false => format!("`{}` ({})", configuration.label, if set.is_empty() { "sets nothing" } else { &set }),
    }
}

fn quoted(words: &[String]) -> String {
    if words.is_empty() { "not given".to_owned() } else { format!("`{}`", words.join(" ")) }
}
