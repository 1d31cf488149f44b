//! The processes of a job: one command as it is, or ranks that are started here.
//!
//! One command shares our process group, so a terminal treats it as if we were not there. Ranks get groups of their own, so that
//! a rank ends with everything it started; they read nothing from the terminal.

use std::ffi::OsString;
use std::io;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg, raise};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use rankscope_run::{Ending, Exit, RankEnd, now_unix_ns};

use crate::agents::AgentProcess;
use crate::directory::Variables;
use crate::lines::Lines;
use crate::on_demand::OnSignal;
use crate::outcome::Outcome;
use crate::signals::{Heard, Signals};

/// A job that runs.
pub(crate) struct Job {
    ranks: Vec<Process>,
    /// Whether each process is a rank that was asked for here, rather than a command that may have ranks of its own.
    numbered: bool,
    /// Whether each process is the leader of its own group.
    apart: bool,
    /// What such say.
    lines: Option<Lines>,
}

struct Process {
    child: Child,
    ended: Option<Ended>,
}

#[derive(Clone, Copy)]
struct Ended {
    exit: Exit,
    /// None where this host's clock is not to be believed.
    unix_ns: Option<i64>,
    how: Ending,
}

impl Process {
    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }
}

impl Job {
    /// Starts `command`, once or as `ranks`, with `variables` beside ours. `aside` sends what it prints to stderr.
    ///
    /// # Errors
    /// What the system says if it cannot be started; nothing is left running.
    pub(crate) fn start(command: &[OsString], ranks: Option<u32>, variables: Variables, aside: bool) -> io::Result<Self> {
        let apart = ranks.is_some_and(|ranks| ranks > 1);
        let numbered = ranks.is_some();
        let mut job = Self { ranks: Vec::new(), numbered, apart, lines: apart.then(Lines::new).transpose()? };
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
                    if let Some(lines) = &mut job.lines {
                        lines.pass_on_all(rank, &mut child, aside);
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

    /// Its processes, with their ranks where they were asked for here.
    pub(crate) fn processes(&self) -> Vec<(Option<u32>, u32)> {
        let rank = |rank: u32| self.numbered.then_some(rank);
        (0..).zip(&self.ranks).map(|(number, process)| (rank(number), process.child.id())).collect()
    }

    /// The processes that it was started as.
    pub(crate) fn pids(&self) -> Vec<u32> {
        self.ranks.iter().map(|process| process.child.id()).collect()
    }

    /// How many bytes ranks have printed, where that goes through here.
    pub(crate) fn printed(&self) -> Option<Arc<AtomicU64>> {
        self.lines.as_ref().map(Lines::printed)
    }

    /// Waits for the job to end, and passes signals on meanwhile. When a rank fails the others are asked to end. Ranks that were
    /// asked, by us or by a signal that we pass on, are killed after `grace`; a command that runs as it is takes its own time.
    /// Where SIGUSR2 is for something here it is not passed on.
    pub(crate) fn run(
        mut self,
        signals: &Signals,
        agent: Option<&AgentProcess>,
        on_signal: &mut OnSignal<'_>,
        grace: Duration,
    ) -> Outcome {
        let mut first_failure: Option<Exit> = None;
        let mut deadline = None;
        let (mut asked, mut asked_by_signal, mut asked_unix_ns) = (false, None, None);
        loop {
            if let Some((rank, failed)) = self.look(asked)
                && first_failure.is_none()
            {
                first_failure = Some(failed);
                if asked_by_signal.is_none() {
                    on_signal.keep.failed(&self.told_of(rank, failed));
                    (asked, asked_unix_ns) = (true, now_unix_ns().ok());
                    self.signal(Signal::SIGTERM);
                }
                deadline = deadline.or(Some(Instant::now() + grace));
            }
            if self.ranks.iter().all(|process| process.ended.is_some()) {
                break;
            }
            match signals.next(deadline) {
                Heard::Child => agent.into_iter().for_each(AgentProcess::notice),
                Heard::Signal { number, .. } if number == Signal::SIGUSR2 as i32 && on_signal.is_heard() => on_signal.heard(),
                Heard::Signal { number, to_all } => {
                    let to_end = number == Signal::SIGTERM as i32 || number == Signal::SIGINT as i32;
                    if !asked && to_end {
                        (asked, asked_by_signal, asked_unix_ns) = (true, Some(number), now_unix_ns().ok());
                    }
                    self.pass_on(number, to_all);
                    if to_end {
                        deadline = deadline.or_else(|| self.apart.then(|| Instant::now() + grace));
                    }
                }
                Heard::Nothing if deadline.is_some_and(|deadline| deadline <= Instant::now()) => {
                    deadline = None;
                    self.signal(Signal::SIGKILL);
                }
                Heard::Nothing | Heard::Done => {}
            }
        }
        if first_failure.is_some() && self.apart {
            // What a rank started and did not end in time goes with it.
            self.signal(Signal::SIGKILL);
        }
        if let Some(lines) = self.lines.take() {
            lines.end(signals);
        }
        for process in &mut self.ranks {
            let _ended = process.child.wait();
        }
        let ends = if self.numbered { self.ends() } else { Vec::new() };
        Outcome { exit: first_failure.unwrap_or(Exit::Code(0)), started: true, ends, asked_unix_ns, asked_by_signal }
    }

    /// `rank 3 was ended by signal 11`.
    fn told_of(&self, rank: u32, exit: Exit) -> String {
        let who = if self.numbered { format!("rank {rank}") } else { "the job's command".to_owned() };
        match exit {
            Exit::Code(code) => format!("{who} failed with exit code {code}"),
            Exit::Signal(signal) => format!("{who} was ended by signal {signal}"),
        }
    }

    fn ends(&self) -> Vec<RankEnd> {
        let host = crate::directory::host();
        let end = |(rank, ended): (u32, Ended)| {
            let mut end = RankEnd::new(rank, ended.how);
            (end.exit, end.ended_unix_ns, end.host) = (Some(ended.exit), ended.unix_ns, Some(host.clone()));
            end
        };
        (0..).zip(&self.ranks).filter_map(|(rank, process)| Some((rank, process.ended?))).map(end).collect()
    }

    /// Takes note of what has ended, after it was `asked` to or by itself; returns the first failure among it, by the number of
    /// its process. Nothing is waited for yet, so that every process keeps its number, and with it its group, until the job is over.
    fn look(&mut self, asked: bool) -> Option<(u32, Exit)> {
        let mut failed = None;
        let unix_ns = now_unix_ns().ok();
        for (number, process) in (0..).zip(&mut self.ranks).filter(|(_, process)| process.ended.is_none()) {
            let flags = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
            let exit = match waitid(Id::Pid(process.pid()), flags) {
                Ok(WaitStatus::Exited(_, code)) => Some(Exit::Code(code)),
                Ok(WaitStatus::Signaled(_, signal, _)) => Some(Exit::Signal(signal as i32)),
                Ok(_) | Err(Errno::EINTR) => None,
                // It cannot be waited for, so nobody will ever know.
                Err(_) => Some(Exit::Code(1)),
            };
            let how = |exit: Exit| match (asked, exit.is_success()) {
                (_, true) => Ending::Finished,
                (true, false) => Ending::Asked,
                (false, false) => Ending::Failed,
            };
            process.ended = exit.map(|exit| Ended { exit, unix_ns, how: how(exit) });
            failed = failed.or(exit.filter(|exit| !exit.is_success()).map(|exit| (number, exit)));
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

    /// Sends `signal` to the command, or to the groups of all ranks, which may live on without their leaders.
    fn signal(&self, signal: Signal) {
        for process in &self.ranks {
            let _gone = if self.apart { killpg(process.pid(), signal) } else { kill(process.pid(), signal) };
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
fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port())
}
