//! `rankscope dispatch predict`: what a plan's exchanges take on a network.

use std::path::PathBuf;

use anyhow::{Context, Result};
use rankscope_cli::ExitCode;
use rankscope_cli::output::{self, Format};
use rankscope_dispatch::network::{PredictedExchange, RankTime};
use rankscope_plan_files::network::Known;
use rankscope_plan_files::predicted;
use rankscope_report::{Style, bytes, columns, duration, paragraph};

use super::calibrate::{Reading, calibrated};
use super::pass_arg::{PassArg, exchanges};
use super::paths;

/// Predict how long a plan's exchanges take on a network
///
/// The forward pass sends queries, keys and values to where attention is computed and outputs back; the backward pass sends
/// gradients both ways. Each exchange takes as long as its slowest port, card or uplink, which is named.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A plan
    #[arg(value_name = "PLAN")]
    input: PathBuf,
    /// Only the exchanges of this pass. Without it those of a layer whose backward pass keeps what the forward one had; a backward pass
    /// by itself sends everything again
    #[arg(long, value_enum)]
    pass: Option<PassArg>,
    #[command(flatten)]
    network: NetworkArgs,
    #[command(flatten)]
    reading: Reading,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,
}

/// Which network.
#[derive(Debug, clap::Args)]
pub(crate) struct NetworkArgs {
    /// A network file, or one of the known ones: h100-nvlink, h100-ib400, h100-ib400-2to1, a100-ib200, ethernet-100, free
    #[arg(long, value_name = "NETWORK", default_value = "h100-ib400")]
    network: String,
    /// Fit its costs to outputs of nccl-tests or OSU benchmarks first, as `dispatch calibrate` does
    #[arg(long, value_name = "FILE")]
    calibrate: Vec<PathBuf>,
}

impl NetworkArgs {
    /// The network, its name, and where its figures come from.
    pub(crate) fn load(&self, reading: &Reading) -> Result<Known> {
        let mut known = paths::network(&self.network)?;
        if !self.calibrate.is_empty() {
            known.network = calibrated(&self.calibrate, &[], reading, Some(known.network))?.1.network;
            known.source = format!("calibrated with {} files on top of: {}", self.calibrate.len(), known.source);
        }
        Ok(known)
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let known = args.network.load(&args.reading)?;
    let plan = paths::load(&args.input)?;
    let exchanges = known.network.predict_exchanges(&plan.assignment, &plan.rows, &exchanges(args.pass));
    let exchanges = exchanges.with_context(|| args.input.display().to_string())?;
    output::answer(&match args.format {
        Format::Json => predicted::document(&known, &exchanges).to_string(),
        Format::Table => drawn(&known, &exchanges, args.pass),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Ranks listed for people; the others are in the JSON.
const RANKS_SHOWN: usize = 16;

fn drawn(known: &Known, exchanges: &[PredictedExchange], pass: Option<PassArg>) -> String {
    let style = output::style();
    let mut text = paragraph(&format!("on {}: {}", known.name, known.source), style) + "\n";
    let total: i64 = exchanges.iter().map(|one| one.prediction.total.as_nanos()).sum();
    let rows = exchanges.iter().map(|one| {
        vec![
            one.direction.as_str().to_owned(),
            duration(one.prediction.total.as_nanos() as f64),
            bytes(one.traffic.remote_bytes()),
            one.prediction.bottleneck.map_or_else(|| "nothing leaves its rank".to_owned(), |link| link.to_string()),
        ]
    });
    text.push_str(&columns(&["exchange", "takes", "between ranks", "because of"], rows.collect(), style));
    let passes = match pass {
        None => "forward and backward",
        Some(PassArg::Forward) => "forward",
        Some(PassArg::Backward) => "backward, with everything sent again",
    };
    text.push_str(&format!("{} a layer, {passes}, if nothing hides it\n\n", duration(total as f64)));
    text.push_str(&by_rank(exchanges, style));
    text
}

/// How long every rank stays in each exchange, the slowest first where there are many.
fn by_rank(exchanges: &[PredictedExchange], style: Style) -> String {
    let ranks = exchanges.first().map_or(0, |one| one.prediction.ranks.len());
    let stays = |rank: usize| exchanges.iter().map(move |one| one.prediction.ranks[rank].stay.as_nanos());
    let mut order: Vec<usize> = (0..ranks).collect();
    if ranks > RANKS_SHOWN {
        order.sort_by_key(|rank| std::cmp::Reverse(stays(*rank).sum::<i64>()));
    }
    let row = |rank: &usize| {
        let times = stays(*rank).map(|nanos| duration(nanos as f64));
        let sum = |of: fn(&RankTime) -> u64| bytes(exchanges.iter().map(|one| of(&one.prediction.ranks[*rank])).sum());
        let sizes = [sum(|times| times.send_bytes), sum(|times| times.receive_bytes)];
        std::iter::once(rank.to_string()).chain(times).chain(sizes).collect()
    };
    let names = exchanges.iter().map(|one| one.direction.as_str());
    let head: Vec<&str> = std::iter::once("rank").chain(names).chain(["sends", "receives"]).collect();
    let mut text = columns(&head, order.iter().take(RANKS_SHOWN).map(row).collect(), style);
    if ranks > RANKS_SHOWN {
        text.push_str(&format!("the {RANKS_SHOWN} slowest of {ranks} ranks; --format json has all\n"));
    }
    text
}
