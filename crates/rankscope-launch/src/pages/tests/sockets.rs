//! More nodes than can be heard one by one, in one process: their stores and what is said through them are real.

use std::sync::Mutex;

use rankscope_clock::NodeId;
use rankscope_probe::key::SharedKey;
use rankscope_probe::rendezvous::KeyValueStore as _;
use rankscope_probe::rendezvous::{Place, StoreError, StoreServer, TcpStore, publish_address};

use super::super::branch::Branch;
use super::super::gatherer::Gatherer;
use super::super::tree::Tree;
use super::super::{HeadEntry, Refusals, Store, head_key, key, word_key};
use super::*;
use crate::incident::Nodes;
use crate::notice::{Notice, Observer};
use crate::summary::Summary;

const NODES: u32 = 70;

/// What is said of pages.
#[derive(Default)]
struct Listening(Mutex<Vec<String>>);

impl Observer for Listening {
    fn notice(&self, notice: &Notice) {
        self.0.lock().unwrap().push(notice.to_string());
    }

    fn over(&self, _: &Summary<'_>) {}
}

struct Job {
    run: tempfile::TempDir,
    _server: StoreServer,
    nodes: Vec<Nodes>,
    leader: Gatherer,
    branches: BTreeMap<u32, Branch>,
    heard: std::sync::Arc<Listening>,
}

impl Job {
    fn new() -> Self {
        let key = SharedKey::new("of the job");
        let server = StoreServer::start("127.0.0.1", 0, key.clone()).unwrap();
        let place = Place::Tcp { host: "127.0.0.1".to_owned(), port: server.address().port() };
        let nodes: Vec<Nodes> = (0..NODES).map(|node| Nodes::at(place.clone(), key.clone(), (node, NODES))).collect();
        let mut store = nodes[0].store().unwrap();
        for node in 0..NODES {
            publish_address(&mut *store, NodeId(node), "127.0.0.1:9".parse().unwrap()).unwrap();
        }
        let run = tempfile::tempdir().unwrap();
        let heard = std::sync::Arc::new(Listening::default());
        let observer: std::sync::Arc<dyn Observer> = heard.clone();
        let leader = Gatherer::new(store_of(&nodes[0]), (0, NODES), run.path(), Refusals::told_to(&observer));
        let branch = |node: u32| {
            let nodes = nodes[node as usize].clone();
            let store = store_of(&nodes);
            (node, Branch::new(nodes, Tree::of(NODES).unwrap(), store, Refusals::told_to(&observer)))
        };
        let branches = (1..NODES).map(branch).collect();
        Self { run, _server: server, nodes, leader, branches, heard }
    }

    /// Each node tells its pages, as far as it has come, and the one that leads looks.
    fn round(&mut self, progress: u64) {
        // Each in a thread of its own, as each is a process: whoever waits for what is gone waits alone.
        std::thread::scope(|scope| {
            for (node, branch) in &mut self.branches {
                scope.spawn(move || branch.tell(&part(*node, &[*node]), &[(*node, page_at(*node, progress))].into()));
            }
        });
        self.leader.look();
    }

    /// Whether the one that leads has all pages of nodes that live, as they are.
    fn is_known(&self, progress: u64) -> bool {
        let read = |bytes: &[u8]| LivePage::read(bytes, bytes).unwrap();
        self.branches.keys().all(|node| {
            let there = fs::read(page_path(self.run.path(), *node)).ok();
            there.is_some_and(|there| read(&there) == read(&page_at(*node, progress)))
        })
    }

    /// Rounds until it is so, at which nothing happens.
    fn rounds_until_known(&mut self, progress: u64) -> Option<u32> {
        (1..60).find(|_| {
            self.round(progress);
            self.is_known(progress)
        })
    }

    fn head(&self, group: u32) -> Option<HeadEntry> {
        let text = self.nodes[0].store().unwrap().get(&head_key(group)).unwrap();
        text.and_then(|text| serde_json::from_str(&text).ok())
    }
}

fn store_of(nodes: &Nodes) -> Store {
    let nodes = nodes.clone();
    Store::new(move || nodes.store())
}

fn page_at(node: u32, progress: u64) -> Vec<u8> {
    page_of(&Rank { rank: node, progress, arrivals: 5 * progress, jitter_ns: 500_000, ..Rank::default() })
}

#[test]
fn pages_of_many_nodes_come_through_heads_and_those_that_fail_are_replaced() {
    let mut job = Job::new();
    assert!(job.rounds_until_known(1).is_some_and(|rounds| rounds < 40));
    let heads: Vec<u32> = (0..3).map(|group| job.head(group).unwrap().node).collect();
    let tree = Tree::of(NODES).unwrap();
    assert!(heads.iter().zip(0..).all(|(head, group)| tree.members(group).contains(head)), "{heads:?}");
    // Whoever is heard through a head says nothing straight any more.
    (2..14).for_each(|progress| job.round(progress));
    let straight = |job: &Job| job.nodes[0].store().unwrap().get(&key(40)).unwrap();
    let before = straight(&job);
    for progress in 14..20 {
        job.round(progress);
    }
    assert_eq!(straight(&job), before);
    assert!(job.rounds_until_known(20).is_some_and(|rounds| rounds <= 4), "two rounds and what is on its way");

    // A node of another job reads nothing of it.
    let at = job.head(1).unwrap().at;
    let mut stranger =
        TcpStore::new("127.0.0.1", at.port(), SharedKey::new("another"), std::time::Duration::from_secs(5)).unwrap();
    assert!(matches!(stranger.get(&key(40)), Err(StoreError::Refused { .. })));

    // The head of a group and one of another one die.
    let dead = job.head(1).unwrap();
    job.branches.remove(&dead.node);
    job.branches.remove(&5);
    assert!(job.rounds_until_known(21).is_some());
    (22..60).for_each(|progress| job.round(progress));
    let next = job.head(1).unwrap();
    assert!(next.node != dead.node && tree.members(1).contains(&next.node), "{next:?}");
    assert!(job.rounds_until_known(60).is_some_and(|rounds| rounds <= 12));
    let left = LivePage::read(&fs::read(page_path(job.run.path(), 5)).unwrap(), &page_at(5, 1)).unwrap();
    assert!(left.state.progress <= 21, "what is there of a node that died is as old as it is: {}", left.state.progress);
    assert_eq!((job.leader.refused(), job.heard.0.lock().unwrap().len()), (0, 0));

    // Words that are none are refused, counted and said once, and cost nothing but themselves.
    let mut forger = job.nodes[3].store().unwrap();
    let word = forger.get(&word_key(next.node)).unwrap().unwrap();
    for (count, text) in (1..).zip(["", "{}", &word[..word.len() / 2], &word.replace("\"nodes\":[[", "\"nodes\":[[4,1],[")]) {
        forger.set(&word_key(next.node), text).unwrap();
        job.leader.look();
        assert_eq!((job.leader.refused(), job.heard.0.lock().unwrap().len()), (count, 1), "{text}");
    }
    assert!(job.rounds_until_known(61).is_some());
    job.leader.end();
    assert!(fs::read_dir(job.run.path().join("live")).unwrap().next().is_none());
}

#[test]
fn a_node_that_has_no_pages_any_more_says_so_however_it_is_heard() {
    let mut job = Job::new();
    assert!(job.rounds_until_known(1).is_some());
    let mut branch = job.branches.remove(&40).unwrap();
    branch.tell(&part(40, &[]), &BTreeMap::new());
    let gone = (0..30).any(|_| {
        job.round(2);
        !page_path(job.run.path(), 40).exists()
    });
    assert!(gone);
}
