//! How long a stop takes: it must not depend on how much was recorded.

use std::time::Instant;

use anyhow::Result;
use rankscope_record::Session;

use crate::ours;

/// Records `spans` spans, stops, prints milliseconds and bytes.
pub fn run(spans: u64) -> Result<()> {
    let session = Session::start(ours::options())?;
    ours::nested_spans(spans);
    let begun = Instant::now();
    let stopped = session.stop()?;
    let stop_ms = begun.elapsed().as_secs_f64() * 1e3;
    let recorded: u64 = stopped.report.threads.iter().map(|thread| thread.spans).sum();
    println!("{}", serde_json::json!({ "stop_ms": stop_ms, "bytes": stopped.report.bytes, "spans": recorded }));
    Ok(())
}
