//! What the leading agent of a job of many nodes costs: real agents on this machine, that meet through a folder and measure one another.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};
use serde::Serialize;

use super::super::child::{self, Cost};

/// The leader of so many agents.
#[derive(Serialize)]
pub(super) struct Led {
    pub(super) agents: u32,
    /// Of the leader's process, from its start to its end.
    pub(super) cost: Cost,
    pub(super) share_of_core: f64,
}

/// Agents of a job.
const AGENTS: u32 = 64;
/// How long they measure; meeting one another counts, too.
const SECONDS: u32 = 60;
/// What the leader may take of one core, and in decimal megabytes.
const SHARE_MAX: f64 = 0.03;
const MB_MAX: f64 = 30.0;

impl Led {
    pub(super) fn is_met(&self) -> bool {
        self.share_of_core <= SHARE_MAX && self.cost.peak_mb <= MB_MAX
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

/// Measures the leader of `binary`'s agents, which also answers torch's processes.
pub(super) fn measured(binary: &Path, folder: &Path) -> Result<Led> {
    let folder = folder.join("led");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let mut others = Others(Vec::new());
    for rank in 1..AGENTS {
        others.0.push(agent(binary, &folder, rank).spawn().context("failed to start an agent")?);
    }
    let cost = child::succeed(agent(binary, &folder, 0).arg("--on-demand"))?;
    Ok(Led { agents: AGENTS, cost, share_of_core: cost.cpu_seconds / cost.seconds })
}

fn agent(binary: &Path, folder: &Path, rank: u32) -> Command {
    let mut command = Command::new(binary);
    command.args(["agent", "--rank", &rank.to_string(), "--num-nodes", &AGENTS.to_string()]);
    command.args(["--insecure", "--duration-sec", &SECONDS.to_string()]);
    command.arg(format!("--rendezvous=file://{}/meet", folder.display())).arg("--out").arg(folder.join("clocks"));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// As a Markdown table.
pub(super) fn table(led: &Led) -> String {
    let Cost { peak_mb, .. } = led.cost;
    format!(
        "\n| agents | the leader, of a core | limit | peak MB | limit |\n|--:|--:|--:|--:|--:|\n| {} | {:.1} % | {:.0} % | {peak_mb:.0} | {MB_MAX:.0} |\n",
        led.agents,
        100.0 * led.share_of_core,
        100.0 * SHARE_MAX
    )
}
