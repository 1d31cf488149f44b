//! Processes of the job that NCCL gives up, as its RAS service tells of them while the job runs.
//!
//! Nobody has to ask for it, so nothing is done that could harm a job. The service is only listened to until it says that a process was given
//! up: NCCL before 2.29 may die of a question while it begins, and knows of nothing to listen to. On the usual port one of the job's own
//! processes has to listen, as the jobs of one host take the same one. Who listens and asks is a process of its own, `rankscope hang --follow`;
//! that there is no such service, or that it tells nothing, is not worth a word.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use serde_json::Value;

use crate::executable::Executable;
use crate::incident::Ask;
use crate::notice::{Notice, Observer};
use crate::ras_service::Service;

/// Whoever listens to what NCCL says of a job.
pub(crate) struct GivenUp {
    over: Sender<()>,
    listener: Arc<Mutex<Option<Child>>>,
    thread: JoinHandle<()>,
}

/// Between two looks at whether there is a service.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The process that has the service may be the one that dies; then another one of the job's is listened to. So often at most.
const SERVICES_MAX: usize = 16;

/// Of a job that is lost as a whole, no more processes are told than these.
const TOLD_MAX: usize = 8;

impl GivenUp {
    /// Listens from now on, where this process leads its job; its processes are `processes`. What came before a process was given up is
    /// kept by `ask`.
    pub(crate) fn start(processes: Vec<u32>, observer: &Arc<dyn Observer>, ask: Ask) -> Option<Self> {
        let service = Service::of_environment()?;
        let (listener, (over, told)) = (Arc::default(), channel());
        let follower =
            Follower { service, processes, listener: Arc::clone(&listener), over: told, observer: Arc::clone(observer), ask };
        let thread = Builder::new().name("rankscope-given-up".to_owned()).spawn(move || follower.follow()).ok()?;
        Some(Self { over, listener, thread })
    }

    /// The job is over.
    pub(crate) fn end(self) {
        // Whoever begins to listen looks for this afterwards.
        drop(self.over);
        kill(&self.listener);
        let _ended = self.thread.join();
    }
}

fn kill(listener: &Mutex<Option<Child>>) {
    if let Ok(mut listener) = listener.lock() {
        // It is reaped by who started it.
        let _gone = listener.as_mut().map(Child::kill);
    }
}

struct Follower {
    service: Service,
    processes: Vec<u32>,
    listener: Arc<Mutex<Option<Child>>>,
    over: Receiver<()>,
    observer: Arc<dyn Observer>,
    ask: Ask,
}

impl Follower {
    fn follow(&self) {
        let mut told = 0;
        for _ in 0..SERVICES_MAX {
            // A service that comes and goes is not worth more than a look now and then.
            loop {
                if self.over.recv_timeout(LOOK_EVERY) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                if self.service.is_of(&self.processes) {
                    break;
                }
            }
            let Some(said) = self.listen() else { return };
            let lines = BufReader::new(said).lines().map_while(Result::ok);
            lines.for_each(|line| self.hear(&line, &mut told));
            if !self.reap() {
                return;
            }
        }
    }

    fn is_over(&self) -> bool {
        self.over.try_recv() == Err(TryRecvError::Disconnected)
    }

    /// Starts who listens; none where that cannot be, or the job is over.
    fn listen(&self) -> Option<ChildStdout> {
        let own = Executable::own().ok()?;
        let mut command = own.tied();
        command.args(own.follow(self.service.address())).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let said = child.stdout.take();
        *self.listener.lock().ok()? = Some(child);
        if self.is_over() {
            kill(&self.listener);
        }
        said
    }

    /// Waits for the end of who listened, and returns whether the service was one that tells something: its last word of nobody is that it
    /// could not follow.
    fn reap(&self) -> bool {
        let child = self.listener.lock().ok().and_then(|mut listener| listener.take());
        let status = child.and_then(|mut child| child.wait().ok());
        status.and_then(|status| status.code()) != Some(CANNOT_FOLLOW)
    }

    fn hear(&self, line: &str, told: &mut usize) {
        let Ok(word) = serde_json::from_str::<Value>(line) else { return };
        if word["event"] == "PEER_DEAD" {
            *told += 1;
            let who = who(&word);
            if *told == 1 {
                self.ask.keep(&format!("NCCL gave up {who}"));
            }
            if *told <= TOLD_MAX {
                self.observer.notice(&Notice::GivenUp { who });
            }
        } else if word["verdict"]["roots"].as_array().is_some_and(|roots| !roots.is_empty()) {
            let summary = word["verdict"]["summary"].as_str().unwrap_or_default().to_owned();
            self.observer.notice(&Notice::WhyGivenUp { summary });
        }
    }
}

/// How `rankscope hang` ends where nothing of a job could be judged.
const CANNOT_FOLLOW: i32 = 1;

/// `rank 2 (process 13 on 10.0.0.2)`.
fn who(event: &Value) -> String {
    let host = event["host"].as_str().map(|host| format!(" on {host}")).unwrap_or_default();
    let process = event["pid"].as_u64().map_or_else(|| format!("a process{host}"), |pid| format!("process {pid}{host}"));
    match event["rank"].as_u64() {
        Some(rank) => format!("rank {rank} ({process})"),
        None => process,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_not_known_of_a_process_is_not_said() {
        assert_eq!(who(&json!({"rank": 2, "pid": 13, "host": "10.0.0.2"})), "rank 2 (process 13 on 10.0.0.2)");
        assert_eq!(who(&json!({"pid": 13, "host": "10.0.0.2"})), "process 13 on 10.0.0.2");
        assert_eq!(who(&json!({"rank": null})), "a process");
    }
}
