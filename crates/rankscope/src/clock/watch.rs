//! Watching an agent until it is told to stop.

use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rankscope_clock::ClockEvent;
use rankscope_clock::nodes::NodeEstimate;
use rankscope_clock::session::wire::Reject;
use rankscope_probe::agent::{Agent, Event, Summary};

use crate::output;

/// What is told while an agent runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tell {
    /// A line on stderr for everything worth knowing.
    Lines,
    /// Nothing: somebody else reads the events' outcome.
    Nothing,
}

/// A switch that SIGINT and SIGTERM turn on.
pub(crate) fn stop_signals() -> Result<Arc<AtomicBool>> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, stop.clone()).context("failed to listen for signals")?;
    }
    Ok(stop)
}

/// Runs `agent` until `stop`, until `duration` is over, or until it ends by itself; returns what it did and everything it told.
pub(crate) fn until_stopped(
    agent: Agent,
    stop: &AtomicBool,
    duration: Option<Duration>,
    tell: Tell,
) -> Result<(Summary, Vec<Event>)> {
    let begun = Instant::now();
    let mut told = Vec::new();
    let mut keep = |event: Event| {
        if tell == Tell::Lines
            && let Some(line) = line(&event)
        {
            output::remark(&line);
        }
        // Long runs are read from files; a short one is summed up from what was told.
        if told.len() < TOLD_MAX {
            told.push(event);
        }
    };
    while !stop.load(Ordering::Relaxed) && duration.is_none_or(|duration| begun.elapsed() < duration) {
        match agent.events().recv_timeout(Duration::from_millis(50)) {
            Ok(event) => keep(event),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    agent.ask_to_stop();
    // The agent says the last things while it stops.
    while let Ok(event) = agent.events().recv_timeout(Duration::from_secs(2)) {
        keep(event);
    }
    match agent.stop() {
        Some(summary) => {
            if tell == Tell::Lines {
                output::remark(&farewell(&summary, begun.elapsed()));
            }
            Ok((summary, told))
        }
        None => bail!("the agent panicked, which is a bug; everything it wrote until then is intact"),
    }
}

/// Events of some hours.
const TOLD_MAX: usize = 65_536;

fn line(event: &Event) -> Option<String> {
    match event {
        // What stands where it stands by definition is no news.
        Event::Clock { estimate, .. } if estimate.bound.lo == estimate.bound.hi => None,
        Event::Clock { round, estimate } => Some(format!("round {round}: {}", position(estimate))),
        Event::Solved { solution, .. } if solution.nodes.is_empty() => None,
        Event::Solved { round, solution } => {
            let mut text = match solution.nodes.as_slice() {
                [_, node] => format!("round {round}: {}", position(node)),
                nodes => {
                    let widest = nodes.iter().map(|node| (node.bound.hi - node.bound.lo).as_nanos() / 2).max();
                    format!("round {round}: {} nodes placed, guaranteed within ±{} ns", nodes.len(), widest.unwrap_or(0))
                }
            };
            if !solution.unreachable.is_empty() {
                let missing: Vec<_> = solution.unreachable.iter().map(|node| node.to_string()).collect();
                let _ = write!(text, ", without an edge: {}", missing.join(" "));
            }
            for rejected in &solution.rejected {
                let _ = write!(text, ", edge {} contradicts the others by {} ns", rejected.edge, rejected.excess.as_nanos());
            }
            Some(text)
        }
        Event::Steered(ClockEvent::Step { size, .. }) => {
            Some(format!("the wall clock of this host was stepped by {} ns; the measurement is not affected", size.as_nanos()))
        }
        Event::Trouble(text) => Some(format!("rankscope: {text}")),
        Event::Window(_) | Event::Steered(ClockEvent::RateChange { .. }) => None,
    }
}

/// Where a node's clock stands, in words.
pub(crate) fn position(estimate: &NodeEstimate) -> String {
    let (lo, hi) = (estimate.bound.lo - estimate.offset, estimate.bound.hi - estimate.offset);
    let degraded = if estimate.degraded { ", degraded" } else { "" };
    format!(
        "node {} is {} ns ahead, guaranteed within {:+} .. {:+} ns, gaining {:+.1} ppb{degraded}",
        estimate.node,
        estimate.offset.as_nanos(),
        lo.as_nanos(),
        hi.as_nanos(),
        estimate.skew_ppb
    )
}

fn farewell(summary: &Summary, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64().max(1e-3);
    let kbit_per_s = summary.session.bits_sent as f64 / seconds / 1e3;
    let mut text = format!(
        "stopped after {seconds:.1} s: {} windows, {} packets sent ({kbit_per_s:.0} kbit/s), {} received",
        summary.session.windows, summary.sent_packets, summary.received_packets
    );
    // Packets of a session that is over are what every start and stop leaves on the way.
    let rejected = summary.session.rejected_in_all() - summary.session.rejected(Reject::Session);
    for (count, what) in [
        (rejected, "foreign or forged packets dropped"),
        (summary.unusable_stamps, "packets without a usable timestamp"),
        (summary.unsent_packets, "packets that could not be sent"),
        (summary.socket_errors, "socket errors"),
    ] {
        if count > 0 {
            let _ = write!(text, ", {count} {what}");
        }
    }
    text
}
