//! Where a run lies, what its processes are told of it, and what this process has to do with it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use rankscope_probe::launch::command::{Agents, JobCommand};
use rankscope_run::{NewRun, RunDirectory};

use crate::error::Error;
use crate::name::RunName;
use crate::notice::{Notice, Observer};
use crate::run::Request;
use crate::{hooks, name};

/// Variables for the processes of a job.
pub(crate) type Variables = Vec<(String, OsString)>;

/// Where a run is to lie.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// There.
    Path(PathBuf),
    /// Below `runs/`, by this name.
    Name(RunName),
    /// Below `runs/`, by the program and the time.
    Any,
}

/// The run directory as one of the run's processes sees it.
pub(crate) struct Directory {
    path: PathBuf,
    run_id: String,
    pub(crate) seat: Seat,
    /// The manifest, in the hands of the one process that leads.
    pub(crate) manifest: Option<RunDirectory>,
}

/// Which of the processes of `rankscope run` this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seat {
    pub(crate) node: u32,
    pub(crate) num_nodes: u32,
    /// Among those of the node.
    pub(crate) local: u32,
}

impl Seat {
    fn of(agents: &Agents) -> Self {
        match agents {
            Agents::Here { node, num_nodes, local_rank, .. } => {
                Self { node: node.0, num_nodes: *num_nodes, local: *local_rank }
            }
            // One process sees to all nodes.
            Agents::Everywhere { .. } | Agents::Impossible(_) => Self { node: 0, num_nodes: 1, local: 0 },
        }
    }

    fn leads(self) -> bool {
        (self.node, self.local) == (0, 0)
    }
}

impl Directory {
    /// Makes the directory, or joins it where another node leads.
    pub(crate) fn begin(
        request: &Request,
        words: &[String],
        described: &JobCommand,
        observer: &dyn Observer,
    ) -> Result<Self, Error> {
        let seat = Seat::of(&described.agents);
        let shared = seat.num_nodes > 1 || seat.local > 0;
        if shared && request.place == Place::Any && described.job.is_none() {
            observer.notice(&Notice::NoSharedName);
        }
        let path = match &request.place {
            Place::Path(path) => path.clone(),
            Place::Name(name) => Path::new("runs").join(name.to_string()),
            Place::Any => free(Path::new("runs"), &name::usual(words, described, shared), shared),
        };
        let path = std::path::absolute(&path).map_err(Error::of(path))?;
        if is_folder_of_runs(&path) {
            return Err(Error::FolderOfRuns { path });
        }
        let called = path.file_name().map_or_else(|| "run".to_owned(), |name| name.to_string_lossy().into_owned());
        let told = || std::env::var("RANKSCOPE_RUN_ID").ok().filter(|id| !id.is_empty());
        let run_id = request.run_id.clone().or_else(told);
        let run_id = run_id.or_else(|| described.job.clone().filter(|_| shared)).unwrap_or(called);
        let manifest = if seat.leads() {
            let world_size = request.ranks.or(described.ranks);
            let new =
                NewRun { run_id: run_id.clone(), command: words.to_vec(), world_size, reference_node: 0, restart: restart() };
            Some(RunDirectory::create(&path, new)?)
        } else {
            for folder in [path.join("raw"), path.join("clock")] {
                fs::create_dir_all(&folder).map_err(Error::of(folder))?;
            }
            None
        };
        Ok(Self { path, run_id, seat, manifest })
    }

    /// What there is to complete of a run whose command did not start: nothing, where this process alone began it, and then
    /// nothing of it is left.
    pub(crate) fn without_a_job(self, observer: &dyn Observer) -> Option<Self> {
        let alone = self.seat.num_nodes == 1 && self.seat.local == 0;
        match self.manifest {
            Some(manifest) if alone && manifest.manifest().attempts.len() == 1 => {
                if let Err(error) = manifest.discard() {
                    observer.notice(&Notice::NotDiscarded(error.to_string()));
                }
                None
            }
            manifest => Some(Self { manifest, ..self }),
        }
    }

