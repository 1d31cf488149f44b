//! The clock agent beside the job: a child of ours in a process group of its own, which no terminal signal reaches, and which ends
//! with us however we end.
//!
//! Agents of several nodes share a key that is made here. Where one launcher starts them all it passes on their environment;
//! where each node starts its own, the node that leads keeps the key in the run directory, for the user alone, and the others wait
//! for it there. It is on no command line and in no log.

use std::cell::{Cell, RefCell};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use nix::sys::signal::killpg;
use nix::unistd::Pid;
use rankscope_config::ClockSettings;
use rankscope_probe::key::SharedKey;
use rankscope_probe::launch::command::Agents;
use rankscope_probe::rendezvous::Place;
use rankscope_run::{SideFile, read_side_text};

use crate::agent::key;
use crate::agent::{MINUTES, minutes_name};
use crate::asked::ask_to_end;
use crate::directory::Directory;
use crate::error::Error;
use crate::executable::{Executable, last_said};
use crate::notice::{Notice, Observer};

/// An agent, or what starts agents on all nodes.
pub(crate) struct AgentProcess {
    child: RefCell<Child>,
    log: PathBuf,
    missed: Cell<bool>,
    observer: Arc<dyn Observer>,
}

impl AgentProcess {
    /// Starts what `plan` says; if that cannot be, says so in one line.
    pub(crate) fn start(
        plan: &Agents,
        directory: &Directory,
        settings: &ClockSettings,
        observer: Arc<dyn Observer>,
    ) -> Option<Self> {
        if let Agents::Impossible(why) = plan {
            observer.notice(&Notice::NoClocks(why.clone()));
            return None;
        }
        match try_start(plan, directory, settings) {
            Ok(Some((child, log))) => Some(Self { child: RefCell::new(child), log, missed: Cell::new(false), observer }),
            Ok(None) => None,
            Err(error) => {
                observer.notice(&Notice::NoAgent(error));
                None
            }
        }
    }

    /// Says once if it is gone while the job runs.
    pub(crate) fn notice(&self) {
        if !self.missed.get() && !matches!(self.child.borrow_mut().try_wait(), Ok(None)) {
            self.missed.set(true);
            self.observer.notice(&Notice::NoClocks(last_line(&self.log)));
        }
    }

    /// Asks it to write what it has and to end, and sees to it that it does.
    pub(crate) fn stop(self) {
        self.notice();
        let mut child = self.child.borrow_mut();
        let group = Pid::from_raw(child.id().cast_signed());
        let ended = ask_to_end(&mut child, STOP_WITHIN, |signal| {
            let _gone = killpg(group, signal);
        });
        if !ended {
            self.observer.notice(&Notice::NoClocks("the agent did not stop when asked and was killed".to_owned()));
        }
    }
}

/// The process that `plan` wants on this host, and its log; none where it wants none.
fn try_start(plan: &Agents, directory: &Directory, settings: &ClockSettings) -> Result<Option<(Child, PathBuf)>, Error> {
    let own = Executable::own()?;
    let mut command = own.tied();
    let log = match plan {
        Agents::Here { local_rank: 1.., .. } | Agents::Impossible(_) => return Ok(None),
        Agents::Here { node, num_nodes, place, .. } => {
            command.env("RANKSCOPE_RANK", node.to_string()).env("RANKSCOPE_NUM_NODES", num_nodes.to_string());
            if let Some(place) = place {
                command.env("RANKSCOPE_RENDEZVOUS", place.to_string());
            }
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
    let written = log_file(&log).map_err(Error::of(&log))?;
    command.args(own.agent()).process_group(0);
    if matches!(plan, Agents::Here { .. }) {
        // A node that failed may be started again, and finds the others by them; we see to them at the end.
        command.arg("--keep-minutes");
    }
    if matches!(plan, Agents::Everywhere { .. }) {
        // We are on one node, and see none of the others' processes.
        command.arg("--tell-ranks");
    }
    hand_on_key(&mut command, plan, directory, settings).map_err(|error| Error::NoAgentKey(Box::new(error)))?;
    command.stdin(Stdio::null()).stdout(written.try_clone().map_err(Error::Stream)?).stderr(written);
    command.env("RANKSCOPE_OUTPUT_DIR", directory.clock()).env("RANKSCOPE_RUN_ID", directory.run_id());
    command.env("RANKSCOPE_CLOCK_SNAPSHOTS", "true");
    let child = command.spawn().map_err(Error::NoProcess)?;
    Ok(Some((child, log)))
}

/// Tells agents of several nodes their key, or where they find it.
fn hand_on_key(command: &mut Command, plan: &Agents, directory: &Directory, settings: &ClockSettings) -> Result<(), Error> {
    match plan {
        Agents::Everywhere { .. } => {
            let key = match key::given(settings, Duration::ZERO, &mut |_| {})? {
                Some(key) => key,
                None => SharedKey::random().map_err(Error::Random)?,
            };
            command.env("RANKSCOPE_KEY", OsStr::from_bytes(key.reveal())).env_remove("RANKSCOPE_KEY_FILE");
        }
        // In a shared folder files keep strangers out.
        Agents::Here { num_nodes: 0 | 1, .. } | Agents::Here { place: None | Some(Place::Directory(_)), .. } => {}
        Agents::Here { .. } if settings.key.is_some() || settings.key_file.is_some() || settings.insecure => {}
        Agents::Here { .. } => {
            let path = directory.clock().join(KEY);
            if directory.manifest.is_some() {
                SharedKey::random().map_err(Error::Random)?.keep(&path).map_err(Error::of(&path))?;
            }
            command.env("RANKSCOPE_KEY_FILE", path);
        }
        Agents::Impossible(_) => {}
    }
    Ok(())
}

/// The key of the agents, in the folder of what they write.
const KEY: &str = "agents.key";

/// A new log; a link in its place is not followed.
fn log_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true).custom_flags(nix::libc::O_NOFOLLOW).open(path)
}

/// Removes from `clock` what agents share or agreed on in secret: that of `node`, or all of it. Nobody joins a job that is over.
pub(crate) fn forget_secrets(clock: &Path, node: Option<u32>) {
    let is_secret = |name: &str| match node {
        Some(node) => name == minutes_name(node),
        None => name == KEY || name.starts_with(MINUTES),
    };
    for entry in fs::read_dir(clock).into_iter().flatten().flatten() {
        if is_secret(&entry.file_name().to_string_lossy()) {
            let _gone = fs::remove_file(entry.path());
        }
    }
}

/// An agent takes half a second to end; one behind a launcher somewhat longer.
const STOP_WITHIN: Duration = Duration::from_secs(5);

fn last_line(log: &Path) -> String {
    let text = read_side_text(log, SideFile::Record).unwrap_or_default();
    last_said(&text).unwrap_or("the agent ended").to_owned()
}

/// What `program --version` prints; none if it takes its time.
pub(crate) fn version(program: &str) -> Option<String> {
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
