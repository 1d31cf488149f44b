//! `cargo xtask instructions`: how many instructions a span takes to be recorded or moved, held against a budget that is kept in the repository.
//!
//! Callgrind counts the same on every machine and at every load, which no clock in CI does. A count is the difference of two
//! runs, so start and end of the program are not in it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::cargo;
use crate::ci::{self, Outcome};
use crate::{header, install_c};

/// Options of `cargo xtask instructions`.
#[derive(clap::Args, Default)]
pub(crate) struct Args {
    /// Make what is counted now the budget.
    #[arg(long)]
    write: bool,
}

/// Counts, and fails where more than the budget and its margin is taken.
pub(crate) fn run(args: &Args) -> Result<Outcome> {
    let has_valgrind = Command::new("valgrind").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has_valgrind {
        return Ok(Outcome::Skipped("valgrind is not installed".to_owned()));
    }
    let target = cargo::metadata()?.target_directory;
    let counted = count(&target)?;
    let path = cargo::root().join(BUDGET);
    if args.write {
        fs::write(&path, serde_json::to_string_pretty(&counted)? + "\n").context("failed to write the budget")?;
        return Ok(Outcome::Passed);
    }
    let budget = fs::read(&path).with_context(|| format!("failed to read {BUDGET}"))?;
    judge(&counted, &serde_json::from_slice(&budget).with_context(|| format!("failed to understand {BUDGET}"))?)?;
    Ok(Outcome::Passed)
}

type Counts = BTreeMap<String, f64>;

/// What is counted, and what of it is taken off because it is not meant.
///
/// Spans that are recorded read the clock twice: which clock there is depends on the machine, and under valgrind it is seldom the
/// cheap one. Spans that are moved have to be made first. Of C, what the header inlines is counted: where nothing is recorded, no
/// call is made.
const PATHS: [(&str, &Program, &str, Option<&str>); 5] = [
    ("off", &RECORDER, "off", None),
    ("span", &RECORDER, "span", Some("two_ticks")),
    ("span_two_args", &RECORDER, "span_two_args", Some("two_ticks")),
    ("move", &MOVER, "move", Some("make")),
    ("c_off", &HEADER, "span", Some("nothing")),
];

/// A program that does something so many times.
enum Program {
    /// One of `benches/counted`.
    Rust(&'static str),
    /// One in C, which links the library that is installed.
    C { source: &'static str },
}

const RECORDER: Program = Program::Rust("count_instructions");
const MOVER: Program = Program::Rust("move_spans");
const HEADER: Program = Program::C { source: "examples/c/cost.c" };

const BUDGET: &str = "benches/record/instructions.json";
/// More than what two compilers make of the same code, less than one more memory access per span.
const MARGIN: f64 = 0.15;
/// An instruction, for paths of very few.
const SLACK: f64 = 1.0;

/// Where the program is, of those that `built` has, a folder of `target`.
fn find(program: &Program, built: &Path, target: &Path) -> Result<PathBuf> {
    match program {
        Program::Rust(name) => Ok(built.join(name)),
        Program::C { source } => compile(source, built, target),
    }
}

/// What is counted of C is in the header, so the library need not be optimised.
fn compile(source: &str, built: &Path, target: &Path) -> Result<PathBuf> {
    let library = cargo::debug_build(target)?.join("librankscope_capi.so");
    let folder = built.join("counted");
    let installed = folder.join(format!("librankscope.so.{}", install_c::ABI));
    fs::create_dir_all(&folder)
        .and_then(|()| fs::copy(library, &installed))
        .context("failed to put the library in its place")?;
    let to = folder.join("program");
    let mut compile = Command::new("cc");
    compile.args(["-std=c99", "-O2", "-I"]).arg(header::crate_folder().join("include"));
    compile.arg(cargo::root().join(source)).arg("-o").arg(&to).arg(&installed);
    ci::check(compile.arg(format!("-Wl,-rpath,{}", folder.display())))?;
    Ok(to)
}

fn count(target: &Path) -> Result<Counts> {
    let folder = cargo::counted(target)?;
    let mut counts = Counts::new();
    for (name, program, path, besides) in PATHS {
        println!("counting {name}");
        let built = find(program, &folder, target)?;
        let besides = besides.map_or(Ok(0.0), |besides| per_turn(&built, besides, target))?;
        let instructions = per_turn(&built, path, target)? - besides;
        // To the tenth: a few instructions of start-up more or less are no news.
        counts.insert(name.to_owned(), (instructions * 10.0).round() / 10.0);
    }
    Ok(counts)
}

fn per_turn(built: &Path, path: &str, target: &Path) -> Result<f64> {
    const FEW: u64 = 10_000;
    const MANY: u64 = 210_000;
    let [few, many] = [FEW, MANY].map(|turns| callgrind(built, path, turns, target));
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
