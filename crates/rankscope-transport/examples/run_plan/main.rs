//! Executes drawn plans with real ranks and compares every byte with the simulator.
//!
//! `cargo run -p rankscope-transport --example run_plan` runs eight threads. Built with `--features mpi` it is what the ranks of
//! `mpirun -n 8 target/debug/examples/run_plan --backend mpi --mode put` are.

mod drawn;

use std::error::Error;
use std::io::{self, Write};
use std::time::Duration;

use clap::{Parser, ValueEnum};
use rankscope_dispatch::Rows;
use rankscope_dispatch::movement::ElementType;
use rankscope_transport::Threads;
use rankscope_transport::execute::{Outcome, Trial};

#[derive(Parser)]
struct Args {
    #[arg(long, default_value = "threads")]
    backend: Backend,
    /// How MPI moves the bytes.
    #[arg(long, default_value = "alltoallv")]
    mode: Mode,
    /// Threads to run. Under mpirun there are as many ranks as processes.
    #[arg(long, default_value_t = 8)]
    ranks: u32,
    /// Plans of each layout.
    #[arg(long, default_value_t = 2)]
    count: u64,
    /// Times that each plan is executed, with other bytes each time.
    #[arg(long, default_value_t = 2)]
    repeat: u32,
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Backend {
    Threads,
    Mpi,
}

#[derive(Clone, Copy, ValueEnum)]
enum Mode {
    Alltoallv,
    Put,
}

fn main() -> Result<(), Box<dyn Error>> {
    let args = Args::parse();
    match args.backend {
        Backend::Threads => threads(&args),
        Backend::Mpi => mpi(&args),
    }
}

fn threads(args: &Args) -> Result<(), Box<dyn Error>> {
    for (name, trial) in trials(args, args.ranks)? {
        let outcomes = trial.run_threads(Threads::job(args.ranks, PATIENCE))?;
        say(&name, &outcomes)?;
    }
    Ok(writeln!(io::stdout(), "all bytes as simulated: {} threads, put with signal", args.ranks)?)
}

#[cfg(feature = "mpi")]
fn mpi(args: &Args) -> Result<(), Box<dyn Error>> {
    use rankscope_transport::Transport;
    use rankscope_transport::mpi::{self, Mpi};

    let (mode, name) = match args.mode {
        Mode::Alltoallv => (mpi::Mode::Alltoallv, "alltoallv"),
        Mode::Put => (mpi::Mode::Put, "put"),
    };
    let mut end = Mpi::start(mode)?;
    let is_first = end.rank().0 == 0;
    for (name, trial) in trials(args, end.world_size())? {
        let outcomes = trial.run_process(&mut end, Mpi::slowest).unwrap_or_else(|error| {
            // The others may be waiting for this rank.
            let _ = writeln!(io::stderr(), "{name}: {error}");
            end.abort(1)
        });
        if is_first {
            say(&name, &outcomes)?;
        }
    }
    if is_first {
        writeln!(io::stdout(), "all bytes as simulated: {} processes, MPI {name}", end.world_size())?;
    }
    Ok(())
}

#[cfg(not(feature = "mpi"))]
fn mpi(_: &Args) -> Result<(), Box<dyn Error>> {
    Err("this example was built without MPI; build it with --features mpi".into())
}

/// Plans of every layout, with whole contexts and with tiles whose outputs are merged; small rows that have a tail in bf16, and the
/// log-sum-exp of one head.
fn trials(args: &Args, world_size: u32) -> Result<Vec<(String, Trial)>, rankscope_dispatch::Error> {
    let rows = Rows { hidden_q: 36, hidden_kv: 8, lse: 2, element_bytes: 2 };
    let mut trials = Vec::new();
    for layout in drawn::Layout::ALL {
        for seed in args.seed..args.seed + args.count {
            let batch = drawn::batch(world_size, layout, seed)?;
            let trial = Trial::new(&batch, &rows, ElementType::Bf16, args.repeat, seed)?;
            trials.push((format!("{layout:?}, seed {seed}"), trial));
            let tiles = drawn::tiles(&batch, seed)?;
            let trial = Trial::new(&tiles, &rows, ElementType::Bf16, args.repeat, seed)?;
            trials.push((format!("{layout:?} in tiles, seed {seed}"), trial));
        }
    }
    Ok(trials)
}

fn say(name: &str, outcomes: &[Outcome]) -> io::Result<()> {
    for outcome in outcomes {
        let Outcome { direction, messages, remote_bytes, .. } = outcome;
        let median = outcome.median(|timing| timing.exchange);
        let direction = direction.as_str();
        writeln!(io::stdout(), "{name:24} {direction:16} {messages:5} messages {remote_bytes:9} bytes {median:>12.1?}")?;
    }
    Ok(())
}

const PATIENCE: Duration = Duration::from_secs(120);
