//! What a configuration really sets, as far as the command and the environment tell: what a rank saw is what counts, and not what
//! the sweep was asked for.
//!
//! Three things come between: a value that was there before, which configurations see that do not set the variable; a command that
//! sets the variable itself, or a launcher that does not pass it on; and variables that serialise what would overlap. A search of
//! words, not a shell: it may be wrong, so it warns and decides nothing.

use std::collections::BTreeMap;
use std::fmt;

use crate::configuration::Configuration;
use crate::variables::is_of_name;

/// What there is to see of a job before it runs.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The words of the command.
    pub command: &'a [String],
    /// Scripts among these words, with their text.
    pub scripts: &'a [(String, String)],
    /// The user's environment, as far as it is [`watched`].
    pub environment: &'a BTreeMap<String, String>,
}

/// Why a rank may see something else than what is swept, or why what is measured is not how the job runs otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Warning {
    /// The variable is set already, and some configurations leave it.
    Inherited {
        /// The variable.
        name: String,
        /// What it is.
        value: String,
        /// Those that run with it; empty where the sweep overrides it in all.
        left_in: Vec<String>,
    },
    /// The command seems to set the variable.
    InCommand {
        /// The variable.
        name: String,
        /// The word or the script.
        place: String,
    },
    /// The launcher passes on only what it is told to.
    NotPassedOn {
        /// The variable.
        name: String,
        /// The launcher, with the option that would do.
        how: String,
    },
    /// The variable serialises or slows down what is measured.
    Distorts {
        /// The variable.
        name: String,
        /// What it is.
        value: String,
        /// Where it comes from.
        place: String,
        /// What it does.
        effect: &'static str,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inherited { name, value, left_in } if left_in.is_empty() => {
                write!(f, "{name} is `{value}` in your environment; every configuration overrides it")
            }
            Self::Inherited { name, value, left_in } => {
                write!(
                    f,
                    "{name} is `{value}` in your environment, and so it is in {}; the others override it",
                    left_in.join(", ")
                )
            }
            Self::InCommand { name, place } => {
                write!(f, "{place} seems to set {name} itself, so ranks may not see the value of the sweep")
            }
            Self::NotPassedOn { name, how } => write!(f, "{name} may not reach the ranks: {how}"),
            Self::Distorts { name, value, place, effect } => {
                write!(f, "{name} is `{value}` ({place}): {effect}, so this is not how the job runs otherwise")
            }
        }
    }
}

const SERIALISES: &str = "device work is serialised, and nothing overlaps";
const WAITS: &str = "the host waits for each collective";
const ALLOCATES: &str = "every allocation synchronises the device";
const LOGS: &str = "the library logs while it communicates, which takes time";

/// A variable that changes what is measured.
struct Distorting {
    name: &'static str,
    /// Whether a value of it does.
    by: fn(&str) -> bool,
    effect: &'static str,
}

/// The sweep sets none of them unless asked.
const DISTORTING: [Distorting; 11] = [
    Distorting { name: "AMD_SERIALIZE_KERNEL", by: is_on, effect: SERIALISES },
    Distorting { name: "AMD_SERIALIZE_COPY", by: is_on, effect: SERIALISES },
    Distorting { name: "HIP_LAUNCH_BLOCKING", by: is_on, effect: SERIALISES },
    Distorting { name: "CUDA_LAUNCH_BLOCKING", by: is_on, effect: SERIALISES },
    Distorting { name: "TORCH_NCCL_BLOCKING_WAIT", by: is_on, effect: WAITS },
    Distorting { name: "NCCL_BLOCKING_WAIT", by: is_on, effect: WAITS },
    Distorting { name: "PYTORCH_NO_CUDA_MEMORY_CACHING", by: is_on, effect: ALLOCATES },
    Distorting { name: "PYTORCH_NO_HIP_MEMORY_CACHING", by: is_on, effect: ALLOCATES },
    Distorting { name: "NCCL_DEBUG", by: is_verbose, effect: LOGS },
    Distorting { name: "RCCL_DEBUG", by: is_verbose, effect: LOGS },
    Distorting { name: "TORCH_DISTRIBUTED_DEBUG", by: is_detailed, effect: "collectives are checked one by one" },
];

fn is_on(value: &str) -> bool {
    !matches!(value.trim().to_ascii_lowercase().as_str(), "" | "0" | "false" | "off" | "no")
}

fn is_verbose(value: &str) -> bool {
    matches!(value.trim().to_ascii_uppercase().as_str(), "INFO" | "ABORT" | "TRACE")
}

fn is_detailed(value: &str) -> bool {
    value.trim().eq_ignore_ascii_case("detail")
}

/// The variables of the environment that bear on a sweep over `configurations`.
pub fn watched(configurations: &[Configuration]) -> Vec<String> {
    let distorting = DISTORTING.iter().map(|distorting| distorting.name.to_owned());
    let mut names: Vec<String> =
        swept(configurations).map(str::to_owned).chain(distorting).chain([EXPORT_ENV.to_owned()]).collect();
    names.sort();
    names.dedup();
    names
}

/// srun's `--export`, as a variable.
const EXPORT_ENV: &str = "SLURM_EXPORT_ENV";

fn swept(configurations: &[Configuration]) -> impl Iterator<Item = &str> {
    let mut names: Vec<&str> = configurations.iter().flat_map(|one| one.set.keys().map(String::as_str)).collect();
    names.sort_unstable();
    names.dedup();
    names.into_iter()
}

