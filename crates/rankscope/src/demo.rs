//! `rankscope demo`: its arguments, and what it prints. `rankscope-demo` plays the job and knows the truth; here it is given the
//! product: a run is read and reported on as every other is.

mod terminal;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use rankscope_cli::ExitCode;
use rankscope_cli::called;
use rankscope_cli::ending::stop_switch;
use rankscope_cli::job::{Bar, ClockArgs, request};
use rankscope_cli::output::{self, Format};
use rankscope_demo::{
    AlignedJob, AlignedRank, Because, Blamed, BoxedError, CollectiveSpan, Host, Product, RankTask, Request, Trained,
};
use rankscope_job::Job;
use rankscope_pipeline::{HangSources, judged};

use crate::report;

/// Try it out: four ranks with skewed clocks on this machine, checked against the truth.
///
/// Each rank is a process that acts as a host of its own: it computes, all-reduces over the loopback and records itself. Its
/// clock is milliseconds off and drifts, as drawn from --seed, and one rank is slow. Clock agents measure the offsets, and all
/// traces are put on one clock. The true clocks are known here, so the error of every event is printed next to the guaranteed
/// bound. The demo needs no cluster, GPU or privileges, and leaves a run directory for you to explore.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Number of ranks, each on a simulated host of its own
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u32).range(2..=16))]
    ranks: u32,
    /// How long to train [default: 7, with --hang 20]
    #[arg(long)]
    seconds: Option<f64>,
    /// Seed of the clocks, the work and the choice of the slow rank
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The slow rank [default: drawn from --seed]
    #[arg(long, value_name = "RANK")]
    slow_rank: Option<u32>,
    /// Why it is slow: longer waits for batches, more work in forward passes, other work between operators, or slow
    /// sending to the next rank [default: more work in everything]
    #[arg(long, value_name = "CAUSE", value_parser = PossibleValuesParser::new(Because::ALL.map(Because::name)).try_map(|name| name.parse::<Because>()))]
    because: Option<Because>,
    /// Keep live pages while it trains, for `rankscope top`
    #[arg(long)]
    live: bool,
    /// Let the slow rank stand still after 4 seconds, until the time is over, and find it meanwhile as `rankscope hang` does
    #[arg(long)]
    hang: bool,
    /// The run directory; replaces an older demo there [default: rankscope-demo-SEED]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
    /// Where each rank runs, in their order: network namespace, interface and address
    #[arg(long = "host", value_name = "NETNS,IF,ADDRESS", hide = true)]
    hosts: Vec<Host>,
}

/// Train as one rank of `rankscope demo`, which starts it.
#[derive(Debug, clap::Args)]
pub(crate) struct RankArgs {
    /// What to do, as the demo writes it
    #[arg(long)]
    task: RankTask,
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    let (ranks, seconds) = (args.ranks, args.seconds.unwrap_or(if args.hang { 20.0 } else { 7.0 }));
    let request = Request {
        ranks,
        seconds,
        seed: args.seed,
        slow_rank: args.slow_rank,
        because: args.because,
        live: args.live,
        hangs: args.hang,
        path: args.out.unwrap_or_else(|| PathBuf::from(format!("rankscope-demo-{}", args.seed))),
        hosts: args.hosts,
        command: called::words().iter().map(|word| word.to_string_lossy().into_owned()).collect(),
    };
    let begins = || {
        if args.format == Format::Table {
            output::remark(&format!(
                "{ranks} ranks train for {seconds} s, each on its own clock; {ranks} agents measure the clocks ..."
            ));
        }
    };
    let document = rankscope_demo::run(&request, &ThisProduct, &*stop_switch()?, begins)?;
    output::answer(&match args.format {
        Format::Json => serde_json::to_string(&document)?,
        Format::Table => terminal::draw(&document, output::style()),
    })?;
    Ok(ExitCode::SUCCESS)
}

pub(crate) fn train(args: RankArgs) -> Result<ExitCode> {
    Ok(match rankscope_demo::train(&args.task)? {
        Trained::Recorded => ExitCode::SUCCESS,
        Trained::NotRecorded => ExitCode::FAILURE,
    })
}

/// What users get: `rankscope report` and what it reads.
struct ThisProduct;

impl Product for ThisProduct {
    fn report(&self, run: &Path) -> Result<Option<u32>, BoxedError> {
        let (report, _) = report::into_run(run)?;
        Ok(report.collectives.ranks.iter().max_by_key(|rank| rank.delay_ns).map(|rank| rank.rank))
    }

    fn judge(&self, run: &Path) -> Result<Blamed, BoxedError> {
        let sources = HangSources { paths: vec![run.to_owned()], ..HangSources::default() };
        let verdict = rankscope_pipeline::hang(&sources, &Bar::default())?.verdict;
        Ok(Blamed { ranks: verdict.roots.iter().map(|root| root.rank).collect(), summary: verdict.summary })
    }

    fn read(&self, run: &Path) -> Result<AlignedJob, BoxedError> {
        Ok(aligned(&judged(&request(&[run.to_owned()], false, &ClockArgs::default()), &Bar::default())?.job))
    }
}

fn aligned(job: &Job) -> AlignedJob {
    let ranks = job.clocks.ranks.iter().map(|rank| AlignedRank {
        map: rank.map.clone(),
        begin_ns: rank.at_ns,
        offset_ns: rank.offset_ns,
        drift_ppb: rank.drift_ppb,
        bound_ns: (rank.bound.lo_ns, rank.bound.hi_ns),
    });
    let complete = job.matched.instances.iter().filter(|instance| instance.complete && instance.members.len() > 1);
    let everybodys = complete.filter_map(|instance| {
        let spans = instance.members.iter().map(|member| {
            let span = job.collectives[member.rank()].collectives.stay(member.collective());
            let side = CollectiveSpan { rank: member.rank(), start_ns: span.start_ns, end_ns: span.end_ns };
            span.kind.needs_all().then_some(side)
        });
        spans.collect::<Option<Vec<_>>>()
    });
    AlignedJob {
        ranks: ranks.collect(),
        collectives: everybodys.collect(),
        steps: job.ranks.first().map_or(0, |rank| rank.about.marked_steps.len()),
    }
}
