//! `rankscope dispatch simulate --events`: a plan's step played in time.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use rankscope_dispatch::Batch;
use rankscope_dispatch::events::{Machine, Microbatch, Outcome, Step, Wire, play, undispatched};
use rankscope_formats::{Encoding, Format as TraceFormat, json, perfetto};
use rankscope_plan_files::plan::Plan;
use rankscope_report::{Style, bytes, columns, duration};
use rankscope_run::write_file;
use serde_json::json;

use super::calibrate::Reading;
use super::paths::{self, Known};
use super::predict::NetworkArgs;
use super::timeline;
use crate::output::{self, Format};

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
    /// Leave out the backward pass
    #[arg(long, requires = "events")]
    forward_only: bool,
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
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    reading: Reading,
}

impl EventArgs {
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

/// A step, and what the same would be otherwise.
struct Scene {
    played: Outcome,
    /// Nano-batches one after the other; none where there is one only.
    without_overlap: Option<Outcome>,
    /// Every token's attention where the token lives.
    undispatched: Outcome,
}

pub(crate) fn run(input: &Path, args: &EventArgs, format: Format) -> Result<ExitCode> {
    let known = args.network.load(&args.reading)?;
    let machine = args.machine()?;
    let plans = std::iter::once(input).chain(args.further.iter().map(PathBuf::as_path));
    let plans = plans.map(paths::load).collect::<Result<Vec<_>>>()?;
    if let Some(other) = plans.iter().find(|plan| plan.batch.world_size() != plans[0].batch.world_size()) {
        bail!(
            "the plans are for {} and for {} ranks; microbatches of one step share their ranks",
            plans[0].batch.world_size(),
            other.batch.world_size()
        );
    }
    let place = || input.display().to_string();
    let step = step(&plans, args, &machine, |batch| Ok(batch.clone())).with_context(place)?;
    let home = Step { overlap: false, ..self::step(&plans, args, &machine, |batch| Ok(undispatched(batch)?))? };
    let wire = if args.flows { Wire::Flows } else { Wire::Model };
    let play = |step: &Step| play(step, &machine, &known.network, wire);
    let scene = Scene {
        played: play(&step).with_context(place)?,
        without_overlap: args.overlap.then(|| play(&Step { overlap: false, ..step.clone() })).transpose()?,
        undispatched: play(&home)?,
    };
    if let Some(path) = &args.timeline {
        write_timeline(path, &scene.played, plans[0].batch.world_size())?;
    }
    output::answer(&match format {
        Format::Json => document(&scene, &known, &step),
        Format::Table => drawn(&scene, &known, &step),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn step(plans: &[Plan], args: &EventArgs, machine: &Machine, of: impl Fn(&Batch) -> Result<Batch>) -> Result<Step> {
    let microbatch = |plan: &Plan| Ok(Microbatch::of(&of(&plan.batch)?, &plan.rows, machine, !args.forward_only)?);
    let distinct = plans.iter().map(microbatch).collect::<Result<Vec<_>>>()?;
    let many = args.microbatches.map_or(plans.len(), |many| many as usize);
    let first = &plans[0];
    // Tokens of the first plan: pipelines hand on what they were given.
    let row_bytes = first.rows.bytes(u64::from(first.rows.hidden_q));
    let activation = |tokens: u64| if args.stages > 1 { tokens.saturating_mul(row_bytes) } else { 0 };
    Ok(Step {
        microbatches: distinct.iter().cycle().take(many).cloned().collect(),
        layers: args.layers,
        stages: args.stages,
        activation_bytes: first.batch.linear_tokens().into_iter().map(activation).collect(),
        nano_batches: if args.overlap { 2 } else { 1 },
        overlap: args.overlap,
    })
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

fn document(scene: &Scene, known: &Known, step: &Step) -> String {
    let outcome = |outcome: &Outcome| {
        let ranks = outcome.ranks.iter().enumerate().map(|(rank, time)| {
            json!({
                "rank": rank,
                "computation_ns": time.computation.as_nanos(),
                "copies_ns": time.copies.as_nanos(),
                "exposed_ns": time.exposed.as_nanos(),
                "idle_ns": time.idle.as_nanos(),
                "exchanges_ns": time.exchanges.as_nanos(),
                "waiting_ns": time.waiting.as_nanos(),
                "buffer_bytes": time.buffer_bytes,
            })
        });
        json!({
            "makespan_ns": outcome.makespan.as_nanos(),
            "idle_share": outcome.idle_share(),
            "buffer_bytes": outcome.buffer_bytes(),
            "ranks": ranks.collect::<Vec<_>>(),
        })
    };
    json!({
        "schema": 1,
        "network": {"name": known.name, "source": known.source},
        "layers": step.layers,
        "stages": step.stages,
        "microbatches": step.microbatches.len(),
        "nano_batches": step.nano_batches,
        "played": outcome(&scene.played),
        "without_overlap": scene.without_overlap.as_ref().map(outcome),
        "undispatched": outcome(&scene.undispatched),
    })
    .to_string()
}

/// Ranks listed for people; the others are in the JSON.
const RANKS_SHOWN: usize = 16;

fn drawn(scene: &Scene, known: &Known, step: &Step) -> String {
    let style = output::style();
    let times = |nanos: i64| duration(nanos as f64);
    let row = |name: &str, outcome: &Outcome| {
        let sum = |of: fn(&rankscope_dispatch::events::RankUse) -> rankscope_time::Span| {
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
    let row = |(rank, time): (usize, &rankscope_dispatch::events::RankUse)| {
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
