//! The processes of a job: one command as it is, or ranks that are started here.
//!
//! One command shares our process group, so a terminal treats it as if we were not there. Ranks get groups of their own, so that
//! a rank ends with everything it started; they read nothing from the terminal.

use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg, raise};
use nix::unistd::Pid;

use super::agents::AgentProcess;
use super::directory::Variables;
use super::lines::Lines;
use super::outcome::Outcome;
use super::signals::{Heard, Signals};

/// A job that runs.
pub(super) struct Job {
    ranks: Vec<Process>,
    /// Whether each process is the leader of its own group.
    apart: bool,
    lines: Lines,
}

struct Process {
    child: Child,
    ended: Option<ExitStatus>,
}

impl Job {
    /// Starts `command`, once or as `ranks`, with `variables` beside ours. `aside` sends what it prints to stderr.
    ///
    /// # Errors
    /// What the system says if it cannot be started; nothing is left running.
    pub(super) fn start(command: &[OsString], ranks: Option<u32>, variables: Variables, aside: bool) -> io::Result<Self> {
        let apart = ranks.is_some_and(|ranks| ranks > 1);
        let mut job = Self { ranks: Vec::new(), apart, lines: Lines::new() };
        let port = ranks.map(|_| free_port()).transpose()?;
        for rank in 0..ranks.unwrap_or(1) {
            let mut process = Command::new(&command[0]);
            process.args(&command[1..]).envs(variables.iter().map(|(name, value)| (name, value)));
            if let (Some(ranks), Some(port)) = (ranks, port) {
                process.envs(of_rank(rank, ranks, port));
            }
            if apart {
                process.process_group(0).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
            } else if aside {
                process.stdout(io::stderr());
            }
            match process.spawn() {
                Ok(mut child) => {
                    if let Some(out) = child.stdout.take() {
                        if aside {
                            job.lines.pass_on(rank, out, io::stderr())
                        } else {
                            job.lines.pass_on(rank, out, io::stdout())
                        }
                    }
                    if let Some(err) = child.stderr.take() {
                        job.lines.pass_on(rank, err, io::stderr());
                    }
                    job.ranks.push(Process { child, ended: None });
                }
                Err(error) => {
                    job.end_at_once();
                    return Err(error);
                }
            }
        }
        Ok(job)
    }

    /// Waits for the job to end, and passes signals on meanwhile. When a rank fails the others are asked to end, and killed after
    /// `grace`.
    pub(super) fn run(mut self, signals: &Signals, agent: Option<&AgentProcess>, grace: Duration) -> Outcome {
        let mut first_failure: Option<ExitStatus> = None;
        let mut deadline = None;
        let mut told_to_end = false;
        loop {
            if let Some(failed) = self.reap()
                && first_failure.is_none()
            {
                first_failure = Some(failed);
                if !told_to_end {
                    self.signal(Signal::SIGTERM);
                }
                deadline = Some(Instant::now() + grace);
            }
            if self.ranks.iter().all(|process| process.ended.is_some()) {
                break;
            }
            match signals.next(deadline) {
                Heard::Child => {
                    if let Some(agent) = agent {
                        agent.notice();
                    }
                }
                Heard::Signal { number, to_all } => {
                    told_to_end |= number == Signal::SIGTERM as i32 || number == Signal::SIGINT as i32;
                    self.pass_on(number, to_all);
                }
                Heard::Nothing if deadline.is_some_and(|deadline| deadline <= Instant::now()) => {
                    deadline = None;
                    self.signal(Signal::SIGKILL);
                }
                Heard::Nothing => {}
            }
        }
        self.lines.end();
        Outcome::of(first_failure.unwrap_or_default())
    }

    /// Takes note of what has ended; returns the first failure among it.
    fn reap(&mut self) -> Option<ExitStatus> {
        let mut failed = None;
        for process in self.ranks.iter_mut().filter(|process| process.ended.is_none()) {
            let ended = match process.child.try_wait() {
                Ok(ended) => ended,
                // It cannot be waited for, so nobody will ever know.
                Err(_) => Some(ExitStatus::from_raw(1 << 8)),
            };
            if let Some(status) = ended {
                process.ended = Some(status);
                failed = failed.or((!status.success()).then_some(status));
            }
        }
        failed
    }

    fn pass_on(&self, number: i32, to_all: bool) {
        let Ok(signal) = Signal::try_from(number) else { return };
        if self.apart || !to_all {
            self.signal(signal);
        }
        if signal == Signal::SIGTSTP {
            // The ranks stop by what they were sent; this process has to stop by itself, so that the shell sees it.
            let _stopped = raise(Signal::SIGSTOP);
        }
    }

    /// Sends `signal` to what has not ended. A rank's group may live on without it.
    fn signal(&self, signal: Signal) {
        for process in &self.ranks {
            let pid = Pid::from_raw(process.child.id().cast_signed());
            // Only what was not waited for keeps its number.
            let _gone = match (self.apart, process.ended.is_none()) {
                (true, true) => killpg(pid, signal),
                (false, true) => kill(pid, signal),
                (_, false) => continue,
            };
        }
    }

    fn end_at_once(&mut self) {
        self.signal(Signal::SIGKILL);
        for process in &mut self.ranks {
            let _gone = process.child.wait();
        }
    }
}

/// What a rank of this host is told, in torchrun's words.
fn of_rank(rank: u32, ranks: u32, port: u16) -> [(&'static str, String); 6] {
    [
        ("RANK", rank.to_string()),
        ("WORLD_SIZE", ranks.to_string()),
        ("LOCAL_RANK", rank.to_string()),
        ("LOCAL_WORLD_SIZE", ranks.to_string()),
        ("MASTER_ADDR", "127.0.0.1".to_owned()),
        ("MASTER_PORT", port.to_string()),
    ]
}

/// A port that nobody has now; whoever is told of it takes it soon.
pub(super) fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
