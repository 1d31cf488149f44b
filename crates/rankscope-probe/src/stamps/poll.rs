//! Waiting for several sockets at once, no longer than told.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

/// Waits until one of `sockets` has packets or transmit stamps, or `timeout` is over, to the nanosecond as far as the kernel's
/// timers go. Being interrupted by a signal counts as an end.
///
/// # Errors
/// Whatever the kernel answers, as when there are more sockets than it allows.
pub fn wait<'a>(sockets: impl IntoIterator<Item = BorrowedFd<'a>>, timeout: Duration) -> io::Result<()> {
    let mut polled: Vec<PollFd<'_>> = sockets.into_iter().map(|socket| PollFd::new(socket, PollFlags::POLLIN)).collect();
    match ppoll(&mut polled, Some(TimeSpec::from_duration(timeout)), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(errno) => Err(errno.into()),
    }
}
