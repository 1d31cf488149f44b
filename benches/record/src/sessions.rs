//! Whether sessions leave anything behind: resident memory after many of them.

use anyhow::Result;
use rankscope_record::Session;

use crate::{memory, ours};

/// Starts and stops `cycles` sessions; prints by how much resident memory grew, behind the first tenth.
pub fn run(cycles: u64) -> Result<()> {
    let warm = cycles / 10;
    let mut before_mb = 0.0;
    for cycle in 0..warm + cycles {
        if cycle == warm {
            before_mb = memory::megabytes("VmRSS")?;
        }
        let session = Session::start(ours::options())?;
        ours::nested_spans(800);
        session.stop()?;
    }
    let grown_mb = memory::megabytes("VmRSS")? - before_mb;
    println!("{}", serde_json::json!({ "grown_mb": grown_mb }));
    Ok(())
}
