//! Watching an agent until it is told to stop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use rankscope_probe::agent::{Agent, Event, Summary};

use super::Progress;
use crate::error::Error;

/// Runs `agent` until `stop`, which it sees itself, until `duration` is over, or until it ends; returns what it did. Nothing that it
/// told is kept: it may run for weeks, and the first of a thousand nodes is told of all of them in every round.
pub(super) fn until_stopped(
    agent: Agent,
    stop: &AtomicBool,
    duration: Option<Duration>,
    tell: &mut dyn FnMut(Progress<'_>),
) -> Result<Summary, Error> {
    let begun = Instant::now();
    let mut pass_on = |event: Event| tell(Progress::Event(&event));
    while !stop.load(Ordering::Relaxed) {
        let left = duration.map_or(LOOK_EVERY, |duration| duration.saturating_sub(begun.elapsed()));
        if left.is_zero() {
            break;
        }
        match agent.events().recv_timeout(left.min(LOOK_EVERY)) {
            Ok(event) => pass_on(event),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    agent.ask_to_stop();
    // The agent says the last things while it stops.
    while let Ok(event) = agent.events().recv_timeout(Duration::from_secs(2)) {
        pass_on(event);
    }
    let summary = agent.stop().ok_or(Error::AgentPanicked)?;
    tell(Progress::Stopped { summary: &summary, ran: begun.elapsed() });
    Ok(summary)
}

/// Nothing waits for a look at the flag: an agent that stops ends its events.
const LOOK_EVERY: Duration = Duration::from_secs(1);
