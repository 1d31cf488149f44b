//! `rankscope runs`: the run directories in a folder: which there are, what one holds, whether it is whole, which may go.

mod prune;
mod show;

use std::path::PathBuf;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::Result;
use clap::Subcommand;
use rankscope_cli::ExitCode;
use rankscope_cli::output::Format;

/// List, show, check and prune run directories.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// List the runs in a folder, newest first
    List {
        /// The folder that holds the run directories
        #[arg(value_name = "PARENT", default_value = "runs")]
        parent: PathBuf,
        /// What to print
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Show one run: its command, attempts, hosts and ranks
    Show {
        /// The run directory
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// What to print
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    /// Check that no file of a run is missing or changed since it ended; exits with 3 if any is
    Check {
        /// The run directory
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// What to print
        #[arg(long, value_enum, default_value_t = Format::Table)]
        format: Format,
    },
    Prune(prune::Args),
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    match args.verb {
        Verb::List { parent, format } => show::list(&parent, format),
        Verb::Show { directory, format } => show::show(&directory, format),
        Verb::Check { directory, format } => show::check(&directory, format),
        Verb::Prune(args) => prune::run(&args),
    }
}

/// A moment to the second, in UTC.
fn moment(unix_ns: i64) -> String {
    match u64::try_from(unix_ns) {
        Ok(ns) if ns > 0 => humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_nanos(ns)).to_string(),
        _ => "unknown".to_owned(),
    }
}
