//! `rankscope run`: a job runs as it would without us, and leaves a run directory.
//!
//! The one idea: everything we do stands beside the job. Its command, its terminal, its signals and its exit code are its own;
//! whatever of ours fails is said in one line and left out.

#[path = "../../rankscope-launch/src/agents.rs"]
mod agents;
#[path = "../../rankscope-launch/src/collect.rs"]
mod collect;
#[path = "../../rankscope-launch/src/directory.rs"]
mod directory;
#[path = "../../rankscope-launch/src/finish.rs"]
mod finish;
#[path = "../../rankscope-launch/src/hooks.rs"]
mod hooks;
#[path = "../../rankscope-launch/src/job.rs"]
mod job;
#[path = "../../rankscope-launch/src/left.rs"]
mod left;
#[path = "../../rankscope-launch/src/lines.rs"]
mod lines;
#[path = "../../rankscope-launch/src/name.rs"]
mod name;
#[path = "../../rankscope-launch/src/outcome.rs"]
mod outcome;
#[path = "../../rankscope-launch/src/signals.rs"]
mod signals;
#[path = "../../rankscope-launch/src/summary.rs"]
mod summary;
#[path = "../../rankscope-launch/src/tied.rs"]
mod tied;
#[path = "../../rankscope-launch/src/words.rs"]
mod words;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use rankscope_probe::launch::command::{JobCommand, Launcher, World, recognise};

use crate::output::{self, Format};
use agents::AgentProcess;
use collect::Collection;
use directory::Directory;
use job::Job;
use rankscope_run::{SideFile, read_side_text};
use signals::Signals;
pub(crate) use signals::outlive_file_limit;

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
    #[arg(long, value_name = "NAME", value_parser = name::given)]
    name: Option<String>,
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
        return tied::become_command(parent, &args.command);
    }
    let words: Vec<String> = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let described = described(&words);
    if args.ranks.is_some() && described.launcher != Launcher::None {
        output::remark(&format!("rankscope: {} starts its own processes; leave out -n, or leave out {}", words[0], words[0]));
        return Ok(ExitCode::from(2));
    }
    // Before anything is started, so that the end of no process is missed.
    let signals = Signals::listen(args.ranks.is_some_and(|ranks| ranks > 1))?;
    let directory = directory(&args, &words, &described);
    let collection = Collection::before(&args.collect);
    let agent = match &directory {
        Some(directory) if !args.no_clock => AgentProcess::start(&described.agents, directory),
        _ => None,
    };
    let command = directory.as_ref().map_or_else(|| args.command.clone(), |directory| directory.filled_in(&args.command));
    let environment = directory.as_ref().map(|directory| directory.environment(!args.no_hooks)).unwrap_or_default();
    let ended = Job::start(&command, args.ranks, environment, args.format == Format::Json)
        .map(|job| job.run(&signals, agent.as_ref(), Duration::from_secs(args.grace)));
    if let Some(agent) = agent {
        agent.stop();
    }
    let (outcome, directory) = match ended {
        Ok(outcome) => (outcome, directory),
        Err(error) => (outcome::not_started(&words[0], &error), directory.and_then(Directory::without_a_job)),
    };
    let exit_code = outcome.exit_code();
    if let Some(directory) = directory {
        let numbered = args.ranks.is_some();
        let what = finish::Finish { collection, numbered, report: !args.no_report, format: args.format };
        finish::finish(directory, described, outcome, what, &signals, Duration::from_secs(args.finish_within));
    } else if args.format == Format::Json {
        output::answer(&serde_json::json!({ "run": null, "exit_code": outcome.code() }).to_string())?;
    }
    Ok(exit_code)
}

/// What is known of the job before it runs. What its variables get wrong costs the clocks and nothing else.
fn described(words: &[String]) -> JobCommand {
    let world = World {
        variable: &|name| std::env::var(name).ok(),
        file: &|path| read_side_text(path.as_ref(), SideFile::Config).ok(),
        version: &agents::version,
    };
    recognise(words, &world).unwrap_or_else(|wrong| JobCommand {
        launcher: Launcher::None,
        ranks: None,
        job: None,
        program: 0,
        agents: rankscope_probe::launch::command::Agents::Impossible(wrong.to_string()),
    })
}

fn directory(args: &Args, words: &[String], described: &JobCommand) -> Option<Directory> {
    let wanted = match (&args.out, &args.name) {
        (Some(path), _) => directory::Wanted::Path(path.clone()),
        (None, Some(name)) => directory::Wanted::Name(name.clone()),
        (None, None) => directory::Wanted::Any,
    };
    match Directory::begin(wanted, words, described, args.ranks) {
        Ok(directory) => Some(directory),
        Err(error) => {
            output::remark(&format!("rankscope: the job runs, but nothing can be kept of this run: {}", output::told(&error)));
            None
        }
    }
}
