//! The play: agents meet and measure, ranks train, and both leave in the right order.
//!
//! Clocks are measured from before the first step until after the last one, so that no stamp lies where nothing is known.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::thread::available_parallelism;
use std::time::Duration;

use anyhow::Result;
use rankscope_clock::Rng;
use rankscope_clock::files::read_offsets;
use rankscope_run::{SideFile, open, read_side};

use super::clocks::Clocks;
use super::fleet::{Fleet, Process, Talk};
use super::folder::Folder;
use super::hosts::Host;
use super::rank::PASSES;
use super::work;

/// What one step is made of at most: computing and as much waiting.
const COMPUTING: Duration = Duration::from_millis(20);

/// Processors shall be half idle: agents and networks need some, and a machine is never alone.
const BUSY: f64 = 0.45;

/// A slow rank has this much more to do, and up to as much again.
const SLOWER: f64 = 0.6;

/// Length of a probe window; short, so that the demo is.
const WINDOW: Duration = Duration::from_secs(1);

/// On a machine that does ten other things, meeting takes its time.
const PATIENCE: Duration = Duration::from_secs(15);

/// What the ids of demos begin with; a seed follows.
pub(super) const RUN_ID: &str = "demo-";

/// Who plays what, as drawn from the seed.
#[derive(Clone, Debug)]
pub(super) struct Cast {
    pub(super) ranks: u32,
    /// Where each of them runs.
    hosts: Vec<Host>,
    pub(super) seed: u64,
    pub(super) length: Duration,
    /// The slow rank.
    pub(super) slow: u32,
    /// What it computes, over what the others do.
    pub(super) slowness: f64,
}

impl Cast {
    pub(super) fn draw(hosts: Vec<Host>, seed: u64, length: Duration) -> Self {
        let ranks = hosts.len() as u32;
        let mut rng = Rng::lane(seed, 2);
        let slow = rng.below(u64::from(ranks)) as u32;
        Self { ranks, hosts, seed, length, slow, slowness: 1.0 + SLOWER * (1.0 + rng.unit()) }
    }

    pub(super) fn run_id(&self) -> String {
        format!("{RUN_ID}{}", self.seed)
    }

    /// Products of a layer's forward pass, for each rank.
    fn products(&self, product_ns: u64) -> Vec<u32> {
        let processors = available_parallelism().map_or(1, usize::from) as f64;
        let shared = (BUSY * processors / f64::from(self.ranks)).min(1.0);
        let usual = work::products_in(COMPUTING.mul_f64(shared), product_ns * u64::from(PASSES));
        let of = |rank| if rank == self.slow { (f64::from(usual) * self.slowness).ceil() as u32 } else { usual };
        (0..self.ranks).map(of).collect()
    }
}

/// Everybody, in place.
pub(super) struct Stage<'a> {
    agents: Fleet<'a>,
    ranks: Fleet<'a>,
    talks: Vec<Talk>,
    offsets: PathBuf,
    length: Duration,
}

impl<'a> Stage<'a> {
    /// Starts the agents and the ranks. What is drawn on the way out kills them all.
    pub(super) fn set(folder: &Folder, cast: &Cast, clocks: &Clocks, interrupted: &'a AtomicBool) -> Result<Self> {
        let agents = (0..cast.ranks).map(|node| agent(folder, cast, clocks, node)).collect::<Result<_>>()?;
        let products = cast.products(work::product_ns());
        let ranks = (0..cast.ranks).map(|rank| trainer(folder, cast, clocks, rank, products[rank as usize]));
        let mut ranks = Fleet { processes: ranks.collect::<Result<_>>()?, interrupted };
        let talks = ranks.processes.iter_mut().map(Talk::with).collect::<Result<_>>()?;
        let offsets = folder.clock().join("offsets.jsonl");
        Ok(Self { agents: Fleet { processes: agents, interrupted }, ranks, talks, offsets, length: cast.length })
    }

    /// Trains, and returns what each rank recorded, unpacked.
    pub(super) fn play(mut self, folder: &mut Folder) -> Result<Vec<File>> {
        folder.enter(&self.ranks.processes.iter().map(Process::pid).collect::<Vec<_>>())?;
        let addresses = self.hear_all()?.join(" ");
        self.tell_all(&addresses);
        self.hear_all()?;
        // A rank packs its recording when it ends; what is opened now stays as it was recorded.
        let live = |rank: usize| {
            let path = folder.raw().join(format!("rank-{rank}.rkr"));
            open(&path)
        };
        let recorded = (0..self.talks.len()).map(live).collect::<Result<_, _>>()?;
        self.wait_for_round(self.rounds() + 1, PATIENCE)?;
        self.tell_all("go");
        let (agents, patience) = (&mut self.agents, self.length * 2 + PATIENCE);
        self.ranks.wait_for("the ranks to end", patience, |ranks| {
            agents.check()?;
            Ok(ranks.have_ended())
        })?;
        // The window that is open now saw the last step. Without it the clocks are known less well there, and bounds say so.
        let _in_time = self.wait_for_round(self.rounds() + 1, 3 * WINDOW);
        self.agents.stop()?;
        Ok(recorded)
    }

