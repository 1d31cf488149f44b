//! mpirun: a second one over the same hosts, with one process a node. Open MPI and the launchers of MPICH's family (Hydra) say the
//! same things in different words.

use std::collections::BTreeSet;

use super::{Agents, Env, Flags, JobCommand, Launcher, World, file_name};
use crate::launch::derived_port;
use crate::launch::hostlist::first_host;
use crate::rendezvous::Place;

/// Names that such launchers go by.
pub(super) const NAMES: [&str; 9] = [
    "mpirun",
    "mpiexec",
    "orterun",
    "prterun",
    "mpirun.openmpi",
    "mpiexec.openmpi",
    "mpirun.mpich",
    "mpiexec.mpich",
    "mpiexec.hydra",
];

/// Flags that take one value, and those that take two.
const ONE: [&str; 34] = [
    "-np",
    "--np",
    "-n",
    "--n",
    "-c",
    "-N",
    "-npernode",
    "--npernode",
    "-ppn",
    "-perhost",
    "-H",
    "-host",
    "--host",
    "-hosts",
    "--hosts",
    "-hostfile",
    "--hostfile",
    "-machinefile",
    "--machinefile",
    "-f",
    "-x",
    "--map-by",
    "-map-by",
    "--rank-by",
    "--bind-to",
    "-bind-to",
    "--prefix",
    "-wdir",
    "--wdir",
    "-wd",
    "--timeout",
    "--output-filename",
    "-genvlist",
    "-launcher",
];
const TWO: [&str; 6] = ["-mca", "--mca", "-env", "-genv", "--gmca", "--pmixmca"];

const HOSTS: [&str; 5] = ["-H", "-host", "--host", "-hosts", "--hosts"];
const FILES: [&str; 5] = ["-hostfile", "--hostfile", "-machinefile", "--machinefile", "-f"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    OpenMpi,
    Hydra,
}

pub(super) fn mpirun(words: &[String], world: &World<'_>, env: &Env<'_>) -> JobCommand {
    let flags = Flags::of(words, 1, |flag| usize::from(ONE.contains(&flag)) + 2 * usize::from(TWO.contains(&flag)));
    let ranks = flags.value(&["-np", "--np", "-n", "--n", "-c"]).and_then(|ranks| ranks.parse().ok());
    let job = env.text("SLURM_JOB_ID").or_else(|| env.text("PBS_JOBID")).or_else(|| env.text("LSB_JOBID"));
    let agents = agents(&words[0], &flags, world, env, job.as_deref());
    JobCommand { launcher: Launcher::Mpirun, ranks, job, program: flags.program, agents }
}

fn agents(launcher: &str, flags: &Flags<'_>, world: &World<'_>, env: &Env<'_>, job: Option<&str>) -> Agents {
    let listed = flags.value(&HOSTS).and_then(|list| Hosts::of(list.split(',')));
    let file = flags.value(&FILES);
    let of_file = || {
        let text = (world.file)(file?)?;
        Hosts::of(text.lines().filter_map(|line| line.split('#').next()?.split_whitespace().next()))
    };
    let hosts = match listed.or_else(of_file).or_else(|| allocated(env, world)) {
        None if file.is_some() => return Agents::Impossible(format!("{} cannot be read", file.unwrap_or_default())),
        None => return Agents::ALONE,
        Some(hosts) if hosts.count == 1 && is_here(&hosts.first) => return Agents::ALONE,
        Some(hosts) => hosts,
    };
    let Some(family) = family(launcher, world) else {
        return Agents::Impossible(format!(
            "{launcher} --version names neither Open MPI nor Hydra, so its options are not known"
        ));
    };
    let mut prefix = vec![launcher.to_owned()];
    let mut add = |words: &[&str]| prefix.extend(words.iter().map(|word| (*word).to_owned()));
    match family {
        Family::OpenMpi => {
            if flags.has(&["--allow-run-as-root"]) {
                add(&["--allow-run-as-root"]);
            }
            add(&["--map-by", "ppr:1:node", "--bind-to", "none"]);
            // Two that start at once on a host fail where both make the same folder for their sockets; the job's keeps the usual one.
            add(&["--mca", "orte_tmpdir_base", &folder_of_agents(env)]);
            for name in EXPORTED {
                add(&["-x", name]);
            }
        }
        Family::Hydra => add(&["-ppn", "1", "-n", &hosts.count.to_string()]),
    }
    match (flags.value(&HOSTS), file, family) {
        (Some(list), _, Family::OpenMpi) => add(&["--host", list]),
        (Some(list), _, Family::Hydra) => add(&["-hosts", list]),
        (None, Some(file), Family::OpenMpi) => add(&["--hostfile", file]),
        (None, Some(file), Family::Hydra) => add(&["-f", file]),
        (None, None, _) => {}
    }
    let place = Place::Tcp { host: hosts.first, port: derived_port(job.unwrap_or("mpi"), None) };
    Agents::Everywhere { prefix, num_nodes: Some(hosts.count), place: Some(place) }
}

