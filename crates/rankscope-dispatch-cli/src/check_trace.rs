//! `rankscope dispatch check --trace RUN PLAN`: what a job's all-to-alls took, beside what the plan says.

mod print;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result};
use rankscope_cli::ExitCode;
use rankscope_cli::job::{Bar, ClockArgs, MemoryArgs, request};
use rankscope_cli::output::{self, Format};
use rankscope_pipeline::judged;
use rankscope_plan_traces::{document, exchanges};
use rankscope_trace::Trace;

use super::calibrate::Reading;
use super::paths;
use super::predict::NetworkArgs;

/// What a run is held against.
#[derive(Debug, clap::Args)]
pub(crate) struct TraceArgs {
    /// Compare a run with the plan instead: its traces, or its run directory
    #[arg(long, value_name = "RUN")]
    pub(crate) trace: Option<PathBuf>,
    /// Ignore all-to-alls of all ranks that fit no exchange of the plan, such as those of expert parallelism
    #[arg(long, requires = "trace")]
    others: bool,
    /// Continue without ranks that are missing or cannot be read
    #[arg(long, requires = "trace")]
    partial: bool,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    reading: Reading,
    #[command(flatten)]
    clocks: ClockArgs,
}

/// The trace contradicts the plan.
const CONTRADICTED: u8 = 3;

pub(crate) fn run(plan: &Path, run: &Path, args: &TraceArgs, format: Format) -> Result<ExitCode> {
    let known = args.network.load(&args.reading)?;
    let loaded = paths::load(plan)?;
    let predicted =
        known.network.predict_layer(&loaded.assignment, &loaded.rows).with_context(|| plan.display().to_string())?;
    let mut request = request(&[run.to_owned()], args.partial, &args.clocks);
    request.mapping.keep = MemoryArgs::default().keep();
    let judged = judged(&request, &Bar::default())?;
    let job = &judged.job;
    let traces: Vec<Arc<Trace>> = (0..job.ranks.len()).map(|index| judged.trace(index)).collect::<Result<_, _>>()?;
    let met = exchanges(job, &traces, &predicted, &known.network.topology, args.others)
        .with_context(|| format!("{} against {}", run.display(), plan.display()))?;
    output::answer(&match format {
        Format::Json => document(&met, &predicted, &known, job).to_string(),
        Format::Table => print::drawn(&met, &predicted, &known, job),
    })?;
    Ok(if met.contradicted() { ExitCode::from(CONTRADICTED) } else { ExitCode::SUCCESS })
}
