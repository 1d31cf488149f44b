//! After the job: who was there, how it ended, and the report. Bounded in time, ended at once by a signal, and of no influence on
//! the exit code: the report is made by a process of its own.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rankscope_probe::launch::command::{Agents, JobCommand};
use rankscope_run::{NodePart, RankEntry, node_part};
use serde_json::{Value, json};

use super::collect::{RankWord, rank_words};
use super::directory::{self, Directory};
use super::hooks;
use super::outcome::Outcome;
use super::signals::{Heard, Signals};
use crate::output::{self, Format};

/// What finishing may do.
pub(super) struct Limits {
    pub(super) report: bool,
    pub(super) within: Duration,
}

/// Completes the run directory and says where it is. What fails is said, and the rest is done.
pub(super) fn finish(
    directory: &mut Directory,
    described: &JobCommand,
    outcome: &Outcome,
    limits: &Limits,
    signals: &Signals,
    format: Format,
) {
    if directory.seat.local > 0 {
        return;
    }
    // Signals until now were for the job.
    signals.asked_to_end();
    let deadline = Instant::now() + limits.within;
    let words = rank_words(directory.path());
    for part in parts(directory, described, &words) {
        tell(node_part(directory.path(), &part).context("what ran here is not written down"));
    }
    let path = directory.path().to_owned();
    wait_for_nodes(directory, deadline, signals);
    let Some(manifest) = &mut directory.manifest else { return };
    hooks::remove(&path);
    let world_size = words.iter().filter_map(|word| word.world_size).max();
    tell(manifest.update(|manifest| manifest.world_size = manifest.world_size.or(world_size)).context("run.json"));
    tell(manifest.finish(outcome.exit).context("run.json"));
    let traces = traces(&path);
    let reported = match (limits.report, traces) {
        (false, _) => Err(None),
        (true, 0) => Err(Some(NO_TRACES.to_owned())),
        (true, _) => report(&path, deadline, signals).map_err(|error| Some(format!("there is no report: {error:#}"))),
    };
    tell(manifest.seal().context("run.json"));
    say(&path, manifest.manifest().run_id.as_str(), outcome, traces, reported, format);
}

const NO_TRACES: &str = "no traces were left in it: profile with torch.profiler or jax.profiler, record with rankscope-record, or \
                         name the files with --collect";

fn tell(done: Result<()>) {
    if let Err(error) = done {
        output::remark(&format!("rankscope: {error:#}"));
    }
}

/// Who was on which node. A process that sees to one node speaks for that; one that sees to all tells them apart by what the
/// ranks' launcher said, or by their hosts.
fn parts(directory: &Directory, described: &JobCommand, words: &[RankWord]) -> Vec<NodePart> {
    let host = directory::host();
    let entry =
        |node: u32, word: &RankWord| RankEntry { rank: word.rank, node, host: Some(word.host.clone()), pid: Some(word.pid) };
    if let Agents::Here { num_nodes, .. } = described.agents {
        let node = directory.seat.node;
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
fn wait_for_nodes(directory: &Directory, deadline: Instant, signals: &Signals) {
    let seat = directory.seat;
    if directory.manifest.is_none() || seat.num_nodes == 1 {
        return;
    }
    let deadline = deadline.min(Instant::now() + NODES_WITHIN);
    let part = |node: u32| directory.path().join("nodes").join(format!("node-{node}.json"));
    while let Some(missing) = (0..seat.num_nodes).find(|node| !part(*node).exists()) {
        if Instant::now() > deadline || signals.asked_to_end() {
            let where_to = directory.path().display();
            output::remark(&format!(
                "rankscope: node {missing} has not written into {where_to}; if its disk is another, copy its raw/ and clock/ there"
            ));
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

const NODES_WITHIN: Duration = Duration::from_secs(30);

/// Files of traces in the run.
fn traces(run: &Path) -> usize {
    let Ok(entries) = fs::read_dir(run.join("raw")) else { return 0 };
    entries.flatten().filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b".") && entry.path().is_file()).count()
}

/// Aligns and reports in a process of its own, and returns what was found. Whatever happens to that process, its memory and its
/// threads, does not happen to this one.
fn report(run: &Path, deadline: Instant, signals: &Signals) -> Result<Vec<String>> {
    let log = run.join(".rankscope-report.log");
    let own = std::env::current_exe().context("this program does not find itself")?;
    let mut command = Command::new(&own);
    command.args(["run", "--tied", &std::process::id().to_string(), "--"]).arg(&own);
    command.arg("report").arg(run).arg("--out").arg(run.join("report")).arg("--partial");
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&log)?);
    let mut child = command.spawn().context("its process does not start")?;
    let group = Pid::from_raw(child.id().cast_signed());
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Ok(status);
        }
        match signals.next(Some(deadline)) {
            Heard::Signal { number, .. } if ENDING.iter().any(|signal| *signal as i32 == number) => break Err("interrupted"),
            Heard::Nothing if Instant::now() >= deadline => break Err("it took too long (--finish-within)"),
            _ => {}
        }
    };
    let said = fs::read_to_string(&log).unwrap_or_default();
    let _stays = fs::remove_file(&log);
    match status {
        Err(why) => {
            let _gone = killpg(group, Signal::SIGKILL);
            let _reaped = child.wait();
            bail!("{why}. `rankscope report {}` makes it", run.display());
        }
        Ok(status) if !status.success() => {
            let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("its process failed");
            bail!("{}", last.strip_prefix("rankscope: ").unwrap_or(last));
        }
        Ok(_) => findings(&run.join("report/report.json")),
    }
}

const ENDING: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

fn findings(report: &Path) -> Result<Vec<String>> {
    let document: Value = serde_json::from_slice(&fs::read(report).with_context(|| report.display().to_string())?)?;
    let notes = document["notes"].as_array().map(Vec::as_slice).unwrap_or_default();
    let found = notes.iter().filter(|note| note["level"] == "finding").filter_map(|note| note["text"].as_str());
    Ok(found.map(str::to_owned).collect())
}

fn say(
    run: &Path,
    run_id: &str,
    outcome: &Outcome,
    traces: usize,
    reported: Result<Vec<String>, Option<String>>,
    format: Format,
) {
    let page = run.join("report/report.html");
    if format == Format::Json {
        let document = json!({
            "run": run.display().to_string(),
            "run_id": run_id,
            "exit_code": outcome.code(),
            "traces": traces,
            "report": reported.is_ok().then(|| page.display().to_string()),
            "findings": reported.as_ref().ok(),
            "problem": reported.as_ref().err(),
        });
        // Nobody may be reading any more; the run is complete all the same.
        let _nobody_reads = output::answer(&document.to_string());
        return;
    }
    output::remark(&format!(
        "rankscope: the run is in {} ({traces} {})",
        run.display(),
        if traces == 1 { "trace" } else { "traces" }
    ));
    match reported {
        Ok(findings) => {
            findings.iter().take(FINDINGS_MAX).for_each(|finding| output::remark(&format!("  {finding}")));
            output::remark(&format!("  {}", page.display()));
        }
        Err(Some(why)) => output::remark(&format!("  {why}")),
        Err(None) => {}
    }
}

/// The rest is in the report.
const FINDINGS_MAX: usize = 5;
