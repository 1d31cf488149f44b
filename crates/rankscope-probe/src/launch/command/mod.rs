//! What the command line of a job says: which launcher starts it, on how many nodes, and how a clock agent comes to each of them.
//!
//! The one idea: the command is read and never changed. What it does not say comes from the environment, and where neither says
//! enough the plan is a sentence that tells what is missing, because a clock agent on the wrong node measures nothing.
//!
//! A pure function of the words and of three look-ups ([`World`]).

mod flags;
mod mpirun;
mod srun;
mod torch;

use rankscope_clock::NodeId;

use super::env::Env;
use super::{LaunchError, Source, launch};
use crate::rendezvous::Place;
use flags::Flags;

/// What a command line leaves open and something outside of it knows.
#[expect(missing_debug_implementations, reason = "three functions have nothing to show")]
pub struct World<'a> {
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The text of a file, for lists of hosts.
    pub file: &'a dyn Fn(&str) -> Option<String>,
    /// What a program answers to `--version`: two families of launchers share the names mpirun and mpiexec.
    pub version: &'a dyn Fn(&str) -> Option<String>,
}

/// A job as its command line describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobCommand {
    /// What starts the processes.
    pub launcher: Launcher,
    /// How many processes there are in all, where that is said.
    pub ranks: Option<u32>,
    /// What names this job on all of its nodes.
    pub job: Option<String>,
    /// Which of the words is the program itself; as many as there are where none is found.
    pub program: usize,
    /// How its clocks can be measured.
    pub agents: Agents,
}

/// What starts the processes of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Launcher {
    /// The command is the program itself.
    None,
    /// torchrun, or `python -m torch.distributed.run`: one on each node.
    Torchrun,
    /// Slurm's srun: one for all nodes.
    Srun,
    /// mpirun, mpiexec and their like: one for all nodes.
    Mpirun,
}

/// How a clock agent comes to each node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Agents {
    /// Whoever reads this starts the agent of this host; other nodes do the same.
    Here {
        /// This node.
        node: NodeId,
        /// How many there are.
        num_nodes: u32,
        /// Which of this node's readers this is: that of 0 starts the agent.
        local_rank: u32,
        /// Where they meet; none where there is one node.
        place: Option<Place>,
    },
    /// These words before those of an agent start one on every node.
    Everywhere {
        /// The words.
        prefix: Vec<String>,
        /// How many nodes, where that is said.
        num_nodes: Option<u32>,
        /// Where they meet; none where agents find that out from their launcher.
        place: Option<Place>,
    },
    /// It cannot be done, and why.
    Impossible(String),
}

impl Agents {
    const ALONE: Self = Self::Here { node: NodeId(0), num_nodes: 1, local_rank: 0, place: None };

    fn impossible(why: &str) -> Self {
        Self::Impossible(why.to_owned())
    }
}

/// What `words` and `world` say about a job.
///
/// # Errors
/// [`LaunchError`] names the variable that is wrong.
pub fn recognise(words: &[String], world: &World<'_>) -> Result<JobCommand, LaunchError> {
    let env = Env::new(world.variable);
    let program = words.first().map_or("", |word| file_name(word));
    let mut command = match program {
        "torchrun" | "torchrun-script" => torch::torchrun(words, 1, world, &env)?,
        python if python.starts_with("python") => match torch::module(words) {
            Some(after) => torch::torchrun(words, after, world, &env)?,
            None => plain(words, world)?,
        },
        "srun" => srun::srun(words, &env)?,
        name if mpirun::NAMES.contains(&name) => mpirun::mpirun(words, world, &env),
        _ => plain(words, world)?,
    };
    // Whoever says in our own variables which node this is means it.
    if let Ok(said) = launch(world.variable)
        && said.source == Source::Explicit
    {
        command.agents = Agents::Here { node: said.node, num_nodes: said.num_nodes, local_rank: 0, place: said.place };
    }
    Ok(command)
}

/// A program that this process starts as it is; a launcher may have started this process.
fn plain(words: &[String], world: &World<'_>) -> Result<JobCommand, LaunchError> {
    let program = interpreted(words);
    let (agents, job) = match launch(world.variable) {
        Ok(said) if said.num_nodes > 1 && said.place.is_none() => {
            let why = "the launcher names no rendezvous; set RANKSCOPE_RDZV=tcp://HOST_OF_NODE_0:PORT";
            (Agents::impossible(why), Some(said.run_id))
        }
        Ok(said) => {
            let agents =
                Agents::Here { node: said.node, num_nodes: said.num_nodes, local_rank: said.local_rank, place: said.place };
            (agents, Some(said.run_id))
        }
        Err(LaunchError::NoLauncher) => (Agents::ALONE, None),
        Err(wrong) => return Err(wrong),
    };
    Ok(JobCommand { launcher: Launcher::None, ranks: None, job, program, agents })
}

/// Which word is the script, where the first is an interpreter.
fn interpreted(words: &[String]) -> usize {
    let is_script = |word: &String| [".py", ".sh"].iter().any(|suffix| word.ends_with(suffix));
    words.iter().position(is_script).unwrap_or(0)
}

fn file_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

#[cfg(test)]
mod tests;
