//! `plan.json`: what is to be mapped, frozen by whoever comes first, so that every worker sees the same inputs in the same places.
//!
//! No worker lists a folder again once the plan is there, and none works by other rules. What is known of the job beside its
//! traces is frozen, too: parts may be judged where the run directory is not. A plan that was made with relative paths says which
//! folder they start in, as workers seldom start there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf, absolute};

use rankscope_analyze::ClassMode;
use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_job::{Facts, Failure, Rules};
use rankscope_run::{Found, InputFile, ObjectIdentity, discover_all, identity, is_stored};
use serde::{Deserialize, Serialize};

use crate::clocks::may_have_clocks;
use crate::division::Division;
use crate::error::PartsFault;
use crate::facts::{Clues, facts};
use crate::node_counters::NodeCounters;
use crate::{Error, Reading};

const NS_PER_S: u128 = 1_000_000_000;

/// Layout version of the plan.
const SCHEMA: u32 = 1;

/// What is to be mapped, and by what rules.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Plan {
    schema: u32,
    /// What was asked for, for headings.
    pub(crate) title: String,
    pub(crate) rules: PlannedRules,
    pub(crate) inputs: Vec<PlannedInput>,
    pub(crate) attempts: Vec<String>,
    world_size: Option<u32>,
    failure: Option<PlannedFailure>,
    nodes: BTreeMap<u32, u32>,
    /// Where measured clocks are.
    pub(crate) clocks: Option<PathBuf>,
    /// Where counters of the nodes are; plans of runs without such, and of before parts knew GPUs, do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    counters: Option<PathBuf>,
    /// Where relative paths start; plans without such do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<PathBuf>,
}

/// One file, as it was when the plan was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlannedInput {
    pub(crate) path: PathBuf,
    named: bool,
    earlier: bool,
    bytes: u64,
    modified_ns: u128,
    /// What a store calls its content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    etag: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PlannedRules {
    accounting: u32,
    classes: PlannedClasses,
    patterns: Vec<String>,
    devices_only: bool,
    /// Plans of before there were checks do not say.
    #[serde(default)]
    checks: bool,
    /// Nor do those of before there were tables.
    #[serde(default)]
    tables: bool,
    /// And those of before there were execution graphs.
    #[serde(default)]
    answers: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PlannedClasses {
    Default,
    Tracelens,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct PlannedFailure {
    rank: Option<u32>,
    text: String,
}

impl Plan {
    /// The plan for the files that `paths` mean, by `rules`; clocks from the folder `clocks` where the user named one.
    pub(crate) fn of(paths: &[PathBuf], clocks: Option<&Path>, rules: &Rules) -> Result<Self, Error> {
        let Found { files, attempts, mut identities } = discover_all(paths)?;
        let planned = |file: InputFile| match identities.remove(&file.path) {
            Some(identity) => Ok(PlannedInput::known(file, identity)),
            None => PlannedInput::of(file),
        };
        let clues = Clues::of(paths, clocks);
        let Facts { world_size, failure, nodes, .. } = facts(&clues, false)?;
        // A run without clocks need not be where parts are judged.
        let has_clocks = |folder: &&Path| clocks.is_some() || may_have_clocks(folder);
        let measured = clues.clock_folder().filter(has_clocks).map(Path::to_owned);
        let starts_here = |path: &Path| path.is_relative() && !is_stored(path);
        let is_relative = files.iter().any(|file| starts_here(&file.path)) || measured.as_deref().is_some_and(starts_here);
        // Where there is no such folder any more, its paths lead nowhere, and no file would have been found.
        let folder = is_relative.then(|| absolute(".").ok()).flatten();
        Ok(Self {
            schema: SCHEMA,
            title: crate::title(paths),
            rules: PlannedRules::of(rules),
            inputs: files.into_iter().map(planned).collect::<Result<_, _>>()?,
            attempts: attempts.iter().map(|folder| folder.display().to_string()).collect(),
            world_size,
            failure: failure.map(|Failure { rank, text }| PlannedFailure { rank, text }),
            nodes,
            clocks: measured,
            counters: NodeCounters::folder(&clues),
            folder,
        })
    }

    /// Whether it is about the same inputs by the same rules as `other`, wherever relative paths start, and whether or not it knows of
    /// counters, which change no part.
    pub(crate) fn is_as(&self, other: &Self) -> bool {
        *self == Self { folder: self.folder.clone(), counters: self.counters.clone(), ..other.clone() }
    }

    /// Where its relative paths start, where it has such and that is not where this process stands.
    pub(crate) fn elsewhere(&self) -> Option<&Path> {
        let here = absolute(".").ok();
        self.folder.as_deref().filter(|folder| here.as_deref() != Some(folder))
    }

    /// Where measured clocks are, seen from here.
    pub(crate) fn clock_folder(&self) -> Option<PathBuf> {
        Some(self.seen_here(self.clocks.as_deref()?))
    }

    /// What nodes recorded beside the job, as far as it can be seen from here.
    pub(crate) fn counters(&self) -> NodeCounters {
        self.counters.as_deref().map(|counters| NodeCounters::in_folder(&self.seen_here(counters))).unwrap_or_default()
    }

    /// The folder that the plan calls so.
    fn seen_here(&self, planned: &Path) -> PathBuf {
        let there = self.folder.as_deref().map(|folder| folder.join(planned));
        there.filter(|there| !planned.is_dir() && there.is_dir()).unwrap_or_else(|| planned.to_owned())
    }

    /// What the inputs come to.
    pub(crate) fn division(&self) -> Division {
        let files = self.inputs.iter().map(|input| (input.path.as_path(), input.bytes));
        Division::of(files, self.rules().want_arguments())
    }

    /// How much of each trace its rules want read.
    pub(crate) fn reading(&self) -> Reading {
        let scope = if self.rules.devices_only { Scope::Device } else { Scope::All };
        Reading { args: ArgsPolicy::Analysis, scope }
    }

    /// The plans of several nodes, which lie below `folder`, as one; their inputs one after the other.
    pub(crate) fn joined(folder: &Path, plans: &[(PathBuf, Self)]) -> Result<Self, Error> {
        let [(_, first), others @ ..] = plans else {
            return Err(Error::Parts { path: folder.to_owned(), fault: PartsFault::NoPlan { folder: folder.to_owned() } });
        };
        let mut all = first.clone();
        if !others.is_empty() {
            all.title = folder.display().to_string();
        }
        for (path, plan) in others {
            if plan.rules != all.rules {
                return Err(Error::Parts { path: path.clone(), fault: PartsFault::OtherPlan });
            }
            all.inputs.extend(plan.inputs.iter().cloned());
            all.attempts.extend(plan.attempts.iter().cloned());
            all.world_size = all.world_size.max(plan.world_size);
            all.failure = all.failure.or_else(|| plan.failure.clone());
            all.nodes.extend(plan.nodes.iter().map(|(rank, node)| (*rank, *node)));
            all.clocks = all.clocks.or_else(|| plan.clocks.clone());
            all.counters = all.counters.or_else(|| plan.counters.clone());
        }
        Ok(all)
    }

    /// It, as it was read from `path`, unless it is of a newer schema.
    pub(crate) fn understood(self, path: &Path) -> Result<Self, Error> {
        let fault = PartsFault::Newer { schema: self.schema };
        if self.schema > SCHEMA { Err(Error::Parts { path: path.to_owned(), fault }) } else { Ok(self) }
    }

    /// What parts of it were made by.
    pub(crate) fn rules(&self) -> Rules {
        let PlannedRules { accounting, classes, patterns, devices_only, checks, tables, answers } = self.rules.clone();
        let classes = match classes {
            PlannedClasses::Default => ClassMode::Default,
            PlannedClasses::Tracelens => ClassMode::Tracelens,
        };
        let mut rules =
            Rules::new(classes, patterns, devices_only).with_checks(checks).with_tables(tables).with_answers(answers);
        rules.accounting = accounting;
        rules
    }

    /// What is known of the job beside its traces; its clocks are not in a plan.
    pub(crate) fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        facts.world_size = self.world_size;
        facts.failure = self.failure.clone().map(|PlannedFailure { rank, text }| Failure { rank, text });
        facts.nodes = self.nodes.clone();
        facts
    }
}

