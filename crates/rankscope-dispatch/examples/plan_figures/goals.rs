//! What planning for time is worth: the forward pass of the plan with the fewest bytes, and of the one made for a network.

use rankscope_dispatch::events::Machine;
use rankscope_dispatch::network::Preset;
use rankscope_dispatch::planner::bounded::{Options, bounded};
use rankscope_dispatch::planner::{Goal, Pace, Prices, Remote, place_evenly};
use rankscope_dispatch::{Batch, Error, Pass, Rows};
use serde_json::{Value, json};

use crate::layouts::mixes;

const RANKS: u32 = 64;
const ROWS: Rows = Rows { hidden_q: 8192, hidden_kv: 1024, lse: 0, element_bytes: 2 };

/// Every mix on 64 ranks, on a fast network and on a slow one, with a tolerance of 0.2.
pub(crate) fn cases() -> Result<Vec<Value>, Error> {
    let mut cases = Vec::new();
    for network in ["h100-ib400", "ethernet-100"] {
        for (name, lengths) in mixes(RANKS) {
            cases.push(case(network, &name, &place_evenly(&lengths, RANKS)?)?);
        }
    }
    Ok(cases)
}

fn case(preset: &str, name: &str, layout: &Batch) -> Result<Value, Error> {
    let options = Options::new(0.2, Prices::of(&ROWS));
    let network = Preset::of_name(preset).expect("one of the presets").network();
    let pace = Pace { pass: Pass::Forward, network: &network, machine: &Machine::H100, rows: &ROWS };
    let figures = |plan: &Batch| {
        Ok::<_, Error>([
            pace.takes(plan, &options)?.as_nanos() as f64 / 1e6,
            Remote::of(plan).bytes(options.prices) as f64 / 1e9,
        ])
    };
    Ok(json!({
        "network": preset,
        "name": name,
        "fewest_bytes": figures(&bounded(layout, &options)?)?,
        "shortest_time": figures(&Goal::ShortestTime(pace).plan(layout, &options)?)?,
    }))
}
