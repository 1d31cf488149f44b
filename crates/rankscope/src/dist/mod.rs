//! `rankscope dist`: a plan mapped and merged by the engine that a cluster runs already.

mod kubernetes;
mod ray;
mod slurm;

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Subcommand;
use rankscope_cli::ExitCode;
use rankscope_cli::{called, output};
use rankscope_config::size_by_letter;
use rankscope_dist::Tasks;
use rankscope_pipeline::{Division, Frozen, Shard, freeze, frozen_plan};
use rankscope_run::{absolute, is_stored};

use crate::plan::PartsArgs;

/// Map and merge on a cluster, by the engine it runs: Slurm, Kubernetes or Ray.
///
/// All three start `rankscope map` for each shard of a plan, into a folder that all machines see, and `rankscope merge` at the end. Name
/// the traces, or leave them out where `rankscope plan` has frozen them. Tasks may be killed, repeated, and lost with their node: the
/// same command goes on with what is missing.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    engine: Engine,
}

#[derive(Debug, Subcommand)]
enum Engine {
    Slurm(slurm::Args),
    #[command(name = "k8s", alias = "kubernetes")]
    Kubernetes(kubernetes::Args),
    Ray(ray::Args),
}

pub(crate) fn run(args: Args) -> Result<ExitCode> {
    match args.engine {
        Engine::Slurm(args) => slurm::run(args),
        Engine::Kubernetes(args) => kubernetes::run(args),
        Engine::Ray(args) => ray::run(args),
    }
}

/// What all engines have to be told.
#[derive(Clone, Debug, clap::Args)]
struct TaskArgs {
    #[command(flatten)]
    wanted: PartsArgs,
    /// Directory for the report's files [default: the folder report beside the parts]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// How many tasks [default: what the plan says is sensible; with ray, what suits the cluster]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    shards: Option<u32>,
    /// Memory of a task, such as 2GB [default: by the largest trace]
    #[arg(long, value_name = "SIZE", value_parser = size_by_letter)]
    memory: Option<u64>,
    /// Memory of the merge
    #[arg(long, value_name = "SIZE", value_parser = size_by_letter, default_value = "2GB")]
    merge_memory: u64,
    /// How rankscope is started on the machines of the cluster [default: as it was started here]
    #[arg(long, value_name = "PROGRAM")]
    program: Option<PathBuf>,
    /// Merge even if inputs could not be read, or ranks are missing
    #[arg(long)]
    partial: bool,
}

impl TaskArgs {
    /// The folder of what tasks say: beside the parts, or here where those go to a bucket.
    fn logs(&self) -> Result<PathBuf> {
        let parts = &self.wanted.parts;
        Ok(if is_stored(parts) { absolute(Path::new("logs"))? } else { absolute(parts)?.join("logs") })
    }

    /// Freezes the plan, or finds it, and says what is to be run.
    fn tasks(self) -> Result<Tasks> {
        let mut request = self.wanted.request(Shard::default())?;
        request.parts = absolute(&request.parts)?;
        let Frozen { division, .. } = match request.paths.is_empty() {
            true => frozen_plan(&request.parts)?,
            false => freeze(&request)?,
        };
        let parts = request.parts;
        let Division { inputs, shards, memory_bytes, .. } = division;
        let out = self.out.as_deref().map(absolute).transpose()?;
        let out = out.unwrap_or_else(|| parts.parent().unwrap_or(Path::new("/")).join("report"));
        let program = self.program.map_or_else(own_program, Ok)?;
        let [program, parts, out] = [&program, &parts, &out].map(|path| path.display().to_string());
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let map = words(&[&program, "map", "--parts", &parts, "--format", "json"]);
        let mut merge = words(&[&program, "merge", &parts, "--out", &out]);
        merge.extend(self.partial.then(|| "--partial".to_owned()));
        Ok(Tasks {
            map_line: output::command_line(&map),
            merge_line: output::command_line(&merge),
            map,
            merge,
            inputs,
            shards: self.shards.unwrap_or(shards),
            memory_bytes: self.memory.unwrap_or(memory_bytes),
            merge_memory_bytes: self.merge_memory,
        })
    }
}

/// The program as it was started: by its path, or by its name where it was found by that.
fn own_program() -> Result<PathBuf> {
    let word = PathBuf::from(called::words().first().cloned().unwrap_or_else(|| "rankscope".into()));
    Ok(if word.components().count() > 1 { absolute(&word)? } else { word })
}
