//! The agents: one process a node, each with a bent clock. None of them outlives the rig, however that ends.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context, Result, bail};
use rankscope_clock::Rng;
use rankscope_clock::simulate::SimClock;

use super::network::Network;

/// Port of the rendezvous on node 0.
const RENDEZVOUS_PORT: u16 = 29_400;
/// Offsets reach this far either way.
const OFFSET_NS: u64 = 5_000_000_000;
/// Skews reach this far either way.
const SKEW_PPB: u64 = 50_000;
/// Rates walk this much in a second.
const WANDER_PPB: u64 = 10;
/// How long an agent may take to stop before it counts as hanging.
const STOP_MAX: Duration = Duration::from_secs(5);

/// What an agent cost while it ran.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cost {
    /// User and system time over wall clock.
    pub(crate) cores: f64,
    /// Sent over the node's interface, cross traffic included.
    pub(crate) bits_per_s: f64,
}

/// One node.
struct Node {
    process: Option<Child>,
    begun: Instant,
    clock_text: String,
}

/// All of them.
pub(crate) struct Agents {
    nodes: Vec<Node>,
    binary: PathBuf,
    settings: Vec<String>,
    /// What they share: they meet over a network.
    key: String,
    /// Each node writes to its own folder below.
    pub(crate) out: PathBuf,
}

impl Agents {
    /// Starts one agent a node.
    pub(crate) fn start(network: &Network, binary: &Path, out: &Path, seed: u64, settings: &[String]) -> Result<Self> {
        if out.exists() {
            fs::remove_dir_all(out).with_context(|| format!("failed to clear {}", out.display()))?;
        }
        fs::create_dir_all(out).with_context(|| format!("failed to create {}", out.display()))?;
        let origin_ns = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_nanos() as i64;
        let mut rng = Rng::new(seed);
        let mut between = |reach: u64| rng.below(2 * reach + 1) as i64 - reach as i64;
        let nodes = (0..network.nodes)
            .map(|node| {
                let (offset_ns, skew_ppb) = if node == 0 { (0, 0) } else { (between(OFFSET_NS), between(SKEW_PPB)) };
                let clock_seed = seed * 1_000 + u64::from(node);
                let clock_text = format!(
                    "origin-ns={origin_ns},offset-ns={offset_ns},skew-ppb={skew_ppb},wander-ppb={WANDER_PPB},seed={clock_seed}"
                );
                Node { process: None, begun: Instant::now(), clock_text }
            })
            .collect();
        // Nobody but these agents is in their network, so any key will do.
        let key = format!("rig-{origin_ns}-{}", std::process::id());
        let mut agents = Self { nodes, binary: binary.to_owned(), settings: settings.to_vec(), key, out: out.to_owned() };
        (0..network.nodes).try_for_each(|node| agents.begin(node))?;
        Ok(agents)
    }

    /// Starts the agent of `node`, again if it was killed.
    pub(crate) fn begin(&mut self, node: u32) -> Result<()> {
        let folder = self.folder(node);
        fs::create_dir_all(&folder)?;
        let log = File::options().create(true).append(true).open(folder.join("agent.log"))?;
        let mut command = Network::command(node, self.binary.as_os_str());
        // The kernel ends it should the rig be killed.
        command.args(["run", "--tied", &std::process::id().to_string(), "--"]).arg(&self.binary);
        command.env("RANKSCOPE_KEY", &self.key).args([
            "agent",
            "--rank",
            &node.to_string(),
            "--num-nodes",
            &self.nodes.len().to_string(),
        ]);
        command.arg("--rendezvous").arg(format!("tcp://{}:{RENDEZVOUS_PORT}", Network::address(0)));
        command.arg("--out").arg(&folder);
        let state = &mut self.nodes[node as usize];
        command.arg("--set").arg(format!("test-clock={}", state.clock_text));
        command.args(self.settings.iter().flat_map(|setting| ["--set", setting]));
        command.stdout(log.try_clone()?).stderr(log).stdin(Stdio::null());
        state.process = Some(command.spawn().context("failed to start an agent")?);
        state.begun = Instant::now();
        Ok(())
    }

    /// Kills the agent of `node` so that it cannot say good-bye.
    pub(crate) fn kill(&mut self, node: u32) -> Result<()> {
        if let Some(mut process) = self.nodes[node as usize].process.take() {
            process.kill()?;
            process.wait()?;
        }
        Ok(())
    }

    /// What the living agents took so far.
    pub(crate) fn costs(&mut self) -> Result<Vec<Cost>> {
        let mut costs = Vec::new();
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let Some(process) = &mut node.process else { continue };
            if let Some(status) = process.try_wait()? {
                bail!(
                    "the agent of node {index} ended by itself ({status}); its log is {}",
                    self.out.join(format!("node{index}")).display()
                );
            }
            let seconds = node.begun.elapsed().as_secs_f64();
            let sent = Network::within(index as u32, "cat /sys/class/net/eth0/statistics/tx_bytes")?;
            let sent_bytes: f64 = sent.trim().parse().context("the kernel's count of sent bytes")?;
            costs.push(Cost { cores: cpu_seconds(process.id())? / seconds, bits_per_s: sent_bytes * 8.0 / seconds });
        }
        Ok(costs)
    }

    /// Asks all to stop and waits for them.
    pub(crate) fn stop(&mut self) -> Result<()> {
        for process in self.nodes.iter().filter_map(|node| node.process.as_ref()) {
            super::network::run(&format!("kill -TERM {}", process.id()))?;
        }
        let asked = Instant::now();
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let Some(process) = &mut node.process else { continue };
            while process.try_wait()?.is_none() {
                if asked.elapsed() > STOP_MAX {
                    bail!("the agent of node {index} did not stop within {} s", STOP_MAX.as_secs());
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            node.process = None;
        }
        Ok(())
    }

    /// Where the agent of `node` writes.
    pub(crate) fn folder(&self, node: u32) -> PathBuf {
        self.out.join(format!("node{node}"))
    }

    /// How the clock of `node` is bent.
    pub(crate) fn clock(&self, node: u32) -> Result<SimClock> {
        Ok(self.nodes[node as usize].clock_text.parse()?)
    }

    /// How many there were at first.
    pub(crate) fn count(&self) -> u32 {
        self.nodes.len() as u32
    }
}

impl Drop for Agents {
    fn drop(&mut self) {
        for process in self.nodes.iter_mut().filter_map(|node| node.process.as_mut()) {
            // Gone already is as good.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// User and system time of a process, from fields 14 and 15 of its stat line.
fn cpu_seconds(pid: u32) -> Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let after_name = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = after_name.split_whitespace().skip(11).take(2).filter_map(|field| field.parse::<f64>().ok());
    // The kernel reports in hundredths of a second on every platform Linux runs on.
    Ok(ticks.sum::<f64>() / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_agent_outlives_a_rig_that_fails() {
        let process = std::process::Command::new("sleep").arg("600").spawn().unwrap();
        let pid = process.id();
        let node = Node { process: Some(process), begun: Instant::now(), clock_text: String::new() };
        let agents =
            Agents { nodes: vec![node], binary: PathBuf::new(), settings: Vec::new(), key: String::new(), out: PathBuf::new() };
        let failing = |mut agents: Agents| -> Result<()> {
            // There is no such network, so its cost cannot be told.
            agents.costs()?;
            Ok(())
        };
        assert!(failing(agents).is_err());
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
}
