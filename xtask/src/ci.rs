//! Everything CI runs, in the order that fails soonest, each stage named with its seconds.
//!
//! One target directory and one profile serve all stages but the instruction count, which is of a release. A stage or a test
//! that cannot run here is called skipped, with the reason, and counted at the end; nothing is silent for more than a minute.

mod heartbeat;
mod skips;

use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::cargo::{self, Metadata};
use crate::{deps, docs, instructions, mpi, nvrtc, readme, wasm};
use heartbeat::Heartbeat;
use skips::Skips;

/// Options of `cargo xtask ci`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only the stages with these names.
    #[arg(value_name = "STAGE")]
    only: Vec<String>,
    /// Seconds the fuzz smoke run may take.
    #[arg(long, default_value_t = 20)]
    fuzz_seconds: u64,
}

/// Runs the stages.
pub(crate) fn run(args: &Args) -> Result<()> {
    let unknown = args.only.iter().find(|name| STAGES.iter().all(|stage| stage.0 != name.as_str()));
    if let Some(name) = unknown {
        let names: Vec<&str> = STAGES.iter().map(|stage| stage.0).collect();
        bail!("no stage is called {name:?}; there are {}", names.join(", "));
    }
    let begun = Instant::now();
    let mut done = Tally::default();
    for (name, stage) in STAGES.iter().filter(|stage| args.only.is_empty() || args.only.iter().any(|only| only == stage.0)) {
        println!("== {name}");
        let stage_begun = Instant::now();
        skips::clear()?;
        let heartbeat = Heartbeat::of_stage(name);
        let outcome = stage(args);
        drop(heartbeat);
        let skips = Skips::read();
        skips.print();
        let seconds = stage_begun.elapsed().as_secs_f64();
        match outcome {
            Err(error) => {
                println!("== {name} FAILED after {seconds:.1} s; before it: {done}");
                return Err(error.context(format!("stage {name}")));
            }
            Ok(outcome) => {
                println!("== {name} {outcome}, {seconds:.1} s");
                done.add(name, seconds, &outcome, skips.tests());
            }
        }
    }
    println!("== {done}; {:.1} s in all", begun.elapsed().as_secs_f64());
    Ok(())
}

/// How a stage ended that did not fail.
pub(crate) enum Outcome {
    Passed,
    /// What could be run passed; the rest, and why it could not.
    Partly(String),
    Skipped(String),
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Passed => write!(f, "passed"),
            Self::Partly(why) => write!(f, "passed in part, skipped: {why}"),
            Self::Skipped(why) => write!(f, "skipped: {why}"),
        }
    }
}

/// What is said at the end.
#[derive(Default)]
struct Tally {
    passed: Vec<String>,
    /// Stages that were skipped, at least in part, with the reason.
    skipped: Vec<String>,
    skipped_tests: usize,
}

impl Tally {
    fn add(&mut self, name: &str, seconds: f64, outcome: &Outcome, skipped_tests: usize) {
        if !matches!(outcome, Outcome::Skipped(_)) {
            self.passed.push(format!("{name} {seconds:.1} s"));
        }
        if !matches!(outcome, Outcome::Passed) {
            self.skipped.push(format!("{name} {outcome}"));
        }
        self.skipped_tests += skipped_tests;
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} stages passed ({})", self.passed.len(), self.passed.join(", "))?;
        write!(f, "; {} were skipped, at least in part", self.skipped.len())?;
        if !self.skipped.is_empty() {
            write!(f, " ({})", self.skipped.join("; "))?;
        }
        write!(f, "; {} tests were skipped", self.skipped_tests)
    }
}

type Stage = (&'static str, fn(&Args) -> Result<Outcome>);

const STAGES: &[Stage] = &[
    ("format", |_| passed(cargo(&["fmt", "--all", "--check"]))),
    ("deps", |_| passed(deps::run())),
    ("clippy", |_| passed(cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]))),
    ("features", |_| passed(features())),
    ("wasm", |_| wasm::run()),
    ("tests", |_| passed(tests())),
    ("doctests", |_| passed(cargo(&["test", "--workspace", "--doc", "--locked"]))),
    ("rustdoc", |_| passed(rustdoc())),
    ("docs", |_| passed(docs::run(&docs::Args::default()))),
    ("examples", |_| passed(examples())),
    ("mpi", |_| mpi::run()),
    ("cuda", |_| cuda()),
    ("instructions", |_| instructions::run(&instructions::Args::default())),
    ("fuzz-targets", |_| passed(fuzz_targets())),
    ("fuzz-smoke", |args| passed(fuzz_smoke(args.fuzz_seconds))),
    ("readme", |_| readme::run(&readme::Args::default())),
];

fn passed(done: Result<()>) -> Result<Outcome> {
    done.map(|()| Outcome::Passed)
}

pub(crate) fn cargo(args: &[&str]) -> Result<()> {
    check(&mut cargo::command(args.iter().copied()))
}

