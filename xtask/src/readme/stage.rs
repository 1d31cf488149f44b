//! Where a page's commands are run: as somebody would who has just built rankscope and stands in the repository.
//!
//! In truth they stand in a folder of `target`, with links to what the repository holds, so that nothing a command writes is left
//! behind and nothing an earlier run left is met. `cargo run --release --` is the program it would build and start, not optimised.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::{env, iter};

use anyhow::{Context, Result, bail};

use crate::cargo;

/// What commands may read of the repository.
const LINKED: [&str; 3] = ["deploy", "examples", "fixtures"];
const CARGO_RUN: &str = "cargo run --release --";

pub(super) struct Stage {
    target: PathBuf,
    /// With the built program in front.
    path: OsString,
}

impl Stage {
    /// Builds the program, and sees that the pages' way to start it finds no other.
    pub(super) fn build() -> Result<Self> {
        let metadata = cargo::metadata()?;
        if !metadata.programs().eq(["rankscope"]) {
            bail!("`{CARGO_RUN}` would not start rankscope: {:?}", metadata.programs().collect::<Vec<_>>());
        }
        let target = metadata.target_directory;
        let folder = cargo::debug_build(&target)?;
        let before = env::var_os("PATH").unwrap_or_default();
        let path = env::join_paths(iter::once(folder).chain(env::split_paths(&before)));
        Ok(Self { target, path: path.context("the target folder has a colon in its name")? })
    }

    /// A new folder for the commands of one page.
    pub(super) fn folder(&self, page: &str) -> Result<PathBuf> {
        let folder = self.target.join("readme").join(page.replace('/', "-"));
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("failed to clear {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
        for name in LINKED {
            symlink(cargo::root().join(name), folder.join(name)).with_context(|| format!("failed to link {name}"))?;
        }
        Ok(folder)
    }

    /// What the commands print on both streams: one after the other, or, where they need each other, the first while all run. Each goes into
    /// `log` as it starts.
    pub(super) fn run(&self, commands: &[String], together: bool, folder: &Path, log: &mut String) -> Result<String> {
        let mut start = |command: &str| {
            *log += &format!("$ {command}\n");
            self.start(command, folder)
        };
        if together {
            let started: Result<Vec<Child>> = commands.iter().map(|command| start(command)).collect();
            let mut said = started?.into_iter().zip(commands).map(|(child, command)| ended(child, command));
            let first = said.next().unwrap_or_else(|| Ok(String::new()));
            // To the end, so that none is left running.
            return said.collect::<Vec<_>>().into_iter().fold(first, |first, other| other.and(first));
        }
        commands.iter().map(|command| ended(start(command)?, command)).collect()
    }

    fn start(&self, command: &str, folder: &Path) -> Result<Child> {
        let script = format!("exec 2>&1\n{}", command.replace(CARGO_RUN, "rankscope"));
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).current_dir(folder).env("PATH", &self.path);
        // What a reader has not set is not set.
        for (name, _) in env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("RANKSCOPE_")) {
            shell.env_remove(name);
        }
        let child = shell.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        child.with_context(|| format!("failed to start `{command}`"))
    }
}

fn ended(child: Child, command: &str) -> Result<String> {
    let output = child.wait_with_output().with_context(|| format!("failed to wait for `{command}`"))?;
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        bail!("`{command}` failed ({}):\n{said}", output.status);
    }
    Ok(said)
}
