//! The transport over MPI: built, checked, and executed by eight processes, every byte compared with the simulator.
//!
//! MPI is not ours to install, so a machine without it skips this, and says what is missing.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::cargo::{self, EVERYTHING};
use crate::ci::{Outcome, cargo as run_cargo, clippy};

/// Builds, lints and runs.
pub(crate) fn run() -> Result<Outcome> {
    if let Some(missing) = missing() {
        let names = "libopenmpi-dev, openmpi-bin and libclang-dev are their Debian names";
        return Ok(Outcome::Skipped(format!("{missing}; {names}")));
    }
    // With what the other stages have compiled, and MPI besides.
    let [workspace, locked, flag, features] = EVERYTHING;
    let features = format!("{features},rankscope-transport/mpi");
    let with_mpi = [workspace, locked, flag, &features];
    clippy(&with_mpi)?;
    run_cargo(&[&["build", "--example", "run_plan"], &with_mpi[..]].concat())?;
    let example = cargo::metadata()?.target_directory.join("debug/examples/run_plan");
    for mode in ["alltoallv", "put"] {
        execute(&example, mode)?;
    }
    Ok(Outcome::Passed)
}

/// Every rank compares what it received and ends the job if a byte differs; rank 0 has the last word.
fn execute(example: &Path, mode: &str) -> Result<()> {
    let mut command = Command::new("mpirun");
    command.args(["-n", PROCESSES]).arg(example).args(["--backend", "mpi", "--mode", mode, "--count", "4"]);
    let output = command.envs(SETTINGS).output()?;
    let said = String::from_utf8_lossy(&output.stdout);
    let verdict = said.lines().last().unwrap_or_default();
    if !output.status.success() || !verdict.starts_with("all bytes as simulated") {
        bail!("{PROCESSES} processes, {mode}: {}\n{said}{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    println!("{verdict}");
    Ok(())
}

fn missing() -> Option<String> {
    let answers = |program: &str| Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if let Some(program) = ["mpicc", "mpirun"].into_iter().find(|program| !answers(program)) {
        return Some(format!("{program} is not installed"));
    }
    (!has_libclang()).then(|| "libclang, with which the bindings to MPI are made, is not installed".to_owned())
}

fn has_libclang() -> bool {
    let is_libclang = |entry: std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with("libclang");
    let holds = |folder: &Path| std::fs::read_dir(folder).is_ok_and(|entries| entries.flatten().any(is_libclang));
    let versions = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
    let mut folders = versions.flat_map(|folder| [folder.join("lib"), folder]);
    std::env::var_os("LIBCLANG_PATH").is_some() || folders.any(|folder| holds(&folder))
}

/// As many as the issue asks for; more than there are cores, which a backend must survive.
const PROCESSES: &str = "8";

/// Open MPI refuses to run as root, as in most containers, or more processes than cores, unless it is told to; and copies
/// between processes in a way that containers forbid. Other implementations ignore these. None may hang.
const SETTINGS: [(&str, &str); 5] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
    ("MPIEXEC_TIMEOUT", "300"),
];
