//! What it costs the node that leads to have the pages of many nodes passed on to it, and how old they are there: simulated nodes in a test of
//! rankscope-launch, which alone can make them, over real stores and sockets.

use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

/// The costs of so many nodes, straight or through heads of groups.
#[derive(Serialize, Deserialize)]
pub(super) struct Passed {
    nodes: u32,
    ranks: u32,
    collectives_a_second: u64,
    through_heads: bool,
    heads: u32,
    /// Of the store of the node that leads, in and out.
    messages_a_second: f64,
    kb_a_second: f64,
    /// Of one core: that store, `rankscope run` of the node that leads, and a head with its own store.
    store_share: f64,
    leader_share: f64,
    head_share: f64,
    looks_every_seconds: f64,
    age_mean_seconds: f64,
    age_max_seconds: f64,
}

/// What the node that leads may take of one core, and bytes in and out of its store for a rank and a second.
const SHARE_MAX: f64 = 0.05;
const BYTES_MAX: f64 = 2_000.0;

impl Passed {
    pub(super) fn is_met(&self) -> bool {
        let bytes = 1e3 * self.kb_a_second / f64::from(self.ranks);
        !self.through_heads || (self.leader_share <= SHARE_MAX && bytes <= BYTES_MAX)
    }
}

/// Measures `nodes` whose ranks come to so many collectives a second.
pub(super) fn measured(nodes: u32, collectives: u64) -> Result<Vec<Passed>> {
    let mut test = Command::new(env!("CARGO"));
    test.args(["test", "--release", "--locked", "--quiet", "-p", "rankscope-launch", "--lib", "--"]);
    test.args(["--ignored", "--nocapture", "--exact", "pages::tests::measured::what_many_nodes_cost_the_one_that_leads"]);
    test.env("RANKSCOPE_BENCH_NODES", nodes.to_string()).env("RANKSCOPE_BENCH_COLLECTIVES", collectives.to_string());
    let output = test.stderr(Stdio::inherit()).output().context("failed to start cargo")?;
    let text = String::from_utf8_lossy(&output.stdout);
    if !output.status.success() {
        bail!("passing on the pages of {nodes} nodes failed:\n{text}");
    }
    let lines = text.lines().filter_map(|line| line.split_once("costs ")).map(|(_, json)| json);
    lines.map(|json| serde_json::from_str(json).with_context(|| json.to_owned())).collect()
}

/// As a Markdown table.
pub(super) fn table(passed: &[Passed]) -> String {
    let mut text = String::from(
        "| nodes | ranks | heads | messages/s | kB/s | its store | the leader | a head | a look each, s | age mean, s | age max, s |\n\
         |--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    for one in passed {
        text += &format!(
            "| {} | {} | {} | {:.0} | {:.0} | {:.1} % | {:.1} % | {:.1} % | {:.1} | {:.1} | {:.1} |\n",
            one.nodes,
            one.ranks,
            one.heads,
            one.messages_a_second,
            one.kb_a_second,
            100.0 * one.store_share,
            100.0 * one.leader_share,
            100.0 * one.head_share,
            one.looks_every_seconds,
            one.age_mean_seconds,
            one.age_max_seconds
        );
    }
    text
}
