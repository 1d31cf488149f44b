//! What a plan must keep to, from the command line.

use std::path::{Path, PathBuf};

use anyhow::Context;
use rankscope_dispatch::cost::{TimeTable, Work};
use rankscope_dispatch::events::Machine;
use rankscope_dispatch::network::Network;
use rankscope_dispatch::planner::bounded::{Caps, Options};
use rankscope_dispatch::planner::{Pace, Prices};
use rankscope_dispatch::{Pass, Rows};
use rankscope_plan_files::time_table;
use rankscope_run::{SideFile, read_side_text};

use crate::paths;

#[derive(Debug, clap::Args)]
pub(super) struct Settings {
    /// Speed of each rank, 1 for all if not given: `1,1,0.8,0`, or a file with a JSON list. A rank of weight 0 computes nothing
    #[arg(long, value_name = "LIST|FILE")]
    weights: Option<String>,
    /// Balance measured time: a JSON file with `queries`, `contexts` and `milliseconds` (a row per length of queries)
    #[arg(long, value_name = "FILE")]
    time_table: Option<PathBuf>,
    /// The most bytes that a rank may send, per layer and pass
    #[arg(long, value_name = "BYTES")]
    cap_send_bytes: Option<u64>,
    /// The most bytes that a rank may receive
    #[arg(long, value_name = "BYTES")]
    cap_receive_bytes: Option<u64>,
    /// The most bytes of queries and context that a rank may hold, its own included; in a backward pass, of outputs and their gradients, too
    #[arg(long, value_name = "BYTES")]
    cap_buffer_bytes: Option<u64>,
    /// Plan for the shortest pass on this network, a file or a known one, instead of the fewest bytes
    #[arg(long, value_name = "NETWORK")]
    network: Option<String>,
    /// Speed of attention kernels on a rank, in Tflop/s
    #[arg(long, value_name = "TFLOPS", default_value_t = 400.0, requires = "network", allow_negative_numbers = true,
        value_parser = tflops)]
    attention_tflops: f64,
    /// How often to look for a plan that moves less, at most; if not given, as the number of ranks that give something away asks
    #[arg(long, value_name = "N")]
    search_steps: Option<u32>,
}

/// What a pass runs on.
pub(super) struct Hardware {
    network: Network,
    machine: Machine,
}

impl Hardware {
    pub(super) fn pace<'a>(&'a self, rows: &'a Rows, pass: Pass) -> Pace<'a> {
        Pace { pass, network: &self.network, machine: &self.machine, rows }
    }
}

impl Settings {
    /// What to plan the shortest time for, if that is the goal.
    pub(super) fn hardware(&self) -> anyhow::Result<Option<Hardware>> {
        let Some(name) = &self.network else { return Ok(None) };
        let attention_flops_per_second = (self.attention_tflops * 1e12) as u64;
        let machine = Machine { attention_flops_per_second, ..Machine::H100 };
        Ok(Some(Hardware { network: paths::network(name)?.network, machine }))
    }

    pub(super) fn options(&self, eps: f64, rows: &Rows, pass: Pass) -> anyhow::Result<Options> {
        let weights = self.weights.as_deref().map(weights).transpose()?.unwrap_or_default();
        let work = self.time_table.as_deref().map(time_table).transpose()?.map_or(Work::Cells, Work::Time);
        let caps = Caps {
            send_bytes: self.cap_send_bytes,
            receive_bytes: self.cap_receive_bytes,
            buffer_bytes: self.cap_buffer_bytes,
        };
        let prices = Prices::of_pass(rows, pass);
        Ok(Options { caps, eps, prices, pass, work, weights, search_steps: self.search_steps })
    }
}

fn tflops(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (1e-9..1e6).contains(rate));
    rate.ok_or_else(|| "a speed is a number above zero, such as 400".to_owned())
}

fn weights(given: &str) -> anyhow::Result<Vec<f64>> {
    let listed: Option<Vec<f64>> = given.split(',').map(|weight| weight.trim().parse().ok()).collect();
    match listed {
        Some(weights) => Ok(weights),
        None => {
            let text = read_side_text(Path::new(given), SideFile::Dispatch)
                .with_context(|| format!("--weights {given}: neither numbers nor a file"))?;
            serde_json::from_str(&text).with_context(|| format!("{given}: not a list of weights"))
        }
    }
}

fn time_table(path: &Path) -> anyhow::Result<TimeTable> {
    let place = || path.display().to_string();
    time_table::read(read_side_text(path, SideFile::Dispatch)?.as_bytes()).with_context(place)
}
