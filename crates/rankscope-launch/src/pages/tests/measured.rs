//! What passing on the pages of many nodes costs the one that leads, and how old they are there: `cargo xtask bench live --nodes 1024` runs it.
//!
//! Time is simulated in tenths of a second, and each node has its own phase; stores, their sockets and what is said through them are real. Before all
//! nodes tell straight, as few at a time as is borne, which is how it is without heads.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rankscope_clock::NodeId;
use rankscope_probe::key::SharedKey;
use rankscope_probe::rendezvous::{KeyValueStore, Place, StoreError, StoreServer, publish_address};

use super::super::branch::Branch;
use super::super::gatherer::Gatherer;
use super::super::teller::Teller;
use super::super::tree::Tree;
use super::super::{LOOK_SELDOMEST, PACE, Refusals, Store, processor_time};
use super::*;
use crate::incident::Nodes;
use crate::notice::Observer;
use crate::notice::tests::Deaf;

const RANKS: u32 = 8;
/// Simulated tenths of a second.
const TENTHS_A_SECOND: u64 = 10;

/// What goes to a store and comes from it.
#[derive(Default)]
struct Meter {
    messages: AtomicU64,
    bytes: AtomicU64,
}

struct Metered(Box<dyn KeyValueStore>, Arc<Meter>);

