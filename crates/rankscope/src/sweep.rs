//! `rankscope sweep`: its arguments. `rankscope-sweep` plans, `rankscope-launch` carries it out, `print` says what happens.

mod print;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::ValueEnum;
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_cli::settings::{SettingsArgs, settings};
use rankscope_config::ClockSettings;
use rankscope_launch::{ExitClass, Intent, SweepError, SweepObserver, SweepRequest, Swept};
use rankscope_sweep::{Asked, Case, Definition, Error, Options, Order, Preset, Variable, compare_command};

use crate::run::JobArgs;
use print::Printer;

/// Run a command in several configurations, several times each, in a balanced order.
///
/// Each run gets a run directory in DIR/CONFIGURATION/repN, as `rankscope run` makes it, with the variables of its configuration in its
/// environment. The plan is in DIR/sweep.json. The same command again, or --resume DIR, goes on with what has not succeeded. Exits with 1
/// if a run failed.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Run with each of these values of a variable; several --set and --preset multiply. `\,` is a comma in a value
    #[arg(long, value_name = "NAME=VALUE,VALUE")]
    set: Vec<Variable>,
    /// Also run with exactly these variables, which may be none
    #[arg(long, value_name = "LABEL:NAME=VALUE,NAME=VALUE")]
    case: Vec<Case>,
    /// Run with the variables of a preset: rccl-warp-speed:56x256,37x384 are compute units and threads per block of RCCL
    #[arg(long, value_name = "NAME:VALUES")]
    preset: Vec<Preset>,
    /// Also run with no variable set, as the configuration `base`
    #[arg(long)]
    base: bool,
    /// Times that each configuration runs. A verdict on a difference needs 3; 5 are better
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    repeat: u32,
    /// In which order they run
    #[arg(long, value_enum, default_value_t = OrderArg::Balanced)]
    order: OrderArg,
    /// The same as --order balanced
    #[arg(long, conflicts_with = "order")]
    interleave: bool,
    /// Draw the order from this number [default: drawn anew for each sweep and printed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32))]
    seed: Option<u32>,
    /// Directory of the sweep [default: sweeps/PROGRAM-NUMBER, where the same command finds it again]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Go on with the sweep in DIR
    #[arg(
        long,
        value_name = "DIR",
        conflicts_with_all = ["set", "case", "preset", "base", "repeat", "order", "interleave", "seed", "out", "ranks", "no_clock",
            "no_hooks", "collect", "command"]
    )]
    resume: Option<PathBuf>,
    /// Begin with a run that warms the machine up and is not compared; also after an interruption
    #[arg(long)]
    warm_up: bool,
    /// End with the first run that fails
    #[arg(long)]
    stop_on_failure: bool,
    /// Print the runs in order with what they set, and run nothing
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    job: JobArgs,
    /// Align and report at the end of each run; the comparison needs no reports
    #[arg(long)]
    report: bool,
    /// What to print; with json the jobs' own output goes to stderr
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// The command to run. A path in its arguments may begin with {run}, the run directory, or {raw}, its folder of traces
    #[arg(required_unless_present = "resume", trailing_var_arg = true, allow_hyphen_values = true, value_name = "CMD")]
    command: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum OrderArg {
    /// Rounds, each with every configuration once in a random order, so that a drift of the machine is shared evenly
    Balanced,
    /// Rounds in the order given
    AsGiven,
    /// All repetitions of one configuration, then those of the next
    Grouped,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let (folder, intent) = match target(&args) {
        Ok(target) => target?,
        Err(wrong) => return Ok(output::misused(&wrong.to_string())),
    };
    let format = args.format;
    if args.dry_run {
        return match rankscope_launch::planned(&folder, &intent) {
            Err(error) => ended_by(error),
            Ok(plan) => print::dry_run(&plan, format).map(|()| ExitCode::SUCCESS),
        };
    }
    let observer: Arc<dyn SweepObserver> = Arc::new(Printer);
    match rankscope_launch::sweep(&request(&args, folder, intent)?, &observer) {
        Err(error) => ended_by(error),
        Ok(swept) => {
            print::over(&swept, format)?;
            if format == Format::Table && swept.stopped_by.is_none() {
                compare(&swept);
            }
            let code = swept.stopped_by.map_or(i32::from(!swept.plan.sweep.is_complete()), |signal| 128 + signal);
            Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
        }
    }
}

/// The comparison of the configurations, where there are two to compare. Where it fails, the runs are there, and the command is said.
fn compare(swept: &Swept) {
    if swept.plan.sweep.runs.iter().all(|run| run.traces.is_none_or(|traces| traces == 0)) {
        return;
    }
    let Some(command) = compare_command(&swept.plan.sweep, &swept.plan.folder) else { return };
    let compared = match crate::parsed(command) {
        Ok(crate::Cli { verb: crate::Verb::Compare(args) }) => crate::compare::run(args),
        _ => return,
    };
    if let Err(error) = compared {
        output::fail(&error);
    }
}

fn ended_by(error: SweepError) -> Result<ExitCode> {
    match error.exit_class() {
        ExitClass::UsedWrongly => Ok(output::misused(&output::told_of(&error))),
        _ => Err(error.into()),
    }
}

/// Where the sweep lies, and which it is. What was asked for in a way that means nothing is the outer error.
fn target(args: &Args) -> std::result::Result<Result<(PathBuf, Intent)>, Error> {
    if let Some(folder) = &args.resume {
        return Ok(Ok((folder.clone(), Intent::GoOn)));
    }
    let here = match std::env::current_dir().context("the working directory") {
        Ok(here) => here.to_string_lossy().into_owned(),
        Err(error) => return Ok(Err(error)),
    };
    let definition = definition(args, here)?;
    let folder = args.out.clone().unwrap_or_else(|| Path::new("sweeps").join(definition.name()));
    Ok(Ok((folder, Intent::Defined(definition))))
}

fn definition(args: &Args, here: String) -> std::result::Result<Definition, Error> {
    let text = |word: &OsString| {
        word.to_str().map(str::to_owned).ok_or_else(|| Error::NotText { word: word.to_string_lossy().into_owned() })
    };
    let command = args.command.iter().map(text).collect::<std::result::Result<_, _>>()?;
    let asked = Asked { base: args.base, variables: args.set.clone(), presets: args.preset.clone(), cases: args.case.clone() };
    let JobArgs { ranks, no_clock, no_hooks, collect, .. } = &args.job;
    let options = Options { ranks: *ranks, clock: !no_clock, hooks: !no_hooks, collect: collect.clone() };
    let order = match args.order {
        OrderArg::Balanced => Order::Balanced,
        OrderArg::AsGiven => Order::AsGiven,
        OrderArg::Grouped => Order::Grouped,
    };
    Ok(Definition::new(command, here, &asked, options)?.repeated(args.repeat)?.ordered(order, args.seed.map(u64::from)))
}

fn request(args: &Args, folder: PathBuf, intent: Intent) -> Result<SweepRequest> {
    // What is wrong with the settings is the agents' to say.
    let settings = settings(SettingsArgs::default())?;
    Ok(SweepRequest {
        folder,
        intent,
        warm_up: args.warm_up,
        stop_on_failure: args.stop_on_failure,
        clock: ClockSettings::of(&settings),
        report: args.report,
        grace: args.job.grace(),
        finish_within: args.job.finish_within(),
        aside: args.format == Format::Json,
    })
}