    /// Whether this process is the one that sees to what is of the whole job.
    pub(crate) fn leads(&self) -> bool {
        self.seat.leads()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn run_id(&self) -> &str {
        &self.run_id
    }

    pub(crate) fn raw(&self) -> PathBuf {
        self.path.join("raw")
    }

    pub(crate) fn clock(&self) -> PathBuf {
        self.path.join("clock")
    }

    /// What the processes of the job are told, over what `request` has for them.
    pub(crate) fn environment(&self, request: &Request, observer: &dyn Observer) -> Variables {
        let mut variables = request.variables();
        let own = [
            ("RANKSCOPE_RUN_DIR", self.path.clone().into_os_string()),
            ("RANKSCOPE_RAW_DIR", self.raw().into_os_string()),
            ("RANKSCOPE_RUN_ID", OsString::from(&self.run_id)),
        ];
        variables.extend(own.map(|(name, value)| (name.to_owned(), value)));
        variables.extend(request.ring.map(|ring| (RING.to_owned(), ring.as_secs_f64().to_string().into())));
        if request.hooks {
            // What a run around this one was told is not for this one's job.
            let plan = request.profile.as_ref().map(ToString::to_string).unwrap_or_default();
            if !plan.is_empty() || !request.environment.contains_key(PROFILE) {
                variables.push((PROFILE.to_owned(), plan.into()));
            }
            match hooks::write(&self.path) {
                Ok(folder) => {
                    let given = request.environment.get(PYTHON_PATH).map(OsString::from);
                    let rest = given.or_else(|| std::env::var_os(PYTHON_PATH));
                    variables.push((PYTHON_PATH.to_owned(), hooks::python_path(&folder, rest)));
                }
                Err(error) => observer.notice(&Notice::NoHooks { path: self.path.clone(), reason: error.to_string() }),
            }
        }
        variables
    }

    /// `command` with the placeholders in its arguments replaced.
    pub(crate) fn filled_in(&self, command: &[OsString]) -> Vec<OsString> {
        let (run, raw) = (self.path.to_string_lossy().into_owned(), self.raw().to_string_lossy().into_owned());
        let fill = |word: &OsString| match word.to_str() {
            Some(text) => OsString::from(filled(&filled(text, "{run}", &run), "{raw}", &raw)),
            None => word.clone(),
        };
        command.iter().enumerate().map(|(at, word)| if at == 0 { word.clone() } else { fill(word) }).collect()
    }
}

const PYTHON_PATH: &str = "PYTHONPATH";

/// Seconds of its recording that each process keeps.
const RING: &str = "RANKSCOPE_RING";

/// The plan of profiles for the hooks; empty where there is none.
const PROFILE: &str = "RANKSCOPE_PROFILE";

/// Whether `path` is the `runs/` here, in which every run that is given no other place begins.
fn is_folder_of_runs(path: &Path) -> bool {
    let runs = Path::new("runs");
    let same = std::path::absolute(runs).is_ok_and(|runs| runs == *path);
    same || matches!((path.canonicalize(), runs.canonicalize()), (Ok(path), Ok(runs)) if path == runs)
}

/// `text` with `path` for each `placeholder` that stands where a path can. Others mean something to whoever reads the argument: a
/// variable in a shell's script, a field in a format of Python.
fn filled(text: &str, placeholder: &str, path: &str) -> String {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(placeholder) {
        let (before, after) = (&rest[..at], &rest[at + placeholder.len()..]);
        filled.push_str(before);
        let begins = filled.chars().next_back().is_none_or(|c| "=:,".contains(c));
        let ends = after.chars().next().is_none_or(|c| "/:,".contains(c));
        filled.push_str(if begins && ends { path } else { placeholder });
        rest = after;
    }
    filled.push_str(rest);
    filled
}

/// A name that nothing has yet, where this process alone decides.
fn free(below: &Path, name: &str, shared: bool) -> PathBuf {
    let first = below.join(name);
    if shared || !first.exists() {
        return first;
    }
    (2..).map(|number| below.join(format!("{name}-{number}"))).find(|path| !path.exists()).unwrap_or(first)
}

/// How often the launcher, if there is one, started this job before.
pub(crate) fn restart() -> u32 {
    let said = |name: &str| std::env::var(name).ok()?.parse().ok();
    ["RANKSCOPE_RESTART", "TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT", "JOBSET_RESTART_ATTEMPT"]
        .into_iter()
        .find_map(said)
        .unwrap_or(0)
}

/// The name of this host.
pub(crate) fn host() -> String {
    nix::unistd::gethostname().map_or_else(|_| "localhost".to_owned(), |name| OsStr::to_string_lossy(&name).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_are_where_paths_can_be() {
        let table = [
            ("{run}", "/r"),
            ("{run}/out", "/r/out"),
            ("--out={run}/x", "--out=/r/x"),
            ("{run}:{run},{run}", "/r:/r,/r"),
            ("for run in 1 2; do echo ${run}; done", "for run in 1 2; do echo ${run}; done"),
            ("print(f'{run}')", "print(f'{run}')"),
            ("{run}.log", "{run}.log"),
            ("{{run}}", "{{run}}"),
            ("{run", "{run"),
        ];
        for (text, expected) in table {
            assert_eq!(filled(text, "{run}", "/r"), expected, "{text}");
        }
    }
}
