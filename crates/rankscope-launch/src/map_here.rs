//! Mapping at the end of a job, where its traces were written: only parts travel, into a folder that all nodes see.
//!
//! Each node maps its own traces into a folder of its own there, by a process of least priority and few threads, since the node may have
//! other work by now. Nodes that share a run directory have their traces mapped by the one that leads. What goes wrong costs a line.

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::available_parallelism;

use rankscope_run::{SideFile, read_side_text};

use crate::directory::Directory;
use crate::error::Error;
use crate::executable::Executable;
use crate::notice::{Notice, Observer};

/// One of so many processors is taken.
const SHARE: usize = 4;

/// Maps the traces in `directory` into a folder of its node below `parts`, and tells `observer` what came of it.
pub(crate) fn map_here(directory: &Directory, parts: &Path, observer: &dyn Observer) {
    let run = directory.path();
    let (leads, is_shared) = (directory.manifest.is_some(), run.join("run.json").exists());
    if !leads && is_shared {
        return;
    }
    let own = parts.join(format!("node-{}", directory.seat.node));
    match mapped(if leads { run.to_owned() } else { directory.raw() }, &own, run) {
        Ok(()) => observer.notice(&Notice::Mapped { own, all: parts.to_owned() }),
        Err(reason) => observer.notice(&Notice::NotMapped { reason }),
    }
}

fn mapped(traces: PathBuf, parts: &Path, run: &Path) -> Result<(), Error> {
    let own = Executable::own()?;
    let threads = available_parallelism().map_or(1, usize::from).div_ceil(SHARE);
    let mut nice = Command::new("nice");
    nice.args(["-n", "19"]).arg(own.path());
    let mut command = own.tied_by(nice);
    command.args(["map".into(), traces.into_os_string(), "--parts".into(), parts.into()]);
    command.env("RAYON_NUM_THREADS", threads.to_string());
    let log = run.join(".rankscope-map.log");
    command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(File::create(&log).map_err(Error::Stream)?);
    let status = command.status().map_err(Error::NoProcess)?;
    let said = read_side_text(&log, SideFile::Record).unwrap_or_default();
    let _stays = std::fs::remove_file(&log);
    if status.success() {
        return Ok(());
    }
    let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("its process failed");
    Err(Error::Report(last.strip_prefix("rankscope: ").unwrap_or(last).to_owned()))
}
