//! What a request takes of the thread of a store to which others are connected who ask nothing.
//!
//! `cargo run --release --package rankscope-probe --example store_requests -- 64 1024 4096`. Each connection takes two files of the process.

#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::error::Error;
use std::time::{Duration, Instant};

use rankscope_probe::rendezvous::{KeyValueStore, StoreServer, TcpStore};

const PATIENCE: Duration = Duration::from_secs(60);
const REQUESTS: u32 = 10_000;

fn main() -> Result<(), Box<dyn Error>> {
    for idle in std::env::args().skip(1) {
        let idle: u32 = idle.parse()?;
        let server = StoreServer::start("localhost", 0, None)?;
        let client = || TcpStore::new("127.0.0.1", server.address().port(), None, PATIENCE);
        let mut clients: Vec<TcpStore> = (0..idle).map(|_| client()).collect::<Result<_, _>>()?;
        for client in &mut clients {
            client.add("there", 1)?;
        }
        let mut asking = client()?;
        asking.set("key", "value")?;
        let (begun, before) = (Instant::now(), store_thread_ns()?);
        for _ in 0..REQUESTS {
            asking.get("key")?;
        }
        let (took, busy_ns) = (begun.elapsed(), store_thread_ns()? - before);
        let each = f64::from(REQUESTS);
        println!(
            "{idle} others: a request takes {:.1} us of the store's thread, and is answered after {:.1} us",
            busy_ns as f64 / each / 1e3,
            took.as_secs_f64() * 1e6 / each
        );
    }
    Ok(())
}

/// What the thread of the only store in this process has taken.
fn store_thread_ns() -> Result<u64, Box<dyn Error>> {
    for task in std::fs::read_dir("/proc/self/task")? {
        let task = task?.path();
        if std::fs::read_to_string(task.join("comm"))?.trim() == "rankscope-store" {
            let taken = std::fs::read_to_string(task.join("schedstat"))?;
            return Ok(taken.split(' ').next().unwrap_or_default().parse()?);
        }
    }
    Err("there is no store".into())
}
