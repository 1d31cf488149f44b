//! `cargo xtask bench merge`: what judging parts costs, by the row: one rank's part in one collective.
//!
//! No job is as wide as the ones to be merged, so its parts are made: each is mapped by the program itself from a trace of one round,
//! and then given as many rounds as are asked for and written by the same writer. Only the merge is measured. Parts lie in a temporary
//! folder, unless one is named, and are made the same every time.

mod parts;
mod table;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use rankscope_testkit::Rounds;
use serde::Serialize;

use super::child::{self, Cost};

/// Options of `cargo xtask bench merge`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Ranks of the job.
    #[arg(long, default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..))]
    ranks: u32,
    /// Steps of each rank.
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
    /// Collectives of each step.
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u32).range(1..))]
    collectives: u32,
    /// Consecutive ranks that reduce together [default: all].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    group: Option<u32>,
    /// Collectives do not say their numbers.
    #[arg(long)]
    no_sequence: bool,
    /// Collectives that every rank lost, drawn for each of its own.
    #[arg(long, default_value_t = 0)]
    lost: u32,
    /// Make the parts in this folder and keep them; if they are there already, take those.
    #[arg(long)]
    keep: Option<PathBuf>,
    /// Merge with `--memory` of so much, such as 1GB.
    #[arg(long)]
    memory: Option<String>,
    /// `json` for one document on stdout, anything else for a Markdown table.
    #[arg(long, default_value = "table")]
    format: String,
    /// Measure these programs instead of building target/release/rankscope.
    #[arg(long, value_delimiter = ',')]
    binary: Vec<PathBuf>,
}

/// What is printed with `--format json`.
#[derive(Serialize)]
struct Outcome {
    ranks: u32,
    steps: u32,
    collectives_per_step: u32,
    rows: u64,
    part_bytes: u64,
    memory: Option<String>,
    merges: Vec<Measured>,
    gates: Gates,
}

/// One program, measured.
#[derive(Serialize)]
struct Measured {
    binary: PathBuf,
    seconds: f64,
    cpu_seconds: f64,
    ns_per_row: f64,
    peak_mb: f64,
    bytes_per_row: f64,
}

/// What a merge may cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct Gates {
    cpu_seconds: f64,
    peak_mb: f64,
}

impl Gates {
    /// For so many ranks and rows: of the widths that are asked for by name what is said of them, else what a row may cost.
    fn of(ranks: u32, rows: u64) -> Self {
        match (ranks, rows) {
            (1_024, 51_200_000) => Self { cpu_seconds: 8.0, peak_mb: 300.0 },
            (16_384, 95_000_000..=105_000_000) => Self { cpu_seconds: 60.0, peak_mb: 1_000.0 },
            (16_384, 819_200_000) => Self { cpu_seconds: rows as f64 * NS_MAX / 1e9, peak_mb: 2_000.0 },
            _ => Self { cpu_seconds: rows as f64 * NS_MAX / 1e9, peak_mb: BASE_MB + rows as f64 * BYTES_MAX / 1e6 },
        }
    }
}

/// Processor time and memory that a row may cost.
const NS_MAX: f64 = 300.0;
const BYTES_MAX: f64 = 200.0;
/// What a program takes before its first row.
const BASE_MB: f64 = 20.0;

/// Runs the benchmark.
pub(crate) fn run(args: &Args) -> Result<()> {
    let binaries = match args.binary.as_slice() {
        [] => vec![super::at_hand(None)?.0],
        given => given.to_vec(),
    };
    let folder = Folder::of(args.keep.as_deref())?;
    let rounds = args.rounds()?;
    let made = folder.path.join("parts");
    if !made.exists() {
        eprintln!("making {}", made.display());
        parts::make(&rounds, args.steps, &binaries[0], &folder.path)?;
    }
    let part_bytes = parts::bytes(&made)?;
    let rows = u64::from(rounds.ranks) * u64::from(rounds.rounds - rounds.lost);
    let measured = binaries.iter().map(|binary| measure(binary, &made, args.memory.as_deref(), rows, &folder.path));
    let outcome = Outcome {
        ranks: args.ranks,
        steps: args.steps,
        collectives_per_step: args.collectives,
        rows,
        part_bytes,
        memory: args.memory.clone(),
        merges: measured.collect::<Result<_>>()?,
        gates: Gates::of(args.ranks, rows),
    };
    match args.format.as_str() {
        "json" => println!("{}", serde_json::to_string(&outcome)?),
        _ => print!("{}", table::markdown(&outcome)),
    }
    Ok(())
}

