//! A short fuzz run on stable Rust: every reader, fed mutated seeds, in a process of its own with its memory bounded.
//!
//! The worker writes each input down before it reads it, so whatever kills it (a panic, an abort, the memory bound, a hang) is
//! left on disk for the parent to keep. The same seed gives the same inputs; only how many of them fit depends on the machine, or on
//! `--bytes`, which is for long runs. cargo-fuzz (see fuzz/) follows coverage, and needs nightly.

mod readers;
mod seeds;
mod worker;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result, bail};

use crate::cargo;
use readers::{READERS, Reader};

/// Options of `cargo xtask fuzz-smoke`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seconds for all readers together.
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// Feed each reader so many bytes instead, however long that takes
    #[arg(long, conflicts_with = "seconds")]
    bytes: Option<u64>,
    /// Where the mutations come from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only this reader.
    #[arg(long)]
    reader: Option<String>,
    /// Feed this one file instead, unmutated: how a crash is reproduced.
    #[arg(long, requires = "reader")]
    input: Option<PathBuf>,
    /// Run as the worker of `--reader`, keeping the current input in this file.
    #[arg(long, hide = true, requires = "reader")]
    worker: Option<PathBuf>,
}

/// Runs the readers one after the other.
pub(crate) fn run(args: &Args) -> Result<()> {
    let chosen: Vec<&Reader> =
        READERS.iter().filter(|reader| args.reader.as_ref().is_none_or(|name| name == reader.name)).collect();
    let [first, ..] = chosen[..] else {
        let names: Vec<&str> = READERS.iter().map(|reader| reader.name).collect();
        bail!("no reader is called {:?}; there are {}", args.reader.as_deref().unwrap_or_default(), names.join(", "));
    };
    if let Some(input) = &args.input {
        let bytes = fs::read(input).with_context(|| format!("failed to read {}", input.display()))?;
        (first.read)(&bytes);
        println!("{} read {} bytes and came back", first.name, bytes.len());
        return Ok(());
    }
    if let Some(current) = &args.worker {
        return worker::run(first, args.seed, args.until(args.seconds), current);
    }
    let folder = cargo::metadata()?.target_directory.join("fuzz-smoke");
    fs::create_dir_all(&folder).with_context(|| format!("failed to create {}", folder.display()))?;
    let seconds = (args.seconds / chosen.len() as u64).max(1);
    for reader in chosen {
        supervise(reader, args.seed, args.until(seconds), &folder)?;
    }
    Ok(())
}

impl Args {
    fn until(&self, seconds: u64) -> Until {
        self.bytes.map_or(Until::Seconds(seconds), Until::Bytes)
    }
}

/// When a reader has read enough.
#[derive(Clone, Copy)]
enum Until {
    Seconds(u64),
    Bytes(u64),
}

impl Until {
    /// As the worker is told.
    fn arguments(self) -> [String; 2] {
        match self {
            Self::Seconds(seconds) => ["--seconds".into(), seconds.to_string()],
            Self::Bytes(bytes) => ["--bytes".into(), bytes.to_string()],
        }
    }
}

/// Runs a worker and keeps the input it died of.
fn supervise(reader: &Reader, seed: u64, until: Until, folder: &Path) -> Result<()> {
    let current = folder.join(format!("{}.current", reader.name));
    let status = Command::new(cargo::myself()?)
        .args(["fuzz-smoke", "--reader", reader.name, "--seed", &seed.to_string()])
        .args(until.arguments())
        .arg("--worker")
        .arg(&current)
        // Rayon's threads each reserve address space, which the bound counts; two are enough to find what threads break.
        .env("RAYON_NUM_THREADS", "2")
        .status()
        .context("failed to start the worker")?;
    if status.success() {
        return Ok(());
    }
    let crash = folder.join(format!("crash-{}-seed{seed}", reader.name));
    fs::rename(&current, &crash).with_context(|| format!("the worker died without an input ({status})"))?;
    bail!(
        "reader {} {} with seed {seed}; the input is {}, and `cargo xtask fuzz-smoke --reader {} --input {}` feeds it again",
        reader.name,
        cause(status),
        crash.display(),
        reader.name,
        crash.display(),
    )
}

fn cause(status: ExitStatus) -> String {
    match status.code() {
        Some(worker::PANICKED) => "panicked".to_owned(),
        Some(worker::HUNG) => format!("took more than {} s for one input", worker::LONGEST.as_secs()),
        _ => format!("died ({status}), which is what the {} MB memory bound looks like too,", worker::MEMORY_BYTES >> 20),
    }
}
