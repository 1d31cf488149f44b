//! `rankscope dist slurm`: an array job that maps, and one after it that merges.

use std::io::Write;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use rankscope_cli::ExitCode;
use rankscope_cli::output;
use rankscope_dist::{Slurm, slurm};

use super::TaskArgs;

/// Map by an array job of Slurm, and merge by a job that waits for it.
///
/// Prints a shell script that submits both, or with --submit runs it. Tasks that fail are tried again, on another node where they were
/// killed; not those that were used wrongly or whose input changed (exit codes 2, 3 and 4).
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    tasks: TaskArgs,
    /// Print the script; so it is without --submit, too
    #[arg(long, conflicts_with = "submit")]
    print: bool,
    /// Submit the jobs with sbatch
    #[arg(long)]
    submit: bool,
    /// Partition of both jobs
    #[arg(long, value_name = "NAME", value_parser = word)]
    partition: Option<String>,
    /// Account of both jobs
    #[arg(long, value_name = "NAME", value_parser = word)]
    account: Option<String>,
    /// How long a job may take, as sbatch has it
    #[arg(long, value_name = "TIME", value_parser = word)]
    time: Option<String>,
}

/// A word of sbatch's, which the script holds as it is.
fn word(text: &str) -> Result<String, &'static str> {
    let is_plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_-.:,+@".contains(c));
    if is_plain { Ok(text.to_owned()) } else { Err("letters, digits and _ - . : , + @ only") }
}

pub(super) fn run(args: Args) -> Result<ExitCode> {
    let Args { tasks, submit, partition, account, time, .. } = args;
    let logs = tasks.logs()?.display().to_string();
    let site = Slurm { partition, account, time, logs: output::quoted(&logs) };
    let script = slurm(&tasks.tasks()?, &site);
    if !submit {
        output::answer(&script)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut shell = Command::new("sh").stdin(Stdio::piped()).spawn().context("sh")?;
    if let Some(mut stdin) = shell.stdin.take() {
        // A shell that stops reading has failed, and says why.
        let _unread = stdin.write_all(script.as_bytes());
    }
    let status = shell.wait().context("sh")?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
