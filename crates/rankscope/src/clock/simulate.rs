//! `rankscope clock simulate`: how well a job of a given shape can be synchronised, the truth being known.

use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use rankscope_clock::NodeId;
use rankscope_clock::fit::{Estimator, FitOptions};
use rankscope_clock::graph::{ProbeGraph, Topology};
use rankscope_clock::nodes::SolveOptions;
use rankscope_clock::simulate::{Accuracy, Job, JobOptions, Quantiles, Scores};
use rankscope_time::{Rate, Span};
use serde::Serialize;

use crate::output::{self, Format};

/// Simulate clocks, queues and faults, and say how far off the estimates are.
///
/// Exchanges go through the same fit and the same solver as real ones. Equal arguments give equal answers.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many nodes
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(2..=10_000))]
    nodes: u32,
    /// How much of the time links are busy with other traffic, 0 to 0.95
    #[arg(long, default_value_t = 0.8)]
    load: f64,
    /// Seed of everything random
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many windows
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    windows: u64,
    /// Length of a window
    #[arg(long, default_value = "4s", value_name = "DURATION", value_parser = duration)]
    window: Span,
    /// Probability that a stamp lies before the truth, by 400 ns on average
    #[arg(long, default_value_t = 0.0)]
    early_stamps: f64,
    /// Probability that a packet is lost
    #[arg(long, default_value_t = 0.0)]
    loss: f64,
    /// Probability that a packet is held up behind later ones
    #[arg(long, default_value_t = 0.0)]
    reorder: f64,
    /// Probability that a packet is duplicated
    #[arg(long, default_value_t = 0.0)]
    duplicates: f64,
    /// Clocks are up to this many seconds off
    #[arg(long, default_value_t = 5.0)]
    offset_s: f64,
    /// Clocks gain or lose up to this many parts per million
    #[arg(long, default_value_t = 50.0)]
    skew_ppm: f64,
    /// How far clock skews wander, in parts per billion per second
    #[arg(long, default_value_t = 10.0)]
    wander_ppb: f64,
    /// random, ring, directed, loop, origin, or edges such as 0-1,1-2,2-0
    #[arg(long, default_value = "random")]
    topology: Topology,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let graph = args.topology.graph(args.nodes, args.seed).context("--topology")?;
    let options = job_options(&args)?;
    let solve =
        SolveOptions { skew_change_ppb_per_s: options.fit.skew_change_ppb_per_s, ..SolveOptions::for_reference(NodeId(0)) };
    let mut job = Job::new(&graph, options);
    let mut scores = Scores::new(solve, args.window);
    let bar = output::progress(args.windows as usize, "windows");
    for _ in 0..args.windows {
        let windows = job.next_windows();
        scores.round(&mut job, &windows);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let result = Outcome::new(&args, &graph, &scores.finish());
    match args.format {
        Format::Table => output::answer(&result.table())?,
        Format::Json => output::answer(&serde_json::to_string(&result)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn job_options(args: &Args) -> Result<JobOptions> {
    let within = |name: &str, value: f64, most: f64| {
        ensure!((0.0..=most).contains(&value), "--{name}: {value} is not between 0 and {most}");
        Ok(value)
    };
    Ok(JobOptions {
        seed: args.seed,
        offset_max: Span::from_nanos((within("offset-s", args.offset_s, 86_400.0)? * 1e9) as i64),
        skew_max: Rate::from_ppb((within("skew-ppm", args.skew_ppm, 400.0)? * 1e3) as i64),
        wander_ppb: within("wander-ppb", args.wander_ppb, 10_000.0)?,
        load: within("load", args.load, 0.95)?,
        early_stamps: within("early-stamps", args.early_stamps, 1.0)?,
        loss: within("loss", args.loss, 1.0)?,
        reorder: within("reorder", args.reorder, 1.0)?,
        duplicates: within("duplicates", args.duplicates, 1.0)?,
        window: args.window,
        cadence: Span::from_nanos(4_000_000),
        spacing: Span::from_nanos(100_000),
        rest: None,
        fit: FitOptions {
            estimator: Estimator::Band,
            // Ten times the usual wander, and more where it is asked for: the bounds rest on it.
            skew_change_ppb_per_s: 100u32.max((10.0 * args.wander_ppb) as u32),
            skew_max: Rate::from_ppb(1_000_000),
            exchanges_min: 10,
        },
    })
}

/// `4s`, `500ms`, `2.5s`, or a number of seconds; a tenth of a second to an hour.
fn duration(text: &str) -> Result<Span> {
    let (number, unit_ns) = match text.strip_suffix("ms") {
        Some(number) => (number, 1e6),
        None => (text.strip_suffix('s').unwrap_or(text), 1e9),
    };
    let ns = number.trim().parse::<f64>().map(|number| number * unit_ns);
    match ns {
        Ok(ns) if (1e8..=3.6e12).contains(&ns) => Ok(Span::from_nanos(ns as i64)),
        _ => bail!("`{text}` is not a duration between 100ms and 3600s"),
    }
}

/// The document. Keys of the first five fields are the contract; the others may grow.
#[derive(Debug, Serialize)]
struct Outcome {
    error_ns: Spread,
    skew_error_ppb: Max,
    bound_coverage: f64,
    bound_width_ns: P50,
    tree_error_ns: Spread,
    error_rms_ns: f64,
    edge_error_ns: Spread,
    edge_error_rms_ns: f64,
    smoothed_error_ns: Spread,
    map_coverage: f64,
    /// Root mean square of the errors over what theory says of a complete graph; none for other graphs.
    theory_ratio: Option<f64>,
    nodes: u32,
    edges: usize,
    windows: u64,
    seconds: f64,
    degraded: u64,
    unplaced: u64,
    rejected: u64,
    steps: u64,
}

#[derive(Debug, Serialize)]
struct Spread {
    p50: u64,
    p99: u64,
    max: u64,
}

#[derive(Debug, Serialize)]
struct Max {
    max: f64,
}

#[derive(Debug, Serialize)]
struct P50 {
    p50: u64,
}

impl From<Quantiles> for Spread {
    fn from(Quantiles { p50, p99, max }: Quantiles) -> Self {
        Self { p50, p99, max }
    }
}

impl Outcome {
    fn new(args: &Args, graph: &ProbeGraph, accuracy: &Accuracy) -> Self {
        let (nodes, edges) = (f64::from(args.nodes), graph.edges().len());
        let complete = edges as f64 == nodes * (nodes - 1.0) / 2.0;
        let theory_ns = accuracy.edge_error_rms_ns * (2.0 / nodes).sqrt();
        Self {
            error_ns: accuracy.error_ns.into(),
            skew_error_ppb: Max { max: accuracy.skew_error_ppb_max },
            bound_coverage: accuracy.bound_coverage,
            bound_width_ns: P50 { p50: accuracy.bound_width_ns_p50 },
            tree_error_ns: accuracy.tree_error_ns.into(),
            error_rms_ns: accuracy.error_rms_ns,
            edge_error_ns: accuracy.edge_error_ns.into(),
            edge_error_rms_ns: accuracy.edge_error_rms_ns,
            smoothed_error_ns: accuracy.smoothed_error_ns.into(),
            map_coverage: accuracy.map_coverage,
            theory_ratio: (complete && theory_ns > 0.0).then(|| accuracy.error_rms_ns / theory_ns),
            nodes: args.nodes,
            edges,
            windows: args.windows,
            seconds: args.window.as_nanos() as f64 * 1e-9 * args.windows as f64,
            degraded: accuracy.degraded,
            unplaced: accuracy.unplaced,
            rejected: accuracy.rejected,
            steps: accuracy.steps,
        }
    }

    fn table(&self) -> String {
        let spread = |name: &str, Spread { p50, p99, max }: &Spread| format!("{name:<18}{p50:>10}{p99:>10}{max:>10}\n");
        let mut text = format!(
            "{} nodes, {} edges, {} windows, {} s simulated\n\n{:<18}{:>10}{:>10}{:>10}\n",
            self.nodes, self.edges, self.windows, self.seconds, "error, ns", "p50", "p99", "max"
        );
        text += &spread("nodes", &self.error_ns);
        text += &spread("nodes, smoothed", &self.smoothed_error_ns);
        text += &spread("spanning tree", &self.tree_error_ns);
        text += &spread("edges", &self.edge_error_ns);
        text += &format!(
            "\nskew error          {:.1} ppb at most\nbounds              {:.4} % contain the truth, half are narrower than {} ns\n",
            self.skew_error_ppb.max,
            100.0 * self.bound_coverage,
            self.bound_width_ns.p50
        );
        text += &format!("maps                {:.4} % are within their stated error\n", 100.0 * self.map_coverage);
        text += &format!(
            "nodes               {} times degraded, {} times not placed; {} edges rejected, {} jumps\n",
            self.degraded, self.unplaced, self.rejected, self.steps
        );
        text
    }
}
