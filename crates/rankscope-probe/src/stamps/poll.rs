//! Waiting for several sockets at once, no longer than told.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout};

/// What a socket has for us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ready {
    /// Packets to receive.
    pub packets: bool,
    /// Something in the error queue: transmit stamps.
    pub stamps: bool,
}

/// Waits until one of `sockets` has something or `timeout` is over, and says which has what, in their order. A timeout is
/// rounded up to milliseconds; being interrupted by a signal counts as nothing.
///
/// # Errors
/// Whatever the kernel answers, as when there are more sockets than it allows.
pub fn wait(sockets: &[BorrowedFd<'_>], timeout: Duration) -> io::Result<Vec<Ready>> {
    let mut polled: Vec<PollFd<'_>> = sockets.iter().map(|socket| PollFd::new(*socket, PollFlags::POLLIN)).collect();
    let millis = timeout.as_nanos().div_ceil(1_000_000);
    let timeout = PollTimeout::try_from(i32::try_from(millis).unwrap_or(i32::MAX)).unwrap_or(PollTimeout::MAX);
    match nix::poll::poll(&mut polled, timeout) {
        Ok(_) => Ok(polled.iter().map(ready).collect()),
        Err(Errno::EINTR) => Ok(vec![Ready::default(); sockets.len()]),
        Err(errno) => Err(errno.into()),
    }
}

fn ready(polled: &PollFd<'_>) -> Ready {
    let flags = polled.revents().unwrap_or(PollFlags::empty());
    Ready { packets: flags.contains(PollFlags::POLLIN), stamps: flags.contains(PollFlags::POLLERR) }
}
