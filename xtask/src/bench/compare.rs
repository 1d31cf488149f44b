//! `cargo xtask bench compare`: what a comparison is worth. `--statistics` simulates runs whose truth is known and counts how often
//! intervals, verdicts and families of metrics are wrong. `--history` measures what it costs to follow 500 runs, `--sides` what two runs of eight
//! ranks cost, with `--peers` beside another program that compares them, and `--wide` what two runs of a thousand ranks cost.

mod gates;
mod grid;
mod history;
mod markdown;
mod sides;
pub(super) mod wide;

use std::path::PathBuf;

use anyhow::{Result, bail};
use serde::Serialize;

use gates::Gate;
use grid::Cell;

/// Options of `cargo xtask bench compare`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Simulate, and count how often the statistics are wrong. Takes a minute or two.
    #[arg(long)]
    statistics: bool,
    /// Time `compare --history` of 500 saved reports.
    #[arg(long)]
    history: bool,
    /// Time `compare` of two runs of eight ranks, from traces and from saved reports to all workbooks and the page.
    #[arg(long)]
    sides: bool,
    /// With --sides: what HolisticTraceAnalysis takes to compare the same traces, where RANKSCOPE_PEERS_HTA names its python.
    #[arg(long, requires = "sides")]
    peers: bool,
    /// Time `compare` of two runs of a thousand ranks, and of half as many, from parts and from saved reports.
    #[arg(long)]
    wide: bool,
    /// Measure this program instead of building target/release/rankscope.
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Repeat each simulation with this many seeds.
    #[arg(long, default_value_t = 1_500, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// `json` for one document on stdout, anything else for Markdown tables.
    #[arg(long, default_value = "table")]
    format: String,
}

/// What is printed with `--format json`.
#[derive(Serialize)]
struct Outcome {
    seeds: u64,
    /// Intervals by steps, one run a side.
    cells: Vec<Cell>,
    gates: Vec<Gate>,
}

/// So many standard errors of a simulation may lie between what it found and a gate, or the seeds would decide.
const ERRORS: f64 = 2.0;

/// Runs what is asked for.
pub(super) fn run(args: &Args) -> Result<()> {
    if args.history || args.sides || args.wide {
        return of_program(args);
    }
    if !args.statistics {
        bail!("nothing to do: ask for --statistics, --history, --sides or --wide");
    }
    let cells = grid::cells(args.seeds);
    let mut gates = gates::of_cells(&cells, args.seeds);
    gates.extend(gates::all(args.seeds));
    let outcome = Outcome { seeds: args.seeds, cells, gates };
    match args.format.as_str() {
        "json" => println!("{}", serde_json::to_string(&outcome)?),
        _ => print!("{}", markdown::tables(&outcome)),
    }
    let missed: Vec<&str> = outcome.gates.iter().filter(|gate| gate.is_missed()).map(|gate| gate.what.as_str()).collect();
    if !missed.is_empty() {
        bail!("missed by more than {ERRORS} standard errors: {}", missed.join("; "));
    }
    Ok(())
}

fn of_program(args: &Args) -> Result<()> {
    let (binary, folder) = super::at_hand(args.binary.as_deref())?;
    let sides = args.sides.then(|| sides::measured(&binary, &folder, args.peers)).transpose()?;
    let history = args.history.then(|| history::measured(&binary, &folder)).transpose()?;
    let wide = args.wide.then(|| wide::measured(&binary, &folder)).transpose()?;
    if args.format == "json" {
        println!("{}", serde_json::json!({ "sides": sides, "history": history, "wide": wide }));
        return Ok(());
    }
    let tables = [
        sides.map(|rows| sides::table(&rows)),
        history.map(|measured| history::table(&measured)),
        wide.map(|rows| wide::table(&rows)),
    ];
    print!("{}", tables.into_iter().flatten().collect::<Vec<_>>().join("\n"));
    Ok(())
}
