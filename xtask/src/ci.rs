//! Everything CI runs, in the order that fails soonest, and at the end how long each stage took.
//!
//! One target directory, one profile and one set of features serve all stages but those that are about a release or about other
//! features, so that little is compiled twice. Stages follow each other, but for one that mostly waits and runs beside some. A stage or a test that cannot run here is called skipped, with the reason, and
//! counted at the end; a test that skips for want of something this machine has fails. Nothing is silent for more than a minute.

mod aside;
mod heartbeat;
mod needs;
mod page;
mod skips;
mod tally;
mod took;

use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::thread::available_parallelism;

use anyhow::{Context, Result, bail};
use rankscope_testkit::{Need, REQUIRE};

use crate::cargo::{self, EVERYTHING, Metadata};
use crate::{capi, dataset, deps, docs, engines, instructions, mpi, nvrtc, python, readme, shared, sql, wasm};
use aside::Aside;
use heartbeat::Heartbeat;
use skips::Skips;
pub(crate) use tally::Outcome;
use tally::Tally;
use took::Since;

/// Options of `cargo xtask ci`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Run only the stages with these names; `sql`, the engine of `rankscope query`, and `engines`, those that map on clusters, with a store,
    /// run only so.
    #[arg(value_name = "STAGE")]
    only: Vec<String>,
    /// Seconds the fuzz smoke run may take.
    #[arg(long, default_value_t = 20)]
    fuzz_seconds: u64,
    /// A stage of another run, which sums up what there is to say.
    #[arg(long, hide = true)]
    aside: bool,
}

/// Runs the stages.
pub(crate) fn run(args: &Args) -> Result<()> {
    let stages = || STAGES.iter().chain(ON_REQUEST);
    let unknown = args.only.iter().find(|name| stages().all(|stage| stage.0 != name.as_str()));
    if let Some(name) = unknown {
        let names: Vec<&str> = stages().map(|stage| stage.0).collect();
        bail!("no stage is called {name:?}; there are {}", names.join(", "));
    }
    let named = |stage: &&Stage| args.only.iter().any(|only| only == stage.0);
    if args.aside {
        return stages().filter(named).try_for_each(|(_, stage)| stage(args).map(drop));
    }
    println!("required of this machine, so that no test may skip for want of it: {}", needs::names(&needs::required()?));
    skips::clear()?;
    let mut tally = Tally::default();
    let mut course = Course { args, aside: None };
    let chosen: Vec<&Stage> = if args.only.is_empty() { STAGES.iter().collect() } else { stages().filter(named).collect() };
    let failure = chosen.into_iter().find_map(|stage| course.run(stage, &mut tally).err());
    course.end();
    println!("== stages\n{tally}\n== {}", Skips::read());
    failure.map_or(Ok(()), Err)
}

/// Stages, one after the other.
struct Course<'a> {
    args: &'a Args,
    /// What runs beside them.
    aside: Option<Aside>,
}

impl Course<'_> {
    fn run(&mut self, (name, stage): &Stage, tally: &mut Tally) -> Result<()> {
        println!("== {name}");
        let (since, heartbeat) = (Since::now(), Heartbeat::of_stage(name));
        let outcome = self.outcome(name, *stage);
        drop(heartbeat);
        let took = since.took();
        match outcome {
            Ok(outcome) => {
                println!("== {name} {outcome}, {:.1} s", took.wall.as_secs_f64());
                tally.add(name, took, Some(outcome));
                Ok(())
            }
            Err(error) => {
                tally.add(name, took, None);
                Err(error.context(format!("stage {name}")))
            }
        }
    }

    fn outcome(&mut self, name: &str, stage: fn(&Args) -> Result<Outcome>) -> Result<Outcome> {
        if let Some(aside) = self.aside.take_if(|aside| aside.is(name)) {
            return aside.ended();
        }
        if self.args.only.is_empty() && name == ASIDE.1 {
            self.aside = Some(Aside::start(ASIDE.0)?);
        }
        stage(self.args)
    }

    /// After a failure: nothing is left running, and what it found is told as well.
    fn end(&mut self) {
        if let Some(Err(error)) = self.aside.take().map(Aside::ended) {
            println!("{error:#}");
        }
    }
}

