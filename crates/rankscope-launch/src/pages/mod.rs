//! Live pages of a job on several nodes: which rank is on which node while it runs, and the pages of nodes that share no directory with the one
//! that leads.
//!
//! The process of each node knows its ranks by their pages and says so beside them (`live/node-<k>.json`), so that their clocks are known; where one
//! process sees to all nodes, the agents do that. One that does not lead and has a directory of its own passes its pages on, once a second, through
//! the store by which agents met; the one that leads puts them beside its own, where `top`, `watch` and `hang` find them. So they are as old as that
//! takes, and what was overwritten meanwhile is missing. Nobody in the job waits for any of it.
//!
//! More than 64 nodes are in groups (`tree.rs`), of which one node is head (`head.rs`): its group tells it through a store of its own, and it passes on
//! what of all their pages changed as one word a second (`word.rs`, packed by `columns.rs`), of which the one that leads says which it took. Nodes whose
//! head is silent tell straight again, more seldom for more nodes, or become head (`branch.rs`). A page says itself when its rank was where, so each stop
//! on its way is in its age.

mod branch;
mod columns;
mod gatherer;
mod head;
mod lean;
mod own;
mod packed;
mod shelf;
mod teller;
mod tree;
mod word;

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::net::SocketAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use nix::time::{ClockId, clock_gettime};
use rankscope_probe::rendezvous::{KeyValueStore, StoreError};
use rankscope_run::{NodePart, RunDirectory, live_part, live_part_ended};
use serde::{Deserialize, Serialize};

use crate::directory::{Directory, host};
use crate::incident::Nodes;
use crate::notice::{Notice, Observer};
use branch::Branch;
use gatherer::Gatherer;
use own::{Own, OwnPages};
use teller::Teller;
use tree::{NODES_MAX, Tree};

/// Between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What a look takes of a processor is at most one part in so many of the time until the next one, as with `top`; but that is not later than
/// [`LOOK_SELDOMEST`]: pages that are new take it much longer than those that only change, and come in several words.
const PACE: u32 = 24;
const LOOK_SELDOMEST: Duration = Duration::from_secs(4);

/// Looks without news between two at who the head of a group is.
const WHO_EVERY: u32 = 4;

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
    pub(crate) fn start(
        processes: Vec<u32>,
        directory: Option<&Directory>,
        nodes: Option<Nodes>,
        observer: &Arc<dyn Observer>,
    ) -> Option<Self> {
        let directory = directory.filter(|directory| directory.seat.num_nodes > 1 && directory.seat.local == 0)?;
        let role = nodes.map_or(Role::Alone, |nodes| Role::of(nodes, directory, Refusals::told_to(observer)));
        let own = OwnPages::of(Some(processes));
        Self::spawn(Caretaker::new(directory.path(), (directory.seat.node, directory.seat.num_nodes), own, role))
    }

    /// Says from now on which of the ranks in `run` are on this machine, which is the `node` of so many: for a job whose processes this one did not
    /// start.
    pub(crate) fn of_machine(run: &Path, node: u32, num_nodes: u32) -> Option<Self> {
        Self::spawn(Caretaker::new(run, (node, num_nodes), OwnPages::of(None), Role::Alone))
    }

    fn spawn(mut caretaker: Caretaker) -> Option<Self> {
        let (over, told) = channel();
        let work = move || caretaker.serve(&told);
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
    /// To the head of its group, or as that.
    Branches(Box<Branch>),
}

impl Role {
    /// Whether the page of `rank` is another node's that was put in place here.
    fn has(&self, rank: u32) -> bool {
        matches!(self, Self::Leads(gatherer) if gatherer.has(rank))
    }

    fn of(nodes: Nodes, directory: &Directory, refusals: Refusals) -> Self {
        let (node, num_nodes) = (nodes.node, nodes.num_nodes);
        let through = nodes.clone();
        let store = Store::new(move || through.store());
        if directory.leads() {
            return Self::Leads(Gatherer::new(store, (node, num_nodes), directory.path(), refusals));
        }
        match Tree::of(num_nodes) {
            Some(tree) => Self::Branches(Box::new(Branch::new(nodes, tree, store, refusals))),
            None => Self::Follows(Teller::new(node, store)),
        }
    }
}

struct Caretaker {
    run: PathBuf,
    num_nodes: u32,
    own: OwnPages,
    part: NodePart,
    role: Role,
}

impl Caretaker {
    fn new(run: &Path, (node, num_nodes): (u32, u32), own: OwnPages, role: Role) -> Self {
        Self { run: run.to_owned(), num_nodes, own, part: NodePart { node, host: host(), ranks: Vec::new() }, role }
    }

