//! `rankscope run`: its arguments, and what it prints. `rankscope-launch` runs the job.

mod job;
mod nccl;
mod pjrt;
mod profiled;
mod rocm;
mod summary;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_cli::settings::{SettingsArgs, settings};
use rankscope_config::ClockSettings;
use rankscope_counters::Hz;
use rankscope_launch::{
    Counting, ExitClass, NameError, Notice, Observer, Place, ProfilePlan, Request, RunName, Summary, Watching, become_command,
};
use rankscope_report::steers;

use crate::watch::otlp_place;
pub(crate) use job::JobArgs;
pub(crate) use summary::ranks;

/// Run a job and collect its traces, the clocks of its nodes and a report.
///
/// With -n it starts the ranks itself; without, it runs CMD as given, which may be torchrun, srun or mpirun. Profiles that
/// torch.profiler and jax.profiler export are copied into the run directory. Exits with the job's exit code.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    job: JobArgs,
    /// Directory of the run [default: runs/NAME]
    #[arg(long, value_name = "DIR", conflicts_with = "name")]
    out: Option<PathBuf>,
    /// Profile steps of torch or JAX from outside: steps=N@FIRST, every=PERIOD[,steps=N][,times=N] or on-signal[,steps=N] (SIGUSR2 to
    /// this process), and with it ,shapes ,stack or ,memory. The script needs no change
    #[arg(long, value_name = "STEPS", conflicts_with = "no_hooks")]
    profile: Option<ProfilePlan>,
    /// Look why the job stands still when nothing was printed or recorded for this long, as 300s or 5min: evidence and a verdict go into
    /// hang/ of the run directory, and the job goes on. Printing counts of ranks that -n starts
    #[arg(long, value_name = "DURATION", value_parser = patience)]
    on_hang: Option<Duration>,
    /// Watch the job as `rankscope watch` does, and say on standard error when a rank becomes late, steps become slow, or nothing moves. Ranks
    /// have to keep live pages: those that record themselves do, and with --nccl all
    #[arg(long)]
    watch: bool,
    /// Have the shell run this for each alarm, as `rankscope watch --exec` does; watches
    #[arg(long, value_name = "CMD")]
    on_alarm: Option<String>,
    /// Push figures of the job to a collector of OpenTelemetry, as `rankscope watch --metrics-otlp` does; watches
    #[arg(long, value_name = "URL", value_parser = otlp_place)]
    metrics_otlp: Option<String>,
    /// Have ranks that record themselves keep only the last DURATION, as 60s or 5min, in a ring. When an alarm is raised, the job stands
    /// still (--on-hang), a part of it on one of several nodes fails, or SIGUSR2 comes to this process, that of all ranks is kept in
    /// incidents/ of the run on the first node, aligned and reported, while the job goes on; watches. `rankscope trigger RUN --last` does
    /// so by hand
    #[arg(long, value_name = "DURATION", value_parser = ring)]
    ring: Option<Duration>,
    /// Record the job's collectives through the profiler plugin of NCCL and RCCL, without a change to the job. A plugin that
    /// NCCL_PROFILER_PLUGIN names is called, too
    #[arg(long)]
    nccl: bool,
    /// Have ROCm load a tool by which programs that record themselves with rankscope-rocprofiler have the work of AMD's GPUs, also where
    /// they call HIP before their session begins. Tools that ROCP_TOOL_LIBRARIES names are loaded, too
    #[arg(long)]
    rocm: bool,
    /// Have JAX load the plugin that PJRT_NAMES_AND_LIBRARY_PATHS names through rankscope's: one trace then has what the vendor's profiler and what the
    /// host's clocks tell. Of several RANKSCOPE_PJRT_FORWARD says which
    #[arg(long)]
    pjrt: bool,
    /// Sample counters of every node beside the job, so many times a second [default: 10, from 1 to 100]: processors, memory, network, sensors, and
    /// GPUs through NVML. The timeline shows them
    #[arg(long, value_name = "HZ", num_args = 0..=1, require_equals = true, default_missing_value = "10", hide_default_value = true)]
    counters: Option<Hz>,
    /// Name of the run, below runs/ [default: the program and the time]
    #[arg(long, value_name = "NAME", value_parser = name)]
    name: Option<RunName>,
    /// Do not align and report at the end of the job
    #[arg(long)]
    no_report: bool,
    /// Map the traces at the end where they were written, in the background of this node, into DIR/node-<K>: `rankscope merge DIR` then
    /// reports on all nodes. A shared folder; relative paths start here
    #[arg(long, value_name = "DIR")]
    map: Option<PathBuf>,
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
    let settings = settings(SettingsArgs::default())?;
    let environment = environment(&args)?;
    let watches = args.watch || args.on_alarm.is_some() || args.ring.is_some() || args.metrics_otlp.is_some();
    Ok(Request {
        command: args.command,
        ranks: args.job.ranks,
        environment,
        place: match (args.out, args.name) {
            (Some(path), _) => Place::Path(path),
            (None, Some(name)) => Place::Name(name),
            (None, None) => Place::Any,
        },
        run_id: None,
        clock: (!args.job.no_clock).then(|| ClockSettings::of(&settings)),
        hooks: !args.job.no_hooks,
        profile: args.profile,
        on_hang: args.on_hang,
        ring: args.ring,
        watch: watches.then_some(Watching { exec: args.on_alarm, metrics_otlp: args.metrics_otlp }),
        counters: args.counters.map(|hz| Counting { hz: hz.get() }),
        report: !args.no_report,
        grace: args.job.grace(),
        map: args.map,
        finish_within: args.job.finish_within(),
        collect: args.job.collect,
        aside: args.format == Format::Json,
    })
}

