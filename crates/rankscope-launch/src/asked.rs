//! A process of ours that is asked to end, and made to where it does not.

use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

/// Between looks at whether it has ended.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Has `child` sent SIGTERM, and SIGKILL if it is still there after `within`; `signal` says to whom that goes. Waits for its end, and returns
/// whether it came in time.
pub(crate) fn ask_to_end(child: &mut Child, within: Duration, signal: impl Fn(Signal)) -> bool {
    let deadline = Instant::now() + within;
    if !matches!(child.try_wait(), Ok(None)) {
        return true;
    }
    signal(Signal::SIGTERM);
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() > deadline {
            signal(Signal::SIGKILL);
            let _reaped = child.wait();
            return false;
        }
        thread::sleep(LOOK_EVERY);
    }
    true
}