impl Args {
    fn rounds(&self) -> Result<Rounds> {
        let rounds = self.steps.checked_mul(self.collectives).filter(|rounds| *rounds > self.lost);
        let Some(rounds) = rounds else { bail!("no rank can have so many collectives, or have lost so many") };
        let group = self.group.unwrap_or(self.ranks);
        let (ranks, sequence, lost) = (self.ranks, !self.no_sequence, self.lost);
        Ok(Rounds { ranks, rounds, group, sequence, lost, ranks_per_node: 8, seed: 1 })
    }
}

fn measure(binary: &Path, parts: &Path, memory: Option<&str>, rows: u64, folder: &Path) -> Result<Measured> {
    eprintln!("merging by {}", binary.display());
    let (stdout, stderr) = (folder.join("merge.stdout"), folder.join("merge.stderr"));
    let mut command = Command::new(binary);
    command.arg("merge").arg(parts).args(["--format", "json"]);
    command.args(memory.iter().flat_map(|memory| ["--memory", *memory]));
    command.stdout(File::create(&stdout)?).stderr(File::create(&stderr)?);
    let (Cost { seconds, cpu_seconds, peak_mb }, code) =
        child::run(&mut command).with_context(|| format!("failed to run {}", binary.display()))?;
    if code != 0 {
        bail!("no merge of {}: exit code {code}: {}", parts.display(), fs::read_to_string(&stderr)?);
    }
    let by_row = |all: f64| all / rows as f64;
    let (ns_per_row, bytes_per_row) = (by_row(cpu_seconds * 1e9), by_row(peak_mb * 1e6));
    Ok(Measured { binary: binary.to_owned(), seconds, cpu_seconds, ns_per_row, peak_mb, bytes_per_row })
}

/// A folder for the parts, which is gone at the end unless it is to be kept.
struct Folder {
    path: PathBuf,
    is_kept: bool,
}

impl Folder {
    fn of(kept: Option<&Path>) -> Result<Self> {
        let (path, is_kept) = match kept {
            Some(path) => (path.to_owned(), true),
            None => (std::env::temp_dir().join(format!("rankscope-bench-merge-{}", std::process::id())), false),
        };
        fs::create_dir_all(&path).with_context(|| format!("failed to create {}", path.display()))?;
        Ok(Self { path, is_kept })
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_kept
            && let Err(error) = fs::remove_dir_all(&self.path)
        {
            eprintln!("failed to remove {}: {error}", self.path.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widths_that_are_asked_for_by_name_have_gates_of_their_own() {
        assert_eq!(Gates::of(1_024, 51_200_000), Gates { cpu_seconds: 8.0, peak_mb: 300.0 });
        assert_eq!(Gates::of(16_384, 99_942_400), Gates { cpu_seconds: 60.0, peak_mb: 1_000.0 });
        let Gates { cpu_seconds, peak_mb } = Gates::of(256, 1_280_000);
        assert!((cpu_seconds - 0.384).abs() < 1e-9 && (peak_mb - 276.0).abs() < 1e-9, "{cpu_seconds} {peak_mb}");
    }

    #[test]
    fn a_folder_that_nobody_keeps_is_gone_at_the_end() {
        let folder = Folder::of(None).unwrap();
        let path = folder.path.clone();
        assert!(path.is_dir());
        drop(folder);
        assert!(!path.exists());
    }
}