fn check(command: &mut Command) -> Result<()> {
    let status = command
        .env(rankscope_testkit::SKIPS, skips::file())
        .status()
        .with_context(|| format!("failed to start {}", command.get_program().display()))?;
    if !status.success() {
        let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
        bail!("`{} {}` failed ({status})", Path::new(command.get_program()).display(), args.join(" "));
    }
    Ok(())
}

/// The product without what it can be built without, and the recorder with what it can be built with.
fn features() -> Result<()> {
    let check = ["clippy", "--package", "rankscope", "--bins", "--tests", "--locked", "--no-default-features"];
    for features in ["", "clock"] {
        cargo(&[&check[..], &["--features", features, "--", "-D", "warnings"]].concat())?;
    }
    let recorder = ["--package", "rankscope-record", "--features", "tracing,macros", "--locked"];
    cargo(&[&["clippy"], &recorder[..], &["--all-targets", "--", "-D", "warnings"]].concat())?;
    cargo(&[&["test"], &recorder[..], &["--test", "tracing_layer", "--test", "attribute"]].concat())?;
    cargo(&[&["test"], &recorder[..], &["--doc"]].concat())
}

fn tests() -> Result<()> {
    let has_nextest = cargo::command(["nextest", "--version"]).output().is_ok_and(|output| output.status.success());
    if has_nextest {
        return cargo(&["nextest", "run", "--workspace", "--locked", "--no-tests", "pass"]);
    }
    println!("cargo-nextest is not installed; cargo test does the same, with less to read");
    cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--locked"])
}

fn rustdoc() -> Result<()> {
    let mut command = cargo::command(["doc", "--workspace", "--no-deps", "--locked"]);
    check(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Runs every example with no arguments: each must work, or say how it is used and succeed. Those that ask the product about what
/// they recorded find it through the environment.
fn examples() -> Result<()> {
    let Metadata { packages, target_directory } = cargo::metadata()?;
    let product = cargo::debug_binary(&target_directory)?;
    let mut count = 0;
    for package in &packages {
        for target in package.targets.iter().filter(|target| target.kind.iter().any(|kind| kind == "example")) {
            println!("example {} of {}", target.name, package.name);
            let features = target.required_features.join(",");
            let run = ["run", "--quiet", "--locked", "--package", &package.name, "--features", &features];
            check(cargo::command(run.into_iter().chain(["--example", &target.name])).env("RANKSCOPE", &product))?;
            count += 1;
        }
    }
    println!("{count} examples ran");
    Ok(())
}

/// The GPU backend, which needs no GPU to be built, to have its kernels compiled, or to be run over threads of the processor.
fn cuda() -> Result<Outcome> {
    let package = ["--package", "rankscope-transport", "--features", "cuda", "--locked"];
    cargo(&[&["clippy"], &package[..], &["--all-targets", "--", "-D", "warnings"]].concat())?;
    cargo(&[&["test"], &package[..], &["--lib", "--test", "cuda_ranks"]].concat())?;
    let library_path = match nvrtc::library_path() {
        Ok(path) => path,
        Err(error) => {
            return Ok(Outcome::Partly(format!("compiling the kernels, because NVRTC cannot be had: {error:#}")));
        }
    };
    let compile = [&["test"], &package[..], &["--test", "cuda_ptx"]].concat();
    passed(check(cargo::command(compile).env("LD_LIBRARY_PATH", library_path).env("RANKSCOPE_NVRTC", "required")))
}

/// Checks that the cargo-fuzz targets compile, which needs neither nightly nor, with a library that is never linked, C++.
fn fuzz_targets() -> Result<()> {
    let target = cargo::metadata()?.target_directory.join("fuzz");
    let mut command = cargo::command(["check", "--manifest-path", "fuzz/Cargo.toml", "--target-dir"]);
    check(command.arg(target).env("CUSTOM_LIBFUZZER_PATH", "/dev/null"))
}

fn fuzz_smoke(seconds: u64) -> Result<()> {
    let myself = std::env::current_exe().context("failed to find this program")?;
    check(Command::new(myself).args(["fuzz-smoke", "--seconds", &seconds.to_string()]).current_dir(cargo::root()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skipped_stage_is_never_counted_as_passed() {
        let mut tally = Tally::default();
        tally.add("deps", 1.0, &Outcome::Passed, 0);
        tally.add("mpi", 2.0, &Outcome::Skipped("mpicc is not installed".to_owned()), 0);
        tally.add("cuda", 3.0, &Outcome::Partly("the kernels".to_owned()), 4);
        let said = "2 stages passed (deps 1.0 s, cuda 3.0 s); 2 were skipped, at least in part (mpi skipped: mpicc is not installed; \
                    cuda passed in part, skipped: the kernels); 4 tests were skipped";
        assert_eq!(tally.to_string(), said);
    }
}
