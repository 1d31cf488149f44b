//! The rendezvous of a job of as many nodes as one likes, all of them here: a store that node 0 hosts, and for each node a thread that meets the
//! others over a connection of its own, with a socket for its probes. Prints how long that took, and what the store was asked.
//!
//! `cargo run --release --package rankscope-probe --example rendezvous -- 4096 2`: four thousand nodes, each answer two milliseconds late, as of a
//! store that is far. Each node takes three files of the process.

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::error::Error;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{Builder, sleep};
use std::time::{Duration, Instant};

use rankscope_clock::NodeId;
use rankscope_clock::graph::Topology;
use rankscope_probe::agent::{MeetingOptions, PortMode, meet};
use rankscope_probe::rendezvous::{KeyValueStore, StoreError, StoreServer, TcpStore};
use rankscope_probe::stamps::SocketOptions;

const PATIENCE: Duration = Duration::from_secs(300);

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let nodes: u32 = arguments.next().map_or(Ok(32), |text| text.parse())?;
    let late = Duration::from_millis(arguments.next().map_or(Ok(0), |text| text.parse())?);
    let server = StoreServer::start("localhost", 0, None)?;
    let (asked, bytes) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let begun = Instant::now();
    let mut threads = Vec::new();
    for node in 0..nodes {
        let store = TcpStore::new("127.0.0.1", server.address().port(), None, PATIENCE)?;
        let mut store = Far { store, late, asked: Arc::clone(&asked), bytes: Arc::clone(&bytes) };
        let thread = Builder::new().stack_size(256 << 10).spawn(move || {
            let met = meet(&mut store, &options(node, nodes));
            (begun.elapsed(), met.map(|met| met.minutes.plain_edges().len()))
        });
        threads.push(thread?);
    }
    let (mut last, mut edges) = (Duration::ZERO, 0);
    for thread in threads {
        let (took, met) = thread.join().map_err(|_| "a node panicked")?;
        last = last.max(took);
        edges += met?;
    }
    let (asked, bytes) = (asked.load(Ordering::Relaxed), bytes.load(Ordering::Relaxed));
    println!("{nodes} nodes with {} edges met in {:.2} s", edges / 2, last.as_secs_f64());
    let each = |count: u64| count as f64 / f64::from(nodes);
    println!("the store was asked {asked} times, {:.1} a node, and passed on {:.1} kB a node", each(asked), each(bytes) / 1e3);
    Ok(())
}

fn options(node: u32, num_nodes: u32) -> MeetingOptions {
    MeetingOptions {
        node: NodeId(node),
        num_nodes,
        ip: IpAddr::V4(Ipv4Addr::LOCALHOST),
        ports: PortMode::Single(0),
        topology: Topology::default(),
        seed: 1,
        secret: None,
        socket: SocketOptions::default(),
        timeout: PATIENCE,
    }
}

/// A store that answers late, and counts.
struct Far {
    store: TcpStore,
    late: Duration,
    asked: Arc<AtomicU64>,
    bytes: Arc<AtomicU64>,
}

impl Far {
    fn count(&self, bytes: usize) {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        if !self.late.is_zero() {
            sleep(self.late);
        }
    }
}

impl KeyValueStore for Far {
    fn place(&self) -> &str {
        self.store.place()
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), StoreError> {
        self.count(value.len());
        self.store.set(key, value)
    }

    fn set_all(&mut self, texts: &[(String, String)]) -> Result<(), StoreError> {
        texts.chunks(64).for_each(|some| self.count(some.iter().map(|(_, value)| value.len()).sum()));
        self.store.set_all(texts)
    }

    fn get(&mut self, key: &str) -> Result<Option<String>, StoreError> {
        let text = self.store.get(key)?;
        self.count(text.as_ref().map_or(0, String::len));
        Ok(text)
    }

    fn wait(&mut self, key: &str, timeout: Duration) -> Result<String, StoreError> {
        let text = self.store.wait(key, timeout)?;
        self.count(text.len());
        Ok(text)
    }

    fn add(&mut self, key: &str, delta: i64) -> Result<i64, StoreError> {
        self.count(0);
        self.store.add(key, delta)
    }
}
