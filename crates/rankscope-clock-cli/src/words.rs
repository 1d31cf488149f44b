//! What is said while a clock is measured: a line for everything worth knowing.

use std::fmt::Write as _;
use std::time::Duration;

use rankscope_clock::nodes::NodeEstimate;
use rankscope_clock::session::wire::Reject;
use rankscope_clock::{ClockEvent, Transport};
use rankscope_launch::agent::Progress;
use rankscope_probe::agent::{Event, Summary};

/// The line of `progress`, if it is worth one.
pub(crate) fn line(progress: &Progress<'_>) -> Option<String> {
    Some(match progress {
        Progress::OnePerNode => "one agent per node is enough: the one of local rank 0 runs, this one exits".to_owned(),
        Progress::WaitingForKey(file) => format!("waiting for the key in {}", file.display()),
        Progress::Rejoined => "this node already joined this run; it continues with the ports and edges agreed then".to_owned(),
        Progress::NotResumable { path, reason } => {
            format!("{}: {reason}; if this agent is killed, it cannot rejoin", path.display())
        }
        Progress::ListensElsewhere { place, address } => {
            format!("{place} is not an address of this host, so node 0 listens at {address} instead")
        }
        Progress::Measuring { node, num_nodes, outgoing, incoming, window } => format!(
            "node {node} of {num_nodes}: {outgoing} outgoing and {incoming} incoming edges; windows of {:.1} s",
            window.as_secs_f64()
        ),
        Progress::Event(told) => return event(told),
        Progress::Stopped { summary, ran } => farewell(summary, *ran),
        Progress::NotOnCall(why) => format!("torch's processes cannot ask this agent: {why}"),
        Progress::TurnedAway(whom) => whom.to_string(),
        _ => return None,
    })
}

fn event(event: &Event) -> Option<String> {
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
        Event::Rerouted { edge, over: Transport::Tcp } => {
            Some(format!("edge {edge}: node {} does not answer over UDP and is measured over TCP, with wider bounds", edge.dst))
        }
        Event::Rerouted { edge, over: Transport::Udp } => {
            Some(format!("edge {edge}: node {} answers over UDP again", edge.dst))
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
    // Packets of a session that is over are what every start and stop leaves on the way, and peers ask over what is not used here.
    let ours = [Reject::Session, Reject::Transport].map(|reason| summary.session.rejected(reason));
    let rejected = summary.session.rejected_in_all() - ours.iter().sum::<u64>();
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