impl Metered {
    fn count(&self, bytes: usize) {
        self.1.messages.fetch_add(1, Ordering::Relaxed);
        self.1.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl KeyValueStore for Metered {
    fn place(&self) -> &str {
        self.0.place()
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), StoreError> {
        self.count(key.len() + value.len());
        self.0.set(key, value)
    }

    fn get(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        let text = self.0.get(key)?;
        self.count(key.len() + text.as_ref().map_or(0, String::len));
        Ok(text)
    }

    fn wait(&mut self, key: &str, timeout: Duration) -> Result<String, StoreError> {
        self.0.wait(key, timeout)
    }

    fn add(&mut self, key: &str, delta: i64) -> Result<i64, StoreError> {
        self.0.add(key, delta)
    }
}

/// A node that does not lead.
enum Other {
    Straight(Teller),
    Branch(Box<Branch>),
}

/// What threads of stores had of processors, by their ids, in nanoseconds.
fn store_threads() -> BTreeMap<u64, u64> {
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let of = |task: fs::DirEntry| {
        let is_store = fs::read_to_string(task.path().join("comm")).ok()?.trim() == "rankscope-store";
        let ran = fs::read_to_string(task.path().join("schedstat")).ok()?.split(' ').next()?.parse().ok()?;
        is_store.then_some((task.file_name().to_str()?.parse().ok()?, ran))
    };
    tasks.filter_map(of).collect()
}

#[derive(Debug, serde::Serialize)]
struct Costs {
    nodes: u32,
    ranks: u32,
    collectives_a_second: u64,
    through_heads: bool,
    heads: usize,
    messages_a_second: f64,
    kb_a_second: f64,
    /// Of one core: the store of the one that leads, its `rankscope run`, and a head with its store.
    store_share: f64,
    leader_share: f64,
    head_share: f64,
    looks_every_seconds: f64,
    age_mean_seconds: f64,
    age_max_seconds: f64,
}

/// Long, as it is a procedure in its order.
fn measured(num_nodes: u32, collectives: u64, through_heads: bool) -> Costs {
    let key = SharedKey::new("of the job");
    let server = StoreServer::start("127.0.0.1", 0, key.clone()).unwrap();
    let place = Place::Tcp { host: "127.0.0.1".to_owned(), port: server.address().port() };
    let meter = Arc::new(Meter::default());
    let nodes = |node| Nodes::at(place.clone(), key.clone(), (node, num_nodes));
    let store = |node| {
        let (nodes, meter) = (nodes(node), Arc::clone(&meter));
        Store::new(move || Ok(Box::new(Metered(nodes.store()?, Arc::clone(&meter)))))
    };
    let mut addresses = nodes(0).store().unwrap();
    for node in 0..num_nodes {
        publish_address(&mut *addresses, NodeId(node), "127.0.0.1:9".parse().unwrap()).unwrap();
    }
    // It has answered, so it runs.
    let first_thread = *store_threads().last_key_value().unwrap().0;
    let run = tempfile::tempdir().unwrap();
    let observer: Arc<dyn Observer> = Arc::new(Deaf);
    let leader = Gatherer::new(store(0), (0, num_nodes), run.path(), Refusals::told_to(&observer));
    let mut leader = if through_heads { leader } else { leader.without_heads() };
    let tree = Tree::of(num_nodes).filter(|_| through_heads);
    let other = |node| match tree {
        Some(tree) => Other::Branch(Box::new(Branch::new(nodes(node), tree, store(node), Refusals::told_to(&observer)))),
        None => Other::Straight(Teller::new(node, store(node))),
    };
    let mut others: BTreeMap<u32, Other> = (1..num_nodes).map(|node| (node, other(node))).collect();
    let ranks_of = |node: u32| (node * RANKS..(node + 1) * RANKS).collect::<Vec<u32>>();
    let pages_of = |node: u32, tenth: u64| -> BTreeMap<u32, Vec<u8>> {
        let page = |rank| {
            let arrivals = tenth * collectives / TENTHS_A_SECOND;
            page_of(&Rank { rank, pid: 1, progress: tenth, clock_ns: i64::from(node) << 36, arrivals, jitter_ns: 200_000 })
        };
        ranks_of(node).into_iter().map(|rank| (rank, page(rank))).collect()
    };
    let seldom = if through_heads { 1 } else { u64::from(num_nodes.div_ceil(64)) } * TENTHS_A_SECOND;
    // Until all are heard: to put new pages in place takes the one that leads longest.
    let begins = TENTHS_A_SECOND * 60.max(2 * seldom / TENTHS_A_SECOND);
    let ends = begins + TENTHS_A_SECOND * 20.max(seldom / TENTHS_A_SECOND);
    let (mut next_look, mut looks) = (5, 0_u32);
    let (mut leads, mut heads) = (Duration::ZERO, Duration::ZERO);
    let (mut before, mut ages) = (BTreeMap::new(), Vec::new());
    for tenth in 1..=ends {
        if tenth == begins {
            (leads, heads, looks, before) = (Duration::ZERO, Duration::ZERO, 0, store_threads());
            [&meter.messages, &meter.bytes].into_iter().for_each(|count| count.store(0, Ordering::Relaxed));
        }
        for (node, other) in others.iter_mut().filter(|(node, _)| (tenth + u64::from(**node)).is_multiple_of(seldom)) {
            let (part, pages) = (part(*node, &ranks_of(*node)), pages_of(*node, tenth));
            let from = processor_time();
            match other {
                Other::Straight(teller) => teller.tell(&part, &pages),
                Other::Branch(branch) => {
                    branch.tell(&part, &pages);
                    heads += if branch.is_head() { processor_time().saturating_sub(from) } else { Duration::ZERO };
                }
            }
        }
        if tenth >= next_look {
            let from = processor_time();
            leader.look();
            let busy = processor_time().saturating_sub(from);
            (leads, looks) = (leads + busy, looks + 1);
            let pause = (PACE * busy).clamp(Duration::from_secs(1), LOOK_SELDOMEST);
            let pause = u64::try_from(pause.as_millis() / 100).unwrap();
            next_look = tenth + if through_heads { pause } else { seldom };
        }
        if tenth > begins && tenth.is_multiple_of(TENTHS_A_SECOND - 1) {
            let there = |rank| {
                let page = fs::read(page_path(run.path(), rank)).unwrap();
                LivePage::read(&page, &page).unwrap().state.progress - 1
            };
            ages.extend((RANKS..num_nodes * RANKS).map(|rank| tenth - there(rank)));
        }
    }
    let seconds = (ends - begins) as f64 / TENTHS_A_SECOND as f64;
    let ran = |thread: &u64, ns: &u64| ns.saturating_sub(before.get(thread).copied().unwrap_or(0)) as f64 / 1e9;
    let after = store_threads();
    let count = others.values().filter(|other| matches!(other, Other::Branch(branch) if branch.is_head())).count();
    let head_stores: f64 =
        after.iter().filter(|(thread, _)| **thread != first_thread).map(|(thread, ns)| ran(thread, ns)).sum();
    Costs {
        nodes: num_nodes,
        ranks: num_nodes * RANKS,
        collectives_a_second: collectives,
        through_heads,
        heads: count,
        messages_a_second: meter.messages.load(Ordering::Relaxed) as f64 / seconds,
        kb_a_second: meter.bytes.load(Ordering::Relaxed) as f64 / 1e3 / seconds,
        store_share: ran(&first_thread, &after[&first_thread]) / seconds,
        leader_share: leads.as_secs_f64() / seconds,
        head_share: (heads.as_secs_f64() + head_stores) / seconds / count.max(1) as f64,
        looks_every_seconds: seconds / f64::from(looks),
        age_mean_seconds: ages.iter().sum::<u64>() as f64 / ages.len() as f64 / TENTHS_A_SECOND as f64,
        age_max_seconds: ages.iter().max().copied().unwrap_or(0) as f64 / TENTHS_A_SECOND as f64,
    }
}

#[test]
#[ignore = "takes minutes, and measures: `cargo xtask bench live --nodes`"]
#[expect(clippy::print_stdout, reason = "whoever measures reads it")]
fn what_many_nodes_cost_the_one_that_leads() {
    let number = |name: &str, else_this: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(else_this);
    let num_nodes = u32::try_from(number("RANKSCOPE_BENCH_NODES", 128)).unwrap();
    let collectives = number("RANKSCOPE_BENCH_COLLECTIVES", 8);
    let is_compared = number("RANKSCOPE_BENCH_STRAIGHT", 1) == 1;
    for through_heads in [false, true].into_iter().filter(|through_heads| *through_heads || is_compared) {
        println!("costs {}", serde_json::to_string(&measured(num_nodes, collectives, through_heads)).unwrap());
    }
}
