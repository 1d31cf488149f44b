//! The processes of the demo: started, watched, asked to stop, and never left behind.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rankscope_run::{SideFile, read_side};

use super::hosts::Host;

/// Between looks at what is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How long a process may take to end once it was asked to.
const STOP_WITHIN: Duration = Duration::from_secs(3);

/// A process that is killed where it is given up.
pub(super) struct Process {
    /// As sentences call it: `rank 2`, `the agent of host 0`.
    name: String,
    child: Child,
    log: PathBuf,
    status: Option<ExitStatus>,
}

impl Process {
    /// Starts this binary at `host`, as `prepare` has it. What it says on stderr goes into the file `log`. What this process was told about
    /// settings and jobs is for jobs of the user, not for the demo's.
    pub(super) fn start(name: String, log: PathBuf, host: &Host, prepare: impl FnOnce(&mut Command)) -> Result<Self> {
        let own = std::env::current_exe().context("where is this program?")?;
        let mut command = host.command(own.as_os_str());
        // Also when this process is killed and can stop nobody.
        command.args(["run", "--tied", &std::process::id().to_string(), "--"]).arg(&own);
        let foreign = ["RANKSCOPE_", "XLA_", "NCCL_", "GLOO_", "SLURM_", "OMPI_", "PMI", "TORCHELASTIC_"];
        for (variable, _) in std::env::vars_os() {
            if foreign.iter().any(|prefix| variable.as_encoded_bytes().starts_with(prefix.as_bytes())) {
                command.env_remove(variable);
            }
        }
        let said = File::create(&log).with_context(|| log.display().to_string())?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        prepare(&mut command);
        let child = command.spawn().with_context(|| format!("{name} could not be started"))?;
        Ok(Self { name, child, log, status: None })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn look(&mut self) -> Result<()> {
        if self.status.is_none() {
            self.status = self.child.try_wait()?;
        }
        Ok(())
    }

    fn has_failed(&self) -> bool {
        self.status.is_some_and(|status| !status.success())
    }

    /// Why it ended, for people.
    fn epitaph(&self) -> anyhow::Error {
        let how = match self.status {
            Some(status) => match (status.signal(), status.code()) {
                (Some(signal), _) => match Signal::try_from(signal) {
                    Ok(signal) => format!("was killed by {signal}"),
                    Err(_) => format!("was killed by signal {signal}"),
                },
                (None, code) => format!("ended with exit code {}", code.unwrap_or(-1)),
            },
            None => "does not answer".to_owned(),
        };
        match last_line(&self.log) {
            Some(said) => anyhow!("{} {how}: {said}", self.name),
            None => anyhow!("{} {how}", self.name),
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.status.is_none() {
            // It may have ended by itself in between.
            let _gone = self.child.kill().and_then(|()| self.child.wait());
        }
    }
}

/// The last thing a process said, without the name that it begins its errors with.
fn last_line(log: &Path) -> Option<String> {
    let said = read_side(log, SideFile::Record).ok()?;
    let said = String::from_utf8_lossy(&said);
    let line = said.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(line.trim_start_matches("rankscope: ").to_owned())
}

/// Processes that belong together, and whether the user has had enough.
pub(super) struct Fleet<'a> {
    pub(super) processes: Vec<Process>,
    pub(super) interrupted: &'a AtomicBool,
}

impl Fleet<'_> {
    /// Waits until `done`, at most for `patience`. Fails as soon as a process has failed.
    pub(super) fn wait_for(
        &mut self,
        what: &str,
        patience: Duration,
        mut done: impl FnMut(&mut Self) -> Result<bool>,
    ) -> Result<()> {
        let begun = Instant::now();
        while !done(self)? {
            self.check()?;
            if begun.elapsed() > patience {
                let said = self.processes.iter().find_map(|process| Some((&process.name, last_line(&process.log)?)));
                let said = said.map_or_else(String::new, |(name, line)| format!("; {name} said last: {line}"));
                bail!("waited {} s for {what}, without success{said}", patience.as_secs());
            }
            std::thread::sleep(LOOK_EVERY);
        }
        self.check()
    }

    /// Whether none runs any more, as far as was looked.
    pub(super) fn have_ended(&self) -> bool {
        self.processes.iter().all(|process| process.status.is_some())
    }

    /// Whether all that have ended have ended well, and nobody wants to end it all.
    pub(super) fn check(&mut self) -> Result<()> {
        self.look()?;
        if self.processes.iter().any(Process::has_failed) {
            // One that fails takes its neighbours along, and Ctrl-C reaches everybody: a moment later the cause is known.
            std::thread::sleep(LOOK_EVERY * 10);
            self.look()?;
        }
        if self.interrupted.load(Ordering::Relaxed) {
            bail!("interrupted");
        }
        let killed = |process: &&Process| process.status.is_some_and(|status| status.signal().is_some());
        let cause = self.processes.iter().filter(|process| process.has_failed()).min_by_key(|process| !killed(process));
        cause.map_or(Ok(()), |process| Err(process.epitaph()))
    }

    fn look(&mut self) -> Result<()> {
        self.processes.iter_mut().try_for_each(Process::look)
    }

    /// Asks all to stop, and waits until they have.
    pub(super) fn stop(&mut self) -> Result<()> {
        for process in self.processes.iter().filter(|process| process.status.is_none()) {
            // It may have ended in between, which is what is wanted.
            let _gone = kill(Pid::from_raw(process.pid() as i32), Signal::SIGTERM);
        }
        self.wait_for("its processes to stop", STOP_WITHIN, |fleet| Ok(fleet.have_ended()))
    }
}

/// What a rank says on its pipe, line by line, and is told.
pub(super) struct Talk {
    to: ChildStdin,
    lines: Receiver<String>,
}

impl Talk {
    pub(super) fn with(process: &mut Process) -> Result<Self> {
        let (to, from) = (process.child.stdin.take(), process.child.stdout.take());
        let (to, from) = (to.context("no pipe to it")?, from.context("no pipe from it")?);
        let (said, lines) = channel();
        // A pipe is waited for by somebody who may wait for ever: it closes with the process at the other end.
        let listen = move || BufReader::new(from).lines().map_while(Result::ok).try_for_each(|line| said.send(line));
        std::thread::Builder::new().name(format!("ear of {}", process.name)).spawn(listen)?;
        Ok(Self { to, lines })
    }

    /// Its next line, if it has said one by now.
    pub(super) fn heard(&self) -> Option<String> {
        self.lines.try_recv().ok()
    }

    /// Tells it a line. One that has gone is found out when it should answer.
    pub(super) fn tell(&mut self, line: &str) {
        let _gone = writeln!(self.to, "{line}").and_then(|()| self.to.flush());
    }
}
