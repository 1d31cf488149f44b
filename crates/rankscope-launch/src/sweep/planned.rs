//! What a sweep would do: the plan that lies in its directory, if there is one, held against what is asked for; else a new one.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;

use rankscope_probe::launch::command::{Agents, JobCommand};
use rankscope_run::{SideFile, SweepFolder, now_unix_ns, read_side_text};
use rankscope_sweep::{Definition, Seen, Sweep, Warning, warnings, watched};

use super::error::SweepError;
use super::listener::Plan;
use crate::run;

/// Which sweep is meant.
#[derive(Clone, Debug)]
pub enum Intent {
    /// The one that lies in the directory.
    GoOn,
    /// This one, new or not.
    Defined(Definition),
}

/// The plan of the sweep in `folder` for `intent`, with what has become of its runs. Begins nothing.
///
/// # Errors
/// [`SweepError::NoSweep`], [`SweepError::Plan`] where another sweep lies there, [`SweepError::ManyProcesses`], a command that starts ranks of
/// its own where ranks are asked for, and what the file system refuses.
pub fn planned(folder: &Path, intent: &Intent) -> Result<Plan, SweepError> {
    let path = std::path::absolute(folder).map_err(|reason| SweepError::Io { path: folder.to_owned(), reason })?;
    let sweep = stands(folder, intent)?;
    described(&sweep)?;
    Ok(Plan { warnings: seen_warnings(&sweep), sweep, folder: path })
}

/// What the command line says of the job, whose processes have to begin here.
pub(super) fn described(sweep: &Sweep) -> Result<JobCommand, SweepError> {
    let command: Vec<OsString> = sweep.command.iter().map(OsString::from).collect();
    let described = run::described(&command, sweep.options.ranks)?;
    match described.agents {
        Agents::Here { num_nodes, local_rank, .. } if num_nodes > 1 || local_rank > 0 => Err(SweepError::ManyProcesses),
        _ => Ok(described),
    }
}

fn stands(folder: &Path, intent: &Intent) -> Result<Sweep, SweepError> {
    let wrong = |reason| SweepError::Plan { path: folder.to_owned(), reason };
    let there = SweepFolder::read(folder)?.map(|bytes| Sweep::read(&bytes)).transpose().map_err(wrong)?;
    match (there, intent) {
        (None, Intent::GoOn) => Err(SweepError::NoSweep { path: folder.to_owned() }),
        (None, Intent::Defined(definition)) => {
            let environment = environment(&watched(&definition.configurations));
            Ok(Sweep::plan(definition.clone(), drawn_seed(), environment))
        }
        (Some(mut sweep), intent) => {
            match intent {
                Intent::GoOn => sweep.check_directory(&working_directory()?).map_err(wrong)?,
                Intent::Defined(definition) => {
                    sweep.check(definition).map_err(wrong)?;
                    sweep.extend(definition.repeat);
                }
            }
            sweep.check_environment(&environment(&watched(&sweep.configurations))).map_err(wrong)?;
            Ok(sweep)
        }
    }
}

/// Scripts that the command names are looked into.
fn seen_warnings(sweep: &Sweep) -> Vec<Warning> {
    let is_script = |word: &&String| SCRIPTS.iter().any(|suffix| word.ends_with(suffix));
    let read = |word: &String| Some((word.clone(), read_side_text(Path::new(word), SideFile::Config).ok()?));
    let scripts: Vec<(String, String)> = sweep.command.iter().filter(is_script).filter_map(read).collect();
    let seen = Seen { command: &sweep.command, scripts: &scripts, environment: &sweep.environment };
    warnings(&sweep.configurations, seen)
}

/// How names of shell scripts end.
const SCRIPTS: [&str; 5] = [".sh", ".bash", ".zsh", ".sbatch", ".slurm"];

/// Where this process is.
fn working_directory() -> Result<String, SweepError> {
    let here = std::env::current_dir().map_err(|reason| SweepError::Io { path: ".".into(), reason })?;
    Ok(here.to_string_lossy().into_owned())
}

fn environment(names: &[String]) -> BTreeMap<String, String> {
    let set = |name: &String| Some((name.clone(), std::env::var_os(name)?.to_string_lossy().into_owned()));
    names.iter().filter_map(set).collect()
}

/// A seed for a sweep that is given none. Every program reads 32 bits of it from JSON exactly.
fn drawn_seed() -> u64 {
    let now = now_unix_ns().unwrap_or_default().cast_unsigned();
    rankscope_clock::Rng::lane(now, u64::from(std::process::id())).bits() >> 32
}
