//! What the leading agent of a job of many nodes costs: real agents on this machine, that meet through a folder and measure one another. What
//! all of them have of its processors is told, too, because more of them than these can bear measure late.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::Value;

use super::super::child::{self, Cost};

/// The leader of so many agents.
#[derive(Serialize)]
pub(super) struct Led {
    pub(super) agents: u32,
    /// Of the leader's process, from its start to its end.
    pub(super) cost: Cost,
    pub(super) share_of_core: f64,
    /// Rounds in which every agent's clock was placed, of all but the last, which ends with them.
    pub(super) whole_rounds: usize,
    pub(super) rounds: usize,
}

/// How many agents what is asked of their leader is asked for.
pub(super) const AGENTS: u32 = 64;
/// How long they measure; meeting one another counts, too.
const SECONDS: u32 = 60;
/// What the leader may take of one core, and in decimal megabytes.
const SHARE_MAX: f64 = 0.03;
const MB_MAX: f64 = 30.0;

impl Led {
    pub(super) fn is_met(&self) -> bool {
        let is_cheap = self.share_of_core <= SHARE_MAX && self.cost.peak_mb <= MB_MAX;
        self.whole_rounds > 0 && (is_cheap || self.agents > AGENTS)
    }
}

/// Agents that are stopped when nobody waits for them any more.
struct Others(Vec<Child>);

impl Drop for Others {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _gone = child.kill();
            let _reaped = child.wait();
        }
    }
}

/// Measures the leader of `agents` of `binary`, which also answers torch's processes.
pub(super) fn measured(binary: &Path, folder: &Path, agents: u32) -> Result<Led> {
    let folder = folder.join("led");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let mut others = Others(Vec::new());
    for rank in 1..agents {
        others.0.push(agent(binary, &folder, rank, agents).spawn().context("failed to start an agent")?);
    }
    let cost = child::succeed(agent(binary, &folder, 0, agents).arg("--on-demand"))?;
    let placed = placed(&folder.join("clocks/offsets.jsonl"))?;
    let whole_rounds = placed.iter().filter(|placed| **placed == agents).count();
    Ok(Led { agents, cost, share_of_core: cost.cpu_seconds / cost.seconds, whole_rounds, rounds: placed.len() })
}

/// How many nodes were placed in each round of the clocks at `path` but the last.
fn placed(path: &Path) -> Result<Vec<u32>> {
    let text = fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
    let mut rounds = BTreeMap::<u64, u32>::new();
    for line in text.lines() {
        let line: Value = serde_json::from_str(line).with_context(|| format!("{}: {line}", path.display()))?;
        if let Some(round) = line["round_id"].as_u64() {
            *rounds.entry(round).or_default() += u32::from(line["reachable"] == true);
        }
    }
    rounds.pop_last();
    Ok(rounds.into_values().collect())
}

fn agent(binary: &Path, folder: &Path, rank: u32, agents: u32) -> Command {
    let mut command = Command::new(binary);
    command.args(["agent", "--rank", &rank.to_string(), "--num-nodes", &agents.to_string()]);
    command.args(["--insecure", "--duration-sec", &SECONDS.to_string()]);
    command.arg(format!("--rendezvous=file://{}/meet", folder.display())).arg("--out").arg(folder.join("clocks"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// As a Markdown table.
pub(super) fn table(led: &Led) -> String {
    let Cost { peak_mb, .. } = led.cost;
    format!(
        "\n| agents | the leader, of a core | limit | peak MB | limit | rounds with all clocks |\n|--:|--:|--:|--:|--:|--:|\n\
         | {} | {:.1} % | {:.0} % | {peak_mb:.0} | {MB_MAX:.0} | {} of {} |\n",
        led.agents,
        100.0 * led.share_of_core,
        100.0 * SHARE_MAX,
        led.whole_rounds,
        led.rounds
    )
}
