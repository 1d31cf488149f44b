//! `cargo xtask bench clock`: every promise of the clock synchronisation, measured, in one table.
//!
//! The product's own functions work on recorded queueing under injected clocks, on made graphs and on forged packets, so the
//! truth is known; with `--rig` real agents run in namespaces too. Nothing is asserted: a row says what was measured, what the
//! goal is and whether it holds. A row whose input is not there says so and claims nothing.

mod files;
mod graphs;
mod logs;
mod memory;
mod outcome;
mod packets;
mod rig;
mod row;
mod speed;
mod steps;

use std::path::PathBuf;

use anyhow::Result;

/// Options of `cargo xtask bench clock`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// `json` for one document on stdout, anything else for a Markdown table.
    #[arg(long, default_value = "table")]
    format: String,
    /// Put this many clocks on every recording, one after the other.
    #[arg(long, default_value_t = 12)]
    clocks: u64,
    /// Run real agents in network namespaces too. Takes minutes.
    #[arg(long)]
    rig: bool,
    /// The agents' program; target/release/rankscope, built, by default.
    #[arg(long, requires = "rig")]
    binary: Option<PathBuf>,
}

/// Runs the benchmark.
pub(crate) fn run(args: &Args) -> Result<()> {
    let mut rows = logs::rows(args.clocks.max(1))?;
    rows.extend(graphs::rows()?);
    rows.extend(steps::rows(args.clocks.max(1))?);
    rows.push(packets::row());
    rows.push(speed::row());
    rows.push(memory::row()?);
    rows.push(files::row()?);
    if args.rig {
        rows.extend(rig::rows(args.binary.as_deref())?);
    }
    if args.format == "json" {
        println!("{}", serde_json::json!({ "rows": rows }));
    } else {
        print!("{}", row::markdown(&rows));
    }
    Ok(())
}