/// Where the agents' launcher keeps its sockets, on every node: each user's own, as `/tmp` is everybody's.
fn folder_of_agents(env: &Env<'_>) -> String {
    let user = env.text("USER").or_else(|| env.text("LOGNAME"));
    format!("/tmp/rankscope-agents-{}", user.as_deref().unwrap_or("of-nobody"))
}

/// What agents are told through variables, which Open MPI passes on only when told to.
const EXPORTED: [&str; 5] =
    ["RANKSCOPE_OUTPUT_DIR", "RANKSCOPE_RENDEZVOUS", "RANKSCOPE_RUN_ID", "RANKSCOPE_CLOCK_SNAPSHOTS", "RANKSCOPE_KEY"];

/// The hosts of a job.
struct Hosts {
    first: String,
    count: u32,
}

impl Hosts {
    /// Of hosts with or without their numbers of processes.
    fn of<'a>(list: impl Iterator<Item = &'a str>) -> Option<Self> {
        let name = |host: &'a str| host.split(':').next().map(str::trim).filter(|name| !name.is_empty());
        let mut names = list.filter_map(name).peekable();
        let first = (*names.peek()?).to_owned();
        // One machine under its own names is one host.
        let distinct: BTreeSet<&str> = names.map(|name| if is_here(name) { "localhost" } else { name }).collect();
        Some(Self { first, count: distinct.len() as u32 })
    }
}

/// Hosts that a scheduler dealt out.
fn allocated(env: &Env<'_>, world: &World<'_>) -> Option<Hosts> {
    if let Some(file) = env.text("PBS_NODEFILE") {
        return Hosts::of((world.file)(&file)?.lines());
    }
    let count = env.text("SLURM_JOB_NUM_NODES").or_else(|| env.text("SLURM_NNODES"))?.parse().ok()?;
    let first = first_host(&env.text("SLURM_JOB_NODELIST").or_else(|| env.text("SLURM_NODELIST"))?)?;
    Some(Hosts { first, count })
}

fn is_here(host: &str) -> bool {
    ["localhost", "127.0.0.1", "::1"].contains(&host)
}

fn family(launcher: &str, world: &World<'_>) -> Option<Family> {
    match file_name(launcher) {
        "orterun" | "prterun" | "mpirun.openmpi" | "mpiexec.openmpi" => return Some(Family::OpenMpi),
        "mpiexec.hydra" | "mpirun.mpich" | "mpiexec.mpich" => return Some(Family::Hydra),
        _ => {}
    }
    let version = (world.version)(launcher)?;
    let says = |words: &[&str]| words.iter().any(|word| version.contains(word));
    if says(&["Open MPI", "OpenRTE", "Open RTE", "PRRTE", "prte"]) {
        Some(Family::OpenMpi)
    } else if says(&["HYDRA", "Intel(R) MPI", "MPICH"]) {
        Some(Family::Hydra)
    } else {
        None
    }
}
