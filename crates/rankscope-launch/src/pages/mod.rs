//! Live pages of a job on several nodes: which rank is on which node while it runs, and the pages of nodes that share no directory with the one
//! that leads.
//!
//! The process of each node knows its ranks by their pages and says so beside them (`live/node-<k>.json`), so that their clocks are known; where one
//! process sees to all nodes, the agents do that. One that does not lead and has a directory of its own passes its pages on, a second for 64 nodes, through the store by which agents met; the one
//! that leads puts them beside its own, where `top`, `watch` and `hang` find them. So they are as old as that takes, and what was overwritten
//! meanwhile is missing. Nobody in the job waits for any of it.

mod gatherer;
mod own;
mod packed;
mod teller;

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use rankscope_probe::rendezvous::{KeyValueStore, StoreError};
use rankscope_run::{NodePart, RunDirectory, live_part, live_part_ended};
use serde::{Deserialize, Serialize};

use crate::directory::{Directory, host};
use crate::incident::Nodes;
use gatherer::Gatherer;
use own::{Own, OwnPages};
use teller::Teller;

/// Between two looks at the pages of up to [`NODES_A_SECOND`] nodes.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// More nodes are looked at more seldom, so that what comes to the one that leads is bounded.
const NODES_A_SECOND: u32 = 64;

/// A store that did not answer is left in peace for so long.
const REST: Duration = Duration::from_secs(5);

/// What the process of a node does for the pages of its job, until this is dropped.
pub(crate) struct Pages {
    over: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Pages {
    /// Looks after the pages of the ranks that `processes` of this node start from now on, where the job is on several. Those that share no
    /// directory reach each other as `nodes`.
    pub(crate) fn start(processes: Vec<u32>, directory: Option<&Directory>, nodes: Option<Nodes>) -> Option<Self> {
        let directory = directory.filter(|directory| directory.seat.num_nodes > 1 && directory.seat.local == 0)?;
        let role = match nodes {
            Some(nodes) if directory.leads() => Role::Leads(Gatherer::new(nodes, directory.path())),
            Some(nodes) => Role::Follows(Teller::new(nodes)),
            None => Role::Alone,
        };
        let own = OwnPages::of(Some(processes));
        Self::spawn(Caretaker::new(directory.path(), directory.seat.node, own, role), directory.seat.num_nodes)
    }

    /// Says from now on which of the ranks in `run` are on this machine, which is the `node` of so many: for a job whose processes this one did not
    /// start.
    pub(crate) fn of_machine(run: &Path, node: u32, num_nodes: u32) -> Option<Self> {
        Self::spawn(Caretaker::new(run, node, OwnPages::of(None), Role::Alone), num_nodes)
    }

    fn spawn(mut caretaker: Caretaker, num_nodes: u32) -> Option<Self> {
        let (over, told) = channel();
        let every = LOOK_EVERY.max(LOOK_EVERY * num_nodes / NODES_A_SECOND);
        let work = move || caretaker.serve(&told, every);
        let thread = Builder::new().name("rankscope-pages".to_owned()).spawn(work).ok()?;
        Some(Self { over: Some(over), thread: Some(thread) })
    }
}

impl Drop for Pages {
    /// The job is over, and with it what this node said of it.
    fn drop(&mut self) {
        drop(self.over.take());
        let _ended = self.thread.take().map(JoinHandle::join);
    }
}

/// Whom a node passes its pages on to.
enum Role {
    /// To nobody: the others are not reached.
    Alone,
    /// It takes those of the others.
    Leads(Gatherer),
    /// To the one that leads.
    Follows(Teller),
}

struct Caretaker {
    run: PathBuf,
    own: OwnPages,
    part: NodePart,
    role: Role,
}

impl Caretaker {
    fn new(run: &Path, node: u32, own: OwnPages, role: Role) -> Self {
        Self { run: run.to_owned(), own, part: NodePart { node, host: host(), ranks: Vec::new() }, role }
    }

    fn serve(&mut self, over: &Receiver<()>, every: Duration) {
        while over.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            let own = self.own.read(&self.run, &self.part);
            self.look(&own);
        }
        self.look(&Own::default());
        live_part_ended(&self.run, self.part.node);
        if let Role::Leads(gatherer) = &mut self.role {
            gatherer.end();
        }
        // Whoever else has something in it keeps it.
        let _stays = std::fs::remove_dir(self.run.join("live"));
    }

    fn look(&mut self, own: &Own) {
        if own.ranks != self.part.ranks {
            self.part.ranks.clone_from(&own.ranks);
            // A disk that is full costs the clocks of these ranks.
            let _unsaid = live_part(&self.run, &self.part);
        }
        match &mut self.role {
            Role::Alone => {}
            Role::Leads(gatherer) => gatherer.look(),
            // What lies in the directory of the one that leads needs no telling.
            Role::Follows(_) if RunDirectory::is_run(&self.run) => {}
            Role::Follows(teller) => teller.tell(&self.part, &own.pages),
        }
    }
}

/// What a node says of its pages.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Told {
    /// Grows with each time that it says something.
    number: u64,
    part: NodePart,
    pages: Vec<ToldPage>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ToldPage {
    rank: u32,
    /// Packed, in base 64.
    page: String,
}

/// Where a node says it.
fn key(node: u32) -> String {
    format!("live/{node}")
}

/// The store, opened when it is wanted, and left in peace where it does not answer.
struct Store {
    nodes: Nodes,
    open: Option<Box<dyn KeyValueStore>>,
    rests_until: Option<Instant>,
}

impl Store {
    fn of(nodes: Nodes) -> Self {
        Self { nodes, open: None, rests_until: None }
    }

    /// What `ask` gets of it, if it answers.
    fn ask<T>(&mut self, ask: impl FnOnce(&mut dyn KeyValueStore) -> Result<T, StoreError>) -> Option<T> {
        if self.rests_until.is_some_and(|until| Instant::now() < until) {
            return None;
        }
        let open = match self.open.take() {
            Some(open) => Ok(open),
            None => self.nodes.store(),
        };
        let answered = open.and_then(|mut open| {
            let answer = ask(&mut *open)?;
            self.open = Some(open);
            Ok(answer)
        });
        self.rests_until = answered.is_err().then(|| Instant::now() + REST);
        answered.ok()
    }
}

/// The page of `rank` in `run`.
fn page_path(run: &Path, rank: u32) -> PathBuf {
    run.join("live").join(rankscope_recording::page_name(rank))
}

#[cfg(test)]
mod tests;
