//! The job itself: agents meet and measure, ranks train, and both end in the right order.
//!
//! Clocks are measured from before the first step until after the last one, so that no stamp lies where nothing is known.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rankscope_clock::files::read_offsets;
use rankscope_run::{SideFile, open, read_side};

use crate::agent_settings::AgentSettings;
use crate::clocks::Clocks;
use crate::error::Error;
use crate::fleet::{Fleet, LinePipe, Process};
use crate::folder::Folder;
use crate::plan::Plan;
use crate::task::RankTask;
use crate::work;

/// Length of a probe window; short, so that the demo is.
const WINDOW: Duration = Duration::from_secs(1);

/// On a machine that does ten other things, meeting takes its time.
const PATIENCE: Duration = Duration::from_secs(15);

/// A job that stands still is judged so long before it goes on.
const JUDGED_BEFORE_END: Duration = Duration::from_secs(1);

/// Processes of a job that runs.
pub(crate) struct DemoJob<'a> {
    agents: Fleet<'a>,
    ranks: Fleet<'a>,
    /// One a rank.
    pipes: Vec<LinePipe>,
    offsets: PathBuf,
    length: Duration,
}

impl<'a> DemoJob<'a> {
    /// Starts the agents and the ranks. Whatever fails afterwards kills them all.
    pub(crate) fn launch(folder: &Folder, plan: &Plan, clocks: &Clocks, interrupted: &'a AtomicBool) -> Result<Self, Error> {
        let agents = (0..plan.ranks).map(|node| agent(folder, plan, clocks, node)).collect::<Result<_, _>>()?;
        let products = plan.products(work::product_ns());
        let ranks = (0..plan.ranks).map(|rank| trainer(folder, plan, clocks, rank, products[rank as usize]));
        let mut ranks = Fleet { processes: ranks.collect::<Result<_, _>>()?, interrupted };
        let pipes = ranks.processes.iter_mut().map(LinePipe::of).collect::<Result<_, _>>()?;
        let offsets = folder.clock().join("offsets.jsonl");
        Ok(Self { agents: Fleet { processes: agents, interrupted }, ranks, pipes, offsets, length: plan.length })
    }

    /// Trains, and returns what each rank recorded, unpacked. `judge` is called once while the job stands still, if it does.
    pub(crate) fn train(
        mut self,
        folder: &mut Folder,
        plan: &Plan,
        judge: impl FnOnce(&Path) -> Result<(), Error>,
    ) -> Result<Vec<File>, Error> {
        folder.enter(&self.ranks.processes.iter().map(Process::pid).collect::<Vec<_>>())?;
        let addresses = self.gather()?.join(" ");
        self.broadcast(&addresses);
        self.gather()?;
        // A rank packs its recording when it ends; what is opened now stays as it was recorded.
        let live = |rank: usize| {
            let path = folder.raw().join(format!("rank-{rank}.rkr"));
            open(&path)
        };
        let recorded = (0..self.pipes.len()).map(live).collect::<Result<_, _>>()?;
        self.wait_for_round(self.rounds() + 1, PATIENCE)?;
        self.broadcast("go");
        if plan.hangs {
            self.pass(self.length.saturating_sub(JUDGED_BEFORE_END))?;
            judge(folder.run())?;
        }
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

    /// Lets `time` pass while all processes run.
    fn pass(&mut self, time: Duration) -> Result<(), Error> {
        let (begun, agents) = (Instant::now(), &mut self.agents);
        self.ranks.wait_for("the job to stand still", time + PATIENCE, |_| {
            agents.check()?;
            Ok(begun.elapsed() >= time)
        })
    }

    /// A line of every rank: nobody goes on before all have come so far.
    fn gather(&mut self) -> Result<Vec<String>, Error> {
        let mut lines: Vec<Option<String>> = vec![None; self.pipes.len()];
        let (agents, pipes) = (&mut self.agents, &self.pipes);
        self.ranks.wait_for("the ranks to connect", PATIENCE, |_| {
            agents.check()?;
            for (line, pipe) in lines.iter_mut().zip(pipes) {
                *line = line.take().or_else(|| pipe.try_recv());
            }
            Ok(lines.iter().all(Option::is_some))
        })?;
        Ok(lines.into_iter().flatten().collect())
    }

    /// The same line to every rank.
    fn broadcast(&mut self, line: &str) {
        self.pipes.iter_mut().for_each(|pipe| pipe.send(line));
    }

    fn wait_for_round(&mut self, round: usize, patience: Duration) -> Result<(), Error> {
        let (offsets, nodes) = (&self.offsets, self.pipes.len());
        let ranks = &mut self.ranks;
        self.agents.wait_for("the agents to measure all clocks", patience, |_| {
            ranks.check()?;
            Ok(rounds(offsets, nodes) >= round)
        })
    }

    fn rounds(&self) -> usize {
        rounds(&self.offsets, self.pipes.len())
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
fn agent(folder: &Folder, plan: &Plan, clocks: &Clocks, node: u32) -> Result<Process, Error> {
    let (scratch, host) = (folder.scratch(), &plan.hosts[node as usize]);
    let settings = AgentSettings {
        rendezvous: &scratch.join("meet"),
        interface: &host.interface,
        window: WINDOW,
        clock: &clocks.hosts[node as usize].text,
        clock_shift_ns: clocks.shift_ns,
    };
    Process::start(format!("the agent of host {node}"), scratch.join(format!("agent-{node}.log")), host, |command| {
        command.args(["agent", "--rank", &node.to_string(), "--num-nodes", &plan.ranks.to_string()]);
        command.arg("--out").arg(folder.clock());
        // Should nobody be left to stop it.
        command.args(["--duration-sec", &(plan.length * 3 + 4 * PATIENCE).as_secs().to_string()]);
        command.args(settings.words());
    })
}

/// The process of a rank.
fn trainer(folder: &Folder, plan: &Plan, clocks: &Clocks, rank: u32, products: u32) -> Result<Process, Error> {
    let host = &plan.hosts[rank as usize];
    let task = RankTask {
        address: host.address,
        products,
        slowness: plan.slowness_of(rank),
        stands_still: plan.stands_still(rank),
        seconds: plan.length.as_secs_f64(),
        seed: plan.seed,
        clock: clocks.hosts[rank as usize].text.clone(),
        clock_shift_ns: clocks.shift_ns,
    };
    let (name, word) = (format!("rank {rank}"), task.encode().map_err(std::io::Error::from)?);
    Process::start(name, folder.scratch().join(format!("rank-{rank}.log")), host, |command| {
        command.args(["demo-rank", "--task", &word]);
        command.env("RANK", rank.to_string()).env("WORLD_SIZE", plan.ranks.to_string());
        command.env("RANKSCOPE_RAW_DIR", folder.raw());
        if plan.live {
            command.env("RANKSCOPE_RUN_DIR", folder.run());
        }
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
    })
}