type Stage = (&'static str, fn(&Args) -> Result<Outcome>);

const STAGES: &[Stage] = &[
    ("format", |_| passed(cargo(&["fmt", "--all", "--check"]))),
    ("deps", |_| passed(deps::run().and_then(|()| shared::run()))),
    ("clippy", |_| passed(clippy(&EVERYTHING))),
    ("features", |_| passed(features())),
    ("wasm", |_| wasm::run()),
    ("tests", |_| passed(tests())),
    ("page", |_| passed(page::run())),
    ("dataset", |_| dataset::run()),
    ("doctests", |_| passed(cargo(&[&["test", "--doc"], &EVERYTHING[..]].concat()))),
    ("rustdoc", |_| passed(rustdoc())),
    ("examples", |_| passed(examples())),
    ("docs", |_| passed(pages())),
    ("capi", |_| capi::run()),
    ("python", |_| python::run()),
    ("mpi", |_| mpi::run()),
    ("cuda", |_| cuda()),
    ("instructions", |_| instructions::run(&instructions::Args::default())),
    ("fuzz-targets", |_| passed(fuzz_targets())),
    ("fuzz-smoke", |args| passed(fuzz_smoke(args.fuzz_seconds))),
    ("readme", |_| readme::run(&readme::Args::default())),
];

/// A stage that runs beside others, in a run of all of them, and with which it begins.
const ASIDE: (&str, &str) = ("readme", "page");

/// What runs only by its name, as it would take longer than it is worth in every run.
const ON_REQUEST: &[Stage] = &[("sql", |_| sql::run()), ("engines", |_| engines::run())];

fn passed(done: Result<()>) -> Result<Outcome> {
    done.map(|()| Outcome::Passed)
}

pub(crate) fn cargo(args: &[&str]) -> Result<()> {
    check(&mut cargo::command(args.iter().copied()))
}

pub(crate) fn check(command: &mut Command) -> Result<()> {
    check_requiring(command, &[])
}

/// The same, with `more` that no test may skip for want of.
pub(crate) fn check_requiring(command: &mut Command, more: &[Need]) -> Result<()> {
    let mut required = needs::required()?;
    required.extend(more);
    run_with(command, &required)
}

/// What proptest takes the seed of its cases from. CI tries the same ones each time, so that what turns red is what was changed.
const PROPTEST_SEED: &str = "PROPTEST_RNG_SEED";

/// Runs a command whose tests leave word of what they skip, and may not skip for want of what is `required`.
fn run_with(command: &mut Command, required: &[Need]) -> Result<()> {
    let status = command
        .env(rankscope_testkit::SKIPS, skips::file())
        .env(REQUIRE, needs::names(required))
        .env(PROPTEST_SEED, std::env::var_os(PROPTEST_SEED).unwrap_or_else(|| "1".into()))
        .status()
        .with_context(|| format!("failed to start {}", command.get_program().display()))?;
    if !status.success() {
        let args: Vec<_> = command.get_args().map(|arg| arg.to_string_lossy()).collect();
        bail!("`{} {}` failed ({status})", Path::new(command.get_program()).display(), args.join(" "));
    }
    Ok(())
}

/// Lints all targets of a selection.
pub(crate) fn clippy(selection: &[&str]) -> Result<()> {
    cargo(&[&["clippy", "--all-targets"], selection, &["--", "-D", "warnings"]].concat())
}

/// Everything without what it can be built without, and the product when it measures clocks but knows no etcd. The whole
/// workspace, not the product alone, because that would be other features of what it depends on.
fn features() -> Result<()> {
    let without = ["--workspace", "--locked", "--no-default-features"];
    clippy(&without)?;
    clippy(&[&without[..], &["--features", "rankscope/clock"]].concat())?;
    // The recorder by itself, as a program that records itself has it.
    for features in ["", "export", "snapshots"] {
        let recorder = ["--package", "rankscope-record", "--lib", "--locked", "--no-default-features", "--features", features];
        cargo(&[&["clippy"], &recorder[..], &["--", "-D", "warnings"]].concat())?;
    }
    Ok(())
}

fn tests() -> Result<()> {
    let has_nextest = cargo::command(["nextest", "--version"]).output().is_ok_and(|output| output.status.success());
    if has_nextest {
        // One more than there are processors, because many tests wait for processes and for time to pass.
        let at_once = (available_parallelism().map_or(1, NonZero::get) + 1).to_string();
        let run = ["nextest", "run", "--no-tests", "pass", "--test-threads", &at_once, "-E", NOT_OF_OTHER_STAGES];
        return cargo(&[&run, &EVERYTHING[..]].concat());
    }
    println!("cargo-nextest is not installed; cargo test does the same, with less to read");
    cargo(&[&["test", "--lib", "--bins", "--tests"], &EVERYTHING[..]].concat())
}

/// The kernels' compiler and the readers of datasets have stages of their own, which fetch them; and the stage `page` looks at pages of
/// real jobs as well.
const NOT_OF_OTHER_STAGES: &str = "not (binary(cuda_ptx) | binary(page) | (package(rankscope) & binary(dataset)))";

fn rustdoc() -> Result<()> {
    let mut command = cargo::command([&["doc", "--no-deps"], &EVERYTHING[..]].concat());
    check(command.env("RUSTDOCFLAGS", "-D warnings"))
}

/// Runs every example with no arguments: each must work, or say how it is used and succeed. Those that ask the product about what
/// they recorded find it through the environment.
fn examples() -> Result<()> {
    let Metadata { packages, target_directory, .. } = cargo::metadata()?;
    let built = cargo::debug_build(&target_directory)?;
    let mut count = 0;
    for package in &packages {
        for target in package.targets.iter().filter(|target| target.kind.iter().any(|kind| kind == "example")) {
            println!("example {} of {}", target.name, package.name);
            let mut example = Command::new(built.join("examples").join(&target.name));
            check(example.env("RANKSCOPE", built.join("rankscope")).current_dir(cargo::root()))?;
            count += 1;
        }
    }
    println!("{count} examples ran");
    Ok(())
}

/// The pages, by the program that the tests and the examples were built with.
fn pages() -> Result<()> {
    let program = cargo::debug_binary(&cargo::metadata()?.target_directory)?;
    docs::run(&docs::Args { write: false, program: Some(program) })
}

/// The kernels of the GPU backend, compiled as NVIDIA's compiler does it. What needs no such compiler is among the tests.
fn cuda() -> Result<Outcome> {
    let library_path = match nvrtc::library_path() {
        Ok(path) => path,
        Err(error) => return Ok(Outcome::Skipped(format!("NVRTC cannot be had: {error:#}"))),
    };
    let compile = [&["test", "--test", "cuda_ptx"], &EVERYTHING[..]].concat();
    let mut command = cargo::command(compile);
    passed(check_requiring(command.env("LD_LIBRARY_PATH", library_path), &[Need::Nvrtc]))
}

/// Checks that the cargo-fuzz targets compile, which needs neither nightly nor, with a library that is never linked, C++.
fn fuzz_targets() -> Result<()> {
    let target = cargo::metadata()?.target_directory.join("fuzz");
    let mut command = cargo::command(["check", "--locked", "--manifest-path", "fuzz/Cargo.toml", "--target-dir"]);
    check(command.arg(target).env("CUSTOM_LIBFUZZER_PATH", "/dev/null"))
}

fn fuzz_smoke(seconds: u64) -> Result<()> {
    check(Command::new(cargo::myself()?).args(["fuzz-smoke", "--seconds", &seconds.to_string()]).current_dir(cargo::root()))
}
