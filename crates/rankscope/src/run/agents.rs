//! The clock agent beside the job: a child of ours in a process group of its own, which no terminal signal reaches, and which ends
//! with us however we end.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use rankscope_probe::launch::command::Agents;
use rankscope_run::{SideFile, read_side_text};

use super::directory::Directory;
use super::job::free_port;
use crate::agent::{MINUTES, minutes_name};
use crate::output;

/// An agent, or what starts agents on all nodes.
pub(super) struct AgentProcess {
    child: RefCell<Child>,
    log: PathBuf,
    missed: Cell<bool>,
}

impl AgentProcess {
    /// Starts what `plan` says; if that cannot be, says so in one line.
    pub(super) fn start(plan: &Agents, directory: &Directory) -> Option<Self> {
        if let Agents::Impossible(why) = plan {
            say(why);
            return None;
        }
        match Self::try_start(plan, directory) {
            Ok(agent) => agent,
            Err(error) => {
                say(&format!("{error:#}"));
                None
            }
        }
    }

    fn try_start(plan: &Agents, directory: &Directory) -> Result<Option<Self>> {
        let own = std::env::current_exe().context("this program does not find itself")?;
        let mut command = Command::new(&own);
        command.args(["run", "--tied", &std::process::id().to_string(), "--"]);
        let log = match plan {
            Agents::Here { local_rank: 1.., .. } | Agents::Impossible(_) => return Ok(None),
            Agents::Here { node, num_nodes, place, .. } => {
                command.env("RANKSCOPE_RANK", node.to_string()).env("RANKSCOPE_NUM_NODES", num_nodes.to_string());
                let place = match place {
                    Some(place) => place.to_string(),
                    // Nobody else comes, but it waits there.
                    None => format!("tcp://127.0.0.1:{}", free_port()?),
                };
                command.env("RANKSCOPE_RENDEZVOUS", place);
                format!("agent-node{node}.log")
            }
            Agents::Everywhere { prefix, place, .. } => {
                command.args(prefix).env_remove("RANKSCOPE_RANK").env_remove("RANKSCOPE_NUM_NODES");
                if let Some(place) = place {
                    command.env("RANKSCOPE_RENDEZVOUS", place.to_string());
                }
                "agents.log".to_owned()
            }
        };
        let log = directory.clock().join(log);
        let written = File::create(&log).with_context(|| log.display().to_string())?;
        command.arg(&own).arg("agent").process_group(0);
        command.stdin(Stdio::null()).stdout(written.try_clone()?).stderr(written);
        command.env("RANKSCOPE_OUTPUT_DIR", directory.clock()).env("RANKSCOPE_RUN_ID", directory.run_id());
        command.env("RANKSCOPE_CLOCK_SNAPSHOTS", "true");
        let child = command.spawn().context("its process does not start")?;
        Ok(Some(Self { child: RefCell::new(child), log, missed: Cell::new(false) }))
    }

    /// Says once if it is gone while the job runs.
    pub(super) fn notice(&self) {
        if !self.missed.get() && !matches!(self.child.borrow_mut().try_wait(), Ok(None)) {
            self.missed.set(true);
            say(&last_line(&self.log));
        }
    }

    /// Asks it to write what it has and to end, and sees to it that it does.
    pub(super) fn stop(self) {
        self.notice();
        let mut child = self.child.into_inner();
        let deadline = Instant::now() + STOP_WITHIN;
        let group = Pid::from_raw(child.id().cast_signed());
        if !matches!(child.try_wait(), Ok(None)) {
            return;
        }
        let _gone = killpg(group, Signal::SIGTERM);
        while matches!(child.try_wait(), Ok(None)) {
            if Instant::now() > deadline {
                let _gone = killpg(group, Signal::SIGKILL);
                let _reaped = child.wait();
                say("the agent did not end when asked, and was killed");
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Removes from `clock` what agents agreed on in secret: that of `node`, or all of it. Nobody joins a job that is over.
pub(super) fn forget_minutes(clock: &Path, node: Option<u32>) {
    let own = node.map(minutes_name);
    for entry in fs::read_dir(clock).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if own.as_deref().map_or_else(|| name.starts_with(MINUTES), |own| own == name) {
            let _gone = fs::remove_file(entry.path());
        }
    }
}

/// An agent takes half a second to end; one behind a launcher somewhat longer.
const STOP_WITHIN: Duration = Duration::from_secs(5);

fn say(why: &str) {
    output::remark(&format!("rankscope: clocks are not measured: {why}"));
}

fn last_line(log: &Path) -> String {
    let text = read_side_text(log, SideFile::Record).unwrap_or_default();
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("the agent ended");
    line.strip_prefix("rankscope: ").unwrap_or(line).to_owned()
}

/// What `program --version` prints; none if it takes its time.
pub(super) fn version(program: &str) -> Option<String> {
    let mut asked = Command::new(program);
    asked.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = asked.spawn().ok()?;
    let deadline = Instant::now() + ANSWER_WITHIN;
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() > deadline {
            let _gone = child.kill();
            let _reaped = child.wait();
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Some(String::from_utf8_lossy(&child.wait_with_output().ok()?.stdout).into_owned())
}

/// A job does not wait long for what is only asked for its clocks.
const ANSWER_WITHIN: Duration = Duration::from_secs(2);