/// What the job is told beside the run.
fn environment(args: &Args) -> Result<BTreeMap<String, String>> {
    if !args.nccl && !args.rocm && !args.pjrt && args.job.no_hooks {
        return Ok(BTreeMap::new());
    }
    let program = std::env::current_exe().context("where this program lies is not known")?;
    let mut variables = if args.nccl { nccl_variables(&program) } else { BTreeMap::new() };
    if !args.job.no_hooks {
        variables.extend(pjrt::told(&program, std::env::var_os(pjrt::LIBRARY).is_some()));
    }
    if args.rocm {
        variables.extend(rocm_variable(&program));
    }
    if args.pjrt {
        variables.extend(pjrt_variables(&program));
    }
    Ok(variables)
}

/// What the job is told for NCCL's plugin; what the user should know of it is said.
fn nccl_variables(program: &Path) -> BTreeMap<String, String> {
    let chosen = std::env::var_os("NCCL_PROFILER_PLUGIN").map(|chosen| chosen.to_string_lossy().into_owned());
    said(nccl::told(program, chosen.as_deref()))
}

/// What the job is told for ROCm's tools; what the user should know of it is said.
fn rocm_variable(program: &Path) -> Option<(String, String)> {
    let chosen = std::env::var_os(rocm::TOOLS).map(|chosen| chosen.to_string_lossy().into_owned());
    said(rocm::told(program, chosen.as_deref()))
}

/// What the job is told for the plugin of PJRT that ours is to stand in front of; what the user should know of it is said.
fn pjrt_variables(program: &Path) -> BTreeMap<String, String> {
    let chosen = |name| std::env::var_os(name).unwrap_or_default().to_string_lossy().into_owned();
    said(pjrt::in_front(program, &chosen(pjrt::PLUGINS), &chosen(pjrt::FORWARD)))
}

/// What the job is told, once the line for the user is said.
fn said<T>((told, line): (T, Option<String>)) -> T {
    if let Some(line) = line {
        output::remark(&format!("rankscope: {line}"));
    }
    told
}

/// The library `file`, in the folder of the binary `program` or in the one of libraries next to that.
fn beside(program: &Path, file: &str) -> Option<PathBuf> {
    let folder = program.parent()?;
    [folder.join(file), folder.join("../lib").join(file)].into_iter().find(|path| path.is_file())
}

/// The same, built by `package`; where it is not there, a sentence that says so.
fn library(program: &Path, file: &str, package: &str) -> Result<PathBuf, String> {
    beside(program, file).ok_or_else(|| {
        let at = program.parent().unwrap_or(Path::new(".")).join(file);
        format!("{} is not there; cargo build -p {package} builds it", at.display())
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

/// How long nothing may happen.
fn patience(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if duration < PATIENCE_MIN { Err("less than half a second; give a time such as 300s".to_owned()) } else { Ok(duration) }
}

/// How much of it is kept.
fn ring(text: &str) -> Result<Duration, String> {
    let duration = humantime::parse_duration(text).map_err(|error| error.to_string())?;
    if duration < RING_MIN { Err("less than a second; give a time such as 60s".to_owned()) } else { Ok(duration) }
}

/// Less is no minute before anything: clocks of recordings are read once a second.
const RING_MIN: Duration = Duration::from_secs(1);

/// Less is no standstill: a rank may take so long to say two lines.
const PATIENCE_MIN: Duration = Duration::from_millis(500);

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
