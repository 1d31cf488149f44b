//! Everything CI runs, in the order that fails soonest, each stage named with its seconds.
//!
//! One target directory and one profile serve all stages but the instruction count, which is of a release. A stage that cannot
//! run here says why it was skipped; it never passes silently.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context, Result, bail};

use crate::cargo::{self, Metadata};
use crate::{deps, instructions, mpi, nvrtc, readme};

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
    let mut done = Vec::new();
    for (name, stage) in STAGES.iter().filter(|stage| args.only.is_empty() || args.only.iter().any(|only| only == stage.0)) {
        println!("== {name}");
        let stage_begun = Instant::now();
        let outcome = stage(args);
        let seconds = stage_begun.elapsed().as_secs_f64();
        if let Err(error) = outcome {
            println!("== {name} FAILED after {seconds:.1} s; passed before it: {}", done.join(", "));
            return Err(error.context(format!("stage {name}")));
        }
        println!("== {name} passed in {seconds:.1} s");
        done.push(format!("{name} {seconds:.1} s"));
    }
    println!("== all {} stages passed in {:.1} s: {}", done.len(), begun.elapsed().as_secs_f64(), done.join(", "));
    Ok(())
}

type Stage = (&'static str, fn(&Args) -> Result<()>);

const STAGES: &[Stage] = &[
    ("format", |_| cargo(&["fmt", "--all", "--check"])),
    ("deps", |_| deps::run()),
    ("clippy", |_| cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])),
    ("features", |_| features()),
    ("tests", |_| tests()),
    ("doctests", |_| cargo(&["test", "--workspace", "--doc", "--locked", "--quiet"])),
    ("docs", |_| docs()),
    ("examples", |_| examples()),
    ("mpi", |_| mpi::run()),
    ("cuda", |_| cuda()),
    ("instructions", |_| instructions::run(&instructions::Args::default())),
    ("fuzz-targets", |_| fuzz_targets()),
    ("fuzz-smoke", |args| fuzz_smoke(args.fuzz_seconds)),
    ("readme", |_| readme::check()),
];

pub(crate) fn cargo(args: &[&str]) -> Result<()> {
    check(&mut cargo::command(args.iter().copied()))
}

fn check(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("failed to start {}", command.get_program().display()))?;
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
    let recorder = ["--package", "rankscope-record", "--features", "tracing", "--locked"];
    cargo(&[&["clippy"], &recorder[..], &["--all-targets", "--", "-D", "warnings"]].concat())?;
    cargo(&[&["test"], &recorder[..], &["--quiet", "--test", "tracing_layer"]].concat())?;
    cargo(&[&["test"], &recorder[..], &["--quiet", "--doc"]].concat())
}

fn tests() -> Result<()> {
    let has_nextest = cargo::command(["nextest", "--version"]).output().is_ok_and(|output| output.status.success());
    if has_nextest {
        return cargo(&["nextest", "run", "--workspace", "--locked", "--no-tests", "pass"]);
    }
    println!("cargo-nextest is not installed; cargo test does the same, with less to read");
    cargo(&["test", "--workspace", "--lib", "--bins", "--tests", "--locked"])
}

fn docs() -> Result<()> {
    let mut command = cargo::command(["doc", "--workspace", "--no-deps", "--locked", "--quiet"]);
    check(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Runs every example with no arguments: each must work, or say how it is used and succeed.
fn examples() -> Result<()> {
    let Metadata { packages, .. } = cargo::metadata()?;
    let mut count = 0;
    for package in &packages {
        for target in package.targets.iter().filter(|target| target.kind.iter().any(|kind| kind == "example")) {
            cargo(&["run", "--quiet", "--locked", "--package", &package.name, "--example", &target.name])?;
            count += 1;
        }
    }
    println!("{count} examples ran");
    Ok(())
}

/// The GPU backend, which needs no GPU to be built, to have its kernels compiled, or to be run over threads of the processor.
fn cuda() -> Result<()> {
    let package = ["--package", "rankscope-transport", "--features", "cuda", "--locked"];
    cargo(&[&["clippy"], &package[..], &["--all-targets", "--", "-D", "warnings"]].concat())?;
    cargo(&[&["test"], &package[..], &["--quiet", "--lib", "--test", "cuda_ranks"]].concat())?;
    let library_path = match nvrtc::library_path() {
        Ok(path) => path,
        Err(error) => {
            println!("compiling the kernels is skipped, NVRTC cannot be had: {error:#}");
            return Ok(());
        }
    };
    let compile = [&["test"], &package[..], &["--quiet", "--test", "cuda_ptx"]].concat();
    check(cargo::command(compile).env("LD_LIBRARY_PATH", library_path).env("RANKSCOPE_NVRTC", "required"))
}

/// Checks that the cargo-fuzz targets compile, which needs neither nightly nor, with a library that is never linked, C++.
fn fuzz_targets() -> Result<()> {
    let target = cargo::metadata()?.target_directory.join("fuzz");
    let mut command = cargo::command(["check", "--quiet", "--manifest-path", "fuzz/Cargo.toml", "--target-dir"]);
    check(command.arg(target).env("CUSTOM_LIBFUZZER_PATH", "/dev/null"))
}

fn fuzz_smoke(seconds: u64) -> Result<()> {
    let myself = std::env::current_exe().context("failed to find this program")?;
    check(Command::new(myself).args(["fuzz-smoke", "--seconds", &seconds.to_string()]).current_dir(cargo::root()))
}
