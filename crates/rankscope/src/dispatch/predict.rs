//! `rankscope dispatch predict`: what a plan's exchanges take on a network.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use rankscope_dispatch::network::{Network, Prediction};
use rankscope_dispatch::{Direction, Exchange, Traffic};
use rankscope_plan_files::plan::Plan;
use rankscope_report::{Style, bytes, columns, duration, paragraph};
use serde_json::{Value, json};

use super::calibrate::{Calibrated, Reading};
use super::paths::{self, Known};
use crate::output::{self, Format};

/// Predict how long a plan's exchanges take on a network
///
/// The forward pass sends queries, keys and values to where attention is computed and outputs back; the backward pass sends
/// gradients both ways. Each exchange takes as long as its slowest port, card or uplink, which is named.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A plan
    #[arg(value_name = "PLAN")]
    input: PathBuf,
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
            known.network = Calibrated::from_files(&self.calibrate, &[], reading, Some(known.network))?.network;
            known.source = format!("calibrated with {} files on top of: {}", self.calibrate.len(), known.source);
        }
        Ok(known)
    }
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let known = args.network.load(&args.reading)?;
    let plan = paths::load(&args.input)?;
    let exchanges = predictions(&plan, &known.network).with_context(|| args.input.display().to_string())?;
    output::answer(&match args.format {
        Format::Json => document(&known, &exchanges).to_string(),
        Format::Table => drawn(&known, &exchanges),
    })?;
    Ok(ExitCode::SUCCESS)
}

/// One exchange of a plan and what it takes.
#[derive(Debug)]
pub(crate) struct Predicted {
    pub(crate) name: &'static str,
    pub(crate) traffic: Traffic,
    pub(crate) prediction: Prediction,
}

/// The four exchanges of a layer, in the order of a step.
pub(crate) const EXCHANGES: [Direction; 4] =
    [Direction::Forward, Direction::Output, Direction::OutputGradient, Direction::Backward];

/// What the exchanges of `plan` take on `network`.
pub(crate) fn predictions(plan: &Plan, network: &Network) -> Result<Vec<Predicted>> {
    let predicted = |direction: Direction| {
        let traffic = Exchange::new(&plan.batch, &plan.rows, direction)?.traffic();
        let prediction = network.predict(&traffic)?;
        Ok(Predicted { name: direction.as_str(), traffic, prediction })
    };
    EXCHANGES.into_iter().map(predicted).collect()
}

fn document(known: &Known, exchanges: &[Predicted]) -> Value {
    let total: i64 = exchanges.iter().map(|one| one.prediction.total.as_nanos()).sum();
    json!({
        "schema": 1,
        "network": {"name": known.name, "source": known.source},
        "total_ns": total,
        "exchanges": exchanges.iter().map(exchange).collect::<Vec<_>>(),
    })
}

fn exchange(one: &Predicted) -> Value {
    let prediction = &one.prediction;
    let ranks = prediction.ranks.iter().enumerate().map(|(rank, times)| {
        json!({
            "rank": rank,
            "send_bytes": times.send_bytes,
            "receive_bytes": times.receive_bytes,
            "send_ns": times.send.as_nanos(),
            "receive_ns": times.receive.as_nanos(),
            "stay_ns": times.stay.as_nanos(),
        })
    });
    let links = prediction.links.iter().map(|link| {
        json!({"link": link.link.to_string(), "messages": link.messages, "bytes": link.bytes, "busy_ns": link.time.as_nanos()})
    });
    let pairs = one.traffic.pairs().iter().map(|(from, to, bytes)| json!([from.0, to.0, bytes]));
    json!({
        "exchange": one.name,
        "pairs": pairs.collect::<Vec<_>>(),
        "total_ns": prediction.total.as_nanos(),
        "bottleneck": prediction.bottleneck.map(|link| link.to_string()),
        "remote_bytes": one.traffic.remote_bytes(),
        "ranks": ranks.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
    })
}

/// Ranks listed for people; the others are in the JSON.
const RANKS_SHOWN: usize = 16;

fn drawn(known: &Known, exchanges: &[Predicted]) -> String {
    let style = output::style();
    let mut text = paragraph(&format!("on {}: {}", known.name, known.source), style) + "\n";
    let total: i64 = exchanges.iter().map(|one| one.prediction.total.as_nanos()).sum();
    let rows = exchanges.iter().map(|one| {
        vec![
            one.name.to_owned(),
            duration(one.prediction.total.as_nanos() as f64),
            bytes(one.traffic.remote_bytes()),
            one.prediction.bottleneck.map_or_else(|| "nothing leaves its rank".to_owned(), |link| link.to_string()),
        ]
    });
    text.push_str(&columns(&["exchange", "takes", "between ranks", "because of"], rows.collect(), style));
    text.push_str(&format!("{} a layer, forward and backward, if nothing hides it\n\n", duration(total as f64)));
    text.push_str(&by_rank(exchanges, style));
    text
}

/// How long every rank stays in each exchange, the slowest first where there are many.
fn by_rank(exchanges: &[Predicted], style: Style) -> String {
    let ranks = exchanges.first().map_or(0, |one| one.prediction.ranks.len());
    let stays = |rank: usize| exchanges.iter().map(move |one| one.prediction.ranks[rank].stay.as_nanos());
    let mut order: Vec<usize> = (0..ranks).collect();
    if ranks > RANKS_SHOWN {
        order.sort_by_key(|rank| std::cmp::Reverse(stays(*rank).sum::<i64>()));
    }
    let row = |rank: &usize| {
        let times = stays(*rank).map(|nanos| duration(nanos as f64));
        let sum = |of: fn(&rankscope_dispatch::network::RankTime) -> u64| {
            bytes(exchanges.iter().map(|one| of(&one.prediction.ranks[*rank])).sum())
        };
        let sizes = [sum(|times| times.send_bytes), sum(|times| times.receive_bytes)];
        std::iter::once(rank.to_string()).chain(times).chain(sizes).collect()
    };
    let names = exchanges.iter().map(|one| one.name);
    let head: Vec<&str> = std::iter::once("rank").chain(names).chain(["sends", "receives"]).collect();
    let mut text = columns(&head, order.iter().take(RANKS_SHOWN).map(row).collect(), style);
    if ranks > RANKS_SHOWN {
        text.push_str(&format!("the {RANKS_SHOWN} slowest of {ranks} ranks; --format json has all\n"));
    }
    text
}
