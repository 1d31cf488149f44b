//! Laying the sources over each other.
//!
//! From the bottom: default, preset, variables of other programs, file, environment, command line. Within a layer a setting's
//! own name comes before its aliases, and two names that disagree are complained about.

use std::collections::BTreeMap;

use crate::file::{self, Entry};
use crate::nearest::nearest;
use crate::presets::preset;
use crate::value::{allowed, parse};
use crate::{Complaint, Key, Origin, SETTINGS, Setting, Value};

/// Everything that may say something about settings. None of it is read here.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sources<'a> {
    /// The file, if one was named.
    pub file: Option<ConfigFile<'a>>,
    /// All environment variables; those of others are passed over.
    pub environment: &'a [(String, String)],
    /// Keys and values of the command line.
    pub flags: &'a [(String, String)],
}

/// A configuration file as it was read.
#[derive(Clone, Copy, Debug)]
pub struct ConfigFile<'a> {
    /// Its name, for messages; the suffix tells its language.
    pub name: &'a str,
    /// Its text, or why there is none.
    pub text: Result<&'a str, &'a str>,
}

/// What one setting is, and by whose word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedValue {
    /// None where nothing says anything and there is no default.
    pub value: Option<Value>,
    /// Whose word.
    pub origin: Origin,
}

/// All settings.
#[derive(Clone, Debug)]
pub struct Settings {
    /// One for each row of the table.
    values: Vec<ResolvedValue>,
    /// What had no effect, or not the one meant.
    pub complaints: Vec<Complaint>,
}

impl Settings {
    /// What `key` is.
    pub fn of(&self, key: Key) -> &ResolvedValue {
        &self.values[key as usize]
    }

    /// Every setting with its value, in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Setting, &ResolvedValue)> {
        SETTINGS.iter().zip(&self.values)
    }
}

/// The configuration file that the environment names.
pub fn config_file(environment: &[(String, String)]) -> Option<&str> {
    FILE_VARIABLES
        .iter()
        .find_map(|variable| environment.iter().find(|(name, path)| name == variable && !path.is_empty()))
        .map(|(_, path)| path.as_str())
}

/// Lays `sources` over each other.
pub fn resolve(sources: &Sources<'_>) -> Settings {
    let mut complaints = Vec::new();
    let file = from_file(sources.file, &mut complaints);
    let environment = from_environment(sources.environment, &mut complaints);
    let flags = from_flags(sources.flags, &mut complaints);
    let layers = [settle(file, &mut complaints), settle(environment, &mut complaints), settle(flags, &mut complaints)];
    let named = layers.iter().rev().find_map(|layer| layer.get(&Key::Preset));

    let mut values: Vec<ResolvedValue> = SETTINGS
        .iter()
        .map(|setting| ResolvedValue {
            value: setting.default.and_then(|text| parse(&setting.kind, text)),
            origin: Origin::Default,
        })
        .collect();
    if let Some((Value::Choice(name), _)) = named {
        for (key, text) in preset(name) {
            values[key as usize] = ResolvedValue { value: parse(&key.setting().kind, text), origin: Origin::Preset(name) };
        }
    }
    for (key, (value, origin)) in borrowed(sources.environment).into_iter().chain(layers.into_iter().flatten()) {
        values[key as usize] = ResolvedValue { value: Some(value), origin };
    }
    let mut settings = Settings { values, complaints };
    let together = crate::clock::contradictions(&settings);
    settings.complaints.extend(together.into_iter().map(Complaint::Together));
    settings
}

/// What one source gives to one setting. Of several names the lowest `alias` counts.
struct Said {
    key: Key,
    alias: usize,
    text: String,
    origin: Origin,
}

fn from_file(file: Option<ConfigFile<'_>>, complaints: &mut Vec<Complaint>) -> Vec<Said> {
    let Some(ConfigFile { name, text }) = file else { return Vec::new() };
    match text.map_err(str::to_owned).and_then(|text| file::entries(name, text)) {
        Ok(entries) => entries.into_iter().filter_map(|entry| said_in_file(entry, complaints)).collect(),
        Err(reason) => {
            complaints.push(Complaint::BadFile { file: name.to_owned(), reason });
            Vec::new()
        }
    }
}

