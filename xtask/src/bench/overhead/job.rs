//! The jobs that are slowed or not: four ranks each, as a command that takes the number of steps and a folder for its figures.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use crate::bench::child;
use crate::cargo;

/// How a job is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Way {
    Bare,
    /// Under `rankscope run`.
    Run,
    /// And recorded by itself.
    Recorded,
}

/// What a run says of itself.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Figures {
    /// A step of the first rank.
    pub(super) step_ms: f64,
    /// The longest of all ranks.
    pub(super) loop_s: f64,
    /// Of all ranks.
    pub(super) cpu_s: f64,
    /// Of all processes, less those of the ranks' loops.
    pub(super) beside_cpu_s: f64,
}

/// What a rank leaves in the folder.
#[derive(Deserialize)]
struct OfRank {
    step_ms: f64,
    loop_s: f64,
    cpu_s: f64,
}

pub(super) struct Job {
    pub(super) name: &'static str,
    /// Bare is the first.
    pub(super) ways: &'static [Way],
    /// Enough of them for about a second: the shorter, the more alike is what the machine does meanwhile.
    pub(super) steps: u64,
    /// Before the steps and the folder.
    command: Vec<OsString>,
    rankscope: PathBuf,
    folder: PathBuf,
}

const RANKS: u32 = 4;
const PYTHON: &str = "RANKSCOPE_BENCH_PYTHON";

impl Job {
    /// The example of rankscope-record.
    pub(super) fn rust(rankscope: &Path, target: &Path) -> Result<Self> {
        let build = ["build", "--release", "--locked", "--package", "rankscope-record", "--example", "train_loop"];
        if !cargo::command(build).status().context("failed to start cargo")?.success() {
            bail!("the training loop does not build");
        }
        let program = target.join("release/examples/train_loop");
        let ways = &[Way::Bare, Way::Run, Way::Recorded];
        Ok(Self::new("training loop in Rust", ways, 100, vec![program.into()], rankscope, target))
    }

    /// Torch, where a Python has it.
    pub(super) fn torch(rankscope: &Path, target: &Path) -> Result<Self, String> {
        let python = std::env::var_os(PYTHON).unwrap_or_else(|| "python3".into());
        let has_torch = Command::new(&python).args(["-c", "import torch"]).stderr(Stdio::null()).status();
        if !has_torch.is_ok_and(|status| status.success()) {
            return Err(format!("torch: {} has none; {PYTHON} may name a Python that has", python.display()));
        }
        let script = cargo::root().join("benches/overhead/ddp.py");
        Ok(Self::new("torch, DDP over gloo", &[Way::Bare, Way::Run], 60, vec![python, script.into()], rankscope, target))
    }

    fn new(
        name: &'static str,
        ways: &'static [Way],
        steps: u64,
        command: Vec<OsString>,
        rankscope: &Path,
        target: &Path,
    ) -> Self {
        Self { name, ways, steps, command, rankscope: rankscope.to_owned(), folder: target.join("bench/overhead") }
    }

    /// Runs it once.
    pub(super) fn run(&self, way: Way) -> Result<Figures> {
        let (cost, ranks) = self.execute(way, self.steps, &[])?;
        let cpu_s = ranks.iter().map(|rank| rank.cpu_s).sum();
        Ok(Figures {
            step_ms: ranks.first().map_or(f64::NAN, |rank| rank.step_ms),
            loop_s: ranks.iter().map(|rank| rank.loop_s).fold(0.0, f64::max),
            cpu_s,
            beside_cpu_s: cost.cpu_seconds - cpu_s,
        })
    }

    /// Runs each rank behind the command `before`, which finds `FOLDER` and `RANK` in its environment, and returns that folder.
    pub(super) fn run_behind(&self, way: Way, steps: u64, before: &[&str]) -> Result<PathBuf> {
        self.execute(way, steps, before)?;
        Ok(self.folder.clone())
    }

    fn execute(&self, way: Way, steps: u64, before: &[&str]) -> Result<(child::Cost, Vec<OfRank>)> {
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).context("failed to clear the benchmark's folder")?;
        }
        fs::create_dir_all(&self.folder).context("failed to make the benchmark's folder")?;
        let said = self.folder.join("said");
        let mut command = self.command(way, steps, before)?;
        // Not into a file: where a disk is busy, a line of output can take longer than a step.
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&said)?);
        let (cost, code) = child::run(&mut command)?;
        if code != 0 {
            bail!("{} {way:?} ended with {code}:\n{}", self.name, fs::read_to_string(&said).unwrap_or_default());
        }
        let rank = |rank: u32| -> Result<OfRank> {
            let text = fs::read(self.folder.join(format!("rank-{rank}.json")));
            Ok(serde_json::from_slice(&text.with_context(|| format!("rank {rank} left no figures"))?)?)
        };
        Ok((cost, (0..RANKS).map(rank).collect::<Result<_>>()?))
    }

    fn command(&self, way: Way, steps: u64, before: &[&str]) -> Result<Command> {
        let steps = steps.to_string();
        let mut rank: Vec<&OsStr> = before.iter().map(OsStr::new).collect();
        rank.extend(self.command.iter().map(OsString::as_os_str));
        rank.extend([OsStr::new(&steps), self.folder.as_os_str()]);
        if way == Way::Recorded {
            rank.push(OsStr::new("record"));
        }
        let mut command = match way {
            Way::Bare => Command::new("sh"),
            Way::Run | Way::Recorded => Command::new(&self.rankscope),
        };
        match way {
            // As plain as a launcher can be.
            Way::Bare => command.args(["-c", LAUNCH, "sh", &RANKS.to_string(), &free_port()?.to_string()]),
            // Its report is made when the job is over, and is not what the job waits for.
            Way::Run | Way::Recorded => {
                command.args(["run", "--no-report", "--out"]).arg(self.folder.join("run"));
                command.args(["-n", &RANKS.to_string(), "--"])
            }
        };
        command.args(rank).current_dir(&self.folder).env("FOLDER", &self.folder);
        Ok(command)
    }
}

/// Ranks beside each other; one that fails leaves no figures.
const LAUNCH: &str = r#"
ranks=$1; export WORLD_SIZE=$1 LOCAL_WORLD_SIZE=$1 MASTER_ADDR=127.0.0.1 MASTER_PORT=$2; shift 2
rank=0
while [ $rank -lt $ranks ]; do RANK=$rank LOCAL_RANK=$rank "$@" & rank=$((rank + 1)); done
wait
"#;

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no port is free")?;
    Ok(listener.local_addr()?.port())
}

impl Figures {
    /// The median of each.
    pub(super) fn medians(runs: &[Self]) -> Self {
        let median = |of: fn(&Self) -> f64| {
            let mut values: Vec<f64> = runs.iter().map(of).collect();
            values.sort_by(f64::total_cmp);
            values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
        };
        Self {
            step_ms: median(|run| run.step_ms),
            loop_s: median(|run| run.loop_s),
            cpu_s: median(|run| run.cpu_s),
            beside_cpu_s: median(|run| run.beside_cpu_s),
        }
    }
}
