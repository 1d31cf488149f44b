//! `rankscope clock simulate`: how well a job of a given shape can be synchronised, the truth being known.

use anyhow::{Context, Result, bail, ensure};
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_clock::NodeId;
use rankscope_clock::fit::{Estimator, FitOptions};
use rankscope_clock::graph::Topology;
use rankscope_clock::nodes::SolveOptions;
use rankscope_clock::simulate::{Job, JobOptions, Scores, Simulated, Spread};
use rankscope_time::{Rate, Span};

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
    let solve = SolveOptions::for_reference(NodeId(0)).with_skew_change_ppb_per_s(options.fit.skew_change_ppb_per_s);
    let mut job = Job::new(&graph, options);
    let mut scores = Scores::new(solve, args.window);
    let bar = output::progress(args.windows as usize, "windows");
    for _ in 0..args.windows {
        let windows = job.next_windows();
        scores.round(&mut job, &windows);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let result = Simulated::new(&graph, (args.windows, args.window), &scores.finish());
    match args.format {
        Format::Table => output::answer(&table(&result))?,
        Format::Json => output::answer(&serde_json::to_string(&result)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn job_options(args: &Args) -> Result<JobOptions> {
    let within = |name: &str, value: f64, most: f64| {
        ensure!((0.0..=most).contains(&value), "--{name}: {value} is not between 0 and {most}");
        Ok(value)
    };
    // Ten times the usual wander, and more where it is asked for: the bounds rest on it.
    let skew_change_ppb_per_s = 100u32.max((10.0 * args.wander_ppb) as u32);
    let fit = FitOptions::usual(Estimator::Band).with_skew_change_ppb_per_s(skew_change_ppb_per_s);
    let offset_max = Span::from_nanos((within("offset-s", args.offset_s, 86_400.0)? * 1e9) as i64);
    let skew_max = Rate::from_ppb((within("skew-ppm", args.skew_ppm, 400.0)? * 1e3) as i64);
    Ok(JobOptions::new(args.seed, args.window, fit)
        .with_clocks(offset_max, skew_max)
        .with_wander_ppb(within("wander-ppb", args.wander_ppb, 10_000.0)?)
        .with_load(within("load", args.load, 0.95)?)
        .with_early_stamps(within("early-stamps", args.early_stamps, 1.0)?)
        .with_loss(within("loss", args.loss, 1.0)?)
        .with_reorder(within("reorder", args.reorder, 1.0)?)
        .with_duplicates(within("duplicates", args.duplicates, 1.0)?))
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

fn table(result: &Simulated) -> String {
    let spread = |name: &str, Spread { p50, p99, max, .. }: &Spread| format!("{name:<18}{p50:>10}{p99:>10}{max:>10}\n");
    let mut text = format!(
        "{} nodes, {} edges, {} windows, {} s simulated\n\n{:<18}{:>10}{:>10}{:>10}\n",
        result.nodes, result.edges, result.windows, result.seconds, "error, ns", "p50", "p99", "max"
    );
    text += &spread("nodes", &result.error_ns);
    text += &spread("nodes, smoothed", &result.smoothed_error_ns);
    text += &spread("spanning tree", &result.tree_error_ns);
    text += &spread("edges", &result.edge_error_ns);
    text += &format!(
        "\nskew error          {:.1} ppb at most\nbounds              {:.4} % contain the truth, half are narrower than {} ns\n",
        result.skew_error_ppb.max,
        100.0 * result.bound_coverage,
        result.bound_width_ns.p50
    );
    text += &format!("maps                {:.4} % are within their stated error\n", 100.0 * result.map_coverage);
    text += &format!(
        "nodes               {} times degraded, {} times not placed; {} edges rejected, {} jumps\n",
        result.degraded, result.unplaced, result.rejected, result.steps
    );
    text
}
