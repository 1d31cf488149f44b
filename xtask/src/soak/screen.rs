//! A program on a terminal of its own, whose screen nobody looks at.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command};

use anyhow::{Context, Result};
use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

/// Starts `binary`; what it draws is read as fast as it comes.
pub(super) fn start(binary: &Path, arguments: &[&OsStr]) -> Result<Child> {
    let controller = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    grantpt(&controller)?;
    unlockpt(&controller)?;
    let user = open(ptsname(&controller, Vec::new())?, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())?;
    tcsetwinsize(&user, Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 })?;
    let mut command = Command::new("setsid");
    command.arg("--ctty").arg(binary).args(arguments).env("TERM", "xterm-256color");
    command.stdin(user.try_clone()?).stdout(user.try_clone()?).stderr(user);
    let child = command.spawn().context("failed to start setsid (util-linux)")?;
    let mut drawn = File::from(controller);
    std::thread::spawn(move || {
        let mut bytes = [0; 4_096];
        while let Ok(1..) = drawn.read(&mut bytes) {}
    });
    Ok(child)
}