    /// A line of every rank.
    fn hear_all(&mut self) -> Result<Vec<String>> {
        let mut lines: Vec<Option<String>> = vec![None; self.talks.len()];
        let (agents, talks) = (&mut self.agents, &self.talks);
        self.ranks.wait_for("the ranks to connect", PATIENCE, |_| {
            agents.check()?;
            for (line, talk) in lines.iter_mut().zip(talks) {
                *line = line.take().or_else(|| talk.heard());
            }
            Ok(lines.iter().all(Option::is_some))
        })?;
        Ok(lines.into_iter().flatten().collect())
    }

    fn tell_all(&mut self, line: &str) {
        self.talks.iter_mut().for_each(|talk| talk.tell(line));
    }

    fn wait_for_round(&mut self, round: usize, patience: Duration) -> Result<()> {
        let (offsets, nodes) = (&self.offsets, self.talks.len());
        let ranks = &mut self.ranks;
        self.agents.wait_for("the agents to measure all clocks", patience, |_| {
            ranks.check()?;
            Ok(rounds(offsets, nodes) >= round)
        })
    }

    fn rounds(&self) -> usize {
        rounds(&self.offsets, self.talks.len())
    }
}

/// Rounds in which all nodes were placed.
fn rounds(offsets: &Path, nodes: usize) -> usize {
    let rows = read_offsets(&read_side(offsets, SideFile::Clock).unwrap_or_default()).rows;
    let mut placed: BTreeMap<u64, usize> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.estimate.is_some()) {
        *placed.entry(row.round).or_default() += 1;
    }
    placed.values().filter(|count| **count >= nodes).count()
}

/// The agent of a host.
fn agent(folder: &Folder, cast: &Cast, clocks: &Clocks, node: u32) -> Result<Process> {
    let (scratch, host) = (folder.scratch(), &cast.hosts[node as usize]);
    let settings = [
        format!("rendezvous=file://{}", scratch.join("meet").display()),
        // Whatever else this machine is connected to, this is what its ranks talk over.
        format!("interfaces={}", host.interface),
        format!("probe-window-s={}", WINDOW.as_secs_f64()),
        // Nothing lies between two hosts of one machine, so nothing is lost by asking more than the usual.
        "probe-cadence-us=400".to_owned(),
        "packet-spacing-us=5".to_owned(),
        "budget-bits-per-s=4000000".to_owned(),
        "snapshot-period-ms=50".to_owned(),
        format!("test-clock={}", clocks.hosts[node as usize].text),
        format!("test-clock-shift-ns={}", clocks.shift_ns),
    ];
    Process::start(format!("the agent of host {node}"), scratch.join(format!("agent-{node}.log")), host, |command| {
        command.args(["agent", "--rank", &node.to_string(), "--num-nodes", &cast.ranks.to_string()]);
        command.arg("--out").arg(folder.clock());
        // Should nobody be left to stop it.
        command.args(["--duration-sec", &(cast.length * 3 + 4 * PATIENCE).as_secs().to_string()]);
        command.args(settings.iter().flat_map(|setting| ["--set", setting]));
    })
}

/// The process of a rank.
fn trainer(folder: &Folder, cast: &Cast, clocks: &Clocks, rank: u32, products: u32) -> Result<Process> {
    let host = &cast.hosts[rank as usize];
    Process::start(format!("rank {rank}"), folder.scratch().join(format!("rank-{rank}.log")), host, |command| {
        command.args([
            "demo-rank",
            "--address",
            &host.address.to_string(),
            "--products",
            &products.to_string(),
            "--seed",
            &cast.seed.to_string(),
        ]);
        command.args(["--seconds", &cast.length.as_secs_f64().to_string(), "--clock", &clocks.hosts[rank as usize].text]);
        command.args(["--clock-shift-ns", &clocks.shift_ns.to_string()]);
        command.env("RANK", rank.to_string()).env("WORLD_SIZE", cast.ranks.to_string());
        command.env("RANKSCOPE_RAW_DIR", folder.raw());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
    })
}
