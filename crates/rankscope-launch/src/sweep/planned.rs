//! What a sweep would do: the plan that lies in its directory, if there is one, held against what is asked for; else a new one.

use std::collections::BTreeMap;
use std::path::Path;

use rankscope_run::{SideFile, SweepFolder, now_unix_ns, read_side_text};
use rankscope_sweep::{Definition, Seen, Sweep, Warning, warnings, watched};

use super::error::SweepError;

/// Which sweep is meant.
#[derive(Clone, Debug)]
pub enum Intent {
    /// The one that lies in the directory.
    GoOn,
    /// This one, new or not.
    Defined(Definition),
}

/// The plan of the sweep in `folder` for `intent`, with what has become of its runs.
///
/// # Errors
/// [`SweepError::NoSweep`], [`SweepError::Plan`] where another sweep lies there, and what the file system refuses.
pub fn planned(folder: &Path, intent: &Intent) -> Result<Sweep, SweepError> {
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

/// What is to be said of `sweep` before it begins. Scripts that its command names are looked into.
pub fn seen_warnings(sweep: &Sweep) -> Vec<Warning> {
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