impl PlannedRules {
    fn of(rules: &Rules) -> Self {
        Self {
            accounting: rules.accounting,
            classes: match rules.classes {
                ClassMode::Tracelens => PlannedClasses::Tracelens,
                _ => PlannedClasses::Default,
            },
            patterns: rules.patterns.clone(),
            devices_only: rules.devices_only,
            checks: rules.checks,
            tables: rules.tables,
            answers: rules.answers,
        }
    }
}

impl PlannedInput {
    fn of(file: InputFile) -> Result<Self, Error> {
        let identity = identity(&file.path)?;
        Ok(Self::known(file, identity))
    }

    fn known(file: InputFile, identity: ObjectIdentity) -> Self {
        let InputFile { path, named, earlier } = file;
        let ObjectIdentity { bytes, etag, modified_ns } = identity;
        Self { bytes, modified_ns, etag, path, named, earlier }
    }

    pub(crate) fn file(&self) -> InputFile {
        InputFile { path: self.path.clone(), named: self.named, earlier: self.earlier }
    }

    /// Whether the file is still what it was.
    pub(crate) fn is_unchanged(&self) -> bool {
        let Ok(now) = Self::of(self.file()) else { return false };
        match (&self.etag, &now.etag) {
            // Some stores quote it in one answer and not in another.
            (Some(planned), Some(etag)) => planned.trim_matches('"') == etag.trim_matches('"') && self.bytes == now.bytes,
            // A list and an object by itself need not tell the same: etags may be missing in one, and parts of a second in the other.
            _ if is_stored(&self.path) => self.bytes == now.bytes && self.modified_ns / NS_PER_S == now.modified_ns / NS_PER_S,
            _ => now == *self,
        }
    }
}