    fn serve(&mut self, over: &Receiver<()>) {
        let mut pause = LOOK_EVERY;
        while over.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
            let before = processor_time();
            let Self { run, own, part, role, .. } = self;
            let own = own.read(run, part, |rank| role.has(rank));
            self.look(&own);
            pause = (PACE * processor_time().saturating_sub(before)).clamp(LOOK_EVERY, LOOK_SELDOMEST).max(self.seldom());
        }
        self.look(&Own::default());
        live_part_ended(&self.run, self.part.node);
        if let Role::Leads(gatherer) = &mut self.role {
            gatherer.end();
        }
        // Whoever else has something in it keeps it.
        let _stays = std::fs::remove_dir(self.run.join("live"));
    }

    /// Between two looks at least. Whoever shares the directory reads the pages of all.
    fn seldom(&self) -> Duration {
        let shares =
            matches!(self.role, Role::Alone) || (!matches!(self.role, Role::Leads(_)) && RunDirectory::is_run(&self.run));
        if shares { LOOK_EVERY * self.num_nodes / NODES_MAX } else { LOOK_EVERY }
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
            Role::Follows(_) | Role::Branches(_) if RunDirectory::is_run(&self.run) => {}
            Role::Follows(teller) => teller.tell(&self.part, &own.pages),
            Role::Branches(branch) => branch.tell(&self.part, &own.pages),
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

/// Who the head of a group is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct HeadEntry {
    node: u32,
    /// Of its process.
    epoch: u64,
    /// Where its store is.
    at: SocketAddr,
}

impl HeadEntry {
    /// What stands in `store` of the group of these `members`: none where that does not answer, or nobody of the group stands there.
    fn of(group: u32, members: &Range<u32>, store: &mut Store) -> Option<Option<Self>> {
        let text = store.ask(|store| store.get(&head_key(group)))?;
        let entry = text.and_then(|text| serde_json::from_str::<Self>(&text).ok());
        Some(entry.filter(|entry| members.contains(&entry.node)))
    }
}

impl ToldPage {
    /// Puts it into `page`, which is what was there before; false, and nothing is changed, where it is no page.
    fn put_into(&self, page: &mut Vec<u8>) -> bool {
        STANDARD.decode(&self.page).is_ok_and(|packed| packed::unpack(&packed, page))
    }
}

/// Where a node says it, in the store of the agents or of its head.
fn key(node: u32) -> String {
    format!("live/{node}")
}

/// Where it stands who the head of a group is, in the store of the agents.
fn head_key(group: u32) -> String {
    format!("live/head/{group}")
}

/// Where the head `node` says its word, and the one that leads which one it took.
fn word_key(node: u32) -> String {
    format!("live/word/{node}")
}

fn taken_key(node: u32) -> String {
    format!("live/taken/{node}")
}

/// In the store of a head: how many words of it were taken.
const ONWARD: &str = "live/onward";

/// What this thread had of processors.
fn processor_time() -> Duration {
    clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}

/// What is not understood is counted, and said once.
struct Refusals {
    observer: Option<Arc<dyn Observer>>,
    count: u64,
    /// The text of each node that was refused last, as a hash.
    last: BTreeMap<u32, u64>,
}

impl Refusals {
    fn told_to(observer: &Arc<dyn Observer>) -> Self {
        Self { observer: Some(Arc::clone(observer)), count: 0, last: BTreeMap::new() }
    }

    /// Something in the `text` of a node is not understood.
    fn count(&mut self, node: u32, text: &str) {
        let hash = hash(text);
        if self.last.insert(node, hash) == Some(hash) {
            return;
        }
        self.count += 1;
        if let Some(observer) = self.observer.take() {
            observer.notice(&Notice::PagesNotUnderstood { node });
        }
    }

    #[cfg(test)]
    fn counted(&self) -> u64 {
        self.count
    }
}

/// Tells texts of one process apart.
fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// How a store is opened.
type Opened = Result<Box<dyn KeyValueStore>, StoreError>;

/// The store, opened when it is wanted, and left in peace where it does not answer.
struct Store {
    opener: Box<dyn Fn() -> Opened + Send>,
    open: Option<Box<dyn KeyValueStore>>,
    rests_until: Option<Instant>,
}

impl Store {
    fn new(opener: impl Fn() -> Opened + Send + 'static) -> Self {
        Self { opener: Box::new(opener), open: None, rests_until: None }
    }

    /// What `ask` gets of it, if it answers.
    fn ask<T>(&mut self, ask: impl FnOnce(&mut dyn KeyValueStore) -> Result<T, StoreError>) -> Option<T> {
        if self.rests_until.is_some_and(|until| Instant::now() < until) {
            return None;
        }
        let open = match self.open.take() {
            Some(open) => Ok(open),
            None => (self.opener)(),
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
