//! `rankscope run`: its arguments, and what it prints. `rankscope-launch` runs the job.

mod summary;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use rankscope_config::ClockSettings;
use rankscope_launch::{ExitClass, NameError, Notice, Observer, Place, Request, RunName, Summary, become_command};
use rankscope_report::steers;

use crate::config;
use crate::output::{self, Format};

/// Run a job and collect its traces, the clocks of its nodes and a report.
///
/// With -n it starts the ranks itself; without, it runs CMD as given, which may be torchrun, srun or mpirun. Profiles that
/// torch.profiler and jax.profiler export are copied into the run directory. Exits with the job's exit code.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Start this many local processes with RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT
    #[arg(short = 'n', long = "ranks", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=RANKS_MAX))]
    ranks: Option<u32>,
    /// Directory of the run [default: runs/NAME]
    #[arg(long, value_name = "DIR", conflicts_with = "name")]
    out: Option<PathBuf>,
    /// Name of the run, below runs/ [default: the program and the time]
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<RunName>,
    /// Do not measure clocks
    #[arg(long)]
    no_clock: bool,
    /// Do not hook into Python programs; profiles that they export are not collected
    #[arg(long)]
    no_hooks: bool,
    /// Do not align and report at the end of the job
    #[arg(long)]
    no_report: bool,
    /// Also collect files that match this pattern and are new or changed after the job (may be repeated)
    #[arg(long, value_name = "GLOB")]
    collect: Vec<String>,
    /// Seconds that ranks started by -n have to exit after one has failed or SIGTERM or SIGINT was forwarded; then they are killed
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    grace: u64,
    /// Seconds that aligning and reporting may take
    #[arg(long, value_name = "SECONDS", default_value_t = 600)]
    finish_within: u64,
    /// What to print; with json the job's own output goes to stderr
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Become CMD and end with this process
    #[arg(long, value_name = "PID", hide = true)]
    tied: Option<u32>,
    /// The command to run. A path in its arguments may begin with {run}, the run directory, or {raw}, its folder of traces
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Processes of one host; more is a slip of the finger.
const RANKS_MAX: i64 = 4_096;

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    if let Some(parent) = args.tied {
        become_command(parent, &args.command)?;
        return Ok(ExitCode::SUCCESS);
    }
    let format = args.format;
    let observer: Arc<dyn Observer> = Arc::new(Printer { format });
    let ended = match rankscope_launch::run(request(args)?, &observer) {
        Err(error) if error.exit_class() == ExitClass::UsedWrongly => {
            output::remark(&format!("rankscope: {error}"));
            return Ok(ExitCode::from(2));
        }
        ended => ended?,
    };
    if !ended.kept && format == Format::Json {
        output::answer(&serde_json::json!({ "run": null, "exit_code": ended.outcome.code() }).to_string())?;
    }
    Ok(ExitCode::from(u8::try_from(ended.outcome.code()).unwrap_or(1)))
}

fn request(args: Args) -> Result<Request> {
    // What is wrong with the settings is the agents' to say.
    let settings = config::settings(config::From::default())?;
    Ok(Request {
        command: args.command,
        ranks: args.ranks,
        environment: BTreeMap::new(),
        place: match (args.out, args.name) {
            (Some(path), _) => Place::Path(path),
            (None, Some(name)) => Place::Name(name),
            (None, None) => Place::Any,
        },
        run_id: None,
        clock: (!args.no_clock).then(|| ClockSettings::of(&settings)),
        hooks: !args.no_hooks,
        report: !args.no_report,
        collect: args.collect,
        grace: Duration::from_secs(args.grace),
        finish_within: Duration::from_secs(args.finish_within),
        aside: args.format == Format::Json,
    })
}

/// Says on stderr what is worth a line, and at the end what became of the run.
struct Printer {
    format: Format,
}

impl Observer for Printer {
    fn notice(&self, notice: &Notice) {
        output::remark(&format!("rankscope: {}", output::told_of(notice)));
    }

    fn over(&self, summary: &Summary<'_>) {
        summary::say(summary, self.format);
    }
}

/// A name that can also be printed: no character of it steers a terminal.
fn name(text: &str) -> Result<RunName, NameError> {
    match text.parse() {
        Ok(_) | Err(NameError::Dot | NameError::TooLong) if text.chars().any(steers) => Err(NameError::Control),
        name => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_steers_no_terminal() {
        for text in ["\u{1b}[2J", "\u{202e}x", ".\u{202e}x"] {
            assert_eq!(name(text), Err(NameError::Control), "{text:?}");
        }
        assert_eq!(name("a/\u{202e}"), Err(NameError::Slash));
        assert_eq!(name("tr\u{e4}in-2").map(|name| name.to_string()), Ok("tr\u{e4}in-2".to_owned()));
    }
}
