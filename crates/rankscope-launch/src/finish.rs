//! After the job: who was there, how it ended, and the report.
//!
//! All of it happens on a thread beside, and the report in a process of its own, so that it can be left at any time: after a
//! limit, or at a signal. The exit code is known before it begins.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rankscope_probe::launch::command::{Agents, JobCommand, Launcher};
use rankscope_run::{NodePart, RankEntry, SideFile, node_part, read_side_text};

use crate::agents;
use crate::collect::Collection;
use crate::directory::{self, Directory};
use crate::error::Error;
use crate::executable::{Executable, last_said};
use crate::hooks;
use crate::left::Left;
use crate::map_here::map_here;
use crate::notice::{CutShort, Notice, Observer};
use crate::outcome::Outcome;
use crate::profile::ProfilePlan;
use crate::signals::{Heard, Signals};
use crate::summary::{Reported, Summary};
use crate::words::{RankWord, Words};

/// What is to be done.
pub(crate) struct Finish {
    pub(crate) collection: Collection,
    /// Whether ranks were asked for by their number, with -n.
    pub(crate) numbered: bool,
    pub(crate) report: bool,
    /// Where this node's parts go, if it maps.
    pub(crate) map: Option<PathBuf>,
    pub(crate) profile: Option<ProfilePlan>,
}

/// Completes the run directory within `limit`, and tells `observer`. What fails is told, and the rest is done.
pub(crate) fn finish(
    directory: Directory,
    described: JobCommand,
    outcome: Outcome,
    what: Finish,
    signals: &Signals,
    limit: Duration,
    observer: &Arc<dyn Observer>,
) {
    let run = directory.path().to_owned();
    // Signals until now were for the job.
    signals.forget();
    let done = signals.sender();
    let told = Arc::clone(observer);
    let thread = std::thread::Builder::new().name("rankscope-finish".to_owned()).spawn(move || {
        complete(directory, &described, outcome, what, &*told);
        let _nobody_waits = done.send(Heard::Done);
    });
    if let Err(error) = thread {
        observer.notice(&Notice::NotCompleted { run, reason: error.to_string() });
        return;
    }
    let deadline = Instant::now() + limit;
    let why = loop {
        match signals.next(Some(deadline)) {
            Heard::Done => return,
            heard if heard.ends() => break CutShort::Signal,
            Heard::Nothing if Instant::now() >= deadline => break CutShort::Limit,
            _ => {}
        }
    };
    observer.notice(&Notice::CutShort { run, why });
}

fn complete(mut directory: Directory, described: &JobCommand, outcome: Outcome, what: Finish, observer: &dyn Observer) {
    if !directory.path().is_dir() {
        return observer.over(&Summary::of_removed(directory.path(), directory.run_id(), &outcome));
    }
    what.collection.into_raw(&directory.raw(), observer);
    if directory.seat.local > 0 {
        return;
    }
    let words = Words::of(directory.path());
    for part in parts(&directory, described, &words.ranks) {
        tell(node_part(directory.path(), &part), "the command could not be recorded", observer);
    }
    let path = directory.path().to_owned();
    wait_for_nodes(&directory, observer);
    forget_secrets(&directory, &outcome);
    if directory.manifest.is_none() {
        what.map.iter().for_each(|parts| map_here(&directory, parts, observer));
    }
    let Some(manifest) = &mut directory.manifest else { return };
    hooks::remove(&path);
    // Ranks of other nodes have had their word since.
    let words = Words::of(&path);
    let world_size = words.ranks.iter().filter_map(|word| word.world_size).max();
    let alone = !what.numbered && described.launcher == Launcher::None;
    let noted = manifest.update(|manifest| {
        manifest.world_size = manifest.world_size.or(world_size);
        if let Some(attempt) = manifest.attempts.last_mut() {
            (attempt.ends, attempt.asked_by_signal) = (words.ends(&outcome, alone), outcome.asked_by_signal);
            attempt.profiled = words.profiled();
        }
    });
    tell(noted, MANIFEST, observer);
    tell(manifest.finish(outcome.exit), MANIFEST, observer);
    what.map.iter().for_each(|parts| map_here(&directory, parts, observer));
    let Some(manifest) = &mut directory.manifest else { return };
    let left = Left::of(&path, manifest.manifest().world_size);
    let reported = match left.files {
        _ if !what.report => Reported::NotWanted,
        0 => Reported::NoTraces,
        _ => match report(&path) {
            Ok(()) => Reported::read(&path.join("report/report.json")),
            Err(error) => Reported::Failed(error),
        },
    };
    tell(manifest.seal(), MANIFEST, observer);
    let summary = Summary {
        run: &path,
        run_id: &manifest.manifest().run_id,
        outcome: &outcome,
        failed: manifest.first_failure().filter(|_| outcome.started),
        left: reported.left().unwrap_or(left),
        notes: words.ranks.iter().filter_map(|word| word.note.as_deref()).collect(),
        profiled: manifest.manifest().attempts.last().map(|attempt| attempt.profiled.as_slice()).unwrap_or_default(),
        asked: what.profile.as_ref(),
        reported,
    };
    observer.over(&summary);
}