fn said_in_file(entry: Entry, complaints: &mut Vec<Complaint>) -> Option<Said> {
    let Entry { section, name, text, origin } = entry;
    let kebab = name.replace('_', "-");
    let Some((setting, alias)) = find(|setting| file_names(setting).position(|known| known == kebab)) else {
        let nearest = nearest(&kebab, SETTINGS.iter().flat_map(file_names)).map(str::to_owned);
        complaints.push(Complaint::Unknown { name, origin, nearest });
        return None;
    };
    if section.is_some_and(|section| section != setting.section) {
        complaints.push(Complaint::Misplaced { name: setting.name, origin, section: setting.section });
        return None;
    }
    // The spelling with underscores is an alias, too, and may stand beside the other.
    let alias = 2 * alias + usize::from(name.contains('_'));
    Some(Said { key: setting.key, alias, text, origin })
}

fn file_names(setting: &'static Setting) -> impl Iterator<Item = &'static str> {
    std::iter::once(setting.name).chain(setting.keys.iter().copied())
}

fn from_environment(environment: &[(String, String)], complaints: &mut Vec<Complaint>) -> Vec<Said> {
    let mut said = Vec::new();
    // Empty is how shells and launchers unset.
    for (name, text) in environment.iter().filter(|(_, text)| !text.is_empty()) {
        let origin = Origin::Variable(name.clone());
        if let Some((setting, alias)) = find(|setting| variables(setting).position(|known| known == *name)) {
            said.push(Said { key: setting.key, alias, text: text.clone(), origin });
        } else if !FILE_VARIABLES.contains(&name.as_str()) && !OTHERS.contains(&name.as_str()) {
            complaints.extend(suspicious(name).map(|nearest| Complaint::Unknown { name: name.clone(), origin, nearest }));
        }
    }
    complaints.extend(two_files(environment));
    said
}

fn variables(setting: &'static Setting) -> impl Iterator<Item = String> {
    std::iter::once(setting.variable()).chain(setting.variables.iter().map(|name| (*name).to_owned()))
}

/// Whether an unknown variable was meant for us, and if so, which one may have been meant.
fn suspicious(name: &str) -> Option<Option<String>> {
    let ours = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    if !ours && !name.starts_with("XLA_") && !name.starts_with("RANK") {
        return None;
    }
    let known: Vec<String> = SETTINGS.iter().flat_map(variables).collect();
    let found = nearest(name, known.iter().map(String::as_str).chain(FILE_VARIABLES)).map(str::to_owned);
    (ours || found.is_some()).then_some(found)
}

fn two_files(environment: &[(String, String)]) -> Option<Complaint> {
    let path = |variable: &str| {
        let (name, path) = environment.iter().find(|(name, path)| name == variable && !path.is_empty())?;
        Some((path.clone(), Origin::Variable(name.clone())))
    };
    let (held, other) = (path(FILE_VARIABLES[0])?, path(FILE_VARIABLES[1])?);
    (held.0 != other.0).then_some(Complaint::Disagree { name: "the configuration file", held, other })
}

fn from_flags(flags: &[(String, String)], complaints: &mut Vec<Complaint>) -> Vec<Said> {
    let mut said = Vec::new();
    for (at, (name, text)) in flags.iter().enumerate() {
        let kebab = name.replace('_', "-");
        // The last of several flags counts, as everywhere.
        let alias = flags.len() - at;
        match find(|setting| file_names(setting).position(|known| known == kebab)) {
            Some((setting, _)) => said.push(Said { key: setting.key, alias, text: text.clone(), origin: Origin::Flag }),
            None => {
                let nearest = nearest(&kebab, SETTINGS.iter().flat_map(file_names)).map(str::to_owned);
                complaints.push(Complaint::Unknown { name: name.clone(), origin: Origin::Flag, nearest });
            }
        }
    }
    said
}

/// Variables of other programs. They are not ours to judge, so the first that can be used is, without a word.
fn borrowed(environment: &[(String, String)]) -> BTreeMap<Key, (Value, Origin)> {
    let value_of = |setting: &Setting, variable: &str| {
        let (name, text) = environment.iter().find(|(name, _)| name == variable)?;
        Some((parse(&setting.kind, text)?, Origin::Variable(name.clone())))
    };
    SETTINGS
        .iter()
        .filter_map(|setting| {
            let value = setting.borrowed.iter().find_map(|variable| value_of(setting, variable))?;
            Some((setting.key, value))
        })
        .collect()
}

/// The setting for which `alias_of` finds a name.
fn find(alias_of: impl Fn(&'static Setting) -> Option<usize>) -> Option<(&'static Setting, usize)> {
    SETTINGS.iter().find_map(|setting| Some((setting, alias_of(setting)?)))
}

/// One value for each setting that a layer says something valid about.
fn settle(mut said: Vec<Said>, complaints: &mut Vec<Complaint>) -> BTreeMap<Key, (Value, Origin)> {
    said.sort_by_key(|said| (said.key, said.alias));
    let mut settled: BTreeMap<Key, (Value, Origin)> = BTreeMap::new();
    for Said { key, text, origin, .. } in said {
        let setting = key.setting();
        let Some(value) = parse(&setting.kind, &text) else {
            let text = if setting.key == Key::SharedKey { "(not shown)".to_owned() } else { text };
            complaints.push(Complaint::BadValue { name: setting.name, text, origin, allowed: allowed(&setting.kind) });
            continue;
        };
        match settled.get(&key) {
            None => drop(settled.insert(key, (value, origin))),
            Some((held, _)) if *held == value || origin == Origin::Flag => {}
            Some((held, place)) => complaints.push(Complaint::Disagree {
                name: setting.name,
                held: (setting.shown(held), place.clone()),
                other: (setting.shown(&value), origin),
            }),
        }
    }
    settled
}

/// Variables that name the file, first wins.
const FILE_VARIABLES: [&str; 2] = ["RANKSCOPE_CONFIG", "XLA_DIST_PROF_CONFIG"];

/// Variables of our own that are no settings: what `rankscope run` tells the processes of a job, beside the run's id, which is a
/// setting, what tells programs that record themselves of plugins, and what tests and benchmarks read.
const OTHERS: &[&str] = &[
    "RANKSCOPE_RUN_DIR",
    "RANKSCOPE_RAW_DIR",
    "RANKSCOPE_PROFILE",
    "RANKSCOPE_PLUGINS",
    "RANKSCOPE_CUDA_LIBRARY",
    "RANKSCOPE_CUPTI_LIBRARY",
    "RANKSCOPE_CUPTI_RECORDS",
    "RANKSCOPE_CUPTI_WHEELS",
    "RANKSCOPE_NCCL_CHAIN",
    "RANKSCOPE_NCCL_EVENTS",
    "RANKSCOPE_NCCL_LIBRARY",
    "RANKSCOPE_NCCL_RING",
    "RANKSCOPE_NCCL_TEST_HOST",
    "RANKSCOPE_KFD",
    "RANKSCOPE_NVML_LIBRARY",
    "RANKSCOPE_PJRT_FORWARD",
    "RANKSCOPE_PJRT_LIBRARY",
    "RANKSCOPE_ROCM_SMI_LIBRARY",
    "RANKSCOPE_ROCPROFILER_LIBRARY",
    "RANKSCOPE_SCRATCH",
    "RANKSCOPE_SYS",
    "RANKSCOPE_CLOCK_DIR",
    "RANKSCOPE_AGENT",
    "RANKSCOPE_CORPUS",
    "RANKSCOPE_SKIPS",
    "RANKSCOPE_REQUIRE",
    "RANKSCOPE_TORCH_PYTHON",
    "RANKSCOPE_JAX_PYTHON",
    "RANKSCOPE_BENCH_PYTHON",
];

/// Whatever starts so was meant for us. `XLA_ENABLE_` and `XLA_GRAPH_` are not among them, because XLA has variables of those
/// names, too: there, and in all of `XLA_`, only what is nearly one of ours is.
const PREFIXES: [&str; 5] = ["RANKSCOPE_", "XLA_PROBE_", "XLA_PACKET_", "XLA_SNAPSHOT_", "XLA_DIST_PROF_"];

#[cfg(test)]
mod tests;
