//! `rankscope dist ray`: the cluster's own Python, with a script of ours.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use rankscope_cli::ExitCode;
use rankscope_cli::output;
use rankscope_cli::progress::ProgressArgs;
use rankscope_dist::{Ray, ray};

use super::TaskArgs;

/// Map on a Ray cluster, and merge here at the end.
///
/// Starts the cluster's own Python with a script that comes with rankscope. Ray starts tasks again whose worker or node died; parts go
/// straight into their folder and never through Ray's object store. Ends as the first task that cannot be helped, 130 where it was
/// cancelled. After that, or after this machine was lost, the same command goes on.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    tasks: TaskArgs,
    /// Print the script instead of running it
    #[arg(long)]
    print: bool,
    /// The Python that has Ray
    #[arg(long, value_name = "PYTHON", default_value = "python3")]
    python: PathBuf,
    /// Address of the cluster; auto for the one that this machine belongs to, local for one of its own
    #[arg(long, value_name = "ADDRESS", default_value = "auto")]
    address: String,
    /// Do not merge at the end
    #[arg(long)]
    no_merge: bool,
    #[command(flatten)]
    progress: ProgressArgs,
}

pub(super) fn run(args: Args) -> Result<ExitCode> {
    let (shards, json) = (args.tasks.shards, args.progress.is_json());
    let wanted = Ray { address: args.address, shards, merge: !args.no_merge, json };
    let script = ray(&args.tasks.tasks()?, &wanted);
    if args.print {
        output::answer(&script)?;
        return Ok(ExitCode::SUCCESS);
    }
    // In place of this process, so that signals go where the tasks are known.
    let error = Command::new(&args.python).arg("-c").arg(&script).exec();
    Err(error).with_context(|| format!("--python {}", args.python.display()))
}
