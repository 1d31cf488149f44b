//! From settings to what an agent is told.

use std::time::Duration;

use rankscope_clock::NodeId;
use rankscope_clock::fit::{Estimator, FitOptions};
use rankscope_clock::graph::{PortOptions, Topology};
use rankscope_clock::nodes::SolveOptions;
use rankscope_clock::session::{Key, SessionSettings};
use rankscope_clock::simulate::SimClock;
use rankscope_config::{self as config, ClockSettings};
use rankscope_probe::agent::{AgentOptions, Minutes, PortMode, ThreadOptions};
use rankscope_probe::clocks::HostTimeOptions;
use rankscope_probe::stamps::{Capability, SocketOptions, Stamping};
use rankscope_time::{Rate, Span};

use anyhow::{Context, Result};

/// What the session of `node` is told.
pub(crate) fn session(settings: &ClockSettings, node: NodeId, minutes: &Minutes) -> SessionSettings {
    let estimator = match settings.estimator {
        config::Estimator::Band => Estimator::Band,
        config::Estimator::Robust => Estimator::Robust,
        config::Estimator::Svm => Estimator::Svm,
    };
    let fit = FitOptions {
        skew_change_ppb_per_s: settings.skew_change_ppb_per_s,
        skew_max: Rate::from_ppb(i64::from(settings.skew_max_ppm) * 1_000),
        ..FitOptions::usual(estimator)
    };
    let solve = SolveOptions {
        skew_max: fit.skew_max,
        skew_change_ppb_per_s: settings.skew_change_ppb_per_s,
        ..SolveOptions::for_reference(NodeId(settings.reference_node))
    };
    let participants = (0..minutes.addresses.len() as u32).map(NodeId).collect();
    let usual = SessionSettings::new(node, minutes.plain_edges(), minutes.run, Key::derive(&minutes.secret), fit, solve);
    SessionSettings {
        participants,
        // Nodes of one job draw different jitter.
        seed: minutes.run ^ u64::from(node.0),
        cadence: span(settings.probe_cadence),
        spacing: span(settings.packet_spacing),
        jitter_percent: u64::from(settings.jitter_percent),
        train: settings.train_length,
        budget_bits_per_s: settings.budget_bits_per_s.unwrap_or(usual.budget_bits_per_s),
        window: span(settings.probe_window),
        handshake: span(settings.handshake_timeout),
        ..usual
    }
}

/// What its agent is told.
///
/// # Errors
/// Where `test-clock` describes no clock.
pub(crate) fn agent(settings: &ClockSettings) -> Result<AgentOptions> {
    let bend = settings.test_clock.as_deref().map(str::parse::<SimClock>).transpose().context("setting test-clock")?;
    Ok(AgentOptions {
        folder: settings.probe_export.then(|| settings.output_dir.clone().into()),
        snapshots: settings.clock_snapshots,
        run_id: settings.run_id.clone(),
        host: HostTimeOptions { snapshot_every: span(settings.snapshot_period), bend, ..HostTimeOptions::default() },
        thread: ThreadOptions { cpu: settings.cpu.map(usize::from), fifo: settings.scheduling == config::Scheduling::Fifo },
    })
}

/// How its sockets are opened. `interface` is the one that the others are reached over, if that is known.
pub(crate) fn sockets(settings: &ClockSettings, interface: Option<&str>) -> SocketOptions {
    let capability = interface.and_then(|name| Capability::of(name).ok());
    // Cards are asked for stamps only where their clock can be opened, which the doctor says; the kernel stamps everywhere.
    let stamping = capability.map_or(Stamping::Kernel, |capability| Stamping::best(&capability));
    let busy_poll_us = u32::try_from(settings.busy_poll.as_micros()).ok().filter(|us| *us > 0);
    SocketOptions { stamping, busy_poll_us, ..SocketOptions::default() }
}

/// Its ports.
pub(crate) fn ports(settings: &ClockSettings) -> PortMode {
    match settings.port_mode {
        config::PortMode::Single => PortMode::Single(settings.port),
        config::PortMode::PerEdge => PortMode::PerEdge {
            blocks: PortOptions { base: settings.port_base, ..PortOptions::default() },
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
