//! The stores that jobs are read from and the engines that map them, as their own people ship them: a server of S3's protocol, Ray, and the
//! program that checks manifests for Kubernetes.
//!
//! They come from the registries and take minutes, so tests run with them where that is asked for, and benchmarks fetch what they need. Slurm is
//! used where it is installed. What the environment names comes first.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use rankscope_testkit::Need;

use crate::cargo::{self, EVERYTHING};
use crate::ci::{self, Outcome};
use crate::venv;

/// Keeps objects as files, and checks signatures.
const S3_SERVER: &str = "s3s-fs";
const S3_SERVER_VERSION: &str = "0.14.1";
const S3_SERVER_VARIABLE: &str = "RANKSCOPE_S3_SERVER";

const ENGINES: [&str; 2] = ["ray==2.60.*", "kubernetes-validate"];

/// The tests that want them, none of which may be skipped for want of one.
pub(crate) fn run() -> Result<Outcome> {
    let python = python()?;
    let tests = [
        &["test", "--test", "stores", "--test", "it"],
        &EVERYTHING[..],
        &["--", "bucket", "store", "shards", "object", "dist"],
    ];
    let mut command = cargo::command(tests.concat());
    command.env(S3_SERVER_VARIABLE, s3_server()?);
    let engines = [Need::Ray, Need::Kubernetes];
    for engine in engines {
        command.env(engine.variable().context("it is named by a variable")?, &python);
    }
    ci::check_requiring(&mut command, &[&engines[..], &[Need::S3Server]].concat())?;
    Ok(Outcome::Passed)
}

/// The server of S3's protocol.
pub(crate) fn s3_server() -> Result<PathBuf> {
    let given = std::env::var_os(S3_SERVER_VARIABLE).map(PathBuf::from);
    let on_path = || {
        let answered = Command::new(S3_SERVER).arg("--version").stdout(Stdio::null()).status();
        answered.is_ok_and(|status| status.success()).then(|| S3_SERVER.into())
    };
    if let Some(program) = given.or_else(on_path) {
        return Ok(program);
    }
    let root = cargo::metadata()?.target_directory.join(S3_SERVER);
    let program = root.join("bin").join(S3_SERVER);
    if !program.exists() {
        let version = ["--version", S3_SERVER_VERSION, "--features", "binary", "--locked", "--root"];
        let mut install = cargo::command(["install", S3_SERVER].into_iter().chain(version));
        venv::finish(install.arg(&root), "cargo install")?;
    }
    Ok(program)
}

/// Python with Ray and with what checks manifests, in an environment that is kept.
pub(crate) fn python() -> Result<PathBuf> {
    if let Some(python) = Need::Ray.variable().and_then(std::env::var_os) {
        return Ok(python.into());
    }
    let venv = cargo::metadata()?.target_directory.join("engines-python");
    let python = venv.join("bin").join("python");
    if !python.exists() {
        venv::create(&venv)?;
    }
    venv::finish(venv::pip(&python).args(ENGINES), "pip")?;
    Ok(python)
}
