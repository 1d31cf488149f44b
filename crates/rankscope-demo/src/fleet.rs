//! The processes of the demo: started, watched, asked to stop, and never left behind.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use rankscope_launch::Executable;
use rankscope_run::{SideFile, read_side};

use crate::error::Error;
use crate::hosts::Host;

/// Between looks at what is waited for.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How long a process may take to end once it was asked to: on a machine that has ten things to do for each processor, seconds.
const STOP_WITHIN: Duration = Duration::from_secs(15);

/// A process that is killed where it is given up.
pub(crate) struct Process {
    /// As sentences call it: `rank 2`, `the agent of host 0`.
    name: String,
    child: Child,
    log: PathBuf,
    status: Option<ExitStatus>,
}

impl Process {
    /// Starts this program at `host`, as `prepare` has it. What it says on stderr goes into the file `log`. What this process was
    /// told about settings and jobs is for jobs of the user, not for the demo's.
    pub(crate) fn start(name: String, log: PathBuf, host: &Host, prepare: impl FnOnce(&mut Command)) -> Result<Self, Error> {
        let own = Executable::own()?;
        // It ends also when this process is killed and can stop nobody.
        let mut command = own.tied_by(host.command(own.path().as_os_str()));
        let foreign = ["RANKSCOPE_", "XLA_", "NCCL_", "GLOO_", "SLURM_", "OMPI_", "PMI", "TORCHELASTIC_"];
        for (variable, _) in std::env::vars_os() {
            if foreign.iter().any(|prefix| variable.as_encoded_bytes().starts_with(prefix.as_bytes())) {
                command.env_remove(variable);
            }
        }
        let said = File::create(&log).map_err(Error::of(&log))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said);
        prepare(&mut command);
        let child = command.spawn().map_err(|reason| Error::NotStarted { name: name.clone(), reason })?;
        Ok(Self { name, child, log, status: None })
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    fn look(&mut self) -> Result<(), Error> {
        if self.status.is_none() {
            self.status = self.child.try_wait()?;
        }
        Ok(())
    }

    fn has_failed(&self) -> bool {
        self.status.is_some_and(|status| !status.success())
    }

    /// Why it ended, for people.
    fn why(&self) -> Error {
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
        Error::Ended { name: self.name.clone(), how, said: last_line(&self.log) }
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
pub(crate) struct Fleet<'a> {
    pub(crate) processes: Vec<Process>,
    pub(crate) interrupted: &'a AtomicBool,
}

impl Fleet<'_> {
    /// Waits until `done`, at most for `patience`. Fails as soon as a process has failed.
    pub(crate) fn wait_for(
        &mut self,
        what: &'static str,
        patience: Duration,
        mut done: impl FnMut(&mut Self) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let begun = Instant::now();
        while !done(self)? {
            self.check()?;
            if begun.elapsed() > patience {
                let said = self.processes.iter().find_map(|process| Some((process.name.clone(), last_line(&process.log)?)));
                return Err(Error::TimedOut { seconds: patience.as_secs(), what, said });
            }
            std::thread::sleep(LOOK_EVERY);
        }
        self.check()
    }

    /// Whether none runs any more, as far as was looked.
    pub(crate) fn have_ended(&self) -> bool {
        self.processes.iter().all(|process| process.status.is_some())
    }

    /// Whether all that have ended have ended well, and nobody wants to end it all.
    pub(crate) fn check(&mut self) -> Result<(), Error> {
        self.look()?;
        if self.processes.iter().any(Process::has_failed) {
            // One that fails takes its neighbours along, and Ctrl-C reaches everybody: a moment later the cause is known.
            std::thread::sleep(LOOK_EVERY * 10);
            self.look()?;
        }
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(Error::Interrupted);
        }
        let killed = |process: &&Process| process.status.is_some_and(|status| status.signal().is_some());
        let cause = self.processes.iter().filter(|process| process.has_failed()).min_by_key(|process| !killed(process));
        cause.map_or(Ok(()), |process| Err(process.why()))
    }

    fn look(&mut self) -> Result<(), Error> {
        self.processes.iter_mut().try_for_each(Process::look)
    }

    /// Asks all to stop, and waits until they have.
    pub(crate) fn stop(&mut self) -> Result<(), Error> {
        for process in self.processes.iter().filter(|process| process.status.is_none()) {
            // It may have ended in between, which is what is wanted.
            let _gone = kill(Pid::from_raw(process.pid() as i32), Signal::SIGTERM);
        }
        self.wait_for("its processes to stop", STOP_WITHIN, |fleet| Ok(fleet.have_ended()))
    }
}

/// Lines from a process and to it, over its standard streams.
pub(crate) struct LinePipe {
    to: ChildStdin,
    lines: Receiver<String>,
}

impl LinePipe {
    pub(crate) fn of(process: &mut Process) -> Result<Self, Error> {
        let (to, from) = (process.child.stdin.take(), process.child.stdout.take());
        let (Some(to), Some(from)) = (to, from) else { return Err(Error::NoPipe(process.name.clone())) };
        let (said, lines) = channel();
        // A pipe is waited for by somebody who may wait for ever: it closes with the process at the other end.
        let listen = move || BufReader::new(from).lines().map_while(Result::ok).try_for_each(|line| said.send(line));
        std::thread::Builder::new().name(format!("lines of {}", process.name)).spawn(listen)?;
        Ok(Self { to, lines })
    }

    /// Its next line, if there is one by now.
    pub(crate) fn try_recv(&self) -> Option<String> {
        self.lines.try_recv().ok()
    }

    /// Sends it a line. One that has gone is found out when it should answer.
    pub(crate) fn send(&mut self, line: &str) {
        let _gone = writeln!(self.to, "{line}").and_then(|()| self.to.flush());
    }
}