/// What is to be said before a sweep over `configurations` begins.
pub fn warnings(configurations: &[Configuration], seen: Seen<'_>) -> Vec<Warning> {
    let mut found: Vec<Warning> = Vec::new();
    for name in swept(configurations) {
        found.extend(inherited(name, configurations, seen));
        found.extend(places(name, seen).into_iter().map(|(place, _)| Warning::InCommand { name: name.to_owned(), place }));
        found.extend(not_passed_on(name, seen).map(|how| Warning::NotPassedOn { name: name.to_owned(), how }));
    }
    for Distorting { name, by, effect } in &DISTORTING {
        let values = distorted(name, configurations, seen).into_iter().filter(|(_, value)| by(value));
        found.extend(values.map(|(place, value)| Warning::Distorts { name: (*name).to_owned(), value, place, effect }));
    }
    found
}

fn inherited(name: &str, configurations: &[Configuration], seen: Seen<'_>) -> Option<Warning> {
    let value = seen.environment.get(name)?.clone();
    let left = configurations.iter().filter(|one| !one.set.contains_key(name));
    Some(Warning::Inherited { name: name.to_owned(), value, left_in: left.map(|one| one.label.clone()).collect() })
}

/// Where `name` comes from, with its value.
fn distorted(name: &str, configurations: &[Configuration], seen: Seen<'_>) -> Vec<(String, String)> {
    let mut values = Vec::new();
    let here = seen.environment.get(name).filter(|_| configurations.iter().any(|one| !one.set.contains_key(name)));
    values.extend(here.map(|value| ("from your environment".to_owned(), value.clone())));
    for one in configurations {
        values.extend(one.set.get(name).map(|value| (format!("set in {}", one.label), value.clone())));
    }
    values.extend(places(name, seen).into_iter().filter_map(|(place, value)| Some((format!("set by {place}"), value?))));
    values
}

/// What in the command seems to set `name`, with the value where one is seen.
fn places(name: &str, seen: Seen<'_>) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    for (at, word) in seen.command.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| seen.command.get(before)).map_or("", String::as_str);
        let named = word == name && matches!(before, "-genv" | "-env" | "-u" | "--unset" | "-gpath");
        let value = set_in(word, name);
        if named {
            found.push((format!("the command (`{before} {word}`)"), seen.command.get(at + 1).cloned()));
        } else if let Some(value) = value {
            let shown: String = word.chars().take(SHOWN_MAX).collect();
            found.push((format!("the command (`{shown}`)"), Some(value)));
        }
    }
    for (path, text) in seen.scripts {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        found.extend(
            lines.filter_map(|line| set_in(line, name)).next().map(|value| (format!("the script {path}"), Some(value))),
        );
    }
    found
}

/// The most of a word that a warning shows.
const SHOWN_MAX: usize = 60;

/// The value that `text` gives `name`, unless that falls back on what is there (`NAME=${NAME:-4}`).
fn set_in(text: &str, name: &str) -> Option<String> {
    let assigns = |(at, _): (usize, &str)| {
        let before = text[..at].chars().next_back();
        let value = text[at + name.len()..].strip_prefix('=').filter(|value| !value.starts_with('='))?;
        // A flag of the program, `--NAME=4`, and an expansion, `${NAME=4}`, set nothing.
        let stands_alone = before.is_none_or(|c| !is_of_name(c) && !matches!(c, '-' | '$' | '{' | '.' | '/'));
        let value: String = value.trim_start_matches(['"', '\'']).chars().take_while(|c| !" \t\"';,&|)".contains(*c)).collect();
        let falls_back = value.starts_with(&format!("${{{name}")) || value == format!("${name}");
        (stands_alone && !falls_back).then_some(value)
    };
    text.match_indices(name).find_map(assigns)
}

/// Why the launcher keeps `name` from the ranks, if it seems to, and what to add.
fn not_passed_on(name: &str, seen: Seen<'_>) -> Option<String> {
    let program = seen.command.first().map_or("", |word| word.rsplit('/').next().unwrap_or(word));
    let words = seen.command.iter().map(String::as_str);
    match program {
        "srun" => {
            let option = seen.command.iter().enumerate().find_map(|(at, word)| match word.strip_prefix("--export") {
                Some("") => seen.command.get(at + 1).map(String::as_str),
                Some(list) => list.strip_prefix('='),
                None => None,
            });
            let list = option.or_else(|| seen.environment.get(EXPORT_ENV).map(String::as_str))?;
            let passes = list.split(',').any(|item| item == "ALL" || item.split('=').next() == Some(name));
            (!passes).then(|| format!("srun passes on only `{list}`; give --export=ALL or add {name}"))
        }
        "mpirun" | "mpiexec" | "orterun" | "prterun" => {
            let hosts = ["-H", "-host", "--host", "-hostfile", "--hostfile", "-machinefile", "--machinefile"];
            let all = ["-genvall", "-envall"];
            let remote = words.clone().any(|word| hosts.contains(&word)) && !words.clone().any(|word| all.contains(&word));
            let exported = |pair: &[String]| pair[0] == "-x" && pair[1].split('=').next() == Some(name);
            let listed = seen.command.windows(2).any(exported) || words.clone().any(|word| word == name);
            (remote && !listed).then(|| format!("Open MPI passes variables on to other hosts only with -x; add `-x {name}`"))
        }
        "docker" | "podman" | "nerdctl" => {
            let option = |pair: &[String]| matches!(pair[0].as_str(), "-e" | "--env") && pair[1] == name;
            let listed = seen.command.windows(2).any(option) || words.clone().any(|word| word == format!("--env={name}"));
            (!listed).then(|| format!("{program} passes variables into a container only with -e; add `-e {name}`"))
        }
        "env" if seen.command.get(1).is_some_and(|word| matches!(word.as_str(), "-i" | "-" | "--ignore-environment")) => {
            Some("env begins with an empty environment; leave out the option".to_owned())
        }
        "ssh" | "sudo" | "kubectl" => Some(format!("{program} starts the command with another environment")),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
