//! From settings to what an agent is told.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rankscope_clock::NodeId;
use rankscope_clock::fit::{Estimator, FitOptions};
use rankscope_clock::graph::{PortOptions, Topology};
use rankscope_clock::nodes::SolveOptions;
use rankscope_clock::session::{Key, SessionSettings, Transports};
use rankscope_clock::simulate::SimClock;
use rankscope_config::{self as config, ClockSettings};
use rankscope_probe::agent::{AgentOptions, Minutes, PortMode, ThreadOptions};
use rankscope_probe::clocks::HostTimeOptions;
use rankscope_probe::clocks::phc::Phc;
use rankscope_probe::stamps::{Capability, SocketOptions, Stamping, switch_on};
use rankscope_time::{Rate, Span};

use crate::error::Error;

/// The origin's, so that graphs stay the same from run to run, and nodes that meet nobody lay out the same one.
pub(crate) const GRAPH_SEED: u64 = 12_345;

/// What the session of `node` is told.
pub(crate) fn session(settings: &ClockSettings, node: NodeId, minutes: &Minutes) -> SessionSettings {
    let estimator = match settings.estimator {
        config::Estimator::Band => Estimator::Band,
        config::Estimator::Robust => Estimator::Robust,
        config::Estimator::Svm => Estimator::Svm,
    };
    let fit = FitOptions::usual(estimator)
        .with_skew_change_ppb_per_s(settings.skew_change_ppb_per_s)
        .with_skew_max(Rate::from_ppb(i64::from(settings.skew_max_ppm) * 1_000));
    let solve = SolveOptions::for_reference(NodeId(settings.reference_node))
        .with_skew_max(fit.skew_max)
        .with_skew_change_ppb_per_s(settings.skew_change_ppb_per_s);
    let participants = (0..minutes.addresses.len() as u32).map(NodeId).collect();
    let mut session =
        SessionSettings::new(node, minutes.plain_edges(), minutes.run, Key::derive(minutes.secret.reveal()), fit, solve);
    session.participants = participants;
    // Nodes of one job draw different jitter.
    session.seed = minutes.run ^ u64::from(node.0);
    session.cadence = span(settings.probe_cadence);
    session.spacing = span(settings.packet_spacing);
    session.jitter_percent = u64::from(settings.jitter_percent);
    session.train = settings.train_length;
    session.budget_bits_per_s = settings.budget_bits_per_s.unwrap_or(session.budget_bits_per_s);
    session.window = span(settings.probe_window);
    session.handshake = span(settings.handshake_timeout);
    session.transports = match settings.transport {
        config::Transport::Auto => Transports::UdpThenTcp,
        config::Transport::Udp => Transports::Udp,
        config::Transport::Tcp => Transports::Tcp,
    };
    session
}

/// What its agent is told.
///
/// # Errors
/// Where `test-clock` describes no clock.
pub(crate) fn agent(settings: &ClockSettings, stop: &Arc<AtomicBool>) -> Result<AgentOptions, Error> {
    let bend = settings.test_clock.as_deref().map(str::parse::<SimClock>).transpose().map_err(Error::TestClock)?;
    let mut host = HostTimeOptions::default();
    host.snapshot_every = span(settings.snapshot_period);
    host.shift = settings.test_clock_shift_ns.map(Span::from_nanos);
    host.bend = bend;
    let mut thread = ThreadOptions::default();
    thread.cpu = settings.cpu.map(usize::from);
    thread.fifo = settings.scheduling == config::Scheduling::Fifo;
    Ok(AgentOptions {
        folder: settings.probe_export.then(|| settings.output_dir.clone().into()),
        snapshots: settings.clock_snapshots,
        run_id: settings.run_id.clone(),
        card: None,
        host,
        thread,
        // Who sets a budget has said what it may take.
        thrifty: settings.budget_bits_per_s.is_none(),
        stop: stop.clone(),
    })
}

/// Who stamps packets over `interface`: its card, where it can and its clock can be opened, else the kernel, which stamps
/// everywhere.
pub(crate) fn stamping(interface: &str) -> (Stamping, Option<Phc>) {
    let card = Capability::of(interface).ok().filter(Capability::hardware).and_then(|capability| capability.phc);
    let open = |index: u32| switch_on(interface).ok().and_then(|()| Phc::open(index).ok());
    match card.and_then(open) {
        Some(card) => (Stamping::Hardware, Some(card)),
        None => (Stamping::Kernel, None),
    }
}

/// How its sockets are opened.
pub(crate) fn sockets(settings: &ClockSettings, stamping: Stamping) -> SocketOptions {
    let mut options = SocketOptions::stamped(stamping);
    options.busy_poll_us = u32::try_from(settings.busy_poll.as_micros()).ok().filter(|us| *us > 0);
    options
}

/// Its ports.
pub(crate) fn ports(settings: &ClockSettings) -> PortMode {
    match settings.port_mode {
        config::PortMode::Single => PortMode::Single(settings.port),
        config::PortMode::PerEdge => PortMode::PerEdge {
            blocks: PortOptions::new(settings.port_base, PortOptions::default().per_node),
            control: settings.control_port,
        },
    }
}

/// Who probes whom.
pub(crate) fn topology(settings: &ClockSettings) -> Topology {
    match &settings.topology {
        config::Topology::Random => Topology::Random,
        config::Topology::Ring => Topology::Ring,
        config::Topology::Directed => Topology::Directed,
        config::Topology::Loop => Topology::Loop,
        config::Topology::Explicit(edges) => {
            let edge = |(src, dst): &(u32, u32)| rankscope_clock::Edge { src: NodeId(*src), dst: NodeId(*dst) };
            Topology::Explicit(edges.iter().map(edge).collect())
        }
    }
}

fn span(duration: Duration) -> Span {
    Span::from_nanos(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
}
