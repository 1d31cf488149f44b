//! `cargo xtask instructions`: how many instructions a span takes, held against a budget that is kept in the repository.
//!
//! Callgrind counts the same on every machine and at every load, which no clock in CI does. A count is the difference of two
//! runs, so start and end of the program are not in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo;

/// Options of `cargo xtask instructions`.
#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Make what is counted now the budget.
    #[arg(long)]
    write: bool,
}

/// Counts, and fails where more than the budget and its margin is taken.
pub(crate) fn run(args: &Args) -> Result<()> {
    let has_valgrind = Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has_valgrind {
        println!("skipped: valgrind is not installed");
        return Ok(());
    }
    let target = cargo::metadata()?.target_directory;
    let counted = count(&example()?, &target)?;
    let path = cargo::root().join(BUDGET);
    if args.write {
        return fs::write(&path, serde_json::to_string_pretty(&counted)? + "\n").context("failed to write the budget");
    }
    let budget = fs::read(&path).with_context(|| format!("failed to read {BUDGET}"))?;
    judge(&counted, &serde_json::from_slice(&budget).with_context(|| format!("failed to understand {BUDGET}"))?)
}

type Counts = BTreeMap<String, f64>;

/// What is counted, as the example calls it, and whether it reads the clock twice. That is taken off: which clock there is
/// depends on the machine, and under valgrind it is seldom the cheap one.
const PATHS: [(&str, bool); 3] = [("off", false), ("span", true), ("span_two_args", true)];
const CLOCK: &str = "two_ticks";
const BUDGET: &str = "benches/record/instructions.json";
/// More than what two compilers make of the same code, less than one more memory access per span.
const MARGIN: f64 = 0.15;
/// An instruction, for paths of very few.
const SLACK: f64 = 1.0;

/// Built for release, as the spans of a product are.
fn example() -> Result<PathBuf> {
    let build = ["build", "--release", "--locked", "--quiet", "--package", "rankscope-record", "--example", EXAMPLE];
    let status = cargo::command(build).status().context("failed to start cargo")?;
    if !status.success() {
        bail!("the example {EXAMPLE} does not build");
    }
    Ok(cargo::metadata()?.target_directory.join("release/examples").join(EXAMPLE))
}

const EXAMPLE: &str = "count_instructions";

fn count(example: &Path, target: &Path) -> Result<Counts> {
    let clock = per_turn(example, CLOCK, target)?;
    let mut counts = Counts::new();
    for (path, reads_clock) in PATHS {
        let instructions = per_turn(example, path, target)? - if reads_clock { clock } else { 0.0 };
        // To the tenth: a few instructions of start-up more or less are no news.
        counts.insert(path.to_owned(), (instructions * 10.0).round() / 10.0);
    }
    Ok(counts)
}

fn per_turn(example: &Path, path: &str, target: &Path) -> Result<f64> {
    const FEW: u64 = 10_000;
    const MANY: u64 = 210_000;
    let [few, many] = [FEW, MANY].map(|turns| callgrind(example, path, turns, target));
    Ok((many? as f64 - few? as f64) / (MANY - FEW) as f64)
}

/// The instructions of one run, of its first thread: the recorder's own does what no span waits for.
fn callgrind(example: &Path, path: &str, turns: u64, target: &Path) -> Result<u64> {
    let out = target.join("callgrind.out");
    let mut command = Command::new("valgrind");
    command
        .args(["--tool=callgrind", "--quiet", "--separate-threads=yes"])
        .arg(format!("--callgrind-out-file={}", out.display()));
    command.arg(example).args([path, &turns.to_string()]);
    let output = command.stdout(Stdio::null()).output().context("failed to start valgrind")?;
    if !output.status.success() {
        bail!("valgrind failed ({}): {}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let first = out.with_extension("out-01");
    let profile = fs::read_to_string(&first).with_context(|| format!("failed to read {}", first.display()))?;
    totals(&profile).context("callgrind's output has no totals")
}

fn totals(profile: &str) -> Option<u64> {
    profile.lines().rev().find_map(|line| line.strip_prefix("totals:")?.trim().parse().ok())
}

fn judge(counted: &Counts, budget: &Counts) -> Result<()> {
    let mut over = Vec::new();
    for (path, count) in counted {
        let allowed = *budget.get(path).with_context(|| format!("{BUDGET} has no {path}"))?;
        println!("{path}: {count} instructions, budget {allowed}");
        if *count > allowed * (1.0 + MARGIN) + SLACK {
            over.push(path.as_str());
        } else if *count < allowed * (1.0 - MARGIN) - SLACK {
            println!("{path} takes less now: `cargo xtask instructions --write` keeps it so");
        }
    }
    if !over.is_empty() {
        bail!("over the budget by more than {:.0} %: {}", MARGIN * 100.0, over.join(", "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(span: f64) -> Counts {
        [("span".to_owned(), span)].into()
    }

    #[test]
    fn a_sixth_more_is_too_much() {
        assert!(judge(&counts(114.0), &counts(100.0)).is_ok());
        assert!(judge(&counts(117.0), &counts(100.0)).is_err());
        assert!(judge(&counts(50.0), &counts(100.0)).is_ok());
    }

    #[test]
    fn a_path_without_a_budget_is_an_error() {
        assert!(judge(&counts(1.0), &Counts::new()).is_err());
    }

    #[test]
    fn the_last_totals_count() {
        assert_eq!(totals("summary: 3\n\ntotals: 12\n"), Some(12));
        assert_eq!(totals("nothing"), None);
    }
}
