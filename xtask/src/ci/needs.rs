//! What this machine has, so that no test may say that it is missing.
//!
//! CI installs what it can and is told the rest by variables. A test that skips nevertheless has looked in the wrong place, or
//! what is there does not work; that is a failure, not a skip. What is asked for here is asked in the same way as the tests do.

use std::process::Command;

use anyhow::{Context, Result};
use rankscope_testkit::{Need, REQUIRE};

/// What the environment requires, and what is found here.
pub(super) fn required() -> Result<Vec<Need>> {
    let asked = std::env::var(REQUIRE).unwrap_or_default();
    let mut needs = Need::list(&asked).context("failed to understand what is required")?;
    needs.extend(Need::ALL.into_iter().filter(|need| is_here(*need)));
    needs.sort();
    needs.dedup();
    Ok(needs)
}

/// As `RANKSCOPE_REQUIRE` lists them.
pub(super) fn names(needs: &[Need]) -> String {
    needs.iter().map(|need| need.name()).collect::<Vec<_>>().join(",")
}

fn is_here(need: Need) -> bool {
    match need {
        Need::Etcd => version("etcd").is_some(),
        Need::Mpi => version("mpirun").is_some_and(|said| said.contains("Open MPI")),
        Need::Python => version("python3").is_some(),
        Need::Node => version("node").is_some(),
        Need::Compiler => version("cc").is_some() && version("c++").is_some(),
        Need::Valgrind => version("valgrind").is_some(),
        Need::S3Server => version("s3s-fs").is_some() || std::env::var_os("RANKSCOPE_S3_SERVER").is_some(),
        Need::Slurm => is_root() && ["sbatch", "munged"].iter().all(|program| version(program).is_some()),
        _ => need.variable().is_some_and(|variable| std::env::var_os(variable).is_some()),
    }
}

/// Slurm's daemons run jobs of other users, so root starts them.
fn is_root() -> bool {
    Command::new("id").arg("-u").output().is_ok_and(|said| said.stdout == b"0\n")
}

/// What a program that is installed says of its version.
fn version(program: &str) -> Option<String> {
    let output = Command::new(program).arg("--version").output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_read_as_it_was_written() {
        let needs = [Need::Corpus, Need::Mpi];
        assert_eq!(Need::list(&names(&needs)), Ok(needs.to_vec()));
    }
}
