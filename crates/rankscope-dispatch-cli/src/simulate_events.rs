//! `rankscope dispatch simulate --events`: a plan's step played in time.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_dispatch::events::{Machine, Outcome, Passes, RankUse, Scene, Step, StepShape, Wire};
use rankscope_dispatch::{Assignment, Pass, Rows};
use rankscope_formats::{Encoding, Format as TraceFormat, json, perfetto};
use rankscope_plan_files::network::Known;
use rankscope_plan_files::played;
use rankscope_report::{Style, bytes, columns, duration, paragraph};
use rankscope_run::write_file;
use rankscope_time::Span;

use super::calibrate::Reading;
use super::pass_arg::PassArg;
use super::predict::NetworkArgs;
use super::{paths, timeline};

/// Layers, stages and microbatches of a step, each.
const PARTS_MAX: i64 = 1 << 12;

/// How a step is played.
#[derive(Debug, clap::Args)]
pub(crate) struct EventArgs {
    /// Play the plan's step in time instead: computation, copies and exchanges of every rank
    #[arg(long)]
    pub(crate) events: bool,
    /// Plans of further microbatches, played in turn
    #[arg(long = "then", value_name = "PLAN", requires = "events")]
    further: Vec<PathBuf>,
    /// Overlap two nano-batches: one computes while the other exchanges
    #[arg(long, requires = "events")]
    overlap: bool,
    /// Layers of a stage
    #[arg(long, value_name = "N", default_value_t = 1, requires = "events", value_parser = clap::value_parser!(u32).range(1..=PARTS_MAX))]
    layers: u32,
    /// Stages of a pipeline, each with all ranks of the plan
    #[arg(long, value_name = "N", default_value_t = 1, requires = "events", value_parser = clap::value_parser!(u32).range(1..=PARTS_MAX))]
    stages: u32,
    /// Microbatches of a step [default: one of each plan]
    #[arg(long, value_name = "N", requires = "events", value_parser = clap::value_parser!(u32).range(1..=PARTS_MAX))]
    microbatches: Option<u32>,
    /// Leave out the backward pass, as --pass forward does
    #[arg(long, requires = "events", conflicts_with = "pass")]
    forward_only: bool,
    /// Send everything again for the backward pass, which keeps nothing of the forward one then
    #[arg(long, requires = "events", conflicts_with_all = ["pass", "forward_only"])]
    resend: bool,
    /// Simulate messages as flows that share links, instead of the network model
    #[arg(long, requires = "events")]
    flows: bool,
    /// Speed of attention kernels on a rank, in Tflop/s
    #[arg(long, value_name = "TFLOPS", default_value_t = 400.0, requires = "events", allow_negative_numbers = true)]
    attention_tflops: f64,
    /// Speed of dense layers on a rank, in Tflop/s
    #[arg(long, value_name = "TFLOPS", default_value_t = 500.0, requires = "events", allow_negative_numbers = true)]
    dense_tflops: f64,
    /// Memory bandwidth, reads and writes together, in GB/s
    #[arg(long, value_name = "GB/S", default_value_t = 3350.0, requires = "events", allow_negative_numbers = true)]
    memory_rate: f64,
    /// Write what was played as a timeline: .pftrace or .json, also .gz or .zst
    #[arg(long, value_name = "FILE", requires = "events")]
    timeline: Option<PathBuf>,
    /// Write the step as Chakra execution traces for another simulator: PREFIX.0.et and so on, one for each rank of each stage
    #[arg(long, value_name = "PREFIX", requires = "events")]
    chakra: Option<PathBuf>,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    reading: Reading,
}

impl EventArgs {
    fn shape(&self, pass: Option<PassArg>) -> StepShape {
        let mut shape = StepShape::default();
        (shape.layers, shape.stages, shape.microbatches) = (self.layers, self.stages, self.microbatches);
        let only = if self.forward_only { Some(Pass::Forward) } else { pass.map(Pass::from) };
        (shape.passes, shape.overlap) = (Passes::of(only, self.resend), self.overlap);
        shape
    }

    fn machine(&self) -> Result<Machine> {
        let rate = |value: f64, unit: f64, name: &str| {
            let rate = value * unit;
            match rate.is_finite() && rate >= 1.0 && rate < u64::MAX as f64 {
                true => Ok(rate as u64),
                false => bail!("{name} {value}: must be greater than zero"),
            }
        };
        Ok(Machine {
            attention_flops_per_second: rate(self.attention_tflops, 1e12, "--attention-tflops")?,
            dense_flops_per_second: rate(self.dense_tflops, 1e12, "--dense-tflops")?,
            memory_bytes_per_second: rate(self.memory_rate, 1e9, "--memory-rate")?,
        })
    }
}

