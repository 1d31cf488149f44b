//! Being asked to end: a scheduler sends SIGTERM, a person presses Ctrl-C, and what is half written goes before the process does.
//!
//! Nothing is finished: whoever asks means at once. The process ends by the signal, as it would have without us, so that whoever
//! started it sees that. Only what stays with a job until it is told ends by a [`switch`](stop_switch)
//! instead, or waits [until it is told](stop_awaited).

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;

use anyhow::{Context, Result};
use rankscope_run::remove_unfinished;
use signal_hook::consts::signal::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;

const NO_SIGNALS: &str = "signals cannot be received";

/// A switch that SIGTERM and SIGINT turn on from now on. A terminal that goes away ends nothing that was started with `nohup`.
///
/// # Errors
/// Where signals cannot be received.
pub fn stop_switch() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context(NO_SIGNALS)?;
    }
    Ok(stop)
}

/// What waits for SIGTERM or SIGINT, which end nothing from now on.
///
/// # Errors
/// As [`stop_switch`].
pub fn stop_awaited() -> Result<impl FnOnce()> {
    let mut signals = Signals::new([SIGTERM, SIGINT]).context(NO_SIGNALS)?;
    Ok(move || {
        let _came = signals.forever().next();
    })
}

/// From now on a signal that ends this process leaves no file half written.
///
/// # Errors
/// As [`stop_switch`], and where no thread can be started.
pub fn leave_nothing_unfinished() -> Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT, SIGHUP]).context(NO_SIGNALS)?;
    let listen = move || {
        if let Some(signal) = signals.forever().next() {
            remove_unfinished(|| {
                // It does not return for these.
                let _ended = emulate_default_handler(signal);
            });
        }
    };
    thread::Builder::new().name("rankscope-signals".to_owned()).spawn(listen).context("a thread cannot be started")?;
    Ok(())
}