const MANIFEST: &str = "run.json";

/// What the agents share in secret goes when nobody can join again: of all nodes where this process leads, of a node whose
/// part of the job ended well otherwise. One that failed may be started again, and then finds the others by it.
fn forget_secrets(directory: &Directory, outcome: &Outcome) {
    if directory.manifest.is_some() {
        agents::forget_secrets(&directory.clock(), None);
    } else if outcome.exit.is_success() {
        agents::forget_secrets(&directory.clock(), Some(directory.seat.node));
    }
}

fn tell(done: Result<(), rankscope_run::Error>, what: &'static str, observer: &dyn Observer) {
    if let Err(reason) = done {
        observer.notice(&Notice::NotRecorded { what, reason });
    }
}

/// Who was on which node. A process that sees to one node speaks for that; one that sees to all tells them apart by what the
/// ranks' launcher said, or by their hosts.
fn parts(directory: &Directory, described: &JobCommand, words: &[RankWord]) -> Vec<NodePart> {
    let entry =
        |node: u32, word: &RankWord| RankEntry { rank: word.rank, node, host: Some(word.host.clone()), pid: Some(word.pid) };
    if let Agents::Here { num_nodes, .. } = described.agents {
        let (node, host) = (directory.seat.node, directory::host());
        let own = words.iter().filter(|word| num_nodes == 1 || word.host == host);
        let ranks = own.map(|word| entry(node, word)).collect();
        return vec![NodePart { node, host, ranks }];
    }
    let mut hosts: Vec<&str> = Vec::new();
    let mut nodes: BTreeMap<u32, NodePart> = BTreeMap::new();
    for word in words {
        let seen = hosts.iter().position(|host| *host == word.host).unwrap_or_else(|| {
            hosts.push(&word.host);
            hosts.len() - 1
        });
        let node = word.node.unwrap_or(seen as u32);
        let part = nodes.entry(node).or_insert_with(|| NodePart { node, host: word.host.clone(), ranks: Vec::new() });
        part.ranks.push(entry(node, word));
    }
    nodes.into_values().collect()
}

/// Other nodes' jobs end at about the same time; each says so by its part.
fn wait_for_nodes(directory: &Directory, observer: &dyn Observer) {
    let seat = directory.seat;
    if directory.manifest.is_none() || seat.num_nodes == 1 {
        return;
    }
    let deadline = Instant::now() + NODES_WITHIN;
    let part = |node: u32| directory.path().join("nodes").join(format!("node-{node}.json"));
    while let Some(missing) = (0..seat.num_nodes).find(|node| !part(*node).exists()) {
        if Instant::now() > deadline {
            return observer.notice(&Notice::NodeMissing { node: missing, run: directory.path().to_owned() });
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

const NODES_WITHIN: Duration = Duration::from_secs(30);

/// Aligns and reports in a process of its own, which ends with this thread. Whatever happens to its memory and its threads does
/// not happen to this process.
fn report(run: &Path) -> Result<(), Error> {
    let own = Executable::own()?;
    let log = run.join(".rankscope-report.log");
    let mut command = own.tied();
    command.args(own.report(run));
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(File::create(&log).map_err(Error::Stream)?);
    let status = command.status().map_err(Error::NoProcess)?;
    let said = read_side_text(&log, SideFile::Record).unwrap_or_default();
    let _stays = fs::remove_file(&log);
    if !status.success() {
        return Err(Error::Report(last_said(&said).unwrap_or("its process failed").to_owned()));
    }
    Ok(())
}