pub(crate) fn run(input: &Path, args: &EventArgs, pass: Option<PassArg>, format: Format) -> Result<ExitCode> {
    let known = args.network.load(&args.reading)?;
    let machine = args.machine()?;
    let plans = std::iter::once(input).chain(args.further.iter().map(PathBuf::as_path));
    let plans = plans.map(paths::load).collect::<Result<Vec<_>>>()?;
    if let Some(other) = plans.iter().find(|plan| plan.assignment.world_size() != plans[0].assignment.world_size()) {
        bail!(
            "the plans are for {} and for {} ranks; microbatches of one step share their ranks",
            plans[0].assignment.world_size(),
            other.assignment.world_size()
        );
    }
    let of_plans: Vec<(Assignment<'_>, &Rows)> = plans.iter().map(|plan| ((&plan.assignment).into(), &plan.rows)).collect();
    let wire = if args.flows { Wire::Flows } else { Wire::Model };
    let scene = Scene::play(&of_plans, &args.shape(pass), &machine, &known.network, wire);
    let scene = scene.with_context(|| input.display().to_string())?;
    if let Some(path) = &args.timeline {
        write_timeline(path, &scene.played, plans[0].assignment.world_size())?;
    }
    if let Some(prefix) = &args.chakra {
        write_chakra(prefix, &scene.step, &machine)?;
    }
    output::answer(&match format {
        Format::Json => played::document(&scene, &known).to_string(),
        Format::Table => drawn(&scene, &known),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn write_timeline(path: &Path, outcome: &Outcome, ranks: u32) -> Result<()> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let format = TraceFormat::of_name(&name);
    let trace = timeline::trace(outcome, ranks);
    write_file(path, |file| {
        let mut encoder = Encoding::of_name(&name).encoder(file)?;
        match format {
            Some(TraceFormat::Perfetto) => perfetto::write(&trace, &mut encoder)?,
            Some(TraceFormat::Json) => json::write(&trace, &mut encoder)?,
            _ => bail!("unknown suffix; use .pftrace or .json, optionally followed by .gz or .zst"),
        }
        encoder.finish().map_err(anyhow::Error::from)
    })
    .with_context(|| path.display().to_string())
}

fn write_chakra(prefix: &Path, step: &Step, machine: &Machine) -> Result<()> {
    let traces = rankscope_chakra::Traces::new(step, machine)?;
    for npu in 0..traces.len() {
        let mut name = prefix.as_os_str().to_owned();
        name.push(format!(".{npu}.et"));
        paths::write(Path::new(&name), &traces.write(npu))?;
    }
    Ok(())
}

/// Ranks listed for people; the others are in the JSON.
const RANKS_SHOWN: usize = 16;

fn drawn(scene: &Scene, known: &Known) -> String {
    let step = &scene.step;
    let style = output::style();
    let times = |nanos: i64| duration(nanos as f64);
    let row = |name: &str, outcome: &Outcome| {
        let sum = |of: fn(&RankUse) -> Span| {
            let all: i64 = outcome.ranks.iter().map(|rank| of(rank).as_nanos()).sum();
            times(all / i64::try_from(outcome.ranks.len().max(1)).unwrap_or(1))
        };
        let share = format!("{:.1} %", 100.0 * outcome.idle_share());
        let (exposed, buffers) = (sum(|rank| rank.exposed), bytes(outcome.buffer_bytes()));
        vec![name.to_owned(), times(outcome.makespan.as_nanos()), share, sum(|rank| rank.computation), exposed, buffers]
    };
    let mut rows = vec![row("the plan", &scene.played)];
    rows.extend(scene.without_overlap.as_ref().map(|outcome| row("without overlap", outcome)));
    // The same work in as many nano-batches, so that the times compare.
    rows.push(row("without a plan", &scene.undispatched));
    let microbatches = u32::try_from(step.microbatches.len()).unwrap_or(u32::MAX);
    let parts =
        [(step.layers, "layer"), (step.stages, "stage"), (microbatches, "microbatch"), (step.nano_batches, "nano-batch")];
    let mut text =
        format!("{}, on {}\n\n", parts.map(|(many, what)| counted(many, what)).join(", "), output::one_line(&known.name));
    text.push_str(&columns(&["", "takes", "not computing", "computing", "exposed", "buffers"], rows, style));
    let moved = scene.exchanges().into_iter().map(|(direction, moved)| format!("{} {}", direction.as_str(), bytes(moved)));
    let moved = moved.collect::<Vec<_>>().join(", ");
    text.push_str(&paragraph(&format!("between ranks, in all of the step: {moved}"), style));
    text.push('\n');
    text.push_str(&by_rank(&scene.played, style));
    text
}

fn counted(many: u32, what: &str) -> String {
    let ending = match (many, what.ends_with("ch")) {
        (1, _) => "",
        (_, true) => "es",
        _ => "s",
    };
    format!("{many} {what}{ending}")
}

fn by_rank(outcome: &Outcome, style: Style) -> String {
    let row = |(rank, time): (usize, &RankUse)| {
        let times =
            [time.computation, time.copies, time.exposed, time.idle, time.waiting].map(|span| duration(span.as_nanos() as f64));
        std::iter::once(rank.to_string()).chain(times).chain([bytes(time.buffer_bytes)]).collect()
    };
    let head = ["rank", "computes", "copies", "exposed", "idle", "waits for others", "buffers"];
    let mut text = columns(&head, outcome.ranks.iter().enumerate().take(RANKS_SHOWN).map(row).collect(), style);
    if outcome.ranks.len() > RANKS_SHOWN {
        text.push_str(&format!("the first {RANKS_SHOWN} of {} ranks; --format json has all\n", outcome.ranks.len()));
    }
    text
}
