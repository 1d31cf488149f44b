//! What the project does to itself: `cargo xtask <verb>`.
//!
//! Plain Rust and the crates the product needs anyway, so that whoever can build rankscope can run everything CI runs. Verbs
//! print what they did; nothing here is part of the product.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line tool talks on its streams")]

mod bench;
mod capi;
mod cargo;
mod ci;
mod dataset;
mod deps;
mod docs;
mod engines;
mod header;
mod install_c;
mod instructions;
mod mpi;
mod nvrtc;
mod purity;
mod python;
mod readme;
mod rig;
mod shared;
mod smoke;
mod soak;
mod sql;
mod venv;
mod wasm;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Checks, benchmarks and chores of the rankscope workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", disable_help_subcommand = true)]
struct Xtask {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    /// Check that crates depend only on what the allow-list grants, and that pure crates stay pure.
    Deps,
    /// Run everything CI runs, stopping at the first stage that fails.
    Ci(ci::Args),
    /// Feed every reader mutated files for a while; needs no nightly.
    FuzzSmoke(smoke::Args),
    /// Measure the product, and its peers where they are installed.
    Bench(bench::Args),
    /// Count the instructions of a span and hold them against the budget; needs valgrind.
    Instructions(instructions::Args),
    /// Write or compare the header of the C library.
    Header(header::Args),
    /// Build the C library and install it with all that C and C++ programs need.
    InstallC(install_c::Args),
    /// Run the commands that README and guides show, and compare what they print with what is shown.
    Readme(readme::Args),
    /// Write or compare the pages that are generated from the program, and follow every link of the documents.
    Docs(docs::Args),
    /// Run real agents over simulated networks with wrong clocks and faults, and judge what they say.
    Rig(rig::Args),
    /// Train, record and watch for hours, and see whether a process grows.
    Soak(soak::Args),
    /// The rig's cross traffic.
    #[command(hide = true)]
    RigTraffic(rig::traffic::Args),
}

fn main() -> ExitCode {
    let done = match Xtask::parse().verb {
        Verb::Deps => deps::run().and_then(|()| shared::run()),
        Verb::Ci(args) => ci::run(&args),
        Verb::FuzzSmoke(args) => smoke::run(&args),
        Verb::Bench(args) => bench::run(&args),
        Verb::Instructions(args) => instructions::run(&args).map(|outcome| println!("{outcome}")),
        Verb::Header(args) => header::run(&args),
        Verb::InstallC(args) => install_c::run(&args),
        Verb::Readme(args) => readme::run(&args).map(drop),
        Verb::Docs(args) => docs::run(&args),
        Verb::Rig(args) => rig::run(&args),
        Verb::Soak(args) => soak::run(&args),
        Verb::RigTraffic(args) => rig::traffic::send(&args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
