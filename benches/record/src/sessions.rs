//! Whether sessions leave anything behind: resident memory after many of them.

use std::time::{Duration, Instant};

use anyhow::Result;
use rankscope_record::Session;

use crate::{memory, ours};

/// Starts and stops `cycles` sessions; prints by how much resident memory grew, behind the first tenth.
pub fn run(cycles: u64) -> Result<()> {
    sessions(cycles / 10)?;
    let before_mb = settled_mb()?;
    sessions(cycles)?;
    let grown_mb = settled_mb()? - before_mb;
    println!("{}", serde_json::json!({ "grown_mb": grown_mb }));
    Ok(())
}

fn sessions(cycles: u64) -> Result<()> {
    for _ in 0..cycles {
        let session = Session::start(ours::options())?;
        ours::nested_spans(800);
        session.stop()?;
    }
    Ok(())
}

/// What is resident once this thread is the only one: a stop does not wait for the recorder's own thread to clean up.
fn settled_mb() -> Result<f64> {
    let begun = Instant::now();
    while std::fs::read_dir("/proc/self/task")?.count() > 1 && begun.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(5));
    }
    memory::megabytes("VmRSS")
}
